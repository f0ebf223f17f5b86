//! How surely a window knows its throughput, its mean response and its percentiles: one method for all of them.
//!
//! The figure is taken of the window and of five parts of it, as a rate: times by their reciprocals. How far the parts are
//! off the whole says how far the whole is off the truth ([`prony_stats::parts`]), widened by what neighbouring parts share
//! ([`Autocorrelation`]). Rates, because near its capacity a queue's times scatter with the square of the true ones (Whitt (1989),
//! *Planning queueing simulations*, Management Science 35(11)), so that their reciprocals scatter alike whatever they
//! are; and because a part in which nothing was answered is a rate of 0, and no time at all.

use std::collections::BTreeMap;

use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{BIN_NS, Measurement, Second};
use prony_model::trial::{PERCENTILES, Summary};
use prony_stats::CONFIDENCE;
use prony_stats::batch::design_effect;
use prony_stats::order::Quantile;
use prony_stats::parts::{Autocorrelation, PARTS, half_width};
use prony_stats::student::{normal_two_sided, t_two_sided};

use crate::batches::{Batch, merge, whole_entries};
use crate::numbers::{real, real_len, rounded};
use crate::summary::{OrderStatistics, Sample};

/// What the mean's interval stands under in [`Summary::ci95`].
pub(crate) const MEAN: &str = "mean_ns";

/// Percentiles of a window with fewer whole seconds have no interval.
const SECONDS_MIN: usize = 3;

/// What a window must spend beyond a percentile for it to have an interval: 1 % of 100 s are beyond p99. A tail is made of
/// episodes, and a window that had none of them looks sure of a tail that it has not seen; nothing in it tells. A
/// second holds some ten episodes of a queue at 90 % of its capacity, and with half of it the intervals of its p99
/// hold in 91 % (docs/decisions/0029).
const BEYOND_MIN_NS: f64 = 1e9;

/// More steps say no more of what lasts for a hundredth of the window.
const STEPS_MAX: usize = 300;

/// The most that half an interval's width may be, as a share of the figure: as wide as the figure it says nothing.
pub(crate) const HALF_WIDTH_MAX: f64 = 1.0;

/// Half the width of an interval about a rate that makes that about its reciprocal [`HALF_WIDTH_MAX`] wide: h/(1 − h²) = 1.
const HALF_WIDTH_MAX_OF_TIMES: f64 = 0.618_034;

/// A window's parts.
pub(crate) struct WindowParts {
    window_ns: u64,
    /// Five batches of 100 ms bins; empty in windows under five bins, and in such as go on beyond their bins.
    batches: Vec<Batch>,
    memory: Autocorrelation,
    /// Response times of parts of whole seconds (of entries of the series, in a long window): five, or as many seconds as
    /// there are; empty under three.
    response: Vec<OrderStatistics>,
}

/// What is known of each percentile of response.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct PercentileIntervals {
    /// Half the width of the interval about its reciprocal, as a share of that.
    pub(crate) half: BTreeMap<&'static str, f64>,
    /// Of those without an interval: the window that would give one.
    pub(crate) needs_ns: BTreeMap<&'static str, u64>,
    /// Of each with a value: by what the number of requests is divided to get how many independent ones they weigh as.
    pub(crate) design_effect: BTreeMap<&'static str, f64>,
}

impl WindowParts {
    /// Of the measurement's window.
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

    /// Half the width of the interval about a throughput of `per_s`, in requests per second.
    ///
    /// # Errors
    /// Why there is none, and what would give one.
    pub(crate) fn throughput(&self, per_s: f64) -> Result<f64, String> {
        if self.window_ns < PARTS as u64 * BIN_NS {
            return Err(
                "the window is shorter than five batches of 100 ms: give -d at least 500ms".to_owned()
            );
        }
        if self.batches.is_empty() {
            return Err("without -d only the first hour is kept in batches: give -d".to_owned());
        }
        let shares = self.batches.iter().map(|batch| batch.rate_per_s() / per_s.max(1e-9));
        let half = self.half(shares).unwrap_or(f64::INFINITY);
        if half < HALF_WIDTH_MAX || per_s <= 0.0 {
            return Ok(half.min(HALF_WIDTH_MAX) * per_s);
        }
        let needs = self.needs_ns(half / HALF_WIDTH_MAX).div_ceil(1_000_000_000);
        Err(format!(
            "throughput varied too much within the window for an interval: give -d {needs}s at least, or repeat"
        ))
    }

