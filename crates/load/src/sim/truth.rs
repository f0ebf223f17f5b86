//! What happened, as the network saw it, by calls and clock readings alone and the definitions of docs/measurement.md.

use std::collections::VecDeque;

use crate::engine::Division;
use crate::pace::Schedule;
use crate::recorder::window_delta::Shard;
use prony_model::measurement::{ErrorKind, Tolerance};
use prony_model::plan::Expect;
use prony_model::units::nanoseconds;

use super::stages::InUse;

#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) slot: usize,
    pub(super) which: u32,
    /// Its connection takes no other.
    pub(super) last: bool,
    pub(super) intended_ns: u64,
    /// A connection was asked for, or the request sent on one.
    pub(super) dispatched_ns: u64,
    /// Of the intended-to-asked time, what no connection was free.
    pub(super) connection_wait_ns: u64,
    /// The last attempt before its first byte was taken; 0: none.
    pub(super) sent_ns: u64,
    /// When its first byte was taken; 0: not yet.
    pub(super) taken_ns: u64,
    pub(super) written: usize,
    pub(super) first_byte_ns: u64,
    pub(super) last_byte_ns: u64,
}

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
    /// Where it ended by its timeout: when that was over.
    pub(super) expired_ns: Option<u64>,
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
#[derive(Debug, Clone)]
struct Slot {
    /// Since when each of its places is free that is; requests take them in this order.
    free_ns: VecDeque<u64>,
    /// So many places of the back go on at once: their answers were just read (closed arrivals).
    going_on: usize,
    failures: u32,
    /// After a failure of its connection: none of its places takes a request before.
    retry_at_ns: u64,
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
    /// Of each request of the list, or of the one there is.
    expects: Vec<Expect>,
    pub(super) kernel_clock: bool,
    pub(super) pipeline: usize,
    slots: Vec<Slot>,
    /// When which slot is in use; `None`: all, always.
    in_use: Option<InUse>,
    requests_max: u64,
    pub(super) begun: u64,
    pub(super) fates: Vec<Fate>,
    pub(super) reads: Vec<Read>,
    /// Heads that were read whole and are only tolerated, and when.
    pub(super) tolerated: Vec<(u64, Tolerance)>,
    /// Bytes that were taken of requests, and when.
    pub(super) writes: Vec<(u64, usize)>,
    pub(super) established: u64,
}

/// The instant of a schedule's i-th arrival (from 0), of a schedule from which none was taken.
pub(super) fn due_ns(schedule: &Schedule, i: u64) -> Option<u64> {
    let mut from_there = schedule.clone();
    from_there.skip(i);
    from_there.next_ns()
}

