//! Whether another block fits the time a run may take: pure.

use std::collections::BTreeMap;
use std::time::Duration;

/// The time of the trials so far, plan by plan, and what is allowed: a search takes fifty times what a load does.
#[derive(Debug, Clone, Default)]
pub(super) struct Budget {
    allowed: Option<Duration>,
    of_plans: BTreeMap<String, (Duration, u32)>,
}

impl Budget {
    pub(super) fn new(allowed: Option<Duration>) -> Budget {
        Budget { allowed, ..Budget::default() }
    }

    pub(super) fn took(&mut self, plan: &str, trial: Duration) {
        let of = self.of_plans.entry(plan.to_owned()).or_default();
        *of = (of.0 + trial, of.1 + 1);
    }

    /// How long trials of these plans will take, by the means of those done, else of all; `None` before any.
    pub(super) fn forecast<'a>(&self, plans: impl IntoIterator<Item = &'a str>) -> Option<Duration> {
        let (spent, trials) =
            self.of_plans.values().fold((Duration::ZERO, 0), |all, of| (all.0 + of.0, all.1 + of.1));
        let mean = |(spent, trials): (Duration, u32)| spent / trials.max(1);
        let of = |plan: &str| self.of_plans.get(plan).map_or_else(|| mean((spent, trials)), |of| mean(*of));
        (trials > 0).then(|| plans.into_iter().map(of).fold(Duration::ZERO, Duration::saturating_add))
    }

    /// Whether a trial of this plan ends in time beside the ones of these plans that are left, where there is a limit.
    pub(super) fn has_spare(&self, elapsed: Duration, plan: &str, left: &[&str]) -> bool {
        let all = left.iter().copied().chain([plan]);
        match (self.allowed, self.forecast(all)) {
            (Some(allowed), Some(forecast)) => elapsed + forecast <= allowed,
            _ => false,
        }
    }

    /// Whether a block of these plans ends in time. The first trials of a plan may always begin: else it has no report.
    pub(super) fn allows_block(&self, elapsed: Duration, plans: &[&str]) -> bool {
        let first = plans.iter().any(|plan| !self.of_plans.contains_key(*plan));
        match (self.allowed, self.forecast(plans.iter().copied())) {
            (Some(allowed), Some(forecast)) => first || elapsed + forecast <= allowed,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_block_is_begun_only_if_it_ends_in_time() {
        let mut budget = Budget::new(Some(SECOND * 100));
        let ten = ["a"; 10];
        assert!(budget.allows_block(SECOND * 500, &ten), "the first always");
        (0..10).for_each(|_| budget.took("a", SECOND * 4));
        assert_eq!(budget.forecast(["a"; 5]), Some(SECOND * 20));
        assert!(budget.allows_block(SECOND * 60, &ten));
        assert!(!budget.allows_block(SECOND * 61, &ten));
        // Long searches do not make the loads after them long.
        assert!(budget.allows_block(SECOND * 200, &["b"; 10]), "the first of a plan always");
        budget.took("b", SECOND);
        assert_eq!(budget.forecast(["a", "b", "c"]), Some(SECOND * 5 + SECOND * 41 / 11));
        assert!(budget.allows_block(SECOND * 90, &["b"; 10]));
        assert!(!budget.allows_block(SECOND * 91, &["b"; 10]));
        assert!(Budget::new(None).allows_block(SECOND * 1_000_000, &["a"]));
    }
}
