//! What the simulated server does.

use crate::net::Handle;

use super::answer::{Answer, Deed, Then};
use super::connection::Coming;
use super::nature::{Mischief, Service};
use super::world::{Event, World};

/// A peer answers bytes for a closed connection with a reset within this time.
const RESET_WITHIN_NS: u64 = 50_000;
/// Answers come in at most so many pieces, unless they dribble.
const PIECES_MAX: u64 = 6;

impl World {
    /// Bytes of a request of so many reach the server at once.
    pub(super) fn receive(&mut self, handle: Handle, count: usize, length: usize) {
        let (now, half_closed) = (self.now_ns, self.nature.half_closed);
        let connection = self.of(handle);
        connection.received += count;
        let whole = connection.received == length;
        let first_part = connection.received == count && !whole;
        if whole {
            connection.received = 0;
            self.arrived_whole += 1;
        }
        let connection = self.of(handle);
        if connection.server_done {
            // Its last answer goes out before.
            let done = now.max(connection.quiet_from_ns);
            let after = self.chance.between(1, RESET_WITHIN_NS);
            if !half_closed {
                self.schedule(done + after, handle, Event::Reset);
            }
        } else if whole {
            connection.unanswered += 1;
            self.schedule(now, handle, Event::Asked);
        } else if first_part && self.chance.per_mille(self.nature.early_per_mille) {
            let after = self.chance.between(1, self.nature.drain_ns.max(1));
            self.schedule(now + after, handle, Event::Early);
        }
    }

    /// Where a request is still not whole, the server answers it all the same.
    pub(super) fn answer_early(&mut self, at_ns: u64, handle: Handle) {
        let connection = self.of(handle);
        if connection.received > 0 && !connection.server_done {
            self.say(at_ns, handle, &Answer::early(), Deed::Good);
        }
    }

    /// A request is whole: the server does what it does.
    pub(super) fn answer(&mut self, at_ns: u64, handle: Handle) {
        let connection = self.of(handle);
        connection.unanswered -= 1;
        if connection.server_done {
            return;
        }
        let deed = self.chance.pick(&self.nature.deeds);
        let mut begin = match self.nature.service {
            Service::Parallel { low_ns, high_ns } => at_ns + self.chance.between(low_ns, high_ns),
            Service::Queue { low_ns, high_ns } => {
                let begun = at_ns.max(self.server_free_ns);
                self.server_free_ns = begun + self.chance.between(low_ns, high_ns);
                self.server_free_ns
            }
            Service::Silence { silent_ns, period_ns, service_ns } => {
                let phase = at_ns.saturating_sub(self.truth.start_ns) % period_ns;
                at_ns + silent_ns.saturating_sub(phase) + service_ns
            }
            Service::Known(delays) => at_ns + delays.of(self.served),
        };
        self.served += 1;
        if deed == Deed::Slow {
            begin += self.truth.timeout_ns + self.chance.between(0, self.truth.timeout_ns);
        }
        match Answer::of(deed, &mut self.chance) {
            // It will neither answer nor read on.
            None => self.of(handle).quiet_from_ns = u64::MAX,
            Some(answer) => {
                let answer = self.as_far_as_it_goes(handle, answer);
                self.say(begin, handle, &answer, deed);
            }
        }
    }

    fn as_far_as_it_goes(&self, handle: Handle, answer: Answer) -> Answer {
        let Some((most, then)) = self.nature.cut else { return answer };
        let left = most - self.get(handle).map_or(0, |connection| connection.said);
        match answer.bytes.len() < left {
            true => answer,
            false => Answer { then, ..answer.cut_at(left) },
        }
    }

