//! Known answers: the service that a load measures lies between what the target was told to wait and
//! what the target says of the very same requests.
//!
//! Each request is sent before the target reads it, and its last byte arrives after the target began to
//! write it. So no percentile of service is below that of the ledger's latency, however slow the machine.
//! From above it is held by the ledger's residence, which a busy machine lengthens as much, and by room
//! for the request's way to the target.

use prony_load::measurement::Durations;
use prony_load::pace::Rate;
use prony_load::plan::Arrivals;
use prony_target::{Config, LatencySummary, Target};

use crate::truth::{Off, at_ms, within};
use crate::{attempts, plan, run};

const REQUESTS: u64 = 4_000;
const QUANTILES: [f64; 4] = [0.50, 0.75, 0.90, 0.99];
/// Histograms tell 0.1 % apart.
const DIGITS: f64 = 0.999;
/// Stamps are carried from the wall clock to the monotonic one by readings some microseconds apart.
const CLOCKS_MS: f64 = 0.02;
/// What service may have beyond residence and a twentieth of it: a request's way from its stamp to the
/// target's kernel takes microseconds, and milliseconds only where the worker was stopped just there.
const WAY_MS: [f64; 4] = [1.0, 1.0, 1.0, 5.0];

#[test]
fn a_fixed_delay_is_all_that_any_percentile_has() {
    attempts(|| known("2ms", [2.0; 4]));
}

#[test]
fn of_two_delays_each_percentile_has_its_own() {
    // A tenth of the answers takes 23 ms: on which side of it the 90th percentile lies is the seed's to say.
    attempts(|| known("bimodal:3ms,23ms,0.1", [3.0, 3.0, 3.0, 23.0]));
}

#[test]
fn exponential_delays_are_distributed_so() {
    // 15 % less than the theory's −2 ms · ln(1 − q): four standard errors of the 99th percentile of so
    // many draws, and more of the others'. The seed draws the same ones each time.
    attempts(|| known("exp:2ms", QUANTILES.map(|q| (1.0 - q).ln() * -2.0 * 0.85)));
}

/// Holds the percentiles of service against what they must be at least, and against the ledger.
fn known(delay: &str, least_ms: [f64; 4]) -> Off {
    let target = Target::start(&Config { delay: delay.parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    p.connections = 40;
    p.arrivals = Arrivals::Constant(Rate::per_s(2000.0).unwrap());
    p.stop.requests = Some(REQUESTS);
    let m = run(&p).unwrap();
    let ledger = target.stop();
    assert_eq!((m.requests.completed, m.requests.failed), (REQUESTS, 0));
    assert_eq!((ledger.latency.count, ledger.residence.count), (REQUESTS, REQUESTS));
    let service = &m.latency.service.completed;
    assert_eq!(service.len(), REQUESTS);
    let (waited, resided) = (percentiles_ms(&ledger.latency), percentiles_ms(&ledger.residence));
    for (i, q) in QUANTILES.into_iter().enumerate() {
        let least = least_ms[i].max(waited[i]) * DIGITS - CLOCKS_MS;
        let most = resided[i] * 1.05 + WAY_MS[i];
        within(&format!("service at {q} with {delay}"), at_ms(service, q), least, most)?;
    }
    shortest(service, &ledger.latency, delay)
}

/// Not even the fastest answer was measured faster than the target gave it.
fn shortest(service: &Durations, latency: &LatencySummary, delay: &str) -> Off {
    let least = latency.min_ns as f64 / 1e6 * DIGITS - CLOCKS_MS;
    within(&format!("the shortest service with {delay}"), service.min() as f64 / 1e6, least, f64::INFINITY)
}

/// The ledger's, at [`QUANTILES`].
fn percentiles_ms(summary: &LatencySummary) -> [f64; 4] {
    [summary.p50_ns, summary.p75_ns, summary.p90_ns, summary.p99_ns].map(|ns| ns as f64 / 1e6)
}
