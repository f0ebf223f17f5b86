//! Numbers as statistics take them.

use prony_model::Estimate;
use prony_stats::Interval;

/// A count of a run, or a duration in nanoseconds: below 2^53.
pub(crate) fn real(value: u64) -> f64 {
    value as f64
}

pub(crate) fn real_len(n: usize) -> f64 {
    n as f64
}

/// A duration or a count to the nearest whole number; what is above a `u64` is the most of it.
pub(crate) fn rounded(value: f64) -> u64 {
    value.round() as u64
}

pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

pub(crate) fn estimate(interval: Interval) -> Estimate {
    Estimate::new(interval.point, interval.low, interval.high, interval.n as u64)
}
