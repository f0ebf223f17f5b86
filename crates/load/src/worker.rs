//! One worker: one thread, one event loop, its own connections and books.
//!
//! The loop reads the clock once per answer: the stamp of an answer's last
//! byte is also the instant at which a closed loop's next request is due and
//! sent. Failures never start the next request by themselves; they queue the
//! slot, so that a server that fails everything cannot make the loop recurse.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;

use crate::books::{Books, ClosedBooks, Edges, SecondSink, Times};
use crate::control::Control;
use crate::deadlines::Deadlines;
use crate::framing::{Framer, Progress};
use crate::linger::Linger;
use crate::measurement::ErrorKind;
use crate::net::{Connecting, Handle, Interest, NO_HANDLE, Net};
use crate::pace::Share;
use crate::plan::Expect;

/// One read takes at most this much. Answers of a page fit whole, and the
/// buffer, shared by all connections of a worker, stays in the L2 cache.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// The loop looks at the stop flag at least this often.
const TICK_NS: u64 = 100_000_000;
/// Connects under way at once before the clock starts: below every
/// accept queue's customary length (128 and up), so that none overflows.
const PRECONNECTS_AT_ONCE: usize = 100;
/// The first wait after a connection failed, doubled with each further failure of the slot.
const BACKOFF_FIRST_NS: u64 = 1_000_000;
/// The longest such wait: a second.
const BACKOFF_DOUBLINGS_MAX: u32 = 10;
/// The most waits that are entered one by one for requests never sent; more
/// are entered in groups, each under its first member's wait.
const WAITS_ENTERED_MAX: u64 = 1_000_000;

/// What all workers of a load share, read-only.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) request: Vec<u8>,
    pub(crate) method: String,
    pub(crate) expect: Expect,
    pub(crate) keepalive: bool,
    pub(crate) timeout_ns: u64,
    pub(crate) control: Control,
}

/// Where a worker's requests come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// The next is due when the last is answered; so many are left.
    Closed { left: u64 },
    /// The i-th is due when the schedule says; `next` is the first not yet given a connection.
    Open { share: Share, next: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No connection.
    Unconnected,
    /// A connect is under way before the clock starts, for no request.
    Preconnecting,
    /// A request waits for its connect.
    Connecting,
    /// A request is partly written.
    Writing,
    /// A request is written and not yet answered.
    Waiting,
    /// A connection without a request.
    Idle,
}

struct Slot {
    handle: Handle,
    state: State,
    /// Failures in a row of this slot's connections.
    failures: u32,
    free_since_ns: u64,
    times: Times,
    written: usize,
    body_at: usize,
    body_wrong: bool,
    framer: Framer,
}

/// How the connects before the clock went.
#[derive(Debug)]
pub(crate) struct Preconnected {
    pub(crate) established: u32,
    pub(crate) first_failure: Option<(ErrorKind, String)>,
}

pub(crate) struct Worker<N: Net> {
    net: N,
    shared: Arc<Shared>,
    gauge: Arc<crate::control::Gauge>,
    slots: Vec<Slot>,
    source: Source,
    /// Slots free for a due request, the one free longest first (open arrivals).
    free: VecDeque<u32>,
    /// Slots that may begin again, after a failure.
    restart: VecDeque<u32>,
    backing_off: BinaryHeap<Reverse<(u64, u32)>>,
    deadlines: Deadlines,
    linger: Linger,
    buffer: Vec<u8>,
    /// The schedule's first instant.
    start_ns: u64,
    /// The last request's end, where only a count ends the load.
    last_resolved_ns: u64,
}

