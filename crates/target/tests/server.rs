//! The server as clients see it, over real sockets. Nothing here depends on how fast the machine is: waits are bounded
//! from below by what was configured, and from above by nothing but a watchdog. When each answer is due is exact in the
//! unit tests of `truth.rs`.

#![allow(clippy::unwrap_used, reason = "helpers of tests count as no tests to clippy")]

#[allow(dead_code, reason = "shared with the tests of HTTP/2")]
mod client;

use std::io::Write;
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, eventually, get, start};
use hdrhistogram::Histogram;
use prony_target::{Config, ConfigError, Delay, Ledger, StartError, Stopper, Target, run};

const MS: Duration = Duration::from_millis(1);

#[test]
fn routes_of_the_contract() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    let text = client.ask(&get("/"));
    assert_eq!(
        (text.status, text.header("content-type"), text.body()),
        (200, Some("text/plain"), "Hello, World!")
    );
    let json = client.ask(&get("/json"));
    assert_eq!(json.header("content-type"), Some("application/json"));
    assert_eq!(json.body(), r#"{"message":"Hello, World!"}"#);
    let echo = client.ask("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd");
    assert_eq!((echo.status, echo.body()), (200, "abcd"));
    let chunked =
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    assert_eq!(client.ask(chunked).body(), "abc");
    assert_eq!(client.ask("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n").body(), "");
    let before = Instant::now();
    assert_eq!(client.ask(&get("/sleep?ms=30")).status, 200);
    assert!(before.elapsed() >= 30 * MS);
    assert_eq!(client.ask(&get("/work?n=1000")).body().len(), 16);
    assert_eq!(client.ask(&get("/nowhere")).status, 404);
    assert_eq!(client.ask(&get("/sleep?ms=x")).status, 400);
    assert_eq!(client.ask("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").status, 405);
    let head = client.ask_head("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((head.status, head.header("content-length"), head.body()), (200, Some("13"), ""));
    assert_eq!(client.ask(&get("/")).status, 200, "all of it on one connection");
    let ledger = target.stop();
    assert_eq!((ledger.requests_received, ledger.requests_answered), (12, 12));
    assert_eq!(ledger.connections_accepted, 1);
}

#[test]
fn pipelined_requests_are_answered_in_order_despite_delays() {
    for delay in ["none", "exp:300us"] {
        let target = start(&Config { delay: delay.parse().unwrap(), ..Config::default() });
        let mut client = Client::connect(&target);
        let bodies: Vec<String> = (0..200).map(|i| format!("number {i}")).collect();
        for body in &bodies {
            let length = body.len();
            client.send(format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}"));
        }
        for body in &bodies {
            assert_eq!(client.answer().body(), body);
        }
        assert_eq!(target.ledger().requests_answered, 200);
    }
}

#[test]
fn a_pipeline_longer_than_is_held_is_answered_in_full() {
    let target = start(&Config { delay: Delay::Fixed(2 * MS), ..Config::default() });
    let mut client = Client::connect(&target);
    client.send(get("/").repeat(5000));
    for _ in 0..5000 {
        assert_eq!(client.answer().status, 200);
    }
    let ledger = target.stop();
    assert_eq!(
        (ledger.requests_received, ledger.requests_answered, ledger.latency.count),
        (5000, 5000, 5000)
    );
}

#[test]
fn requests_may_come_byte_by_byte() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    let request = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for byte in request.bytes() {
        client.send([byte]);
    }
    assert_eq!(client.answer().body(), "abc");
    let ledger = target.ledger();
    assert_eq!((ledger.requests_received, ledger.bytes_read), (1, request.len() as u64));
}

