//! What connections bring: connects that end, answers, ends of streams, and
//! what follows for their requests.

use std::cmp::Reverse;
use std::io;

use crate::books::Books;
use crate::framing::Progress;
use crate::measurement::ErrorKind;
use crate::net::{NO_HANDLE, Net};

use super::{State, Worker, connect_error_kind, would_block};

/// The first wait after a connection failed, doubled with each further failure of the slot.
const BACKOFF_FIRST_NS: u64 = 1_000_000;
/// The longest such wait: a second.
const BACKOFF_DOUBLINGS_MAX: u32 = 10;

impl<N: Net> Worker<N> {
    /// Takes one event. Once the window is over, nothing that comes counts.
    pub(super) fn on_event(&mut self, books: &mut Books, token: u64) {
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
        let got = match self.net.recv_stamped(handle, &mut self.buffer) {
            Err(e) if would_block(&e) => return,
            got => got,
        };
        let now = self.fresh_stamp(books);
        if books.over() {
            return;
        }
        let slot = &mut self.slots[index as usize];
        let (count, stamp) = match got {
            Ok((0, _)) => {
                // Where the stream's end is the answer's, that is when it was seen.
                slot.times.last_byte_ns = now;
                return match slot.framer.end_of_stream() {
                    Some(status) => self.answered(books, index, now, status, false),
                    None => self.fail(books, index, now, ErrorKind::ClosedEarly, closed_early),
                };
            }
            Ok(got) => got,
            Err(e) => {
                return self.fail(books, index, now, stream_error_kind(&e), || format!("while reading: {e}"));
            }
        };
        books.read(count);
        // No byte arrived before those that were read before it.
        let earliest = slot.times.sent_ns.max(slot.times.last_byte_ns);
        slot.times.last_byte_ns = books.arrival(now, earliest, stamp);
        if slot.times.first_byte_ns == 0 {
            slot.times.first_byte_ns = slot.times.last_byte_ns;
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

    /// An answer is whole, its last byte read at `now`.
    fn answered(&mut self, books: &mut Books, index: u32, now: u64, status: u16, reusable: bool) {
        // The loop may have been kept from seeing in time that the time was over.
        if self.deadlines.is_over(index, now) {
            let message = self.timeout_message("request");
            return self.fail(books, index, now, ErrorKind::RequestTimeout, || message);
        }
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

    pub(super) fn drop_connection(&mut self, books: &mut Books, index: u32, now: u64) {
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

pub(super) fn stream_error_kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ETIMEDOUT) => ErrorKind::RequestTimeout,
        _ => ErrorKind::Reset,
    }
}