    fn say(&mut self, begin_ns: u64, handle: Handle, answer: &Answer, deed: Deed) {
        let connection = self.of(handle);
        let mut at = begin_ns.max(connection.quiet_from_ns);
        if at == u64::MAX {
            return;
        }
        let length = answer.bytes.len();
        connection.said += length;
        connection.coming.push_back(Coming::of(answer));
        let mut rest = answer.bytes.as_slice();
        let mut pieces = self.pieces(deed, rest.len());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(pieces.pop().unwrap_or(rest.len()).min(rest.len()));
            let stamp = self.kernel_stamp(at);
            self.schedule(at, handle, Event::Bytes(piece.to_vec(), stamp));
            rest = after;
            if !rest.is_empty() {
                at += self.gap(deed, length);
            }
        }
        self.of(handle).quiet_from_ns = at;
        if deed == Deed::Chatty {
            let gap = if self.chance.per_mille(500) { 0 } else { self.gap(Deed::Good, 1) };
            let junk = Answer::junk();
            let connection = self.of(handle);
            connection.coming.push_back(Coming::of(&junk));
            connection.quiet_from_ns = at + gap;
            let stamp = self.kernel_stamp(at + gap);
            self.schedule(at + gap, handle, Event::Bytes(junk.bytes, stamp));
        }
        match answer.then {
            Then::Open => self.tempt(at, handle),
            Then::Close => self.finish(at, handle, Event::End),
            Then::Reset => self.finish(at, handle, Event::Reset),
        }
    }

    fn finish(&mut self, at_ns: u64, handle: Handle, how: Event) {
        let gap = if self.chance.per_mille(500) { 0 } else { self.gap(Deed::Good, 1) };
        self.of(handle).server_done = true;
        self.schedule(at_ns + gap, handle, how);
    }

    /// The sizes of an answer's pieces, the last first.
    fn pieces(&mut self, deed: Deed, length: usize) -> Vec<usize> {
        if deed == Deed::Dribble {
            return vec![1; length];
        }
        if length == 0 || !self.chance.per_mille(self.nature.pieces_per_mille) {
            return vec![length];
        }
        let count = self.chance.between(2, PIECES_MAX);
        (0..count).map(|_| self.chance.size(1, length)).collect()
    }

    fn gap(&mut self, deed: Deed, length: usize) -> u64 {
        if deed == Deed::Dribble {
            // Some of these answers are whole in time, and some are not.
            return self.chance.between(1, 2 * self.truth.timeout_ns / length.max(1) as u64);
        }
        self.chance.between(0, self.nature.piece_gap_ns)
    }

    fn kernel_stamp(&mut self, at_ns: u64) -> Option<u64> {
        let stamps = self.nature.stamps?;
        if self.chance.per_mille(stamps.missing_per_mille) {
            return None;
        }
        if self.chance.per_mille(stamps.absurd_per_mille) {
            let far = self.chance.between(1, 10_000_000_000);
            return Some(if self.chance.per_mille(500) { at_ns + far } else { at_ns.saturating_sub(far) });
        }
        at_ns.checked_add_signed(stamps.offset_ns)
    }

    /// The server thinks of what it may do to a connection that stays idle.
    pub(super) fn tempt(&mut self, at_ns: u64, handle: Handle) {
        let mischief = self.chance.pick(&self.nature.mischief);
        if mischief != Mischief::None {
            let after = self.chance.between(0, self.nature.mischief_ns);
            self.schedule(at_ns + after, handle, Event::Mischief(mischief));
        }
    }

    pub(super) fn do_mischief(&mut self, at_ns: u64, handle: Handle, mischief: Mischief) {
        if !self.of(handle).is_idle(at_ns) {
            return;
        }
        match mischief {
            Mischief::None => {}
            Mischief::Close => self.finish(at_ns, handle, Event::End),
            Mischief::Reset => self.finish(at_ns, handle, Event::Reset),
            Mischief::Talk => {
                let junk = Answer::junk();
                let stamp = self.kernel_stamp(at_ns);
                let connection = self.of(handle);
                connection.coming.push_back(Coming::of(&junk));
                connection.arrive(junk.bytes, stamp);
            }
        }
    }
}
