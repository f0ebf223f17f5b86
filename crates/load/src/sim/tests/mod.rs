//! Loads whose every figure is known beforehand, to the nanosecond.

mod connections;
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

use prony_model::histogram::{SparseHistogram, bucket_of};
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
fn histogram(values: impl IntoIterator<Item = u64>) -> SparseHistogram {
    SparseHistogram::of_values(values)
}

/// So many times the same value, and nothing else.
#[track_caller]
fn all_are(histogram: &SparseHistogram, value_ns: u64, count: u64) {
    let wanted =
        SparseHistogram::from_buckets([(bucket_of(value_ns), count)].into_iter().filter(|_| count > 0));
    let say = |h: &SparseHistogram| (h.len(), h.min(), h.max());
    assert!(*histogram == wanted, "{:?} and not {:?}", say(histogram), say(&wanted));
}
