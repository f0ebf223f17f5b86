//! Servers that mean harm: whatever they send and for however long, a load ends, names the failure, and
//! takes no more memory for it. A binary of its own, so that the memory is that of these tests.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test's helpers panic as its assertions do")]

#[path = "../engine/lying.rs"]
#[allow(dead_code, reason = "the engine's tests use all of it")]
mod lying;

mod http2;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prony_load::Control;
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::Expect;
use prony_model::{Plan, Target};

/// Far beyond what loads of a few connections take, and far below what these servers send.
const GROWTH_MAX_KIB: u64 = 64 << 10;
/// A load that has not ended by itself after this long hangs: it then ends with requests in flight, and
/// the tests notice.
const PATIENCE: Duration = Duration::from_secs(180);
/// Held by each test of this binary: the memory is the process's, and so is its account.
static ALONE: Mutex<()> = Mutex::new(());
/// What an endless server writes at once.
const PIECE_BYTES: usize = 64 << 10;

/// A closed plan in which every connection has one request.
fn once_each(address: SocketAddr, connections: u32) -> Plan {
    let mut plan = Plan::closed(Target::parse(&format!("http://{address}/")).unwrap());
    plan.connections = connections;
    plan.warmup = Duration::ZERO;
    plan.stop.duration = Some(PATIENCE);
    plan.stop.requests = Some(u64::from(connections));
    plan.timeout = PATIENCE;
    plan
}

/// Runs a plan; whatever happens to its requests, its counts must balance, and none may be left.
fn run(plan: &Plan) -> Measurement {
    let measurement = prony_load::run(plan, &Control::new(), &mut |_| {}).unwrap();
    assert_eq!(measurement.broken_identities, Vec::<String>::new());
    assert_eq!((measurement.requests.in_flight, measurement.requests.never_sent), (0, 0));
    measurement
}

fn errors(m: &Measurement) -> Vec<(ErrorKind, u64)> {
    m.errors.iter().map(|(kind, tally)| (*kind, tally.count)).collect()
}

/// The most memory that this process has had at once; where the kernel does not say, what it has now.
fn resident_peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let figure = |name: &str| -> Option<u64> {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().trim_end_matches(" kB").parse().ok()
    };
    figure("VmHWM:").or_else(|| figure("VmRSS:")).unwrap()
}

#[track_caller]
fn in_bounded_memory(test: impl FnOnce()) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // What any load takes is taken before.
    run(&once_each(lying::always(b"HTTP/1.1 204 No Content\r\n\r\n"), 2));
    let before = resident_peak_kib();
    test();
    let grown = resident_peak_kib().saturating_sub(before);
    assert!(grown <= GROWTH_MAX_KIB, "memory grew by {grown} KiB");
}

/// A server that says `begin`, and then `more` for as long as the client reads.
fn endless(begin: &'static [u8], more: &'static [u8]) -> SocketAddr {
    lying::serve(move |mut stream, _| {
        if !lying::read_request(&mut stream) || stream.write_all(begin).is_err() {
            return;
        }
        let piece = more.repeat(PIECE_BYTES / more.len());
        while stream.write_all(&piece).is_ok() {}
    })
}

/// Servers, each with what it sends and what the failure says.
type Cases<const N: usize> = [(&'static str, SocketAddr, &'static str); N];

fn all_are_protocol_errors<const N: usize>(cases: Cases<N>) {
    in_bounded_memory(|| {
        for (what, server, says) in cases {
            let m = run(&once_each(server, 4));
            assert_eq!(errors(&m), vec![(ErrorKind::Protocol, 4)], "{what}: {:?}", m.errors);
            let said = &m.errors[&ErrorKind::Protocol].first;
            assert!(said.contains(says), "{what}: {said}");
        }
    });
}

#[test]
fn endless_heads_and_chunk_lines_are_protocol_errors() {
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const EXTENDED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;";
    const LAST_CHUNK: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    const HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    all_are_protocol_errors([
        ("a status line", endless(b"HTTP/1.1 200 ", b"y"), "longer than 256 KiB"),
        ("a header", endless(b"HTTP/1.1 200 OK\r\nX: ", b"y"), "longer than 256 KiB"),
        ("a header's lines", endless(b"HTTP/1.1 200 OK\r\nX: y\r\n", b" y\r\n"), "longer than 256 KiB"),
        ("headers", endless(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), "more than 5000 header fields"),
        ("empty lines", endless(b"\r\n", b"\r\n"), "longer than 256 KiB"),
        ("interim responses", endless(b"", HINTS), "more than 16 interim"),
        ("a chunk's extension", endless(EXTENDED, b"x"), "longer than 4 KiB"),
        ("a chunk's size", endless(CHUNKED, b"0"), "larger than 2^60"),
        ("trailers", endless(LAST_CHUNK, b"X: y\r\n"), "trailer section is longer than 64 KiB"),
        ("garbage", endless(b"\x00\xff\x7f\r\n", b"\xde\xad\xbe\xef\n"), "not HTTP/1.0 or HTTP/1.1"),
    ]);
}

#[test]
fn a_head_that_contradicts_itself_is_a_protocol_error() {
    const TWO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!";
    const LIST: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello!";
    const NEGATIVE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello";
    const HUGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello";
    const SWITCHED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";
    all_are_protocol_errors([
        ("two lengths", lying::always(TWO), "two Content-Length fields"),
        ("two lengths in a list", lying::always(LIST), "two Content-Length fields"),
        ("a negative length", lying::always(NEGATIVE), "Content-Length is not a number"),
        ("a length beyond 64 bits", lying::always(HUGE), "Content-Length is not a number"),
        ("another protocol", lying::always(SWITCHED), "switched protocols"),
    ]);
}

#[test]
fn a_body_without_an_end_times_out() {
    in_bounded_memory(|| {
        // Dropped unread, and hashed as it comes.
        for sha256 in [None, Some([0; 32])] {
            for (what, server) in [
                ("10 GB", endless(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n", b"x")),
                (
                    "a chunk of 10 GB",
                    endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2540be400\r\n", b"x"),
                ),
                (
                    "chunks of a byte",
                    endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
                ),
                ("up to the connection's end", endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x")),
            ] {
                let mut p = once_each(server, 2);
                p.timeout = Duration::from_millis(250);
                p.expect = Expect { sha256, ..Expect::default() };
                let m = run(&p);
                assert_eq!(errors(&m), vec![(ErrorKind::RequestTimeout, 2)], "{what}: {:?}", m.errors);
                let said = &m.errors[&ErrorKind::RequestTimeout].first;
                assert!(said.contains("250 ms"), "{what}: {said}");
            }
        }
    });
}
