//! One worker's arrivals in their order.

use std::sync::Arc;

use prony_model::rate::Rate;
use prony_model::replay::Replay;

use super::request_order::Places;
use super::{Poisson, Ramp};
use prony_model::plan::Arrivals;

/// The arrivals of worker w of W: w, w + W, w + 2W, … of the whole schedule's, or of those that are its origin's.
#[derive(Debug, Clone)]
pub struct Schedule {
    course: Course,
    worker: u64,
    workers: u64,
    /// Arrivals of all these workers, at most.
    limit: u64,
    taken: u64,
    next_ns: Option<u64>,
}

#[derive(Debug, Clone)]
enum Course {
    Constant(Rate),
    Ramp(Ramp),
    Replay(Replay),
    /// A stream, which every worker walks whole; `walked` instants were drawn.
    Poisson {
        rate: Rate,
        seed: u64,
        stream: Box<Poisson>,
        walked: u64,
    },
    Own {
        places: Arc<Places>,
        of: Box<Course>,
    },
}

impl Course {
    #[inline]
    fn due_ns(&mut self, k: u64) -> Option<u64> {
        if let Course::Constant(rate) = self { Some(rate.due_ns(k)) } else { self.other_due_ns(k) }
    }

    #[inline(never)]
    fn other_due_ns(&mut self, k: u64) -> Option<u64> {
        match self {
            Course::Constant(rate) => Some(rate.due_ns(k)),
            Course::Ramp(ramp) => ramp.due_ns(k),
            Course::Replay(replay) => replay.due_ns(k),
            Course::Poisson { stream, walked, .. } => {
                // `k` is never behind what was walked: arrivals are taken in order.
                let ahead = usize::try_from(k - *walked).unwrap_or(usize::MAX);
                *walked = k + 1;
                stream.nth(ahead)
            }
            Course::Own { places, of } => of.due_ns(places.number(k)?),
        }
    }

    /// How many of its first `limit` arrivals are due strictly before `at_ns`.
    fn due_before(&self, at_ns: u64, limit: u64) -> u64 {
        let due = match self {
            Course::Constant(rate) => rate.due_before(at_ns),
            Course::Ramp(ramp) => ramp.due_before(at_ns),
            Course::Replay(replay) => replay.due_before(at_ns),
            Course::Poisson { rate, seed, .. } => {
                let most = usize::try_from(limit).unwrap_or(usize::MAX);
                Poisson::new(*rate, *seed).take(most).take_while(|due| *due < at_ns).count() as u64
            }
            Course::Own { places, of } => {
                places.among(of.due_before(at_ns, places.number(limit).unwrap_or(u64::MAX)))
            }
        };
        due.min(limit)
    }

    fn is_walked(&self) -> bool {
        match self {
            Course::Poisson { .. } => true,
            Course::Own { of, .. } => of.is_walked(),
            Course::Constant(_) | Course::Ramp(_) | Course::Replay(_) => false,
        }
    }
}

impl Schedule {
    /// Of `worker` (from 0) among `workers`, of the first `limit` arrivals; `None` for closed arrivals.
    pub fn new(
        arrivals: &Arrivals,
        worker: u32,
        workers: u32,
        limit: Option<u64>,
        seed: u64,
    ) -> Option<Schedule> {
        Schedule::of_origin(arrivals, worker, workers, limit, seed, None)
    }

    /// The same of those arrivals that have these places, where some are given.
    pub(crate) fn of_origin(
        arrivals: &Arrivals,
        worker: u32,
        workers: u32,
        limit: Option<u64>,
        seed: u64,
        places: Option<&Arc<Places>>,
    ) -> Option<Schedule> {
        let course = match arrivals {
            Arrivals::Constant(rate) => Course::Constant(*rate),
            Arrivals::RateStages(stages) => Course::Ramp(Ramp::new(stages)),
            Arrivals::Replay(replay) => Course::Replay(replay.clone()),
            Arrivals::Poisson(rate) => {
                let stream = Box::new(Poisson::new(*rate, seed));
                Course::Poisson { rate: *rate, seed, stream, walked: 0 }
            }
            Arrivals::Closed | Arrivals::ConnectionStages(_) => return None,
        };
        let (course, limit) = match places {
            None => (course, limit),
            Some(places) => (
                Course::Own { places: Arc::clone(places), of: Box::new(course) },
                limit.map(|limit| places.among(limit)),
            ),
        };
        let mut schedule = Schedule {
            course,
            worker: u64::from(worker),
            workers: u64::from(workers.max(1)),
            limit: limit.unwrap_or(u64::MAX),
            taken: 0,
            next_ns: None,
        };
        schedule.look();
        Some(schedule)
    }

