//! Distributions of durations, summarised without losing those who never
//! got an answer.
//!
//! The order that percentiles are taken from: completed requests by their
//! duration, requests still waiting when the window closed by their wait so
//! far (at equal values after the completed ones), and above all of these the
//! failed ones, by how long they had taken: a failed request never got its
//! answer, however quickly it was refused. Percentiles of survivors only would
//! get better as a server gets worse.

use std::collections::{BTreeMap, BTreeSet};

use prony_load::measurement::{Censored, Durations, Second, empty_histogram};
use prony_record::hdr;
use prony_record::trial::{Clock, PERCENTILES, Summary};
use prony_stats::CONFIDENCE;
use prony_stats::batch::{design_effect, effective_clusters};
use prony_stats::order::{Quantile, dependent_ranks, interval_ranks};
use prony_stats::student::{normal_two_sided, t_two_sided};

use crate::batches::whole_entries;

/// A percentile with fewer samples beyond it is withheld: the share beyond
/// the value given is then known to ±20 % (1.96/√100) at best.
pub(crate) const BEYOND_MIN: u64 = 100;

/// Fewer whole seconds than this say nothing of how seconds differ, and the
/// percentiles of such a window have no interval.
const CLUSTERS_MIN: usize = 3;

/// More clusters gain nothing, and cost time in runs of a day.
const CLUSTERS_MAX: usize = 30;

/// What stands at a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A completed request of this duration.
    Value(u64),
    /// A request without an answer: it took longer than this.
    Longer(u64),
}

/// The order of a distribution.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranked {
    /// The rank (from 1) that each step reaches, and what stands up to it.
    steps: Vec<(u64, Place)>,
}

impl Ranked {
    /// The order of durations of which all are known.
    pub(crate) fn of_completed(completed: &Durations) -> Ranked {
        Ranked::merge(completed, None)
    }

    /// The order of durations of which some are only known to be longer than something.
    pub(crate) fn of(durations: &Censored) -> Ranked {
        Ranked::merge(&durations.completed, Some((&durations.waiting, &durations.failed)))
    }

    fn merge(completed: &Durations, unanswered: Option<(&Durations, &Durations)>) -> Ranked {
        // Buckets of all of Prony's histograms have the same bounds, so that equal bounds are ties.
        // A completed request's value is its bucket's top, as HdrHistogram has it; "longer than" is the bottom.
        let buckets = |h: &Durations, place: &dyn Fn(u64) -> Place| -> Vec<(u64, Place, u64)> {
            h.iter_recorded()
                .map(|v| {
                    let bottom = h.lowest_equivalent(v.value_iterated_to());
                    (bottom, place(bottom), v.count_at_value())
                })
                .collect()
        };
        let mut all = buckets(completed, &|bottom| Place::Value(completed.highest_equivalent(bottom)));
        let longest = if completed.is_empty() { 0 } else { completed.max() };
        if let Some((waiting, failed)) = unanswered {
            all.extend(buckets(waiting, &Place::Longer));
            all.sort_by_key(|(bottom, place, _)| (*bottom, matches!(place, Place::Longer(_))));
            all.extend(buckets(failed, &|bottom| Place::Longer(bottom.max(longest))));
        }
        let mut rank = 0;
        let steps = all
            .into_iter()
            .map(|(_, place, count)| {
                rank += count;
                (rank, place)
            })
            .collect();
        Ranked { steps }
    }

    /// Requests in the order.
    pub(crate) fn len(&self) -> u64 {
        self.steps.last().map_or(0, |(rank, _)| *rank)
    }

    /// What stands at the rank (from 1); `None` outside 1 to [`Ranked::len`].
    pub(crate) fn at(&self, rank: u64) -> Option<Place> {
        let step = self.steps.partition_point(|(up_to, _)| *up_to < rank);
        self.steps.get(step).filter(|_| rank > 0).map(|(_, place)| *place)
    }

    /// What stands at the quantile; `None` when nothing is in the order.
    pub(crate) fn quantile(&self, quantile: Quantile) -> Option<Place> {
        self.at(quantile.rank(self.len())?)
    }
}

/// By what n is divided for the interval of each percentile, because
/// requests of one second share its queue and its pauses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dependence {
    divisors: BTreeMap<&'static str, f64>,
    /// Percentiles that have no divisor for one reason alone: the level is hardly known.
    level_unknown: BTreeSet<&'static str>,
}

/// Fewer episodes than this beyond a percentile do not say where it lies. Their
/// number is itself estimated, and from under 20 seconds badly: there, more are asked for.
const EPISODES_MIN: f64 = 15.0;
const EPISODES_MIN_OF_FEW: f64 = 40.0;
const FEW_CLUSTERS: usize = 20;

/// A percentile whose values cluster by at least this share of the median's
/// clustering is beyond it because the level is, not by chances of its own.
const LEVEL_SHARE: f64 = 0.3;

/// Where the median's interval reaches further than this to either side, relative to its middle, the window does not
/// know its level: how the tail lies in it then says nothing of what makes the tail. Under 20 seconds, which say less of themselves, less is allowed.
const LEVEL_KNOWN: f64 = 0.15;
const LEVEL_KNOWN_OF_FEW: f64 = 0.125;