impl<N: Net> Worker<N> {
    pub(crate) fn new(
        net: N,
        shared: Arc<Shared>,
        gauge: Arc<crate::control::Gauge>,
        connections: u32,
        source: Source,
    ) -> Worker<N> {
        let slot = || Slot {
            handle: NO_HANDLE,
            state: State::Unconnected,
            failures: 0,
            free_since_ns: 0,
            times: Times::default(),
            written: 0,
            body_at: 0,
            body_wrong: false,
            framer: Framer::new(&shared.method),
        };
        let count = connections as usize;
        Worker {
            net,
            slots: (0..count).map(|_| slot()).collect(),
            source,
            free: VecDeque::with_capacity(count),
            restart: VecDeque::with_capacity(count),
            backing_off: BinaryHeap::with_capacity(count),
            deadlines: Deadlines::new(count, shared.timeout_ns),
            linger: Linger::new(count),
            buffer: vec![0; READ_BUFFER_BYTES],
            start_ns: 0,
            last_resolved_ns: 0,
            shared,
            gauge,
        }
    }

    /// Opens every connection before the clock starts, a bounded number at a
    /// time. A failed one stays closed; a request will try again and count.
    pub(crate) fn preconnect(&mut self) -> io::Result<Preconnected> {
        let mut result = Preconnected { established: 0, first_failure: None };
        let mut next = 0;
        let mut pending = 0usize;
        while (next < self.slots.len() || pending > 0) && !self.shared.control.stop_asked() {
            let mut now = self.net.now_ns();
            while next < self.slots.len() && pending < PRECONNECTS_AT_ONCE {
                match self.net.connect(next as u64) {
                    Ok((handle, Connecting::Done)) => {
                        self.slots[next].handle = handle;
                        self.slots[next].state = State::Idle;
                        result.established += 1;
                    }
                    Ok((handle, Connecting::Pending)) => {
                        self.slots[next].handle = handle;
                        self.slots[next].state = State::Preconnecting;
                        self.deadlines.start(next as u32, now);
                        pending += 1;
                    }
                    Err(e) => note_first(&mut result, connect_error_kind(&e), e.to_string()),
                }
                next += 1;
            }
            let until = self.deadlines.next_ns().min(now + TICK_NS);
            let events = if pending > 0 { self.net.wait(now, until)? } else { 0 };
            for event in 0..events {
                let slot = self.net.token(event) as usize;
                if self.slots[slot].state == State::Preconnecting {
                    pending -= 1;
                    self.finish_preconnect(slot, &mut result);
                }
                // Anything else is an idle connection that the server closed: found out when it is used.
                else if self.slots[slot].state == State::Idle {
                    self.net.close(self.slots[slot].handle);
                    self.slots[slot].handle = NO_HANDLE;
                    self.slots[slot].state = State::Unconnected;
                }
            }
            now = self.net.now_ns();
            while let Some(slot) = self.deadlines.expired(now) {
                self.deadlines.stop(slot);
                pending -= 1;
                let slot = &mut self.slots[slot as usize];
                self.net.close(slot.handle);
                slot.handle = NO_HANDLE;
                slot.state = State::Unconnected;
                note_first(&mut result, ErrorKind::ConnectTimeout, self.timeout_message("connect"));
            }
        }
        Ok(result)
    }

    fn finish_preconnect(&mut self, index: usize, result: &mut Preconnected) {
        self.deadlines.stop(index as u32);
        let slot = &mut self.slots[index];
        let connected = self.net.connect_result(slot.handle);
        match connected.and_then(|()| self.net.watch(slot.handle, Interest::Read, index as u64)) {
            Ok(()) => {
                slot.state = State::Idle;
                result.established += 1;
            }
            Err(e) => {
                self.net.close(slot.handle);
                slot.handle = NO_HANDLE;
                slot.state = State::Unconnected;
                note_first(result, connect_error_kind(&e), e.to_string());
            }
        }
    }