    /// When its next arrival is due, in nanoseconds after the start; `None` when the schedule is over.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    pub(crate) fn take(&mut self) {
        self.skip(1);
    }

    pub(crate) fn skip(&mut self, count: u64) {
        if count > 0 {
            self.taken = self.taken.saturating_add(count);
            self.look();
        }
    }

    /// Whether the limit ended it (and not the end of its last stage).
    pub(crate) fn reached_limit(&self) -> bool {
        u128::from(self.taken) * u128::from(self.workers) + u128::from(self.worker) >= u128::from(self.limit)
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// How many of this worker's arrivals are due strictly before `at_ns`. (A Poisson process is walked anew.)
    pub fn due_before(&self, at_ns: u64) -> u64 {
        let total = self.course.due_before(at_ns, self.limit);
        total.saturating_sub(self.worker).div_ceil(self.workers)
    }

    /// The same of an instant after those that were taken: what a Poisson process has drawn is not drawn again.
    pub(crate) fn due_by(&self, at_ns: u64) -> u64 {
        if !self.course.is_walked() {
            return self.due_before(at_ns);
        }
        let mut rest = self.clone();
        while rest.next_ns.is_some_and(|due| due < at_ns) {
            rest.take();
        }
        rest.taken
    }

    fn look(&mut self) {
        let k = self.taken.checked_mul(self.workers).and_then(|k| k.checked_add(self.worker));
        self.next_ns = k.filter(|k| *k < self.limit).and_then(|k| self.course.due_ns(k));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::rate::Stage;
    use proptest::prelude::*;
    use std::time::Duration;

    fn arrivals() -> impl Strategy<Value = Arrivals> {
        let rate = |micro: u64| Rate::per_s(micro as f64 / 1e6).unwrap();
        let stage = |(ms, to)| Stage { duration: Duration::from_millis(ms), to };
        prop_oneof![
            (1_000u64..1_000_000_000_000).prop_map(move |micro| Arrivals::Constant(rate(micro))),
            (1_000_000u64..1_000_000_000).prop_map(move |micro| Arrivals::Poisson(rate(micro))),
            prop::collection::vec((0u64..2_000, 0u64..1_000_000_000), 1..4)
                .prop_map(move |stages| Arrivals::RateStages(stages.into_iter().map(stage).collect())),
            (prop::collection::vec(0u64..50_000_000, 0..80), any::<bool>())
                .prop_map(|(gaps, looped)| Arrivals::Replay(replay(&gaps, looped))),
        ]
    }

    /// Of requests so far apart, the first at the start.
    fn replay(gaps: &[u64], looped: bool) -> Replay {
        let mut at = 0;
        let after = |gap: &u64| {
            at += gap;
            at
        };
        let due: Vec<u64> = [0].iter().chain(gaps).map(after).collect();
        Replay::new(due, looped, prony_model::replay::RecordedReplay::default())
    }

    fn all_of(mut schedule: Schedule, most: usize) -> Vec<u64> {
        let mut all = Vec::new();
        while let (Some(due), true) = (schedule.next_ns(), all.len() < most) {
            all.push(due);
            schedule.take();
        }
        all
    }

    proptest! {
        #[test]
        fn workers_interleave_to_the_whole(arrivals in arrivals(), workers in 1u32..9, limit in 0u64..200, at in 0u64..2_000_000_000) {
            let of = |worker, workers| Schedule::new(&arrivals, worker, workers, Some(limit), 5).unwrap();
            let whole = all_of(of(0, 1), 1000);
            prop_assert!(whole.len() as u64 <= limit && whole.windows(2).all(|pair| pair[0] <= pair[1]));
            let shares: Vec<Schedule> = (0..workers).map(|worker| of(worker, workers)).collect();
            for (worker, share) in shares.iter().enumerate() {
                let mine: Vec<u64> = whole.iter().skip(worker).step_by(workers as usize).copied().collect();
                prop_assert_eq!(all_of(share.clone(), 1000), mine);
            }
            let before: u64 = shares.iter().map(|share| share.due_before(at)).sum();
            prop_assert_eq!(before, whole.iter().filter(|due| **due < at).count() as u64);
            for mut share in shares {
                prop_assert_eq!(share.due_by(at), share.due_before(at));
                share.skip(share.due_before(at) / 2);
                prop_assert_eq!(share.due_by(at), share.due_before(at));
            }
        }

        #[test]
        fn skipping_instants_leaves_what_taking_them_leaves(arrivals in arrivals(), count in 0u64..50) {
            let mut skipped = Schedule::new(&arrivals, 1, 3, None, 9).unwrap();
            let mut taken = skipped.clone();
            skipped.skip(count);
            (0..count).for_each(|_| taken.take());
            prop_assert_eq!((skipped.next_ns(), skipped.taken()), (taken.next_ns(), count));
        }
    }

    #[test]
    fn a_looped_log_begins_again_after_a_mean_gap() {
        let of = |gaps: &[u64], looped| {
            let arrivals = Arrivals::Replay(replay(gaps, looped));
            all_of(Schedule::new(&arrivals, 0, 1, Some(7), 1).unwrap(), 100)
        };
        assert_eq!(of(&[0, 10, 20], false), [0, 0, 10, 30]);
        assert_eq!(of(&[0, 10, 20], true), [0, 0, 10, 30, 40, 40, 50]);
        // One instant has no gap: a second is one.
        assert_eq!(of(&[], true)[..3], [0, 1_000_000_000, 2_000_000_000]);
    }

    #[test]
    fn closed_arrivals_have_no_schedule() {
        assert!(Schedule::new(&Arrivals::Closed, 0, 1, None, 1).is_none());
    }
}
