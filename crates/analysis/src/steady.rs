//! Whether throughput and latency held level over the window.

use prony_model::measurement::{Measurement, Second, empty_histogram};
use prony_stats::CONFIDENCE;
use prony_stats::change_point::step;
use prony_stats::mser::warm_up_end;
use prony_stats::student::normal_two_sided;
use prony_stats::trend::{median, theil_sen_dependent};

use crate::batches::{Batch, merge, whole_entries};
use crate::text::percent;

/// Shorter windows are not assessed: 20 batches would be under 500 ms each.
pub(crate) const WINDOW_MIN_NS: u64 = 10_000_000_000;

/// A drift of throughput over the window that counts.
pub(crate) const THROUGHPUT_DRIFT_MAX: f64 = 0.05;

/// A drift of p50 or p99 over the window that counts.
pub(crate) const LATENCY_DRIFT_MAX: f64 = 0.10;

const BATCHES: usize = 20;

/// A step has this many batches on either side at the least, a fifth of the window.
const STEP_BATCHES_MIN: usize = 4;

/// A figure that drifted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drift {
    /// The figure in the verdict's words.
    pub(crate) affects: &'static str,
    /// What was seen.
    pub(crate) detail: String,
}

/// The figures that drifted; empty when all held level or the window is too
/// short to tell. `growing` says that the response grows by overload, which
/// is a finding of its own.
///
/// `p99_shows` says that a drift of the response's p99 would be one (`Dependence::drift_shows`).
pub(crate) fn drifts(m: &Measurement, window_ns: u64, growing: bool, p99_shows: bool) -> Vec<Drift> {
    if window_ns < WINDOW_MIN_NS {
        return Vec::new();
    }
    let mut drifts = Vec::new();
    drifts.extend(throughput_drift(m, window_ns).or_else(|| warming_up(m, window_ns)));
    if !growing {
        drifts.extend(latency_drift(m, window_ns, "p50", 0.50, 100));
        if p99_shows {
            drifts.extend(latency_drift(m, window_ns, "p99", 0.99, 1_000));
        }
    }
    drifts
}

/// The Theil–Sen drift of 20 batches, with Sen's interval, widened for what is
/// left of the dependence between batches, wholly outside ±5 % of the median
/// (docs/decisions/0009: a block bootstrap of 20 batches is narrower than it should be).
#[expect(clippy::cast_precision_loss, reason = "a window of a day is 8.64e13 ns, exact in an f64")]
fn throughput_drift(m: &Measurement, window_ns: u64) -> Option<Drift> {
    let points: Vec<(f64, f64)> =
        merge(&m.bins, window_ns, BATCHES).iter().map(|b| (b.middle_s(), b.rate_per_s())).collect();
    let level = median(&points.iter().map(|p| p.1).collect::<Vec<_>>()).filter(|level| *level > 0.0)?;
    let slope = theil_sen_dependent(&points, CONFIDENCE)?;
    let over_window = |slope: f64| slope * window_ns as f64 / 1e9 / level;
    let (low, high) = (over_window(slope.low), over_window(slope.high));
    (low > THROUGHPUT_DRIFT_MAX || high < -THROUGHPUT_DRIFT_MAX).then(|| Drift {
        affects: "throughput",
        detail: format!(
            "throughput drifted by {} over the window (95 % interval {} to {}, beyond ±{})",
            percent(over_window(slope.point)),
            percent(low),
            percent(high),
            percent(THROUGHPUT_DRIFT_MAX)
        ),
    })
}

/// MSER-5 on the 100 ms bins finds no end of a warm-up in the first half, and
/// the step that fits the batches best is higher than the drift that counts, with
/// its whole interval. The second condition is needed: on level noise MSER-5
/// cuts beyond the half in some percent of runs.
fn warming_up(m: &Measurement, window_ns: u64) -> Option<Drift> {
    // The last bin may be shorter than the others, and its count lower.
    let whole =
        usize::try_from(window_ns / prony_model::measurement::BIN_NS).unwrap_or(usize::MAX).min(m.bins.len());
    #[expect(clippy::cast_precision_loss, reason = "counts within 100 ms")]
    let counts: Vec<f64> = m.bins[..whole].iter().map(|b| b.completed as f64).collect();
    let batches = merge(&m.bins, window_ns, BATCHES);
    let rates: Vec<f64> = batches.iter().map(Batch::rate_per_s).collect();
    let step = step(&rates, STEP_BATCHES_MIN).ok()?;
    let level = f64::midpoint(step.before, step.after);
    if level <= 0.0 {
        return None;
    }
    let change = (step.after - step.before) / level;
    let unsure = normal_two_sided(CONFIDENCE) * step.error / level;
    let at_s = batches[step.at].seconds_in();
    (change.abs() - unsure > THROUGHPUT_DRIFT_MAX && warm_up_end(&counts).is_none()).then(|| Drift {
        affects: "throughput",
        detail: format!(
            "the warm-up was not over by half of the window (MSER-5): throughput steps by {} at {at_s:.1} s",
            percent(change)
        ),
    })
}

