//! A candidate's figure as a ratio to another candidate's of the same run: what the machine did to both cancels.

use prony_model::run_log::{RunLog, TrialResult};

use super::Point;
use crate::cell::CandidateTrials;
use crate::comparison;
use crate::figure::Figure;

pub(super) fn check(log: &RunLog, name: &str) -> Result<(), String> {
    if log.header.one_by_one {
        return Err(format!("its trials were made one by one, so that none was measured beside {name:?}"));
    }
    let labels: Vec<&str> = log.header.candidates.iter().map(|c| c.label.as_str()).collect();
    if labels.contains(&name) {
        return Ok(());
    }
    Err(format!("it has no candidate {name:?}: it has {}", labels.join(", ")))
}

/// Makes a point's figure a ratio, paired within blocks where they share some. None where one lacks the figure, or the
/// others' is a lower bound.
pub(super) fn divide<'a>(
    point: &mut Point,
    results: &[&'a TrialResult],
    others: &[&'a TrialResult],
    figure: Figure,
) {
    // Deaths are reported with the run; a ratio here ignores them.
    let of = |results: &[&'a TrialResult]| CandidateTrials {
        died: None,
        ..CandidateTrials::from_results(results.iter().copied())
    };
    let (own, others) = (of(results), of(others));
    let is_bound = |of: &CandidateTrials<'_>| {
        of.counted.iter().filter_map(|cell| cell.figure(figure)).any(|known| known.at_least)
    };
    point.at_least = is_bound(&own);
    point.estimate = if is_bound(&others) { None } else { comparison::ratio_of(others, own, figure) };
}