    /// Runs the schedule from `start_ns` to its end.
    pub(crate) fn run(mut self, start_ns: u64, edges: Edges, sink: SecondSink) -> io::Result<ClosedBooks> {
        let connected = self.slots.iter().filter(|s| s.handle != NO_HANDLE).count() as u64;
        self.start_ns = start_ns;
        self.last_resolved_ns = start_ns;
        let mut now = self.net.now_ns();
        while now < start_ns && !self.shared.control.stop_asked() {
            self.net.wait(now, start_ns)?;
            now = self.net.now_ns();
        }
        let mut books = Books::open(start_ns, edges, connected, sink);
        now = now.max(start_ns);
        for slot in 0..self.slots.len() as u32 {
            self.slots[slot as usize].free_since_ns = start_ns;
            self.restart.push_back(slot);
        }
        let mut events = 0;
        loop {
            let woke = now;
            for event in 0..events {
                let token = self.net.token(event);
                self.on_event(&mut books, token);
            }
            now = self.fresh_stamp(&mut books);
            if books.over() {
                break;
            }
            self.housekeep(&mut books, now);
            now = self.fresh_stamp(&mut books);
            books.busy(now.saturating_sub(woke));
            if books.over() || self.all_done(&books) {
                break;
            }
            let until = self.next_wakeup(&books, now);
            events = self.net.wait(now, until)?;
            now = self.net.now_ns();
            if events == 0 {
                books.woke_late(now.saturating_sub(until));
            }
        }
        Ok(self.close(books))
    }

    /// Gives up a worker that never ran.
    pub(crate) fn abandon(mut self) {
        self.close_connections();
    }

    fn close_connections(&mut self) {
        for slot in &mut self.slots {
            if slot.handle != NO_HANDLE {
                self.net.close(slot.handle);
                slot.handle = NO_HANDLE;
            }
        }
        self.linger.close_all(&mut self.net);
    }

    /// Whether the count is reached and every request resolved.
    fn all_done(&self, books: &Books) -> bool {
        let exhausted = match self.source {
            Source::Closed { left } => left == 0,
            Source::Open { share, next } => share.due_ns(next).is_none(),
        };
        exhausted && books.in_flight() == 0
    }

    fn close(mut self, mut books: Books) -> ClosedBooks {
        if !books.over() {
            // The count ended it: the window ends with the last request.
            let end = self.last_resolved_ns;
            books.end_at(end);
            let now = self.net.now_ns();
            books.at(now.max(end), || self.net.cpu_ns());
        }
        let end_ns = books.end_ns();
        let in_flight = |s: &&Slot| matches!(s.state, State::Connecting | State::Writing | State::Waiting);
        let unresolved: Vec<Times> = self.slots.iter().filter(in_flight).map(|s| s.times).collect();
        self.close_connections();
        let (before_window, dispatched) = books.dispatch_counts();
        match self.source {
            Source::Closed { .. } => {
                let due_before = |at: u64| if at >= end_ns { dispatched } else { before_window };
                books.close(unresolved.into_iter(), due_before, std::iter::empty())
            }
            Source::Open { share, next } => {
                let start = self.start_ns;
                let due_before = move |at: u64| share.due_before(at.saturating_sub(start));
                let (first, end) = (next, due_before(end_ns));
                let step = (end.saturating_sub(first) / WAITS_ENTERED_MAX).max(1);
                let waits = (first..end).step_by(usize::try_from(step).unwrap_or(1)).map(move |i| {
                    let due = start + share.due_ns(i).unwrap_or(0);
                    (end_ns.saturating_sub(due), step.min(end - i))
                });
                books.close(unresolved.into_iter(), due_before, waits)
            }
        }
    }

    fn next_wakeup(&self, books: &Books, now: u64) -> u64 {
        let mut until = (now + TICK_NS).min(books.next_edge_ns()).min(self.deadlines.next_ns());
        if let Some(Reverse((at, _))) = self.backing_off.peek() {
            until = until.min(*at);
        }
        if let (Source::Open { share, next }, false) = (&self.source, self.free.is_empty())
            && let Some(due) = share.due_ns(*next)
        {
            until = until.min(self.start_ns + due);
        }
        until.min(self.linger.next_ns())
    }

