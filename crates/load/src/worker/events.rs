//! What connections bring: connects that end, answers, ends of streams, and
//! what follows for their requests.

use std::cmp::Reverse;
use std::io;

use crate::books::Books;
use crate::framing::Progress;
use crate::net::{NO_HANDLE, Net, would_block};
use crate::tls;
use prony_model::measurement::ErrorKind;

use super::slot::State;
use super::{Worker, connect_error_kind};

/// The first wait after a connection failed, doubled with each further failure of the slot.
const BACKOFF_FIRST_NS: u64 = 1_000_000;
/// The longest such wait: a second.
const BACKOFF_DOUBLINGS_MAX: u32 = 10;

/// What is left of a body that nobody looks at is dropped in the kernel from
/// this size on: below, the second system call costs more than the copy.
const DISCARD_MIN_BYTES: u64 = 8 << 10;
/// After an answer with such a body the next read takes little more than a
/// head, and leaves the body to be dropped.
const SHORT_READ_BYTES: usize = 2 << 10;
/// The most that is dropped at once: the receive queue holds no more.
const DISCARD_MAX_BYTES: u64 = 16 << 20;

/// Where this much or more of a body is left to be dropped, the connection wakes the worker once for
/// many packets (docs/decisions/0008).
const WAKE_LATE_BYTES: u64 = 256 << 10;
/// The most that may gather on a connection before it wakes the worker.
const WAKE_MAX_BYTES: u64 = 1 << 20;
/// The most on all of a worker's connections: it lies in the kernel's memory.
const WAKE_TOTAL_BYTES: u64 = 64 << 20;

/// What a read brought.
struct Read {
    /// 0 is the peer's end.
    count: usize,
    /// The kernel's stamp of the last byte.
    stamp_ns: Option<u64>,
    /// The bytes were dropped in the kernel.
    discarded: bool,
}

impl<N: Net> Worker<N> {
    /// Takes one event. Once the window is over, nothing that comes counts.
    pub(super) fn on_event(&mut self, books: &mut Books, token: u64) {
        if books.over() || self.linger.on_event(token, &mut self.net, &mut self.buffer) {
            return;
        }
        let index = token as u32;
        let slot = &self.slots[index as usize];
        match slot.state {
            State::Connecting => self.connected(books, index),
            State::Connected if slot.pending.is_empty() => self.idle_event(books, index),
            State::Connected => {
                if slot.unsent > 0 {
                    let now = self.fresh_stamp(books);
                    if books.over() {
                        return;
                    }
                    self.flush(books, index, now);
                }
                // An answer may come before the request is whole (413, say).
                let slot = &self.slots[index as usize];
                if slot.state == State::Connected && !slot.pending.is_empty() {
                    self.receive(books, index);
                }
            }
            State::Unconnected | State::Preconnecting => {}
        }
        if !self.free.is_empty() {
            self.dispatch_due(books);
        }
    }

