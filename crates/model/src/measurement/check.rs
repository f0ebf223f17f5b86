//! What a measurement that was read from a file must be for its numbers to be summed without a thought.

use super::{BINS_MAX, Measurement};
use crate::fleet::{AGENTS_MAX, AgentRecord};
use crate::histogram::COUNT_MAX;
use crate::host::Host;
use crate::limits::{few, numbers, within};
use crate::plan::THREADS_MAX;

/// The most entries of a series. A load keeps 600.
const SERIES_MAX: usize = 10_000;
/// The most requests of a list with figures of their own. A load keeps 1,001.
const LISTED_MAX: usize = 10_000;

impl Measurement {
    /// Whether its numbers can be a load's, so that sums of them are exact. A bin's sums of times are not looked at:
    /// under overload they can be anything, and whoever adds them saturates.
    pub fn check(&self) -> Result<(), String> {
        few("bins", self.bins.each.len(), BINS_MAX)?;
        few("entries in its series", self.series.len(), SERIES_MAX)?;
        let machines =
            self.fleet.as_ref().map_or(1, |fleet| fleet.agents.len().clamp(1, AGENTS_MAX as usize));
        few("workers", self.workers.len(), THREADS_MAX as usize * machines)?;
        self.check_fleet()?;
        self.by_connection.check()?;
        few("requests of a list", self.by_request.len(), LISTED_MAX)?;
        let (r, t, c) = (&self.requests, &self.run_total, &self.client);
        let fates = [r.carried_in, r.scheduled, r.sent, r.completed, r.failed, r.in_flight, r.never_sent];
        let totals = [t.sent, t.completed, t.connections, t.unasked, t.retried];
        let stamps = [self.latency.first_bytes_upper, c.stamps_rejected];
        let bins = self.bins.each.iter().flat_map(|b| [b.completed, b.failed, b.dispatched]);
        let seconds = self.series.iter().flat_map(|s| [s.completed, s.failed, s.connections]);
        let listed = self.by_request.iter().flat_map(|f| {
            let counts = [f.lines, f.run_sent, f.completed, f.failed, f.waiting];
            counts.into_iter().chain(f.status.values().copied()).chain(f.errors.values().copied())
        });
        let counts = fates
            .into_iter()
            .chain(totals)
            .chain(stamps)
            .chain(self.tolerated.values().copied())
            .chain(self.http2.iter().flat_map(|used| [used.streams, used.moved]))
            .chain(self.status.values().copied())
            .chain(self.errors.values().map(|tally| tally.count))
            .chain(bins)
            .chain(seconds)
            .chain(self.workers.iter().map(|w| w.waited_beside_free))
            .chain(listed);
        within(counts, COUNT_MAX)?;
        let bytes = [self.read_bytes, self.sent_bytes, c.max_rss_bytes, self.request_bytes];
        let instants = [self.schedule_start_ns, self.window_start_ns, self.window_end_ns, self.bins.width_ns];
        let workers = self.workers.iter().flat_map(|w| {
            let busy = [w.busy_ns, w.waited_beside_free_ns, w.longest_gap_ns, w.gaps_over_1ms_sum_ns];
            busy.into_iter().chain([w.in_flight_integral_ns >> 16])
        });
        let others = bytes
            .into_iter()
            .chain(instants)
            .chain([c.cpu_ns, c.process_cpu_ns])
            .chain(self.series.iter().flat_map(|s| [s.at_ns, s.length_ns]))
            .chain(workers)
            .chain(self.by_request.iter().map(|f| f.read_bytes));
        numbers(others)
    }

    fn check_fleet(&self) -> Result<(), String> {
        let Some(fleet) = &self.fleet else { return Ok(()) };
        few("agents", fleet.agents.len(), AGENTS_MAX as usize)?;
        fleet.agents.iter().try_for_each(AgentRecord::check)?;
        few("bytes in the version of nats-server", fleet.nats_server.as_ref().map_or(0, String::len), 256)?;
        numbers(fleet.lost.iter().filter_map(|lost| lost.planned_ns))
    }
}

impl AgentRecord {
    pub fn check(&self) -> Result<(), String> {
        self.host.iter().try_for_each(Host::check)?;
        let counts = [self.run_sent, self.completed, self.failed, self.cpu_ns, self.process_cpu_ns];
        let quantiles = [self.send_lag_p99_ns, self.lateness_p50_ns, self.lateness_p99_ns];
        let moved = self.clock_moved_ns.map(i64::unsigned_abs);
        let others = [self.busiest_worker_ppm, self.max_rss_bytes, self.clock_bound_ns];
        let known = quantiles.into_iter().chain([moved, self.throttled_ns]).flatten();
        numbers(counts.into_iter().chain(others).chain(known))
    }
}
