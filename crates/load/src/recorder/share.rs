//! What a set of a load's workers measured, as data that adds up exactly.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{
    BIN_NS, Bin, Bins, ClientCost, ErrorKind, ErrorTally, Latency, Measurement, RequestCounts,
    RequestFigures, RunTotal, Sample, TlsAgreed, Tolerance, WaitTotal, WorkerAudit,
};
use prony_model::plan::Plan;

/// The longest failure message that is kept.
pub(super) const MESSAGE_MAX_BYTES: usize = 200;

/// Which of a load's workers run here: `count` of them from number `first` on, of `of` in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// The number of the first one here, from 0.
    pub first: u32,
    /// How many are here, at least 1.
    pub count: u32,
    /// How many there are in all places together.
    pub of: u32,
}

impl Shard {
    /// All workers of a plan.
    pub fn whole(plan: &Plan) -> Shard {
        Shard { first: 0, count: plan.threads, of: plan.threads }
    }

    /// The numbers of the workers here.
    pub(crate) fn workers(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }
}

/// What a set of workers measured in one part of the window, raw. The first part has what came before the window, too.
///
/// What happened in the part adds up. What stands at its end (requests in flight, waiting or never sent, open
/// connections) belongs to that instant: it adds up over workers, and over time the later one counts. Instants are
/// nanoseconds since the schedule's start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Share {
    /// Where the part begins.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// Its requests by fate. Carried in are those that stand at its start, in flight and never sent at its end.
    pub requests: RequestCounts,
    /// Counts over the run since the part before.
    pub run_total: RunTotal,
    /// Responses that a strict client refuses, over the run since the part before.
    pub tolerated: BTreeMap<Tolerance, u64>,
    /// Bytes read, heads included.
    pub read_bytes: u64,
    /// Of those, bytes that are no request's: what the protocol itself says. None of HTTP/1.1.
    pub protocol_bytes: u64,
    /// Bytes of requests written, heads included.
    pub sent_bytes: u64,
    /// Connections open at its end.
    pub connections: u64,
    pub status: BTreeMap<u16, u64>,
    pub errors: BTreeMap<ErrorKind, Failures>,
    /// Durations; `waiting` are the waits so far of what stands at its end.
    pub latency: Latency,
    /// The number, from the window's start, of the first of its bins.
    pub first_bin: u64,
    /// Its tenths of a second.
    pub bins: Vec<Bin>,
    /// Each worker's own figures, by the worker's number.
    pub workers: BTreeMap<u32, WorkerAudit>,
    /// CPU time of the workers.
    pub cpu_ns: u64,
    /// Reads whose kernel stamp was missing or could not be.
    pub stamps_rejected: u64,
    /// Requests that one connection surely did not process and that were sent again, each time.
    pub moved: u64,
    /// Waits of requests that ended when a connection that stood could carry another one. None of HTTP/1.1, whose waits
    /// are in the latencies alone.
    pub no_permit: WaitTotal,
    /// Those that ended with no connection standing.
    pub no_connection: WaitTotal,
    /// The time that requests waited for the server's leave to send more of their bodies, of all of them together.
    pub held_ns: u64,
    /// The fewest requests that a connection was let carry at once, since the load began; `None` where the protocol has
    /// no such limit.
    pub fewest_permits: Option<u64>,
    /// Whether a worker had no stamps of the kernel's at all.
    pub user_clock: bool,
    /// What TLS was agreed on since the part before; `None` where it is not spoken.
    pub tls: Option<TlsShare>,
    /// The first single requests, where they are kept. They stay where they were measured.
    #[serde(skip)]
    pub samples: Vec<Sample>,
    pub samples_dropped: u64,
    /// The figures of each request of a list over the whole window. They come with each worker's last part: `None`
    /// where later parts of a worker are left out.
    pub by_request: Option<Vec<RequestFigures>>,
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
    /// Requests that failed so.
    pub count: u64,
    /// What the first one said.
    pub first: First<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TlsShare {
    /// In the first handshake that succeeded.
    pub agreed: Option<First<TlsAgreed>>,
    /// Handshakes in which the server showed its certificate.
    pub full: u64,
    /// Handshakes that resumed an earlier session.
    pub resumed: u64,
}

