//! Whether throughput and response were steady over the window.

use prony_model::measurement::Measurement;
use prony_stats::CONFIDENCE;
use prony_stats::change_point::step;
use prony_stats::student::normal_two_sided;
use prony_stats::trend::{median, theil_sen_dependent};

use crate::batches::{Batch, merge};
use crate::numbers::real;
use crate::text::percent;

/// Shorter windows are not assessed: 20 batches would be under 500 ms each.
pub(crate) const WINDOW_MIN_NS: u64 = 10_000_000_000;

/// A drift of throughput over the window that counts.
pub(crate) const THROUGHPUT_DRIFT_MAX: f64 = 0.05;

/// A drift of the mean response over the window that counts.
pub(crate) const RESPONSE_DRIFT_MAX: f64 = 0.10;

const BATCHES: usize = 20;

/// A step has this many batches on either side at the least, a fifth of the window.
const STEP_BATCHES_MIN: usize = 4;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drift {
    pub(crate) affects: &'static str,
    /// By how much over the window, as a share of its level.
    pub(crate) share: f64,
    pub(crate) detail: String,
}

/// The figures that drifted; none in a window too short to tell. `growing`: response grows by overload, another
/// finding.
pub(crate) fn drifts(m: &Measurement, window_ns: u64, growing: bool) -> Vec<Drift> {
    if window_ns < WINDOW_MIN_NS {
        return Vec::new();
    }
    let mut drifts = Vec::new();
    drifts.extend(throughput_drift(m, window_ns).or_else(|| stepped(m, window_ns)));
    drifts.extend(response_drift(m, window_ns).filter(|_| !growing));
    drifts
}

/// The Theil–Sen drift of 20 batches, its interval widened for dependence between them, wholly outside ±5 % of the
/// median (docs/decisions/0009: a block bootstrap of 20 batches is narrower than it should be).
fn throughput_drift(m: &Measurement, window_ns: u64) -> Option<Drift> {
    let points: Vec<(f64, f64)> =
        merge(&m.bins, window_ns, BATCHES).iter().map(|b| (b.middle_s(), b.rate_per_s())).collect();
    let level = median(&points.iter().map(|p| p.1).collect::<Vec<_>>()).filter(|level| *level > 0.0)?;
    let over_window = |slope: f64| slope * real(window_ns) / 1e9 / level;
    drift(&points, "throughput", "throughput", THROUGHPUT_DRIFT_MAX, over_window)
}

/// Of the mean response's logarithm, beyond ±10 %. Tails are not looked at: where their few episodes fall is no trend.
fn response_drift(m: &Measurement, window_ns: u64) -> Option<Drift> {
    let mean = |b: &Batch| {
        let mean_ns = real(b.sum.response_sum_ns) / real(b.sum.completed);
        (mean_ns > 0.0).then(|| (b.middle_s(), mean_ns.ln()))
    };
    // Gaps would make the trend one of the busy batches only: `None` where a batch has no answer.
    let points: Vec<(f64, f64)> =
        merge(&m.bins, window_ns, BATCHES).iter().map(mean).collect::<Option<_>>()?;
    let over_window = |slope: f64| (slope * real(window_ns) / 1e9).exp() - 1.0;
    drift(&points, "response", "the mean response", RESPONSE_DRIFT_MAX, over_window)
}

/// A trend whose whole interval, as a share over the window, is beyond `most` to one side.
fn drift(
    points: &[(f64, f64)],
    affects: &'static str,
    name: &str,
    most: f64,
    over_window: impl Fn(f64) -> f64,
) -> Option<Drift> {
    let slope = theil_sen_dependent(points, CONFIDENCE)?;
    let (low, high) = (over_window(slope.low), over_window(slope.high));
    (low > most || high < -most).then(|| Drift {
        affects,
        share: over_window(slope.point),
        detail: format!(
            "{name} drifted by {} over the window (95 % interval {} to {}, beyond ±{})",
            percent(over_window(slope.point)),
            percent(low),
            percent(high),
            percent(most)
        ),
    })
}

/// The step that fits the batches best is higher than the drift that counts, with its whole interval.
fn stepped(m: &Measurement, window_ns: u64) -> Option<Drift> {
    let batches = merge(&m.bins, window_ns, BATCHES);
    let rates: Vec<f64> = batches.iter().map(Batch::rate_per_s).collect();
    let step = step(&rates, STEP_BATCHES_MIN)?;
    let level = f64::midpoint(step.before, step.after);
    if level <= 0.0 {
        return None;
    }
    let change = (step.after - step.before) / level;
    let unsure = normal_two_sided(CONFIDENCE) * step.error / level;
    let at_s = real(batches[step.at].start_ns) / 1e9;
    (change.abs() - unsure > THROUGHPUT_DRIFT_MAX).then(|| Drift {
        affects: "throughput",
        share: change,
        detail: format!("throughput steps by {} at {at_s:.1} s of the window", percent(change)),
    })
}

