//! A trial in a list.

use prony_model::Estimate;
use prony_model::run_log::TrialResult;
use prony_model::trial::{Bound, Outcome, Trial, Validity};

use super::data::TrialHead;
use super::names::Names;
use super::pack;
use crate::words;

/// A result as a line of the list; `None` where its names are unknown.
pub(super) fn of(result: &TrialResult, names: &Names) -> Option<TrialHead> {
    let planned = &result.planned;
    let without_trial = TrialHead {
        index: planned.index,
        block: planned.block,
        candidate: names.candidate(&planned.candidate)?,
        plan: names.plan(&planned.plan)?,
        validity: Validity::Invalid,
        outcome: Outcome::Broken,
        interrupted: false,
        bound: Bound::Exact,
        requests_per_s: pack::short(&Estimate::bare(0.0, 0, "nothing was measured")),
        offered_per_s: None,
        connections: 0,
        p50_ns: None,
        p99_ns: None,
        p99_censored_at_ns: None,
        completed: 0,
        failed: 0,
        codes: Vec::new(),
        stages: Vec::new(),
        failure: Some(result.failure.clone().unwrap_or_else(|| "nothing was measured".to_owned())),
    };
    let Some(trial) = &result.trial else { return Some(without_trial) };
    let response = &trial.latency.response;
    let staged = trial.plan.stages.iter().filter_map(|s| s.to_connections).max();
    Some(TrialHead {
        validity: trial.verdict.validity,
        outcome: trial.outcome,
        interrupted: trial.interrupted,
        bound: trial.throughput.bound,
        requests_per_s: pack::short(&trial.throughput.requests_per_s),
        offered_per_s: trial.throughput.offered_per_s.map(pack::six_digits),
        connections: staged.and_then(|n| u32::try_from(n).ok()).unwrap_or(trial.plan.connections),
        p50_ns: response.p50_ns,
        p99_ns: response.p99_ns,
        p99_censored_at_ns: response.censored_at_ns.get("p99_ns").copied(),
        completed: trial.requests.completed,
        failed: trial.requests.failed,
        codes: trial.verdict.reasons.iter().map(|r| r.code.clone()).collect(),
        stages: trial.plan.stages.clone(),
        failure: None,
        ..without_trial
    })
}

/// `13,870 req/s ±0.4 %, p50 6.98 ms, p99 9.61 ms`, after the outcome where that is a finding.
pub(super) fn answer(trial: &Trial) -> String {
    let outcome = match trial.outcome {
        Outcome::Carried => String::new(),
        finding => format!("{}: ", words::outcome(finding)),
    };
    format!("{outcome}{}", words::lead(trial, false).join(", "))
}
