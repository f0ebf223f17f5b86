//! The agent's part of the protocol, pure: what it hears and does becomes messages and acts.

use std::collections::VecDeque;

use prony_model::clock::{Clock, Offset};

use crate::protocol::{
    AGAIN_NS, Answer, BEAT_NS, BEAT_SOON_NS, BEAT_UNANSWERED_NS, Beat, LEASE_NS, Order, Phase, SAMPLES,
    UNANSWERED_NS, Up,
};

const BEATS_MAX: usize = 512;

/// An agent that hears of its start later than this before it cannot be sure to make it.
const ARM_AHEAD_NS: u64 = 20_000_000;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act<J> {
    /// Begin to prepare this load: connect, and wait for its start.
    Prepare(Box<J>),
    /// The load starts at this instant of the agent's clock, unless nothing is lent by then.
    StartAt(u64),
    /// The load may send until this instant of the agent's clock.
    Lend(u64),
    StopAt(u64),
    Abandon,
    Leave,
}

#[derive(Debug)]
struct Unconfirmed<P> {
    what: P,
    is_last: bool,
    sent_ns: Option<u64>,
}

impl<P> Unconfirmed<P> {
    fn due_ns(&self) -> u64 {
        self.sent_ns.map_or(0, |at| at + AGAIN_NS)
    }
}

#[derive(Debug)]
pub(crate) struct Agent<P> {
    beats: VecDeque<(u64, u64)>,
    number: u64,
    next_beat_ns: u64,
    trial: u32,
    phase: Phase,
    failure: Option<String>,
    is_connected: bool,
    start_ns: u64,
    lease_ns: u64,
    clock: Clock,
    pieces: VecDeque<Unconfirmed<P>>,
    first_piece: u64,
    /// The last piece is among those that were measured.
    has_last: bool,
}

impl<P: Clone> Default for Agent<P> {
    fn default() -> Agent<P> {
        Agent {
            beats: VecDeque::new(),
            number: 0,
            next_beat_ns: 0,
            trial: 0,
            phase: Phase::Idle,
            failure: None,
            is_connected: false,
            start_ns: 0,
            lease_ns: 0,
            clock: Clock::default(),
            pieces: VecDeque::new(),
            first_piece: 0,
            has_last: false,
        }
    }
}

impl<P: Clone> Agent<P> {
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn trial(&self) -> u32 {
        self.trial
    }

    pub(crate) fn offset(&self, now_ns: u64) -> Option<Offset> {
        self.clock.offset(now_ns)
    }