    fn connected(&mut self, books: &mut Books, index: u32) {
        let connected = self.net.connect_result(self.slots[index as usize].handle);
        // Stamped after it: what a TLS handshake computes is of the wait for the connection.
        let now = self.fresh_stamp(books);
        if books.over() {
            return;
        }
        match connected {
            Ok(()) => self.established(books, index, now),
            Err(e) if would_block(&e) => {}
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
        let read = match self.read(index) {
            Err(e) if would_block(&e) => return,
            read => read,
        };
        let now = self.fresh_stamp(books);
        if books.over() {
            return;
        }
        match read {
            Ok(Read { count: 0, .. }) => self.end_of_stream(books, index, now),
            Ok(read) => {
                books.read(read.count);
                // Requests that follow from these answers go out together.
                self.corked = true;
                let now = self.take_answers(books, index, now, &read);
                self.corked = false;
                self.set_wake(index);
                let slot = &self.slots[index as usize];
                // What waits for room (perhaps on a new connection, younger than `now`) goes on waiting.
                if slot.state == State::Connected && !slot.watches_writing && !books.over() {
                    self.flush(books, index, now);
                }
            }
            Err(e) => self.fail(books, index, now, stream_error_kind(&e), || format!("while reading: {e}")),
        }
    }

    /// A long body that nobody looks at wakes the worker when much of it has come, or all of what is
    /// left of it, and never later: its last byte has the kernel's stamp, and is read at once.
    fn set_wake(&mut self, index: u32) {
        if !self.drops_bodies {
            return;
        }
        let most = (WAKE_TOTAL_BYTES / self.slots.len() as u64).min(WAKE_MAX_BYTES);
        let slot = &mut self.slots[index as usize];
        let left = slot.framer.body_left();
        let late = slot.wakes_at > 1 || (left >= WAKE_LATE_BYTES && most >= WAKE_LATE_BYTES);
        let wakes_at = if late { left.clamp(1, most) as u32 } else { 1 };
        if wakes_at != slot.wakes_at && slot.state == State::Connected {
            slot.wakes_at = wakes_at;
            self.net.wake_at(slot.handle, wakes_at);
        }
    }

    /// Reads what has arrived, or drops it where it is a body that nobody looks at.
    fn read(&mut self, index: u32) -> io::Result<Read> {
        let slot = &self.slots[index as usize];
        let droppable = if self.drops_bodies { slot.framer.body_left() } else { 0 };
        if droppable >= DISCARD_MIN_BYTES {
            let most = usize::try_from(droppable.min(DISCARD_MAX_BYTES)).unwrap_or(usize::MAX);
            let (count, stamp_ns) = self.net.discard(slot.handle, most)?;
            return Ok(Read { count, stamp_ns, discarded: true });
        }
        let short = self.reads_short && !slot.framer.in_progress();
        let most = if short { SHORT_READ_BYTES } else { self.buffer.len() };
        let (count, stamp_ns) = self.net.recv_stamped(slot.handle, &mut self.buffer[..most])?;
        Ok(Read { count, stamp_ns, discarded: false })
    }

    fn end_of_stream(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        if let (Some(status), Some(times)) = (slot.framer.end_of_stream(), slot.pending.front_mut()) {
            // Where the stream's end is the answer's, that is when it was seen.
            times.last_byte_ns = now;
            self.answered(books, index, now, status, false);
        } else {
            self.fail(books, index, now, ErrorKind::ClosedEarly, closed_early);
        }
    }

    /// Takes what was read at `now`: the rest of an answer, or several. Gives the instant to go on with, later than `now`
    /// where it opened a connection.
    fn take_answers(&mut self, books: &mut Books, index: u32, now: u64, read: &Read) -> u64 {
        let mut at = 0;
        loop {
            let slot = &mut self.slots[index as usize];
            let Some(times) = slot.pending.front_mut() else { return now };
            let begins = !slot.framer.in_progress();
            // No byte arrived before those that were read before it.
            let earliest = times.sent_ns.max(times.last_byte_ns);
            times.last_byte_ns = books.arrival(now, earliest, read.stamp_ns);
            let first = times.first_byte_ns == 0;
            if first {
                times.first_byte_ns = times.last_byte_ns;
            }
            let request = times.request;
            let (answers_head, listed) = match &self.shared.list {
                None => (self.shared.answers_head, false),
                Some(list) => (list.is_head(request), true),
            };
            let (body, expected) = (&mut slot.body, &self.shared.expect);
            let progress = if read.discarded {
                Ok(slot.framer.skip(read.count))
            } else {
                slot.framer.feed(
                    &self.buffer[at..read.count],
                    answers_head,
                    &mut self.heads,
                    &mut |bytes: &[u8]| body.take(expected, bytes),
                )
            };
            times.head_alone |= first && !slot.framer.went_beyond_head();
            match progress {
                Ok(Progress::More) => {
                    slot.note_bytes(read.count - at);
                    if listed {
                        books.read_of(request, read.count - at);
                    }
                    self.reads_short = self.drops_bodies && slot.framer.body_left() >= DISCARD_MIN_BYTES;
                    return now;
                }
                Ok(Progress::Done { consumed, status, reusable }) => {
                    let from = at;
                    at += consumed;
                    slot.note_bytes(consumed);
                    self.reads_short &= !begins;
                    let is_over = read.discarded || at == read.count;
                    // Bytes beyond the answer that no request of ours asked for end the connection.
                    let reusable = reusable && (is_over || slot.touched() > 1);
                    // So does an answer that is too late.
                    let goes_on = reusable && !slot.is_late(now, self.shared.timeout_ns);
                    if listed {
                        // Those count as its own: each byte that was read is of one request.
                        books.read_of(request, if goes_on { at } else { read.count } - from);
                    }
                    let later = self.answered(books, index, now, status, reusable);
                    if is_over || !goes_on || books.over() {
                        return later;
                    }
                }
                Err(e) => {
                    books.read_of(request, read.count - at);
                    self.fail(books, index, now, e.kind(), || e.0.to_owned());
                    return now;
                }
            }
        }
    }

    /// The oldest request's answer is whole, its last byte read at `now`. Gives the instant to go on with.
    fn answered(&mut self, books: &mut Books, index: u32, now: u64, status: u16, reusable: bool) -> u64 {
        let slot = &mut self.slots[index as usize];
        // The loop may have been kept from seeing in time that the time was over.
        if slot.is_late(now, self.shared.timeout_ns) {
            let message = self.timeout_message("request");
            self.fail(books, index, now, ErrorKind::RequestTimeout, || message);
            return now;
        }
        let whole = slot.pending.len() > slot.unsent;
        let Some(mut times) = slot.pending.pop_front() else { return now };
        times.status = status;
        if !whole {
            // Answered before it was written: what is left of it must not be.
            slot.unsent -= 1;
            slot.written = 0;
        }
        books.answered(status);
        let expect = &self.shared.expect;
        let body = slot.body.finish(expect);
        if !expect.accepts_status(status) {
            books.failed(now, &times, ErrorKind::UnexpectedStatus, || format!("status {status}"));
        } else if let Err(length) = body {
            books.failed(now, &times, ErrorKind::BodyMismatch, || {
                format!("a body of {length} bytes that is not the one expected")
            });
        } else {
            books.completed(now, &times);
        }
        slot.failures = 0;
        self.last_resolved_ns = now;
        match slot.pending.front() {
            None => self.deadlines.stop(index),
            Some(next) => slot.waiting_since_ns = next.asked_ns.max(slot.connected_ns),
        }
        let keeps = reusable && whole && self.shared.keepalive;
        let later = if keeps { now } else { self.let_go(books, index, now) };
        self.on_free(books, index, now, later);
        later
    }

    /// Leaves the connection to the server to close, so that TIME_WAIT is the
    /// server's. Requests written to it have failed; those that were not get a new one. Gives the instant to go on
    /// with: connecting takes its time.
    fn let_go(&mut self, books: &mut Books, index: u32, now: u64) -> u64 {
        let slot = &mut self.slots[index as usize];
        let touched = slot.touched();
        let handle = std::mem::replace(&mut slot.handle, NO_HANDLE);
        slot.state = State::Unconnected;
        slot.written = 0;
        books.connection_closed(now);
        self.linger.take(handle, now, &mut self.net, &mut self.buffer);
        self.fail_touched(books, index, now, touched);
        let slot = &mut self.slots[index as usize];
        let Some(oldest) = slot.pending.front_mut() else { return now };
        // Those that were never written are sent, and their time begins, with their own connect.
        oldest.sent_ns = 0;
        slot.waiting_since_ns = now;
        self.deadlines.start(index, now);
        self.connect(books, index, now);
        self.fresh_stamp(books)
    }

    /// Requests that were written, if only partly, behind the answer that ended the connection have failed.
    fn fail_touched(&mut self, books: &mut Books, index: u32, now: u64, touched: usize) {
        for _ in 0..touched {
            let slot = &mut self.slots[index as usize];
            let Some(times) = slot.pending.pop_front() else { break };
            slot.unsent = slot.unsent.min(slot.pending.len());
            books.failed(now, &times, ErrorKind::ClosedEarly, || {
                "the server ended the connection with an earlier answer of the pipeline".to_owned()
            });
            self.restart.push_back((index, now));
        }
        if self.slots[index as usize].pending.is_empty() {
            self.deadlines.stop(index);
        }
    }

    pub(super) fn drop_connection(&mut self, books: &mut Books, index: u32, now: u64) {
        if self.slots[index as usize].disconnect(&mut self.net) {
            books.connection_closed(now);
        }
    }

    /// The slot's requests failed. Its connection is of no use; where the
    /// connection itself failed, the next one waits a little longer each time.
    pub(super) fn fail(
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
        if kind != ErrorKind::RequestTimeout {
            slot.retry_at_ns = now + (BACKOFF_FIRST_NS << slot.failures.min(BACKOFF_DOUBLINGS_MAX));
            slot.failures += 1;
        }
        let retry_at_ns = slot.retry_at_ns;
        slot.unsent = 0;
        slot.body.reset();
        slot.framer.reset(&mut self.heads);
        let mut message = Some(message);
        while let Some(times) = slot.pending.pop_front() {
            let first = message.take();
            // Those behind one that timed out have not, and will have no answer.
            let behind = first.is_none() && kind == ErrorKind::RequestTimeout;
            let kind = if behind { ErrorKind::Abandoned } else { kind };
            books.failed(now, &times, kind, || match first {
                Some(message) => message(),
                None if behind => "an earlier request of the connection's pipeline timed out".to_owned(),
                None => String::new(),
            });
            if retry_at_ns > now {
                self.backing_off.push(Reverse((retry_at_ns, index)));
            } else {
                self.restart.push_back((index, now));
            }
        }
        self.last_resolved_ns = now;
    }
}

fn closed_early() -> String {
    "the server closed the connection before its answer was whole".to_owned()
}

pub(super) fn stream_error_kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ETIMEDOUT) => ErrorKind::RequestTimeout,
        _ if error.kind() == io::ErrorKind::UnexpectedEof => ErrorKind::ClosedEarly,
        _ if tls::failure::is_tls(error) => ErrorKind::Tls,
        _ => ErrorKind::Reset,
    }
}
