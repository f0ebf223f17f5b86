//! How what came is read: copied, or dropped in the kernel where it is a body that nobody looks at.

use std::io;

use crate::codec::Codec;
use crate::codec::requests::Requests;
use crate::net::{Net, would_block};
use crate::recorder::Recorder;

use super::Worker;
use super::events::stream_error_kind;
use super::slot::State;

/// What is left of a body that nobody looks at is dropped in the kernel from
/// this size on: below, the second system call costs more than the copy.
pub(super) const DISCARD_MIN_BYTES: u64 = 8 << 10;
/// After an answer with such a body the next read takes little more than a
/// head, and leaves the body to be dropped.
const SHORT_READ_BYTES: usize = 2 << 10;
/// The same where bodies come in frames: enough for the heads that stand between two of them.
const SHORT_FRAMED_READ_BYTES: usize = 256;
/// The most reads of one connection before the next one's turn, where its bodies come in frames: about as much as one
/// read that copies.
const READS_MAX: u32 = 16;
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
pub(super) struct Read {
    /// 0 is the peer's end.
    pub(super) count: usize,
    /// The kernel's stamp of the last byte.
    pub(super) stamp_ns: Option<u64>,
    /// The bytes were dropped in the kernel.
    pub(super) discarded: bool,
    /// As much came as was asked for, and less was asked for than there may be.
    goes_on: bool,
}

impl<N: Net, C: Codec> Worker<N, C> {
    /// Reads what came. Bodies of several frames are dropped frame by frame, of which a few are there mostly: no wait is
    /// between them.
    pub(super) fn receive(&mut self, recorder: &mut Recorder, index: u32) {
        let mut reads = 1;
        while self.receive_once(recorder, index) && reads < READS_MAX {
            reads += 1;
        }
    }

    /// Reads once; says whether there is surely more, on the same slot.
    fn receive_once(&mut self, recorder: &mut Recorder, index: u32) -> bool {
        let read = match self.read(index) {
            Err(e) if would_block(&e) => return false,
            read => read,
        };
        let now = self.fresh_stamp(recorder);
        if recorder.over() {
            return false;
        }
        match read {
            Ok(Read { count: 0, .. }) => self.end_of_stream(recorder, index, now),
            Ok(read) => {
                recorder.read(read.count);
                // Requests that follow from these answers go out together.
                self.corked = true;
                let (at, now) = self.take_answers(recorder, index, now, &read);
                self.corked = false;
                self.unpark(at, now);
                self.set_wake(at);
                let slot = &self.slots[at as usize];
                // What waits for room (perhaps on a new connection, younger than `now`) goes on waiting.
                if slot.state == State::Connected && !slot.watches_writing && !recorder.over() {
                    self.flush(recorder, at, now);
                }
                self.close_if_drained(recorder, at, now);
                if C::Requests::IN_ORDER || !read.goes_on || at != index || recorder.over() {
                    return false;
                }
                let slot = &self.slots[index as usize];
                return slot.state == State::Connected && !slot.requests.is_empty();
            }
            Err(e) => {
                self.fail(recorder, index, now, stream_error_kind(&e), || format!("while reading: {e}"));
            }
        }
        false
    }

    /// A long body that nobody looks at wakes the worker when much of it has come, or all of what is
    /// left of it, and never later: its last byte has the kernel's stamp, and is read at once.
    fn set_wake(&mut self, index: u32) {
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
    fn read(&mut self, index: u32) -> io::Result<Read> {
        let slot = &self.slots[index as usize];
        let droppable = if self.drops_bodies { self.codec.body_left(&slot.connection) } else { 0 };
        if droppable >= DISCARD_MIN_BYTES {
            let most = usize::try_from(droppable.min(DISCARD_MAX_BYTES)).unwrap_or(usize::MAX);
            let (count, stamp_ns) = self.net.discard(slot.handle, most)?;
            return Ok(Read { count, stamp_ns, discarded: true, goes_on: count == most });
        }
        let short = self.reads_short && !self.codec.in_progress(&slot.connection);
        let head = if C::Requests::IN_ORDER { SHORT_READ_BYTES } else { SHORT_FRAMED_READ_BYTES };
        let most = if short { head + droppable as usize } else { self.buffer.len() };
        let (count, stamp_ns) = self.net.recv_stamped(slot.handle, &mut self.buffer[..most])?;
        Ok(Read { count, stamp_ns, discarded: false, goes_on: short && count == most })
    }
}
