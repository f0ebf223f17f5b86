//! A run log in, everything that the views show out.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::plan::ArrivalKind;
use prony_model::run_log::EventKind::{Checked, Finished, Interrupted, Resumed};
use prony_model::run_log::{Event, NamedPlan, PlannedTrial, RunLog, TrialResult, without_name};
use prony_model::trial::Validity;

use crate::cell::{ByBlock, CandidateTrials, Cell, Results, blocks_planned, candidates, plan_names};
use crate::comparison::comparability::transport;
use crate::comparison::{Comparison, Options, choose_in, compare_candidates};
use crate::conclusions::Evidence;
use crate::controls;
use crate::experiment::{ExperimentAnalysis, TrialCounts};
use crate::few_at_once;
use crate::figure::Figure;
use crate::figures;
use crate::headline::headline;
use crate::look::Level;
use crate::protocols;
use crate::published;
use crate::ranking::{Contest, RankChange};
use crate::repeats;
use crate::row::{PlanAnalysis, Row, row};
use crate::starts::stalls_not_excluded;
use crate::text::list;

const SCHEMA: &str = "prony.analysis/1";

const INTERVAL_METHOD: &str = "95 % intervals: Student's t over trials (one per block), on logarithms; \
                               ranks by t within blocks, with what all candidates say of the spread";

const WIDENED: &str = "intervals are 1 + 2/n times as wide, since the run ended when they were narrow enough";

const NAMED_MAX: usize = 3;

/// Analyses a run: invalid, interrupted and failed trials are only counted; of several results of one trial the last
/// stands.
pub fn analyse(log: &RunLog) -> ExperimentAnalysis {
    let results = log.last_results();
    let mut all = results.clone();
    all.extend(log.controls.iter().map(|result| (result.planned.index, result)));
    let notes = notes(log, &all);
    let baseline = log.header.baseline.as_deref();
    let mut plans = Vec::new();
    for plan in plan_names(log, &results) {
        plans.push(plan_analysis(log, &results, &plan, baseline));
    }
    few_at_once::note(log, &results, &mut plans);
    let measured =
        |label: &str| plans.iter().flat_map(|p| &p.rows).any(|r| r.candidate == label && r.counted > 0);
    let baseline = baseline.filter(|label| measured(label));
    let published = log.header.published.as_ref().map(|source| {
        published::beside(source, &log.header.plans, baseline, &mut plans);
        published::analyse(source, &Evidence { log, results: &results, plans: &plans })
    });
    let of_two = of_two(log);
    let duet = log.header.duet.as_ref().and(of_two.clone());
    let profile = of_two.as_ref().and_then(|comparison| comparison.profile.clone());
    ExperimentAnalysis {
        schema: SCHEMA,
        name: log.header.name.clone(),
        title: log.header.title.clone(),
        // A comparison's sentence has no lower bounds, which a ranking's has.
        headline: match of_two.filter(|_| duet.is_some() || !has_lower_bound(&plans)) {
            Some(comparison) => comparison.headline,
            None => headline(log, &plans, baseline),
        },
        created_at: log.header.created_at.clone(),
        elapsed_ns: elapsed_ns(&all),
        seed: log.header.seed,
        host: log.header.host.clone(),
        server_host: log.header.server_host.clone(),
        server_cpus: log.header.server_cpus.clone(),
        client_cpus: log.header.client_cpus.clone(),
        baseline: baseline.map(str::to_owned),
        blocks_planned: blocks_planned(log).min(log.header.blocks),
        trials: trial_counts(log, &all),
        interrupted: interrupted(log),
        interval_method: match log.header.precision {
            Some(_) => format!("{INTERVAL_METHOD}; {WIDENED}"),
            None => INTERVAL_METHOD.to_owned(),
        },
        protocols: protocols::compare(log, &results),
        plans,
        skipped: log.header.skipped.clone(),
        reproduce: log.header.reproduce.clone(),
        notes,
        published,
        duet,
        profile,
    }
}

fn has_lower_bound(plans: &[PlanAnalysis]) -> bool {
    plans.iter().flat_map(|plan| &plan.rows).any(Row::lower_bound)
}

/// The two candidates of a run beside each other, under plans that are loads; `None` where one has no trial that counts.
fn of_two(log: &RunLog) -> Option<Comparison> {
    let searches = log.header.plans.iter().any(|plan| plan.capacity.is_some() || plan.share.is_some());
    if log.header.one_by_one || log.header.candidates.len() != 2 || searches {
        return None;
    }
    let (a, b) = choose_in(log, "this run", &[]).ok()?;
    compare_candidates(a, b, &Options::default()).ok()
}

