//! What connections bring: connects that end, reads, ends of streams, and failures; `answers` has what bytes mean.

use std::cmp::Reverse;
use std::io;

use crate::codec::requests::{RequestPlace, Requests};
use crate::codec::{Codec, Unasked};
use crate::net::{Handle, Net, would_block};
use crate::recorder::Recorder;
use crate::tls;
use prony_model::measurement::ErrorKind;

use super::slot::State;
use super::{Worker, connect_error_kind};

/// The first wait after a connection failed, doubled with each further failure of the slot.
const BACKOFF_FIRST_NS: u64 = 1_000_000;
/// The longest such wait: a second.
const BACKOFF_DOUBLINGS_MAX: u32 = 10;

/// A connect that took less was not repeated: the kernel waits a second (RFC 6298, 2.1), of which it may round some off.
const RETRIED_NS: u64 = 900_000_000;

/// From this size on the rest of an unexamined body is dropped in the kernel: below, the call costs more than the copy.
pub(super) const DISCARD_MIN_BYTES: u64 = 8 << 10;
/// After an answer with such a body the next read takes little more than a head; the body is left to be dropped.
const SHORT_READ_BYTES: usize = 2 << 10;
/// The most that is dropped at once: the receive queue holds no more.
const DISCARD_MAX_BYTES: u64 = 16 << 20;

/// From so much of a body to be dropped on, a connection wakes the worker once for many packets (docs/decisions/0008).
const WAKE_LATE_BYTES: u64 = 256 << 10;
/// The most that may gather on a connection before it wakes the worker.
const WAKE_MAX_BYTES: u64 = 1 << 20;
/// The most on all of a worker's connections: it lies in the kernel's memory.
const WAKE_TOTAL_BYTES: u64 = 64 << 20;

pub(super) struct Read {
    /// 0 is the peer's end.
    pub(super) count: usize,
    pub(super) stamp_ns: Option<u64>,
    pub(super) discarded: bool,
}

#[derive(Debug, Default)]
pub(super) struct Over {
    /// How many bytes came.
    pub(super) read: usize,
    /// They are what no request asked for.
    pub(super) unasked: bool,
    pub(super) why: Option<io::Error>,
}

impl<N: Net, C: Codec> Worker<N, C> {
    /// Takes one event. Once the window is over, nothing that comes counts.
    pub(super) fn on_event(&mut self, recorder: &mut Recorder, token: u64) {
        if recorder.over() {
            return;
        }
        if let Some(talks) = self.closing.on_event(token, &mut self.net, &mut self.buffer) {
            recorder.run.unasked += u64::from(talks);
            return;
        }
        let index = token as u32;
        let slot = &mut self.slots[index as usize];
        match slot.state {
            State::Connecting => self.connected(recorder, index),
            State::Connected if slot.requests.is_empty() => self.idle_event(recorder, index),
            State::Connected => {
                if self.codec.has_output(&mut slot.connection) {
                    let now = self.fresh_stamp(recorder);
                    if recorder.over() {
                        return;
                    }
                    self.flush(recorder, index, now);
                }
                // An answer may come before the request is whole (413, say).
                let slot = &self.slots[index as usize];
                if slot.state == State::Connected && !slot.requests.is_empty() {
                    self.receive(recorder, index);
                }
            }
            State::Unconnected | State::Preconnecting => {}
        }
        if !self.free.is_empty() {
            self.dispatch_due(recorder);
        }
    }

    fn connected(&mut self, recorder: &mut Recorder, index: u32) {
        let connected = self.net.connect_result(self.slots[index as usize].handle);
        // Stamped after it: what a TLS handshake computes is of the wait for the connection.
        let now = self.fresh_stamp(recorder);
        if recorder.over() {
            return;
        }
        match connected {
            Ok(()) => {
                let slot = &self.slots[index as usize];
                let took_ns = slot.oldest().map_or(0, |(_, since_ns)| now.saturating_sub(since_ns));
                recorder.run.retried += u64::from(was_retried(&self.net, slot.handle, took_ns));
                self.established(recorder, index, now);
            }
            Err(e) if would_block(&e) => {}
            Err(e) => self.fail(recorder, index, now, connect_error_kind(&e), || e.to_string()),
        }
    }

    /// An idle connection became readable: the server closed it, or spoke unasked; or it has room to write again.
    fn idle_event(&mut self, recorder: &mut Recorder, index: u32) {
        match self.read_idle(index) {
            Ok(0) if !self.slots[index as usize].watches_writing => {}
            Ok(count) => {
                let now = self.fresh_stamp(recorder);
                // Where a count ends the load, the window ends with the instant of the last answer.
                if recorder.over() || (self.all_done(recorder) && now > self.last_resolved_ns) {
                    return;
                }
                recorder.read(count);
                recorder.read_of_none(count);
                self.restart_waiting(index, now);
                self.flush(recorder, index, now);
            }
            Err(over) => {
                let now = self.fresh_stamp(recorder);
                recorder.run.unasked += u64::from(over.unasked);
                if over.why.is_none() && !over.unasked {
                    self.note_end(recorder, index, now);
                }
                if !recorder.over() && !self.all_done(recorder) {
                    recorder.read(over.read);
                    recorder.read_of_none(over.read);
                    let said = self.send_goaway(index, now);
                    recorder.wrote(said);
                }
                self.drop_connection(recorder, index, now);
            }
        }
    }