#[test]
fn ledger_is_exact_over_connections_and_threads() {
    for threads in [1, 3] {
        let target = start(&Config { threads, ..Config::default() });
        assert_eq!(target.threads(), threads);
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let mut client = Client::connect(&target);
                thread::spawn(move || (0..250).map(|_| client.ask(&get("/")).bytes as u64).sum::<u64>())
            })
            .collect();
        let received_bytes: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        let mut client = Client::connect(&target);
        for _ in 0..2 {
            let answer = client.ask(&get("/-/ledger"));
            assert_eq!(answer.header("content-type"), Some("application/json"));
            let ledger: Ledger = serde_json::from_str(answer.body()).unwrap();
            assert_eq!(ledger.schema, "prony.ledger/1");
            assert_eq!((ledger.requests_received, ledger.requests_answered), (2000, 2000));
            assert_eq!((ledger.connections_accepted, ledger.requests_refused), (9, 0));
            assert_eq!(
                (ledger.bytes_read, ledger.bytes_written),
                (2000 * get("/").len() as u64, received_bytes)
            );
            assert_eq!((ledger.latency.count, ledger.latency.histogram().unwrap().len()), (2000, 2000));
        }
        drop(client);
        eventually(|| target.ledger().connections_open == 0);
    }
}

#[test]
fn every_answer_that_a_client_has_is_in_the_ledger_at_once() {
    let target = start(&Config { threads: 2, ..Config::default() });
    let mut clients: Vec<Client> = (0..6).map(|_| Client::connect(&target)).collect();
    for round in 1..=200_u64 {
        for (place, client) in (0..).zip(&mut clients) {
            client.ask(&get("/"));
            assert_eq!(target.ledger().requests_answered, (round - 1) * 6 + place + 1);
        }
    }
}

#[test]
fn a_ledger_request_behind_others_in_a_pipeline_counts_them() {
    for delay in [Delay::None, Delay::Fixed(5 * MS)] {
        let target = start(&Config { delay, ..Config::default() });
        let mut client = Client::connect(&target);
        client.send(get("/").repeat(3) + &get("/-/ledger"));
        (0..3).for_each(|_| assert_eq!(client.answer().status, 200));
        let ledger: Ledger = serde_json::from_str(client.answer().body()).unwrap();
        assert_eq!((ledger.requests_received, ledger.requests_answered), (3, 3));
    }
}

#[test]
fn close_mode_says_close_and_ends_after_one_answer() {
    let target = start(&Config { close: true, ..Config::default() });
    for _ in 0..20 {
        let mut client = Client::connect(&target);
        client.send(get("/").repeat(2));
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        assert!(client.is_at_end());
    }
    eventually(|| target.ledger().connections_open == 0);
    let ledger = target.stop();
    assert_eq!((ledger.connections_accepted, ledger.requests_answered), (20, 20));
}

#[test]
fn a_closed_connection_is_given_up_if_the_client_never_ends_it() {
    let target = start(&Config { close: true, ..Config::default() });
    let mut client = Client::connect(&target);
    client.ask(&get("/"));
    eventually(|| target.ledger().connections_open == 0);
}

#[test]
fn http_1_0_closes_unless_asked_not_to() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    assert_eq!(client.ask("GET / HTTP/1.0\r\n\r\n").header("connection"), Some("close"));
    assert!(client.is_at_end());
    let mut client = Client::connect(&target);
    for _ in 0..2 {
        let answer = client.ask("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        assert_eq!(answer.header("connection"), Some("keep-alive"));
    }
    let answer = client.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(client.is_at_end());
}

#[test]
fn delays_last_at_least_as_long_as_asked() {
    let target = start(&Config { delay: Delay::Fixed(100 * MS), ..Config::default() });
    let mut clients: Vec<Client> = (0..50).map(|_| Client::connect(&target)).collect();
    let before = Instant::now();
    clients.iter_mut().for_each(|client| client.send(get("/")));
    clients.iter_mut().for_each(|client| assert_eq!(client.answer().status, 200));
    assert!(before.elapsed() >= 100 * MS);
    let ledger = target.stop();
    // The histogram tells latencies apart to 0.1 %.
    assert!(ledger.latency.min_ns >= 99_900_000, "{}", ledger.latency.min_ns);
    assert_eq!(ledger.latency.count, 50);
}

