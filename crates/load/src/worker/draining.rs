//! Connections that take no more requests while theirs are answered: another takes what was not processed.

use crate::codec::Codec;
use crate::codec::requests::{RequestPlace, Requests};
use crate::net::{Interest, NO_HANDLE, Net};
use crate::recorder::Recorder;
use prony_model::measurement::ErrorKind;

use super::Worker;
use super::slot::State;

/// A request is sent in vain so often at most: a server that takes none would be asked for ever.
const MOVES_MAX: u8 = 3;

impl<N: Net, C: Codec> Worker<N, C> {
    /// The slot whose requests come next on the connection that stands at this one, or in its stead.
    pub(super) fn home(&self, index: u32) -> u32 {
        if C::DRAINS && index >= self.connections { index - self.connections } else { index }
    }

    /// The slot's connection takes no more requests. An earlier one that is done makes room; gives its new place.
    pub(super) fn drain(&mut self, recorder: &mut Recorder, index: u32, now: u64) -> u32 {
        let beside = index + self.connections;
        if index >= self.connections || self.slots[beside as usize].handle != NO_HANDLE {
            return index;
        }
        if self.slots[index as usize].left > 0 {
            self.note_end(recorder, index, now);
        }
        let (slots, draining) = self.slots.split_at_mut(beside as usize);
        let (slot, old) = (&mut slots[index as usize], &mut draining[0]);
        std::mem::swap(&mut slot.handle, &mut old.handle);
        std::mem::swap(&mut slot.state, &mut old.state);
        std::mem::swap(&mut slot.watches_writing, &mut old.watches_writing);
        std::mem::swap(&mut slot.time_from_ns, &mut old.time_from_ns);
        std::mem::swap(&mut slot.requests, &mut old.requests);
        std::mem::swap(&mut slot.connection, &mut old.connection);
        std::mem::swap(&mut slot.wakes_at, &mut old.wakes_at);
        std::mem::swap(&mut slot.flow_blocked, &mut old.flow_blocked);
        std::mem::swap(&mut slot.left, &mut old.left);
        if let Some((_, since_ns)) = old.oldest() {
            self.deadlines.start(beside, since_ns);
        }
        let interest = if old.watches_writing { Interest::ReadWrite } else { Interest::Read };
        if let Err(e) = self.net.watch(old.handle, interest, u64::from(beside)) {
            self.fail(recorder, beside, now, ErrorKind::Reset, || e.to_string());
        }
        self.restart_waiting(index, now);
        beside
    }

    /// A request was surely not processed: it goes over the next connection, unless that has been so too often.
    pub(super) fn move_on(&mut self, recorder: &mut Recorder, index: u32, place: RequestPlace, now: u64) {
        let home = self.home(index);
        let slot = &mut self.slots[index as usize];
        if slot.requests.get(place).is_none_or(|times| times.moves >= MOVES_MAX) {
            return self.fail_one(recorder, index, place, now, ErrorKind::Refused, || {
                format!("{MOVES_MAX} connections ended without processing it")
            });
        }
        slot.requests.body(place).reset();
        let Some(mut times) = slot.requests.remove(place) else { return };
        recorder.moved();
        (times.sent_ns, times.first_byte_ns, times.last_byte_ns) = (0, 0, 0);
        (times.read_bytes, times.head_alone) = (0, false);
        times.moves += 1;
        let rendered = self.codec.take_back(&mut slot.connection, place);
        self.moved.push_back((home, times, rendered));
    }

    /// Requests that were moved go over their slot's next connection, where the last one is out of its way.
    pub(super) fn resend_moved(&mut self, recorder: &mut Recorder) {
        for _ in 0..self.moved.len() {
            let Some((index, times, rendered)) = self.moved.pop_front() else { return };
            let now = self.fresh_stamp(recorder);
            self.drain_if_spent(recorder, index, now);
            let slot = &mut self.slots[index as usize];
            let waits = slot.left == 0 || slot.state == State::Connected && slot.is_spent(&self.codec);
            if waits || recorder.over() {
                self.moved.push_back((index, times, rendered));
                continue;
            }
            let since_ns = slot.runs_since_ns(&times);
            let place = slot.requests.add(times);
            slot.left -= 1;
            self.codec.submit_again(&mut slot.connection, place, times.request, rendered);
            let state = slot.state;
            self.deadlines.start(index, since_ns);
            match state {
                State::Unconnected => self.connect(recorder, index, now),
                State::Connected => self.flush(recorder, index, now),
                State::Connecting | State::Preconnecting => {}
            }
        }
    }

    /// A connection that takes no more requests and has none left is closed.
    pub(super) fn close_if_drained(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let slot = &self.slots[index as usize];
        if C::DRAINS
            && slot.state == State::Connected
            && slot.requests.is_empty()
            && slot.is_spent(&self.codec)
        {
            if slot.left == 0 && !slot.watches_writing {
                self.say_farewell(recorder, index, now);
            }
            self.drop_connection(recorder, index, now);
            self.drain_behind(recorder, index, now);
        }
    }

    /// Where this was a draining connection that is closed now, the one that stands in its stead may drain.
    pub(super) fn drain_behind(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let home = self.home(index);
        if home != index && self.slots[home as usize].waiting_for_stream > 0 {
            self.drain_if_spent(recorder, home, now);
        }
    }

    /// Tells the peer that the connection has carried all of its requests, and leaves it to the peer to close: who closes
    /// first keeps the port for a minute.
    fn say_farewell(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let Worker { net, codec, slots, closing, .. } = self;
        let slot = &mut slots[index as usize];
        let words = codec.farewell();
        if let Ok(count) = net.send(slot.handle, words) {
            recorder.wrote(count);
            // Else it is closed at once.
            if count == words.len() {
                closing.leave(std::mem::replace(&mut slot.handle, NO_HANDLE), now, net);
            }
        }
    }

    /// A connection that has its last request makes room for another, where requests wait for it and it has unanswered ones.
    pub(super) fn drain_if_spent(&mut self, recorder: &mut Recorder, index: u32, now: u64) -> u32 {
        let slot = &self.slots[index as usize];
        let is_full = C::DRAINS && slot.left == 0 && slot.state == State::Connected;
        if is_full && !slot.requests.is_empty() { self.drain(recorder, index, now) } else { index }
    }

    /// Tells the peer why its connection is closed, as far as that fits into the socket; gives how many bytes that took.
    pub(super) fn send_goaway(&mut self, index: u32, now: u64) -> usize {
        let Worker { net, codec, slots, closing, .. } = self;
        let slot = &mut slots[index as usize];
        let words = codec.goaway_bytes(&mut slot.connection);
        if words.is_empty() {
            return 0;
        }
        let said = net.send(slot.handle, words).unwrap_or(0);
        closing.read_on(std::mem::replace(&mut slot.handle, NO_HANDLE), now, net);
        said
    }
}
