//! A trial in a list.

use prony_analysis::experiment::CARRIED_WHOLE;
use prony_analysis::figure::Figure;
use prony_model::Estimate;
use prony_model::code::Code;
use prony_model::recorded_plan::RecordedStage;
use prony_model::run_log::TrialResult;
use prony_model::trial::{Bound, Outcome, Trial, Validity};

use schemars::JsonSchema;
use serde::Serialize;

use super::names::Names;
use crate::words;

/// A trial in a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TrialHead {
    /// Its number in the run, which its chunk is named by.
    index: u32,
    /// Its block, from 0.
    block: u32,
    /// Index of the candidate.
    candidate: usize,
    /// Index of the plan.
    plan: usize,
    /// How far its figures can be trusted.
    validity: Validity,
    /// What became of the load.
    outcome: Outcome,
    /// Whether it was ended early.
    interrupted: bool,
    /// Whose limit the throughput is.
    bound: Bound,
    /// Completed requests per second.
    requests_per_s: Estimate,
    /// Requests per second that were due; none in closed arrivals.
    offered_per_s: Option<f64>,
    /// Connections asked for, or the most of a ramp's.
    connections: u32,
    /// Its figures, in the order of the run's.
    figures: Vec<Option<f64>>,
    /// Indices of those of which the truth may be more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    at_least: Vec<usize>,
    /// Completed requests.
    completed: u64,
    /// Failed requests.
    failed: u64,
    /// Codes of its verdict.
    #[schemars(with = "Vec<String>")]
    codes: Vec<Code>,
    /// The stages of its load, where it has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stages: Vec<RecordedStage>,
    /// Why nothing was measured: all figures are 0 then.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// A result as a line of the list; `None` where its names are unknown.
pub(super) fn trial_head(result: &TrialResult, names: &Names, figures: &[Figure]) -> Option<TrialHead> {
    let (planned, trial) = (&result.planned, result.trial.as_ref());
    let staged = trial.and_then(|t| t.plan.stages.iter().filter_map(|s| s.to_connections).max());
    let staged = staged.and_then(|n| u32::try_from(n).ok());
    let unmeasured = "nothing was measured";
    let bare = || Estimate::bare(0.0, 0, unmeasured);
    let value = |figure: &Figure| figure.of_trial(trial?, result.server.as_ref());
    let values: Vec<_> = figures.iter().map(value).collect();
    let at_least = values.iter().enumerate().filter(|(_, value)| value.is_some_and(|known| known.at_least));
    let failure = || result.failure.clone().unwrap_or_else(|| unmeasured.to_owned());
    Some(TrialHead {
        index: planned.index,
        block: planned.block,
        candidate: names.candidate(&planned.candidate)?,
        plan: names.plan(&planned.plan)?,
        validity: trial.map_or(Validity::Invalid, |t| t.verdict.validity),
        outcome: trial.map_or(Outcome::Broken, |t| t.outcome),
        interrupted: trial.is_some_and(|t| t.interrupted),
        bound: trial.map_or(Bound::Exact, |t| t.throughput.bound),
        requests_per_s: trial.map_or_else(bare, |t| match &t.throughput.requests_per_s {
            of_schedule if t.is_carried_whole() => {
                Estimate::bare(of_schedule.point, of_schedule.n, CARRIED_WHOLE)
            }
            own => own.clone(),
        }),
        offered_per_s: trial.and_then(|t| t.throughput.offered_per_s),
        connections: staged.or(trial.map(|t| t.plan.connections)).unwrap_or(0),
        at_least: at_least.map(|(figure, _)| figure).collect(),
        figures: values.into_iter().map(|value| Some(value?.value)).collect(),
        completed: trial.map_or(0, |t| t.requests.completed),
        failed: trial.map_or(0, |t| t.requests.failed),
        codes: trial.map(codes).unwrap_or_default(),
        stages: trial.map(|t| t.plan.stages.clone()).unwrap_or_default(),
        failure: trial.is_none().then(failure),
    })
}

fn codes(trial: &Trial) -> Vec<Code> {
    trial.verdict.reasons.iter().map(|reason| reason.code).collect()
}

/// `13,870 req/s ±0.4 %, p50 6.98 ms, p99 9.61 ms`, after the outcome where that is a finding.
pub(super) fn answer(trial: &Trial) -> String {
    let outcome = match trial.outcome {
        Outcome::Carried => String::new(),
        finding => format!("{}: ", words::loud(finding)),
    };
    format!("{outcome}{}", words::lead(trial, false).join(", "))
}
