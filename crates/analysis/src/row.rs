//! One candidate under one plan: what its trials say together.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::code::Code;
use prony_model::run_log::{CandidateFacts, CandidateRecord};
use prony_model::trial::{Effect, Outcome, Trial};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::{CandidateTrials, Cell, Deaths};
use crate::controls::Twin;
use crate::curve::{CurvePoint, TrialSeries, latency_curve, series};
use crate::figure::Figure;
use crate::figures::{self, Figures};
use crate::look::Level;
use crate::numbers::{count, real};
use crate::ranking::{Planning, RankChange};
use crate::starts::{Starts, still_rising, two_levels};

/// One plan's ranking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanAnalysis {
    /// The plan's name.
    pub name: String,
    /// `100 connections, closed loop, GET /, 3s after 1s warm-up`.
    pub describe: String,
    /// Candidates, best throughput first; those without a figure last.
    pub rows: Vec<Row>,
    /// How much more the fastest would carry than the slowest if each request took 20 ms of the
    /// servers' CPUs besides, as a share: what the choice is worth to an application that works.
    /// `None` at a rate, and below two candidates whose CPU time is known.
    pub spread_at_20_ms: Option<f64>,
    /// What is left open of every tail, whatever it is here: a sentence.
    pub unseen_stalls: Option<String>,
    /// What these blocks, and others, find of differences in throughput; `None` below two blocks or ranked candidates, and
    /// where all carried what was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planning: Option<Planning>,
    /// Which places by throughput would change without one of the blocks; `None` under eight blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_changes: Option<Vec<RankChange>>,
    /// The control: what the run tells apart of a candidate and its twin. `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<Twin>,
}

/// One candidate under one plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The candidate's label.
    pub candidate: String,
    /// What is known of it.
    #[serde(flatten)]
    pub facts: CandidateFacts,
    /// Its figures, each a field named by the table of figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Throughput over the baseline's, paired within blocks.
    pub ratio: Option<Estimate>,
    /// Failed requests over all counted trials.
    pub failed: u64,
    /// Completed requests over all counted trials.
    pub completed: u64,
    /// Trials with a result.
    pub trials: u32,
    /// Trials that count.
    pub counted: u32,
    /// Trials whose outcome was `overloaded`.
    pub overloaded: u32,
    /// Trials whose outcome was `broken`.
    pub broken: u32,
    /// Starts in which the server died: then it is not ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub died: Option<Deaths>,
    /// Each verdict's code seen, with the number of trials and one detail.
    pub reasons: Vec<RowReason>,
    /// Response time by percentile, trials merged for display (not for inference).
    pub latency_curve: Vec<CurvePoint>,
    /// Each trial over time.
    pub series: Vec<TrialSeries>,
    /// What the services beside it cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceFigures>,
    /// What its starts together show besides: sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// What the source printed for this candidate under this load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFigures>,
}

impl Row {
    /// The best and the worst place it may hold by throughput; `None` without a figure.
    pub fn rank(&self) -> Option<(u32, u32)> {
        self.figures[Figure::THROUGHPUT].rank
    }

    pub fn throughput(&self) -> Option<&Estimate> {
        self.figures[Figure::THROUGHPUT].estimate.as_ref()
    }

    /// Whether any counted trial's throughput is a lower bound: print `≥`.
    pub fn lower_bound(&self) -> bool {
        self.figures[Figure::THROUGHPUT].lower_bound
    }
}

/// What a service (a database, a cache, an upstream) cost beside a candidate: no part of the candidate's own figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ServiceFigures {
    /// `db`.
    pub name: String,
    /// Its CPU time over the candidate's completed requests.
    pub cpu_per_request_ns: Option<Estimate>,
    /// The highest resident memory of any trial.
    pub peak_memory_bytes: u64,
}

/// A verdict's code in a row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RowReason {
    /// The code.
    #[schemars(with = "String")]
    pub code: Code,
    /// How many trials had it.
    pub trials: u32,
    /// The worst that it does to a figure.
    pub effect: Effect,
    /// The first one's detail.
    pub detail: String,
    /// The advice.
    pub advice: String,
    /// The least and the greatest of each value of the reason among those trials, by name, with the unit at its end as
    /// in a trial's reason.
    pub values: BTreeMap<String, [f64; 2]>,
}

