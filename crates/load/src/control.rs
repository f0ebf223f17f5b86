//! The few words that pass between a running load and its owner.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::recorder::Recorder;
use crate::recorder::durations::Durations;
use crate::recorder::live_summary::LiveSummary;
use crate::start_barrier::StartBarrier;
use crate::sys;
use prony_model::measurement::ErrorKind;

/// Workers look at the stop flag every 100 ms: all see an end this far ahead, so that all windows end at once.
pub(crate) const STOP_AHEAD_NS: u64 = 150_000_000;

/// A machine that is suspended is so for longer.
const SUSPENDED_MIN_NS: u64 = 1_000_000;

const NOT_ASKED: u64 = 0;

/// Ends a load early. Clones end the same load.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// [`NOT_ASKED`] until somebody asks.
    stop_at_ns: Arc<AtomicU64>,
    start_barrier: Option<Arc<StartBarrier>>,
    /// Until when it may send; `None`: for as long as its plan says.
    lease: Option<Arc<Lease>>,
    /// What it may connect to; `None`: whatever its plan says.
    allowed: Option<Arc<[SocketAddr]>>,
}

/// A part of a load of several machines may be sent for so long.
#[derive(Debug)]
struct Lease {
    until_ns: AtomicU64,
    /// For how long the machine had been suspended at most when the lease was made.
    suspended_ns: u64,
}

impl Lease {
    /// The clock of leases stops while a machine is suspended, and the other machines go on without it: it has none after that.
    fn was_suspended(&self, at_least_ns: u64) -> bool {
        at_least_ns > self.suspended_ns + SUSPENDED_MIN_NS
    }
}

impl Control {
    pub fn new() -> Control {
        Control::default()
    }

    /// For several loads, a clone each: they start at the same instant, a stop ends all, and where one cannot begin,
    /// none does: the others end with [`LoadError::Interrupted`](crate::LoadError::Interrupted).
    pub fn together(loads: u32) -> Control {
        Control { start_barrier: Some(Arc::new(StartBarrier::new(loads))), ..Control::new() }
    }

    /// Of one of several machines' loads: [ready](Control::is_ready), it waits for [`Control::start_at`], and sends
    /// only until what [`Control::lend`] says; there it ends, as interrupted. It connects to these addresses alone;
    /// port 0: any.
    pub fn leased(allowed: &[SocketAddr]) -> Control {
        Control {
            start_barrier: Some(Arc::new(StartBarrier::new(u32::MAX))),
            lease: Some(Arc::new(Lease { until_ns: AtomicU64::new(0), suspended_ns: sys::suspended_ns().1 })),
            allowed: Some(allowed.into()),
            ..Control::new()
        }
    }

    pub fn is_ready(&self) -> bool {
        self.start_barrier().is_some_and(|barrier| barrier.arrived() > 0)
    }

    /// Begins a leased load's schedule at this instant of CLOCK_MONOTONIC. Only the first call counts.
    pub fn start_at(&self, at_ns: u64) {
        if let Some(barrier) = self.start_barrier() {
            barrier.start_at(at_ns);
        }
    }

    /// Lets a leased load send until this instant of CLOCK_MONOTONIC, whatever was said before; 0: no more.
    pub fn lend(&self, until_ns: u64) {
        if let Some(lease) = &self.lease {
            lease.until_ns.store(until_ns, Ordering::Relaxed);
        }
    }

