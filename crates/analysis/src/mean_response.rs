//! How surely a window knows its mean response time.

use prony_model::measurement::Measurement;
use prony_model::trial::Summary;
use prony_stats::interval::variance;

use crate::level::{Level, Of};

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

/// The 95 % interval of the mean response, about `mean_ns`, by batches of the window. `None` below five batches, and where
/// nothing bounds it from above.
///
/// The mean is a ratio over batches, of their sums of times and their numbers of answers. Its linearised values, R + (sᵢ −
/// R·nᵢ)·B/N, have it as their mean and its variance as theirs (Cochran (1977), *Sampling Techniques*, 6.3), and go through
/// [`Level::interval`] as the batches of throughput do. The half width h, as a share of the mean, is laid about its
/// reciprocal, R/(1 ± h): near a queue's capacity the mean of a window scatters with the square of the true one (Whitt
/// (1989), *Planning queueing simulations*, Management Science 35(11)), and then its reciprocal scatters alike whatever
/// it is. A window without one of the long excursions knows its mean too low, and how much it scatters, too; with h of 1
/// or more it has no idea how long the mean may be. The batches' own variance is known too low for the same reason: of
/// lognormal ones the variance of the mean's logarithm is σ²/n + σ⁴/2n (Cox's method; Olsson (2005), *Confidence
/// intervals for the mean of a log-normal distribution*, J. Statistics Education 13(1)), which is what the factor takes in.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and times of a run, far below 2^53 and not below 0"
)]
fn interval(m: &Measurement, window_ns: u64, mean_ns: u64) -> Option<[u64; 2]> {
    let level = Level::of(m, window_ns);
    let batches: Vec<(f64, f64)> = level
        .batches
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
    let found = level.interval(&values, Of::Answers).ok()?;
    // ln(1 + the batches' squared coefficient of variation): the variance of their logarithms, were they lognormal.
    let skewed = (variance(&values)? / (mean * mean)).ln_1p();
    let half = (found.high - found.low) / 2.0 / mean * (1.0 + skewed / 2.0).sqrt();
    if half >= 1.0 {
        return None;
    }
    let end = |divisor: f64| (mean_ns as f64 / divisor).min(DAY_NS).round() as u64;
    Some([end(1.0 + half), end(1.0 - half)])
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
        // 20 batches that deviate by 102.6 µs. Their tenths of seconds, of which 19 of 99 neighbours differ, remember by
        // ρ = 0.646 + 0.038; five of them a batch inflate by 1.776, so that 20/1.388 count: Student's t at 13.4 degrees of
        // freedom, 2.154, over the root of 14.4, times the root of 1 + ln(1.010 526)/2.
        let half = 0.05836;
        let (low, high) = (1e6 / low as f64 - 1.0, 1.0 - 1e6 / high as f64);
        assert!((high - half).abs() < 1e-4 && (low - half).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn what_scatters_as_much_as_it_is_long_has_no_upper_end() {
        // A second of 400 ms, and then nine of 1 ms.
        let mut m = healthy(10, 1_000);
        for (at, bin) in m.bins.iter_mut().enumerate() {
            bin.response_sum_ns = bin.completed * if at < 10 { 400_000_000 } else { 1_000_000 };
        }
        assert_eq!(interval(&m, 10_000_000_000, 40_900_000), None);
    }

    #[test]
    fn a_short_or_silent_window_has_none() {
        let mut m = healthy(1, 1_000);
        m.bins.truncate(4);
        assert_eq!(interval(&m, 400_000_000, 1_000_000), None);
        assert_eq!(interval(&healthy(1, 0), 1_000_000_000, 0), None);
    }
}