    /// Reads what came on a connection without requests, and gives how many bytes; 0 where there was nothing.
    pub(super) fn read_idle(&mut self, index: u32) -> Result<usize, Over> {
        let slot = &mut self.slots[index as usize];
        match self.net.recv(slot.handle, &mut self.buffer) {
            Ok(0) => Err(Over::default()),
            Ok(count) => match self.codec.take_unasked(&mut slot.connection, &self.buffer[..count]) {
                Unasked::GoesOn => Ok(count),
                // What is no frame of the protocol's own is not counted as bytes of the load.
                unasked => Err(Over {
                    read: if C::MULTIPLEXED { count } else { 0 },
                    unasked: unasked == Unasked::Wrong,
                    why: None,
                }),
            },
            Err(e) if would_block(&e) => Ok(0),
            Err(e) => Err(Over { why: Some(e), ..Over::default() }),
        }
    }

    #[inline(always)] // its one caller is the worker's loop
    fn receive(&mut self, recorder: &mut Recorder, index: u32) {
        let read = match self.read(index) {
            Err(e) if would_block(&e) => return,
            read => read,
        };
        let now = self.fresh_stamp(recorder);
        if recorder.over() {
            return;
        }
        match read {
            Ok(Read { count: 0, .. }) => self.end_of_stream(recorder, index, now),
            Ok(read) => {
                recorder.read(read.count);
                // Requests that follow from these answers go out together.
                self.corked = Some(index);
                let (index, now) = self.take_answers(recorder, index, now, &read);
                self.corked = None;
                let waits = C::DRAINS && !C::PLAIN && self.slots[index as usize].waiting_for_stream > 0;
                let index = if waits { self.drain_if_spent(recorder, index, now) } else { index };
                self.restart_waiting(index, now);
                self.set_wake(index);
                let slot = &self.slots[index as usize];
                // What waits for room (perhaps on a new connection, younger than `now`) goes on waiting.
                if slot.state == State::Connected && !slot.watches_writing && !recorder.over() {
                    self.flush(recorder, index, now);
                }
                self.close_if_drained(recorder, index, now);
            }
            Err(e) => {
                self.fail(recorder, index, now, stream_error_kind(&e), || format!("while reading: {e}"));
            }
        }
    }

    /// A long unexamined body wakes the worker when much or all of it has come, never later: its last byte is stamped.
    // A call costs some 30 instructions a response (callgrind); the other caller is cold.
    #[inline(always)]
    pub(super) fn set_wake(&mut self, index: u32) {
        if !self.drops_bodies {
            return;
        }
        let most = (WAKE_TOTAL_BYTES / self.slots.len() as u64).min(WAKE_MAX_BYTES);
        let slot = &mut self.slots[index as usize];
        let left = self.codec.body_left(&slot.connection);
        let late = slot.wakes_at > 1 || (left >= WAKE_LATE_BYTES && most >= WAKE_LATE_BYTES);
        let wakes_at = if late { left.clamp(1, most) as u32 } else { 1 };
        if wakes_at != slot.wakes_at && slot.state == State::Connected {
            slot.wakes_at = wakes_at;
            self.net.wake_at(slot.handle, wakes_at);
        }
    }

    /// Reads what has arrived, or drops it where it is a body that nobody looks at.
    // A call costs some 30 instructions a response (callgrind); the other caller is cold.
    #[inline(always)]
    pub(super) fn read(&mut self, index: u32) -> io::Result<Read> {
        let slot = &self.slots[index as usize];
        let droppable = if self.drops_bodies { self.codec.body_left(&slot.connection) } else { 0 };
        if droppable >= DISCARD_MIN_BYTES {
            let most = usize::try_from(droppable.min(DISCARD_MAX_BYTES)).unwrap_or(usize::MAX);
            let (count, stamp_ns) = self.net.discard(slot.handle, most)?;
            return Ok(Read { count, stamp_ns, discarded: true });
        }
        let short = self.reads_short && !self.codec.in_progress(&slot.connection);
        let most = if short { SHORT_READ_BYTES } else { self.buffer.len() };
        let (count, stamp_ns) = self.net.recv_stamped(slot.handle, &mut self.buffer[..most])?;
        Ok(Read { count, stamp_ns, discarded: false })
    }

    fn end_of_stream(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        let ended = self.codec.end_of_stream(&mut slot.connection);
        if let Some((place, status)) = ended
            && let Some(times) = slot.requests.get_mut(place)
        {
            // Where the stream's end is the answer's, that is when it was seen.
            times.last_byte_ns = now;
            self.answered(recorder, index, place, now, status, false);
        } else {
            if index < self.connections {
                self.note_end(recorder, index, now);
            }
            self.fail(recorder, index, now, ErrorKind::ClosedEarly, closed_early);
        }
    }

