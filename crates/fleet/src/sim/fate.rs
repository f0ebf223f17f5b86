//! What a seed's network and machines do.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::{MS, S};
use crate::protocol::{BEAT_NS, BEAT_UNANSWERED_NS, LEASE_NS};

#[derive(Debug)]
pub(super) struct Chance(pub(super) ChaCha8Rng);

impl Chance {
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.next_u64() % (high - low + 1)
    }

    pub(super) fn per_mille(&mut self, share: u64) -> bool {
        self.between(1, 1000) <= share
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Fate {
    pub(super) agents: usize,
    pub(super) duration_ns: u64,
    pub(super) lost_per_mille: u64,
    pub(super) doubled_per_mille: u64,
    pub(super) delay_ns: u64,
    /// Messages that are held back for seconds.
    pub(super) held_per_mille: u64,
    /// Of all messages of this agent, either way, from and until.
    pub(super) cuts: Vec<(usize, u64, u64)>,
    /// This agent does nothing from and until: SIGSTOP, SIGCONT.
    pub(super) stops: Vec<(usize, u64, u64)>,
    pub(super) deaths: Vec<(usize, u64)>,
    pub(super) controller_dies_ns: Option<u64>,
    pub(super) stop_asked_ns: Option<u64>,
    pub(super) unable: Option<usize>,
}

impl Fate {
    pub(super) fn of_seed(chance: &mut Chance) -> Fate {
        let agents = chance.between(1, 4) as usize;
        let mut fate = Fate {
            agents,
            duration_ns: chance.between(1, 12) * S / 2,
            lost_per_mille: [0, 0, 20, 200][chance.between(0, 3) as usize],
            doubled_per_mille: [0, 30, 300][chance.between(0, 2) as usize],
            delay_ns: [MS / 10, 2 * MS, 60 * MS, 200 * MS][chance.between(0, 3) as usize],
            held_per_mille: [0, 0, 0, 30][chance.between(0, 3) as usize],
            ..Fate::default()
        };
        let any =
            |chance: &mut Chance| (chance.between(0, agents as u64 - 1) as usize, chance.between(0, 9 * S));
        if chance.per_mille(400) {
            let ((agent, from), length) = (any(chance), chance.between(100 * MS, 8 * S));
            fate.cuts.push((agent, from, from + length));
        }
        if chance.per_mille(250) {
            let ((agent, from), length) = (any(chance), chance.between(100 * MS, 9 * S));
            fate.stops.push((agent, from, from + length));
        }
        if chance.per_mille(200) {
            fate.deaths.push(any(chance));
        }
        if chance.per_mille(100) {
            fate.controller_dies_ns = Some(chance.between(0, 9 * S));
        }
        if chance.per_mille(150) {
            fate.stop_asked_ns = Some(chance.between(0, 9 * S));
        }
        if chance.per_mille(50) {
            fate.unable = Some(any(chance).0);
        }
        fate
    }

    /// How long an agent may be cut off. Its lease lasts from the last question that was answered. That may be a beat older than
    /// the cut, and older by the way of an answer that did not come; once the way is there, the next question and its answer take
    /// theirs. Where messages are lost, three more beats may have been.
    fn healed_within_ns(&self) -> u64 {
        let beats = if self.lost_per_mille > 0 { 4 * BEAT_NS } else { BEAT_NS };
        LEASE_NS - beats - BEAT_UNANSWERED_NS - 3 * self.delay_ns - 20 * MS
    }

    /// Nothing happens that the protocol does not have to bear without a loss.
    pub(super) fn is_mild(&self) -> bool {
        let short = |(_, from, until): &(usize, u64, u64)| until - from <= self.healed_within_ns();
        self.deaths.is_empty()
            && self.controller_dies_ns.is_none()
            && self.unable.is_none()
            && self.lost_per_mille <= 20
            && self.held_per_mille == 0
            && self.cuts.len() + self.stops.len() <= 1
            && self.cuts.iter().all(short)
            // While it starts, an agent that does not react is missed at once, and rightly.
            && self.stops.iter().all(|stop| short(stop) && stop.1 > 3 * S)
            && self.cuts.iter().all(|cut| cut.1 > 3 * S)
            && self.delay_ns <= 60 * MS
    }
}