    /// Whether the clocks were compared often enough since [`Agent::prepared`] or [`Agent::ended`].
    pub(crate) fn knows_clock(&self) -> bool {
        self.clock.samples() >= SAMPLES
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether the controller has all pieces of its load's result, the last one included, or it has none.
    pub(crate) fn is_all_confirmed(&self) -> bool {
        self.pieces.is_empty() && (self.has_last || self.first_piece == 0)
    }

    pub(crate) fn rests(&self) -> bool {
        self.phase == Phase::Idle
            || (self.phase == Phase::Ended && self.knows_clock() && self.pieces.is_empty())
    }

    fn beat_every_ns(&self, now_ns: u64) -> u64 {
        match self.phase {
            _ if self.rests() => BEAT_NS,
            Phase::Running if now_ns + LEASE_NS < self.lease_ns + UNANSWERED_NS => BEAT_NS,
            Phase::Running => BEAT_UNANSWERED_NS,
            _ => BEAT_SOON_NS,
        }
    }

    pub(crate) fn prepared(&mut self) {
        self.is_connected = true;
    }

    pub(crate) fn measured(&mut self, what: P, is_last: bool) {
        self.has_last |= is_last;
        self.pieces.push_back(Unconfirmed { what, is_last, sent_ns: None });
    }

    /// Its load has ended, or could not be applied for this reason. Clocks are compared anew.
    pub(crate) fn ended(&mut self, failure: Option<String>) {
        if matches!(self.phase, Phase::Idle | Phase::Ended) {
            return;
        }
        self.failure = failure;
        self.phase = Phase::Ended;
        self.next_beat_ns = 0;
        self.clock.restart();
    }

    pub(crate) fn next_ns(&self) -> u64 {
        let pieces = self.pieces.iter().map(Unconfirmed::due_ns).min().unwrap_or(u64::MAX);
        let lease = if self.phase == Phase::Running { self.lease_ns } else { u64::MAX };
        self.next_beat_ns.min(pieces).min(lease)
    }

    pub(crate) fn say(&mut self, now_ns: u64) -> Vec<Up<P>> {
        let mut said = Vec::new();
        if self.phase == Phase::Preparing && self.is_connected && self.knows_clock() {
            self.phase = Phase::Ready;
        }
        if self.phase == Phase::Running && now_ns >= self.lease_ns {
            self.ended(Some(
                "its connection to the controller was lost for longer than its lease".to_owned(),
            ));
        }
        if now_ns >= self.next_beat_ns {
            self.number += 1;
            if self.beats.len() == BEATS_MAX {
                self.beats.pop_front();
            }
            self.beats.push_back((self.number, now_ns));
            self.next_beat_ns = now_ns + self.beat_every_ns(now_ns);
            said.push(Up::Beat(Beat {
                number: self.number,
                trial: self.trial,
                phase: self.phase,
                failure: self.failure.clone(),
                clock: self.clock.offset(now_ns),
            }));
        }
        let (trial, first) = (self.trial, self.first_piece);
        for (sequence, piece) in (first..).zip(&mut self.pieces) {
            if now_ns >= piece.due_ns() {
                piece.sent_ns = Some(now_ns);
                said.push(Up::Piece { trial, sequence, is_last: piece.is_last, what: piece.what.clone() });
            }
        }
        said
    }

    pub(crate) fn hear<J>(&mut self, now_ns: u64, answer: Answer<J>) -> Vec<Act<J>> {
        let mut acts = Vec::new();
        // Each beat's first answer counts: an answer that comes again says nothing of the clock, and no beat is that old.
        let Some(place) = self.beats.iter().position(|(number, _)| *number == answer.number) else {
            return acts;
        };
        let Some((_, asked_ns)) = self.beats.remove(place) else { return acts };
        if now_ns > self.expiry_ns(now_ns, asked_ns, answer.clock_ns, answer.expires_ns) {
            return acts;
        }
        self.clock.add(asked_ns, answer.clock_ns, now_ns);
        if self.phase == Phase::Running && now_ns < self.lease_ns {
            self.lease_ns = self.lease_ns.max(asked_ns + LEASE_NS);
            acts.push(Act::Lend(self.lease_ns));
        }
        if answer.trial > self.trial {
            if let Order::Prepare(Some(job)) = answer.order {
                if !matches!(self.phase, Phase::Idle | Phase::Ended) {
                    acts.push(Act::Abandon);
                }
                self.begin(answer.trial);
                acts.push(Act::Prepare(job));
            } else if matches!(answer.order, Order::Leave) {
                acts.push(Act::Leave);
            }
            return acts;
        }
        if matches!(answer.order, Order::Leave) {
            acts.push(Act::Leave);
        }
        if answer.trial == self.trial {
            while self.first_piece < answer.confirmed && self.pieces.pop_front().is_some() {
                self.first_piece += 1;
            }
            self.obey(now_ns, asked_ns, &answer.order, &mut acts);
        }
        if !self.knows_clock() && !matches!(self.phase, Phase::Idle | Phase::Running) {
            self.next_beat_ns = now_ns;
        }
        acts
    }

    /// When an answer to what it asked then expires, by its own clock and no later: by what it knows of the controller's
    /// clock; before it knows anything, as if it had been answered when it asked.
    fn expiry_ns(&self, now_ns: u64, asked_ns: u64, answered_ns: u64, expires_ns: u64) -> u64 {
        match self.clock.offset(now_ns) {
            Some(offset) => offset.to_own(expires_ns).saturating_sub(offset.bound_ns),
            None => asked_ns.saturating_add(expires_ns.saturating_sub(answered_ns)),
        }
    }

    fn obey<J>(&mut self, now_ns: u64, asked_ns: u64, order: &Order<J>, acts: &mut Vec<Act<J>>) {
        match (order, self.phase) {
            (Order::Arm(at_ns), Phase::Ready) => {
                let at_ns = self.clock.offset(now_ns).map_or(0, |offset| offset.to_own(*at_ns));
                if at_ns > now_ns + ARM_AHEAD_NS {
                    (self.start_ns, self.phase, self.next_beat_ns) = (at_ns, Phase::Armed, now_ns);
                    acts.push(Act::StartAt(at_ns));
                }
            }
            (Order::Go, Phase::Armed) if now_ns < self.start_ns => {
                (self.phase, self.lease_ns, self.next_beat_ns) =
                    (Phase::Running, asked_ns + LEASE_NS, now_ns);
                acts.push(Act::Lend(self.lease_ns));
            }
            (Order::Go, Phase::Armed) => {
                self.ended(Some("the start message reached it too late".to_owned()));
                acts.push(Act::Abandon);
            }
            (Order::Stop(since_start_ns), Phase::Running) => {
                acts.push(Act::StopAt(self.start_ns.saturating_add(*since_start_ns)));
            }
            (Order::Abort, Phase::Preparing | Phase::Ready | Phase::Armed | Phase::Running) => {
                self.ended(Some("the controller cancelled the load".to_owned()));
                acts.push(Act::Abandon);
            }
            _ => {}
        }
    }

    fn begin(&mut self, trial: u32) {
        (self.trial, self.phase, self.failure) = (trial, Phase::Preparing, None);
        (self.is_connected, self.start_ns, self.lease_ns, self.next_beat_ns) = (false, 0, 0, 0);
        self.pieces.clear();
        (self.first_piece, self.has_last) = (0, false);
        self.clock.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// What an agent does that asks at 10 s of its clock and hears this order `late_ns` after it; the controller's clock is
    /// 100 s ahead, which the agent knows where it `has_compared`.
    fn acts(order: Order<u8>, trial: u32, late_ns: u64, has_compared: bool) -> Vec<Act<u8>> {
        let mut agent: Agent<u8> = Agent::default();
        let mut answer = |asked_ns: u64, heard_ns: u64, order, trial| {
            agent.next_beat_ns = 0;
            let said = agent.say(asked_ns);
            let Some(Up::Beat(Beat { number, .. })) = said.first() else { panic!("{said:?}") };
            let clock_ns = asked_ns + 100 * S;
            let expires_ns = clock_ns + LEASE_NS;
            agent.hear(heard_ns, Answer { number: *number, clock_ns, expires_ns, trial, order, confirmed: 0 })
        };
        if has_compared {
            assert!(answer(9 * S, 9 * S, Order::Wait, 0).is_empty());
        }
        answer(10 * S, 10 * S + late_ns, order, trial)
    }

    #[test]
    fn an_order_that_has_expired_is_not_obeyed() {
        for has_compared in [false, true] {
            let prepared = |late_ns| acts(Order::Prepare(Some(Box::new(1))), 1, late_ns, has_compared);
            // The clocks are known within 100 ppm.
            assert_eq!(prepared(LEASE_NS - S / 1000), [Act::Prepare(Box::new(1))]);
            assert!(prepared(LEASE_NS + 1).is_empty());
            assert_eq!(acts(Order::Leave, 0, 3 * S, has_compared), [Act::Leave]);
            assert!(acts(Order::Leave, 0, LEASE_NS + 1, has_compared).is_empty());
        }
    }
}