#[test]
fn capacity_is_one_queue_whatever_the_threads() {
    let target = start(&Config { capacity_per_s: Some(1000.0), threads: 4, ..Config::default() });
    assert_eq!(target.threads(), 1);
    let mut clients: Vec<Client> = (0..10).map(|_| Client::connect(&target)).collect();
    let before = Instant::now();
    clients.iter_mut().for_each(|client| client.send(get("/").repeat(10)));
    clients.iter_mut().for_each(|client| (0..10).for_each(|_| assert_eq!(client.answer().status, 200)));
    assert!(before.elapsed() >= 100 * MS, "100 requests of 1 ms each");
}

#[test]
fn a_stall_holds_everything_back_and_the_handle_still_stops_it() {
    let begun = Instant::now();
    let target = start(&Config { stall: Some("300ms/1h".parse().unwrap()), ..Config::default() });
    assert_eq!(Client::connect(&target).ask(&get("/")).status, 200);
    // From before the start to after the stall's end.
    assert!(begun.elapsed() >= 300 * MS);
    let target = start(&Config { stall: Some("30m/1h".parse().unwrap()), ..Config::default() });
    let mut client = Client::connect(&target);
    client.send(get("/"));
    assert_eq!(target.ledger().requests_received, 0);
    assert_eq!(target.stop().requests_received, 0);
}

#[test]
fn malformed_requests_are_refused_and_the_connection_closed() {
    let target = start(&Config::default());
    let cases = [
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(20_000)), 431),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 16777217\r\n\r\nabc".to_owned(), 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1000001\r\n".to_owned(), 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned(), 501),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 505),
    ];
    for (request, status) in &cases {
        let mut client = Client::connect(&target);
        client.send(get("/"));
        client.send(request);
        assert_eq!(client.answer().status, 200);
        let answer = client.answer();
        assert_eq!((answer.status, answer.header("connection")), (*status, Some("close")), "{request:.80}");
        assert!(client.is_at_end());
    }
    let ledger = target.stop();
    assert_eq!((ledger.requests_received, ledger.requests_refused), (8, 8));
}

#[test]
fn a_body_too_large_is_answered_while_it_is_being_sent() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n");
    // What follows is dropped unread, for a second from the answer on: then the connection may end beneath it.
    let mut sender = client.stream.try_clone().unwrap();
    let sending = thread::spawn(move || (0..100).all(|_| sender.write_all(&[0; 10_000]).is_ok()));
    assert_eq!(client.answer().status, 413);
    sending.join().unwrap();
}

#[test]
fn the_largest_echo_comes_back_in_full_also_to_a_slow_reader() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    let body: String = (0..1 << 20).map(|i| format!("{i:015}\n")).collect();
    assert_eq!(body.len(), 16 << 20);
    client.send(format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()));
    client.send(&body);
    // All of it lies at the server, and goes out as it is read.
    eventually(|| target.ledger().requests_received == 1);
    assert!(client.answer().body() == body);
    assert_eq!(client.ask(&get("/")).status, 200);
}

#[test]
fn a_client_that_waits_to_be_told_is_told_to_send_its_body() {
    let target = start(&Config::default());
    let mut client = Client::connect(&target);
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(client.answer().status, 100);
    assert_eq!(client.ask("ok").body(), "ok");
    assert_eq!(target.stop().requests_answered, 1);
}

#[test]
fn clients_that_disconnect_at_any_point_do_not_disturb_others() {
    let target = start(&Config { delay: Delay::Fixed(20 * MS), ..Config::default() });
    let request = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd";
    for end in 0..=request.len() {
        Client::connect(&target).send(&request[..end]);
    }
    // This one ends its side only, and is owed an answer.
    let mut client = Client::connect(&target);
    client.send(get("/"));
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer().status, 200);
    assert!(client.is_at_end());
    eventually(|| target.ledger().connections_open == 0);
    assert_eq!(target.ledger().connections_accepted, request.len() as u64 + 2);
    assert_eq!(target.stop().requests_received, 2);
}

#[test]
fn a_client_that_reads_nothing_is_not_read_and_loses_nothing() {
    let target = start(&Config { body_bytes: Some(100_000), ..Config::default() });
    let mut client = Client::connect(&target);
    client.send(get("/").repeat(500));
    // It has read some and answers them, of which nothing is read: 50 MB are more than there is room for on the way.
    eventually(|| target.ledger().requests_received > 0);
    for _ in 0..500 {
        assert_eq!(client.answer().body().len(), 100_000);
    }
    assert_eq!(target.stop().requests_answered, 500);
}

