//! Numbers as statistics take them.

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

/// The logarithms of figures; `None` where one of them is not above 0.
pub(crate) fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|v| (*v > 0.0 && v.is_finite()).then(|| v.ln())).collect()
}
