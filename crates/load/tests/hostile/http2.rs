//! HTTP/2 servers that mean harm: each trap is a failure by its name, and the server is told the code.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use prony_http2::Code;
use prony_http2::frame::{flag, kind, setting, write};
use prony_model::Plan;
use prony_model::measurement::ErrorKind;
use prony_model::plan::Protocol;

use super::{PIECE_BYTES, errors, in_bounded_memory, lying, once_each, run};

const STATUS_200: &[u8] = b"\x88";
/// `:status: 103`, `:status: 101`: literals that enter no table.
const STATUS_103: &[u8] = b"\x08\x03103";
const STATUS_101: &[u8] = b"\x08\x03101";

fn over_http2(address: SocketAddr, connections: u32) -> Plan {
    Plan { protocol: Protocol::Http2, ..once_each(address, connections) }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

fn settings(list: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    write::settings(&mut out, list);
    out
}

fn headers(block: &[u8], ends: bool) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS | if ends { flag::END_STREAM } else { 0 }, 1, block)
}

fn data(bytes: &[u8], ends: bool) -> Vec<u8> {
    frame(kind::DATA, if ends { flag::END_STREAM } else { 0 }, 1, bytes)
}

/// Reads the client's preface.
fn read_preface(stream: &mut TcpStream) -> bool {
    stream.read_exact(&mut [0; write::PREFACE.len()]).is_ok()
}

/// Reads the client's next frame: its type and its payload; `None` at its end.
fn read_frame(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((header[3], payload))
}

/// Reads on until a request has come.
fn read_request(stream: &mut TcpStream) -> bool {
    while let Some((kind, _)) = read_frame(stream) {
        if kind == kind::HEADERS {
            return true;
        }
    }
    false
}

/// A server that answers a connection's first request with `begin`, and then with `more` for as long as it can be
/// written; the code of the GOAWAY that it then gets, if any, goes to `told`.
fn server(begin: Vec<u8>, more: Vec<u8>, told: &mpsc::Sender<u32>) -> SocketAddr {
    let told = told.clone();
    lying::serve(move |mut stream, _| {
        let asked = read_preface(&mut stream)
            && stream.write_all(&settings(&[])).is_ok()
            && read_request(&mut stream);
        if !asked || stream.write_all(&begin).is_err() {
            return;
        }
        if !more.is_empty() {
            let piece = more.repeat((PIECE_BYTES / more.len()).max(1));
            while stream.write_all(&piece).is_ok() {}
        }
        while let Some((kind, payload)) = read_frame(&mut stream) {
            if kind == kind::GOAWAY {
                let _ = told.send(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
            }
        }
    })
}

/// A frame's code where the connection ends by it, and what is said of it.
type Trap = (&'static str, Vec<u8>, Vec<u8>, Option<Code>, &'static str);

fn of_the_connection() -> Vec<Trap> {
    let whole = |bytes: Vec<u8>, code, says| ("", bytes, Vec::new(), Some(code), says);
    let open = frame(kind::HEADERS, 0, 1, STATUS_200);
    let continued = |payload: &[u8]| frame(kind::CONTINUATION, 0, 1, payload);
    let literal = [b"\x00\x01x\x7f\x81\x7c".as_slice(), &[b'y'; 16_000]].concat();
    // An entry of 4,000 bytes enters the table, and is named again and again.
    let bomb = [b"\x88\x40\x01x\x7f\xa1\x1e".as_slice(), &[b'y'; 4_000], &[0xbe; 10_000]].concat();
    vec![
        (
            "CONTINUATION frames for ever",
            open.clone(),
            continued(b""),
            Some(Code::ENHANCE_YOUR_CALM),
            "65 frames",
        ),
        (
            "a header block for ever",
            open.clone(),
            continued(&literal),
            Some(Code::ENHANCE_YOUR_CALM),
            "256 KiB",
        ),
        (
            "empty DATA frames for ever",
            headers(STATUS_200, false),
            data(b"", false),
            Some(Code::ENHANCE_YOUR_CALM),
            "1,000 DATA frames",
        ),
        ("an HPACK bomb", headers(&bomb, true), Vec::new(), Some(Code::ENHANCE_YOUR_CALM), "256 KiB"),
        (
            "PING for ever, unread",
            Vec::new(),
            frame(kind::PING, 0, 0, &[0; 8]),
            None,
            "does not read the answers",
        ),
        ("SETTINGS for ever, unread", Vec::new(), settings(&[]), None, "does not read the answers"),
        whole(
            frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2, 0x88]),
            Code::PROTOCOL_ERROR,
            "ruled out",
        ),
        whole(frame(kind::DATA, 0, 1, &[0; 16_385]), Code::FRAME_SIZE_ERROR, "16,384 bytes"),
        whole(
            frame(kind::DATA, flag::PADDED, 1, &[9, 1, 2]),
            Code::PROTOCOL_ERROR,
            "more padding than payload",
        ),
        whole(
            frame(kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, &[9, 0x88]),
            Code::PROTOCOL_ERROR,
            "more padding",
        ),
        whole([open.clone(), data(b"x", true)].concat(), Code::PROTOCOL_ERROR, "within a header block"),
        whole(continued(STATUS_200), Code::PROTOCOL_ERROR, "without a header block"),
        whole(headers(b"\xc0", true), Code::COMPRESSION_ERROR, "header block"),
        whole(
            frame(kind::HEADERS, flag::END_HEADERS, 3, STATUS_200),
            Code::PROTOCOL_ERROR,
            "without a request",
        ),
        whole(frame(kind::HEADERS, flag::END_HEADERS, 0, STATUS_200), Code::PROTOCOL_ERROR, "without one"),
        whole(frame(kind::SETTINGS, 0, 0, &[0; 5]), Code::FRAME_SIZE_ERROR, "not as long"),
        whole(
            settings(&[(setting::INITIAL_WINDOW_SIZE, 1 << 31)]),
            Code::FLOW_CONTROL_ERROR,
            "INITIAL_WINDOW_SIZE",
        ),
        whole(settings(&[(setting::MAX_FRAME_SIZE, 1)]), Code::PROTOCOL_ERROR, "MAX_FRAME_SIZE"),
        whole(settings(&[(setting::ENABLE_PUSH, 1)]), Code::PROTOCOL_ERROR, "ENABLE_PUSH"),
        whole(frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4]), Code::PROTOCOL_ERROR, "WINDOW_UPDATE of 0"),
        whole(
            frame(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
            Code::FLOW_CONTROL_ERROR,
            "2^31 - 1",
        ),
        whole(frame(kind::RST_STREAM, 0, 5, &[0; 4]), Code::PROTOCOL_ERROR, "never opened"),
    ]
}

