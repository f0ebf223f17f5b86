//! What a worker recorded in a part of the window: each whole second, and what is left of it at its end.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};

use super::{BINS_PER_SECOND, Carried, Recorder};
use crate::recorder::by_request::ByRequest;
use crate::recorder::latency::{LatencyRecorder, RequestTimes};
use crate::recorder::window_delta::{First, MESSAGE_MAX_BYTES, TlsDelta, WindowDelta};
use prony_model::list::TargetList;
use prony_model::measurement::{ErrorKind, Latency, RequestCounts, RunTotal, TlsUse, Tolerance, Waits};

/// Bins of a part that is a second long, and the one that the edge at its end opens.
pub(super) const BINS: usize = BINS_PER_SECOND as usize + 1;

pub(crate) trait AtEdge {
    fn cpu_ns(&mut self) -> u64;
    fn unresolved(&self) -> impl Iterator<Item = &RequestTimes>;
    /// How many requests are due before an instant; `None` where each is due when it is given a connection.
    fn due_before(&self, at_ns: u64) -> Option<u64>;
    fn carried(&self) -> impl Iterator<Item = Option<Carried>>;
    /// How long requests due and not given a connection had waited, how many, and which of the list's they are.
    fn never_sent(&self, at_ns: u64) -> impl Iterator<Item = (u64, u64, Option<u32>)>;
    /// Responses so far that a strict client refuses.
    fn tolerated(&self) -> &BTreeMap<Tolerance, u64>;
    /// The fewest requests that a connection was let carry at once so far, where the protocol has such a limit.
    fn lowest_stream_limit(&self) -> Option<u64>;
    fn lease_ns(&self) -> u64;
    fn tls(&self) -> Option<(TlsUse, u64)>;
}

/// A part that is over but for its durations, which whoever takes it puts into the form to be kept.
pub(crate) struct Part {
    pub(crate) place: usize,
    pub(crate) is_last: bool,
    share: WindowDelta,
    recorder: LatencyRecorder,
    by_request: Option<Box<ByRequest>>,
}

impl Part {
    /// The part, with the figures of each request of the plan's list, else of each of its addresses where those are loaded,
    /// and its recorder, empty.
    pub(crate) fn finish(
        mut self,
        list: Option<&TargetList>,
        addresses: &[String],
    ) -> (WindowDelta, LatencyRecorder) {
        self.share.latency = self.recorder.take();
        let figures = |counted: Box<ByRequest>| match list {
            Some(list) => counted.figures(list),
            None => counted.figures_of(addresses),
        };
        self.share.by_request = self.by_request.map(figures);
        (self.share, self.recorder)
    }
}

pub(crate) struct PartSink {
    pub(crate) worker: u32,
    pub(crate) place: usize,
    /// Whether each part has the waits at its end, not the last alone: with long queues they take the worker's time.
    pub(crate) counts_waits: bool,
    pub(crate) connections_max: usize,
    pub(crate) finished: Sender<Box<Part>>,
    pub(crate) empty: Receiver<LatencyRecorder>,
}

impl PartSink {
    fn send(&self, part: (WindowDelta, LatencyRecorder), is_last: bool, by_request: Option<Box<ByRequest>>) {
        let (place, (share, recorder)) = (self.place, part);
        // A closed channel means that the load is being given up, and with it this part.
        let _ = self.finished.send(Box::new(Part { place, is_last, share, recorder, by_request }));
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) at_ns: u64,
    pub(crate) all_done: bool,
    pub(crate) waits: Waits,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    pub(super) at_ns: u64,
    pub(super) due: u64,
    pub(super) carried_in: u64,
    pub(super) cpu_ns: u64,
    pub(super) run: RunTotal,
    pub(super) tolerated: BTreeMap<Tolerance, u64>,
    pub(super) handshakes: (u64, u64),
    /// The window's time outside `epoll_wait`.
    pub(super) busy_ns: u64,
}

impl Recorder {
    pub(super) fn due_before(&self, at_ns: u64, around: &impl AtEdge) -> u64 {
        around.due_before(at_ns).unwrap_or(self.dispatched)
    }

