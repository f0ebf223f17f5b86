//! What a worker counts and times, over the run and over the window. Everything is entered with its stamp, and stamps
//! never go back. [`Recorder::at`] must see a stamp first: there the window opens and closes, so that counts are on the
//! right side of both edges and the identities are exact.

pub(crate) mod audit;
mod by_connection;
pub mod by_request;
pub mod durations;
pub(crate) mod gathered;
mod held;
pub(crate) mod latency;
pub mod live_summary;
pub(crate) mod merge;
mod part;
mod resolved;
pub(crate) mod sample;
pub(crate) mod series;
pub mod window_delta;

use crate::recorder::by_connection::ConnectionMarks;
use crate::recorder::by_request::{ByRequest, ERROR_KINDS, STATUS_MAX};
use crate::recorder::held::Held;
use crate::recorder::latency::{LatencyRecorder, RequestTimes};
use crate::recorder::sample::Samples;
use crate::recorder::window_delta::{Failures, WindowDelta};
use prony_model::measurement::{BIN_NS, Bin, RequestCounts, RunTotal, WaitTotal, WorkerAudit};

pub(crate) use by_connection::Carried;
pub use gathered::Gathered;
pub(crate) use gathered::TakePart;
pub(crate) use part::{AtEdge, End, Part, PartSink};

const SECOND_NS: u64 = 1_000_000_000;
const BINS_PER_SECOND: u64 = SECOND_NS / BIN_NS;
/// A gap in the loop's attention shorter than this is its ordinary work.
const GAP_NS: u64 = 1_000_000;

/// The window's edges as a worker knows them, CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edges {
    pub(crate) start_ns: u64,
    /// `u64::MAX` while only a count ends the load.
    pub(crate) end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Window,
    Over,
}

pub(crate) struct Recorder {
    start_ns: u64,
    edges: Edges,
    phase: Phase,
    next_edge_ns: u64,
    bin_end_ns: u64,
    second_end_ns: u64,
    /// The last stamp up to which the integrals reach.
    stamp_ns: u64,
    pub(crate) run: RunTotal,
    dispatched: u64,
    pub(crate) resolved: u64,
    in_flight: u64,
    connections: u64,

    /// Where the part of the window begins that is under way, and what stood then.
    part: part::Start,
    /// From when on requests' overlaps with the window are still to be counted.
    overlap_from_ns: u64,
    window: RequestCounts,
    pub(crate) read_bytes: u64,
    protocol_bytes: u64,
    decoded_bytes: u64,
    pub(crate) sent_bytes: u64,
    stamps_rejected: u64,
    moved: u64,
    no_stream: WaitTotal,
    no_connection: WaitTotal,
    pub(crate) held: Held,
    kernel_clock: bool,
    status: Box<[u64; STATUS_MAX]>,
    errors: [Failures; ERROR_KINDS],
    audit: WorkerAudit,

    parts: LatencyRecorder,
    /// The last request of the window that succeeded, when it was read, and how many others of the same instants did since
    /// then, which are still to be entered: one read mostly brings the responses to requests of one write.
    last_completed: (u64, RequestTimes),
    repeated: u64,

    bins: Vec<Bin>,
    sink: PartSink,
    /// Waits ready: a part is put together long before the next is over.
    spare: Option<LatencyRecorder>,
    samples: Samples,
    by_request: Option<Box<ByRequest>>,
    by_connection: ConnectionMarks,
    keeps_each: bool,
    /// Failures over the run, warm-up included, for who watches.
    failed_by_kind: [u64; ERROR_KINDS],
    last: Option<WindowDelta>,
}

impl Recorder {
    pub(crate) fn open(
        start_ns: u64,
        edges: Edges,
        connections: u64,
        kernel_clock: bool,
        sink: PartSink,
        mut samples: Samples,
    ) -> Recorder {
        samples.count_from(start_ns);
        Recorder {
            start_ns,
            edges,
            phase: Phase::WarmUp,
            // The first look is at the lease.
            next_edge_ns: start_ns,
            bin_end_ns: u64::MAX,
            second_end_ns: u64::MAX,
            stamp_ns: start_ns,
            run: RunTotal { connections, ..RunTotal::default() },
            dispatched: 0,
            resolved: 0,
            in_flight: 0,
            connections,
            part: part::Start::default(),
            overlap_from_ns: 0,
            window: RequestCounts::default(),
            read_bytes: 0,
            protocol_bytes: 0,
            decoded_bytes: 0,
            sent_bytes: 0,
            stamps_rejected: 0,
            moved: 0,
            no_stream: WaitTotal::default(),
            no_connection: WaitTotal::default(),
            held: Held::default(),
            kernel_clock,
            status: Box::new([0; STATUS_MAX]),
            errors: Default::default(),
            audit: WorkerAudit::default(),
            parts: LatencyRecorder::new(kernel_clock),
            last_completed: (0, RequestTimes::default()),
            repeated: 0,
            bins: Vec::with_capacity(part::BINS),
            by_connection: ConnectionMarks::of(sink.connections_max),
            sink,
            spare: Some(LatencyRecorder::new(kernel_clock)),
            keeps_each: samples.are_kept(),
            samples,
            by_request: None,
            failed_by_kind: [0; ERROR_KINDS],
            last: None,
        }
    }

