//! What several machines measured of one load, put together as one machine's workers' parts are.

use crate::control::{LastSecond, Snapshot};
use crate::recorder::audit;
use crate::recorder::live_summary::LiveSummary;
use crate::recorder::merge::{self, Merge, join};
use crate::recorder::series::Series;
use crate::recorder::share::Share;
use crate::recorder::{Lags, SECOND_NS, SecondPart};
use prony_model::histogram::{Histogram, SparseHistogram, middle_ns};
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::Plan;
use prony_model::plan_record::nanoseconds;

/// The parts of a load that several places apply. What counts is up to the end of the last part that all of them have
/// given: where one gives no more, the window ends there, and all in it is exact.
pub struct Gathered<'a> {
    plan: &'a Plan,
    merge: Merge,
    whole: Option<Share>,
    /// The same of each place.
    each: Vec<Option<Share>>,
    series: Series,
    last_second: Option<LastSecond>,
    so_far: LiveSummary,
}

impl<'a> Gathered<'a> {
    /// Of so many places, none of which has given anything.
    pub fn new(plan: &'a Plan, places: usize) -> Gathered<'a> {
        Gathered {
            plan,
            merge: Merge::new(places),
            whole: None,
            each: vec![None; places],
            series: Series::with_room(plan.stop.duration.map(nanoseconds)),
            last_second: None,
            so_far: LiveSummary::default(),
        }
    }

    /// Takes the next part of this place.
    pub fn add(&mut self, place: usize, part: Share, is_last: bool) {
        self.merge.add(place, part, is_last);
        let each = &mut self.each;
        while let Some(part) = self
            .merge
            .next_part_of_each(&mut |place, part| join(&mut each[place], part.with_one_bin(), Share::then))
        {
            let since =
                part.start_ns.saturating_sub(self.whole.as_ref().map_or(part.start_ns, |w| w.start_ns));
            self.series.add(second_of(&part, since / SECOND_NS), |_, _| {});
            join(&mut self.whole, part, Share::then);
            let newest = self.series.last_second(1, self.last_second);
            if newest != self.last_second {
                (self.last_second, self.so_far) = (newest, self.series.so_far());
            }
        }
    }

    /// Whether every place has given its last part.
    #[cfg(test)]
    pub(crate) fn is_whole(&self) -> bool {
        self.merge.is_over()
    }

    /// How much of the window all places have given.
    pub fn window_ns(&self) -> u64 {
        self.whole.as_ref().map_or(0, |whole| whole.end_ns.saturating_sub(whole.start_ns))
    }

    /// What a place measured of that.
    pub fn share_of(&self, place: usize) -> Option<&Share> {
        self.each.get(place)?.as_ref()
    }

    /// The identities that a place's own share breaks.
    pub fn broken_identities_of(&self, place: usize) -> Vec<String> {
        self.share_of(place).map_or_else(Vec::new, |share| audit::of_share(share, self.plan))
    }

    /// How the load stood at the end of the last second that all places have given; at first, as before its start. Of any
    /// later instant nothing is known, so that its counts would look like a backlog.
    pub fn snapshot(&self) -> Snapshot {
        let Some(whole) = &self.whole else { return Snapshot::default() };
        let mut failed_by_kind = [0; ErrorKind::ALL.len()];
        for (kind, failures) in &whole.errors {
            failed_by_kind[*kind as usize] = failures.count;
        }
        Snapshot {
            elapsed_ns: whole.end_ns,
            in_window: true,
            completed: whole.run_total.completed,
            sent: whole.run_total.sent,
            in_flight: whole.requests.in_flight,
            last_second: self.last_second,
            failed: whole.requests.failed,
            failed_by_kind,
            busy_ns: whole.workers.values().map(|worker| worker.busy_ns).sum(),
            so_far: self.so_far,
        }
    }

    /// The measurement of the window, audited: `known` is what is known of the load beside its parts. `None` where there
    /// is no window.
    pub fn finish(self, known: Measurement) -> Option<Measurement> {
        let whole = self.whole.filter(|whole| whole.end_ns > whole.start_ns)?;
        Some(merge::measurement(known, self.plan, whole, self.series))
    }
}

/// A part as a second of the series. Who watches sees lags by their buckets.
fn second_of(part: &Share, index: u64) -> SecondPart {
    let mut response = Histogram::default();
    let latency = &part.latency;
    response.add_sparse(&latency.plain);
    response.add_sparse(&latency.rest.response.completed);
    let sum = |of: &SparseHistogram| of.buckets().map(|(bucket, count)| middle_ns(bucket) * count).sum();
    SecondPart {
        place: 0,
        index,
        completed: part.requests.completed,
        failed: part.requests.failed,
        connections: part.connections,
        response,
        lags: Lags {
            lateness_sum_ns: sum(&latency.rest.lateness),
            lateness_max_ns: latency.rest.lateness.max(),
            connection_wait_sum_ns: sum(&latency.rest.connection_wait),
        },
    }
}
