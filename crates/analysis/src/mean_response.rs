//! How surely a window knows its mean response time.

use prony_load::measurement::{BIN_NS, Measurement};
use prony_record::trial::Summary;
use prony_stats::CONFIDENCE;
use prony_stats::batch::{BATCHES_MIN, batch_interval_with};
use prony_stats::interval::variance;

use crate::batches::merge;
use crate::dependence::Steps;
use crate::throughput::BATCHES;

/// No window's mean is longer, whatever few batches that hardly resemble each other say.
const DAY_NS: f64 = 86.4e12;

/// What the interval stands under in [`Summary::ci95`].
pub(crate) const FIELD: &str = "mean_ns";

/// Adds the interval of the mean to a summary of the window's response times, where it has one: not in windows under five
/// batches of 100 ms.
pub(crate) fn add(summary: &mut Summary, m: &Measurement, window_ns: u64) {
    if let Some(interval) = summary.mean_ns.and_then(|mean_ns| interval(m, window_ns, mean_ns)) {
        summary.ci95.insert(FIELD.to_owned(), interval);
    }
}

/// The 95 % interval of the mean response, about `mean_ns`, by batches of the window. `None` below five batches.
///
/// The mean is a ratio over batches, of their sums of times and their numbers of answers. Its linearised values, R + (sᵢ −
/// R·nᵢ)·B/N, have it as their mean and its variance as theirs (Cochran (1977), *Sampling Techniques*, 6.3), and go through
/// [`batch_interval_with`] as the batches of throughput do. The half width is laid about the mean's logarithm: a queue's
/// excursions reach up and not down, so that a window without a long one knows a mean too low (the coverage table has
/// queues at 90 %). By the same token the batches' own variance is known too low: of lognormal ones the variance of the
/// mean's logarithm is σ²/n + σ⁴/2n (Cox's method; Olsson (2005), *Confidence intervals for the mean of a log-normal
/// distribution*, J. Statistics Education 13(1)), which is what the factor in it takes in.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and times of a run, far below 2^53 and not below 0"
)]
fn interval(m: &Measurement, window_ns: u64, mean_ns: u64) -> Option<[u64; 2]> {
    let whole_bins = usize::try_from(window_ns / BIN_NS).ok()?;
    let count = (whole_bins / whole_bins.div_ceil(BATCHES).max(1)).max(BATCHES_MIN);
    let batches: Vec<(f64, f64)> = merge(&m.bins, window_ns, count)
        .iter()
        .map(|batch| (batch.sum.response_sum_ns as f64, batch.sum.completed as f64))
        .collect();
    let answers: f64 = batches.iter().map(|(_, completed)| completed).sum();
    if answers <= 0.0 {
        return None;
    }
    let mean = batches.iter().map(|(sum, _)| sum).sum::<f64>() / answers;
    let each = answers / batches.len() as f64;
    let values: Vec<f64> = batches.iter().map(|(sum, n)| mean + (sum - mean * n) / each).collect();
    let decay = Steps::of(m).map_or(0.0, |steps| steps.memory.decay(steps.count / count as f64));
    let found = batch_interval_with(&values, decay, CONFIDENCE)?;
    // ln(1 + the batches' squared coefficient of variation): the variance of their logarithms, were they lognormal.
    let skewed = (variance(&values)? / (mean * mean)).ln_1p();
    let half = (found.high - found.low) / 2.0 / mean * (1.0 + skewed / 2.0).sqrt();
    let end = |factor: f64| (mean_ns as f64 * factor).min(DAY_NS).round() as u64;
    Some([end((-half).exp()), end(half.exp())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::healthy;

    /// Ten seconds whose batches' means are these, in turn.
    fn alternating(means_ns: [u64; 2]) -> Measurement {
        let mut m = healthy(10, 1_000);
        for (at, bin) in m.bins.iter_mut().enumerate() {
            bin.response_sum_ns = bin.completed * means_ns[at / 5 % 2];
        }
        m
    }

    #[test]
    fn batches_that_are_alike_have_a_narrow_interval_and_others_a_wider_one() {
        let of = |means| interval(&alternating(means), 10_000_000_000, 1_000_000).unwrap();
        assert_eq!(of([1_000_000; 2]), [1_000_000; 2]);
        let [low, high] = of([900_000, 1_100_000]);
        // 20 batches that deviate by 102.6 µs: Student's t at 19 degrees of freedom over the root of 20.
        let (low, high) = (low as f64 / 1e6, high as f64 / 1e6);
        // Times the root of 1 + ln(1.010 526)/2.
        assert!((high.ln() - 0.048_143).abs() < 1e-5 && (low.ln() + 0.048_143).abs() < 1e-5, "{low} {high}");
    }

    #[test]
    fn a_short_or_silent_window_has_none() {
        let mut m = healthy(1, 1_000);
        m.bins.truncate(4);
        assert_eq!(interval(&m, 400_000_000, 1_000_000), None);
        assert_eq!(interval(&healthy(1, 0), 1_000_000_000, 0), None);
    }
}