impl Truth {
    pub(super) fn new(slots: usize, division: &Division<'_>, worker: u32) -> Truth {
        let plan = division.plan;
        let slot = Slot { free_ns: VecDeque::new(), going_on: 0, failures: 0, retry_at_ns: 0 };
        Truth {
            start_ns: 0,
            schedule: division.schedule(worker, Shard::whole(plan)),
            timeout_ns: nanoseconds(plan.timeout),
            expects: plan.requests().map(|one| one.expect().clone()).collect(),
            kernel_clock: false,
            pipeline: plan.pipeline as usize,
            slots: vec![slot; slots],
            in_use: InUse::of(plan, worker),
            requests_max: division.requests(worker),
            begun: 0,
            fates: Vec::new(),
            reads: Vec::new(),
            tolerated: Vec::new(),
            writes: Vec::new(),
            established: 0,
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        for slot in &mut self.slots {
            slot.free_ns.extend(std::iter::repeat_n(start_ns, self.pipeline));
        }
    }

    /// When the slot's next request could begin: a place is free, no pause is on, and it is in use. `None`: never.
    fn ready_ns(&self, slot: usize) -> Option<u64> {
        self.ready_from(slot, *self.slots[slot].free_ns.front()?)
    }

    fn ready_from(&self, slot: usize, free_ns: u64) -> Option<u64> {
        let ready = free_ns.max(self.slots[slot].retry_at_ns);
        let Some(in_use) = &self.in_use else { return Some(ready) };
        Some(self.start_ns + in_use.next_ns(slot, ready - self.start_ns)?)
    }

    /// The place of a slot that its next request takes, by since when it is free.
    fn take_place(&mut self, slot: usize) -> Option<u64> {
        let Slot { free_ns, going_on, .. } = &mut self.slots[slot];
        if *going_on > 0 {
            // One reading is an answer's end and its place's next beginning, however long others have been
            // free, and however long it takes to open a new connection.
            *going_on -= 1;
            free_ns.pop_back()
        } else {
            free_ns.pop_front()
        }
    }

    /// A request begins on a slot: the worker asks for a connection, or sends on the one it has.
    pub(super) fn begin(&mut self, slot: usize, dispatched_ns: u64) -> Request {
        let place = self.take_place(slot).expect("a slot takes no more than it has places for");
        let mut ready = self.ready_from(slot, place).expect("a slot is used after its last end");
        assert!(ready <= dispatched_ns, "a slot is used before it may be: {ready} > {dispatched_ns}");
        if let Some(in_use) = &self.in_use {
            // It may have ended since, and begun again: what was due before is not made up for.
            let at = dispatched_ns - self.start_ns;
            assert!(in_use.is(slot, at), "a slot is used after its end, at {at}");
            ready = ready.max(self.start_ns + in_use.began_ns(slot, at));
        }
        let (intended_ns, connection_wait_ns) = match &self.schedule {
            None => (ready, 0),
            Some(schedule) => {
                let intended = self.start_ns + due_ns(schedule, self.begun).expect("no more than is due");
                (intended, ready.saturating_sub(intended))
            }
        };
        assert!(intended_ns <= dispatched_ns, "a request before its time: {intended_ns} > {dispatched_ns}");
        self.begun += 1;
        Request {
            slot,
            which: 0,
            last: false,
            intended_ns,
            dispatched_ns,
            connection_wait_ns,
            sent_ns: 0,
            taken_ns: 0,
            written: 0,
            first_byte_ns: 0,
            last_byte_ns: 0,
        }
    }

    /// The slots that could have taken a request before `end_ns`, and did not although there was one.
    pub(super) fn forgotten(&self, end_ns: u64) -> Vec<(usize, u64)> {
        let due = match &self.schedule {
            None => (self.begun < self.requests_max).then_some(self.start_ns),
            Some(schedule) => due_ns(schedule, self.begun).map(|due| self.start_ns + due),
        };
        let Some(due) = due else { return Vec::new() };
        let ready = (0..self.slots.len()).filter_map(|slot| Some((slot, self.ready_ns(slot)?.max(due))));
        ready.filter(|(_, ready)| *ready < end_ns).collect()
    }

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

    /// Bytes were read behind a request's answer that belong to none.
    pub(super) fn read_behind(&mut self, request: &Request, at_ns: u64, bytes: usize) {
        self.reads.push(Read { at_ns, which: request.which, bytes, rejected: false });
    }

    pub(super) fn answered(&mut self, request: Request, at_ns: u64, status: u16, body_right: bool) {
        let expect = &self.expects[request.which as usize];
        let what = if !expect.accepts_status(status) {
            What::Failed(ErrorKind::UnexpectedStatus)
        } else if expect.checks_body() && !body_right {
            What::Failed(ErrorKind::BodyMismatch)
        } else {
            What::Completed
        };
        let slot = &mut self.slots[request.slot];
        slot.failures = 0;
        slot.going_on += usize::from(self.schedule.is_none());
        self.ended(Fate { request, at_ns, what, status: Some(status), expired_ns: None });
    }

    fn ended(&mut self, fate: Fate) {
        self.slots[fate.request.slot].free_ns.push_back(fate.at_ns);
        self.fates.push(fate);
    }

    /// A request was written behind the answer that ended its connection.
    pub(super) fn cut_off(&mut self, request: Request, at_ns: u64) {
        let what = What::Failed(ErrorKind::ClosedEarly);
        self.ended(Fate { request, at_ns, what, status: None, expired_ns: None });
    }

    /// A slot's connection failed, or never came to be, with all of its requests.
    pub(super) fn failed(&mut self, requests: VecDeque<Request>, at_ns: u64, why: Why) {
        let Some(slot) = requests.front().map(|request| request.slot) else { return };
        let slot = &mut self.slots[slot];
        let (kind, behind, expired_ns) = match why {
            Why::Broken(kind) => (kind, kind, None),
            Why::ConnectSilent { expired_ns } => {
                (ErrorKind::ConnectTimeout, ErrorKind::ConnectTimeout, Some(expired_ns))
            }
            Why::Silent { expired_ns } => (ErrorKind::RequestTimeout, ErrorKind::Abandoned, Some(expired_ns)),
        };
        if kind != ErrorKind::RequestTimeout {
            slot.retry_at_ns = at_ns + (BACKOFF_FIRST_NS << slot.failures.min(BACKOFF_DOUBLINGS_MAX));
            slot.failures += 1;
            // The pause is for all of its places.
            slot.going_on = 0;
        }
        for (i, request) in requests.into_iter().enumerate() {
            let what = What::Failed(if i == 0 { kind } else { behind });
            self.ended(Fate { request, at_ns, what, status: None, expired_ns });
        }
    }
}

/// Why a connection was given up with its requests.
#[derive(Debug, Clone, Copy)]
pub(super) enum Why {
    Broken(ErrorKind),
    /// Nothing did; its connect's timeout was over then.
    ConnectSilent {
        expired_ns: u64,
    },
    /// Nothing did; its oldest request's timeout was over then.
    Silent {
        expired_ns: u64,
    },
}