    /// Adds the interval of the mean to a summary of the window's response times, where it has one.
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
        if let Some(half) = half.filter(|half| *half < HALF_WIDTH_MAX_OF_TIMES) {
            summary.ci95.insert(MEAN.to_owned(), about(mean_ns, half));
        }
    }

    /// What is known of the percentiles of response; `None` under three whole seconds, which do not say.
    pub(crate) fn percentiles(&self, response: &OrderStatistics) -> Option<PercentileIntervals> {
        let mut known = PercentileIntervals::default();
        let mut level = 1.0f64;
        for (name, q) in PERCENTILES {
            let Some(quantile) = Quantile::new(q) else { continue };
            let Some(Sample::Exact(value)) = response.quantile(quantile) else { continue };
            let effect = self.design_effect(value)?;
            // A tail moves with the level, whether or not this window shows that it does: the median is the first.
            level = level.max(if q <= 0.5 { effect } else { 1.0 });
            known.design_effect.insert(name, effect.max(level));
            let beyond_ns = quantile.beyond(self.window_ns);
            let half = self.half(self.response.iter().map(|part| part.rate(quantile) * real(value)));
            let half = half.unwrap_or(f64::INFINITY);
            if beyond_ns >= BEYOND_MIN_NS && half < HALF_WIDTH_MAX_OF_TIMES {
                known.half.insert(name, half);
            } else {
                let of_tail = rounded(real(self.window_ns) * (BEYOND_MIN_NS / beyond_ns.max(1.0)));
                known.needs_ns.insert(name, of_tail.max(self.needs_ns(half / HALF_WIDTH_MAX_OF_TIMES)));
            }
        }
        Some(known)
    }

    /// Half the width of the interval about 1, by what each part has of the whole's figure.
    fn half(&self, shares: impl Iterator<Item = f64>) -> Option<f64> {
        let shares: Vec<f64> = shares.collect();
        Some(half_width(&shares, 1.0, CONFIDENCE)? * self.memory.widening(shares.len()))
    }

    /// The window that would be known so many times better than this one: as the square.
    fn needs_ns(&self, better: f64) -> u64 {
        rounded((real(self.window_ns) * better * better).ceil())
    }

    /// The variance of the share of requests of at most this time, as its parts show it, over that of independent
    /// requests; with Student's t in place of the normal quantile. Never under 1: their number is known.
    fn design_effect(&self, value_ns: u64) -> Option<f64> {
        let clusters: Vec<(u64, u64)> =
            self.response.iter().map(|part| (part.len(), part.up_to(value_ns))).collect();
        let few = t_two_sided(real_len(clusters.len()) - 1.0, CONFIDENCE)? / normal_two_sided(CONFIDENCE);
        let widened = few * self.memory.widening(clusters.len());
        // Where all or none are within it there is nothing to be unsure of.
        Some((design_effect(&clusters).unwrap_or(0.0) * widened * widened).max(1.0))
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

/// The interval about a time whose reciprocal is known to this share of it, outwards to whole nanoseconds.
pub(crate) fn about(time_ns: u64, half: f64) -> [u64; 2] {
    let time = real(time_ns);
    [rounded((time / (1.0 + half)).floor()), rounded((time / (1.0 - half)).ceil())]
}

/// The requests of some entries of a series in order: answers, and above them all what failed.
fn ranked(entries: &[&Second]) -> OrderStatistics {
    let mut answers = SparseHistogram::default();
    entries.iter().for_each(|entry| answers.add(&entry.response));
    OrderStatistics::of_completed(&answers).with_failed(entries.iter().map(|entry| entry.failed).sum())
}

/// How long the answers' times resemble each other, by their mean in short steps: 100 ms, longer ones in windows over 30
/// s. None where a step has no answer: single requests then show no memory.
fn memory(m: &Measurement, window_ns: u64) -> Autocorrelation {
    let count = usize::try_from(window_ns / m.bins.width_ns).unwrap_or(STEPS_MAX).min(STEPS_MAX);
    let mean = |b: &Batch| (b.sum.completed > 0).then(|| real(b.sum.response_sum_ns) / real(b.sum.completed));
    let means: Option<Vec<f64>> = merge(&m.bins, window_ns, count).iter().map(mean).collect();
    means.map_or_else(Autocorrelation::default, |means| Autocorrelation::estimate(&means))
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
