//! Several loads of one target under one plan: `prony load --repeat`.

use prony_model::run_log::RunLog;
use prony_model::trial::Outcome;
use prony_model::{Estimate, Tool, Trial};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::CandidateTrials;
use crate::figure::Figure;
use crate::figures::Figures;
use crate::look::Level;
use crate::numbers::count;
use crate::starts::Starts;

const SCHEMA: &str = "prony.repeat/1";

/// What an interval over these trials knows of, and what it does not.
const METHOD: &str = "95 % intervals: Student's t over trials, on logarithms. All trials loaded the same \
                      server process: the intervals do not contain what differs from start to start (prony \
                      bench starts a new one for each trial)";

/// Several trials, and what they say together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Repeat {
    /// The schema's name: `prony.repeat/1`.
    pub schema: &'static str,
    /// What measured them.
    pub tool: Tool,
    /// Completed requests per second: geometric mean over the trials that count, with its interval.
    pub requests_per_s: Option<Estimate>,
    /// Whether any of them is only a lower bound: print `≥`.
    pub lower_bound: bool,
    /// Median response time in nanoseconds.
    pub p50_ns: Option<Estimate>,
    /// 99th percentile; `None` where it is withheld or censored in any.
    pub p99_ns: Option<Estimate>,
    /// When `p99_ns` is censored: it is longer than this.
    pub p99_censored_at_ns: Option<u64>,
    /// Failed requests of the trials that count.
    pub failed: u64,
    /// Completed requests of the trials that count.
    pub completed: u64,
    /// Trials that were asked for.
    pub asked: u32,
    /// Trials that count: ended by their plan, and not invalid.
    pub counted: u32,
    /// Trials that were overloaded.
    pub overloaded: u32,
    /// How intervals were obtained: one sentence.
    pub interval_method: &'static str,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
}

impl Repeat {
    /// The trials of a log that holds no others.
    pub fn of(log: &RunLog, asked: u32) -> Repeat {
        let CandidateTrials { all, counted, .. } =
            CandidateTrials::from_results(log.last_results().into_values());
        let level = Level::of(log);
        let figures = Figures::over(&counted, &Starts::new(&counted, level.widened), level);
        let (throughput, p99) = (&figures[Figure::THROUGHPUT], &figures[Figure::P99]);
        Repeat {
            schema: SCHEMA,
            tool: Tool::this(),
            requests_per_s: throughput.estimate.clone(),
            lower_bound: throughput.lower_bound,
            p50_ns: figures[Figure::P50].estimate.clone(),
            p99_ns: p99.estimate.clone(),
            p99_censored_at_ns: p99.censored_at_ns,
            failed: counted.iter().map(|cell| cell.trial.requests.failed).sum(),
            completed: counted.iter().map(|cell| cell.trial.requests.completed).sum(),
            asked,
            counted: count(counted.len()),
            overloaded: count(counted.iter().filter(|c| c.trial.outcome == Outcome::Overloaded).count()),
            interval_method: METHOD,
            trials: all.iter().map(|cell| cell.trial.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run::Log;

    #[test]
    fn the_throughput_of_several_trials_has_students_interval() {
        let log = Log::new(&["http://h/"], 3).with(&[&[1_000], &[1_100], &[900]]);
        let repeat = Repeat::of(&log.0, 4);
        let throughput = repeat.requests_per_s.as_ref().unwrap();
        // Logarithms about 6.9007 with a standard deviation of 0.10058; t(2) = 4.3027.
        assert!((throughput.point - 996.65).abs() < 0.05, "{throughput:?}");
        let half = (throughput.ci_high.unwrap() / throughput.point).ln();
        assert!((half - 4.302_653 * 0.100_58 / 3f64.sqrt()).abs() < 1e-3, "{half}");
        assert_eq!((repeat.asked, repeat.counted, repeat.trials.len()), (4, 3, 3));
        let json = serde_json::to_value(&repeat).unwrap();
        assert_eq!(
            (json["schema"].as_str(), json["trials"][0]["schema"].as_str()),
            (Some("prony.repeat/1"), Some("prony.trial/1"))
        );
    }

    #[test]
    fn trials_that_do_not_count_are_listed_and_not_averaged() {
        let mut log = Log::new(&["a"], 3).with(&[&[1_000], &[1_000], &[9]]);
        log.trial(2).interrupted = true;
        let repeat = Repeat::of(&log.0, 3);
        assert_eq!((repeat.counted, repeat.trials.len()), (2, 3));
        assert!((repeat.requests_per_s.unwrap().point - 1_000.0).abs() < 1e-6);
        let none = Repeat::of(&Log::new(&["a"], 1).0, 1);
        assert_eq!((none.requests_per_s, none.counted), (None, 0));
    }
}
