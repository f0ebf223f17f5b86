//! The tail of two: ratios of response times at several percentiles, tested together.

use prony_model::Estimate;
use prony_stats::CONFIDENCE;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::CandidateTrials;
use crate::compare::{Finding, Rule};
use crate::figure::Figure;
use crate::look::Level;
use crate::numbers::{estimate, real_len};

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

/// None where a percentile would be of fewer than two common blocks, or grew in an overload, nor of a server that died.
pub(crate) fn tails(
    a: &CandidateTrials<'_>,
    b: &CandidateTrials<'_>,
    rule: Rule,
    level: Level,
) -> Vec<TailRatio> {
    if a.died.or(b.died).is_some() {
        return Vec::new();
    }
    let logs = |figure: Figure| {
        let quantile = figure.quantile()?;
        Some((quantile, b.comparable(figure)?.log_ratios(&a.comparable(figure)?)?))
    };
    let mut all: Vec<(f64, Vec<f64>)> = Figure::all().filter_map(logs).collect();
    if all.len() > QUANTILES {
        all.drain(1..=all.len() - QUANTILES);
    }
    let together = real_len(all.len());
    let ratio = |(quantile, logs): &(f64, Vec<f64>)| {
        let test = level.test(logs)?;
        let interval = test.interval_at((1.0 - CONFIDENCE) / together)?;
        let finding = rule.finding(&test, level.error / together, 1);
        Some(TailRatio { quantile: *quantile, ratio: estimate(interval.exp()), finding })
    };
    all.iter().filter_map(ratio).collect()
}

/// What matters of every percentile is what matters of p99.
pub(crate) const LIKE: Figure = Figure::P99;