impl Dependence {
    /// From the series' whole entries, seconds but in a long window. The divisor is the design effect of "at
    /// most the percentile's value", times clusters over effective clusters
    /// (neighbouring seconds resemble each other), times (t/z)², because all that
    /// is itself estimated from few seconds. Never under 1: n is known.
    /// `None` below three whole seconds.
    ///
    /// A percentile is left out where its tail comes in episodes of the level
    /// (a queue's long excursions), or may do so because the level itself is hardly
    /// known, and the window holds too few of them: a calm
    /// window then looks sure of a p99 that it has not seen.
    ///
    /// Only response times are kept by the second; what they show is used for
    /// every distribution of the trial, whose requests share the same seconds.
    #[expect(clippy::cast_precision_loss, reason = "counts of samples, far below 2^53")]
    pub(crate) fn of(series: &[Second], response: &Ranked) -> Option<Dependence> {
        let values: Vec<(&'static str, f64, u64)> = PERCENTILES
            .iter()
            .filter_map(|(name, quantile)| match response.quantile(Quantile::new(*quantile)?)? {
                Place::Value(value) => Some((*name, *quantile, value)),
                Place::Longer(_) => None,
            })
            .collect();
        let shares = clusters(series, &values)?;
        let dependent: Vec<Clustering> =
            shares.iter().map(|shares| Clustering::of(shares)).collect::<Option<_>>()?;
        let median = values.iter().position(|v| v.0 == "p50_ns").map(|at| &dependent[at]);
        let level = median.map_or(1.0, |median| median.effect);
        let few = shares.first().is_some_and(|shares| shares.len() < FEW_CLUSTERS);
        let (episodes_min, reach_max) =
            if few { (EPISODES_MIN_OF_FEW, LEVEL_KNOWN_OF_FEW) } else { (EPISODES_MIN, LEVEL_KNOWN) };
        let level_known = median.is_some_and(|median| {
            let found = Quantile::new(0.5).and_then(|q| interval(response, q, median.divisor()));
            found.is_some_and(|[low, high]| (high - low) as f64 <= reach_max * (high + low) as f64)
        });
        let n = response.len() as f64;
        let mut found = Dependence { divisors: BTreeMap::new(), level_unknown: BTreeSet::new() };
        for ((name, quantile, _), own) in values.iter().zip(&dependent) {
            // The median is the level.
            let told = *quantile <= 0.5 || n * (1.0 - quantile) / level >= episodes_min;
            let of_its_own = own.effect <= LEVEL_SHARE * level;
            if told || (of_its_own && level_known) {
                found.divisors.insert(name, own.divisor());
            } else if of_its_own {
                found.level_unknown.insert(name);
            }
        }
        Some(found)
    }

    /// Whether a drift of this percentile would be one: `false` where its tail is the level's few
    /// episodes, since where these fall is no trend. `summary` is what came of this dependence.
    pub(crate) fn drift_shows(&self, name: &str, summary: &Summary) -> bool {
        // A level that is hardly known may be one that drifts.
        let level_alone = self.level_unknown.contains(name) && summary.percentile(name).is_some();
        summary.ci95.contains_key(name) || level_alone
    }

    /// For a part of the requests, of which nothing is known by the second: the largest divisor among those of
    /// percentiles that the whole's `n` requests can tell, for every percentile.
    pub(crate) fn at_worst(&self, n: u64) -> Dependence {
        let told = |name: &str| {
            let quantile = PERCENTILES.iter().find(|(known, _)| *known == name).map(|(_, q)| *q);
            quantile.and_then(Quantile::new).is_some_and(|q| q.has_beyond(n, BEYOND_MIN))
        };
        let worst = self.divisors.iter().filter(|(name, _)| told(name)).map(|(_, d)| *d).fold(1.0, f64::max);
        let divisors = PERCENTILES.iter().map(|(name, _)| (*name, worst)).collect();
        Dependence { divisors, level_unknown: BTreeSet::new() }
    }
}

/// How a percentile's hits lie in the seconds.
struct Clustering {
    /// The variance of their share over that of independent ones.
    effect: f64,
    /// t over z for an estimate from so many seconds.
    few: f64,
}

impl Clustering {
    #[expect(clippy::cast_precision_loss, reason = "30 clusters at most")]
    fn of(shares: &[(u64, u64)]) -> Option<Clustering> {
        let count = shares.len() as f64;
        let effective = effective_clusters(shares).unwrap_or(count);
        // All or none at most the value: one bucket holds them, and there is nothing to be unsure of.
        let effect = design_effect(shares).unwrap_or(1.0) * count / effective;
        // Between those of the clusters and of the effective ones, whose number is uncertain itself.
        let degrees = ((count - 1.0) * (effective - 1.0)).sqrt();
        Some(Clustering { effect, few: t_two_sided(degrees, CONFIDENCE)? / normal_two_sided(CONFIDENCE) })
    }

