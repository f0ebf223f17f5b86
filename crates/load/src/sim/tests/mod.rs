//! Loads whose every figure is known beforehand, to the nanosecond.

mod counted;
mod ends;
mod failures;
mod known;
mod pipelines;
mod queue;
mod stages;
mod stalls;
mod times;
mod windows;

use std::time::Duration;

use prony_model::measurement::{Durations, empty_histogram};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;

use super::Case;
use super::nature::Nature;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// An open load of `rate` per second for two seconds.
fn open(nature: Nature, rate: f64, connections: u32) -> Case {
    let mut case = Case::closed(nature);
    case.plan.arrivals = Arrivals::Constant(Rate::per_s(rate).unwrap());
    case.plan.connections = connections;
    case.plan.timeout = Duration::from_secs(100);
    case.plan.stop.duration = Some(Duration::from_secs(2));
    case
}

/// The histogram of exactly these values.
fn histogram(values: impl IntoIterator<Item = u64>) -> Durations {
    let mut histogram = empty_histogram();
    for value in values {
        histogram.saturating_record(value);
    }
    histogram
}

/// So many times the same value, and nothing else.
#[track_caller]
fn all_are(histogram: &Durations, value_ns: u64, count: u64) {
    let mut wanted = empty_histogram();
    wanted.saturating_record_n(value_ns, count);
    let say = |h: &Durations| (h.len(), h.min(), h.max());
    assert!(*histogram == wanted, "{:?} and not {:?}", say(histogram), say(&wanted));
}
