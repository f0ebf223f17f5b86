//! One trial of a run as statistics take it, and which trials a run has by plan, candidate and block.

use std::collections::BTreeMap;
use std::fmt;

use prony_model::capacity::CapacityRecord;
use prony_model::code::Code;
use prony_model::run_log::EventKind::{BudgetSpent, Finished, Interrupted, PrecisionReached};
use prony_model::run_log::{CandidateRecord, PlannedTrial, RunLog, TrialResult};
use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Outcome, Trial};
use prony_stats::interval::{geometric_mean, logarithms};
use schemars::JsonSchema;
use serde::Serialize;

use crate::figure::{Figure, FigureValue};
use crate::numbers::count;

/// A run's results by index, of several of one planned trial the last.
pub(crate) type Results<'a> = BTreeMap<u32, &'a TrialResult>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub(crate) planned: &'a PlannedTrial,
    pub(crate) trial: &'a Trial,
    pub(crate) server: Option<&'a ServerSamples>,
    /// What a search found; the trial is then its confirmation.
    capacity: Option<&'a CapacityRecord>,
}

impl<'a> Cell<'a> {
    /// The result's trial; `None` when nothing was measured.
    pub(crate) fn measured(result: &'a TrialResult) -> Option<Cell<'a>> {
        let (planned, trial) = (&result.planned, result.trial.as_ref()?);
        let (server, capacity) = (result.server.as_ref(), result.capacity.as_ref());
        // Of a search that found nothing there is no figure; of one that was given up there is the reason,
        // and its trial does not count.
        let found_nothing = capacity.is_some_and(|c| c.capacity_per_s.is_none() && c.void.is_none());
        (!found_nothing).then_some(Cell { planned, trial, server, capacity })
    }

    /// Completed requests per second, of a search the rate it found; and whether the server carries at least that.
    pub(crate) fn throughput(&self) -> FigureValue {
        let own = &self.trial.throughput;
        let found = self.capacity.and_then(|found| found.capacity_per_s.as_ref());
        let bound = self.capacity.map_or(own.bound, |found| found.bound);
        FigureValue { value: found.unwrap_or(&own.requests_per_s).point, at_least: bound == Bound::Lower }
    }

    /// A figure; of a search, throughput is the rate that it found.
    pub(crate) fn figure(&self, figure: Figure) -> Option<FigureValue> {
        if figure == Figure::THROUGHPUT {
            return Some(self.throughput());
        }
        figure.of_trial(self.trial, self.server)
    }

    /// A figure; `None` of a percentile that is censored, too.
    pub(crate) fn uncensored(&self, figure: Figure) -> Option<FigureValue> {
        if figure.quantile().is_some() {
            self.trial.latency.response.percentile(figure.field)?;
        }
        self.figure(figure).filter(|known| known.value.is_finite())
    }

    /// Whether its throughput is the schedule's; that of a search is not.
    pub(crate) fn is_carried_whole(&self) -> bool {
        self.capacity.is_none() && self.trial.is_carried_whole()
    }

    /// Whether it counts: it ran to its end and is not invalid.
    pub(crate) fn counts(&self) -> bool {
        self.trial.counts()
    }

    pub(crate) fn has(&self, code: Code) -> bool {
        self.trial.verdict.reasons.iter().any(|reason| reason.code == code)
    }
}

/// The order's trials but controls, and those that were run beyond it (`load -o` has no order), by index.
pub(crate) fn planned<'a>(log: &'a RunLog, results: &Results<'a>) -> BTreeMap<u32, &'a PlannedTrial> {
    let beyond = results.iter().map(|(index, result)| (*index, &result.planned));
    let blocks = blocks_planned(log);
    let order = log.header.order.iter().filter(|p| p.block < blocks && p.control.is_none());
    order.map(|p| (p.index, p)).chain(beyond).collect()
}

/// Blocks that were meant to run: those of the order, or as many as its precision took.
pub(crate) fn blocks_planned(log: &RunLog) -> u32 {
    let last = log
        .events
        .iter()
        .rev()
        .find(|e| e.is_one_of(&[Interrupted, Finished, BudgetSpent, PrecisionReached]));
    let begun = log.results.iter().map(|r| r.planned.block + 1).max();
    match (last, begun) {
        (Some(last), Some(begun)) if last.is_one_of(&[PrecisionReached]) => begun.min(log.header.blocks),
        _ => u32::MAX,
    }
}

/// The header's plans in their order, then any that only trials name.
pub(crate) fn plan_names(log: &RunLog, results: &Results<'_>) -> Vec<String> {
    let mut names: Vec<String> = log.header.plans.iter().map(|p| p.name.clone()).collect();
    for planned in planned(log, results).values() {
        if !names.contains(&planned.plan) {
            names.push(planned.plan.clone());
        }
    }
    names
}

pub(crate) fn candidates(log: &RunLog, results: &Results<'_>, plan: &str) -> Vec<CandidateRecord> {
    let planned = planned(log, results);
    let mut labels: Vec<&str> = Vec::new();
    for p in planned.values().filter(|p| p.plan == plan) {
        if !labels.contains(&p.candidate.as_str()) {
            labels.push(&p.candidate);
        }
    }
    let known = log.header.candidates.iter().filter(|c| labels.contains(&c.label.as_str())).cloned();
    let unknown = labels.iter().filter(|label| log.header.candidates.iter().all(|c| c.label != **label));
    known.chain(unknown.map(|label| CandidateRecord::named(label))).collect()
}

#[derive(Debug, Clone, Default)]
pub(crate) struct CandidateTrials<'a> {
    pub(crate) all: Vec<Cell<'a>>,
    pub(crate) counted: Vec<Cell<'a>>,
    /// In how many the server died, where it did: then it has no rank.
    pub(crate) died: Option<Deaths>,
}