#[test]
fn what_http2_forbids_a_server_ends_the_connection_with_a_code() {
    in_bounded_memory(|| {
        for (what, begin, more, code, says) in of_the_connection() {
            let (told, codes) = mpsc::channel();
            let m = run(&over_http2(server(begin, more, &told), 2));
            assert_eq!(errors(&m), vec![(ErrorKind::Protocol, 2)], "{what} {says}: {:?}", m.errors);
            let said = &m.errors[&ErrorKind::Protocol].first;
            assert!(said.contains(says), "{what}: {said}");
            // A server that writes for ever does not come to read what it is told.
            if let Some(code) = code.filter(|_| what.is_empty()) {
                let told = codes.recv_timeout(Duration::from_secs(60));
                assert_eq!(told, Ok(code.0), "{says}");
            }
        }
    });
}

#[test]
fn a_server_is_told_its_error_even_with_unread_bytes_left() {
    in_bounded_memory(|| {
        let (told, ends) = mpsc::channel();
        let server = lying::serve(move |mut stream, _| {
            let asked = read_preface(&mut stream)
                && stream.write_all(&settings(&[])).is_ok()
                && read_request(&mut stream);
            // Far more than one read takes.
            let bad = [frame(kind::SETTINGS, 0, 0, &[0; 5]), vec![0; 500_000]].concat();
            if !asked || stream.write_all(&bad).is_err() {
                return;
            }
            let mut rest = Vec::new();
            let end = stream.read_to_end(&mut rest);
            let goaway = rest.windows(4).any(|code| code == Code::FRAME_SIZE_ERROR.0.to_be_bytes());
            let _ = told.send((goaway, end.map_err(|e| e.kind()).map(|_| ())));
        });
        let m = run(&over_http2(server, 4));
        assert_eq!(errors(&m), vec![(ErrorKind::Protocol, 4)], "{:?}", m.errors);
        for _ in 0..4 {
            // A reset would have thrown the GOAWAY away, or be the end that is seen.
            assert_eq!(ends.recv_timeout(Duration::from_secs(60)), Ok((true, Ok(()))));
        }
    });
}

