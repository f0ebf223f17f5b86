//! What a server sends without being asked is never counted in silence, whenever it comes.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prony_model::Plan;
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::{Arrivals, Work};
use prony_model::rate::Rate;

use crate::{lying, plan, run, run_until};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Whether what came unasked is told: by the count that makes a load invalid, or by failed requests, where it stands in
/// the place of a response that is due.
fn is_told(m: &Measurement) -> bool {
    m.run_total.unasked > 0 || m.errors.contains_key(&ErrorKind::Protocol)
}

fn asking(address: SocketAddr, method: &str, pipeline: u32, keepalive: bool) -> Plan {
    let mut p = plan(address);
    p.work = Work::Request(method.to_owned());
    (p.pipeline, p.keepalive, p.stop.requests) = (pipeline, keepalive, Some(20));
    p
}

#[test]
fn more_than_one_response_in_a_read_is_told_in_every_mode() {
    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK";
    const AFTER_204: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\nok";
    const CLOSES: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok!";
    let twice: &'static [u8] = Box::leak([OK, OK].concat().into_boxed_slice());
    for (what, method, answer) in [
        ("two responses", "GET", twice),
        ("two responses to a request that is sent once", "POST", twice),
        ("a body after HEAD", "HEAD", OK),
        ("more after the last chunk", "GET", CHUNKED),
        ("a body where there is none", "GET", AFTER_204),
        ("more after a response that closes", "GET", CLOSES),
    ] {
        for (pipeline, keepalive) in [(1, true), (1, false), (4, true)] {
            let m = run(&asking(lying::always(answer), method, pipeline, keepalive)).unwrap();
            assert!(
                is_told(&m),
                "{what}, -p {pipeline}, keep-alive {keepalive}: {:?} {:?}",
                m.run_total,
                m.errors
            );
            assert!(m.requests.completed <= 20, "{what}");
        }
    }
}

/// A request that is begun again changes nothing, so that a pipeline is tried before the clock.
#[test]
fn a_pipeline_of_safe_requests_is_tried_before_the_clock() {
    for (method, tried) in [("GET", 4), ("HEAD", 4), ("OPTIONS", 4), ("POST", 0), ("DELETE", 0)] {
        let target = prony_target::Target::start(&prony_target::Config::default()).unwrap();
        let m = run(&asking(target.address(), method, 4, true)).unwrap();
        let ledger = crate::settled(target, 1 + u64::from(tried > 0));
        assert_eq!((m.run_total.sent, m.run_total.unasked), (20 + tried, 0), "{method}");
        assert_eq!(ledger.requests_received, 20 + tried, "{method}");
    }
}

/// Two connections and a request every five seconds: the second connection is idle when it says this.
fn said_on_an_idle_connection(says: &'static [u8]) -> Measurement {
    let seen = Arc::new(AtomicBool::new(false));
    let closed = Arc::clone(&seen);
    let address = lying::serve(move |mut stream, number| {
        if number == 1 {
            let _ = stream.write_all(says);
            while lying::read_request(&mut stream) {}
            closed.store(true, Ordering::SeqCst);
        } else {
            while lying::read_request(&mut stream) && stream.write_all(OK).is_ok() {}
        }
    });
    let mut p = plan(address);
    p.connections = 2;
    p.arrivals = Arrivals::Constant(Rate::per_s(0.2).unwrap());
    run_until(&p, |_| seen.load(Ordering::SeqCst))
}

#[test]
fn a_response_on_an_idle_connection_is_told_unless_it_closes() {
    for says in [OK, b"\r\n", b"SSH-2.0-x\r\n"] {
        assert!(is_told(&said_on_an_idle_connection(says)), "{says:?}");
    }
    let m = said_on_an_idle_connection(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
    assert_eq!((m.run_total.unasked, m.requests.failed), (0, 0), "RFC 9110, section 15.5.9");
}
