//! How surely a window knows its throughput, mean and percentiles, by five parts of it ([`prony_stats::parts`]),
//! widened by what neighbouring parts share ([`Autocorrelation`]). Taken of rates, times by their reciprocals: near its
//! capacity a queue's times scatter with the square of the true ones (Whitt (1989), *Planning queueing simulations*,
//! Management Science 35(11)), so that reciprocals scatter alike; and a part in which nothing was answered is a rate of
//! 0.

use std::collections::BTreeMap;

use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{BIN_NS, Measurement, Second};
use prony_model::trial::{PERCENTILES, Summary};
use prony_stats::CONFIDENCE;
use prony_stats::order::Quantile;
use prony_stats::parts::{Autocorrelation, PARTS, half_width};

use crate::batches::{Batch, merge, whole_entries};
use crate::numbers::{real, rounded};
use crate::summary::{OrderStatistics, Sample};

/// What the mean's interval stands under in [`Summary::ci95`].
pub(crate) const MEAN: &str = "mean_ns";

/// Percentiles of a window with fewer whole seconds have no interval.
const SECONDS_MIN: usize = 3;

/// What a window must spend beyond a percentile for an interval: 1 % of 100 s are beyond p99. A tail is made of
/// episodes, and a window without any looks sure of a tail that it has not seen. A second holds some ten episodes of a
/// queue at 90 % of its capacity; with half of it the intervals of its p99 hold in 91 % (docs/decisions/0029).
const BEYOND_MIN_NS: f64 = 1e9;

/// More steps say no more of what lasts for a hundredth of the window.
const STEPS_MAX: usize = 300;

/// About its reciprocal it reaches 0. None is withheld for its width: windows without a stall would be left, and do not
/// hold.
pub(crate) const PARTS_DIFFER: &str = "the window's parts differ by as much as the figure itself";

/// Why a percentile's interval has no upper end.
pub(crate) const UNANSWERED: &str = "so many requests without a response, or so few in all, may be longer";

pub(crate) struct WindowParts {
    window_ns: u64,
    /// Five batches of 100 ms bins; empty in windows under five bins, and in such as go on beyond their bins.
    batches: Vec<Batch>,
    memory: Autocorrelation,
    /// Of five parts of whole seconds (of entries of the series, in a long window), or as many as there are; empty
    /// under three.
    response: Vec<OrderStatistics>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PercentileIntervals {
    /// Half the width of the interval about its reciprocal, as a share of that.
    pub(crate) half: BTreeMap<&'static str, f64>,
    /// Of those without an interval: the window that would give one.
    pub(crate) needs_ns: BTreeMap<&'static str, u64>,
}

impl WindowParts {
    pub(crate) fn of(m: &Measurement) -> WindowParts {
        let window_ns = m.window_end_ns.saturating_sub(m.window_start_ns);
        let whole = whole_entries(&m.series, 0.9);
        let count = if whole.len() < SECONDS_MIN { 0 } else { whole.len().min(PARTS) };
        let part = |i: usize| ranked(&whole[i * whole.len() / count..(i + 1) * whole.len() / count]);
        WindowParts {
            window_ns,
            batches: merge(&m.bins, window_ns, PARTS),
            memory: memory(m, window_ns),
            response: (0..count).map(part).collect(),
        }
    }

    /// Half the width of the interval about a throughput of `per_s`, in requests per second; as wide as it may be.
    pub(crate) fn throughput(&self, per_s: f64) -> Result<f64, String> {
        if self.window_ns < PARTS as u64 * BIN_NS {
            return Err(
                "the window is shorter than five batches of 100 ms: give -d at least 500ms".to_owned()
            );
        }
        if self.batches.is_empty() {
            let why = "an older version of Prony measured this, and kept batches of the first hour only";
            return Err(why.to_owned());
        }
        let shares = self.batches.iter().map(|batch| batch.rate_per_s() / per_s.max(1e-9));
        let half = self.half(shares).filter(|half| half.is_finite());
        Ok(half.ok_or("the window's parts have no rate")? * per_s)
    }

