//! Thresholds held against a run: per plan and candidate, over the trials that count.

use prony_model::run_log::RunLog;

use crate::cell::{Cell, candidates, counted, plan_names};
use crate::figures;
use crate::slo::{Decision, Slo, SloRecord, by_interval};
use crate::text::{list, with_unit};

/// A threshold held against one candidate under one plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSlo {
    /// The plan's name.
    pub plan: String,
    /// The candidate's label.
    pub candidate: String,
    /// What became of the threshold.
    pub held: SloRecord,
}

/// Holds thresholds against every candidate under every plan.
///
/// A percentile of response and a figure of the server are judged by the interval over trials, which knows what
/// differs between starts of a server; where there is none, and for everything else, the trials vote: met or missed
/// where all of them say so.
pub fn hold_run(slos: &[Slo], log: &RunLog) -> Vec<RunSlo> {
    let results = log.last_results();
    let mut all = Vec::new();
    for plan in plan_names(log, &results) {
        for candidate in candidates(log, &results, &plan) {
            let cells = counted(&results, &plan, &candidate.label);
            all.extend(slos.iter().map(|slo| RunSlo {
                plan: plan.clone(),
                candidate: candidate.label.clone(),
                held: over_trials(slo, &cells).unwrap_or_else(|| by_votes(slo, &cells)),
            }));
        }
    }
    all
}

fn over_trials(slo: &Slo, cells: &[Cell<'_>]) -> Option<SloRecord> {
    let (figure, limit) = slo.over_trials()?;
    let estimate = figures::over_trials(figure, cells, false).estimate?;
    let (low, high) = (estimate.ci_low?, estimate.ci_high?);
    let decision =
        if figure.more_is_better { by_interval(-high, -low, -limit) } else { by_interval(low, high, limit) };
    let [point, low, high] = [estimate.point, low, high].map(|value| with_unit(figure.unit, value));
    Some(SloRecord {
        slo: slo.to_string(),
        decision,
        not_judged: false,
        seen: format!("{point} (95 %: {low} to {high}, {} trials)", cells.len()),
        to_decide: (decision == Decision::Undecided).then(|| "more blocks".to_owned()),
    })
}

fn by_votes(slo: &Slo, cells: &[Cell<'_>]) -> SloRecord {
    let held: Vec<_> = cells.iter().map(|cell| slo.hold(cell.trial, cell.server)).collect();
    let all = |decision| held.iter().all(|h| h.decision == decision);
    let decision = match held.first() {
        Some(first) if all(first.decision) => first.decision,
        _ => Decision::Undecided,
    };
    let count = |decision: Decision| held.iter().filter(|h| h.decision == decision).count();
    let votes: Vec<String> = [Decision::Met, Decision::Missed, Decision::Undecided]
        .into_iter()
        .filter(|d| count(*d) > 0)
        .map(|d| format!("{} in {}", d.to_string().to_lowercase(), count(d)))
        .collect();
    let votes = list(&votes);
    let seen = match held.as_slice() {
        [] => "no trial counts".to_owned(),
        [only] => only.seen.clone(),
        [first, ..] => format!("{votes} of {} trials, first {}", held.len(), first.seen),
    };
    let to_decide = held.iter().find_map(|h| h.to_decide.clone()).unwrap_or_else(|| "more blocks".to_owned());
    SloRecord {
        slo: slo.to_string(),
        decision,
        not_judged: held.iter().all(|h| h.not_judged),
        seen,
        to_decide: (decision == Decision::Undecided).then_some(to_decide),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run::Log;

    #[test]
    fn thresholds_are_decided_for_each_candidate_and_plan() {
        let row: &[u64] = &[1000, 1000];
        let mut log = Log::new(&["a", "b"], 3).with(&[row; 3]);
        let slos: Vec<Slo> = ["p50<2ms", "p50<500us", "errors<1%", "startup<1s", "memory<1MB"]
            .iter()
            .map(|s| Slo::parse(s).unwrap())
            .collect();
        // One of b's trials failed half of its requests.
        let at = log.0.results.iter().position(|r| r.planned.candidate == "b").unwrap();
        log.trial(at).requests.failed = 3_000;
        let said: Vec<String> = hold_run(&slos, &log.0)
            .iter()
            .map(|h| format!("{} {} {}", h.candidate, h.held.slo, h.held.decision))
            .collect();
        assert_eq!(
            said,
            [
                "a p50<2ms MET",
                "a p50<500us MISSED",
                "a errors<1% MET",
                "a startup<1s MET",
                "a memory<1MB MISSED",
                "b p50<2ms MET",
                "b p50<500us MISSED",
                "b errors<1% UNDECIDED",
                "b startup<1s MET",
                "b memory<1MB MISSED"
            ]
        );
    }

    #[test]
    fn a_threshold_is_not_judged_where_no_trial_has_its_figure() {
        let row: &[u64] = &[1000];
        let mut log = Log::new(&["a"], 3).with(&[row; 3]);
        let slo = [Slo::parse("startup<1s").unwrap()];
        let held = |log: &Log| hold_run(&slo, &log.0).remove(0).held;
        let server = log.0.results[1].server.clone();
        log.0.results.iter_mut().for_each(|result| result.server = None);
        assert!(held(&log).not_judged, "{:?}", held(&log));
        log.0.results[1].server = server;
        assert!(!held(&log).not_judged, "one of three has it: {:?}", held(&log));
    }

    #[test]
    fn a_threshold_is_undecided_for_a_candidate_without_a_trial() {
        let log = Log::new(&["a"], 1);
        let held = hold_run(&[Slo::parse("p99<1s").unwrap()], &log.0);
        assert_eq!(
            (held[0].held.decision, held[0].held.not_judged, held[0].held.seen.as_str()),
            (Decision::Undecided, true, "no trial counts")
        );
    }
}
