//! One worker: one thread, one event loop, its own connections and recorder. The loop reads the clock once per answer:
//! the stamp of its last byte is also when a closed loop's next request is due and sent. Failures never start the next
//! request by themselves; they queue the slot, so that a server that fails everything cannot make the loop recurse.
//!
//! This file has the loop and what is due by time; `source` says when that is, `slot` is a connection's place, `bounds`
//! limits its requests, `sending` is the way out, `events` what comes in, `answers` what that is to requests,
//! `preconnect` what comes before the clock.

mod answers;
mod around;
mod bounds;
mod closing;
mod deadlines;
mod draining;
mod events;
pub(crate) mod idle;
mod preconnect;
mod sending;
mod slot;
mod source;
mod surplus;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::codec::Codec;
use crate::control::Control;
use crate::expect::Expectations;
use crate::net::{NO_HANDLE, Net};
use crate::pace::request_order::RequestOrder;
use crate::recorder::latency::RequestTimes;
use crate::recorder::sample::Samples;
use crate::recorder::{Edges, End, PartSink, Recorder};
use crate::tls;
use crate::values::Rendered;
use crate::worker::closing::Closing;
use crate::worker::deadlines::Deadlines;
use crate::worker::idle::{Free, Idle};
use prony_model::measurement::{ErrorKind, RunTotal};

use around::Around;
pub(crate) use preconnect::Preconnected;
use slot::{Slot, State};
pub(crate) use source::Source;

/// One read's most: answers of a page fit whole, and the worker's shared buffer stays in the L2 cache.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// The loop looks at the stop flag at least this often.
const TICK_NS: u64 = 100_000_000;
/// Connections looked at in one turn for timeouts: where thousands time out, what arrives is still read in time.
const LOOKS_MAX: usize = 64;
/// Before a due instant a spinning worker is awake so long: twice what a sleeping virtual processor is late.
const SPIN_NS: u64 = 150_000;
/// In the last of it only the clock is looked at: a look at the connections takes about a microsecond.
const LAST_LOOK_NS: u64 = 2_000;

/// What all workers of a load share, read-only.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pipeline: u32,
    pub(crate) spin: bool,
    pub(crate) expect: Expectations,
    /// How many requests a connection takes; `u64::MAX`: any number.
    pub(crate) life: u64,
    pub(crate) timeout_ns: u64,
    /// Set when the load is given up because another worker failed.
    pub(crate) given_up: AtomicBool,
    pub(crate) closing_max: usize,
    pub(crate) control: Control,
}

pub(crate) struct Assignment {
    /// Which of this process's workers of its origin it is, from 0.
    pub(crate) place: u32,
    pub(crate) idle: Arc<Idle>,
    pub(crate) connections: u32,
    /// Of how many addresses each connection has one, by its number among all; 0: all have the same.
    pub(crate) addresses: u32,
    pub(crate) first_place: u32,
    /// How many requests each place's first connection takes, where that is not `life`.
    pub(crate) first_lives: Vec<u64>,
    pub(crate) source: Source,
    pub(crate) request_order: Option<RequestOrder>,
    pub(crate) before: RunTotal,
}

pub(crate) struct Worker<N: Net, C: Codec> {
    net: N,
    codec: C,
    shared: Arc<Shared>,
    gauge: Arc<crate::control::Gauge>,
    /// The connections' places. Where connections drain, as many again follow: of the connection at i, the one that it
    /// replaces is at i + `connections` until its last request is answered.
    slots: Vec<Slot<C>>,
    connections: u32,
    /// Requests that a connection surely did not process, each with its slot: they go over the next one.
    moved: VecDeque<(u32, RequestTimes, Rendered)>,
    source: Source,
    /// Places free for a due request, each with since when, the one free longest first (open arrivals).
    free: Free,
    /// Places that may begin again at the next turn, each with since when it is free.
    restart: VecDeque<(u32, u64)>,
    /// Places that may begin again later, each by its instant.
    backing_off: BinaryHeap<Reverse<(u64, u32)>>,
    deadlines: Deadlines,
    closing: Closing,
    buffer: Vec<u8>,
    /// Of this slot's connection answers are being taken: what follows from them is written when all are.
    corked: Option<u32>,
    drops_bodies: bool,
    reads_short: bool,
    /// What was counted before the clock: connections, whether or not they are still open, and the probe's requests.
    before: RunTotal,
    start_ns: u64,
    /// The last request's end, where only a count ends the load.
    last_resolved_ns: u64,
    request_order: Option<RequestOrder>,
    addresses: u32,
    /// Whether each request of a list, or each address, has figures of its own.
    counts_each: bool,
}