    pub(crate) fn add_mean(&self, summary: &mut Summary) {
        let Some(mean_ns) = summary.mean_ns.filter(|_| !self.batches.is_empty()) else { return };
        let rate = |sum_ns: u64, n: u64| real(n) / real(sum_ns.max(1));
        let (sum_ns, n) = self
            .batches
            .iter()
            .fold((0u64, 0), |(sum, n), b| (sum.saturating_add(b.sum.response_sum_ns), n + b.sum.completed));
        let whole = rate(sum_ns, n).max(f64::MIN_POSITIVE);
        let half =
            self.half(self.batches.iter().map(|b| rate(b.sum.response_sum_ns, b.sum.completed) / whole));
        if let Some(half) = half.filter(|half| half.is_finite()) {
            add(summary, MEAN, about(mean_ns, half), PARTS_DIFFER);
        }
    }

    /// What is known of the percentiles of response; `None` under three whole seconds, which do not say.
    pub(crate) fn percentiles(&self, response: &OrderStatistics) -> Option<PercentileIntervals> {
        if self.response.is_empty() {
            return None;
        }
        let mut known = PercentileIntervals::default();
        for (name, q) in PERCENTILES {
            let Some(quantile) = Quantile::new(q) else { continue };
            let Some(Sample::Exact(value)) = response.quantile(quantile) else { continue };
            let beyond_ns = quantile.beyond(self.window_ns);
            let half = self.half(self.response.iter().map(|part| part.rate(quantile) * real(value)));
            match half.filter(|half| half.is_finite() && beyond_ns >= BEYOND_MIN_NS) {
                Some(half) => _ = known.half.insert(name, half),
                None => {
                    let needs_ns = rounded(real(self.window_ns) * (BEYOND_MIN_NS / beyond_ns.max(1.0)));
                    known.needs_ns.insert(name, needs_ns);
                }
            }
        }
        Some(known)
    }

    /// Half the width of the interval about 1, by what each part has of the whole's figure.
    fn half(&self, shares: impl Iterator<Item = f64>) -> Option<f64> {
        let shares: Vec<f64> = shares.collect();
        Some(half_width(&shares, 1.0, CONFIDENCE)? * self.memory.widening(shares.len()))
    }
}

impl OrderStatistics {
    /// One over the time at this quantile; 0 where nothing stands there, or what had no answer.
    fn rate(&self, quantile: Quantile) -> f64 {
        match self.quantile(quantile) {
            Some(Sample::Exact(value)) => 1.0 / real(value.max(1)),
            _ => 0.0,
        }
    }
}

/// The interval about a time whose reciprocal is known to this share, outwards; no upper end where that may be 0.
pub(crate) fn about(time_ns: u64, half: f64) -> (u64, Option<u64>) {
    let time = real(time_ns);
    let high = (half < 1.0).then(|| rounded((time / (1.0 - half)).ceil()));
    (rounded((time / (1.0 + half)).floor()), high)
}

/// Adds an interval to a summary, and why it has no upper end where it has none.
pub(crate) fn add(summary: &mut Summary, field: &str, interval: (u64, Option<u64>), why_open: &str) {
    summary.ci95.insert(field.to_owned(), interval);
    if interval.1.is_none() {
        summary.unbounded.insert(field.to_owned(), why_open.to_owned());
    }
}

/// The requests of some entries of a series in order: answers, and above them all what failed.
fn ranked(entries: &[&Second]) -> OrderStatistics {
    let mut answers = SparseHistogram::default();
    entries.iter().for_each(|entry| answers.add(&entry.response));
    OrderStatistics::of_completed(&answers).with_failed(entries.iter().map(|entry| entry.failed).sum())
}

/// By the answers' mean in steps of 100 ms, longer in windows over 30 s. None where a step has no answer.
fn memory(m: &Measurement, window_ns: u64) -> Autocorrelation {
    let count = usize::try_from(window_ns / m.bins.width_ns).unwrap_or(STEPS_MAX).min(STEPS_MAX);
    let mean = |b: &Batch| (b.sum.completed > 0).then(|| real(b.sum.response_sum_ns) / real(b.sum.completed));
    let means: Option<Vec<f64>> = merge(&m.bins, window_ns, count).iter().map(mean).collect();
    means.map_or_else(Autocorrelation::default, |means| Autocorrelation::estimate(&means))
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
