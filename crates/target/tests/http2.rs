//! The server as clients of HTTP/2 see it, over real sockets: counts, identities, and bounds from below.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as no tests to clippy")]

#[allow(dead_code, reason = "shared with the tests of HTTP/1")]
mod client;

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use client::http2::{End, Http2Client, requests};
use client::{Client, eventually, get, start};
use prony_http2::Code;
use prony_http2::client::Failure;
use prony_target::{Config, Delay, Http2Config, Ledger};

const MS: Duration = Duration::from_millis(1);
const GET: &[(&str, &str)] = &[("GET", "/")];

fn hello() -> End {
    End::Answered(200, b"Hello, World!".to_vec())
}

fn with(http2: Http2Config) -> Config {
    Config { http2, ..Config::default() }
}

#[test]
fn routes_of_the_contract() {
    let target = start(&Config::default());
    let list = [
        ("GET", "/"),
        ("GET", "/json"),
        ("HEAD", "/"),
        ("GET", "/sleep?ms=30"),
        ("GET", "/work?n=1000"),
        ("GET", "/nowhere"),
        ("PUT", "/"),
        ("GET", "/-/ledger"),
    ];
    let mut client = Http2Client::connect(&target, 1, requests(&list, b""));
    assert_eq!(client.ask(0), (200, "Hello, World!".to_owned()));
    assert_eq!(client.ask(1), (200, r#"{"message":"Hello, World!"}"#.to_owned()));
    assert_eq!(client.ask(2), (200, String::new()));
    let before = Instant::now();
    assert_eq!(client.ask(3).0, 200);
    assert!(before.elapsed() >= 30 * MS);
    assert_eq!(client.ask(4).1.len(), 16);
    assert_eq!((client.ask(5).0, client.ask(6).0), (404, 405));
    let (status, json) = client.ask(7);
    let ledger: Ledger = serde_json::from_str(&json).unwrap();
    assert_eq!((status, ledger.requests_received, ledger.requests_answered), (200, 7, 7));
    assert_eq!((ledger.http2_connections, ledger.connections_accepted), (1, 1));
    assert_eq!(ledger.requests_by_path["/"], 2);
    let mut client = Http2Client::connect(&target, 1, requests(&[("POST", "/echo")], b"abcd"));
    assert_eq!(client.ask(0), (200, "abcd".to_owned()));
    assert_eq!(target.stop().requests_answered, 8);
}

#[test]
fn the_first_bytes_decide_and_may_come_one_by_one() {
    let target = start(&Config::default());
    assert_eq!(Client::connect(&target).ask(&get("/")).status, 200);
    let mut client = Client::connect(&target);
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    preface.bytes().for_each(|byte| client.send([byte]));
    eventually(|| target.ledger().http2_connections == 1);
    // What only begins like it is HTTP/1: an answer, and the end.
    let mut client = Client::connect(&target);
    client.send("PRI * HTTP/2.0\r\n\r\nSX");
    assert_eq!(client.answer().status, 505);
    let ledger = target.stop();
    assert_eq!((ledger.http2_connections, ledger.requests_refused), (1, 1));
}

#[test]
fn the_ledger_is_exact_over_connections_streams_and_threads() {
    let config = Config { threads: 2, delay: "exp:300us".parse().unwrap(), ..Config::default() };
    let target = start(&config);
    let mut clients: Vec<_> = (0..4).map(|_| Http2Client::connect(&target, 10, requests(GET, b""))).collect();
    for round in 1..=20 {
        for client in &mut clients {
            (0..10).for_each(|place| client.submit(place, 0));
            client.write();
        }
        for client in &mut clients {
            let ends = client.until(round * 10);
            assert!(ends.iter().all(|(_, end)| *end == hello()));
        }
    }
    let ledger = target.ledger();
    assert_eq!((ledger.requests_received, ledger.requests_answered), (800, 800));
    assert_eq!((ledger.latency.count, ledger.residence.count), (800, 800));
    assert_eq!((ledger.requests_refused, ledger.streams_reset, ledger.streams_unprocessed), (0, 0, 0));
    drop(clients);
    eventually(|| target.ledger().connections_open == 0);
}

#[test]
fn each_answer_leaves_when_it_is_due_whatever_came_before() {
    let target = start(&Config::default());
    let list = [("GET", "/sleep?ms=300"), ("GET", "/")];
    let mut client = Http2Client::connect(&target, 2, requests(&list, b""));
    client.submit(0, 0);
    client.submit(1, 1);
    let ends: Vec<_> = client.until(2).iter().map(|(place, _)| *place).collect();
    assert_eq!(ends, [1, 0]);
}

#[test]
fn delays_last_at_least_as_asked_and_a_capacity_is_one_queue() {
    let target = start(&Config { delay: Delay::Fixed(50 * MS), ..Config::default() });
    let mut client = Http2Client::connect(&target, 20, requests(GET, b""));
    let before = Instant::now();
    (0..20).for_each(|place| client.submit(place, 0));
    client.until(20);
    assert!(before.elapsed() >= 50 * MS);
    // The histogram tells latencies apart to 0.1 %.
    assert!(target.stop().latency.min_ns >= 49_900_000);
    let target = start(&Config { capacity_per_s: Some(1000.0), ..Config::default() });
    let mut client = Http2Client::connect(&target, 50, requests(GET, b""));
    let before = Instant::now();
    (0..50).for_each(|place| client.submit(place, 0));
    client.until(50);
    assert!(before.elapsed() >= 50 * MS, "50 requests of 1 ms each");
}

#[test]
fn large_bodies_go_both_ways_within_the_windows() {
    let body: Vec<u8> = (0..3 << 20).map(|n: u32| (n % 251) as u8).collect();
    let target = start(&Config { body_bytes: Some(3 << 20), ..Config::default() });
    let mut client = Http2Client::connect(&target, 3, requests(&[("POST", "/echo"), ("GET", "/")], &body));
    client.submit(0, 0);
    client.submit(1, 0);
    client.submit(2, 1);
    for (place, end) in client.until(3).to_vec() {
        let End::Answered(200, got) = end else { panic!("{place}") };
        match place {
            // Every request of this client has the body, and `/` does not read it.
            2 => assert!(got.len() == 3 << 20 && got.iter().all(|byte| *byte == b'x')),
            _ => assert!(got == body),
        }
    }
    assert_eq!(target.stop().requests_answered, 3);
}

#[test]
fn goaway_comes_as_asked_and_later_requests_are_not_processed() {
    let goaway_after = NonZeroU32::new(3);
    let target = start(&with(Http2Config { goaway_after, ..Http2Config::default() }));
    let mut client = Http2Client::connect(&target, 5, requests(GET, b""));
    (0..5).for_each(|place| client.submit(place, 0));
    let ends = client.until(5);
    let count = |end: &End| ends.iter().filter(|(_, other)| other == end).count();
    assert_eq!((count(&hello()), count(&End::Moved)), (3, 2));
    while !client.is_ended {
        client.read();
    }
    assert!(client.connection.is_draining());
    eventually(|| target.ledger().connections_open == 0);
    let ledger = target.stop();
    assert_eq!((ledger.requests_received, ledger.requests_answered, ledger.streams_unprocessed), (3, 3, 2));
}

#[test]
fn close_mode_ends_each_connection_after_one_answer() {
    let target = start(&Config { close: true, ..Config::default() });
    for _ in 0..5 {
        let mut client = Http2Client::connect(&target, 1, requests(GET, b""));
        client.submit(0, 0);
        assert_eq!(client.until(1), [(0, hello())]);
        while !client.is_ended {
            client.read();
        }
    }
    let ledger = target.stop();
    assert_eq!((ledger.requests_answered, ledger.http2_connections), (5, 5));
}

#[test]
fn every_nth_request_is_reset_where_that_is_asked_for() {
    let reset_every = NonZeroU32::new(3);
    let target = start(&with(Http2Config { reset_every, ..Http2Config::default() }));
    let mut client = Http2Client::connect(&target, 10, requests(GET, b""));
    for place in 0..10 {
        client.submit(place, 0);
        client.until(usize::from(place) + 1);
    }
    for (at, (_, end)) in client.ends.iter().enumerate() {
        let reset = End::Failed(Failure::Reset(Code(2)));
        assert_eq!(*end, if at % 3 == 2 { reset } else { hello() }, "request {}", at + 1);
    }
    let ledger = target.stop();
    assert_eq!((ledger.requests_received, ledger.requests_answered, ledger.streams_reset), (10, 7, 3));
}

#[test]
fn a_stream_limit_is_told_and_lowered_where_that_is_asked_for() {
    let config = Http2Config { max_streams: 4, lower_streams: Some(2), ..Http2Config::default() };
    let target = start(&Config { delay: Delay::Fixed(20 * MS), ..with(config) });
    let mut client = Http2Client::connect(&target, 10, requests(GET, b""));
    assert_eq!((client.connection.streams(), client.connection.permits()), (4, 4));
    (0..4).for_each(|place| client.submit(place, 0));
    client.until(4);
    assert_eq!((client.connection.streams(), client.connection.permits()), (2, 2));
    (0..2).for_each(|place| client.submit(place, 0));
    assert!(client.until(6).iter().all(|(_, end)| *end == hello()));
    assert_eq!(target.stop().streams_unprocessed, 0);
}

#[test]
fn uploads_starve_where_that_is_asked_for_and_others_go_on() {
    let config = Http2Config { starve_uploads: Some(1_000), ..Http2Config::default() };
    let target = start(&with(config));
    let fits = vec![b'x'; 1_000];
    let mut other = Http2Client::connect(&target, 1, requests(&[("POST", "/echo")], &fits));
    assert_eq!(other.ask(0).1.len(), 1_000);
    let mut client = Http2Client::connect(&target, 2, requests(&[("POST", "/echo")], &[b'x'; 1_001]));
    client.submit(0, 0);
    client.write();
    // The server has read all that may come, and asks for no more.
    eventually(|| target.ledger().bytes_read == client.written + other.written);
    assert_eq!((client.connection.flow_blocked(), client.ends.len()), (1, 0));
    assert_eq!(other.ask(0).1.len(), 1_000);
    assert_eq!(target.stop().requests_received, 2);
}

#[test]
fn a_client_that_gives_a_request_up_frees_its_stream() {
    let config = Http2Config { max_streams: 1, ..Http2Config::default() };
    let target = start(&with(config));
    let list = [("GET", "/sleep?ms=60000"), ("GET", "/")];
    let mut client = Http2Client::connect(&target, 1, requests(&list, b""));
    client.submit(0, 0);
    client.write();
    eventually(|| target.ledger().requests_received == 1);
    client.connection.cancel(0);
    assert_eq!(client.ask(1), (200, "Hello, World!".to_owned()));
    let ledger = target.stop();
    assert_eq!((ledger.requests_received, ledger.requests_answered, ledger.streams_unprocessed), (2, 1, 0));
}

#[test]
fn a_connection_not_begun_as_http_2_ends_with_a_goaway() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    // A PING is no client's first frame.
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x08\x06\0\0\0\0\0abcdefgh");
    eventually(|| target.ledger().requests_refused == 1);
    eventually(|| target.ledger().connections_open == 0);
}