    /// By what n is divided; never under 1.
    fn divisor(&self) -> f64 {
        (self.effect * self.few * self.few).max(1.0)
    }
}

/// For each value, (answers, answers of at most the value) of each cluster of whole entries.
fn clusters(series: &[Second], values: &[(&'static str, f64, u64)]) -> Option<Vec<Vec<(u64, u64)>>> {
    let whole = whole_entries(series, 0.9);
    let count = whole.len().min(CLUSTERS_MAX);
    if count < CLUSTERS_MIN {
        return None;
    }
    let mut shares = vec![Vec::with_capacity(count); values.len()];
    let mut merged = empty_histogram();
    for i in 0..count {
        merged.reset();
        for second in &whole[i * whole.len() / count..(i + 1) * whole.len() / count] {
            second.response.add_to(&mut merged);
        }
        for ((_, _, value), shares) in values.iter().zip(&mut shares) {
            let hits = if merged.is_empty() { 0 } else { merged.count_between(0, *value) };
            shares.push((merged.len(), hits));
        }
    }
    Some(shares)
}

/// The summary of a distribution. `ranked` is its order (of `completed` alone,
/// or with those that have no answer); `dependence` is `None` where it could
/// not be told, and then percentiles have no interval.
pub(crate) fn summarise(
    completed: &Durations,
    ranked: &Ranked,
    clock: Clock,
    window_ns: u64,
    dependence: Option<&Dependence>,
) -> Summary {
    Summary { hdr: hdr::encode(completed), ..figures(completed, ranked, clock, window_ns, dependence) }
}

/// [`summarise`] without the histogram.
pub(crate) fn figures(
    completed: &Durations,
    ranked: &Ranked,
    clock: Clock,
    window_ns: u64,
    dependence: Option<&Dependence>,
) -> Summary {
    let some = |value: u64| (!completed.is_empty()).then_some(value);
    let mut summary = Summary {
        clock,
        count: completed.len(),
        mean_ns: some(rounded(completed.mean())),
        stdev_ns: some(rounded(completed.stdev())),
        min_ns: some(completed.min()),
        p50_ns: None,
        p75_ns: None,
        p90_ns: None,
        p95_ns: None,
        p99_ns: None,
        p999_ns: None,
        p9999_ns: None,
        max_ns: some(completed.max()),
        ci95: BTreeMap::new(),
        censored_at_ns: BTreeMap::new(),
        needs_duration_ns: BTreeMap::new(),
        hdr: String::new(),
    };
    for (name, quantile) in PERCENTILES {
        if let Some(quantile) = Quantile::new(quantile) {
            percentile(&mut summary, name, quantile, ranked, window_ns, dependence);
        }
    }
    summary
}

/// Withheld comes before censored: where too few samples lie beyond the rank,
/// that it falls on an unanswered request is chance as much as a value would be.
fn percentile(
    summary: &mut Summary,
    name: &'static str,
    quantile: Quantile,
    ranked: &Ranked,
    window_ns: u64,
    dependence: Option<&Dependence>,
) {
    let n = ranked.len();
    let Some(place) = ranked.quantile(quantile) else { return };
    if !quantile.has_beyond(n, BEYOND_MIN) {
        summary.needs_duration_ns.insert(name.to_owned(), needed_window_ns(quantile, n, window_ns));
        return;
    }
    match place {
        Place::Longer(than) => {
            summary.censored_at_ns.insert(name.to_owned(), than);
        }
        Place::Value(value) => {
            summary.set_percentile(name, Some(value));
            let divisor = dependence.and_then(|d| d.divisors.get(name));
            if let Some(interval) = divisor.and_then(|divisor| interval(ranked, quantile, *divisor)) {
                summary.ci95.insert(name.to_owned(), interval);
            }
        }
    }
}

/// The values at the ranks that enclose the quantile among n/divisor
/// independent samples, carried over to n ranks, outwards; `None` where the
/// upper rank has no answer or the effective n is too small.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples, far below 2^53, and not negative"
)]
fn interval(ranked: &Ranked, quantile: Quantile, divisor: f64) -> Option<[u64; 2]> {
    let n = ranked.len();
    let effective = (n as f64 / divisor.max(1.0)).floor();
    let (low, high) = match dependent_ranks(n, effective, quantile, CONFIDENCE) {
        Some(ranks) if divisor > 1.0 => ranks,
        _ => {
            let (j, k) = interval_ranks(effective as u64, quantile, CONFIDENCE)?;
            let scale = n as f64 / effective;
            (((j - 1) as f64 * scale).floor() as u64 + 1, ((k as f64 * scale).ceil() as u64).min(n))
        }
    };
    match (ranked.at(low)?, ranked.at(high)?) {
        (Place::Value(low), Place::Value(high)) => Some([low, high]),
        _ => None,
    }
}

/// The window that would give 100 samples beyond, at this one's pace.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a forecast; a float above u64 saturates"
)]
fn needed_window_ns(quantile: Quantile, n: u64, window_ns: u64) -> u64 {
    (window_ns as f64 * BEYOND_MIN as f64 / quantile.beyond(n)).ceil() as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a duration below an hour, not negative"
)]
pub(crate) fn rounded(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
