//! Which of two is ahead: the rule of a verdict, from one figure per trial, paired within blocks.

use prony_stats::interval::{Interval, logarithms, mean, variance};
use prony_stats::moderated::Difference;
use prony_stats::power::{blocks_to_decide, plausible_sds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::look::Level;
use crate::numbers::{count, real_len};

/// The chance with which forecast blocks are to decide, and differences to be found.
pub(crate) const POWER: f64 = 0.8;

/// The differences that a forecast is made for, in smallest differences that matter.
const FORECAST_FOR: [f64; 3] = [0.0, 0.5, 1.5];

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The smallest difference that matters, as a share: 0.02 is 2 %. Above 0, below 1.
    pub smallest: f64,
    pub more_is_better: bool,
}

impl Rule {
    pub fn usual(figure: Figure) -> Rule {
        Rule { smallest: figure.smallest_difference, more_is_better: figure.more_is_better }
    }

    fn margin(self) -> f64 {
        self.smallest.ln_1p()
    }

    /// What a test of B's logarithms less A's says at an error, where it is one of so many hypotheses. **Equivalent**
    /// where two one-sided tests at the error put it within ±δ (Schuirmann 1987), whatever else is found; else
    /// **faster** or **slower** where the two-sided test rejects at the error's share; else **inconclusive**.
    pub fn finding(self, test: &Difference, error: f64, hypotheses: usize) -> Finding {
        // 1e-9: pairs that differ by δ exactly do so but for rounding.
        if test.is_within(self.margin() * (1.0 - 1e-9), error) {
            Finding::Equivalent
        } else if !test.differs(error / real_len(hypotheses)) {
            Finding::Inconclusive
        } else if (test.mean > 0.0) == self.more_is_better {
            Finding::Faster
        } else {
            Finding::Slower
        }
    }

    fn decide(self, test: Difference, level: Level) -> Option<RatioComparison> {
        let finding = self.finding(&test, level.error, 1);
        Some(RatioComparison { ratio: test.interval()?.exp(), finding, test })
    }

    /// How many more blocks than these are likely to decide at the next look, if the true difference is each of some.
    pub fn forecast(self, test: &Difference, level: Level) -> Vec<Forecast> {
        let sds = plausible_sds(test.error * real_len(test.n).sqrt(), test.degrees);
        let of = |share: f64| {
            let difference = share * self.margin();
            let blocks = blocks_to_decide(difference, self.margin(), &sds, level.next().error, POWER);
            // At least one more: these blocks did not decide.
            let more = blocks.map(|n| count(n.saturating_sub(test.n).max(1)));
            Forecast { difference: difference.exp_m1(), more_blocks: more }
        };
        FORECAST_FOR.into_iter().map(of).collect()
    }
}

/// B beside A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// B is better.
    Faster,
    /// B is worse.
    Slower,
    /// They differ by less than what matters.
    Equivalent,
    /// These blocks do not say.
    Inconclusive,
}

/// What it would take to decide.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// If this is the true difference, as a share,
    pub difference: f64,
    /// so many more blocks decide in four of five runs; `None`: more than a thousand.
    pub more_blocks: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioComparison {
    /// B's figure over A's: geometric mean and 95 % interval, n the blocks.
    pub ratio: Interval,
    pub finding: Finding,
    pub test: Difference,
}

/// B's figure over A's from (a, b) per block, by [`Rule::finding`]; `None` under two blocks, or of a figure not above
/// 0.
pub fn compare(pairs: &[(f64, f64)], rule: Rule, level: Level) -> Option<RatioComparison> {
    rule.decide(level.test(&log_ratios(pairs)?)?, level)
}

/// A run against K earlier ones, a run being a point: B less their mean, ± t(K − 1)·s·√(1 + 1/K), a prediction
/// interval. `None` under [`EARLIER_MIN`] earlier runs, or when a figure is not above 0.
pub fn compare_with_runs(earlier: &[f64], b: f64, rule: Rule) -> Option<RatioComparison> {
    let (logs, b) = (logarithms(earlier)?, logarithms(&[b])?[0]);
    let (n, runs) = (logs.len(), real_len(logs.len()));
    let spread = variance(&logs).filter(|_| n >= EARLIER_MIN)?.sqrt();
    let error = spread * (1.0 + 1.0 / runs).sqrt();
    rule.decide(Difference { mean: b - mean(&logs)?, error, degrees: runs - 1.0, n }, Level::look(1))
}

pub const EARLIER_MIN: usize = 5;

/// ln(b/a) of each pair; `None` when a figure is not above 0.
pub(crate) fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    pairs.iter().map(|(a, b)| log_ratio(*a, *b)).collect()
}

pub(crate) fn log_ratio(a: f64, b: f64) -> Option<f64> {
    (a > 0.0 && b > 0.0).then(|| (b / a).ln())
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
