//! What happened, as the network saw it: the truth that a worker's books are held against.
//!
//! Kept from the calls and the readings of the clock alone, by the
//! definitions of docs/measurement.md and not by the worker's code.

use std::collections::VecDeque;

use crate::measurement::ErrorKind;
use crate::pace::Schedule;
use crate::plan::Expect;

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) slot: usize,
    /// Which of the list it is.
    pub(super) which: u32,
    pub(super) intended_ns: u64,
    /// A connection was asked for, or the request sent on one.
    pub(super) asked_ns: u64,
    /// Of the intended-to-asked time, what no connection was free.
    pub(super) connection_wait_ns: u64,
    /// The first attempt to write it; 0: none yet. Its timeout runs from here.
    pub(super) attempt_ns: u64,
    /// The last attempt before its first byte was taken; 0: none.
    pub(super) sent_ns: u64,
    /// When its first byte was taken; 0: not yet.
    pub(super) taken_ns: u64,
    pub(super) written: usize,
    pub(super) first_byte_ns: u64,
    pub(super) last_byte_ns: u64,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Completed,
    Failed(ErrorKind),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Fate {
    pub(super) request: Request,
    pub(super) at_ns: u64,
    pub(super) what: What,
    /// The status, where a whole answer came in time.
    pub(super) status: Option<u16>,
}

/// Bytes of answers that were read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) at_ns: u64,
    pub(super) which: u32,
    pub(super) bytes: usize,
    /// Their stamp was missing or could not be.
    pub(super) rejected: bool,
}

/// A slot as the definitions have it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    free_since_ns: u64,
    failures: u32,
}

/// The definitions' own numbers (docs/measurement.md, connections).
const BACKOFF_FIRST_NS: u64 = 1_000_000;
const BACKOFF_DOUBLINGS_MAX: u32 = 10;

#[derive(Debug)]
pub(super) struct Truth {
    pub(super) start_ns: u64,
    /// `None`: closed arrivals.
    pub(super) schedule: Option<Schedule>,
    pub(super) timeout_ns: u64,
    pub(super) expect: Expect,
    pub(super) kernel_clock: bool,
    slots: Vec<Slot>,
    /// When each slot's first request is due, after the start; none where all are due with it.
    pub(super) begins_ns: Vec<u64>,
    /// Requests begun.
    pub(super) begun: u64,
    pub(super) fates: Vec<Fate>,
    pub(super) reads: Vec<Read>,
    pub(super) established: u64,
}

/// The instant of a schedule's i-th arrival (from 0), of a schedule from which none was taken.
pub(super) fn due_ns(schedule: &Schedule, i: u64) -> Option<u64> {
    let mut from_there = schedule.clone();
    from_there.skip(i);
    from_there.next_ns()
}

impl Truth {
    pub(super) fn new(slots: usize, timeout_ns: u64, expect: Expect, schedule: Option<Schedule>) -> Truth {
        Truth {
            start_ns: 0,
            schedule,
            timeout_ns,
            expect,
            kernel_clock: false,
            slots: vec![Slot { free_since_ns: 0, failures: 0 }; slots],
            begins_ns: Vec::new(),
            begun: 0,
            fates: Vec::new(),
            reads: Vec::new(),
            established: 0,
        }
    }

    /// The schedule begins.
    pub(super) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        for (i, slot) in self.slots.iter_mut().enumerate() {
            slot.free_since_ns = start_ns + self.begins_ns.get(i).copied().unwrap_or(0);
        }
    }

    /// A slot asked for a connection, or sent on the one it has.
    pub(super) fn begin(&mut self, slot: usize, asked_ns: u64) -> Request {
        let free_since = self.slots[slot].free_since_ns;
        let (intended_ns, connection_wait_ns) = match &self.schedule {
            None => (free_since, 0),
            Some(schedule) => {
                let intended = self.start_ns + due_ns(schedule, self.begun).expect("no more than is due");
                (intended, free_since.saturating_sub(intended))
            }
        };
        assert!(intended_ns <= asked_ns, "a request before its time: {intended_ns} > {asked_ns}");
        self.begun += 1;
        Request {
            slot,
            which: 0,
            intended_ns,
            asked_ns,
            connection_wait_ns,
            attempt_ns: 0,
            sent_ns: 0,
            taken_ns: 0,
            written: 0,
            first_byte_ns: 0,
            last_byte_ns: 0,
        }
    }

    /// Bytes of a request's answer were read at `at`, the kernel's stamp with them.
    pub(super) fn read(&mut self, request: &mut Request, at_ns: u64, bytes: usize, stamp: Option<u64>) {
        // Arrived after the request was sent, after the bytes before, and before they were read.
        let from = request.sent_ns.max(request.last_byte_ns);
        let stamp = stamp.filter(|stamp| (from..=at_ns).contains(stamp));
        self.reads.push(Read {
            at_ns,
            which: request.which,
            bytes,
            rejected: self.kernel_clock && stamp.is_none(),
        });
        request.last_byte_ns = stamp.unwrap_or(at_ns);
        if request.first_byte_ns == 0 {
            request.first_byte_ns = request.last_byte_ns;
        }
    }

    /// A whole answer was read.
    pub(super) fn answered(&mut self, request: Request, at_ns: u64, status: u16, body_right: bool) {
        if at_ns >= request.attempt_ns + self.timeout_ns {
            return self.failed(request, at_ns, ErrorKind::RequestTimeout);
        }
        let what = if !self.expect.accepts_status(status) {
            What::Failed(ErrorKind::UnexpectedStatus)
        } else if self.expect.checks_body() && !body_right {
            What::Failed(ErrorKind::BodyMismatch)
        } else {
            What::Completed
        };
        self.slots[request.slot] = Slot { free_since_ns: at_ns, failures: 0 };
        self.fates.push(Fate { request, at_ns, what, status: Some(status) });
    }

    /// A request was given up.
    pub(super) fn failed(&mut self, request: Request, at_ns: u64, kind: ErrorKind) {
        let slot = &mut self.slots[request.slot];
        slot.free_since_ns = at_ns;
        if kind != ErrorKind::RequestTimeout {
            slot.free_since_ns += BACKOFF_FIRST_NS << slot.failures.min(BACKOFF_DOUBLINGS_MAX);
            slot.failures += 1;
        }
        self.fates.push(Fate { request, at_ns, what: What::Failed(kind), status: None });
    }

    /// All of a connection's requests were given up.
    pub(super) fn all_failed(
        &mut self,
        requests: &mut VecDeque<Request>,
        at_ns: u64,
        cause: Option<ErrorKind>,
    ) {
        for request in requests.drain(..) {
            let silence = match request.attempt_ns {
                0 => ErrorKind::ConnectTimeout,
                _ => ErrorKind::RequestTimeout,
            };
            self.failed(request, at_ns, cause.unwrap_or(silence));
        }
    }
}
