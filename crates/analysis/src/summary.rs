//! Distributions of durations, in this order: completed requests by duration, those still waiting when the window
//! closed by their wait so far (after completed ones of equal value), and above all of these the failed ones: a failed
//! request never got its answer, however quickly it was refused. Percentiles of survivors only would get better as a
//! server gets worse.

use prony_model::histogram::{SparseHistogram, highest_ns, lowest_ns};
use prony_model::measurement::Censored;
use prony_model::trial::{Clock, PERCENTILES, Summary};
use prony_stats::order::Quantile;

use crate::interval::{PARTS_DIFFER, PercentileIntervals, UNANSWERED, about, add};
use crate::numbers::{real, rounded};

/// Samples beyond a percentile, or it is withheld: the share beyond is then known to ±20 % (1.96/√100) at best.
pub(crate) const BEYOND_MIN: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    Exact(u64),
    /// A request without an answer: it took longer than this.
    LongerThan(u64),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct OrderStatistics {
    /// The rank (from 1) that each step reaches, and what stands up to it.
    steps: Vec<(u64, Sample)>,
}

impl OrderStatistics {
    pub(crate) fn of_completed(completed: &SparseHistogram) -> OrderStatistics {
        let none = SparseHistogram::default();
        OrderStatistics::merge(completed, &none, &none, &[])
    }

    pub(crate) fn of(durations: &Censored) -> OrderStatistics {
        OrderStatistics::merge(&durations.completed, &durations.waiting, &durations.failed, &[])
    }

    /// The same with no other steps than those of [`PERCENTILES`] and the last: what else is asked of it is not known.
    pub(crate) fn at_percentiles(durations: &Censored) -> OrderStatistics {
        let Censored { completed, failed, waiting } = durations;
        let n = completed.len() + waiting.len() + failed.len();
        let ranks = PERCENTILES.iter().filter_map(|(_, quantile)| Quantile::new(*quantile)?.rank(n));
        OrderStatistics::merge(completed, waiting, failed, &ranks.chain([n]).collect::<Vec<_>>())
    }

    /// Bucket bounds are the same in all histograms, so that equal buckets are ties. A value is its bucket's top, as
    /// HdrHistogram has it; "longer than" is the bottom. With `ranks`, which rise, only their steps are kept.
    fn merge(
        completed: &SparseHistogram,
        waiting: &SparseHistogram,
        failed: &SparseHistogram,
        ranks: &[u64],
    ) -> OrderStatistics {
        let most = [completed, waiting, failed].map(SparseHistogram::buckets_max).iter().sum();
        let most = if ranks.is_empty() { most } else { ranks.len() };
        let (mut steps, mut rank, mut longest) = (Vec::with_capacity(most), 0, 0);
        let (mut asked, mut wanted) = (ranks.iter().copied(), 0);
        let mut next = |count: u64, sample: Sample| {
            rank += count;
            if rank >= wanted {
                steps.push((rank, sample));
                wanted = asked.find(|asked| *asked > rank).unwrap_or(0);
            }
        };
        let mut waiting = waiting.buckets().peekable();
        for (bucket, count) in completed.buckets() {
            while let Some((before, count)) = waiting.next_if(|(before, _)| *before < bucket) {
                next(count, Sample::LongerThan(lowest_ns(before)));
            }
            longest = highest_ns(bucket);
            next(count, Sample::Exact(longest));
        }
        waiting.for_each(|(bucket, count)| next(count, Sample::LongerThan(lowest_ns(bucket))));
        for (bucket, count) in failed.buckets() {
            next(count, Sample::LongerThan(lowest_ns(bucket).max(longest)));
        }
        OrderStatistics { steps }
    }

    pub(crate) fn len(&self) -> u64 {
        self.steps.last().map_or(0, |(rank, _)| *rank)
    }

