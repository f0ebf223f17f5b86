//! One worker: one thread, one event loop, its own connections and books.
//!
//! The loop reads the clock once per answer: the stamp of an answer's last
//! byte is also the instant at which a closed loop's next request is due and
//! sent. Failures never start the next request by themselves; they queue the
//! slot, so that a server that fails everything cannot make the loop recurse.
//!
//! This file has the loop and what is due by time; `events` what connections
//! bring, `preconnect` what comes before the clock.

mod events;
mod preconnect;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::books::{Books, ClosedBooks, Edges, SecondSink};
use crate::control::Control;
use crate::deadlines::Deadlines;
use crate::framing::Framer;
use crate::linger::Linger;
use crate::measurement::ErrorKind;
use crate::net::{Connecting, Handle, Interest, NO_HANDLE, Net};
use crate::pace::Share;
use crate::parts::Times;
use crate::plan::Expect;
use crate::tls;

use events::stream_error_kind;
pub(crate) use preconnect::Preconnected;

/// One read takes at most this much. Answers of a page fit whole, and the
/// buffer, shared by all connections of a worker, stays in the L2 cache.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// The loop looks at the stop flag at least this often.
const TICK_NS: u64 = 100_000_000;
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
    /// Set when the load is given up because another worker failed.
    pub(crate) given_up: AtomicBool,
    /// Connections that each worker may leave to the server to close.
    pub(crate) linger_max: usize,
    pub(crate) control: Control,
    /// Where TLS is spoken.
    pub(crate) tls: Option<tls::Setup>,
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
            linger: Linger::new(shared.linger_max),
            buffer: vec![0; READ_BUFFER_BYTES],
            start_ns: 0,
            last_resolved_ns: 0,
            shared,
            gauge,
        }
    }

    /// Runs the schedule from `start_ns` to its end.
    pub(crate) fn run(mut self, start_ns: u64, edges: Edges, sink: SecondSink) -> io::Result<ClosedBooks> {
        let connected = self.slots.iter().filter(|s| s.handle != NO_HANDLE).count() as u64;
        self.start_ns = start_ns;
        self.last_resolved_ns = start_ns;
        // Before the clock starts: it allocates some megabytes.
        let mut books = Books::open(start_ns, edges, connected, self.net.stamps(), sink);
        let mut now = self.net.now_ns();
        while now < start_ns && !self.shared.control.stop_asked() {
            self.net.wait(now, start_ns)?;
            now = self.net.now_ns();
        }
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
            if books.over() || self.all_done(&books) || self.shared.given_up.load(Ordering::Relaxed) {
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
        let closed = match self.source {
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
        };
        ClosedBooks { tls: self.net.tls(), ..closed }
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
        let what = match what {
            "connect" if self.shared.tls.is_some() => "connect with its TLS handshake",
            what => what,
        };
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
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
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
