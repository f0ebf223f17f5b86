//! The tail of two: ratios of response times at several percentiles, tested together.

use prony_model::Estimate;
use prony_model::trial::PERCENTILES;
use prony_stats::CONFIDENCE;
use prony_stats::interval::geometric_mean;
use prony_stats::moderated::Difference;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::{ByBlock, Cell, any_overloaded};
use crate::compare::{Finding, Rule, log_ratios};
use crate::figure::{Figure, FigureValue};
use crate::look::Level;
use crate::numbers::{estimate, real, real_len};

/// So many percentiles are compared: the median, and the last that the samples of every trial allow.
const QUANTILES: usize = 5;

/// B's percentile over A's.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TailRatio {
    /// Of response times: 0.99.
    pub quantile: f64,
    /// B over A, with an interval that is aimed to hold for all of these at once in 95 % of runs.
    pub ratio: Estimate,
    /// What that says, of all of these together.
    pub finding: Finding,
}

/// B's over A's under one plan; none where a percentile would be of fewer than two common blocks, or grew in an overload.
pub(crate) fn tails(a: &[Cell<'_>], b: &[Cell<'_>], rule: Rule, level: Level) -> Vec<TailRatio> {
    if any_overloaded(a) || any_overloaded(b) {
        return Vec::new();
    }
    let logs = |(field, quantile): &(&str, f64)| {
        let (a, b) = (by_block(field, a)?, by_block(field, b)?);
        Some((*quantile, log_ratios(&a.pairs(&b))?))
    };
    let mut all: Vec<(f64, Vec<f64>)> = PERCENTILES.iter().filter_map(logs).collect();
    if all.len() > QUANTILES {
        all.drain(1..=all.len() - QUANTILES);
    }
    let together = real_len(all.len());
    let ratio = |(quantile, logs): &(f64, Vec<f64>)| {
        let test = level.of_test(Difference::of(logs)?);
        let interval = test.interval_at((1.0 - CONFIDENCE) / together)?;
        let finding = rule.finding(&test, level.error / together, 1);
        Some(TailRatio { quantile: *quantile, ratio: estimate(interval.exp()), finding })
    };
    all.iter().filter_map(ratio).collect()
}

/// A percentile by block, where every trial has it.
fn by_block(field: &str, cells: &[Cell<'_>]) -> Option<ByBlock> {
    let of = |cell: &Cell<'_>| Some((cell.planned.block, cell.trial.latency.response.percentile(field)?));
    let known: Option<Vec<(u32, u64)>> = cells.iter().map(of).collect();
    let known =
        known?.into_iter().map(|(block, ns)| (block, FigureValue { value: real(ns), at_least: false }));
    ByBlock::new(known, geometric_mean, false)
}

/// What matters of every percentile is what matters of p99.
pub(crate) const LIKE: Figure = Figure::P99;