    /// Everything that is due by time and not by an event.
    fn housekeep(&mut self, books: &mut Books, now: u64) {
        if let Some(stop_at) = self.shared.control.stop_at_ns() {
            books.end_at(stop_at);
        }
        self.gauge.publish(&books.run, books.in_flight());
        while let Some(slot) = self.deadlines.expired(now) {
            let (kind, what) = match self.slots[slot as usize].state {
                State::Connecting => (ErrorKind::ConnectTimeout, "connect"),
                _ => (ErrorKind::RequestTimeout, "request"),
            };
            let message = self.timeout_message(what);
            self.fail(books, slot, now, kind, || message);
        }
        while let Some(Reverse((at, slot))) = self.backing_off.peek().copied() {
            if at > now {
                break;
            }
            self.backing_off.pop();
            self.slots[slot as usize].free_since_ns = at;
            self.restart.push_back(slot);
        }
        self.linger.expire(now, &mut self.net);
        // A restarted slot may fail at once and queue itself again: only those queued by now are taken.
        for _ in 0..self.restart.len() {
            if let Some(slot) = self.restart.pop_front() {
                let stamp = self.fresh_stamp(books);
                self.on_free(books, slot, stamp);
            }
        }
        self.dispatch_due(books);
    }

    fn timeout_message(&self, what: &str) -> String {
        format!("the {what} took longer than the timeout of {} ms", self.shared.timeout_ns / 1_000_000)
    }

    /// Reads the clock and brings the books up to it.
    fn fresh_stamp(&mut self, books: &mut Books) -> u64 {
        let stamp = self.net.now_ns();
        books.at(stamp, || self.net.cpu_ns());
        stamp
    }

    /// A slot can take a request: its own next one, or, in open arrivals, any that is due.
    fn on_free(&mut self, books: &mut Books, slot: u32, now: u64) {
        match &mut self.source {
            Source::Closed { left } => {
                if *left > 0 && !books.over() {
                    *left -= 1;
                    let intended = self.slots[slot as usize].free_since_ns;
                    self.begin(books, slot, intended, 0, now);
                }
            }
            Source::Open { .. } => self.free.push_back(slot),
        }
    }

    /// Gives due requests to free slots, while there are both (open arrivals).
    fn dispatch_due(&mut self, books: &mut Books) {
        while let Source::Open { share, next } = self.source {
            if self.free.is_empty() || books.over() {
                return;
            }
            let Some(due) = share.due_ns(next) else { return };
            let intended = self.start_ns + due;
            let now = self.fresh_stamp(books);
            if intended > now || books.over() {
                return;
            }
            let Some(slot) = self.free.pop_front() else { return };
            self.source = Source::Open { share, next: next + 1 };
            let waited = self.slots[slot as usize].free_since_ns.saturating_sub(intended);
            self.begin(books, slot, intended, waited, now);
        }
    }

    /// Starts a request on a slot at `now`.
    fn begin(&mut self, books: &mut Books, index: u32, intended_ns: u64, connection_wait_ns: u64, now: u64) {
        books.dispatched(now, connection_wait_ns);
        self.deadlines.start(index, now);
        let slot = &mut self.slots[index as usize];
        slot.times = Times { intended_ns, asked_ns: now, connection_wait_ns, ..Times::default() };
        slot.written = 0;
        slot.body_at = 0;
        slot.body_wrong = false;
        if slot.handle != NO_HANDLE {
            return self.send(books, index, now);
        }
        slot.framer.reset();
        match self.net.connect(u64::from(index)) {
            Ok((handle, state)) => {
                slot.handle = handle;
                slot.state = State::Connecting;
                books.connection_opened(now);
                if state == Connecting::Done {
                    let stamp = self.fresh_stamp(books);
                    if !books.over() {
                        self.established(books, index, stamp);
                    }
                }
            }
            Err(e) => self.fail(books, index, now, connect_error_kind(&e), || e.to_string()),
        }
    }

    /// A connect succeeded: its request's time to be answered begins.
    fn established(&mut self, books: &mut Books, index: u32, now: u64) {
        books.connection_established();
        self.deadlines.start(index, now);
        if let Err(e) = self.net.watch(self.slots[index as usize].handle, Interest::Read, u64::from(index)) {
            return self.fail(books, index, now, ErrorKind::ConnectFailed, || e.to_string());
        }
        self.send(books, index, now);
    }

