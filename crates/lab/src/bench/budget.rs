//! Whether another block fits the time a run may take: pure.

use std::time::Duration;

/// The time of the trials so far, and what is allowed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Budget {
    allowed: Option<Duration>,
    spent: Duration,
    trials: u32,
}

impl Budget {
    pub(super) fn new(allowed: Option<Duration>) -> Budget {
        Budget { allowed, ..Budget::default() }
    }

    /// Takes in a trial that took so long, start and stop included.
    pub(super) fn took(&mut self, trial: Duration) {
        self.spent += trial;
        self.trials += 1;
    }

    /// How long so many trials will take, by the mean of those done; `None` before the first.
    pub(super) fn forecast(&self, trials: u32) -> Option<Duration> {
        (self.trials > 0).then(|| self.spent.saturating_mul(trials) / self.trials)
    }

    /// Whether a block of so many trials ends in time if it is begun now. The
    /// first block always may be: without one, there is nothing to report.
    pub(super) fn allows_block(&self, elapsed: Duration, trials: u32) -> bool {
        match (self.allowed, self.forecast(trials)) {
            (Some(allowed), Some(forecast)) => elapsed + forecast <= allowed,
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
        assert!(budget.allows_block(SECOND * 500, 10), "the first always");
        (0..10).for_each(|_| budget.took(SECOND * 4));
        assert_eq!(budget.forecast(5), Some(SECOND * 20));
        assert!(budget.allows_block(SECOND * 60, 10));
        assert!(!budget.allows_block(SECOND * 61, 10));
        assert!(Budget::new(None).allows_block(SECOND * 1_000_000, 1));
    }
}