    pub(crate) fn count_by_request(&mut self, requests: usize) {
        self.by_request = Some(Box::new(ByRequest::new(requests)));
        self.keeps_each = true;
    }

    /// Brings the recorder to `now`: opens and closes the window and its parts, for which it asks `around` the worker.
    #[inline]
    pub(crate) fn at<A: AtEdge>(&mut self, now_ns: u64, around: impl FnOnce() -> A) {
        if now_ns >= self.next_edge_ns {
            self.cross(now_ns, &mut around());
        }
    }

    pub(crate) fn over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The next instant that [`Recorder::at`] wants to see soon after it passes.
    pub(crate) fn next_edge_ns(&self) -> u64 {
        self.next_edge_ns
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Brings the window's end nearer, but not before what was entered. In the warm-up it leaves a window of no length.
    pub(crate) fn end_at(&mut self, end_ns: u64) {
        self.edges.end_ns = self.edges.end_ns.min(end_ns.max(self.stamp_ns));
        self.edges.start_ns = self.edges.start_ns.min(self.edges.end_ns);
        self.next_edge_ns = self.next_edge_ns.min(self.edges.end_ns);
    }

    #[cold]
    fn cross(&mut self, now_ns: u64, around: &mut impl AtEdge) {
        self.enter_repeated();
        // Bins end ten times a second, so that whoever has lost the lease finds it out before anything is sent.
        let lease_ns = around.lease_ns();
        if now_ns >= lease_ns {
            self.end_at(lease_ns);
        }
        while now_ns >= self.next_edge_ns && self.phase != Phase::Over {
            let edge = self.next_edge_ns;
            self.integrate(edge);
            if self.phase == Phase::WarmUp {
                if edge < self.edges.start_ns {
                    self.next_edge_ns = self.edges.start_ns.min(lease_ns);
                    continue;
                }
                self.open_window(around);
            } else {
                if edge >= self.second_end_ns {
                    self.second_end_ns = edge + SECOND_NS;
                    if edge < self.edges.end_ns {
                        self.hand_over_part(edge, around);
                    }
                }
                if edge >= self.bin_end_ns {
                    self.bin_end_ns = edge + BIN_NS;
                    self.bins.push(Bin::default());
                    self.by_connection.look(edge, around);
                }
            }
            if edge >= self.edges.end_ns {
                self.close_window(around);
                return;
            }
            self.next_edge_ns = self.bin_end_ns.min(self.second_end_ns).min(self.edges.end_ns).min(lease_ns);
        }
    }

    fn open_window(&mut self, around: &mut impl AtEdge) {
        self.phase = Phase::Window;
        let due = self.due_before(self.edges.start_ns, around);
        self.part = part::Start {
            at_ns: self.edges.start_ns,
            due,
            carried_in: due.saturating_sub(self.resolved),
            cpu_ns: around.cpu_ns(),
            ..part::Start::default()
        };
        self.overlap_from_ns = self.edges.start_ns;
        self.held.take(self.edges.start_ns);
        self.by_connection.open(self.edges, around);
        self.bins.push(Bin::default());
        self.bin_end_ns = self.edges.start_ns + BIN_NS;
        self.second_end_ns = self.edges.start_ns + SECOND_NS;
    }

    fn close_window(&mut self, around: &mut impl AtEdge) {
        self.phase = Phase::Over;
        self.next_edge_ns = u64::MAX;
        // An edge that falls on the end opened a bin that nothing can enter.
        self.bins.truncate((self.edges.end_ns - self.part.at_ns).div_ceil(BIN_NS).max(1) as usize);
        self.close_last_part(around);
    }

    fn integrate(&mut self, now_ns: u64) {
        debug_assert!(now_ns >= self.stamp_ns, "stamps never go back");
        let passed = now_ns - self.stamp_ns;
        if passed == 0 {
            return;
        }
        if self.phase == Phase::Window {
            self.audit.in_flight_integral_ns += self.in_flight * passed;
            self.audit.connections_integral_ns += self.connections * passed;
        }
        self.stamp_ns = now_ns;
    }

    pub(crate) fn connection_opened(&mut self, now_ns: u64) {
        self.integrate(now_ns);
        self.connections += 1;
    }

    pub(crate) fn connection_established(&mut self) {
        self.run.connections += 1;
    }

    pub(crate) fn connection_closed(&mut self, now_ns: u64) {
        self.integrate(now_ns);
        self.connections -= 1;
    }

    pub(crate) fn dispatched(&mut self, now_ns: u64, connection_wait_ns: u64) {
        self.integrate(now_ns);
        self.dispatched += 1;
        self.in_flight += 1;
        if self.phase == Phase::Window
            && let Some(bin) = self.bins.last_mut()
        {
            bin.dispatched += 1;
            bin.connection_wait_sum_ns += connection_wait_ns;
        }
    }

    /// The request that is dispatched next waited so long while another worker had a free connection.
    pub(crate) fn waited_beside(&mut self, beside_ns: u64) {
        if self.phase == Phase::Window && beside_ns > 0 {
            self.audit.waited_beside_free += 1;
            self.audit.waited_beside_free_ns += beside_ns;
        }
    }

    /// The request that is dispatched next waited so long for a place, on a connection that stands or not.
    pub(crate) fn waited_for_place(&mut self, wait_ns: u64, stands: bool) {
        if self.phase == Phase::Window && wait_ns > 0 {
            let waits = if stands { &mut self.no_stream } else { &mut self.no_connection };
            waits.add(WaitTotal { count: 1, total_ns: wait_ns });
        }
    }

    /// A request's first bytes were written; of a list, of this one.
    pub(crate) fn sent(&mut self, request: u32) {
        self.run.sent += 1;
        if self.phase == Phase::Window {
            self.window.sent += 1;
        }
        if let Some(by_request) = &mut self.by_request {
            by_request.sent(request);
        }
    }

    pub(crate) fn stamp_ns(&self) -> u64 {
        self.stamp_ns
    }

    pub(crate) fn moved(&mut self) {
        if self.phase == Phase::Window {
            self.moved += 1;
        }
    }

    /// Bytes that [`Recorder::read`] has counted were of a request of a list.
    #[inline(never)]
    pub(crate) fn read_of(&mut self, request: u32, bytes: usize) {
        if let (Phase::Window, Some(by_request)) = (self.phase, &mut self.by_request) {
            by_request.read(request, bytes);
        }
    }

    pub(crate) fn wrote(&mut self, bytes: usize) {
        if self.phase == Phase::Window {
            self.sent_bytes += bytes as u64;
        }
    }

    pub(crate) fn read(&mut self, bytes: usize) {
        if self.phase == Phase::Window {
            self.read_bytes += bytes as u64;
        }
    }

    /// A body was so long once it was decoded.
    #[cold]
    pub(crate) fn decoded(&mut self, bytes: u64) {
        if self.phase == Phase::Window {
            self.decoded_bytes += bytes;
        }
    }

    /// Bytes that [`Recorder::read`] has counted were of no request.
    #[cold]
    pub(crate) fn read_of_none(&mut self, bytes: usize) {
        if self.phase == Phase::Window {
            self.protocol_bytes += bytes as u64;
        }
    }

    /// When bytes read at `now` arrived: by the kernel's stamp, if it lies between `earliest_ns` and the reading.
    pub(crate) fn arrival(&mut self, now_ns: u64, earliest_ns: u64, stamp_ns: Option<u64>) -> u64 {
        match stamp_ns {
            Some(stamp) if (earliest_ns..=now_ns).contains(&stamp) => stamp,
            _ => {
                if self.kernel_clock && self.phase == Phase::Window {
                    self.stamps_rejected += 1;
                }
                now_ns
            }
        }
    }

    /// The loop was away from its events for `gap_ns`, doing its work.
    pub(crate) fn busy(&mut self, gap_ns: u64) {
        if self.phase == Phase::Window {
            self.audit.busy_ns += gap_ns;
            self.gap(gap_ns);
        }
    }

    /// The loop woke `late_ns` after the instant it had asked for.
    pub(crate) fn woke_late(&mut self, late_ns: u64) {
        if self.phase == Phase::Window {
            self.gap(late_ns);
        }
    }

    fn gap(&mut self, gap_ns: u64) {
        self.audit.longest_gap_ns = self.audit.longest_gap_ns.max(gap_ns);
        if gap_ns > GAP_NS {
            self.audit.gaps_over_1ms_sum_ns += gap_ns;
        }
    }

    /// Failures over the run, by kind in the order of their discriminants.
    pub(crate) fn failed_by_kind(&self) -> &[u64; ERROR_KINDS] {
        &self.failed_by_kind
    }
}
