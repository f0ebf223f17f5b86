//! Each failure is counted by its kind, and none is retried in silence.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use prony_load::LoadError;
use prony_load::measurement::{ErrorKind, Measurement};
use prony_load::pace::Rate;
use prony_load::plan::Arrivals;
use prony_target::{Config, Target};

use crate::{lying, plan, run};

fn errors(m: &Measurement) -> Vec<(ErrorKind, u64)> {
    m.errors.iter().map(|(kind, tally)| (*kind, tally.count)).collect()
}

/// Twenty requests against bytes that are no answer: all fail by this kind.
#[track_caller]
fn all_fail(address: std::net::SocketAddr, kind: ErrorKind) -> Measurement {
    let mut p = plan(address);
    p.stop.requests = Some(20);
    p.timeout = Duration::from_millis(200);
    p.connections = 10;
    let m = run(&p).unwrap();
    assert_eq!(errors(&m), vec![(kind, 20)], "{:?}", m.errors);
    assert_eq!((m.requests.completed, m.requests.failed), (0, 20));
    m
}

#[test]
fn nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
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
    p.target.host = "no-such-host.invalid".to_owned();
    let error = run(&p).unwrap_err();
    assert!(matches!(error, LoadError::Resolve { .. }) && error.to_string().contains("no-such-host.invalid"));
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
fn a_silent_server_times_out_when_the_time_is_over_and_not_when_it_answers() {
    let address = lying::serve(|mut stream, _| {
        lying::read_request(&mut stream);
        std::thread::sleep(Duration::from_secs(3600));
    });
    let m = all_fail(address, ErrorKind::RequestTimeout);
    let waits = &m.latency.response.failed;
    assert!(waits.min() >= 199_000_000, "none failed before its timeout: {}", waits.min());
    assert!(m.errors[&ErrorKind::RequestTimeout].first.contains("200 ms"));
}

#[test]
fn a_byte_a_second_times_out_too() {
    let address = lying::serve(|mut stream, _| {
        lying::read_request(&mut stream);
        for byte in b"HTTP/1.1 200 OK\r\n".iter().cycle() {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    all_fail(address, ErrorKind::RequestTimeout);
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
        assert_eq!(
            m.run_total.connections,
            if m.requests.failed == 200 { m.run_total.connections } else { 0 }
        );
        assert_eq!(m.status.get(&200), Some(&200));
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
    p.stop.requests = None;
    p.stop.duration = Some(Duration::from_secs(2));
    let m = run(&p).unwrap();
    assert_eq!((m.requests.scheduled, m.requests.in_flight), (2000, 10));
    // A capacity is a ceiling whatever the machine: 500/s for 2 s, and one for the first instant.
    assert!(m.requests.completed <= 1001, "{}", m.requests.completed);
    assert!(m.requests.never_sent >= 980);
    assert_eq!(m.latency.response.waiting.len(), m.requests.never_sent + 10);
    assert!(m.latency.connection_wait.max() > 100_000_000, "the wait for a connection grew");
}
