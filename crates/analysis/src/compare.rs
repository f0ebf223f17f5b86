//! Which of two is ahead: the rule of a comparison, from one figure per trial, paired within blocks.

use prony_stats::CONFIDENCE;
use prony_stats::equivalence::equivalence_p_value;
use prony_stats::interval::{Interval, logarithms, mean, mean_interval, variance};
use prony_stats::power::{blocks_for_width, blocks_to_find};
use prony_stats::student::t_two_sided;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::numbers::real_len;

/// A winner's interval keeps this share of the smallest difference that matters
/// (on logarithms) away from "equal": 0.5 % of throughput, which is what
/// requests in flight at a window's ends move. It holds A/A comparisons under
/// 5 % (docs/statistics.md has the table), where "excludes 0" would sit on it.
const CLEAR_SHARE: f64 = 0.25;

/// The chance with which the blocks forecast are to settle it.
const POWER: f64 = 0.8;

/// No forecast asks for more blocks; beyond it, the answer is that this noise does not allow one.
const BLOCKS_FORECAST_MAX: usize = 1_000;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The smallest difference that matters, as a share: 0.02 is 2 %. Above 0, below 1.
    pub smallest: f64,
    /// Whether more is better.
    pub more_is_better: bool,
}

impl Rule {
    /// For a figure, unless somebody says otherwise.
    pub fn usual(figure: Figure) -> Rule {
        Rule { smallest: figure.smallest_difference, more_is_better: figure.more_is_better }
    }

    /// The smallest difference on logarithms.
    fn margin(self) -> f64 {
        self.smallest.ln_1p()
    }

    /// What the interval of the log ratio of B over A says, where two one-sided tests put it within the margin or not;
    /// `spread` is the standard deviation of a block's log ratio.
    fn decide(self, interval: Interval, equivalent: bool, spread: f64) -> RatioComparison {
        let (margin, difference) = (self.margin(), interval.point.abs());
        let clear = CLEAR_SHARE * margin;
        // 1e-9: pairs that differ by δ exactly do so but for rounding.
        let matters = difference >= margin * (1.0 - 1e-9);
        let finding = if matters && (interval.low > clear || interval.high < -clear) {
            let better = (interval.point > 0.0) == self.more_is_better;
            if better { Finding::Faster } else { Finding::Slower }
        } else if equivalent {
            Finding::Equivalent
        } else {
            Finding::Inconclusive
        };
        let blocks_needed = (finding == Finding::Inconclusive)
            .then(|| blocks_needed(difference, spread, margin))
            .flatten()
            // At least one more: these blocks did not settle it.
            .map(|wanted| wanted.saturating_sub(interval.n).max(1));
        RatioComparison { ratio: interval.exp(), finding, spread, blocks_needed }
    }
}

/// B beside A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// B is better, by a difference that matters.
    Faster,
    /// B is worse, by a difference that matters.
    Slower,
    /// They differ by less than what matters, surely.
    Equivalent,
    /// These blocks do not say.
    Inconclusive,
}

/// A comparison's outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioComparison {
    /// B's figure over A's: geometric mean and 95 % interval, n the blocks.
    pub ratio: Interval,
    /// What that says.
    pub finding: Finding,
    /// The standard deviation of the blocks' log ratios: twice the trial-to-trial noise's square.
    pub spread: f64,
    /// Of an inconclusive one: how many more blocks are likely to settle it at this noise;
    /// `None` where even [`BLOCKS_FORECAST_MAX`] would not, and where it is settled.
    pub blocks_needed: Option<usize>,
}

/// Compares one figure of B with that of A, from (a, b) per block.
///
/// With d the mean of ln(b/a) over blocks and δ the smallest difference that
/// matters: **faster** or **slower** where |d| ≥ δ and the 95 % t interval is
/// clear of 0 by δ/4; **equivalent** where two one-sided tests at 5 % put d
/// within ±δ (Schuirmann 1987); else **inconclusive**, with the number of
/// blocks that would find |d| with 80 % power, or show equivalence, whichever
/// is less. Sources: docs/statistics.md, "A comparison".
///
/// `None` under two blocks, or when a figure is not above 0.
pub fn compare(pairs: &[(f64, f64)], rule: Rule) -> Option<RatioComparison> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let logs: Vec<f64> = logarithms(&b)?.iter().zip(logarithms(&a)?).map(|(b, a)| b - a).collect();
    let interval = mean_interval(&logs, CONFIDENCE)?;
    // At 5 % each: where the 90 % interval lies within ±δ.
    let equivalent = equivalence_p_value(&logs, rule.margin()).is_some_and(|p| p < 0.05);
    Some(rule.decide(interval, equivalent, variance(&logs)?.sqrt()))
}

/// Compares a run's figure with those of K earlier runs, a run being a point: the difference of B from their mean, ±
/// t(K − 1)·s·√(1 + 1/K), a prediction interval. More blocks would not narrow it, and none are forecast.
///
/// `None` under [`EARLIER_MIN`] earlier runs, or when a figure is not above 0.
pub fn compare_with_runs(earlier: &[f64], b: f64, rule: Rule) -> Option<RatioComparison> {
    let (logs, b) = (logarithms(earlier)?, logarithms(&[b])?[0]);
    let count = real_len(logs.len());
    let spread = variance(&logs).filter(|_| logs.len() >= EARLIER_MIN)?.sqrt();
    let half = |confidence: f64| {
        t_two_sided(count - 1.0, confidence).map(|t| t * spread * (1.0 + 1.0 / count).sqrt())
    };
    let (point, half95) = (b - mean(&logs)?, half(CONFIDENCE)?);
    let interval = Interval { point, low: point - half95, high: point + half95, n: logs.len() };
    let equivalent = point.abs() + half(2.0 * CONFIDENCE - 1.0)? < rule.margin();
    Some(RatioComparison { blocks_needed: None, ..rule.decide(interval, equivalent, spread) })
}

/// Earlier runs that show how runs vary.
pub const EARLIER_MIN: usize = 5;

/// The blocks in all that are likely to settle it, if what was seen is what is:
/// by finding the difference beyond the clear share, or by showing equivalence.
fn blocks_needed(difference: f64, spread: f64, margin: f64) -> Option<usize> {
    let beyond = difference - CLEAR_SHARE * margin;
    let to_find = (difference >= margin).then(|| blocks_to_find(beyond, spread, CONFIDENCE, POWER));
    // The 90 % interval about the point is to end within the margin.
    let room = margin - difference;
    let to_show = (room > 0.0).then(|| blocks_for_width(spread, room, 2.0 * CONFIDENCE - 1.0));
    [to_find, to_show].into_iter().flatten().flatten().min().filter(|n| *n <= BLOCKS_FORECAST_MAX)
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
