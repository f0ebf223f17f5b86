//! Counts are exact: the client's books and the server's ledger agree to the request.

use std::io::Write;
use std::time::Duration;

use prony_load::measurement::WorkerAudit;
use prony_load::pace::Rate;
use prony_load::plan::Arrivals;
use prony_load::{Control, LoadError};
use prony_target::{Config, Target};

use crate::{lying, plan, run};

#[test]
fn the_ledger_and_the_books_agree_to_the_request() {
    for (threads, connections, requests) in [(1, 100, 20_000), (3, 7, 1_000), (1, 50, 20)] {
        let target = Target::start(&Config::default()).unwrap();
        let mut p = plan(target.address());
        (p.threads, p.connections, p.stop.requests) = (threads, connections, Some(requests));
        let m = run(&p).unwrap();
        assert!(m.ended_by_count && !m.interrupted);
        let ledger = target.stop();
        assert_eq!((m.requests.completed, m.requests.scheduled, m.requests.failed), (requests, requests, 0));
        assert_eq!((m.run_total.sent, ledger.requests_received), (requests, requests));
        assert_eq!(ledger.requests_answered, requests);
        assert_eq!(m.run_total.connections, u64::from(connections));
        assert_eq!(ledger.connections_accepted, u64::from(connections));
        assert_eq!(m.status.get(&200), Some(&requests));
    }
}

#[test]
fn what_is_cut_at_the_end_was_still_sent() {
    let target = Target::start(&Config { delay: "5ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.connections = 8;
    p.warmup = Duration::from_millis(100);
    p.stop.requests = None;
    p.stop.duration = Some(Duration::from_millis(400));
    let m = run(&p).unwrap();
    assert_eq!(m.window_end_ns - m.window_start_ns, 400_000_000);
    assert_eq!((m.requests.in_flight, m.requests.carried_in), (8, 8));
    assert!(m.requests.completed > 0);
    assert_eq!(m.run_total.sent, target.stop().requests_received);
}

#[test]
fn a_constant_rate_is_scheduled_exactly() {
    let target = Target::start(&Config::default()).unwrap();
    for threads in [1, 2] {
        let mut p = plan(target.address());
        (p.threads, p.connections) = (threads, 10);
        p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
        p.stop.requests = None;
        p.warmup = Duration::from_millis(250);
        p.stop.duration = Some(Duration::from_secs(1));
        let m = run(&p).unwrap();
        assert_eq!(m.requests.scheduled, 1000);
        assert_eq!(m.series.len(), 1);
        assert_eq!(m.bins.len(), 10);
    }
    let mut p = plan(target.address());
    p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
    p.stop.requests = Some(123);
    assert_eq!(run(&p).unwrap().requests.completed, 123);
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    (p.keepalive, p.connections, p.stop.requests) = (false, 5, Some(500));
    let m = run(&p).unwrap();
    assert_eq!(m.requests.completed, 500);
    assert_eq!(m.run_total.connections, 500);
    assert!(m.latency.connect_wait.max() > 0, "each waited for its connect");
    // One more: the connection that found out which address answers.
    assert_eq!(target.stop().connections_accepted, 501);
}

#[test]
fn a_server_that_closes_is_followed() {
    let target = Target::start(&Config { close: true, ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.connections = 4;
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (200, 0));
    assert_eq!(target.stop().connections_accepted, 200);
}

#[test]
fn every_framing_is_read() {
    let chunked: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let fixed: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let until_close: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhello";
    for (address, connections) in
        [(lying::always(chunked), 1), (lying::always(fixed), 1), (lying::once(until_close), 50)]
    {
        let mut p = plan(address);
        p.stop.requests = Some(50);
        p.expect.body = Some(b"hello".to_vec());
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.run_total.connections), (50, connections));
    }
}

#[test]
fn a_large_request_and_its_echo_arrive_whole() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    p.target.path = "/echo".to_owned();
    p.method = "POST".to_owned();
    p.body = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
    p.expect.body = Some(p.body.clone());
    p.stop.requests = Some(6);
    p.connections = 2;
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (6, 0));
}

#[test]
fn an_interrupted_load_keeps_what_it_measured() {
    let target = Target::start(&Config { delay: "1ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.stop.requests = None;
    p.stop.duration = Some(Duration::from_secs(600));
    let control = Control::new();
    let stopper = control.clone();
    let m = prony_load::run(&p, &control, &mut |snapshot| {
        if snapshot.completed >= 50 {
            stopper.stop();
        }
    })
    .unwrap();
    assert!(m.interrupted && m.requests.completed >= 50);
    assert_eq!(m.broken_identities, Vec::<String>::new());
    assert!(m.window_end_ns - m.window_start_ns < 300_000_000_000);

    let control = Control::new();
    p.warmup = Duration::from_secs(600);
    let stopper = control.clone();
    let ended = prony_load::run(&p, &control, &mut |_| stopper.stop());
    assert!(matches!(ended, Err(LoadError::Interrupted)), "{ended:?}");
}

#[test]
fn a_wait_beside_another_workers_free_connection_is_counted() {
    // The first connection is slower than its worker's share of the rate, the other is nearly always free.
    let waited = |threads: u32| {
        let address = lying::serve(|mut stream, number| {
            while lying::read_request(&mut stream) {
                std::thread::sleep(Duration::from_millis(if number == 0 { 20 } else { 0 }));
                if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                    return;
                }
            }
        });
        let mut p = plan(address);
        (p.connections, p.threads) = (2, threads);
        p.arrivals = Arrivals::Constant(Rate::per_s(400.0).unwrap());
        let m = run(&p).unwrap();
        assert_eq!(m.requests.completed, 200);
        let sum = |of: fn(&WorkerAudit) -> u64| m.workers.iter().map(of).sum::<u64>();
        (sum(|w| w.waited_beside_free), sum(|w| w.waited_beside_free_ns))
    };
    let (count, ns) = waited(2);
    assert!(count >= 20 && ns >= count * 1_000_000, "{count} waited {ns} ns");
    assert_eq!(waited(1), (0, 0), "one worker has them all");
}
