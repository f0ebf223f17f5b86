//! What several places measured of one load, put together while it runs: one process's workers, or several machines.

use std::collections::VecDeque;

use crate::control::{LastSecond, Snapshot};
use crate::recorder::audit;
use crate::recorder::durations::Durations;
use crate::recorder::live_summary::LiveSummary;
use crate::recorder::merge::{self, join};
use crate::recorder::series::Series;
use crate::recorder::window_delta::WindowDelta;
use crate::recorder::{BINS_PER_SECOND, SECOND_NS};
use prony_model::histogram::{Histogram, SparseHistogram, middle_ns};
use prony_model::measurement::{Bin, Bins, ErrorKind, Measurement};
use prony_model::plan::Plan;
use prony_model::units::nanoseconds;

pub(crate) type TakePart<'a> = &'a mut dyn FnMut(&WindowDelta, bool);

/// The parts of a load that several places apply. What counts is up to the end of the last part that all of them have
/// given: where one gives no more, the window ends there, and all in it is exact.
pub struct Gathered<'a> {
    plan: &'a Plan,
    places: Vec<Place>,
    are_told_apart: bool,
    ended: Option<WindowDelta>,
    whole: Option<WindowDelta>,
    bins: Bins,
    series: Series,
    response: Histogram,
    responses_so_far: Histogram,
    last_second: Option<LastSecond>,
    so_far: LiveSummary,
    durations: Durations,
    failed_durations: Durations,
}

/// What one place has given: its parts come in their order, those of several places in any.
#[derive(Clone, Default)]
struct Place {
    waiting: VecDeque<WindowDelta>,
    has_ended: bool,
    /// Its own of the whole, where places are told apart.
    own: Option<WindowDelta>,
}