#[test]
fn a_response_that_is_none_fails_alone() {
    const SHORT: &[u8] = b"\x88\x0f\x0d\x015";
    let cases: Vec<(Vec<u8>, Vec<u8>, &str)> = vec![
        (Vec::new(), headers(STATUS_103, false), "more than 16 interim"),
        (headers(STATUS_101, false), Vec::new(), "switched protocols"),
        (headers(STATUS_103, true), Vec::new(), "ends with an interim one"),
        (headers(b"", true), Vec::new(), "no :status"),
        (data(b"x", true), Vec::new(), "before its head"),
        (
            [headers(SHORT, false), data(b"1234", true)].concat(),
            Vec::new(),
            "shorter than its Content-Length",
        ),
        ([headers(SHORT, false), data(b"123456", true)].concat(), Vec::new(), "longer than its head says"),
        ([headers(SHORT, false), data(b"12", false), headers(b"", true)].concat(), Vec::new(), "shorter"),
        ([headers(STATUS_200, false), headers(STATUS_200, true)].concat(), Vec::new(), "second head"),
        ([headers(STATUS_200, false), headers(b"", false)].concat(), Vec::new(), "after its trailers"),
        // `connection: close`, and a name with a capital letter.
        (headers(b"\x88\x00\x0aconnection\x05close", true), Vec::new(), "HTTP/1"),
        (headers(b"\x88\x00\x01X\x01y", true), Vec::new(), "a name"),
        (frame(kind::WINDOW_UPDATE, 0, 1, &[0; 4]), Vec::new(), "WINDOW_UPDATE of 0"),
    ];
    in_bounded_memory(|| {
        for (begin, more, says) in cases {
            let m = run(&over_http2(server(begin, more, &mpsc::channel().0), 2));
            assert_eq!(errors(&m), vec![(ErrorKind::Protocol, 2)], "{says}: {:?}", m.errors);
            let said = &m.errors[&ErrorKind::Protocol].first;
            assert!(said.contains(says), "{says}: {said}");
        }
    });
}

#[test]
fn a_server_of_http1_alone_is_named() {
    in_bounded_memory(|| {
        let server =
            lying::once(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        let m = run(&over_http2(server, 2));
        assert_eq!(errors(&m), vec![(ErrorKind::Protocol, 2)], "{:?}", m.errors);
        assert!(m.errors[&ErrorKind::Protocol].first.contains("does not speak HTTP/2"), "{:?}", m.errors);
    });
}

#[test]
fn a_server_that_processes_nothing_is_asked_three_times_more() {
    let mut goaway = Vec::new();
    write::goaway(&mut goaway, 0, Code::NO_ERROR);
    in_bounded_memory(|| {
        let m = run(&over_http2(server(goaway, Vec::new(), &mpsc::channel().0), 2));
        assert_eq!(errors(&m), vec![(ErrorKind::Refused, 2)], "{:?}", m.errors);
        assert!(m.errors[&ErrorKind::Refused].first.contains("3 connections ended"), "{:?}", m.errors);
        assert_eq!((m.run_total.connections, m.http2.map(|used| used.moved)), (8, Some(6)));
    });
}

#[test]
fn a_server_that_never_goes_on_times_out() {
    in_bounded_memory(|| {
        let silent = lying::serve(|mut stream, _| while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {});
        let body = server(headers(STATUS_200, false), data(&[b'x'; 16_384], false), &mpsc::channel().0);
        let nothing_more = server(Vec::new(), Vec::new(), &mpsc::channel().0);
        for (what, server) in
            [("no settings", silent), ("a body without an end", body), ("no answer", nothing_more)]
        {
            let plan = Plan { timeout: Duration::from_millis(250), ..over_http2(server, 2) };
            let m = run(&plan);
            assert_eq!(errors(&m), vec![(ErrorKind::RequestTimeout, 2)], "{what}: {:?}", m.errors);
        }
    });
}

#[test]
fn a_window_lowered_below_nothing_stops_the_body() {
    in_bounded_memory(|| {
        let (told, sent) = mpsc::channel();
        let server = lying::serve(move |mut stream, _| {
            if !read_preface(&mut stream)
                || stream.write_all(&settings(&[])).is_err()
                || !read_request(&mut stream)
            {
                return;
            }
            let _ = stream.write_all(&settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]));
            let mut bytes = 0;
            while let Some((kind, payload)) = read_frame(&mut stream) {
                bytes += if kind == kind::DATA { payload.len() } else { 0 };
                if kind == kind::RST_STREAM {
                    let _ = told.send(bytes);
                }
            }
        });
        let plan = Plan { timeout: Duration::from_millis(250), ..over_http2(server, 1) };
        let m = run(&Plan { body: vec![b'x'; 1 << 20], ..plan });
        assert_eq!(errors(&m), vec![(ErrorKind::RequestTimeout, 1)], "{:?}", m.errors);
        // The standard's first window, and nothing after the lower one.
        assert_eq!(sent.recv_timeout(Duration::from_secs(60)), Ok(65_535));
    });
}
