//! Counts are exact: the client's counts and the server's ledger agree to the request.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use prony_load::{Control, LoadError, Snapshot};
use prony_model::measurement::{Tolerance, WorkerAudit};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_target::{Config, Target};

use crate::{HANGS, lying, plan, run, run_until, settled};

#[test]
fn the_ledger_and_the_counts_agree_to_the_request() {
    for (threads, connections, requests) in [(1, 100, 20_000), (3, 7, 1_000), (1, 50, 20)] {
        let target = Target::start(&Config::default()).unwrap();
        let mut p = plan(target.address());
        (p.threads, p.connections, p.stop.requests) = (threads, connections, Some(requests));
        let m = run(&p).unwrap();
        assert!(m.ended_by_count && !m.interrupted);
        let ledger = settled(target, connections.into());
        assert_eq!((m.requests.completed, m.requests.scheduled, m.requests.failed), (requests, requests, 0));
        assert_eq!((m.run_total.sent, ledger.requests_received), (requests, requests));
        assert_eq!(ledger.requests_answered, requests);
        assert_eq!(m.run_total.connections, u64::from(connections));
        assert_eq!(ledger.connections_accepted, u64::from(connections));
        assert_eq!(m.status.get(&200), Some(&requests));
    }
}

#[test]
fn requests_in_flight_at_the_end_count_as_sent() {
    let target = Target::start(&Config { delay: "5ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.connections = 8;
    let m = run_until(&p, |so_far| so_far.completed >= 16);
    // In a closed load each connection has its request, from the first one on.
    assert_eq!((m.requests.in_flight, m.requests.carried_in), (8, 0));
    assert_eq!(m.requests.scheduled, m.requests.completed + 8);
    assert_eq!(m.run_total.sent, settled(target, 8).requests_received);
}

#[test]
fn a_window_has_its_length_whatever_was_done_in_it() {
    let target = Target::start(&Config { delay: "5ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    (p.connections, p.warmup) = (8, Duration::from_millis(20));
    (p.stop.requests, p.stop.duration) = (None, Some(Duration::from_millis(130)));
    let m = run(&p).unwrap();
    assert_eq!((m.window_end_ns - m.window_start_ns, m.bins.each.len()), (130_000_000, 2));
    assert!(m.requests.in_flight <= 8 && m.requests.carried_in <= 8, "{:?}", m.requests);
    assert_eq!(m.run_total.sent, settled(target, 8).requests_received);
}

#[test]
fn a_constant_rate_is_scheduled_exactly() {
    let target = Target::start(&Config::default()).unwrap();
    for threads in [1, 2] {
        let mut p = plan(target.address());
        (p.threads, p.connections) = (threads, 10);
        p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
        p.stop.requests = None;
        p.warmup = Duration::from_millis(50);
        p.stop.duration = Some(Duration::from_millis(300));
        let m = run(&p).unwrap();
        assert_eq!(m.requests.scheduled, 300);
        assert_eq!(m.series.len(), 1);
        assert_eq!(m.bins.each.len(), 3);
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
    assert!(m.latency.parts().connect_wait.max() > 0, "each waited for its connect");
    // One more: the connection that found out which address answers.
    assert_eq!(settled(target, 501).connections_accepted, 501);
}

#[test]
fn a_server_that_closes_is_followed() {
    let target = Target::start(&Config { close: true, ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.connections = 4;
    let m = run(&p).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (200, 0));
    assert_eq!(settled(target, 200).connections_accepted, 200);
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
fn answers_that_browsers_take_are_counted_over_all_workers() {
    let folded: &[u8] = b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5, 5\r\n\r\nhello";
    let both: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for (answer, why) in [
        (folded, vec![Tolerance::RepeatedLength, Tolerance::Folded]),
        (both, vec![Tolerance::LengthBesideCoding]),
    ] {
        let mut p = plan(lying::always(answer));
        (p.threads, p.connections, p.stop.requests) = (2, 4, Some(50));
        p.expect.body = Some(b"hello".to_vec());
        let m = run(&p).unwrap();
        assert_eq!((m.requests.completed, m.requests.failed), (50, 0), "{:?}", m.errors);
        let counts: BTreeMap<Tolerance, u64> = why.into_iter().map(|tolerance| (tolerance, 50)).collect();
        assert_eq!((m.tolerated, m.run_total.connections), (counts, 4));
    }
}

#[test]
fn a_large_request_and_its_echo_arrive_whole() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    p.target.path = "/echo".to_owned();
    p.work = prony_model::plan::Work::Request("POST".to_owned());
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
    let m = run_until(&p, |so_far| so_far.completed >= 50);
    assert!(m.interrupted && m.requests.completed >= 50);
    assert!(m.window_end_ns - m.window_start_ns < HANGS.as_nanos() as u64);

    (p.warmup, p.stop.requests, p.stop.duration) = (HANGS, None, Some(HANGS));
    let control = Control::new();
    let ended = prony_load::run(&p, &control, &mut |_| control.stop());
    assert!(matches!(ended, Err(LoadError::Interrupted)), "{ended:?}");
}

/// A server whose first connection gets its first answer when the test lets it; the others are answered at once.
fn holding() -> (SocketAddr, Arc<AtomicBool>) {
    let let_go = Arc::new(AtomicBool::new(false));
    let waits = Arc::clone(&let_go);
    let address = lying::serve(move |mut stream, number| {
        while lying::read_request(&mut stream) {
            while number == 0 && !waits.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    });
    (address, let_go)
}

#[test]
fn a_wait_beside_another_workers_free_connection_is_counted() {
    let waited = |threads: u32| {
        let (address, let_go) = holding();
        let mut p = plan(address);
        (p.connections, p.threads) = (2, threads);
        p.arrivals = Arrivals::Constant(Rate::per_s(2_000.0).unwrap());
        // Where two workers share them, the one with the free connection is done with its half: the other half waits.
        // Where one has both, all but one are done.
        let done = 200 / u64::from(threads) - u64::from(threads == 1);
        let all_due_ns = 100_000_000;
        let m = prony_load::run(&p, &Control::new(), &mut |so_far: &Snapshot| {
            if so_far.completed >= done && so_far.elapsed_ns > all_due_ns {
                let_go.store(true, Ordering::SeqCst);
            }
        })
        .unwrap();
        assert_eq!((m.requests.completed, m.broken_identities.len()), (200, 0));
        let sum = |of: fn(&WorkerAudit) -> u64| m.workers.iter().map(of).sum::<u64>();
        (sum(|w| w.waited_beside_free), sum(|w| w.waited_beside_free_ns))
    };
    let (count, ns) = waited(2);
    // All of the half but the request that was held, and each for a while.
    assert!(count >= 99 && ns >= count, "{count} waited {ns} ns");
    assert_eq!(waited(1), (0, 0), "one worker has them all");
}