impl<N: Net, C: Codec> Worker<N, C> {
    pub(crate) fn new(
        net: N,
        codec: C,
        shared: Arc<Shared>,
        gauge: Arc<crate::control::Gauge>,
        assignment: Assignment,
    ) -> Worker<N, C> {
        let Assignment {
            place,
            idle,
            connections,
            first_lives,
            source,
            request_order,
            before,
            addresses,
            first_place,
        } = assignment;
        let (count, pipeline) = (connections as usize, shared.pipeline as usize);
        let places = count * pipeline;
        let all = if C::DRAINS { 2 * count } else { count };
        let rests = matches!(source, Source::Ramped { .. });
        let slot = |at: usize| {
            let lives = (first_lives.get(at).copied().unwrap_or(shared.life), shared.life);
            let place = first_place + at as u32 % connections.max(1);
            let address = place.checked_rem(addresses).unwrap_or(0);
            Slot { rests, address, ..Slot::new(codec.connection(), pipeline, &shared.expect, lives) }
        };
        Worker {
            drops_bodies: !shared.expect.checks_body() && net.discards(),
            net,
            slots: (0..all).map(slot).collect(),
            connections,
            moved: VecDeque::new(),
            codec,
            source,
            free: Free::with_capacity(places, idle, place),
            restart: VecDeque::with_capacity(places),
            backing_off: BinaryHeap::with_capacity(places),
            deadlines: Deadlines::new(all, shared.timeout_ns),
            closing: Closing::new(shared.closing_max),
            buffer: vec![0; READ_BUFFER_BYTES],
            corked: None,
            reads_short: false,
            before,
            start_ns: 0,
            last_resolved_ns: 0,
            shared,
            gauge,
            counts_each: request_order.as_ref().is_some_and(|order| order.different() > 0) || addresses > 0,
            addresses,
            request_order,
        }
    }

    /// Runs the schedule from `start_ns` to its end.
    pub(crate) fn run(
        mut self,
        start_ns: u64,
        edges: Edges,
        sink: PartSink,
        samples: Samples,
    ) -> io::Result<End> {
        let connected = self.slots.iter().filter(|s| s.handle != NO_HANDLE).count() as u64;
        self.start_ns = start_ns;
        self.last_resolved_ns = start_ns;
        // Before the clock starts: it allocates some megabytes.
        let mut recorder = Recorder::open(start_ns, edges, connected, self.net.stamps(), sink, samples);
        recorder.run = self.before;
        self.prepare_requests();
        if self.counts_each {
            let addresses = self.addresses as usize;
            recorder.count_by_request(self.request_order.as_ref().map_or(addresses, RequestOrder::different));
        }
        let mut now = self.net.now_ns();
        // Two milliseconds: a stop that is asked for meanwhile is seen after them.
        while now < start_ns {
            for event in 0..self.net.wait(now, start_ns)? {
                let token = self.net.token(event);
                if let Some(talks) = self.closing.on_event(token, &mut self.net, &mut self.buffer) {
                    recorder.run.unasked += u64::from(talks);
                    continue;
                }
                // An idle connection that the server closed, or on which it (or TLS) spoke unasked.
                let slot = token as u32;
                match self.read_idle(slot) {
                    Ok(_) => self.write_idle(slot),
                    Err(over) => {
                        recorder.run.unasked += u64::from(over.unasked);
                        self.send_goaway(slot, now);
                        self.drop_connection(&mut recorder, slot, start_ns);
                    }
                }
            }
            now = self.net.now_ns();
        }
        now = now.max(start_ns);
        if !matches!(self.source, Source::Ramped { .. }) {
            for _ in 0..self.shared.pipeline {
                self.restart.extend((0..self.connections).map(|slot| (slot, start_ns)));
            }
        }
        let mut events = 0;
        loop {
            let woke = now;
            for event in 0..events {
                let token = self.net.token(event);
                self.on_event(&mut recorder, token);
            }
            now = self.fresh_stamp(&mut recorder);
            if recorder.over() {
                break;
            }
            self.housekeep(&mut recorder, now);
            self.prepare_requests();
            now = self.fresh_stamp(&mut recorder);
            recorder.busy(now.saturating_sub(woke));
            if recorder.over() || self.all_done(&recorder) || self.shared.given_up.load(Ordering::Relaxed) {
                break;
            }
            let until = self.next_wakeup(&recorder, now);
            events = self.wait(now, until)?;
            now = self.net.now_ns();
            if events == 0 {
                recorder.woke_late(now.saturating_sub(until));
            }
        }
        self.close(recorder)
    }

