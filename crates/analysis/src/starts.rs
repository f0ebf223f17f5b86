//! Several starts of a server as one: each is a cluster of requests ([`prony_stats::share`]). A percentile is that of
//! the merged histogram, its interval the times whose share beyond may be the percentile's: Woodruff (1952),
//! *Confidence intervals for medians and other position measures*, JASA 47(260).

use std::cell::OnceCell;

use prony_model::Estimate;
use prony_model::histogram::{SparseHistogram, highest_ns, merged};
use prony_model::measurement::Censored;
use prony_model::trial::Trial;
use prony_stats::Interval;
use prony_stats::order::Quantile;
use prony_stats::share;

use crate::cell::{Cell, any_overloaded};
use crate::figure::Figure;
use crate::interval::UNANSWERED;
use crate::numbers::real;
use crate::precision::widening;
use crate::summary::{BEYOND_MIN, OrderStatistics, Sample};
use crate::text::{digits, duration, percent};

/// The factor of an interval over so many starts, widened where the run stopped by its precision.
fn factor(starts: usize, widened: bool) -> f64 {
    share::factor(starts) * if widened { widening(starts as u64) } else { 1.0 }
}

/// The share of requests beyond a limit over these trials, of each of which `count` knows its requests and those beyond.
pub(crate) fn share_beyond(
    cells: &[Cell<'_>],
    widened: bool,
    count: impl Fn(&Trial) -> (u64, u64),
) -> Option<Interval> {
    let clusters: Vec<(u64, u64)> = cells.iter().map(|cell| count(cell.trial)).collect();
    let all: u64 = clusters.iter().map(|(size, _)| size).sum();
    share::share(&clusters, factor(cells.len(), widened), real(all))
}

/// The requests of several starts together, merged once for all percentiles of them.
pub(crate) struct Starts<'a> {
    cells: &'a [Cell<'a>],
    widened: bool,
    merged: OnceCell<Merged>,
}

struct Merged {
    completed: SparseHistogram,
    order: OrderStatistics,
    /// See [`intervals`]: of each percentile that is a figure.
    intervals: Vec<(Quantile, (u64, Option<u64>))>,
    overloaded: bool,
}

impl<'a> Starts<'a> {
    pub(crate) fn new(cells: &'a [Cell<'a>], widened: bool) -> Starts<'a> {
        Starts { cells, widened, merged: OnceCell::new() }
    }

    fn merged(&self) -> &Merged {
        self.merged.get_or_init(|| self.merge())
    }

    /// The responses of all.
    pub(crate) fn completed(&self) -> &SparseHistogram {
        &self.merged().completed
    }

    fn merge(&self) -> Merged {
        let latencies = || self.cells.iter().map(|cell| &cell.trial.latency);
        let all = Censored {
            completed: SparseHistogram::sum(latencies().map(|latency| &latency.response.hdr)),
            waiting: SparseHistogram::sum(latencies().map(|latency| &latency.waiting)),
            ..Censored::default()
        };
        let failed = self.cells.iter().map(|cell| cell.trial.requests.failed).sum();
        let overloaded = any_overloaded(self.cells);
        let has_interval = !overloaded && self.cells.len() > 1;
        let starts: Vec<Start<'_>> =
            self.cells.iter().filter(|_| has_interval).map(|cell| Start::of(cell.trial)).collect();
        let mut quantiles: Vec<Quantile> =
            Figure::all().filter_map(|figure| Quantile::new(figure.quantile()?)).collect();
        quantiles.sort();
        let allowed: Vec<f64> = quantiles.iter().map(|quantile| 1.0 - quantile.fraction()).collect();
        let intervals = intervals(&starts, factor(self.cells.len(), self.widened), &allowed);
        Merged {
            order: OrderStatistics::of(&all).with_failed(failed),
            intervals: quantiles.into_iter().zip(intervals).collect(),
            completed: all.completed,
            overloaded,
        }
    }

    /// A figure's, of response; among requests without one, what it is longer than. Neither with fewer than 100 samples beyond it.
    pub(crate) fn percentile(&self, quantile: Quantile) -> (Option<Estimate>, Option<u64>) {
        let Merged { order, intervals, overloaded, .. } = self.merged();
        if !quantile.has_beyond(order.len(), BEYOND_MIN) {
            return (None, None);
        }
        let point = match order.quantile(quantile) {
            None => return (None, None),
            Some(Sample::LongerThan(than)) => return (None, Some(than)),
            Some(Sample::Exact(point)) => real(point),
        };
        let n = self.cells.len() as u64;
        if *overloaded {
            let why = "overloaded: the response grows with the window's length";
            return (Some(Estimate::bare(point, n, why)), None);
        }
        if n < 2 {
            return (Some(Estimate::bare(point, n, "one trial has no interval")), None);
        }
        let Some((_, (low, high))) = intervals.iter().find(|(of, _)| *of == quantile) else {
            return (None, None);
        };
        (Some(Estimate::from_low(point, real(*low), high.map(real), n, UNANSWERED)), None)
    }
}

