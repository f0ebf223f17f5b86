//! One candidate under one plan: what its trials say together.

use std::collections::BTreeMap;

use prony_model::run_log::CandidateRecord;
use prony_model::trial::{Outcome, Trial};

use crate::cell::Cell;
use crate::curve::{latency_curve, series};
use crate::experiment::{Row, RowReason};
use crate::figures::Figures;
use crate::numbers::count;

/// The candidate's row, not ranked yet. `cells` are all its trials, in block order; with `widened`, intervals are those
/// of a run that stopped by its precision.
pub(crate) fn row(candidate: &CandidateRecord, cells: &[Cell<'_>], widened: bool) -> Row {
    let counted: Vec<Cell<'_>> = cells.iter().copied().filter(Cell::counts).collect();
    let trials: Vec<&Trial> = counted.iter().map(|c| c.trial).collect();
    let with = |outcome| count(trials.iter().filter(|trial| trial.outcome == outcome).count());
    Row {
        candidate: candidate.label.clone(),
        title: candidate.title.clone(),
        language: candidate.language.clone(),
        kind: candidate.kind.clone(),
        version: candidate.version.clone(),
        workers: candidate.workers,
        keepalive: candidate.keepalive,
        figures: Figures::over(&counted, widened),
        ratio: None,
        failed: trials.iter().map(|trial| trial.requests.failed).sum(),
        completed: trials.iter().map(|trial| trial.requests.completed).sum(),
        trials: count(cells.len()),
        counted: count(counted.len()),
        overloaded: with(Outcome::Overloaded),
        broken: with(Outcome::Broken),
        reasons: reasons(cells),
        latency_curve: latency_curve(&trials),
        series: cells.iter().map(|c| series(c.planned.block, c.trial, c.server)).collect(),
        published: None,
    }
}

/// Each code of any trial, with how many trials had it and the first one's words.
fn reasons(cells: &[Cell<'_>]) -> Vec<RowReason> {
    let mut order = Vec::new();
    let mut by_code: BTreeMap<&str, RowReason> = BTreeMap::new();
    for cell in cells {
        let mut of_this_trial: Vec<&str> = Vec::new();
        for reason in &cell.trial.verdict.reasons {
            let code = reason.code.as_str();
            if of_this_trial.contains(&code) {
                continue;
            }
            of_this_trial.push(code);
            let seen = by_code.entry(code).or_insert_with(|| {
                order.push(code);
                RowReason {
                    code: reason.code.clone(),
                    trials: 0,
                    effect: reason.effect,
                    detail: reason.detail.clone(),
                    advice: reason.advice.clone(),
                }
            });
            seen.trials += 1;
            seen.effect = seen.effect.max(reason.effect);
        }
    }
    order.into_iter().filter_map(|code| by_code.remove(code)).collect()
}