/// What a source printed for a row of ours.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PublishedFigures {
    /// The source's word for the candidate.
    pub name: String,
    /// Its figures, by name with their unit.
    pub figures: BTreeMap<String, f64>,
    /// Its throughput over that of its row of our baseline; `None` where either is missing or doubted.
    pub ratio: Option<f64>,
    /// Why the row is doubted.
    pub doubt: Option<String>,
}

/// Why a throughput has no interval where all that was due was completed.
pub const CARRIED_WHOLE: &str = "all that was due was completed: an interval would be the schedule's";

/// The candidate's row, not ranked yet.
pub(crate) fn row(candidate: &CandidateRecord, starts: &CandidateTrials<'_>, level: Level) -> Row {
    let CandidateTrials { all: cells, counted, died } = starts;
    let trials: Vec<&Trial> = counted.iter().map(|c| c.trial).collect();
    let with = |outcome| count(trials.iter().filter(|trial| trial.outcome == outcome).count());
    let together = Starts::new(counted, level.widened);
    let mut figures = Figures::over(counted, &together, level);
    let throughput = &mut figures[Figure::THROUGHPUT].estimate;
    if counted.iter().all(Cell::is_carried_whole)
        && let Some(own) = throughput
    {
        *own = Estimate::bare(own.point, own.n, CARRIED_WHOLE);
    }
    Row {
        candidate: candidate.label.clone(),
        facts: candidate.facts.clone(),
        figures,
        ratio: None,
        failed: trials.iter().map(|trial| trial.requests.failed).sum(),
        completed: trials.iter().map(|trial| trial.requests.completed).sum(),
        trials: count(cells.len()),
        counted: count(counted.len()),
        overloaded: with(Outcome::Overloaded),
        broken: with(Outcome::Broken),
        died: *died,
        reasons: reasons(cells),
        services: services(counted, level),
        remarks: remarks(counted, &trials),
        latency_curve: latency_curve(together.completed(), &trials),
        series: cells.iter().map(|c| series(c.planned.block, c.trial, c.server)).collect(),
        published: None,
    }
}

fn services(counted: &[Cell<'_>], level: Level) -> Vec<ServiceFigures> {
    let mut all: Vec<(&str, Vec<f64>, u64)> = Vec::new();
    for cell in counted {
        for service in cell.server.iter().flat_map(|server| &server.services) {
            if all.iter().all(|(name, ..)| *name != service.name) {
                all.push((&service.name, Vec::new(), 0));
            }
            let Some((_, costs, most)) = all.iter_mut().find(|(name, ..)| *name == service.name) else {
                continue;
            };
            let completed = cell.trial.requests.completed;
            costs.extend((completed > 0).then(|| real(service.window_cpu_ns) / real(completed)));
            *most = (*most).max(service.peak_memory_bytes);
        }
    }
    let figures = |(name, costs, peak_memory_bytes): (&str, Vec<f64>, u64)| ServiceFigures {
        name: name.to_owned(),
        cpu_per_request_ns: figures::estimate(&costs, level),
        peak_memory_bytes,
    };
    all.into_iter().map(figures).collect()
}

fn remarks(counted: &[Cell<'_>], trials: &[&Trial]) -> Vec<String> {
    let per_start: Vec<f64> = counted.iter().map(|cell| cell.throughput().value).collect();
    [two_levels(&per_start), still_rising(trials)].into_iter().flatten().collect()
}

/// Each code of any trial, with how many trials had it and the first one's words.
fn reasons(cells: &[Cell<'_>]) -> Vec<RowReason> {
    let mut order = Vec::new();
    let mut by_code: BTreeMap<Code, RowReason> = BTreeMap::new();
    for cell in cells {
        let mut of_this_trial: Vec<Code> = Vec::new();
        for reason in &cell.trial.verdict.reasons {
            let code = reason.code;
            if of_this_trial.contains(&code) {
                continue;
            }
            of_this_trial.push(code);
            let seen = by_code.entry(code).or_insert_with(|| {
                order.push(code);
                RowReason {
                    code,
                    trials: 0,
                    effect: reason.effect,
                    detail: reason.detail.clone(),
                    advice: reason.advice.clone(),
                    values: BTreeMap::new(),
                }
            });
            for (name, &value) in &reason.values {
                let [least, most] = seen.values.entry(name.clone()).or_insert([value; 2]);
                (*least, *most) = (least.min(value), most.max(value));
            }
            seen.trials += 1;
            seen.effect = seen.effect.max(reason.effect);
        }
    }
    order.into_iter().filter_map(|code| by_code.remove(&code)).collect()
}
