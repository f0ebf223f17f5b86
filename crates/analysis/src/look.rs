//! How sure a log's verdicts are: each look at it spends a part of the error that they may have.

use std::collections::BTreeSet;

use prony_model::run_log::EventKind::{BudgetSpent, Finished, Interrupted, PrecisionReached};
use prony_model::run_log::RunLog;
use prony_stats::interval::Interval;
use prony_stats::moderated::Difference;

use crate::precision::widening;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Which look at the log it is, from 1.
    pub look: u32,
    pub error: f64,
    /// Whether the blocks ended by their own precision, so that errors are 1 + 2/n times as large.
    pub widened: bool,
}

impl Level {
    /// Of the j-th look: 3.5, 1, 0.25, 0.125 … %, which are 5 % in all, however many follow (Bonferroni).
    pub fn look(look: u32) -> Level {
        let error = match look {
            0 | 1 => 0.035,
            2 => 0.01,
            later => 0.0025 * 0.5f64.powf(f64::from(later - 3)),
        };
        Level { look, error, widened: false }
    }

    /// Of the last verdict of a log: over all its sessions, each of which, if it measured something, ended with one.
    pub fn of(log: &RunLog) -> Level {
        let ends = log
            .events
            .iter()
            .filter(|e| e.is_one_of(&[Interrupted, Finished, BudgetSpent, PrecisionReached]));
        let ends: Vec<&str> = ends.map(|e| e.at.as_str()).collect();
        let started = log.results.iter().filter_map(|r| Some(r.trial.as_ref()?.started_at.as_str()));
        // RFC 3339 in UTC: the order of the texts is that of the times.
        let sessions: BTreeSet<usize> =
            started.map(|at| ends.iter().filter(|end| **end <= at).count()).collect();
        let looks = crate::numbers::count(sessions.len().max(1));
        Level { widened: log.header.precision.is_some(), ..Level::look(looks) }
    }

    #[must_use]
    pub fn next(self) -> Level {
        Level { widened: self.widened, ..Level::look(self.look + 1) }
    }

    /// The 95 % interval of the mean of values, or of their logarithms.
    pub(crate) fn interval(self, values: &[f64]) -> Option<Interval> {
        self.test(values)?.interval()
    }

    pub(crate) fn test(self, differences: &[f64]) -> Option<Difference> {
        Difference::of(differences).map(|test| self.of_test(test))
    }

    pub(crate) fn of_test(self, test: Difference) -> Difference {
        if self.widened { test.widened(widening(test.n as u64)) } else { test }
    }
}

#[cfg(test)]
mod tests {
    use prony_model::run_log::EventKind::Resumed;
    use prony_model::run_log::{Event, EventKind};

    use super::*;
    use crate::testing::run::Log;

    #[test]
    fn all_looks_together_err_in_five_percent() {
        let errors: Vec<f64> = (1..60).map(|look| Level::look(look).error).collect();
        assert_eq!(errors[..4], [0.035, 0.01, 0.0025, 0.00125]);
        assert!((errors.iter().sum::<f64>() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn each_session_that_measured_something_is_a_look() {
        let mut log = Log::new(&["a"], 4).with(&[&[10], &[11], &[10], &[11]]).0;
        assert_eq!(Level::of(&log).look, 1, "a log without an end");
        for (i, result) in log.results.iter_mut().enumerate() {
            result.trial.as_mut().unwrap().started_at = format!("2026-01-01T0{i}:00:00.000Z");
        }
        let mut event = |kind: EventKind, at: &str| {
            let (at, what) = (format!("2026-01-01T{at}:00.000Z"), <&str>::from(kind).to_owned());
            log.events.push(Event { at, what, detail: String::new(), found: None });
            Level::of(&log).look
        };
        assert_eq!(event(Interrupted, "01:30"), 2);
        // Nothing was measured between these.
        assert_eq!((event(Resumed, "01:40"), event(Interrupted, "01:50")), (2, 2));
        assert_eq!(event(BudgetSpent, "02:30"), 3);
        assert_eq!(event(Finished, "03:30"), 3, "the last trial's own end");
    }
}
