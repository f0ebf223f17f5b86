//! Loads whose every figure is known beforehand, to the nanosecond.

mod ends;
mod failures;
mod pipelines;
mod stages;
mod times;

use crate::measurement::{Durations, empty_histogram};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

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
