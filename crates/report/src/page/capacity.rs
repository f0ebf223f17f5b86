//! Searches for the highest sustainable rate: what was found, and every probe.

use prony_analysis::experiment::ExperimentAnalysis;
use prony_model::Estimate;
use prony_model::capacity::{CapacityRecord, Probe};
use prony_model::run_log::TrialResult;
use prony_model::trial::Bound;
use schemars::JsonSchema;
use serde::Serialize;

use super::data::{Capacity, CapacityRow, Chunk, Short};
use super::names::Names;
use super::pack;
use crate::words;

/// The searches of a plan: the chunk `c` + plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct Searches {
    searches: Vec<Search>,
}

/// One search.
#[derive(Serialize, JsonSchema)]
struct Search {
    /// Number of the trial: its last probe about the edge that was sustained.
    trial: u32,
    block: u32,
    /// Index of the candidate.
    candidate: usize,
    /// The rate, with its interval where it has one.
    found: Option<Short>,
    lower_bound: bool,
    /// Whether its probes about the edge give it an interval; none of a lower bound, or in an older log.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
    recovers: Option<bool>,
    /// In the order they were made.
    probes: Vec<ProbePoint>,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    void: Option<String>,
}

/// A probe, to the digits that a plot can show.
#[derive(Serialize, JsonSchema)]
struct ProbePoint {
    rate_per_s: f64,
    completed_per_s: f64,
    sustained: bool,
    why: String,
    phase: String,
    duration_ns: u64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    failed_share: f64,
}

/// A search's answer in a sentence.
pub(super) fn answer(found: &CapacityRecord) -> String {
    if let Some(why) = &found.void {
        return format!("The search was given up: {why}");
    }
    let Some(estimate) = &found.capacity_per_s else {
        return format!("No rate that was tried is sustained ({})", found.slo);
    };
    format!("{} ({})", words::capacity(found, estimate), found.slo)
}

/// The plans that search, and a chunk `c` + plan of the probes of each.
pub(super) fn capacities(
    analysis: &ExperimentAnalysis,
    results: &[&TrialResult],
    names: &Names,
) -> (Vec<Capacity>, Vec<Chunk>) {
    let (mut heads, mut chunks) = (Vec::new(), Vec::new());
    for (plan, name) in names.plans.iter().enumerate() {
        let searches: Vec<Search> =
            results.iter().filter(|r| r.planned.plan == *name).filter_map(|r| search(r, names)).collect();
        let slo = results.iter().filter(|r| r.planned.plan == *name).find_map(|r| r.capacity.as_ref());
        let (Some(slo), false) = (slo, searches.is_empty()) else { continue };
        let rows = analysis.plans.iter().find(|p| p.name == *name).map_or(&[][..], |p| &p.rows);
        let found = (0..names.candidates.len()).filter_map(|candidate| {
            let own: Vec<&Search> = searches.iter().filter(|s| s.candidate == candidate).collect();
            let ours = rows.iter().find(|row| row.candidate == names.candidates[candidate]);
            let over_all = ours.and_then(|row| Some((pack::short(row.throughput()?), row.lower_bound())));
            row(candidate, &own, over_all)
        });
        heads.push(Capacity { plan, slo: slo.slo.clone(), rows: found.collect() });
        chunks.push(pack::chunk(format!("c{plan}"), &Searches { searches }));
    }
    (heads, chunks)
}

/// A candidate's searches together; `over_all`: the estimate over them and whether it is a lower bound.
fn row(candidate: usize, own: &[&Search], over_all: Option<(Short, bool)>) -> Option<CapacityRow> {
    let count =
        |of: &dyn Fn(&&&Search) -> bool| u32::try_from(own.iter().filter(of).count()).unwrap_or(u32::MAX);
    let first = own.first()?;
    let edge = own.len() == 1;
    let lower_bound = over_all.as_ref().map_or(first.lower_bound, |(_, lower)| *lower);
    Some(CapacityRow {
        candidate,
        estimate: if edge { first.found.clone() } else { over_all.map(|(estimate, _)| estimate) },
        edge,
        lower_bound,
        searches: count(&|_| true),
        found: count(&|s| s.found.is_some()),
        unconfirmed: count(&|s| s.found.is_some() && s.confirmed == Some(false)),
        slow_to_recover: count(&|s| s.recovers == Some(false)),
        tried_again: count(&|s| s.recovers.is_some()),
    })
}

fn search(result: &TrialResult, names: &Names) -> Option<Search> {
    let found = result.capacity.as_ref()?;
    Some(Search {
        trial: result.planned.index,
        block: result.planned.block,
        candidate: names.candidate(&result.planned.candidate)?,
        found: found.capacity_per_s.as_ref().map(|rate| match found.interval() {
            Some((rate, ..)) => pack::short(rate),
            None => pack::short(&Estimate::bare(rate.point, rate.n, "")),
        }),
        lower_bound: found.bound == Bound::Lower,
        confirmed: found.confirmed,
        recovers: found.recovers,
        probes: found.probes.iter().map(probe).collect(),
        void: found.void.clone(),
    })
}

fn probe(probe: &Probe) -> ProbePoint {
    ProbePoint {
        rate_per_s: pack::six_digits(probe.rate_per_s),
        completed_per_s: pack::six_digits(probe.completed_per_s),
        sustained: probe.sustained,
        why: match &probe.undecided {
            Some(undecided) => format!("{}; {undecided}", probe.why),
            None => probe.why.clone(),
        },
        phase: probe.phase.clone(),
        duration_ns: probe.duration_ns,
        p50_ns: probe.p50_ns.map(pack::four_digits),
        p99_ns: probe.p99_ns.map(pack::four_digits),
        failed_share: pack::six_digits(probe.failed_share),
    }
}