struct Start<'a> {
    completed: &'a SparseHistogram,
    /// Those without a response, by what they had waited.
    waiting: &'a SparseHistogram,
    /// Failed ones, beyond every limit.
    failed: u64,
}

impl Start<'_> {
    fn of(trial: &Trial) -> Start<'_> {
        let latency = &trial.latency;
        Start { completed: &latency.response.hdr, waiting: &latency.waiting, failed: trial.requests.failed }
    }
}

/// The times about percentiles, at most whose `allowed` shares, which fall, are beyond: the first two at which the share
/// of requests beyond may be, and surely is, that small. No end where that holds of all above it.
fn intervals(starts: &[Start<'_>], t: f64, allowed: &[f64]) -> Vec<(u64, Option<u64>)> {
    const END: (u64, u64) = (u64::MAX, 0);
    let size = |start: &Start<'_>| start.completed.len() + start.waiting.len() + start.failed;
    let mut clusters: Vec<(u64, u64)> = starts.iter().map(|start| (size(start), size(start))).collect();
    let all = real(clusters.iter().map(|(size, _)| size).sum());
    let mut buckets: Vec<_> =
        starts.iter().map(|start| merged(start.completed.buckets(), start.waiting.buckets())).collect();
    let mut heads: Vec<(u64, u64)> = buckets.iter_mut().map(|own| own.next().unwrap_or(END)).collect();
    let (mut lows, mut highs, mut time) = (Vec::new(), Vec::new(), 0);
    while let Some(next) = heads.iter().map(|(at, _)| *at).min().filter(|at| *at < END.0) {
        for (((_, beyond), head), own) in clusters.iter_mut().zip(&mut heads).zip(&mut buckets) {
            if head.0 == next {
                *beyond -= head.1;
                *head = own.next().unwrap_or(END);
            }
        }
        time = highest_ns(next);
        // Of few times the interval must be known, of the others that it is not reached.
        let limits = (allowed.get(lows.len()).copied(), allowed.get(highs.len()).copied());
        if share::is_surely_above(&clusters, t, all, limits) {
            continue;
        }
        let Some(share) = share::share(&clusters, t, all) else { continue };
        for (found, end) in [(&mut lows, share.low), (&mut highs, share.high)] {
            found.extend(allowed[found.len()..].iter().take_while(|allowed| end <= **allowed).map(|_| time));
        }
    }
    (0..allowed.len()).map(|i| (lows.get(i).copied().unwrap_or(time), highs.get(i).copied())).collect()
}

/// What so much of a window cannot know: stalls that it did not see, up to 3/d a second (the rule of three).
pub(crate) fn stalls_not_excluded(window_ns: u64) -> String {
    let seconds = real(window_ns) / 1e9;
    format!("up to one per {} s ({} s ÷ 3) cannot be excluded", digits(seconds / 3.0), digits(seconds))
}

/// What is left open of every tail of a trial, whatever it is here; `None` where nothing was answered.
pub fn unseen_stalls(trial: &Trial) -> Option<String> {
    let longest = duration(trial.latency.response.max_ns?);
    Some(format!("stalls beyond {longest}, {}", stalls_not_excluded(trial.window.duration_ns)))
}

/// In words, what so many starts leave open: `up to 39 % of starts may differ`.
pub(crate) fn may_differ(starts: usize, what: &str) -> String {
    format!("up to {:.0} % of {what} may differ", 100.0 * share::may_differ(starts))
}

pub(crate) fn two_levels(per_start: &[f64]) -> Option<String> {
    let logs = prony_stats::interval::logarithms(per_start)?;
    let (below, low, high) = prony_stats::levels::two_levels(&logs)?;
    let [low, high] = [low, high].map(|level| digits(level.exp()));
    Some(format!(
        "its starts look two-level, {below} at about {low} req/s and {} at about {high}: intervals and ranks of few \
         blocks promise nothing of such",
        per_start.len() - below
    ))
}

/// Faster in the windows' second half than at their start, by [`Trial::rise`]. Nothing is ever said to be steady.
pub(crate) fn still_rising(trials: &[&Trial]) -> Option<String> {
    /// On each side half of it: nine candidates have one said of them wrongly in under 5 %.
    const CONFIDENCE: f64 = 0.99;
    /// A rise that matters, of half a window over its first fifth.
    const LEAST: f64 = 0.02;
    let rises: Option<Vec<f64>> = trials.iter().map(|trial| trial.rise).collect();
    let rise = prony_stats::interval::mean_interval(&rises?, CONFIDENCE)?;
    let [point, low, high] = [rise.point, rise.low, rise.high].map(|r| percent(r.exp_m1()));
    (rise.low > 0.0 && rise.point >= LEAST.ln_1p()).then(|| {
        format!(
            "still rising at the window's start: its second half is {point} faster than its first fifth (99 %: {low} to \
             {high}); a longer warm-up (--warmup) would show more"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::noise;
    use crate::testing::run::Log;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static NONE: LazyLock<SparseHistogram> = LazyLock::new(SparseHistogram::default);

    fn timed(values: &[u64]) -> SparseHistogram {
        SparseHistogram::of_values(values.iter().copied())
    }

    fn start(completed: &SparseHistogram, failed: u64) -> Start<'_> {
        Start { completed, waiting: &NONE, failed }
    }

    fn buckets<'a>(start: &Start<'a>) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        start.completed.buckets().chain(start.waiting.buckets())
    }

    /// The definition, slowly: each bucket's top as a limit.
    fn slow(starts: &[Start<'_>], allowed: f64, t: f64) -> (u64, Option<u64>) {
        let mut tops: Vec<u64> = starts.iter().flat_map(buckets).map(|(b, _)| highest_ns(b)).collect();
        tops.sort_unstable();
        tops.dedup();
        let size = |s: &Start<'_>| s.completed.len() + s.waiting.len() + s.failed;
        let all: u64 = starts.iter().map(size).sum();
        let share = |limit: u64| {
            let of = |s: &Start<'_>| {
                let over = buckets(s).filter(|(b, _)| highest_ns(*b) > limit).map(|(_, n)| n);
                (size(s), over.sum::<u64>() + s.failed)
            };
            share::share(&starts.iter().map(of).collect::<Vec<_>>(), t, all as f64).unwrap()
        };
        let low = tops.iter().find(|top| share(**top).low <= allowed).copied();
        let high = tops.iter().find(|top| share(**top).high <= allowed).copied();
        (low.unwrap_or(*tops.last().unwrap()), high)
    }

    proptest! {
        #[test]
        fn woodruffs_interval_is_that_of_the_slow_definition(
            starts in prop::collection::vec(
                (prop::collection::vec(1_000u64..9_000, 20..80), prop::collection::vec(1_000u64..12_000, 0..9), 0u64..3),
                2..6,
            ),
            mut allowed in prop::collection::vec(0.02f64..0.6, 1..5),
        ) {
            let timed: Vec<_> =
                starts.iter().map(|(done, waiting, failed)| (timed(done), timed(waiting), *failed)).collect();
            let starts: Vec<Start<'_>> = timed
                .iter()
                .map(|(completed, waiting, failed)| Start { completed, waiting, failed: *failed })
                .collect();
            let t = share::factor(starts.len());
            allowed.sort_by(|a, b| b.total_cmp(a));
            let expected: Vec<_> = allowed.iter().map(|allowed| slow(&starts, *allowed, t)).collect();
            prop_assert_eq!(intervals(&starts, t, &allowed), expected);
        }
    }

    #[test]
    fn equal_starts_know_the_median_and_failures_leave_a_tail_open() {
        let values: Vec<u64> = (0..1_000).map(|i| 1_000_000 + i * 1_000).collect();
        let values = timed(&values);
        let starts = |failed| (0..6).map(|_| start(&values, failed)).collect::<Vec<_>>();
        let (low, high) = intervals(&starts(0), share::factor(6), &[0.5])[0];
        let high = high.unwrap();
        assert!(
            (1_450_000..1_500_000).contains(&low) && (1_500_000..1_550_000).contains(&high),
            "{low} {high}"
        );
        // 0.9 % failed: a share beyond of 1 % may be theirs alone.
        let (low, high) = intervals(&starts(9), share::factor(6), &[0.01])[0];
        assert!(low > 1_980_000 && high.is_none(), "{low} {high:?}");
        let open = Estimate::from_low(1.99e6, real(low), high.map(real), 6, UNANSWERED);
        assert!(open.ci_low.is_some() && open.no_interval.is_some(), "and it says why: {open:?}");
    }

    #[test]
    fn a_percentile_over_starts_is_that_of_all_their_requests() {
        let mut log = Log::new(&["a"], 3).with(&[&[1_000], &[1_000], &[1_000]]);
        for (at, factor) in [(0, 1), (1, 1), (2, 10)] {
            let hdr = SparseHistogram::of_values((1..=1_000u64).map(|i| i * 1_000 * factor));
            let latency = &mut log.trial(at).latency;
            (latency.response.hdr, latency.waiting) = (hdr, SparseHistogram::default());
        }
        let cells: Vec<Cell<'_>> = log.0.results.iter().filter_map(Cell::measured).collect();
        // Of 3,000 the 2,700th: of those up to 1 ms there are 2,100, and 600 more of the slow start end at 7 ms.
        let (p90, censored) = Starts::new(&cells, false).percentile(Quantile::new(0.9).unwrap());
        let p90 = p90.unwrap();
        assert!((p90.point - 7e6).abs() < 0.002 * 7e6 && censored.is_none(), "{p90:?}");
        let (low, high) = (p90.ci_low.unwrap(), p90.ci_high.unwrap());
        assert!(low < 1e6 && high > 9e6, "three starts know little of it: {p90:?}");
        assert_eq!(
            Starts::new(&cells, false).percentile(Quantile::new(0.99).unwrap()),
            (None, None),
            "30 beyond are too few"
        );
        let one = Starts::new(&cells[..1], false).percentile(Quantile::new(0.9).unwrap()).0.unwrap();
        assert_eq!(one.no_interval.as_deref(), Some("one trial has no interval"));
        let wide = Starts::new(&cells[..2], true).percentile(Quantile::new(0.5).unwrap()).0.unwrap();
        let narrow = Starts::new(&cells[..2], false).percentile(Quantile::new(0.5).unwrap()).0.unwrap();
        assert!(wide.ci_high.unwrap() > narrow.ci_high.unwrap(), "widened by 1 + 2/n");
    }

    #[test]
    fn what_has_no_response_is_censored_or_withheld() {
        let mut log = Log::new(&["a"], 2).with(&[&[1_000], &[1_000]]);
        log.trial(0).requests.failed = 3_000;
        let cells: Vec<Cell<'_>> = log.0.results.iter().filter_map(Cell::measured).collect();
        let (p90, longer_than) = Starts::new(&cells, false).percentile(Quantile::new(0.9).unwrap());
        assert!(p90.is_none() && longer_than.is_some_and(|than| than > 1_000_000), "{longer_than:?}");
    }

    #[test]
    fn stalls_that_no_window_met_are_bounded_by_the_rule_of_three() {
        let mut log = Log::new(&["a"], 1).with(&[&[1_000]]);
        let trial = log.trial(0);
        (trial.window.duration_ns, trial.latency.response.max_ns) = (30_000_000_000, Some(20_000_000));
        let said = "stalls beyond 20.0 ms, up to one per 10.0 s (30.0 s ÷ 3) cannot be excluded";
        assert_eq!(unseen_stalls(trial).as_deref(), Some(said));
        trial.latency.response.max_ns = None;
        assert_eq!(unseen_stalls(trial), None);
        assert_eq!(may_differ(6, "starts"), "up to 39 % of starts may differ");
    }

    #[test]
    fn a_rise_is_said_of_trials_that_all_rise_and_never_of_noise() {
        let mut log = Log::new(&["a"], 6).with(&[&[1_000][..]; 6]);
        let mut said = |rises: [f64; 6]| {
            for (at, rise) in rises.into_iter().enumerate() {
                log.trial(at).rise = Some(rise);
            }
            still_rising(&log.0.results.iter().filter_map(|r| r.trial.as_ref()).collect::<Vec<_>>())
        };
        let text = said([0.06, 0.05, 0.07, 0.06, 0.05, 0.07]).unwrap();
        assert!(
            text.starts_with("still rising at the window's start: its second half is 6.18 % faster"),
            "{text}"
        );
        assert_eq!(said([0.005; 6]), None, "half a percent does not matter");
        assert_eq!(said([-0.06; 6]), None);
        let mut normal = noise(3);
        let wrong = (0..1_000)
            .filter(|_| said(std::array::from_fn(|_| 0.05 * normal.next().unwrap())).is_some())
            .count();
        // 0.5 % are 5.
        assert!(wrong <= 14, "{wrong} of 1000");
    }
}