    /// Writes the request, or what is left of it. The first write is at `now`.
    fn send(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        let first = slot.written == 0;
        if first {
            slot.times.sent_ns = now;
        }
        match self.net.send(slot.handle, &self.shared.request[slot.written..]) {
            Ok(count) => {
                if first {
                    books.sent();
                }
                slot.written += count;
                let was_writing = slot.state == State::Writing;
                slot.state =
                    if slot.written == self.shared.request.len() { State::Waiting } else { State::Writing };
                let is_writing = slot.state == State::Writing;
                if was_writing != is_writing {
                    self.watch_writing(books, index, is_writing, now);
                }
            }
            Err(e) if would_block(&e) => {
                if slot.state != State::Writing {
                    slot.state = State::Writing;
                    self.watch_writing(books, index, true, now);
                }
            }
            Err(e) => self.fail(books, index, now, stream_error_kind(&e), || format!("while sending: {e}")),
        }
    }

    fn watch_writing(&mut self, books: &mut Books, index: u32, writing: bool, now: u64) {
        let interest = if writing { Interest::ReadWrite } else { Interest::Read };
        if let Err(e) = self.net.watch(self.slots[index as usize].handle, interest, u64::from(index)) {
            self.fail(books, index, now, ErrorKind::Reset, || e.to_string());
        }
    }

    /// Takes one event. Once the window is over, nothing that comes counts.
    fn on_event(&mut self, books: &mut Books, token: u64) {
        if books.over() || self.linger.on_event(token, &mut self.net, &mut self.buffer) {
            return;
        }
        let index = token as u32;
        match self.slots[index as usize].state {
            State::Connecting => self.connected(books, index),
            State::Writing => {
                let now = self.fresh_stamp(books);
                if books.over() {
                    return;
                }
                self.send(books, index, now);
                // An answer may come before the request is whole (413, say).
                if matches!(self.slots[index as usize].state, State::Writing | State::Waiting) {
                    self.receive(books, index);
                }
            }
            State::Waiting => self.receive(books, index),
            State::Idle => self.idle_event(books, index),
            State::Unconnected | State::Preconnecting => {}
        }
        if !self.free.is_empty() {
            self.dispatch_due(books);
        }
    }

    fn connected(&mut self, books: &mut Books, index: u32) {
        let now = self.fresh_stamp(books);
        if books.over() {
            return;
        }
        match self.net.connect_result(self.slots[index as usize].handle) {
            Ok(()) => self.established(books, index, now),
            Err(e) => self.fail(books, index, now, connect_error_kind(&e), || e.to_string()),
        }
    }

    /// An idle connection became readable: the server closed it, or spoke unasked.
    fn idle_event(&mut self, books: &mut Books, index: u32) {
        let handle = self.slots[index as usize].handle;
        if let Err(e) = self.net.recv(handle, &mut self.buffer)
            && would_block(&e)
        {
            return;
        }
        let now = self.fresh_stamp(books);
        self.drop_connection(books, index, now);
    }

    fn receive(&mut self, books: &mut Books, index: u32) {
        let handle = self.slots[index as usize].handle;
        let got = match self.net.recv(handle, &mut self.buffer) {
            Err(e) if would_block(&e) => return,
            got => got,
        };
        let now = self.fresh_stamp(books);
        if books.over() {
            return;
        }
        let slot = &mut self.slots[index as usize];
        let count = match got {
            Ok(0) => {
                return match slot.framer.end_of_stream() {
                    Some(status) => self.answered(books, index, now, status, false),
                    None => self.fail(books, index, now, ErrorKind::ClosedEarly, closed_early),
                };
            }
            Ok(count) => count,
            Err(e) => {
                return self.fail(books, index, now, stream_error_kind(&e), || format!("while reading: {e}"));
            }
        };
        books.read(count);
        if slot.times.first_byte_ns == 0 {
            slot.times.first_byte_ns = now;
        }
        let (body_at, body_wrong) = (&mut slot.body_at, &mut slot.body_wrong);
        let expected = self.shared.expect.body.as_deref();
        let progress = slot.framer.feed(&self.buffer[..count], &mut |bytes: &[u8]| {
            if let Some(expected) = expected {
                let end = body_at.saturating_add(bytes.len());
                *body_wrong |= expected.get(*body_at..end) != Some(bytes);
                *body_at = end;
            }
        });
        match progress {
            Ok(Progress::More) => {}
            Ok(Progress::Done { consumed, status, reusable }) => {
                // Bytes beyond the answer belong to no request of ours.
                self.answered(books, index, now, status, reusable && consumed == count);
            }
            Err(e) => self.fail(books, index, now, ErrorKind::Protocol, || e.0.to_owned()),
        }
    }