#[test]
fn a_taken_port_and_zero_threads_are_refused() {
    let target = start(&Config { threads: 2, ..Config::default() });
    for threads in [1, 2] {
        let taken = Target::start(&Config { address: target.address(), threads, ..Config::default() });
        let sentence = taken.err().expect("the port is taken").to_string();
        assert!(
            sentence.contains(&target.address().to_string()) && sentence.contains("port 0"),
            "{sentence}"
        );
    }
    let none = Target::start(&Config { threads: 0, ..Config::default() });
    assert!(matches!(none.err(), Some(StartError::Config(ConfigError::Threads(0)))));
}

#[test]
fn in_the_foreground_it_runs_until_it_is_stopped() {
    let stop_later = |address, stopper: Stopper| {
        thread::spawn(move || {
            assert_eq!(Client::connect_to(address).ask(&get("/")).status, 200);
            stopper.stop();
        });
    };
    let ledger = run(&Config { threads: 2, ..Config::default() }, stop_later).unwrap();
    assert_eq!(ledger.requests_answered, 1);
}

#[test]
fn every_answer_has_a_residence_no_shorter_than_its_latency() {
    for delay in ["none", "exp:300us"] {
        let config = Config { delay: delay.parse().unwrap(), threads: 2, ..Config::default() };
        let target = start(&config);
        let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(&target)).collect();
        for _ in 0..50 {
            clients.iter_mut().for_each(|client| client.send(get("/").repeat(3)));
            clients.iter_mut().for_each(|client| (0..3).for_each(|_| drop(client.answer())));
        }
        let ledger = target.stop();
        let (latency, residence) =
            (ledger.latency.histogram().unwrap(), ledger.residence.histogram().unwrap());
        assert_eq!((latency.len(), residence.len()), (600, 600));
        assert!(ledger.stamps_rejected <= 600);
        // Arrival ≤ read ≤ write ≤ its end, for each: so it holds at every rank.
        for percent in 0..=100 {
            let quantile = f64::from(percent) / 100.0;
            let of = |histogram: &Histogram<u64>| histogram.value_at_quantile(quantile);
            assert!(of(&latency) <= of(&residence), "{percent} %: {} {}", of(&latency), of(&residence));
        }
    }
}

#[test]
fn waiting_for_the_server_to_wake_is_residence_not_latency() {
    // The kernel switches its stamping on in its own time, and keeps it on for as long as anybody asks for it.
    let other = start(&Config::default());
    if other.ledger().residence_clock == "user" {
        return;
    }
    eventually(|| {
        Client::connect(&other).ask(&get("/"));
        let ledger = other.ledger();
        ledger.stamps_rejected < ledger.requests_answered
    });
    let begun = Instant::now();
    let target = start(&Config { stall: Some("300ms/1h".parse().unwrap()), ..Config::default() });
    let mut client = Client::connect(&target);
    client.send(get("/"));
    let sent = begun.elapsed();
    assert_eq!(client.answer().status, 200);
    let ledger = target.stop();
    // It lay in the kernel from before `sent` to the silence's end, which began after `begun`.
    let waited_ns = (300 * MS).saturating_sub(sent).as_nanos() as u64;
    // The histogram tells durations apart to 0.1 %.
    assert!(ledger.residence.max_ns >= waited_ns / 1000 * 999, "{} {waited_ns}", ledger.residence.max_ns);
    assert!(ledger.latency.max_ns <= ledger.residence.max_ns);
    assert_eq!((ledger.residence.count, ledger.stamps_rejected), (1, 0));
}

#[test]
fn a_ledger_from_before_residence_is_read() {
    let mut json = serde_json::to_value(start(&Config::default()).stop()).unwrap();
    for field in ["residence", "residence_clock", "stamps_rejected"] {
        assert!(json.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    let ledger: Ledger = serde_json::from_value(json).unwrap();
    assert_eq!((ledger.residence.count, ledger.residence_clock.as_str()), (0, ""));
}