impl<'a> CandidateTrials<'a> {
    pub(crate) fn of(results: &Results<'a>, plan: &str, candidate: &str) -> CandidateTrials<'a> {
        let own = results.values().filter(|r| r.planned.plan == plan && r.planned.candidate == candidate);
        CandidateTrials::from_results(own.copied())
    }

    pub(crate) fn from_results(results: impl IntoIterator<Item = &'a TrialResult>) -> CandidateTrials<'a> {
        let mut all: Vec<Cell<'a>> = results.into_iter().filter_map(Cell::measured).collect();
        all.sort_by_key(|cell| (cell.planned.block, cell.planned.index));
        let died = count(all.iter().filter(|cell| cell.has(Code::ServerDied)).count());
        let died = (died > 0).then(|| Deaths { died, starts: count(all.len()) });
        CandidateTrials { counted: all.iter().copied().filter(Cell::counts).collect(), all, died }
    }

    /// `None` of a percentile that a trial does not have (censored or withheld), or that grew with the window in an
    /// overload.
    pub(crate) fn comparable(&self, figure: Figure) -> Option<ByBlock> {
        let known: Vec<(u32, FigureValue)> = self
            .counted
            .iter()
            .filter_map(|cell| Some((cell.planned.block, cell.uncensored(figure)?)))
            .collect();
        let some_lack_it = known.len() < self.counted.len() || any_overloaded(&self.counted);
        if figure.quantile().is_some() && some_lack_it {
            return None;
        }
        ByBlock::new(known, geometric_mean, self.died.is_some())
    }

    pub(crate) fn ranked_by(&self, figure: Figure) -> Option<ByBlock> {
        let own = self.comparable(figure).filter(|own| !own.died)?;
        Some(if figure.more_is_better { own } else { own.inverse() })
    }
}

/// Starts of a server that died under load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Deaths {
    /// In so many,
    pub died: u32,
    /// of so many.
    pub starts: u32,
}

impl fmt::Display for Deaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "died in {} of {} starts", self.died, self.starts)
    }
}

/// Whether any of them was overloaded: its response grew with its window's length.
pub(crate) fn any_overloaded(cells: &[Cell<'_>]) -> bool {
    cells.iter().any(|cell| cell.trial.outcome == Outcome::Overloaded)
}

/// Whether the truth of a side may be more or less than its figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) may_be_more: bool,
    pub(crate) may_be_less: bool,
}

impl Bounds {
    pub(crate) fn is_exact(self) -> bool {
        self == Bounds::default()
    }

    pub(crate) fn is_surely_more(self, other: Bounds) -> bool {
        !self.may_be_less && !other.may_be_more
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ByBlock {
    /// Of several trials of one block their average.
    pub(crate) values: BTreeMap<u32, f64>,
    pub(crate) at_least: bool,
    /// Whether the server died in other starts: these blocks are those that it survived.
    pub(crate) died: bool,
}

impl ByBlock {
    /// `None` where there are no figures, or where a block has no average, as one with a 0 has no geometric mean.
    pub(crate) fn new(
        trials: impl IntoIterator<Item = (u32, FigureValue)>,
        average: fn(&[f64]) -> Option<f64>,
        died: bool,
    ) -> Option<ByBlock> {
        let mut at_least = false;
        let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, known) in trials {
            blocks.entry(block).or_default().push(known.value);
            at_least |= known.at_least;
        }
        let values: Option<BTreeMap<u32, f64>> =
            blocks.into_iter().map(|(block, values)| Some((block, average(&values)?))).collect();
        values.filter(|values| !values.is_empty()).map(|values| ByBlock { values, at_least, died })
    }

    /// More, of a bound and of a server that died where more is worse; less of one that died where more is better.
    pub(crate) fn bounds(&self, more_is_better: bool) -> Bounds {
        let may_be_more = self.at_least || (self.died && !more_is_better);
        Bounds { may_be_more, may_be_less: self.died && more_is_better }
    }

    pub(crate) fn ratios(&self, over: &ByBlock) -> Vec<f64> {
        self.pairs(over).iter().map(|(own, over)| own / over).collect()
    }

    /// Their logarithms; `None` where a figure is not above 0.
    pub(crate) fn log_ratios(&self, over: &ByBlock) -> Option<Vec<f64>> {
        logarithms(&self.ratios(over))
    }

    /// The same order upside down, for figures of which less is better.
    pub(crate) fn inverse(mut self) -> ByBlock {
        self.values.values_mut().for_each(|value| *value = 1.0 / *value);
        self
    }

    pub(crate) fn pairs(&self, other: &ByBlock) -> Vec<(f64, f64)> {
        self.values.iter().filter_map(|(block, own)| Some((*own, *other.values.get(block)?))).collect()
    }

    pub(crate) fn in_order(&self) -> Vec<f64> {
        self.values.values().copied().collect()
    }
}