fn trial_counts(log: &RunLog, results: &Results<'_>) -> TrialCounts {
    let mut counts = TrialCounts::default();
    let blocks = blocks_planned(log);
    let order = log.header.order.iter().filter(|p| p.block < blocks).map(|p| p.index);
    for index in order.chain(results.keys().copied()).collect::<BTreeSet<u32>>() {
        counts.planned += 1;
        let cell = results.get(&index).map(|result| Cell::measured(result));
        let slot = match cell {
            None => &mut counts.missing,
            Some(None) => &mut counts.void,
            Some(Some(cell)) if !cell.counts() => &mut counts.void,
            Some(Some(cell)) => match (cell.trial.verdict.validity, cell.throughput().at_least) {
                (Validity::Invalid, _) => &mut counts.void,
                (Validity::Suspect, _) => &mut counts.suspect,
                (Validity::Valid, true) => &mut counts.lower_bound,
                (Validity::Valid, false) => &mut counts.valid,
            },
        };
        *slot += 1;
    }
    counts
}

fn plan_analysis(log: &RunLog, results: &Results<'_>, plan: &str, baseline: Option<&str>) -> PlanAnalysis {
    let level = Level::of(log);
    let mut entries: Vec<(Row, CandidateTrials<'_>)> = Vec::new();
    let own = results.iter().filter(|(_, result)| result.planned.plan == plan);
    let own: Results<'_> = own.map(|(index, result)| (*index, *result)).collect();
    for candidate in candidates(log, results, plan) {
        let starts = CandidateTrials::of(&own, plan, &candidate.label);
        entries.push((row(&candidate, &starts, level), starts));
    }
    let rate = |row: &Row| row.throughput().map_or(f64::NEG_INFINITY, |e| e.point);
    entries.sort_by(|(a, _), (b, _)| rate(b).total_cmp(&rate(a)));
    let (mut rows, contestants): (Vec<Row>, Vec<CandidateTrials<'_>>) = entries.into_iter().unzip();
    figures::rank(&mut rows.iter_mut().map(|row| &mut row.figures).collect::<Vec<_>>(), &contestants, level);
    let ranked = contestants
        .iter()
        .zip(&rows)
        .filter_map(|(own, row)| Some((own.ranked_by(Figure::THROUGHPUT)?, row.candidate.as_str())));
    let (ranked, names): (Vec<ByBlock>, Vec<&str>) = ranked.unzip();
    let contest = Contest::of(&ranked.iter().collect::<Vec<_>>(), level);
    // Throughputs that are the schedule's say nothing of servers' noise.
    let of_schedule = contestants.iter().flat_map(|own| &own.counted).all(Cell::is_carried_whole);
    let changed = |(at, block, rank): (usize, u32, (u32, u32))| RankChange {
        candidate: names[at].to_owned(),
        block,
        rank,
    };
    let rank_changes = contest.left_out().map(|changes| changes.into_iter().map(changed).collect());
    if let Some(base) = rows.iter().position(|row| Some(row.candidate.as_str()) == baseline) {
        for row in &mut rows {
            row.ratio = row.figures[Figure::THROUGHPUT].ratios.get(base).cloned().flatten();
        }
    }
    let describe =
        log.header.plans.iter().find(|p| p.name == plan).map_or(plan, |p: &NamedPlan| p.describe.as_str());
    PlanAnalysis {
        name: plan.to_owned(),
        describe: describe.to_owned(),
        spread_at_20_ms: spread_at_20_ms(log, plan, &rows),
        unseen_stalls: unseen_stalls(&contestants),
        planning: contest.planning().filter(|_| !of_schedule),
        twin: controls::twin(log, plan, &contestants, &rows, level),
        rank_changes,
        rows,
    }
}

/// What is left open of every tail: of the candidate whose windows add up to least.
fn unseen_stalls(contestants: &[CandidateTrials<'_>]) -> Option<String> {
    let loaded =
        |own: &CandidateTrials<'_>| own.counted.iter().map(|c| c.trial.window.duration_ns).sum::<u64>();
    let least = contestants.iter().map(loaded).filter(|ns| *ns > 0).min()?;
    Some(stalls_not_excluded(least))
}

/// What the application's own work is taken to be, for [`PlanAnalysis::spread_at_20_ms`].
const APPLICATION_S: f64 = 0.02;

/// See [`PlanAnalysis::spread_at_20_ms`]. The application's work comes on top of a server's own CPU time of a request.
fn spread_at_20_ms(log: &RunLog, plan: &str, rows: &[Row]) -> Option<f64> {
    let record = log.header.plans.iter().find(|p| p.name == plan)?;
    if record.plan.arrivals != ArrivalKind::Closed {
        return None;
    }
    let costs: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.figures[Figure::CPU_PER_REQUEST].estimate.as_ref())
        .map(|e| e.point / 1e9 + APPLICATION_S)
        .collect();
    let least = costs.iter().copied().reduce(f64::min)?;
    let most = costs.iter().copied().reduce(f64::max)?;
    (costs.len() > 1).then_some(most / least - 1.0)
}

/// By the wall clock, pauses before a resume included. What a search loaded before its trial, the confirmation, is
/// counted.
fn elapsed_ns(results: &Results<'_>) -> Option<u64> {
    let span = |result: &TrialResult| {
        let trial = result.trial.as_ref()?;
        let start = trial.started_at.parse::<jiff::Timestamp>().ok()?.as_nanosecond();
        let loaded = i128::from(trial.window.warmup_ns) + i128::from(trial.window.duration_ns);
        let probes: i128 =
            result.capacity.iter().flat_map(|found| &found.probes).map(|p| i128::from(p.duration_ns)).sum();
        let searched = (probes - i128::from(trial.window.duration_ns)).max(0);
        Some((start - searched, start + loaded))
    };
    let spans: Vec<(i128, i128)> = results.values().filter_map(|r| span(r)).collect();
    let start = spans.iter().map(|s| s.0).min()?;
    let end = spans.iter().map(|s| s.1).max()?;
    u64::try_from(end - start).ok()
}

fn interrupted(log: &RunLog) -> bool {
    let last = log.events.iter().rev().find(|e| e.is_one_of(&[Interrupted, Resumed, Finished]));
    last.is_some_and(|e| e.is_one_of(&[Interrupted]))
}

fn notes(log: &RunLog, results: &Results<'_>) -> Vec<String> {
    let mut events: Vec<(&Event, Vec<&str>)> = Vec::new();
    for event in log.events.iter().filter(|e| !e.is_one_of(&[Finished, Checked])) {
        let same = |(other, of): &&mut (&Event, Vec<&str>)| {
            !of.is_empty()
                && event.found.is_some()
                && (&other.what, &other.detail) == (&event.what, &event.detail)
        };
        match events.iter_mut().find(same) {
            Some((_, of)) => of.extend(event.candidate()),
            None => events.push((event, event.candidate().into_iter().collect())),
        }
    }
    let mut notes: Vec<String> = events.into_iter().map(|(event, of)| event.said(&list(&of))).collect();
    notes.extend(repeats::note(log));
    notes.extend(log.header.tool.judged_by_another());
    if log.truncated {
        notes.push(
            "the run log's last line was cut off, by a crash or a full disk, and is left out".to_owned(),
        );
    }
    notes.extend(different_ways(results));
    if !log.unfinished.is_empty() {
        let trials: Vec<&PlannedTrial> = log.unfinished.iter().collect();
        notes.push(format!("begun, and without a result: {}", trial_names(&trials)));
    }
    let mut failures: BTreeMap<&str, Vec<&PlannedTrial>> = BTreeMap::new();
    for result in results.values() {
        if let (None, Some(failure)) = (Cell::measured(result), &result.failure) {
            failures
                .entry(without_name(&result.planned.candidate, failure))
                .or_default()
                .push(&result.planned);
        }
    }
    notes.extend(
        failures.iter().map(|(failure, trials)| format!("not measured: {}: {failure}", trial_names(trials))),
    );
    notes
}

fn different_ways(results: &Results<'_>) -> Option<String> {
    let mut by_way: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cell in results.values().filter_map(|result| Cell::measured(result)) {
        if let Some(way) = transport(cell.trial) {
            by_way.entry(way).or_default().insert(&cell.planned.candidate);
        }
    }
    let said = |(way, labels): (&&str, &BTreeSet<&str>)| {
        format!("{} over {way}", labels.iter().copied().collect::<Vec<_>>().join(", "))
    };
    (by_way.len() > 1).then(|| {
        format!(
            "{}: servers were reached in different ways, and figures are comparable only between servers \
             reached in the same way",
            by_way.iter().map(said).collect::<Vec<_>>().join("; ")
        )
    })
}

fn trial_names(trials: &[&PlannedTrial]) -> String {
    let mut names: Vec<String> = trials
        .iter()
        .take(NAMED_MAX)
        .map(|p| format!("{} under {} in block {}", p.who(), p.plan, p.block + 1))
        .collect();
    if trials.len() > NAMED_MAX {
        names.push(format!("{} more", trials.len() - NAMED_MAX));
    }
    list(&names)
}

#[cfg(test)]
#[path = "analyse_tests.rs"]
mod tests;
