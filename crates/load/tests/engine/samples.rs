//! Single requests are kept when asked for, and agree with the counts.

use std::time::Duration;

use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::{Arrivals, SAMPLES_MAX};
use prony_model::rate::Rate;
use prony_target::{Config, Target};

use crate::{lying, plan, run};

/// What the samples say is what the histograms and counts say.
fn assert_agreement(m: &Measurement) {
    let completed: Vec<_> = m.samples.iter().filter(|s| s.failure.is_none()).collect();
    for sample in &completed {
        assert!(sample.first_byte_us > 0 || sample.response_ns < 1000, "{sample:?}");
        assert!(u64::from(sample.first_byte_us) * 1000 <= sample.response_ns, "{sample:?}");
    }
    let response = SparseHistogram::of_values(completed.iter().map(|sample| sample.response_ns));
    assert_eq!(response, m.latency.parts().response.completed);
    assert_eq!(completed.len() as u64, m.requests.completed);
    for (kind, tally) in &m.errors {
        let samples = m.samples.iter().filter(|s| s.failure == Some(*kind)).count();
        assert_eq!(samples as u64, tally.count, "{kind}");
    }
    for (status, count) in &m.status {
        assert_eq!(m.samples.iter().filter(|s| s.status == *status).count() as u64, *count, "{status}");
    }
    let bytes: u64 = m.samples.iter().map(|s| u64::from(s.read_bytes)).sum();
    assert!(bytes >= m.read_bytes, "{bytes} < {}", m.read_bytes);
    for sample in &m.samples {
        assert!(sample.end_ns() <= m.window_end_ns - m.schedule_start_ns);
    }
}

#[test]
fn none_is_kept_unasked() {
    let target = Target::start(&Config::default()).unwrap();
    let m = run(&plan(target.address())).unwrap();
    assert_eq!((m.samples.len(), m.samples.capacity(), m.samples_dropped), (0, 0, 0));
}

#[test]
fn every_request_of_a_count_is_kept() {
    let target = Target::start(&Config::default()).unwrap();
    // Workers with shares of different sizes.
    for (threads, connections) in [(1, 10), (3, 7)] {
        let mut p = plan(target.address());
        (p.threads, p.connections) = (threads, connections);
        (p.stop.requests, p.samples_max) = (Some(1_000), 1_000);
        let m = run(&p).unwrap();
        assert_eq!((m.samples.len(), m.samples_dropped, m.requests.completed), (1_000, 0, 1_000));
        assert_agreement(&m);
        let bytes: u64 = m.samples.iter().map(|s| u64::from(s.read_bytes)).sum();
        assert_eq!(bytes, m.read_bytes);
        assert!(m.samples.iter().any(|s| u32::from(s.worker) == threads - 1));
        let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1:".len() as u64;
        assert!(m.request_bytes > request, "{}", m.request_bytes);
    }
}

#[test]
fn samples_of_several_workers_are_in_the_order_of_their_ends() {
    let target = Target::start(&Config { delay: "exp:1ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    (p.threads, p.connections, p.samples_max) = (2, 8, 200);
    let m = run(&p).unwrap();
    assert_eq!(m.samples.len(), 200);
    assert!(m.samples.is_sorted_by_key(prony_model::measurement::Sample::end_ns));
}

#[test]
fn samples_are_of_the_window_alone() {
    let target = Target::start(&Config { delay: "2ms".parse().unwrap(), ..Config::default() }).unwrap();
    for threads in [1, 2] {
        let mut p = plan(target.address());
        (p.threads, p.connections) = (threads, 10);
        p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
        p.warmup = Duration::from_millis(100);
        (p.stop.requests, p.stop.duration) = (None, Some(Duration::from_millis(200)));
        // A request ends when the worker reads its answer: by the kernel's clock it may have come before the window.
        (p.samples_max, p.user_clock) = (300, true);
        let m = run(&p).unwrap();
        assert_eq!(m.samples_dropped, 0);
        assert_eq!(m.samples.len() as u64, m.requests.completed);
        assert_agreement(&m);
        let window_start = m.window_start_ns - m.schedule_start_ns;
        assert!(m.samples.iter().all(|s| s.end_ns() >= window_start));
    }
}

#[test]
fn beyond_the_room_the_first_are_kept_and_the_rest_counted() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    (p.stop.requests, p.samples_max) = (Some(500), 120);
    let m = run(&p).unwrap();
    assert_eq!((m.samples.len(), m.samples_dropped), (120, 380));
    let last = m.samples.last().unwrap().end_ns();
    assert!(last < m.window_end_ns - m.schedule_start_ns, "the first 120 of 500 end before the window");
    p.samples_max = SAMPLES_MAX + 1;
    assert!(run(&p).unwrap_err().to_string().contains("10000000"));
}

#[test]
fn failures_are_samples_too() {
    let answer: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    let mut p = plan(lying::always(answer));
    (p.stop.requests, p.samples_max) = (Some(20), 20);
    let m = run(&p).unwrap();
    assert_eq!((m.requests.failed, m.samples.len()), (20, 20));
    assert!(m.samples.iter().all(|s| s.failure == Some(ErrorKind::UnexpectedStatus) && s.status == 503));
    assert!(m.samples.iter().all(|s| s.read_bytes as usize == answer.len()));
    assert_agreement(&m);

    let mut p = plan(lying::once(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"));
    (p.stop.requests, p.samples_max, p.user_clock) = (Some(3), 3, true);
    let m = run(&p).unwrap();
    assert!(m.samples.iter().all(|s| s.failure == Some(ErrorKind::ClosedEarly) && s.status == 0));
    assert!(m.samples.iter().all(|s| s.first_byte_us > 0 && s.read_bytes > 0), "{:?}", m.samples);
    assert_agreement(&m);
}

#[test]
fn a_connect_that_was_waited_for_is_in_its_sample() {
    let target = Target::start(&Config::default()).unwrap();
    let mut p = plan(target.address());
    (p.keepalive, p.connections, p.samples_max) = (false, 4, 200);
    let m = run(&p).unwrap();
    assert_agreement(&m);
    let waited = m.samples.iter().map(|s| u64::from(s.connect_wait_us)).max().unwrap();
    let longest = m.latency.parts().connect_wait.max() / 1000;
    assert!(waited.abs_diff(longest) <= longest / 500 + 1, "{waited} and {longest}");
}