    /// The server ended the slot's connection, or takes no more requests on it.
    #[cold]
    pub(super) fn note_end(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        if let Some(carried) = self.slots[index as usize].carried(&self.codec) {
            recorder.server_ended(now, carried);
        }
    }

    /// Leaves the connection to the server to close, so that TIME_WAIT is the server's. Requests written to it have
    /// failed; others get a new one. Gives the instant to go on with: connecting takes its time.
    pub(super) fn let_go(&mut self, recorder: &mut Recorder, index: u32, now: u64) -> u64 {
        let slot = &mut self.slots[index as usize];
        let begun = self.codec.forget_begun(&mut slot.connection);
        let handle = slot.let_go();
        recorder.connection_closed(now);
        let talks = self.closing.take(handle, now, &mut self.net, &mut self.buffer);
        recorder.run.unasked += u64::from(talks);
        self.fail_begun(recorder, index, now, begun);
        self.restart_waiting(index, now);
        let slot = &mut self.slots[index as usize];
        let Some(oldest) = slot.requests.first().and_then(|place| slot.requests.get_mut(place)) else {
            return now;
        };
        // Those that were never written are sent, and their time begins, with their own connect.
        oldest.sent_ns = 0;
        slot.time_from_ns = now;
        self.connect(recorder, index, now);
        self.fresh_stamp(recorder)
    }

    /// Requests that were begun, the oldest ones, behind the answer that ended the connection have failed.
    fn fail_begun(&mut self, recorder: &mut Recorder, index: u32, now: u64, begun: usize) {
        for _ in 0..begun {
            let slot = &mut self.slots[index as usize];
            let Some(times) = slot.requests.first().and_then(|place| slot.requests.remove(place)) else {
                break;
            };
            recorder.failed(now, &times, ErrorKind::ClosedEarly, || {
                "the server ended the connection with an earlier response of the pipeline".to_owned()
            });
            self.restart.push_back((index, now));
        }
    }

    pub(super) fn fail_one(
        &mut self,
        recorder: &mut Recorder,
        index: u32,
        place: RequestPlace,
        now: u64,
        kind: ErrorKind,
        message: impl FnOnce() -> String,
    ) {
        let slot = &mut self.slots[index as usize];
        slot.requests.body(place).reset();
        if let Some(times) = slot.requests.remove(place) {
            recorder.failed(now, &times, kind, message);
            self.restart.push_back((index, now));
        }
        self.last_resolved_ns = now;
    }

    pub(super) fn drop_connection(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        if self.slots[index as usize].disconnect(&mut self.net) {
            recorder.connection_closed(now);
        }
        self.note_flow_blocked(recorder, index, now);
        self.restart_waiting(index, now);
    }

    /// The slot's requests failed. If the connection itself failed, the next one waits a little longer each time.
    pub(super) fn fail(
        &mut self,
        recorder: &mut Recorder,
        index: u32,
        now: u64,
        kind: ErrorKind,
        message: impl FnOnce() -> String,
    ) {
        self.drop_connection(recorder, index, now);
        let slot = &mut self.slots[index as usize];
        if kind != ErrorKind::RequestTimeout {
            slot.retry_at_ns = now + (BACKOFF_FIRST_NS << slot.failures.min(BACKOFF_DOUBLINGS_MAX));
            slot.failures += 1;
        }
        let retry_at_ns = slot.retry_at_ns;
        self.codec.forget_all(&mut slot.connection);
        let mut message = Some(message);
        while let Some(place) = slot.requests.first() {
            slot.requests.body(place).reset();
            let Some(times) = slot.requests.remove(place) else { break };
            let first = message.take();
            // Those behind one that timed out have not, and will have no answer.
            let behind = first.is_none() && kind == ErrorKind::RequestTimeout;
            let kind = if behind { ErrorKind::Abandoned } else { kind };
            recorder.failed(now, &times, kind, || match first {
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
        self.restart_waiting(index, now);
        self.drain_behind(recorder, index, now);
    }
}

/// Whether a connect that took so long was repeated by the kernel: its first repetition is after a second.
pub(super) fn was_retried(net: &impl Net, handle: Handle, took_ns: u64) -> bool {
    took_ns >= RETRIED_NS && net.was_retried(handle)
}

fn closed_early() -> String {
    "the server closed the connection before its response was complete".to_owned()
}

pub(super) fn stream_error_kind(error: &io::Error) -> ErrorKind {
    match error.raw_os_error() {
        Some(libc::ETIMEDOUT) => ErrorKind::RequestTimeout,
        _ if error.kind() == io::ErrorKind::UnexpectedEof => ErrorKind::ClosedEarly,
        _ if tls::failure::is_tls(error) => ErrorKind::Tls,
        _ => ErrorKind::Reset,
    }
}
