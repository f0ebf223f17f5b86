//! Searches for the highest sustainable rate: what was found, and every probe.

use prony_analysis::experiment::ExperimentAnalysis;
use prony_model::Estimate;
use prony_model::capacity::CapacityRecord;
use prony_model::run_log::TrialResult;
use prony_model::trial::Bound;
use schemars::JsonSchema;
use serde::Serialize;

use super::data::Chunk;
use super::names::Names;
use super::pack;
use crate::words;

/// A plan that searches for the highest sustainable rate.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Capacity<'a> {
    /// Index of the plan.
    plan: usize,
    /// What had to be kept.
    slo: &'a str,
    /// What was found, by candidate.
    rows: Vec<CapacityRow>,
}

/// What the searches of a candidate found.
#[derive(Serialize, JsonSchema)]
struct CapacityRow {
    /// Index of the candidate.
    candidate: usize,
    /// The rate: over several searches the geometric mean with its interval; of one, the highest rate that
    /// was sustained, up to the lowest that was not. None where not even the lowest was.
    estimate: Option<Estimate>,
    /// Whether the interval is that of a single search.
    edge: bool,
    /// The client was the limit: print `≥`.
    lower_bound: bool,
    /// Searches made.
    searches: usize,
    /// Searches that found a rate.
    found: usize,
    /// Searches that found a rate without an interval.
    unconfirmed: usize,
    /// Searches after whose overload the rate was not sustained at once.
    slow_to_recover: usize,
    /// Searches in which it was tried again after an overload.
    tried_again: usize,
}

/// The searches of a plan: the chunk `c` + plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct Searches<'a> {
    searches: Vec<Search<'a>>,
}

/// One search.
#[derive(Serialize, JsonSchema)]
struct Search<'a> {
    /// Number of the trial: its last probe about the edge that was sustained.
    trial: u32,
    block: u32,
    /// Index of the candidate.
    candidate: usize,
    found: &'a CapacityRecord,
}

pub(super) fn answer(found: &CapacityRecord) -> String {
    format!("{} ({})", words::capacity(found), found.slo)
}

/// The plans that search, and a chunk `c` + plan of the probes of each.
pub(super) fn capacities<'a>(
    analysis: &ExperimentAnalysis,
    results: &[&'a TrialResult],
    names: &Names,
) -> (Vec<Capacity<'a>>, Vec<Chunk>) {
    let (mut heads, mut chunks) = (Vec::new(), Vec::new());
    for (plan, name) in names.plans.iter().enumerate() {
        let of_plan = results.iter().filter(|r| r.planned.plan == *name);
        let searches: Vec<Search<'a>> = of_plan.filter_map(|r| search(r, names)).collect();
        let Some(first) = searches.first() else { continue };
        let slo = &first.found.slo;
        let ours = analysis.plans.iter().filter(|p| p.name == *name).flat_map(|p| &p.rows);
        let found = (0..names.candidates.len()).filter_map(|candidate| {
            let own: Vec<_> = searches.iter().filter(|s| s.candidate == candidate).map(|s| s.found).collect();
            let ours = ours.clone().find(|row| row.candidate == names.candidates[candidate]);
            let over_all = ours.and_then(|row| Some((row.throughput()?.clone(), row.lower_bound())));
            row(candidate, &own, over_all)
        });
        heads.push(Capacity { plan, slo, rows: found.collect() });
        chunks.push(pack::chunk(format!("c{plan}"), &Searches { searches }));
    }
    (heads, chunks)
}

/// A candidate's searches together; `over_all`: the estimate over them and whether it is a lower bound.
fn row(candidate: usize, own: &[&CapacityRecord], over_all: Option<(Estimate, bool)>) -> Option<CapacityRow> {
    let count = |of: fn(&CapacityRecord) -> bool| own.iter().filter(|found| of(found)).count();
    let first = own.first()?;
    // An older log has a bracket in the place of an interval.
    let bare = |rate: &Estimate| Estimate::bare(rate.point, rate.n, "");
    let of_first = || match first.interval() {
        Some((rate, ..)) => Some(rate.clone()),
        None => first.capacity_per_s.as_ref().map(bare),
    };
    let edge = own.len() == 1;
    Some(CapacityRow {
        candidate,
        lower_bound: over_all.as_ref().map_or(first.bound == Bound::Lower, |(_, lower)| *lower),
        estimate: if edge { of_first() } else { over_all.map(|(estimate, _)| estimate) },
        edge,
        searches: own.len(),
        found: count(|found| found.capacity_per_s.is_some()),
        unconfirmed: count(|found| found.capacity_per_s.is_some() && found.confirmed == Some(false)),
        slow_to_recover: count(|found| found.recovers == Some(false)),
        tried_again: count(|found| found.recovers.is_some()),
    })
}

fn search<'a>(result: &'a TrialResult, names: &Names) -> Option<Search<'a>> {
    let planned = &result.planned;
    let candidate = names.candidate(&planned.candidate)?;
    Some(Search { trial: planned.index, block: planned.block, candidate, found: result.capacity.as_ref()? })
}