    pub(crate) fn abandon(mut self) {
        self.close_connections();
    }

    fn close_connections(&mut self) {
        for slot in &mut self.slots {
            slot.disconnect(&mut self.net);
        }
        self.closing.close_all(&mut self.net);
    }

    fn all_done(&self, recorder: &Recorder) -> bool {
        self.source.is_exhausted() && recorder.in_flight() == 0
    }

    fn close(mut self, mut recorder: Recorder) -> io::Result<End> {
        if !recorder.over() {
            // The count ended it: the window ends with the last request, whose instant is within it.
            let end = self.last_resolved_ns + 1;
            recorder.end_at(end);
            let now = self.net.now_ns();
            self.bring(&mut recorder, now.max(end));
        }
        let all_done = self.all_done(&recorder);
        self.see_surplus(&mut recorder)?;
        self.close_connections();
        Ok(recorder.end(all_done, self.net.waits()))
    }

    fn next_wakeup(&self, recorder: &Recorder, now: u64) -> u64 {
        let mut until = (now + TICK_NS).min(recorder.next_edge_ns()).min(self.deadlines.next_ns());
        if let Some(Reverse((at, _))) = self.backing_off.peek() {
            until = until.min(*at);
        }
        until.min(self.next_due_ns(now).unwrap_or(u64::MAX)).min(self.closing.next_ns())
    }

    fn next_due_ns(&self, now: u64) -> Option<u64> {
        let due = match &self.source {
            Source::Closed { .. } => None,
            Source::Ramped { users, .. } => users.next_ns(now.saturating_sub(self.start_ns)),
            Source::Open(schedule) => schedule.next_ns().filter(|_| !self.free.is_empty()),
        };
        due.map(|due| self.start_ns + due)
    }

    /// Waits until an instant; where planned, awake before a due one: a sleeping processor wakes 20 to 60 µs late.
    fn wait(&mut self, now: u64, until: u64) -> io::Result<usize> {
        if !self.shared.spin || self.next_due_ns(now) != Some(until) {
            return self.net.wait(now, until);
        }
        if until.saturating_sub(now) > SPIN_NS {
            return self.net.wait(now, until - SPIN_NS);
        }
        loop {
            let now = self.net.now_ns();
            if now >= until {
                return Ok(0);
            }
            if until - now > LAST_LOOK_NS {
                let events = self.net.wait(now, now)?;
                if events > 0 {
                    return Ok(events);
                }
            }
        }
    }

    fn housekeep(&mut self, recorder: &mut Recorder, now: u64) {
        if let Some(stop_at) = self.shared.control.stop_at_ns() {
            // A worker that was kept from its loop may see it too late: what it has entered stays within.
            recorder.end_at(stop_at.max(now + 1));
        }
        self.gauge.publish(recorder);
        for _ in 0..LOOKS_MAX {
            let Some(slot) = self.deadlines.take(now) else { break };
            self.on_deadline(recorder, slot, now);
        }
        self.closing.expire(now, &mut self.net);
        self.resend_moved(recorder);
        self.begin_users(recorder, now);
        // A restarted place may fail at once and queue itself again: only those queued by now are taken.
        for _ in 0..self.restart.len() + self.backing_off.len() {
            let Some((slot, since)) = self.take_freed(now + 1) else { break };
            let stamp = self.fresh_stamp(recorder);
            self.on_free(recorder, slot, since, stamp);
        }
        self.dispatch_due(recorder);
    }

    /// The place that has been free longest of those to begin again, if that was before `end_ns`, and since when.
    fn take_freed(&mut self, end_ns: u64) -> Option<(u32, u64)> {
        let paused = self.backing_off.peek().map(|Reverse((at, slot))| (*slot, *at));
        let queued = self.restart.front().copied();
        let is_paused = paused.is_some_and(|(_, at)| queued.is_none_or(|(_, since)| at < since));
        let (slot, since) = if is_paused { paused } else { queued }.filter(|(_, since)| *since < end_ns)?;
        if is_paused {
            self.backing_off.pop();
        } else {
            self.restart.pop_front();
        }
        Some((self.home(slot), since))
    }

