//! Numbers as statistics take them.

use prony_model::Estimate;
use prony_stats::Interval;

/// A count, or a duration in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "counts and durations of a run, below 2^53")]
pub(crate) fn real(value: u64) -> f64 {
    value as f64
}

/// A number of trials, blocks or seconds.
#[expect(clippy::cast_precision_loss, reason = "counts, below 2^53")]
pub(crate) fn real_len(n: usize) -> f64 {
    n as f64
}

/// To the nearest whole number; what is above a `u64` is the most of it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "durations and counts, not negative"
)]
pub(crate) fn rounded(value: f64) -> u64 {
    value.round() as u64
}

/// A number of trials or blocks as records have it.
pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// An interval as records have it.
pub(crate) fn estimate(interval: Interval) -> Estimate {
    Estimate::new(interval.point, interval.low, interval.high, interval.n as u64)
}
