//! One candidate under one plan: estimates over its trials that count.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::capacity::CapacityRecord;
use prony_model::run_log::{CandidateRecord, PlannedTrial, TrialResult};
use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Outcome, Trial};
use prony_stats::CONFIDENCE;
use prony_stats::interval::{geometric_mean, geometric_mean_interval, mean, mean_interval};

use crate::curve::{latency_curve, series};
use crate::experiment::{Row, RowReason};
use crate::figure::{Figure, Known};
use crate::numbers::real;
use crate::ranking::Contestant;
use crate::summary::rounded;

/// A trial with its place in the run.
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
    pub(crate) fn of(result: &'a TrialResult) -> Option<Cell<'a>> {
        let trial = result.trial.as_ref()?;
        // Of a search that found nothing there is no figure; of one that was given up there is the reason,
        // and its trial does not count.
        if result
            .capacity
            .as_ref()
            .is_some_and(|found| found.capacity_per_s.is_none() && found.void.is_none())
        {
            return None;
        }
        let capacity = result.capacity.as_ref();
        Some(Cell { planned: &result.planned, trial, server: result.server.as_ref(), capacity })
    }

    /// What candidates are ranked by: completed requests per second, of a search the rate it found.
    pub(crate) fn rate(&self) -> f64 {
        let found = self.capacity.and_then(|found| found.capacity_per_s.as_ref());
        found.map_or(self.trial.throughput.requests_per_s.point, |found| found.point)
    }

    /// Whether the server carries at least that.
    pub(crate) fn is_lower_bound(&self) -> bool {
        self.capacity.map_or(self.trial.throughput.bound, |found| found.bound) == Bound::Lower
    }

    /// A figure; of a search, throughput is the rate that it found.
    pub(crate) fn figure(&self, figure: Figure) -> Option<Known> {
        if figure == Figure::Throughput {
            return Some(Known { value: self.rate(), at_least: self.is_lower_bound() });
        }
        figure.of(self.trial, self.server)
    }

    /// Whether it counts: it ran to its end and is not invalid.
    pub(crate) fn counts(&self) -> bool {
        self.trial.counts()
    }
}

