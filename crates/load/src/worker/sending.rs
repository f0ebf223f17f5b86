//! From a due request to its bytes in the socket.

use crate::books::Books;
use crate::net::{Connecting, Interest, Net, would_block};
use crate::parts::Times;
use crate::turns::Turns;
use prony_model::measurement::ErrorKind;

use super::events::stream_error_kind;
use super::slot::State;
use super::{OUTGOING_BYTES, Worker, connect_error_kind};

impl<N: Net> Worker<N> {
    /// Starts a request on a slot at `now`.
    pub(super) fn begin(
        &mut self,
        books: &mut Books,
        index: u32,
        intended_ns: u64,
        connection_wait_ns: u64,
        now: u64,
    ) {
        books.dispatched(now, connection_wait_ns);
        self.net.begun(u64::from(index));
        let slot = &mut self.slots[index as usize];
        if slot.pending.is_empty() {
            slot.waiting_since_ns = now;
            self.deadlines.start(index, now);
        }
        let request = self.turns.as_mut().map_or(0, Turns::take);
        let times = Times { intended_ns, asked_ns: now, connection_wait_ns, request, ..Times::default() };
        slot.pending.push_back(times);
        slot.unsent += 1;
        match slot.state {
            State::Unconnected => self.connect(books, index, now),
            State::Connected if !self.corked => self.flush(books, index, now),
            State::Connected | State::Connecting | State::Preconnecting => {}
        }
    }

    /// Opens the slot's connection, for the requests that wait on it.
    pub(super) fn connect(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        slot.framer.reset(&mut self.heads);
        slot.written = 0;
        match self.net.connect(u64::from(index)) {
            Ok((handle, connecting)) => {
                slot.handle = handle;
                slot.wakes_at = 1;
                slot.state = State::Connecting;
                books.connection_opened(now);
                if connecting == Connecting::Done {
                    let stamp = self.fresh_stamp(books);
                    if !books.over() {
                        self.connection_stands(books, index, stamp);
                    }
                }
            }
            Err(e) => self.fail(books, index, now, connect_error_kind(&e), || e.to_string()),
        }
    }

    /// A pending connect succeeded.
    pub(super) fn established(&mut self, books: &mut Books, index: u32, now: u64) {
        let handle = self.slots[index as usize].handle;
        match self.net.watch(handle, Interest::Read, u64::from(index)) {
            Ok(()) => self.connection_stands(books, index, now),
            Err(e) => self.fail(books, index, now, ErrorKind::ConnectFailed, || e.to_string()),
        }
    }

    /// A connection is there and watched for answers: its requests' time to be answered begins.
    fn connection_stands(&mut self, books: &mut Books, index: u32, now: u64) {
        books.connection_established();
        self.deadlines.start(index, now);
        let slot = &mut self.slots[index as usize];
        (slot.waiting_since_ns, slot.connected_ns) = (now, now);
        slot.state = State::Connected;
        slot.watches_writing = false;
        self.flush(books, index, now);
    }

    /// Writes what is unsent, in one call; what does not fit waits for room.
    pub(super) fn flush(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        if slot.unsent == 0 {
            return;
        }
        if self.shared.list.is_some() {
            return self.flush_listed(books, index, now);
        }
        let length = self.shared.request.len();
        // The request stands in it as often as a connection may carry it at once.
        let bytes = &self.shared.requests[slot.written..slot.unsent * length];
        let first = slot.pending.len() - slot.unsent;
        if slot.written == 0 {
            // Just before its first write, whatever comes of that.
            slot.pending[first].sent_ns = now;
        }
        match self.net.send(slot.handle, bytes) {
            Ok(count) => {
                books.wrote(count);
                let end = slot.written + count;
                let (whole, touched) = (end / length, end.div_ceil(length));
                let begun_before = usize::from(slot.written > 0);
                for times in slot.pending.range_mut(first + begun_before..first + touched) {
                    times.sent_ns = now;
                    books.sent();
                }
                slot.unsent -= whole;
                slot.written = end % length;
            }
            Err(e) if would_block(&e) => {}
            Err(e) => {
                return self.fail(books, index, now, stream_error_kind(&e), || format!("while sending: {e}"));
            }
        }
        if (slot.unsent > 0) != slot.watches_writing {
            self.watch_for_room(books, index, now);
        }
    }

    /// [`Worker::flush`] where requests differ: one is written as it stands, several are put together first. Apart from
    /// it, so that a load without a list pays a branch and no more.
    #[inline(never)]
    fn flush_listed(&mut self, books: &mut Books, index: u32, now: u64) {
        let Some(list) = &self.shared.list else { return };
        let slot = &mut self.slots[index as usize];
        let mut at = slot.pending.len() - slot.unsent;
        if slot.written == 0 {
            slot.pending[at].sent_ns = now;
        }
        let mut bytes = &list.bytes(slot.pending[at].request)[slot.written..];
        if slot.unsent > 1 && bytes.len() < OUTGOING_BYTES {
            self.outgoing.clear();
            self.outgoing.extend_from_slice(bytes);
            for times in slot.pending.range(at + 1..) {
                let next = list.bytes(times.request);
                if self.outgoing.len() + next.len() > OUTGOING_BYTES {
                    break;
                }
                self.outgoing.extend_from_slice(next);
            }
            bytes = &self.outgoing;
        }
        match self.net.send(slot.handle, bytes) {
            Ok(mut count) => {
                books.wrote(count);
                while count > 0 {
                    let times = &mut slot.pending[at];
                    if slot.written == 0 {
                        times.sent_ns = now;
                        books.sent_of(times.request);
                    }
                    let left = list.bytes(times.request).len() - slot.written;
                    if count < left {
                        slot.written += count;
                        break;
                    }
                    count -= left;
                    slot.written = 0;
                    slot.unsent -= 1;
                    at += 1;
                }
            }
            Err(e) if would_block(&e) => {}
            Err(e) => {
                return self.fail(books, index, now, stream_error_kind(&e), || format!("while sending: {e}"));
            }
        }
        if (slot.unsent > 0) != slot.watches_writing {
            self.watch_for_room(books, index, now);
        }
    }

    /// Watches the connection for room to write while something is unsent, and no longer.
    fn watch_for_room(&mut self, books: &mut Books, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        slot.watches_writing = slot.unsent > 0;
        let interest = if slot.watches_writing { Interest::ReadWrite } else { Interest::Read };
        if let Err(e) = self.net.watch(slot.handle, interest, u64::from(index)) {
            self.fail(books, index, now, ErrorKind::Reset, || e.to_string());
        }
    }
}