    /// Slots of a ramp that have begun take their first request.
    fn begin_users(&mut self, recorder: &Recorder, now: u64) {
        let start_ns = self.start_ns;
        let Source::Ramped { users, .. } = &mut self.source else { return };
        while let Some((slot, began)) = users.begin(now.saturating_sub(start_ns)) {
            // One that is still busy from before the ramp fell, or about to be, simply goes on.
            if self.slots[slot as usize].rests && !recorder.over() {
                self.slots[slot as usize].rests = false;
                self.restart.push_back((slot, start_ns + began));
            }
        }
    }

    fn fresh_stamp(&mut self, recorder: &mut Recorder) -> u64 {
        let stamp = self.net.now_ns();
        self.bring(recorder, stamp);
        stamp
    }

    fn bring(&mut self, recorder: &mut Recorder, to_ns: u64) {
        let Worker { net, codec, slots, connections, moved, source, request_order, shared, start_ns, .. } =
            self;
        recorder.at(to_ns, move || Around {
            net,
            codec,
            slots,
            connections: *connections,
            moved,
            source,
            request_order: request_order.as_ref(),
            control: &shared.control,
            start_ns: *start_ns,
        });
    }

    /// A place is free since `since`: for its connection's next request or, in open arrivals, for any that is due.
    fn on_free(&mut self, recorder: &mut Recorder, slot: u32, since: u64, now: u64) {
        let slot = self.home(slot);
        let retry_at = self.slots[slot as usize].retry_at_ns;
        if retry_at > now {
            self.backing_off.push(Reverse((retry_at, slot)));
            return;
        }
        if self.wait_for_stream(recorder, slot, now) {
            return;
        }
        let mut since = since.max(retry_at);
        match &mut self.source {
            Source::Closed { .. } => {}
            Source::Ramped { users, .. } => {
                let passed = now.saturating_sub(self.start_ns);
                if !users.is_active(slot, passed) {
                    self.slots[slot as usize].rests = true;
                    if self.slots[slot as usize].state == State::Connected {
                        self.drop_connection(recorder, slot, now);
                    }
                    return;
                }
                if since < now {
                    // What was due before it ended and began anew is not made up for.
                    since = since.max(self.start_ns + users.began_ns(slot, passed));
                }
            }
            Source::Open(_) => {
                // Those to begin again since before have been free for longer.
                while let Some((place, freed)) = self.take_freed(since) {
                    let retry_at = self.slots[place as usize].retry_at_ns;
                    if retry_at > now {
                        self.backing_off.push(Reverse((retry_at, place)));
                    } else {
                        self.free.push_back(place, freed.max(retry_at));
                    }
                }
                self.free.push_back(slot, since);
            }
        }
        if let Source::Closed { left } | Source::Ramped { left, .. } = &mut self.source
            && *left > 0
            && !recorder.over()
        {
            *left -= 1;
            self.begin(recorder, slot, since, 0, now);
        }
    }

    /// Gives due requests to free places, while there are both (open arrivals).
    fn dispatch_due(&mut self, recorder: &mut Recorder) {
        loop {
            let Source::Open(schedule) = &mut self.source else { return };
            let Some(due) = schedule.next_ns() else { return };
            if self.free.is_empty() || recorder.over() {
                return;
            }
            let intended = self.start_ns + due;
            let now = self.fresh_stamp(recorder);
            if intended > now || recorder.over() {
                return;
            }
            let Some((slot, since)) = self.free.pop_front() else { return };
            let retry_at = self.slots[slot as usize].retry_at_ns;
            if retry_at > now {
                // Its connection has failed since it was free: the pause is for all of its places.
                self.backing_off.push(Reverse((retry_at, slot)));
                continue;
            }
            if self.wait_for_stream(recorder, slot, now) {
                continue;
            }
            if let Source::Open(schedule) = &mut self.source {
                schedule.take();
            }
            let free_since = since.max(retry_at);
            if free_since > intended {
                recorder.waited_beside(self.free.beside(intended, free_since));
            }
            self.begin(recorder, slot, intended, free_since.saturating_sub(intended), now);
        }
    }
}

fn connect_error_kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => ErrorKind::ConnectRefused,
        Some(libc::ETIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => ErrorKind::NoPorts,
        _ if tls::failure::is_tls(error) => ErrorKind::Tls,
        _ => ErrorKind::ConnectFailed,
    }
}
