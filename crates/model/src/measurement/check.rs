//! What a measurement that was read from a file must be for its numbers to be summed without a thought.

use super::Measurement;

/// The most that a number of a measurement may be: sums of them are exact in 64 bits, and each is in an `f64`.
const NUMBER_MAX: u64 = 1 << 53;

impl Measurement {
    /// Whether its numbers can be a load's, so that sums of them are exact.
    ///
    /// # Errors
    /// A sentence where it is not: what was read was not written by Prony.
    pub fn check(&self) -> Result<(), String> {
        let (r, t, c) = (&self.requests, &self.run_total, &self.client);
        let fates = [r.carried_in, r.scheduled, r.sent, r.completed, r.failed, r.in_flight, r.never_sent];
        let bytes = [self.read_bytes, self.sent_bytes];
        let totals = [t.sent, t.completed, t.connections, self.latency.first_bytes_upper];
        let instants = [self.schedule_start_ns, self.window_start_ns, self.window_end_ns, self.bins.width_ns];
        let client = [c.cpu_ns, c.process_cpu_ns, c.max_rss_bytes, c.stamps_rejected];
        let bins =
            self.bins.each.iter().flat_map(|b| {
                [b.completed, b.response_sum_ns, b.failed, b.dispatched, b.connection_wait_sum_ns]
            });
        let seconds =
            self.series.iter().flat_map(|s| [s.at_ns, s.length_ns, s.completed, s.failed, s.connections]);
        let workers = self.workers.iter().flat_map(|w| {
            let busy = [w.busy_ns, w.waited_beside_free, w.waited_beside_free_ns, w.longest_gap_ns];
            busy.into_iter().chain([w.gaps_over_1ms_sum_ns, w.in_flight_integral_ns >> 16])
        });
        let listed = self.by_request.iter().flat_map(|f| {
            let counts = [f.lines, f.run_sent, f.completed, f.failed, f.waiting, f.read_bytes];
            counts.into_iter().chain(f.status.values().copied()).chain(f.errors.values().copied())
        });
        let mut all = fates
            .into_iter()
            .chain(totals)
            .chain(bytes)
            .chain(instants)
            .chain(client)
            .chain(self.tolerated.values().copied())
            .chain(self.status.values().copied())
            .chain(self.errors.values().map(|tally| tally.count))
            .chain(bins)
            .chain(seconds)
            .chain(workers)
            .chain(listed);
        match all.find(|number| *number > NUMBER_MAX) {
            Some(number) => Err(format!("its measurement has the number {number}, which no load can have")),
            None => Ok(()),
        }
    }
}