    /// What stands at the rank (from 1); `None` outside 1 to [`OrderStatistics::len`].
    pub(crate) fn at(&self, rank: u64) -> Option<Sample> {
        let step = self.steps.partition_point(|(up_to, _)| *up_to < rank);
        self.steps.get(step).filter(|_| rank > 0).map(|(_, place)| *place)
    }

    pub(crate) fn with_failed(mut self, failed: u64) -> OrderStatistics {
        let longest = match self.steps.last() {
            Some((_, Sample::Exact(longest) | Sample::LongerThan(longest))) => *longest,
            None => 0,
        };
        if failed > 0 {
            self.steps.push((self.len() + failed, Sample::LongerThan(longest)));
        }
        self
    }

    /// What stands at the quantile; `None` when nothing is in the order.
    pub(crate) fn quantile(&self, quantile: Quantile) -> Option<Sample> {
        self.at(quantile.rank(self.len())?)
    }
}

/// `ranked` is the order (of `completed` alone, or with those without an answer); `known`: the intervals of
/// percentiles.
pub(crate) fn summarise(
    completed: &SparseHistogram,
    ranked: &OrderStatistics,
    clock: Clock,
    window_ns: u64,
    known: Option<&PercentileIntervals>,
) -> Summary {
    with_percentiles(of_values(completed), ranked, clock, window_ns, known)
}

/// What a summary says of durations themselves.
pub(crate) fn of_values(completed: &SparseHistogram) -> Summary {
    let some = |value: u64| (!completed.is_empty()).then_some(value);
    let (mean, deviation, longest) = completed.moments_and_max();
    Summary {
        count: completed.len(),
        mean_ns: some(rounded(mean)),
        stdev_ns: some(rounded(deviation)),
        min_ns: some(completed.min()),
        max_ns: some(longest),
        hdr: completed.clone(),
        ..Summary::default()
    }
}

/// The same with percentiles.
pub(crate) fn with_percentiles(
    values: Summary,
    ranked: &OrderStatistics,
    clock: Clock,
    window_ns: u64,
    known: Option<&PercentileIntervals>,
) -> Summary {
    let mut summary = Summary { clock, ..values };
    for (name, quantile) in PERCENTILES {
        if let Some(quantile) = Quantile::new(quantile) {
            percentile(&mut summary, name, quantile, ranked, window_ns, known);
        }
    }
    summary
}

/// Withheld comes before censored: with too few samples beyond, falling on an unanswered request is chance as well.
fn percentile(
    summary: &mut Summary,
    name: &'static str,
    quantile: Quantile,
    ranked: &OrderStatistics,
    window_ns: u64,
    known: Option<&PercentileIntervals>,
) {
    let n = ranked.len();
    let Some(place) = ranked.quantile(quantile) else { return };
    if !quantile.has_beyond(n, BEYOND_MIN) {
        summary.needs_duration_ns.insert(name.to_owned(), needed_window_ns(quantile, n, window_ns));
        return;
    }
    match place {
        Sample::LongerThan(than) => {
            summary.censored_at_ns.insert(name.to_owned(), than);
        }
        Sample::Exact(value) => {
            summary.set_percentile(name, Some(value));
            let Some(known) = known else { return };
            // What has no answer may be longer than an end that is beyond all answers.
            let open = matches!(ranked.at(n), Some(Sample::LongerThan(_)));
            if let Some(half) = known.half.get(name) {
                let (low, high) = about(value, *half);
                let sure = high.filter(|high| !open || Some(*high) < summary.max_ns);
                let why = if high.is_some() { UNANSWERED } else { PARTS_DIFFER };
                add(summary, name, (low, sure), why);
            }
            let needs = known.needs_ns.get(name).map(|needs| (name.to_owned(), *needs));
            summary.needs_duration_ns.extend(needs);
        }
    }
}

/// The window that would give 100 samples beyond, at this one's pace.
fn needed_window_ns(quantile: Quantile, n: u64, window_ns: u64) -> u64 {
    rounded((real(window_ns) * real(BEYOND_MIN) / quantile.beyond(n)).ceil())
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