    /// An answer is whole, its last byte at `now`.
    fn answered(&mut self, books: &mut Books, index: u32, now: u64, status: u16, reusable: bool) {
        books.answered(status);
        let expect = &self.shared.expect;
        let slot = &mut self.slots[index as usize];
        let body_right =
            expect.body.as_ref().is_none_or(|body| !slot.body_wrong && slot.body_at == body.len());
        if !expect.accepts_status(status) {
            books.failed(now, &slot.times, ErrorKind::UnexpectedStatus, || format!("status {status}"));
        } else if !body_right {
            let length = slot.body_at;
            books.failed(now, &slot.times, ErrorKind::BodyMismatch, || {
                format!("a body of {length} bytes that is not the one expected")
            });
        } else {
            books.completed(now, &slot.times);
        }
        slot.failures = 0;
        self.last_resolved_ns = now;
        self.deadlines.stop(index);
        slot.free_since_ns = now;
        let whole = slot.state == State::Waiting;
        slot.state = State::Idle;
        if !(reusable && whole && self.shared.keepalive) {
            self.let_go(books, index, now);
        }
        self.on_free(books, index, now);
    }

    /// Leaves the connection to the server to close, so that TIME_WAIT is the server's.
    fn let_go(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        let handle = std::mem::replace(&mut slot.handle, NO_HANDLE);
        slot.state = State::Unconnected;
        books.connection_closed(now);
        self.linger.take(handle, now, &mut self.net, &mut self.buffer);
    }

    fn drop_connection(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        slot.state = State::Unconnected;
        if slot.handle != NO_HANDLE {
            self.net.close(slot.handle);
            slot.handle = NO_HANDLE;
            books.connection_closed(now);
        }
    }

    /// The slot's request failed. Its connection is of no use; where the
    /// connection itself failed, the next one waits a little longer each time.
    fn fail(
        &mut self,
        books: &mut Books,
        index: u32,
        now: u64,
        kind: ErrorKind,
        message: impl FnOnce() -> String,
    ) {
        self.deadlines.stop(index);
        self.drop_connection(books, index, now);
        let slot = &mut self.slots[index as usize];
        books.failed(now, &slot.times, kind, message);
        slot.free_since_ns = now;
        self.last_resolved_ns = now;
        if kind == ErrorKind::RequestTimeout {
            self.restart.push_back(index);
            return;
        }
        let wait = BACKOFF_FIRST_NS << slot.failures.min(BACKOFF_DOUBLINGS_MAX);
        slot.failures += 1;
        self.backing_off.push(Reverse((now + wait, index)));
    }
}

fn closed_early() -> String {
    "the server closed the connection before its answer was whole".to_owned()
}

fn note_first(result: &mut Preconnected, kind: ErrorKind, message: String) {
    result.first_failure.get_or_insert((kind, message));
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn connect_error_kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => ErrorKind::ConnectRefused,
        Some(libc::ETIMEDOUT) => ErrorKind::ConnectTimeout,
        Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => ErrorKind::NoPorts,
        _ => ErrorKind::ConnectFailed,
    }
}

fn stream_error_kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ETIMEDOUT) => ErrorKind::RequestTimeout,
        _ => ErrorKind::Reset,
    }
}