/// The Theil–Sen drift of a percentile's logarithm over up to 20 groups of the series'
/// entries (seconds, or several in a long window) that have `least` answers each.
#[expect(clippy::cast_precision_loss, reason = "a window of a day is 8.64e13 ns, exact in an f64")]
fn latency_drift(m: &Measurement, window_ns: u64, name: &str, quantile: f64, least: u64) -> Option<Drift> {
    let seconds: Vec<&Second> = whole_entries(&m.series, 0.5);
    let count = seconds.len().min(BATCHES);
    let mut points = Vec::with_capacity(count);
    let mut merged = empty_histogram();
    for i in 0..count {
        let group = &seconds[i * seconds.len() / count..(i + 1) * seconds.len() / count];
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        merged.reset();
        for second in group {
            second.response.add_to(&mut merged);
        }
        if merged.len() >= least {
            let middle_s = (first.at_ns + last.at_ns + last.length_ns) as f64 / 2e9;
            points.push((middle_s, (merged.value_at_quantile(quantile).max(1) as f64).ln()));
        }
    }
    // Gaps would make the trend one of the busy seconds only.
    if points.len() < count {
        return None;
    }
    let slope = theil_sen_dependent(&points, CONFIDENCE)?;
    let over_window = |slope: f64| (slope * window_ns as f64 / 1e9).exp() - 1.0;
    let (low, high) = (over_window(slope.low), over_window(slope.high));
    (low > LATENCY_DRIFT_MAX || high < -LATENCY_DRIFT_MAX).then(|| Drift {
        affects: "response",
        detail: format!(
            "{name} drifted by {} over the window (95 % interval {} to {}, beyond ±{})",
            percent(over_window(slope.point)),
            percent(low),
            percent(high),
            percent(LATENCY_DRIFT_MAX)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, noise};
    use prony_model::measurement::SparseDurations;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_level_window_is_steady() {
        assert_eq!(drifts(&healthy(10, 1000), 10 * S, false, true), []);
    }

    #[test]
    fn level_noise_is_steady() {
        let mut flagged = 0;
        for seed in 0..200 {
            let mut m = healthy(20, 1000);
            for (bin, noise) in m.bins.iter_mut().zip(noise(seed)) {
                bin.completed = (100.0 + 10.0 * noise).max(0.0) as u64;
            }
            flagged += usize::from(!drifts(&m, 20 * S, false, true).is_empty());
        }
        assert!(flagged <= 2, "{flagged} of 200");
    }

    #[test]
    fn a_fall_of_a_fifth_is_not_steady() {
        let mut m = healthy(10, 1000);
        for (i, bin) in m.bins.iter_mut().enumerate() {
            bin.completed = 110 - i as u64 / 5;
        }
        let drifts = drifts(&m, 10 * S, false, true);
        assert_eq!(drifts.len(), 1);
        assert!(drifts[0].detail.starts_with("throughput drifted by -"), "{drifts:?}");
    }

    #[test]
    fn a_late_warm_up_is_seen() {
        let mut m = healthy(10, 1000);
        for bin in &mut m.bins[..60] {
            bin.completed = 60;
        }
        assert_eq!(drifts(&m, 10 * S, false, true).len(), 1);
    }

    #[test]
    fn latency_that_doubles_is_not_steady_unless_it_is_overload() {
        let mut m = healthy(10, 2000);
        for (i, second) in m.series.iter_mut().enumerate() {
            let mut response = empty_histogram();
            response.record_n(1_000_000 * (10 + i as u64), 2000).unwrap();
            second.response = SparseDurations::of(&response);
        }
        let seen: Vec<_> = drifts(&m, 10 * S, false, true).iter().map(|d| d.affects).collect();
        assert_eq!(seen, ["response", "response"]);
        assert_eq!(drifts(&m, 10 * S, true, true), []);
    }

    #[test]
    fn under_ten_seconds_nothing_is_said() {
        let mut m = healthy(9, 1000);
        for (i, bin) in m.bins.iter_mut().enumerate() {
            bin.completed = 50 + i as u64;
        }
        assert_eq!(drifts(&m, 9 * S, false, true), []);
    }
}
