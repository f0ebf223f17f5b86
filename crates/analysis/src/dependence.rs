//! How much the requests of a window depend on each other, and which percentiles it therefore knows.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::measurement::{BIN_NS, Measurement, Second, empty_histogram};
use prony_model::trial::{PERCENTILES, Summary};
use prony_stats::CONFIDENCE;
use prony_stats::batch::{design_effect, effective_clusters};
use prony_stats::memory::Memory;
use prony_stats::order::Quantile;
use prony_stats::student::{normal_two_sided, t_two_sided};

use crate::batches::{merge, whole_entries};
use crate::summary::{BEYOND_MIN, Place, Ranked, interval};

/// Fewer whole seconds than this say nothing of how seconds differ, and the
/// percentiles of such a window have no interval.
const CLUSTERS_MIN: usize = 3;

/// More clusters gain nothing, and cost time in runs of a day.
const CLUSTERS_MAX: usize = 30;

/// By what n is divided for the interval of each percentile, because
/// requests of one second share its queue and its pauses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dependence {
    pub(crate) divisors: BTreeMap<&'static str, f64>,
    /// Percentiles that have no divisor for one reason alone: the level is hardly known.
    level_unknown: BTreeSet<&'static str>,
    /// By how much at least, as a share of its value, a percentile is unsure to either side: it moves with a level that
    /// is known no better.
    pub(crate) least_reach: BTreeMap<&'static str, f64>,
    /// By what n is divided for each percentile that has a value, whether or not it may have an interval: where it may
    /// not, it is taken to cluster as the level does, if that is more.
    pub(crate) cautious: BTreeMap<&'static str, f64>,
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
/// know its level: how the tail lies in it then says nothing of what makes the tail. Under 20 seconds, which say less
/// of themselves, less is allowed.
const LEVEL_KNOWN: f64 = 0.15;
const LEVEL_KNOWN_OF_FEW: f64 = 0.1;

/// Where fewer than 20 seconds resemble each other so much that a mean's variance is this many times what independent
/// ones would give it, the window holds too little of what makes its tail, unless its level hardly moves at all: then
/// that resemblance is of next to nothing.
const INFLATION_OF_FEW: f64 = 1.2;
const LEVEL_STILL: f64 = 0.02;

