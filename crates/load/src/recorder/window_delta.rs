//! What a set of a load's workers measured, as data that adds up exactly.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use prony_model::histogram::{COUNT_MAX, SparseHistogram};
use prony_model::limits::{self, within};
use prony_model::measurement::{
    BIN_NS, Bin, ByConnection, ErrorKind, Latency, Measurement, RequestCounts, RequestFigures, RunTotal,
    Sample, TlsAgreed, Tolerance, WaitTotal, WorkerAudit,
};
use prony_model::plan::{Plan, THREADS_MAX};

/// The longest failure message that is kept.
pub(super) const MESSAGE_MAX_BYTES: usize = 200;
/// The most that times of all requests or connections of a part together may be: 72 s of each of a million.
const SUM_MAX_NS: u64 = 1 << 56;

/// Which of a load's workers run here: `count` of them from number `first` on, of `of` in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the first one here, from 0.
    pub first: u32,
    /// How many are here, at least 1.
    pub count: u32,
    pub of: u32,
}

impl Shard {
    pub fn whole(plan: &Plan) -> Shard {
        Shard { first: 0, count: plan.threads, of: plan.threads }
    }

    pub(crate) fn workers(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// What a set of workers measured in one part of the window, raw; the first part has what came before the window, too.
/// Events add up. What stands at its end (in flight, waiting, never sent, open connections) adds up over workers, and
/// over time the later one counts. Instants are nanoseconds since the schedule's start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WindowDelta {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Its requests by fate. Carried in are those that stand at its start, in flight and never sent at its end.
    pub requests: RequestCounts,
    pub run_total: RunTotal,
    /// Responses that a strict client refuses, over the run since the part before.
    pub tolerated: BTreeMap<Tolerance, u64>,
    /// Bytes read, heads included.
    pub read_bytes: u64,
    /// Of those, bytes that are no request's: what the protocol itself says. None of HTTP/1.1.
    pub protocol_bytes: u64,
    /// Bytes of bodies once they were decoded.
    pub decoded_bytes: u64,
    /// Bytes of requests written, heads included.
    pub sent_bytes: u64,
    pub connections: u64,
    pub status: BTreeMap<u16, u64>,
    pub errors: BTreeMap<ErrorKind, Failures>,
    /// Durations; `waiting` are the waits so far of what stands at its end.
    pub latency: Latency,
    pub bins: Vec<Bin>,
    pub workers: BTreeMap<u32, WorkerAudit>,
    pub cpu_ns: u64,
    /// Reads whose kernel stamp was missing or could not be.
    pub stamps_rejected: u64,
    /// Requests that one connection surely did not process and that were sent again, each time.
    pub moved: u64,
    /// Waits that ended when a standing connection could carry another request. None of HTTP/1.1 (see latencies).
    pub no_stream: WaitTotal,
    pub no_connection: WaitTotal,
    /// The time that requests waited for the server's leave to send more of their bodies, of all of them together.
    pub held_ns: u64,
    /// The fewest requests a connection was let carry at once since the load began; `None`: the protocol has no limit.
    pub lowest_stream_limit: Option<u64>,
    /// Whether a worker had no stamps of the kernel's at all.
    pub user_clock: bool,
    /// What TLS was agreed on since the part before; `None` where it is not spoken.
    pub tls: Option<TlsDelta>,
    /// The first single requests, where they are kept. They stay where they were measured.
    #[serde(skip)]
    pub samples: Vec<Sample>,
    pub samples_dropped: u64,
    /// Figures of each listed request over the whole window, with a worker's last part; `None` where later parts miss.
    pub by_request: Option<Vec<RequestFigures>>,
    /// Each worker's figures of single connections over the whole window, with its last part.
    pub by_connection: BTreeMap<u32, ByConnection>,
}

/// Something that happened, where only the first time is kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct First<T> {
    /// When; 0 also of what came before the schedule.
    pub at_ns: u64,
    pub worker: u32,
    pub what: T,
}

