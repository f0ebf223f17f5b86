//! Each failure is counted by its kind, and none is retried in silence.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use prony_load::LoadError;
use prony_model::Plan;
use prony_model::json_value::JsonValue;
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_target::{Config, Target};

use crate::{lying, plan, refusing, run};

fn errors(m: &Measurement) -> Vec<(ErrorKind, u64)> {
    m.errors.iter().map(|(kind, tally)| (*kind, tally.count)).collect()
}

/// Twenty requests against bytes that are no answer: all fail by this kind.
#[track_caller]
fn all_fail(address: SocketAddr, kind: ErrorKind) -> Measurement {
    twenty_fail(&plan(address), kind)
}

/// Twenty requests, one on each connection, against what is no answer within the timeout.
#[track_caller]
fn all_time_out(address: SocketAddr) -> Measurement {
    twenty_fail(&Plan { timeout: Duration::from_millis(300), ..plan(address) }, ErrorKind::RequestTimeout)
}

#[track_caller]
fn twenty_fail(plan: &Plan, kind: ErrorKind) -> Measurement {
    let mut p = plan.clone();
    (p.connections, p.stop.requests) = (20, Some(20));
    let m = run(&p).unwrap();
    assert_eq!(errors(&m), vec![(kind, 20)], "{:?}", m.errors);
    assert_eq!((m.requests.completed, m.requests.failed), (0, 20));
    m
}

#[test]
fn nobody_listens() {
    let (address, _held) = refusing();
    for keepalive in [true, false] {
        let mut p = plan(address);
        p.keepalive = keepalive;
        let error = run(&p).unwrap_err();
        assert!(matches!(error, LoadError::Unreachable { kind: ErrorKind::ConnectRefused, .. }), "{error:?}");
        assert!(error.to_string().contains("Is the server started"), "{error}");
    }
}

#[test]
fn an_unknown_host_is_named() {
    let mut p = plan("127.0.0.1:1".parse().unwrap());
    // A label may have 63 bytes (RFC 1035): no resolver asks anybody for this one.
    p.target.host = format!("no-such-host-{}.invalid", "x".repeat(63));
    let error = run(&p).unwrap_err();
    assert!(matches!(error, LoadError::Resolve { .. }), "{error:?}");
    assert!(error.to_string().contains(&p.target.host), "{error}");
}

#[test]
fn more_connections_than_files_are_refused_with_the_limit() {
    let mut p = plan("127.0.0.1:1".parse().unwrap());
    p.connections = 1_000_000;
    p.threads = 1;
    // A host whose limit is above a million files refuses by the port instead.
    let error = run(&p).unwrap_err();
    if let LoadError::OpenFiles { limit, .. } = &error {
        assert!(
            error.to_string().contains(&limit.to_string()) && error.to_string().contains("ulimit -n"),
            "{error}"
        );
    }
}

#[test]
fn garbage_is_a_protocol_error() {
    let m = all_fail(lying::always(b"no HTTP at all\r\n\r\n"), ErrorKind::Protocol);
    assert!(m.errors[&ErrorKind::Protocol].first.contains("HTTP/1"));
    all_fail(lying::always(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), ErrorKind::Protocol);
    all_fail(
        lying::always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        ErrorKind::Protocol,
    );
}

