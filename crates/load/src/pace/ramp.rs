//! A level that changes linearly from corner to corner: stages of a rate, or of connections. The k-th arrival is where
//! the area below the ramp is k: the root of a quadratic in the form whose terms all have one sign, so that nothing
//! cancels (a falling leg is walked from its end), then put right in integers.

use prony_model::rate::Stage;
use prony_model::units::nanoseconds;

/// One request's area, in halves of (millionths per second) × nanoseconds, so that a leg's is an integer.
const REQUEST: u128 = 2 * 1_000_000 * 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leg {
    start_ns: u64,
    length_ns: u64,
    from: u64,
    to: u64,
    before: u128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ramp {
    legs: Vec<Leg>,
}

impl Ramp {
    /// Levels are at most 10^14 and lengths a day, which [`prony_model::plan::Plan::check`] sees to.
    pub fn new(stages: &[Stage]) -> Ramp {
        let (mut start_ns, mut from, mut before) = (0u64, 0, 0);
        let legs = stages.iter().map(|stage| {
            let length_ns = nanoseconds(stage.duration);
            let leg = Leg { start_ns, length_ns, from, to: stage.to, before };
            start_ns = start_ns.saturating_add(length_ns);
            from = stage.to;
            before += leg.area();
            leg
        });
        Ramp { legs: legs.collect() }
    }

    /// The k-th arrival (from 0) of a rate, in nanoseconds, rounded down; `None`: the ramp ends before.
    pub(crate) fn due_ns(&self, k: u64) -> Option<u64> {
        let wanted = u128::from(k) * REQUEST;
        // The first leg whose end is beyond the area wanted.
        let at = self.legs.partition_point(|leg| leg.before + leg.area() <= wanted);
        let leg = self.legs.get(at)?;
        Some(leg.start_ns + leg.reach(wanted - leg.before))
    }

    /// How many arrivals of a ramped rate are due strictly before `at_ns`.
    pub fn due_before(&self, at_ns: u64) -> u64 {
        let last = self.legs.partition_point(|leg| leg.start_ns < at_ns);
        let Some(leg) = last.checked_sub(1).map(|i| self.legs[i]) else { return 0 };
        let area = leg.before as f64 + leg.area_to((at_ns - leg.start_ns).min(leg.length_ns));
        // The quotient of floats may be off by a few; the instants themselves decide.
        let mut count = (area / REQUEST as f64) as u64;
        while self.due_ns(count).is_some_and(|due| due < at_ns) {
            count += 1;
        }
        while count > 0 && self.due_ns(count - 1).is_none_or(|due| due >= at_ns) {
            count -= 1;
        }
        count
    }

    /// Connections active at `at_ns`: j (from 0) begins when a rising level reaches j and ends when a falling one does.
    pub fn active(&self, at_ns: u64) -> u64 {
        let last = self.legs.partition_point(|leg| leg.start_ns <= at_ns);
        let Some(leg) = last.checked_sub(1).map(|i| self.legs[i]) else { return 0 };
        let passed = at_ns - leg.start_ns;
        if passed >= leg.length_ns {
            return leg.to;
        }
        let moved = u128::from(leg.from.abs_diff(leg.to)) * u128::from(passed);
        let (length, rising) = (u128::from(leg.length_ns), leg.to > leg.from);
        let moved = if rising { moved / length + 1 } else { moved / length };
        let moved = u64::try_from(moved).unwrap_or(u64::MAX).min(leg.from.abs_diff(leg.to));
        if rising { leg.from + moved } else { leg.from - moved }
    }

    /// When connection j (from 0) next begins, not before `after_ns`; `None` if it never does.
    pub(crate) fn begins_ns(&self, j: u64, after_ns: u64) -> Option<u64> {
        self.beginnings(j).find(|at| *at >= after_ns)
    }

    /// When connection j (from 0) last began, up to `by_ns`; `by_ns` if it never did.
    pub(crate) fn began_ns(&self, j: u64, by_ns: u64) -> u64 {
        self.beginnings(j).take_while(|at| *at <= by_ns).last().unwrap_or(by_ns)
    }

    /// In their order. One that ends at the same instant is none.
    fn beginnings(&self, j: u64) -> impl Iterator<Item = u64> {
        let rising = self.legs.iter().filter(move |leg| leg.from <= j && j < leg.to);
        let begins = rising.map(move |leg| {
            let part = u128::from(j - leg.from) * u128::from(leg.length_ns);
            leg.start_ns + u64::try_from(part.div_ceil(u128::from(leg.to - leg.from))).unwrap_or(u64::MAX)
        });
        begins.filter(move |at| j < self.active(*at))
    }

    pub(crate) fn highest(&self) -> u64 {
        self.legs.iter().map(|leg| leg.to).max().unwrap_or(0)
    }
}

impl Leg {
    fn area(&self) -> u128 {
        (u128::from(self.from) + u128::from(self.to)) * u128::from(self.length_ns)
    }

    /// The area up to `x` nanoseconds from its start, as nearly as a float has it.
    fn area_to(&self, x: u64) -> f64 {
        if self.length_ns == 0 {
            return 0.0;
        }
        let (from, to, x) = (self.from as f64, self.to as f64, x as f64);
        x * (2.0 * from + (to - from) * x / self.length_ns as f64)
    }

    /// The last nanosecond from its start up to which the area is at most `wanted`.
    fn reach(&self, wanted: u128) -> u64 {
        if self.from == self.to {
            return u64::try_from(wanted / (2 * u128::from(self.from))).unwrap_or(u64::MAX);
        }
        let slope = self.from.abs_diff(self.to) as f64 / self.length_ns as f64;
        let root = |level: u64, area: f64| {
            let level = level as f64;
            area / (level + (level * level + slope * area).sqrt())
        };
        let mut x = if self.to > self.from {
            root(self.from, wanted as f64) as u64
        } else {
            let left = root(self.to, (self.area() - wanted) as f64);
            self.length_ns.saturating_sub(left.ceil() as u64)
        };
        // Where the integers would overflow (rates over 10^6 for hours), the float's
        // nanosecond stands: its error is far below one.
        while x > 0 && self.is_beyond(x, wanted) == Some(true) {
            x -= 1;
        }
        while self.is_beyond(x + 1, wanted) == Some(false) {
            x += 1;
        }
        x
    }

    /// Whether the area up to `x` is more than `wanted`, exactly.
    fn is_beyond(&self, x: u64, wanted: u128) -> Option<bool> {
        let (x, length) = (u128::from(x), u128::from(self.length_ns));
        let level = u128::from(self.from).checked_mul(2)?.checked_mul(x)?.checked_mul(length)?;
        let bend = u128::from(self.from.abs_diff(self.to)).checked_mul(x)?.checked_mul(x)?;
        let area = if self.to > self.from { level.checked_add(bend)? } else { level.checked_sub(bend)? };
        Some(area > wanted.checked_mul(length)?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    const PER_S: u64 = 1_000_000;

    fn ramp(stages: &[(u64, u64)]) -> Ramp {
        let stage = |(ms, to): &(u64, u64)| Stage { duration: Duration::from_millis(*ms), to: *to };
        Ramp::new(&stages.iter().map(stage).collect::<Vec<_>>())
    }

    #[test]
    fn a_rate_from_0_to_100_in_ten_seconds_is_500_requests() {
        let r = ramp(&[(10_000, 100 * PER_S)]);
        assert_eq!((r.due_before(u64::MAX), r.legs[0].length_ns, r.highest()), (500, 10 * S, 100 * PER_S));
        // The k-th is due where 5 t² = k.
        assert_eq!((r.due_ns(0), r.due_ns(5), r.due_ns(125)), (Some(0), Some(S), Some(5 * S)));
        assert_eq!((r.due_ns(499).unwrap() / 1_000_000, r.due_ns(500)), (9_989, None));
    }

    #[test]
    fn jumps_plateaus_and_falls() {
        let r = ramp(&[
            (0, 10 * PER_S),
            (1_000, 10 * PER_S),
            (0, 0),
            (1_000, 0),
            (2_000, 10 * PER_S),
            (2_000, 0),
        ]);
        let due: Vec<u64> = (0..30).map(|k| r.due_ns(k).unwrap() / 1_000_000).collect();
        assert_eq!(due[..11], [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 2000]);
        assert_eq!((due[19], due[20], r.due_ns(30)), (3897, 4000, None));
        // The rise and the fall are each other's mirror.
        assert_eq!(due[21], 8000 - due[19] - 1);
    }

    #[test]
    fn connections_begin_as_a_thread_groups_do() {
        let r = ramp(&[(60_000, 60), (10_000, 60), (30_000, 0)]);
        assert_eq!((r.active(0), r.active(S - 1), r.active(S), r.active(59 * S)), (1, 1, 2, 60));
        assert_eq!((r.active(65 * S), r.active(70 * S), r.active(99 * S), r.active(100 * S)), (60, 60, 2, 0));
        assert_eq!(
            (r.begins_ns(0, 0), r.begins_ns(1, 0), r.begins_ns(59, 0)),
            (Some(0), Some(S), Some(59 * S))
        );
        assert_eq!((r.begins_ns(60, 0), r.begins_ns(5, 6 * S)), (None, None));
    }

    fn legs() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0u64..5_000, prop_oneof![Just(0u64), 1u64..20_000_000_000]), 1..5)
    }

    proptest! {
        #[test]
        fn the_kth_instant_is_where_the_area_is_k(stages in legs(), part in 0.0f64..1.0) {
            let r = ramp(&stages);
            let total = r.due_before(u64::MAX);
            prop_assume!(total > 0);
            let k = ((total - 1) as f64 * part) as u64;
            let due = r.due_ns(k).unwrap();
            let leg = *r.legs.iter().rfind(|l| l.start_ns <= due && l.length_ns > 0 && l.before <= u128::from(k) * REQUEST).unwrap();
            let wanted = u128::from(k) * REQUEST - leg.before;
            prop_assert_eq!(leg.is_beyond(due - leg.start_ns, wanted), Some(false));
            prop_assert_eq!(leg.is_beyond(due - leg.start_ns + 1, wanted), Some(true));
            prop_assert!(k == 0 || r.due_ns(k - 1).unwrap() <= due);
            prop_assert!(r.due_before(due) <= k && r.due_before(due + 1) > k);
        }

        #[test]
        fn a_level_stage_is_a_constant_rate(micro in 1_000u64..1_000_000_000_000, k in 0u64..100_000) {
            let level = |to| Ramp::new(&[Stage { duration: Duration::ZERO, to }, Stage { duration: Duration::from_secs(3_600), to }]);
            let constant = prony_model::rate::Rate::per_s(micro as f64 / 1e6).unwrap();
            let due = level(micro).due_ns(k);
            prop_assert_eq!(due, (constant.due_ns(k) < 3_600 * S).then(|| constant.due_ns(k)));
        }

        #[test]
        fn users_of_a_record_are_those_of_its_ramp(stages in prop::collection::vec((0u64..5_000, 0u64..500), 1..5), at in 0..20 * S) {
            let record = |(ms, to): &(u64, u64)| prony_model::recorded_plan::RecordedStage {
                duration_ns: ms * 1_000_000,
                to_rate_per_s: None,
                to_connections: Some(*to),
            };
            let mut plan = prony_model::testing::trial(&[]).plan;
            plan.stages = stages.iter().map(record).collect();
            prop_assert_eq!(plan.users_at(at), ramp(&stages).active(at));
        }

        #[test]
        fn a_connection_is_active_from_when_it_begins(stages in prop::collection::vec((0u64..5_000, 0u64..500), 1..5), j in 0u64..500) {
            let r = ramp(&stages);
            if let Some(at) = r.begins_ns(j, 0) {
                prop_assert!(r.active(at) > j || r.legs.iter().any(|l| l.start_ns == at && l.length_ns == 0));
                prop_assert!(at == 0 || r.active(at - 1) <= j);
            }
        }
    }
}
