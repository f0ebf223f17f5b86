//! Which of two is ahead: the rule of a comparison, from one figure per trial, paired within blocks.

use prony_stats::equivalence::equivalence_p_value;
use prony_stats::interval::{Interval, mean_interval, variance};
use prony_stats::power::{blocks_for_width, blocks_to_find};
use prony_stats::{CONFIDENCE, StatsError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod unpaired;

pub use unpaired::compare_unpaired;

/// The smallest difference of throughput that matters, unless told otherwise.
pub const THROUGHPUT_DIFFERENCE: f64 = 0.02;

/// The smallest difference of a response percentile that matters, unless told otherwise.
pub const LATENCY_DIFFERENCE: f64 = 0.05;

/// A winner's interval keeps this share of the smallest difference that matters
/// (on logarithms) away from "equal": 0.5 % of throughput, which is what
/// requests in flight at a window's ends move. It holds A/A comparisons under
/// 5 % (docs/statistics.md has the table), where "excludes 0" would sit on it.
const CLEAR_SHARE: f64 = 0.25;

/// The chance with which the blocks forecast are to settle it.
const POWER: f64 = 0.8;

/// No forecast asks for more blocks; beyond it, the answer is that this noise does not allow one.
const BLOCKS_FORECAST_MAX: usize = 1_000;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    Higher,
    /// Response times, CPU per request, memory, start-up.
    Lower,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// The smallest difference that matters, as a share: 0.02 is 2 %. Above 0, below 1.
    pub smallest: f64,
    /// Which way is better.
    pub better: Better,
}

impl Rule {
    /// For throughput.
    pub const THROUGHPUT: Rule = Rule { smallest: THROUGHPUT_DIFFERENCE, better: Better::Higher };
    /// For response percentiles.
    pub const LATENCY: Rule = Rule { smallest: LATENCY_DIFFERENCE, better: Better::Lower };

    /// The smallest difference on logarithms.
    fn margin(self) -> f64 {
        self.smallest.ln_1p()
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
pub struct Comparison {
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

/// Why there is no comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// Fewer than two blocks have both.
    #[error(
        "{blocks} block(s) with both give no verdict: repeat each at least twice, in alternation (--repeat 6)"
    )]
    TooFewBlocks {
        /// Blocks with both.
        blocks: usize,
    },
    /// A figure is 0, negative or no number.
    #[error("a figure is not above 0, so there is no ratio: look at the trial that carried nothing")]
    NotPositive,
    /// The smallest difference makes no sense.
    #[error("the smallest difference that matters must lie between 0 and 100 %")]
    Smallest,
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
/// # Errors
/// Under two blocks, a figure that is not above 0, a smallest difference outside 0 to 1.
pub fn compare(pairs: &[(f64, f64)], rule: Rule) -> Result<Comparison, CompareError> {
    if !(rule.smallest > 0.0 && rule.smallest < 1.0) {
        return Err(CompareError::Smallest);
    }
    let logs: Option<Vec<f64>> = pairs
        .iter()
        .map(|(a, b)| {
            let sound = *a > 0.0 && *b > 0.0 && a.is_finite() && b.is_finite();
            sound.then(|| b.ln() - a.ln())
        })
        .collect();
    let logs = logs.ok_or(CompareError::NotPositive)?;
    let few = CompareError::TooFewBlocks { blocks: pairs.len() };
    let interval = mean_interval(&logs, CONFIDENCE).ok_or(few)?;
    let spread = variance(&logs).ok_or(few)?.sqrt();
    let finding = finding(&logs, &interval, rule);
    let blocks_needed = (finding == Finding::Inconclusive)
        .then(|| blocks_needed(interval.point.abs(), spread, rule.margin()))
        .flatten()
        // At least one more: these blocks did not settle it.
        .map(|wanted| wanted.saturating_sub(logs.len()).max(1));
    let ratio = Interval {
        point: interval.point.exp(),
        low: interval.low.exp(),
        high: interval.high.exp(),
        n: interval.n,
    };
    Ok(Comparison { ratio, finding, spread, blocks_needed })
}

fn finding(logs: &[f64], interval: &Interval, rule: Rule) -> Finding {
    let margin = rule.margin();
    let clear = CLEAR_SHARE * margin;
    // 1e-9: pairs that differ by δ exactly do so but for rounding.
    let matters = interval.point.abs() >= margin * (1.0 - 1e-9);
    let higher = match (interval.low > clear, interval.high < -clear) {
        (true, _) if matters => Some(true),
        (_, true) if matters => Some(false),
        _ => None,
    };
    match higher {
        Some(higher) if higher == (rule.better == Better::Higher) => Finding::Faster,
        Some(_) => Finding::Slower,
        // At 5 % each: where the 90 % interval lies within ±δ.
        None if equivalence_p_value(logs, margin).is_ok_and(|p| p < 0.05) => Finding::Equivalent,
        None => Finding::Inconclusive,
    }
}

/// The blocks in all that are likely to settle it, if what was seen is what is:
/// by finding the difference beyond the clear share, or by showing equivalence.
fn blocks_needed(difference: f64, spread: f64, margin: f64) -> Option<usize> {
    let found = |result: Result<usize, StatsError>| result.ok().filter(|n| *n <= BLOCKS_FORECAST_MAX);
    let beyond = difference - CLEAR_SHARE * margin;
    let to_find = (difference >= margin).then(|| found(blocks_to_find(beyond, spread, CONFIDENCE, POWER)));
    // The 90 % interval about the point is to end within the margin.
    let room = margin - difference;
    let to_show = (room > 0.0).then(|| found(blocks_for_width(spread, room, 2.0 * CONFIDENCE - 1.0)));
    to_find.flatten().into_iter().chain(to_show.flatten()).min()
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
