//! Percentiles against truth: a stall that a closed loop hides must show from
//! the intended instant.
//!
//! The loads are a few percent of what the slowest machine carries, so that
//! the truth does not depend on speed. A neighbour that takes the processor
//! away for milliseconds is part of what is measured then, though, and part of
//! no theory: a test is given three tries, which an engine that is wrong
//! fails as it fails one.

use std::time::Duration;

use prony_load::measurement::Durations;
use prony_load::pace::Rate;
use prony_load::plan::Arrivals;
use prony_target::{Config, Target};

use crate::{attempts, plan, queue, run};

const SILENCE: Duration = Duration::from_millis(200);
const PERIOD: Duration = Duration::from_secs(2);

fn stalling() -> Target {
    // With two threads the answers that a stall held back, 400 of them, go out in a millisecond.
    let config = Config {
        threads: 2,
        delay: "2ms".parse().unwrap(),
        stall: Some("200ms/2s".parse().unwrap()),
        ..Config::default()
    };
    Target::start(&config).unwrap()
}

pub fn at_ms(histogram: &Durations, q: f64) -> f64 {
    histogram.value_at_quantile(q) as f64 / 1e6
}

/// A figure that is off, as a sentence.
pub type Off = Result<(), String>;

pub fn within(what: &str, got: f64, low: f64, high: f64) -> Off {
    if (low..=high).contains(&got) {
        Ok(())
    } else {
        Err(format!("{what}: {got:.2} ms is not in {low:.2} to {high:.2}"))
    }
}

#[test]
fn a_stall_shows_in_full_from_the_intended_instant() {
    let target = stalling();
    let mut p = plan(target.address());
    p.connections = 500;
    p.arrivals = Arrivals::Constant(Rate::per_s(2000.0).unwrap());
    p.stop.requests = None;
    p.warmup = Duration::from_secs(2);
    p.stop.duration = Some(Duration::from_secs(10));
    attempts(|| {
        let m = run(&p).unwrap();
        let response = &m.latency.response.completed;
        assert_eq!(m.requests.scheduled, 20_000);
        within("p50", at_ms(response, 0.50), 1.5, 2.5)?;
        for (q, want) in [(0.92, 42.5), (0.95, 102.5), (0.99, 182.5)] {
            within(&format!("response at {q}"), at_ms(response, q), want * 0.95, want * 1.05)?;
        }
        Ok(())
    });
}

#[test]
fn with_few_connections_it_is_a_queue() {
    let target = stalling();
    let mut p = plan(target.address());
    p.connections = 10;
    p.arrivals = Arrivals::Constant(Rate::per_s(2000.0).unwrap());
    p.stop.requests = None;
    p.warmup = PERIOD;
    p.stop.duration = Some(PERIOD * 3);
    // The turn-around of client and server adds to each of the 2 ms that ten connections take in
    // turn: the queue after a silence drains a little slower than the ideal one.
    let ideal = |turn_around_ns: u64| {
        let [silence, period] = [SILENCE, PERIOD].map(|d| d.as_nanos() as u64);
        queue::responses_ns(2000, 10, 2_000_000 + turn_around_ns, silence, period, 3)
    };
    let (fastest, slowest) = (ideal(0), ideal(400_000));
    attempts(|| {
        let m = run(&p).unwrap();
        for q in [0.5, 0.75, 0.9, 0.95, 0.99] {
            let [low, high] = [&fastest, &slowest].map(|sorted| queue::quantile(sorted, q) as f64 / 1e6);
            within(
                &format!("response at {q}"),
                at_ms(&m.latency.response.completed, q),
                low * 0.95,
                high * 1.05,
            )?;
        }
        within("connection wait at 0.95", at_ms(&m.latency.connection_wait, 0.95), 50.0, 200.0)?;
        within("service at 0.5", at_ms(&m.latency.service.completed, 0.5), 1.9, 3.0)
    });
}

#[test]
fn a_closed_loop_barely_shows_the_stall() {
    let target = stalling();
    let mut p = plan(target.address());
    p.connections = 10;
    p.stop.requests = None;
    p.warmup = PERIOD;
    p.stop.duration = Some(PERIOD * 2);
    attempts(|| {
        let m = run(&p).unwrap();
        let service = &m.latency.service.completed;
        within("service at 0.99", at_ms(service, 0.99), 2.0, 10.0)?;
        within("the longest", at_ms(service, 1.0), 195.0, 225.0)
    });
}

#[test]
fn the_parts_of_response_add_up() {
    let target = Target::start(&Config { delay: "exp:1ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.keepalive = false;
    p.connections = 4;
    p.arrivals = Arrivals::Constant(Rate::per_s(500.0).unwrap());
    p.stop.requests = Some(500);
    let m = run(&p).unwrap();
    let l = &m.latency;
    // Equal for each request, so equal in the mean, but for the histograms' 0.1 %.
    let sum = l.send_lag.mean() + l.connect_wait.mean() + l.service.completed.mean();
    assert!((sum / l.response.completed.mean() - 1.0).abs() < 0.005);
    assert!(l.connect_wait.min() > 0 && l.service.completed.mean() > l.first_byte.mean() * 0.999);
}