#[test]
fn a_server_of_another_protocol_is_named_with_what_to_write() {
    for (answer, says) in [
        // SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED; an alert of TLS.
        (&b"\0\0\0\x04\0\0\0\0\0"[..], "--http2"),
        (b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0d", "--http2"),
        (b"\x15\x03\x01\0\x02\x02\x46", "https://"),
    ] {
        let m = all_fail(lying::once(answer), ErrorKind::Protocol);
        let said = &m.errors[&ErrorKind::Protocol].first;
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_close_at_any_byte_is_closed_early() {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let address = lying::serve(|mut stream, number| {
        if lying::read_request(&mut stream) {
            let _ = stream.write_all(&ANSWER[..number % ANSWER.len()]);
        }
    });
    let mut p = plan(address);
    // A connection for each, so that none waits for its next try.
    p.connections = ANSWER.len() as u32;
    p.stop.requests = Some(ANSWER.len() as u64);
    let m = run(&p).unwrap();
    assert_eq!(errors(&m), vec![(ErrorKind::ClosedEarly, ANSWER.len() as u64)]);
}

#[test]
fn a_silent_server_times_out_and_not_before_the_time_is_over() {
    let address = lying::serve(|mut stream, _| {
        lying::read_request(&mut stream);
        std::thread::sleep(Duration::from_secs(3600));
    });
    let m = all_time_out(address);
    let waits = &m.latency.parts().response.failed;
    // The histogram tells durations apart to 0.1 %.
    assert!(waits.min() >= 299_000_000, "none failed before its timeout: {}", waits.min());
    assert!(m.errors[&ErrorKind::RequestTimeout].first.contains("300 ms"));
}

#[test]
fn an_answer_that_comes_byte_by_byte_times_out_too() {
    let address = lying::serve(|mut stream, _| {
        lying::read_request(&mut stream);
        // A header that never ends: however many bytes are read at once, they are no whole answer and no wrong one.
        for byte in b"HTTP/1.1 200 OK\r\nX: ".iter().chain(std::iter::repeat(&b'x')) {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    all_time_out(address);
}

#[test]
fn wrong_answers_are_told_apart() {
    let not_found: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    all_fail(lying::always(not_found), ErrorKind::UnexpectedStatus);
    for wrong in ["hellO", "hell", "hello!"] {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{wrong}", wrong.len());
        let mut p = plan(lying::always(answer.leak().as_bytes()));
        p.expect.body = Some(b"hello".to_vec());
        let m = run(&p).unwrap();
        assert_eq!(errors(&m), vec![(ErrorKind::BodyMismatch, 200)], "{wrong}");
        assert_eq!(m.run_total.connections, 1, "it was whole, and the connection goes on");
        assert_eq!(m.status.get(&200), Some(&200));
    }
}

#[test]
fn a_wrong_value_of_a_json_body_is_named() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{\"id\":18,\"list\":[17]}";
    for (expected, said) in [
        ("/list/0=17", None),
        ("/id=17", Some("/id is 18, expected 17")),
        ("/name=Ann", Some("there is no /name in the body, expected \"Ann\"")),
    ] {
        let mut p = plan(lying::always(answer));
        p.expect.json = vec![JsonValue::parse(expected).unwrap()];
        let m = run(&p).unwrap();
        let wrong = m.errors.get(&ErrorKind::BodyMismatch).map(|tally| (tally.count, tally.first.as_str()));
        assert_eq!(wrong, said.map(|said| (200, said)), "{expected}");
        assert_eq!(m.run_total.connections, 1);
    }
}

#[test]
fn a_rejected_connection_is_a_reset_or_an_early_close() {
    let address = lying::serve(|stream, _| drop(stream));
    let mut p = plan(address);
    p.stop.requests = Some(10);
    let m = run(&p).unwrap();
    assert_eq!(m.requests.failed, 10);
    assert!(errors(&m).iter().all(|(kind, _)| matches!(kind, ErrorKind::Reset | ErrorKind::ClosedEarly)));
}

#[test]
fn more_than_a_server_carries_is_left_unsent_and_counted() {
    let target = Target::start(&Config { capacity_per_s: Some(500.0), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.connections = 10;
    p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
    (p.stop.requests, p.stop.duration) = (None, Some(Duration::from_millis(500)));
    let m = run(&p).unwrap();
    assert_eq!((m.requests.scheduled, m.requests.failed), (500, 0));
    // A capacity is a ceiling whatever the machine: 500/s for half a second, and one for the first instant. How long
    // requests wait then is exact in the simulation.
    assert!(m.requests.completed <= 251 && m.requests.in_flight <= 10, "{:?}", m.requests);
    let waiting = m.requests.never_sent + m.requests.in_flight;
    assert_eq!((m.requests.completed + waiting, m.latency.parts().response.waiting.len()), (500, waiting));
}

/// A closed plan in which every connection has one request.
fn once_each(address: SocketAddr, connections: u32) -> Plan {
    let mut p = plan(address);
    (p.connections, p.stop.requests) = (connections, Some(connections.into()));
    p
}

/// The body of each is `hello`.
const ANSWERS: [&[u8]; 2] = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
];

#[test]
fn an_answer_that_ends_at_any_byte_is_closed_early() {
    for answer in ANSWERS {
        // Each connection has one request, so that each byte is the last one once.
        let address = lying::serve(move |mut stream, number| {
            if lying::read_request(&mut stream) {
                let _ = stream.write_all(&answer[..number % answer.len()]);
            }
        });
        let m = run(&once_each(address, answer.len() as u32)).unwrap();
        assert_eq!(errors(&m), vec![(ErrorKind::ClosedEarly, answer.len() as u64)], "{:?}", m.errors);
    }
}

#[test]
fn an_answer_of_two_writes_is_whole_wherever_it_is_cut() {
    for answer in ANSWERS {
        let address = lying::serve(move |mut stream, number| {
            let (first, rest) = answer.split_at(number % answer.len());
            stream.set_nodelay(true).unwrap();
            // Whether the client reads them together is the machine's to say; every piece by itself is in the unit
            // tests of framing.
            if lying::read_request(&mut stream) && stream.write_all(first).is_ok() {
                let _ = stream.write_all(rest);
                // The client closes.
                lying::read_request(&mut stream);
            }
        });
        let mut p = once_each(address, answer.len() as u32);
        p.expect.body = Some(b"hello".to_vec());
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (answer.len() as u64, 0), "{:?}", m.errors);
    }
}