impl Dependence {
    /// From the series' whole entries, seconds but in a long window. The divisor is the design effect of "at
    /// most the percentile's value", times what it grows by because neighbouring seconds
    /// resemble each other ([`Clustering`]), times (t/z)², because all that
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
    pub(crate) fn of(m: &Measurement, response: &Ranked) -> Option<Dependence> {
        let values: Vec<(&'static str, f64, u64)> = PERCENTILES
            .iter()
            .filter_map(|(name, quantile)| match response.quantile(Quantile::new(*quantile)?)? {
                Place::Value(value) => Some((*name, *quantile, value)),
                Place::Longer(_) => None,
            })
            .collect();
        let shares = clusters(&m.series, &values)?;
        let steps = Steps::of(m);
        let dependent: Vec<Clustering> =
            shares.iter().map(|shares| Clustering::of(shares, steps.as_ref())).collect::<Option<_>>()?;
        let median = values.iter().position(|v| v.0 == "p50_ns").map(|at| &dependent[at]);
        let level = median.map_or(1.0, |median| median.effect);
        let few = shares.first().is_some_and(|shares| shares.len() < FEW_CLUSTERS);
        let (episodes_min, reach_max) =
            if few { (EPISODES_MIN_OF_FEW, LEVEL_KNOWN_OF_FEW) } else { (EPISODES_MIN, LEVEL_KNOWN) };
        let clusters = shares.first().map_or(1.0, |shares| shares.len() as f64);
        let remembers = steps.is_some_and(|s| s.memory.inflation(s.count / clusters) > INFLATION_OF_FEW);
        let reach_max = if few && remembers { LEVEL_STILL } else { reach_max };
        let reach = median.and_then(|median| {
            let [low, high] = interval(response, Quantile::new(0.5)?, median.divisor())?;
            Some((high - low) as f64 / (high + low) as f64)
        });
        let level_known = reach.is_some_and(|reach| reach <= reach_max);
        let n = response.len() as f64;
        let mut found = Dependence {
            divisors: BTreeMap::new(),
            level_unknown: BTreeSet::new(),
            least_reach: BTreeMap::new(),
            cautious: BTreeMap::new(),
        };
        let level_divisor = median.map_or(1.0, Clustering::divisor);
        for ((name, quantile, _), own) in values.iter().zip(&dependent) {
            // The median is the level.
            let told = *quantile <= 0.5 || n * (1.0 - quantile) / level >= episodes_min;
            let of_its_own = own.effect <= LEVEL_SHARE * level;
            let known = told || (of_its_own && level_known);
            let least = if known { 1.0 } else { level_divisor };
            found.cautious.insert(name, own.divisor().max(least));
            if known {
                found.divisors.insert(name, own.divisor());
                // Few seconds that do not show how a tail moves with the level do not show that it stays.
                if few && !told {
                    found.least_reach.extend(reach.map(|reach| (*name, reach)));
                }
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
        let divisors: BTreeMap<_, _> = PERCENTILES.iter().map(|(name, _)| (*name, worst)).collect();
        let cautious = self.cautious.values().copied().fold(worst, f64::max);
        Dependence {
            cautious: divisors.keys().map(|name| (*name, cautious)).collect(),
            divisors,
            level_unknown: BTreeSet::new(),
            least_reach: BTreeMap::new(),
        }
    }
}

/// The mean response in short steps, and how long it resembles itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Steps {
    pub(crate) memory: Memory,
    /// Steps of the window.
    pub(crate) count: f64,
}

/// More steps say no more of what lasts for a thirtieth of the window.
const STEPS_MAX: usize = 300;

impl Steps {
    /// By 100 ms, longer ones in windows over 30 s. `None` in windows of under 2 s, and where a step has no
    /// answer: single requests then show no memory.
    #[expect(clippy::cast_precision_loss, reason = "counts of a run, far below 2^53")]
    pub(crate) fn of(m: &Measurement) -> Option<Steps> {
        let window_ns = m.window_end_ns.saturating_sub(m.window_start_ns);
        let count = usize::try_from(window_ns / BIN_NS).unwrap_or(STEPS_MAX).min(STEPS_MAX);
        let means: Option<Vec<f64>> = merge(&m.bins, window_ns, count)
            .iter()
            .map(|step| {
                (step.sum.completed > 0).then(|| step.sum.response_sum_ns as f64 / step.sum.completed as f64)
            })
            .collect();
        Some(Steps { memory: Memory::of(&means?)?, count: count as f64 })
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
    /// What neighbouring clusters resemble each other by is told twice, and the larger counts: by the clusters'
    /// own autocorrelation, and by the memory of the mean response in far shorter steps, which says more where there are
    /// few clusters. The latter is of the part that is no chance of single requests.
    #[expect(clippy::cast_precision_loss, reason = "30 clusters at most")]
    fn of(shares: &[(u64, u64)], steps: Option<&Steps>) -> Option<Clustering> {
        let count = shares.len() as f64;
        // All or none at most the value: one bucket holds them, and there is nothing to be unsure of. Where all
        // clusters have the very same share, there is next to nothing, and not 0/0.
        let design = design_effect(shares).unwrap_or(1.0).max(1e-9);
        let own = design * count / effective_clusters(shares).unwrap_or(count);
        let inflation = steps.map_or(1.0, |steps| steps.memory.inflation(steps.count / count));
        // Clusters that resemble each other vary less about their own mean than about the truth.
        let about_truth = (count - 1.0) / (count - inflation).max(count / 2.0);
        // What does not cluster is chance, which remembers nothing.
        let by_memory = if design > 1.0 { 1.0 + (design - 1.0) * about_truth * inflation } else { own };
        let (effect, degrees) = if shares.len() < FEW_CLUSTERS {
            let effect = own.max(by_memory);
            let effective = (count * design / effect).clamp(2.0, count);
            // All rests on the steps where they say more.
            (
                effect,
                if own < by_memory { effective - 1.0 } else { ((count - 1.0) * (effective - 1.0)).sqrt() },
            )
        } else {
            // Both are estimates of the same, and neither is sure.
            let effect = own.max(f64::midpoint(own, by_memory));
            let effective = (count * design / effect).clamp(2.0, count);
            // Between those of the clusters and of the effective ones, whose number is uncertain itself.
            (effect, ((count - 1.0) * (effective - 1.0)).sqrt())
        };
        let few = t_two_sided(degrees, CONFIDENCE)? / normal_two_sided(CONFIDENCE);
        Some(Clustering { effect, few })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::figures;
    use crate::testing::healthy;
    use prony_model::measurement::SparseDurations;
    use prony_model::trial::Clock;

    #[test]
    fn a_tail_is_known_no_better_than_the_level_that_it_may_move_with() {
        // Each second's answers take so many µs ±5 %, but for 2 % that take 10 ms in all seconds.
        let of = |levels_us: [u64; 10]| {
            let mut m = healthy(10, 2_000);
            m.latency.response.completed.reset();
            for (second, level_us) in m.series.iter_mut().zip(levels_us) {
                let mut response = empty_histogram();
                for share in 0..98 {
                    response.record_n(level_us * (951 + share), 20).unwrap();
                }
                response.record_n(10_000_000, 40).unwrap();
                second.response = SparseDurations::of(&response);
                second.response.add_to(&mut m.latency.response.completed);
            }
            let ranked = Ranked::of(&m.latency.response);
            let found = Dependence::of(&m, &ranked).unwrap();
            let summary =
                figures(&m.latency.response.completed, &ranked, Clock::Kernel, 10_000_000_000, Some(&found));
            let [low, high] = summary.ci95["p99_ns"];
            (high - low) as f64 / summary.p99_ns.unwrap() as f64 / 2.0
        };
        assert!(of([1_000; 10]) < 1e-9);
        let share = of([990, 1_010, 993, 1_005, 996, 1_004, 992, 1_008, 995, 1_006]);
        assert!((0.003..0.02).contains(&share), "{share}");
    }

    #[test]
    fn what_does_not_cluster_is_not_widened_by_a_memory() {
        // A mean response whose neighbours correlate by 0.8 or so.
        let means: Vec<f64> = (0..100).map(|k| (f64::from(k) * 0.6).sin()).collect();
        let steps = Steps { memory: Memory::of(&means).unwrap(), count: 100.0 };
        assert!(steps.memory.inflation(10.0) > 1.3);
        let shares = |away: [i64; 10]| -> Vec<(u64, u64)> {
            away.iter().map(|away| (5_000, (4_950 + away) as u64)).collect()
        };
        // As chance would have it: the binomial deviation is 7.
        let chance = shares([5, -7, 3, 8, -4, -6, 7, -2, 1, -5]);
        let (alone, beside) =
            (Clustering::of(&chance, None).unwrap(), Clustering::of(&chance, Some(&steps)).unwrap());
        assert_eq!(alone.divisor(), beside.divisor());
        let less = shares([2, -1, 1, 0, -2, 1, 0, -1, 2, -2]);
        assert!(Clustering::of(&less, Some(&steps)).unwrap().divisor() <= 1.0);
        // In clusters, the memory says that there are fewer of these.
        let clustered = shares([30, -35, 20, 40, -25, -30, 35, -15, 5, -25]);
        let (alone, beside) =
            (Clustering::of(&clustered, None).unwrap(), Clustering::of(&clustered, Some(&steps)).unwrap());
        assert!(beside.divisor() > 1.5 * alone.divisor());
    }
}