    /// Whether the machine was suspended since a leased load was made, which ends it.
    pub fn was_suspended(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.was_suspended(sys::suspended_ns().0))
    }

    pub(crate) fn allowed(&self) -> Option<&[SocketAddr]> {
        self.allowed.as_deref()
    }

    pub(crate) fn lease_ns(&self) -> u64 {
        let Some(lease) = &self.lease else { return u64::MAX };
        if lease.was_suspended(sys::suspended_ns().0) { 0 } else { lease.until_ns.load(Ordering::Relaxed) }
    }

    pub(crate) fn start_barrier(&self) -> Option<&StartBarrier> {
        self.start_barrier.as_deref()
    }

    /// Asks the load to end. What was measured is kept and marked interrupted. Only the first call counts. Thread-safe.
    pub fn stop(&self) {
        self.stop_at(sys::now_ns() + STOP_AHEAD_NS);
    }

    pub fn stop_at(&self, at: u64) {
        // A second request must not move the end that workers may have seen already.
        let _ = self.stop_at_ns.compare_exchange(NOT_ASKED, at, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub fn stop_asked(&self) -> bool {
        self.stop_at_ns().is_some()
    }

    pub(crate) fn end_asked(&self) -> bool {
        self.stop_asked() || self.lease_ns() <= sys::now_ns()
    }

    pub(crate) fn stop_at_ns(&self) -> Option<u64> {
        let at = self.stop_at_ns.load(Ordering::Relaxed);
        (at != NOT_ASKED).then_some(at)
    }
}

/// How a load stands; about ten a second are given to its observer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Since the schedule's start, warm-up included.
    pub elapsed_ns: u64,
    /// Whether the window is open: what is completed now counts.
    pub in_window: bool,
    /// Requests completed so far, warm-up included.
    pub completed: u64,
    pub sent: u64,
    pub in_flight: u64,
    pub last_second: Option<LastSecond>,
    /// Requests failed so far, warm-up included.
    pub failed: u64,
    /// The same by kind, in the order of [`ErrorKind::ALL`].
    pub failed_by_kind: [u64; ErrorKind::ALL.len()],
    /// Time outside `epoll_wait` in the window so far, all workers' together.
    pub busy_ns: u64,
    pub so_far: LiveSummary,
    /// Response times of these seconds' completed requests.
    pub durations: Durations,
    /// Those of its failed requests: until they failed.
    pub failed_durations: Durations,
}

/// A finished second of the window, for who watches: the record has it with its histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LastSecond {
    pub at_ns: u64,
    pub completed: u64,
    pub failed: u64,
    pub connections: u64,
    pub never_sent: u64,
    /// Median response of its completed requests; `None` without any.
    pub p50_ns: Option<u64>,
    /// 99th percentile, given 100 of them.
    pub p99_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// How late the client itself sent its completed requests, on average: send lag without waits for a connection.
    pub lateness_mean_ns: u64,
    pub lateness_max_ns: u64,
    /// How long its completed requests waited for a free connection, on average.
    pub connection_wait_mean_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Gauge {
    completed: AtomicU64,
    sent: AtomicU64,
    in_flight: AtomicU64,
    failed: AtomicU64,
    busy_ns: AtomicU64,
    failed_by_kind: [AtomicU64; ErrorKind::ALL.len()],
}

impl Gauge {
    /// To be called by the one worker whose gauge it is.
    pub(crate) fn publish(&self, recorder: &Recorder) {
        self.completed.store(recorder.run.completed, Ordering::Relaxed);
        self.sent.store(recorder.run.sent, Ordering::Relaxed);
        self.in_flight.store(recorder.in_flight(), Ordering::Relaxed);
        self.busy_ns.store(recorder.busy_ns(), Ordering::Relaxed);
        let failed = recorder.resolved.saturating_sub(recorder.run.completed);
        // Failures are rare, and this is done at every turn of the loop.
        if failed != self.failed.load(Ordering::Relaxed) {
            self.failed.store(failed, Ordering::Relaxed);
            for (gauge, count) in self.failed_by_kind.iter().zip(recorder.failed_by_kind()) {
                gauge.store(*count, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn add_to(&self, snapshot: &mut Snapshot) {
        snapshot.completed += self.completed.load(Ordering::Relaxed);
        snapshot.sent += self.sent.load(Ordering::Relaxed);
        snapshot.in_flight += self.in_flight.load(Ordering::Relaxed);
        snapshot.failed += self.failed.load(Ordering::Relaxed);
        snapshot.busy_ns += self.busy_ns.load(Ordering::Relaxed);
        for (sum, gauge) in snapshot.failed_by_kind.iter_mut().zip(&self.failed_by_kind) {
            *sum += gauge.load(Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_suspended_has_no_lease() {
        let lease = Lease { until_ns: AtomicU64::new(9), suspended_ns: 5_000_000 };
        assert!(!lease.was_suspended(0) && !lease.was_suspended(6_000_000));
        assert!(lease.was_suspended(6_000_001));
        let control = Control::leased(&[]);
        control.lend(9);
        assert_eq!((control.lease_ns(), control.was_suspended()), (9, false));
        assert_eq!((Control::new().lease_ns(), Control::new().was_suspended()), (u64::MAX, false));
    }
}