    /// The part that ends at `end_ns`, without its durations and single requests; begins the next.
    fn cut(&mut self, end_ns: u64, around: &mut impl AtEdge) -> WindowDelta {
        let start = std::mem::take(&mut self.part);
        if self.sink.counts_waits || end_ns == self.edges.end_ns {
            self.take_unanswered(end_ns, around);
        }
        let due = self.due_before(end_ns, around);
        // Should a count be off, the identity fails and says so; a wrapped difference would hide it.
        let never_sent = due.saturating_sub(self.dispatched);
        let tls = around.tls();
        self.part = Start {
            at_ns: end_ns,
            due,
            carried_in: self.in_flight + never_sent,
            cpu_ns: around.cpu_ns(),
            run: self.run,
            tolerated: around.tolerated().clone(),
            handshakes: tls.as_ref().map_or((0, 0), |(seen, _)| (seen.full, seen.resumed)),
            busy_ns: start.busy_ns + self.audit.busy_ns,
        };
        let share = WindowDelta {
            start_ns: start.at_ns.saturating_sub(self.start_ns),
            end_ns: end_ns.saturating_sub(self.start_ns),
            requests: RequestCounts {
                carried_in: start.carried_in,
                scheduled: due.saturating_sub(start.due),
                in_flight: self.in_flight,
                never_sent,
                ..std::mem::take(&mut self.window)
            },
            run_total: self.run.since(&start.run),
            tolerated: since(&self.part.tolerated, &start.tolerated),
            read_bytes: std::mem::take(&mut self.read_bytes),
            protocol_bytes: std::mem::take(&mut self.protocol_bytes),
            decoded_bytes: std::mem::take(&mut self.decoded_bytes),
            sent_bytes: std::mem::take(&mut self.sent_bytes),
            connections: self.connections,
            status: (0u16..).zip(self.status.iter().copied()).filter(|(_, count)| *count > 0).collect(),
            errors: ErrorKind::ALL
                .iter()
                .copied()
                .zip(std::mem::take(&mut self.errors))
                .filter(|(_, failures)| failures.count > 0)
                .collect(),
            latency: Latency::default(),
            bins: std::mem::replace(&mut self.bins, Vec::with_capacity(BINS)),
            workers: BTreeMap::from([(self.sink.worker, std::mem::take(&mut self.audit))]),
            cpu_ns: self.part.cpu_ns.saturating_sub(start.cpu_ns),
            stamps_rejected: std::mem::take(&mut self.stamps_rejected),
            moved: std::mem::take(&mut self.moved),
            no_stream: std::mem::take(&mut self.no_stream),
            no_connection: std::mem::take(&mut self.no_connection),
            held_ns: self.held.take(end_ns),
            lowest_stream_limit: around.lowest_stream_limit(),
            user_clock: !self.kernel_clock,
            tls: tls.map(|(seen, agreed_ns)| self.tls_share(seen, agreed_ns, start.handshakes)),
            samples: Vec::new(),
            samples_dropped: 0,
            by_request: None,
            by_connection: BTreeMap::new(),
        };
        self.status.fill(0);
        share
    }

    fn take_unanswered(&mut self, end_ns: u64, around: &impl AtEdge) {
        let from_ns = std::mem::replace(&mut self.overlap_from_ns, end_ns);
        for times in around.unresolved() {
            self.audit.overlap_sum_ns += end_ns - times.dispatched_ns.max(from_ns);
            self.parts.waiting(end_ns, times);
        }
        for (wait_ns, count, _) in around.never_sent(end_ns) {
            self.parts.never_sent(wait_ns, count);
        }
    }

    /// What a part has of TLS: handshakes beyond the full and resumed ones `before` it.
    fn tls_share(&self, seen: TlsUse, agreed_ns: u64, before: (u64, u64)) -> TlsDelta {
        TlsDelta {
            agreed: seen.agreed.map(|what| First {
                at_ns: agreed_ns.saturating_sub(self.start_ns),
                worker: self.sink.worker,
                what,
            }),
            full: seen.full.saturating_sub(before.0),
            resumed: seen.resumed.saturating_sub(before.1),
        }
    }

    pub(super) fn hand_over_part(&mut self, edge_ns: u64, around: &mut impl AtEdge) {
        let share = self.cut(edge_ns, around);
        let empty = self.spare.take().or_else(|| self.sink.empty.try_recv().ok());
        let empty = empty.unwrap_or_else(|| LatencyRecorder::new(self.kernel_clock));
        let recorder = std::mem::replace(&mut self.parts, empty);
        self.sink.send((share, recorder), false, None);
    }

    pub(super) fn close_last_part(&mut self, around: &mut impl AtEdge) {
        let end_ns = self.edges.end_ns;
        if let Some(by_request) = &mut self.by_request {
            around.unresolved().for_each(|times| by_request.waiting(end_ns, times));
            for (wait_ns, count, request) in around.never_sent(end_ns) {
                // What was never sent is no address's.
                request.into_iter().for_each(|request| by_request.never_sent(request, wait_ns, count));
            }
        }
        let (samples, samples_dropped) = self.samples.take();
        let share = self.cut(end_ns, around);
        let by_connection = BTreeMap::from([(self.sink.worker, self.by_connection.close(around))]);
        self.last = Some(WindowDelta { samples, samples_dropped, by_connection, ..share });
    }

    /// Sends the last part, once the worker has seen what comes after its window.
    pub(crate) fn end(self, all_done: bool, waits: Waits) -> End {
        let mut share = self.last.unwrap_or_default();
        share.run_total.unasked += self.run.unasked - self.part.run.unasked;
        let end = End { at_ns: share.end_ns, all_done, waits };
        self.sink.send((share, self.parts), true, self.by_request);
        end
    }

    pub(crate) fn busy_ns(&self) -> u64 {
        self.part.busy_ns + self.audit.busy_ns
    }
}

fn since(now: &BTreeMap<Tolerance, u64>, before: &BTreeMap<Tolerance, u64>) -> BTreeMap<Tolerance, u64> {
    let more = now.iter().map(|(why, count)| (*why, count - before.get(why).copied().unwrap_or(0)));
    more.filter(|(_, count)| *count > 0).collect()
}

pub(super) fn bounded(mut message: String) -> String {
    if message.len() > MESSAGE_MAX_BYTES {
        let cut = (0..=MESSAGE_MAX_BYTES).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
        message.truncate(cut);
    }
    message
}