impl<'a> Gathered<'a> {
    pub fn new(plan: &'a Plan, places: usize) -> Gathered<'a> {
        Gathered { are_told_apart: true, ..Gathered::of_workers(plan, places) }
    }

    pub(crate) fn of_workers(plan: &'a Plan, workers: usize) -> Gathered<'a> {
        Gathered {
            plan,
            places: vec![Place::default(); workers],
            are_told_apart: false,
            ended: None,
            whole: None,
            bins: Bins::with_room(),
            series: Series::with_room(plan.stop.duration.map(nanoseconds)),
            response: Histogram::default(),
            responses_so_far: Histogram::default(),
            last_second: None,
            so_far: LiveSummary::default(),
            durations: Durations::default(),
            failed_durations: Durations::default(),
        }
    }

    pub fn add(&mut self, place: usize, part: WindowDelta, is_last: bool) {
        self.add_and_tell(place, part, is_last, &mut |_, _| {});
    }

    /// The same; `told` hears of the parts that are whole by it.
    pub(crate) fn add_and_tell(
        &mut self,
        place: usize,
        part: WindowDelta,
        is_last: bool,
        told: TakePart<'_>,
    ) {
        self.push(place, part, is_last);
        while let Some(part) = self.next_part() {
            told(&part, self.is_over());
            self.take_second(&part);
            append(&mut self.whole, part);
        }
    }

    pub(crate) fn push(&mut self, place: usize, part: WindowDelta, is_last: bool) {
        let place = &mut self.places[place];
        place.waiting.push_back(part);
        place.has_ended = is_last;
    }

    pub(crate) fn next_part(&mut self) -> Option<WindowDelta> {
        if self.places.iter().any(|place| place.waiting.is_empty() && !place.has_ended) {
            return None;
        }
        let (mut merged, mut ended) = (None, None);
        for place in &mut self.places {
            let Some(part) = place.waiting.pop_front() else { continue };
            if self.are_told_apart {
                append(&mut place.own, part.clone());
            }
            if place.has_ended && place.waiting.is_empty() {
                join(&mut ended, part.standing(), WindowDelta::merge_workers);
            }
            join(&mut merged, part, WindowDelta::merge_workers);
        }
        let mut merged = merged?;
        if let Some(standing) = &self.ended {
            let (start_ns, end_ns) = (merged.start_ns, merged.start_ns);
            merged.merge_workers(WindowDelta { start_ns, end_ns, ..standing.clone() });
        }
        if let Some(ended) = ended {
            join(&mut self.ended, ended, WindowDelta::merge_workers);
        }
        Some(merged)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.places.iter().all(|place| place.has_ended && place.waiting.is_empty())
    }

    /// Every part is a second of the series, but for one without length at the window's end.
    fn take_second(&mut self, part: &WindowDelta) {
        let is_empty = part.end_ns == part.start_ns && part.bins.iter().all(|bin| *bin == Bin::default());
        if self.whole.is_some() && is_empty {
            return;
        }
        let index = self.series.seconds();
        (index * BINS_PER_SECOND..).zip(&part.bins).for_each(|(at, bin)| self.bins.put(at, bin));
        self.response.clear();
        self.response.add_sparse(&part.latency.plain);
        self.response.add_sparse(&part.latency.rest.response.completed);
        self.series.add(part, &self.response);
        self.durations.add(&part.latency.plain);
        self.durations.add(&part.latency.rest.response.completed);
        self.failed_durations.add(&part.latency.rest.response.failed);
        self.responses_so_far.add(&self.response);
        let failed = part.requests.failed + self.whole.as_ref().map_or(0, |whole| whole.requests.failed);
        self.so_far = LiveSummary::of(&self.responses_so_far, failed);
        self.last_second = Some(last_second(index, part, &self.response));
    }

    pub fn window_ns(&self) -> u64 {
        self.whole.as_ref().map_or(0, |whole| whole.end_ns.saturating_sub(whole.start_ns))
    }

    pub fn share_of(&self, place: usize) -> Option<&WindowDelta> {
        self.places.get(place)?.own.as_ref()
    }

    pub fn broken_identities_of(&self, place: usize) -> Vec<String> {
        self.share_of(place).map_or_else(Vec::new, |share| audit::of_share(share, self.plan))
    }

    /// How the load stood after the last second that all places gave: later counts would look like a backlog.
    pub fn snapshot(&self) -> Snapshot {
        let Some(whole) = &self.whole else { return Snapshot::default() };
        let mut failed_by_kind = [0; ErrorKind::ALL.len()];
        for (kind, failures) in &whole.errors {
            failed_by_kind[*kind as usize] = failures.count;
        }
        self.seen(Snapshot {
            elapsed_ns: whole.end_ns,
            in_window: true,
            completed: whole.run_total.completed,
            sent: whole.run_total.sent,
            in_flight: whole.requests.in_flight,
            failed: whole.requests.failed,
            failed_by_kind,
            busy_ns: whole.workers.values().map(|worker| worker.busy_ns).sum(),
            ..Snapshot::default()
        })
    }

    pub(crate) fn seen(&self, now: Snapshot) -> Snapshot {
        Snapshot {
            last_second: self.last_second,
            so_far: self.so_far,
            durations: self.durations,
            failed_durations: self.failed_durations,
            ..now
        }
    }

    /// The audited measurement; `known` is what is known beside the parts. `None` where there is no window.
    pub fn finish(self, known: Measurement) -> Option<Measurement> {
        let measured = merge::measurement(known, self.plan, self.whole?, self.bins, self.series);
        (measured.window_end_ns > measured.window_start_ns).then_some(measured)
    }
}

/// Appends a part, whose bins are kept by themselves.
fn append(whole: &mut Option<WindowDelta>, part: WindowDelta) {
    join(whole, part, WindowDelta::append_window);
    whole.iter_mut().for_each(WindowDelta::fold_bins);
}

/// A second, for who watches, who sees lags by their buckets.
fn last_second(index: u64, part: &WindowDelta, response: &Histogram) -> LastSecond {
    let completed = part.requests.completed;
    let given = |least: u64, value: u64| (completed >= least).then_some(value);
    let mean = |of: &SparseHistogram| {
        let sum: u64 = of.buckets().map(|(bucket, count)| middle_ns(bucket) * count).sum();
        sum.checked_div(completed).unwrap_or(0)
    };
    let lags = &part.latency.rest;
    LastSecond {
        at_ns: index * SECOND_NS,
        completed,
        failed: part.requests.failed,
        connections: part.connections,
        never_sent: part.requests.never_sent,
        p50_ns: given(1, response.value_at_quantile(0.5)),
        p99_ns: given(100, response.value_at_quantile(0.99)),
        max_ns: given(1, response.max()),
        lateness_mean_ns: mean(&lags.lateness),
        lateness_max_ns: lags.lateness.max(),
        connection_wait_mean_ns: mean(&lags.connection_wait),
    }
}