impl Share {
    /// Takes in what other workers measured in the same part.
    pub fn beside(&mut self, other: Share) {
        self.start_ns = self.start_ns.min(other.start_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.requests.add(&other.requests);
        self.run_total.add(&other.run_total);
        for (tolerance, count) in other.tolerated {
            *self.tolerated.entry(tolerance).or_default() += count;
        }
        self.read_bytes += other.read_bytes;
        self.protocol_bytes += other.protocol_bytes;
        self.moved += other.moved;
        self.no_permit.add(other.no_permit);
        self.no_connection.add(other.no_connection);
        self.held_ns += other.held_ns;
        self.fewest_permits = self.fewest_permits.into_iter().chain(other.fewest_permits).min();
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
        self.add_bins(other.first_bin, other.bins);
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
        self.samples.extend(other.samples);
        self.samples_dropped += other.samples_dropped;
        match (&mut self.by_request, other.by_request) {
            (Some(sum), Some(from)) => sum.iter_mut().zip(&from).for_each(|(sum, row)| sum.add(row)),
            (sum, _) => *sum = None,
        }
    }

    /// Goes on with what the same workers measured in the part that follows.
    pub fn then(&mut self, mut later: Share) {
        let (carried_in, by_request) = (self.requests.carried_in, later.by_request.take());
        self.requests = RequestCounts { in_flight: 0, never_sent: 0, ..self.requests };
        self.connections = 0;
        for part in [&mut self.latency.rest.response, &mut self.latency.rest.service] {
            part.waiting = SparseHistogram::default();
        }
        self.beside(later);
        (self.requests.carried_in, self.by_request) = (carried_in, by_request);
    }

    /// Whether its numbers can be a load's, so that sums of them are exact.
    pub fn check(&self) -> Result<(), String> {
        let held = Measurement {
            requests: self.requests,
            run_total: self.run_total,
            read_bytes: self.read_bytes.max(self.protocol_bytes),
            sent_bytes: self.sent_bytes,
            status: self.status.clone(),
            tolerated: self.tolerated.clone(),
            errors: (self.errors.iter())
                .map(|(kind, failures)| {
                    (*kind, ErrorTally { count: failures.count, ..ErrorTally::default() })
                })
                .collect(),
            bins: Bins { each: self.bins.clone(), ..Bins::default() },
            workers: self.workers.values().copied().collect(),
            client: ClientCost {
                cpu_ns: self.cpu_ns,
                stamps_rejected: self.stamps_rejected.max(self.moved).max(self.connections),
                ..ClientCost::default()
            },
            latency: Latency { first_bytes_upper: self.latency.first_bytes_upper, ..Latency::default() },
            window_start_ns: self.start_ns,
            window_end_ns: self.end_ns.max(self.first_bin),
            ..Measurement::default()
        };
        held.check()?;
        if let Some(by_request) = &self.by_request {
            Measurement { by_request: by_request.clone(), ..Measurement::default() }.check()?;
        }
        let integrals =
            |worker: &WorkerAudit| worker.overlap_sum_ns.max(worker.connections_integral_ns) >> 56;
        let waits = self.no_permit.total_ns.max(self.no_connection.total_ns).max(self.held_ns) >> 56;
        let waited = self.no_permit.count.max(self.no_connection.count) >> 48;
        let is_huge = self.workers.values().any(|worker| integrals(worker) > 0)
            || waits.max(waited) > 0
            || self.errors.values().any(|failures| failures.first.what.len() > MESSAGE_MAX_BYTES)
            || self.end_ns < self.start_ns
            || self.first_bin > bin_at(self.end_ns)
            || self.bins.len() as u64 > bin_at(self.end_ns - self.start_ns) + 2;
        if is_huge { Err("it has numbers or texts that no load can have".to_owned()) } else { Ok(()) }
    }

    /// The same with one bin in place of all: what is kept of each place for its identities does not grow with time.
    pub(crate) fn with_one_bin(&self) -> Share {
        let mut sum = Bin::default();
        self.bins.iter().for_each(|bin| sum.add(bin));
        Share { first_bin: 0, bins: vec![sum], ..self.clone() }
    }

    /// A part in which nothing happens and all stands as at the end of this one: of workers that have ended, beside
    /// those that have not.
    pub(crate) fn standing(&self) -> Share {
        let RequestCounts { in_flight, never_sent, .. } = self.requests;
        let mut share = Share {
            start_ns: self.end_ns,
            end_ns: self.end_ns,
            requests: RequestCounts {
                carried_in: in_flight + never_sent,
                in_flight,
                never_sent,
                ..RequestCounts::default()
            },
            connections: self.connections,
            user_clock: self.user_clock,
            by_request: self.by_request.clone(),
            ..Share::default()
        };
        let (to, from) = (&mut share.latency.rest, &self.latency.rest);
        to.response.waiting.clone_from(&from.response.waiting);
        to.service.waiting.clone_from(&from.service.waiting);
        share
    }

    fn add_bins(&mut self, first_bin: u64, bins: Vec<Bin>) {
        if self.bins.is_empty() {
            (self.first_bin, self.bins) = (first_bin, bins);
            return;
        }
        if bins.is_empty() {
            return;
        }
        if first_bin < self.first_bin {
            let before = usize::try_from(self.first_bin - first_bin).unwrap_or(0);
            self.bins.splice(0..0, std::iter::repeat_n(Bin::default(), before));
            self.first_bin = first_bin;
        }
        let at = usize::try_from(first_bin - self.first_bin).unwrap_or(usize::MAX);
        let length = self.bins.len().max(at.saturating_add(bins.len()));
        self.bins.resize(length, Bin::default());
        self.bins[at..].iter_mut().zip(&bins).for_each(|(sum, bin)| sum.add(bin));
    }
}

/// The number of the bin that begins so long after the window's start.
pub(crate) fn bin_at(since_window_ns: u64) -> u64 {
    since_window_ns / BIN_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second from the load's third on, with its ten bins.
    fn second() -> Share {
        Share {
            start_ns: 3_000_000_000,
            end_ns: 4_000_000_000,
            first_bin: 10,
            bins: vec![Bin { completed: 3, ..Bin::default() }; 10],
            ..Share::default()
        }
    }

    #[test]
    fn bins_that_lie_beyond_the_part_or_are_more_than_it_has_are_refused() {
        assert_eq!(second().check(), Ok(()));
        for first_bin in [41, 1 << 52] {
            assert!(Share { first_bin, ..second() }.check().is_err(), "{first_bin}");
        }
        assert!(Share { bins: vec![Bin::default(); 13], ..second() }.check().is_err());
        assert!(Share { end_ns: 2_000_000_000, ..second() }.check().is_err());
    }

    #[test]
    fn what_is_kept_of_a_place_has_one_bin_with_the_sum_of_all() {
        let mut kept = second().with_one_bin();
        kept.then(second().with_one_bin());
        assert_eq!((kept.first_bin, kept.bins.len(), kept.bins[0].completed), (0, 1, 60));
    }
}
