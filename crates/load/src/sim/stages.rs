//! When connections of stages are in use, by definition: j begins when the level reaches j, ends when it falls to j.

use prony_model::plan::{Arrivals, Plan};
use prony_model::rate::Stage;
use prony_model::units::nanoseconds;

/// A worker's connections under a plan's stages. Instants are after the start.
#[derive(Debug)]
pub(super) struct InUse {
    legs: Vec<Leg>,
    worker: u64,
    workers: u64,
}

#[derive(Debug, Clone, Copy)]
struct Leg {
    start_ns: u64,
    length_ns: u64,
    from: u64,
    to: u64,
}

impl InUse {
    /// `None`: the plan has no such stages.
    pub(super) fn of(plan: &Plan, worker: u32) -> Option<InUse> {
        let Arrivals::ConnectionStages(stages) = &plan.arrivals else { return None };
        let (mut start_ns, mut from) = (0, 0);
        let leg = |stage: &Stage| {
            let leg = Leg { start_ns, length_ns: nanoseconds(stage.duration), from, to: stage.to };
            (start_ns, from) = (start_ns + leg.length_ns, stage.to);
            leg
        };
        let legs = stages.iter().map(leg).collect();
        Some(InUse { legs, worker: worker.into(), workers: plan.threads.into() })
    }

    pub(super) fn slots(&self) -> usize {
        let highest = self.legs.iter().map(|leg| leg.to).max().unwrap_or(0);
        (self.worker..highest).step_by(self.workers as usize).count()
    }

    fn number(&self, slot: usize) -> u64 {
        self.worker + self.workers * slot as u64
    }

    pub(super) fn is(&self, slot: usize, at_ns: u64) -> bool {
        let j = self.number(slot);
        let Some(leg) = self.legs.iter().rfind(|leg| leg.start_ns <= at_ns) else { return false };
        let passed = at_ns - leg.start_ns;
        if passed >= leg.length_ns {
            return j < leg.to;
        }
        // Both sides in connections × nanoseconds.
        let moved = u128::from(leg.from.abs_diff(leg.to)) * u128::from(passed);
        let away = u128::from(leg.from.abs_diff(j)) * u128::from(leg.length_ns);
        match leg.to > leg.from {
            true => j < leg.from || (j < leg.to && away <= moved),
            false => j < leg.from && away > moved,
        }
    }

    fn beginnings(&self, slot: usize) -> impl Iterator<Item = u64> {
        let j = self.number(slot);
        let rising = self.legs.iter().filter(move |leg| (leg.from..leg.to).contains(&j));
        let begins = rising.map(move |leg| {
            let away = u128::from(j - leg.from) * u128::from(leg.length_ns);
            leg.start_ns + away.div_ceil(u128::from(leg.to - leg.from)) as u64
        });
        // One that ends at the same instant is none.
        begins.filter(move |at| self.is(slot, *at))
    }

    /// The first instant from `at_ns` on at which it is in use.
    pub(super) fn next_ns(&self, slot: usize, at_ns: u64) -> Option<u64> {
        match self.is(slot, at_ns) {
            true => Some(at_ns),
            false => self.beginnings(slot).find(|begins| *begins >= at_ns),
        }
    }

    pub(super) fn began_ns(&self, slot: usize, at_ns: u64) -> u64 {
        self.beginnings(slot).take_while(|begins| *begins <= at_ns).last().expect("it is in use")
    }
}