impl<T> First<T> {
    /// Keeps the earlier of two; of one instant, the lower worker's.
    fn or_earlier(&mut self, other: First<T>) {
        if (other.at_ns, other.worker) < (self.at_ns, self.worker) {
            *self = other;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Failures {
    pub count: u64,
    pub first: First<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TlsDelta {
    /// In the first handshake that succeeded.
    pub agreed: Option<First<TlsAgreed>>,
    pub full: u64,
    pub resumed: u64,
}

impl WindowDelta {
    pub fn merge_workers(&mut self, other: WindowDelta) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.requests.add(&other.requests);
        self.run_total.add(&other.run_total);
        for (tolerance, count) in other.tolerated {
            *self.tolerated.entry(tolerance).or_default() += count;
        }
        self.read_bytes += other.read_bytes;
        self.protocol_bytes += other.protocol_bytes;
        self.decoded_bytes += other.decoded_bytes;
        self.moved += other.moved;
        self.no_stream.add(other.no_stream);
        self.no_connection.add(other.no_connection);
        self.held_ns += other.held_ns;
        self.lowest_stream_limit =
            self.lowest_stream_limit.into_iter().chain(other.lowest_stream_limit).min();
        self.sent_bytes += other.sent_bytes;
        self.connections += other.connections;
        for (status, count) in other.status {
            *self.status.entry(status).or_default() += count;
        }
        for (kind, failures) in other.errors {
            match self.errors.get_mut(&kind) {
                Some(sum) => {
                    sum.count += failures.count;
                    sum.first.or_earlier(failures.first);
                }
                None => drop(self.errors.insert(kind, failures)),
            }
        }
        self.latency.add(&other.latency);
        self.bins.resize(self.bins.len().max(other.bins.len()), Bin::default());
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, bin)| sum.add(bin));
        for (worker, audit) in &other.workers {
            self.workers.entry(*worker).or_default().add(audit);
        }
        self.cpu_ns += other.cpu_ns;
        self.stamps_rejected += other.stamps_rejected;
        self.user_clock |= other.user_clock;
        if let Some(from) = other.tls {
            let sum = self.tls.get_or_insert_default();
            match (&mut sum.agreed, from.agreed) {
                (Some(agreed), Some(other)) => agreed.or_earlier(other),
                (agreed, other) => *agreed = agreed.take().or(other),
            }
            sum.full += from.full;
            sum.resumed += from.resumed;
        }
        // There may be millions.
        if self.samples.is_empty() {
            self.samples = other.samples;
        } else {
            self.samples.extend(other.samples);
        }
        self.samples_dropped += other.samples_dropped;
        match (&mut self.by_request, other.by_request) {
            (Some(sum), Some(from)) => sum.iter_mut().zip(&from).for_each(|(sum, row)| sum.add(row)),
            (sum, _) => *sum = None,
        }
        self.by_connection.extend(other.by_connection);
    }

    /// Goes on with what the same workers measured in the part that follows.
    pub fn append_window(&mut self, mut later: WindowDelta) {
        let (carried_in, by_request) = (self.requests.carried_in, later.by_request.take());
        self.bins.append(&mut later.bins);
        self.requests = RequestCounts { in_flight: 0, never_sent: 0, ..self.requests };
        self.connections = 0;
        for part in [&mut self.latency.rest.response, &mut self.latency.rest.service] {
            part.waiting = SparseHistogram::default();
        }
        self.merge_workers(later);
        (self.requests.carried_in, self.by_request) = (carried_in, by_request);
    }

    /// Whether its numbers can be a load's, so that sums of them are exact.
    pub fn check(&self) -> Result<(), String> {
        let (r, t, waits) = (&self.requests, &self.run_total, [&self.no_stream, &self.no_connection]);
        let fates = [r.carried_in, r.scheduled, r.sent, r.completed, r.failed, r.in_flight, r.never_sent];
        let totals = [t.sent, t.completed, t.connections, t.unasked, t.retried, self.connections, self.moved];
        let others = [self.stamps_rejected, self.samples_dropped, self.latency.first_bytes_upper];
        let counts = fates.into_iter().chain(totals).chain(others).chain(waits.map(|wait| wait.count));
        let by_kind = self.tolerated.values().chain(self.status.values()).copied();
        let failures = self.errors.values().map(|failures| failures.count);
        let bins = self.bins.iter().flat_map(|b| [b.completed, b.failed, b.dispatched]);
        let waited = self.workers.values().map(|worker| worker.waited_beside_free);
        within(counts.chain(by_kind).chain(failures).chain(bins).chain(waited), COUNT_MAX)?;
        let bytes = [self.read_bytes, self.protocol_bytes, self.decoded_bytes, self.sent_bytes];
        let times = [self.start_ns, self.end_ns, self.cpu_ns];
        let workers = self
            .workers
            .values()
            .flat_map(|w| [w.busy_ns, w.waited_beside_free_ns, w.longest_gap_ns, w.gaps_over_1ms_sum_ns]);
        limits::numbers(bytes.into_iter().chain(times).chain(workers))?;
        let integrals = self
            .workers
            .values()
            .flat_map(|w| [w.in_flight_integral_ns, w.overlap_sum_ns, w.connections_integral_ns]);
        let sums = waits.map(|wait| wait.total_ns).into_iter().chain([self.held_ns]);
        within(integrals.chain(sums), SUM_MAX_NS)?;
        let by_request = self.by_request.clone().unwrap_or_default();
        Measurement { by_request, ..Measurement::default() }.check()?;
        self.by_connection.values().try_for_each(ByConnection::check)?;
        let is_long = |failures: &Failures| failures.first.what.len() > MESSAGE_MAX_BYTES;
        let bins_max = self.end_ns.saturating_sub(self.start_ns) / BIN_NS + 2;
        if self.errors.values().any(is_long)
            || self.end_ns < self.start_ns
            || self.bins.len() as u64 > bins_max
            || self.workers.len().max(self.by_connection.len()) > THREADS_MAX as usize
        {
            return Err("it has texts, bins or workers that no load can have".to_owned());
        }
        Ok(())
    }

    /// One bin in place of all: those of a whole window are kept by themselves, merged into bounded memory.
    pub(crate) fn fold_bins(&mut self) {
        let sum = self.bins.iter().copied().reduce(|mut sum, bin| {
            sum.add(&bin);
            sum
        });
        self.bins.clear();
        self.bins.extend(sum);
    }

    /// A part in which nothing happens and all stands as at this one's end: of workers that ended before others.
    pub(crate) fn standing(&self) -> WindowDelta {
        let RequestCounts { in_flight, never_sent, .. } = self.requests;
        let mut share = WindowDelta {
            start_ns: self.end_ns,
            end_ns: self.end_ns,
            requests: RequestCounts {
                carried_in: in_flight + never_sent,
                in_flight,
                never_sent,
                ..RequestCounts::default()
            },
            user_clock: self.user_clock,
            by_request: self.by_request.clone(),
            ..WindowDelta::default()
        };
        let (to, from) = (&mut share.latency.rest, &self.latency.rest);
        to.response.waiting.clone_from(&from.response.waiting);
        to.service.waiting.clone_from(&from.service.waiting);
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second() -> WindowDelta {
        WindowDelta {
            start_ns: 3_000_000_000,
            end_ns: 4_000_000_000,
            bins: vec![Bin { completed: 3, ..Bin::default() }; 10],
            ..WindowDelta::default()
        }
    }

    #[test]
    fn more_bins_than_a_part_has_are_refused() {
        assert_eq!(second().check(), Ok(()));
        assert!(WindowDelta { bins: vec![Bin::default(); 13], ..second() }.check().is_err());
        assert!(WindowDelta { end_ns: 2_000_000_000, ..second() }.check().is_err());
    }

    #[test]
    fn what_is_kept_of_a_place_has_one_bin_with_the_sum_of_all() {
        let mut kept = second();
        kept.append_window(second());
        kept.fold_bins();
        assert_eq!((kept.bins.len(), kept.bins[0].completed), (1, 60));
    }
}