/// The second half over the first fifth, as a logarithm: throughput in closed arrivals, else the mean response's
/// reciprocal. Too noisy of one window; over several it shows a warm-up (`starts::still_rising`).
pub(crate) fn rise(m: &Measurement, window_ns: u64, closed: bool) -> Option<f64> {
    let batches = merge(&m.bins, window_ns, 10);
    let speed = |batches: &[Batch]| {
        let (completed, time_ns) = batches.iter().fold((0, 0u64), |(n, time_ns), batch| {
            let lasted = if closed { batch.end_ns - batch.start_ns } else { batch.sum.response_sum_ns };
            (n + batch.sum.completed, time_ns.saturating_add(lasted))
        });
        (real(completed) / real(time_ns)).ln()
    };
    let rise = speed(batches.get(5..)?) - speed(batches.get(..2)?);
    Some(rise).filter(|rise| rise.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, noise};

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_window_without_noise_is_steady() {
        assert_eq!(drifts(&healthy(10, 1000), 10 * S, false), []);
    }

    #[test]
    fn noise_without_a_trend_is_unsteady_in_one_percent_at_most() {
        let mut flagged = 0;
        for seed in 0..200 {
            let mut m = healthy(20, 1000);
            for (bin, noise) in m.bins.each.iter_mut().zip(noise(seed)) {
                bin.completed = (100.0 + 10.0 * noise).max(0.0) as u64;
                bin.response_sum_ns = bin.completed * 1_000_000;
            }
            flagged += usize::from(!drifts(&m, 20 * S, false).is_empty());
        }
        assert!(flagged <= 2, "{flagged} of 200");
    }

    #[test]
    fn a_fall_of_a_fifth_is_not_steady() {
        let mut m = healthy(10, 1000);
        for (i, bin) in m.bins.each.iter_mut().enumerate() {
            bin.completed = 110 - i as u64 / 5;
            bin.response_sum_ns = bin.completed * 1_000_000;
        }
        let drifts = drifts(&m, 10 * S, false);
        assert_eq!(drifts.len(), 1);
        assert!(drifts[0].detail.starts_with("throughput drifted by -"), "{drifts:?}");
    }

    #[test]
    fn a_warm_up_beyond_half_of_the_window_is_not_steady() {
        let mut m = healthy(10, 1000);
        for bin in &mut m.bins.each[..60] {
            bin.completed = 60;
            bin.response_sum_ns = bin.completed * 1_000_000;
        }
        assert_eq!(drifts(&m, 10 * S, false).len(), 1);
    }

    #[test]
    fn a_rise_is_of_the_rate_in_a_closed_loop_else_of_the_response() {
        // Two seconds, the first 400 ms of which carry 80 of 100, and take 1.5 ms instead of 1.
        let mut m = healthy(2, 1000);
        for bin in &mut m.bins.each[..4] {
            (bin.completed, bin.response_sum_ns) = (80, 80 * 1_500_000);
        }
        for bin in &mut m.bins.each[4..] {
            bin.response_sum_ns = bin.completed * 1_000_000;
        }
        let rise = |closed| rise(&m, 2 * S, closed).unwrap();
        assert!((rise(true) - 1.25f64.ln()).abs() < 1e-9 && (rise(false) - 1.5f64.ln()).abs() < 1e-9);
        assert_eq!(super::rise(&healthy(2, 0), 2 * S, true), None);
        assert_eq!(super::rise(&healthy(2, 1000), 900_000_000, true), None, "nine bins");
    }

    #[test]
    fn a_response_that_doubles_is_not_steady_except_in_an_overload() {
        let mut m = healthy(10, 2000);
        for (i, bin) in m.bins.each.iter_mut().enumerate() {
            bin.response_sum_ns = bin.completed * 10_000 * (100 + i as u64);
        }
        let seen: Vec<_> = drifts(&m, 10 * S, false).iter().map(|d| d.affects).collect();
        assert_eq!(seen, ["response"]);
        assert_eq!(drifts(&m, 10 * S, true), []);
    }

    #[test]
    fn windows_under_ten_seconds_are_not_assessed() {
        let mut m = healthy(9, 1000);
        for (i, bin) in m.bins.each.iter_mut().enumerate() {
            bin.completed = 50 + i as u64;
        }
        assert_eq!(drifts(&m, 9 * S, false), []);
    }
}