/// The candidate's row without its rank and ratio, and what it competes with. `cells` are all its trials, in block order.
pub(crate) fn row(candidate: &CandidateRecord, cells: &[Cell<'_>]) -> (Row, Option<Contestant>) {
    let counted: Vec<Cell<'_>> = cells.iter().copied().filter(Cell::counts).collect();
    let rates: Vec<f64> = counted.iter().map(Cell::rate).collect();
    let lower_bound = counted.iter().any(Cell::is_lower_bound);
    let by_block: Vec<(u32, f64)> =
        counted.iter().zip(&rates).map(|(c, rate)| (c.planned.block, *rate)).collect();
    let (p50_ns, _) = percentile(&counted, "p50_ns");
    let (p99_ns, p99_censored_at_ns) = percentile(&counted, "p99_ns");
    let trials: Vec<&Trial> = counted.iter().map(|c| c.trial).collect();
    let latency_curve = latency_curve(&trials);
    let with = |outcome| count(counted.iter().filter(|c| c.trial.outcome == outcome).count());
    let row = Row {
        candidate: candidate.label.clone(),
        title: candidate.title.clone(),
        language: candidate.language.clone(),
        kind: candidate.kind.clone(),
        version: candidate.version.clone(),
        workers: candidate.workers,
        keepalive: candidate.keepalive,
        rank: None,
        requests_per_s: estimate(&rates),
        lower_bound,
        ratio: None,
        p50_ns,
        p99_ns,
        p99_censored_at_ns,
        cpu_per_request_ns: estimate(&cpu_per_request(&counted)),
        // Once that is widened, where it is.
        requests_per_cpu_s: None,
        peak_memory_bytes: counted.iter().filter_map(|c| Some(c.server?.peak_memory_bytes)).max(),
        memory_growth_bytes_per_s: arithmetic(
            &counted.iter().filter_map(|c| Some(c.figure(Figure::MemoryGrowth)?.value)).collect::<Vec<_>>(),
        ),
        startup_ns: estimate(
            &counted.iter().filter_map(|c| Some(real(c.server?.startup_ns))).collect::<Vec<_>>(),
        ),
        failed: counted.iter().map(|c| c.trial.requests.failed).sum(),
        completed: counted.iter().map(|c| c.trial.requests.completed).sum(),
        trials: count(cells.len()),
        counted: count(counted.len()),
        overloaded: with(Outcome::Overloaded),
        broken: with(Outcome::Broken),
        reasons: reasons(cells),
        latency_curve,
        series: cells.iter().map(|c| series(c.planned.block, c.trial, c.server)).collect(),
        per_trial_requests_per_s: rates,
        published: None,
    };
    (row, Contestant::of(&by_block, lower_bound))
}

/// The geometric mean with its t interval on logarithms, or the reason why there is none.
pub(crate) fn estimate(values: &[f64]) -> Option<Estimate> {
    let n = values.len() as u64;
    if let Some(i) = geometric_mean_interval(values, CONFIDENCE) {
        return Some(Estimate::new(i.point, i.low, i.high, n));
    }
    match geometric_mean(values) {
        Some(point) => Some(Estimate::bare(point, n, "one trial has no interval")),
        // A trial at 0 has no logarithm.
        None => mean(values).map(|point| {
            Estimate::bare(point, n, "a trial of 0 has no geometric mean: this is the plain one")
        }),
    }
}

/// The mean with its t interval, of figures that may be 0 or below.
fn arithmetic(values: &[f64]) -> Option<Estimate> {
    let n = values.len() as u64;
    match mean_interval(values, CONFIDENCE) {
        Some(i) => Some(Estimate::new(i.point, i.low, i.high, n)),
        None => mean(values).map(|point| Estimate::bare(point, n, "one trial has no interval")),
    }
}

/// One over a figure, its interval turned round. `None` of 0.
pub(crate) fn reciprocal(estimate: &Estimate, per: f64) -> Option<Estimate> {
    let over = |value: f64| (value > 0.0).then(|| per / value);
    Some(Estimate {
        point: over(estimate.point)?,
        ci_low: estimate.ci_high.and_then(over),
        ci_high: estimate.ci_low.and_then(over),
        ..estimate.clone()
    })
}

/// The geometric mean of the trials' response percentiles, or the value that
/// it is longer than, where a trial's is censored. Neither where one is
/// withheld: an average over those that happened to have it would favour them.
pub(crate) fn percentile(counted: &[Cell<'_>], name: &str) -> (Option<Estimate>, Option<u64>) {
    let mut values = Vec::with_capacity(counted.len());
    let mut censored = false;
    for cell in counted {
        let response = &cell.trial.latency.response;
        match (response.percentile(name), response.censored_at_ns.get(name)) {
            (Some(value), _) => values.push(real(value)),
            (None, Some(than)) => {
                censored = true;
                values.push(real((*than).max(1)));
            }
            (None, None) => return (None, None),
        }
    }
    if censored {
        return (None, geometric_mean(&values).map(rounded));
    }
    let overloaded = counted.iter().any(|c| c.trial.outcome == Outcome::Overloaded);
    let estimate = estimate(&values).map(|e| {
        if overloaded {
            return Estimate::bare(e.point, e.n, "overloaded: the response grows with the window's length");
        }
        e
    });
    (estimate, None)
}

fn cpu_per_request(counted: &[Cell<'_>]) -> Vec<f64> {
    counted
        .iter()
        .filter(|c| c.trial.requests.completed > 0)
        .filter_map(|c| Some(real(c.server?.window_cpu_ns) / real(c.trial.requests.completed)))
        .collect()
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

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
