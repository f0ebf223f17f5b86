//! Where a worker's requests come from.

use crate::engine::Division;
use crate::pace::{Ramp, Schedule};
use crate::recorder::window_delta::Shard;
use prony_model::plan::Arrivals;

#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The next is due when the last is answered; so many are left.
    Closed { left: u64 },
    /// As closed, on as many slots as the ramp says.
    Ramped { left: u64, users: Users },
    /// Due when the schedule says, whatever the server does.
    Open(Schedule),
}

impl Source {
    /// The source of `worker` (from 0), which is one of this shard's.
    pub(crate) fn of(division: &Division<'_>, worker: u32, shard: Shard) -> Source {
        let (plan, workers, requests) = (division.plan, shard.of, division.requests(worker));
        if let Arrivals::ConnectionStages(stages) = &plan.arrivals {
            let (worker, workers) = (u64::from(worker), u64::from(workers));
            let users = Users { ramp: Ramp::new(stages), worker, workers, begun: 0 };
            return Source::Ramped { left: requests, users };
        }
        match division.schedule(worker, shard) {
            Some(schedule) => Source::Open(schedule),
            None => Source::Closed { left: requests },
        }
    }

    /// Whether the count of requests is reached. (A ramp that is over goes on to its duration's end.)
    pub(super) fn is_exhausted(&self) -> bool {
        match self {
            Source::Closed { left } | Source::Ramped { left, .. } => *left == 0,
            Source::Open(schedule) => schedule.reached_limit(),
        }
    }
}

/// A worker's slots while their number follows a ramp: the i-th is the ramp's connection w + i · W.
#[derive(Debug, Clone)]
pub(crate) struct Users {
    ramp: Ramp,
    worker: u64,
    workers: u64,
    /// Slots 0 to this have begun and not ended.
    begun: u64,
}

impl Users {
    pub(crate) fn slots(&self) -> u64 {
        self.share(self.ramp.highest())
    }

    fn share(&self, of_all: u64) -> u64 {
        of_all.saturating_sub(self.worker).div_ceil(self.workers)
    }

    /// Whether a slot is in use at `at_ns` after the start. One that is not has ended, and those above it.
    pub(super) fn is_active(&mut self, slot: u32, at_ns: u64) -> bool {
        let active = self.share(self.ramp.active(at_ns));
        self.begun = self.begun.min(active);
        u64::from(slot) < active
    }

    pub(super) fn began_ns(&self, slot: u32, at_ns: u64) -> u64 {
        self.ramp.began_ns(self.worker + u64::from(slot) * self.workers, at_ns)
    }

    /// When the next slot begins, not before `at_ns`.
    pub(super) fn next_ns(&self, at_ns: u64) -> Option<u64> {
        self.ramp.begins_ns(self.worker + self.begun * self.workers, at_ns)
    }

    /// The next slot begun by `at_ns`, and when; call until there is none. Slots beyond a fallen ramp count as ended.
    pub(super) fn begin(&mut self, at_ns: u64) -> Option<(u32, u64)> {
        let active = self.share(self.ramp.active(at_ns));
        if self.begun >= active {
            self.begun = active;
            return None;
        }
        let slot = self.begun;
        self.begun += 1;
        let began = self.ramp.began_ns(self.worker + slot * self.workers, at_ns);
        Some((u32::try_from(slot).ok()?, began))
    }
}
