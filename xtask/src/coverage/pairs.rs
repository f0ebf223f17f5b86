//! Comparisons between candidates whose true difference is known.

use prony_analysis::compare::{Finding, Rule, compare};
use serde::Serialize;

use super::chance::Chance;
use super::trials::real;

/// When blocks end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stop {
    /// After so many.
    Blocks(usize),
    /// From 6 on, when the ratio's interval is ±2 %, after 12 at the latest.
    Precision,
}

/// One kind of comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    /// B over A, less 1.
    pub(crate) difference: f64,
    /// Trial-to-trial noise: the standard deviation of a trial's log figure.
    pub(crate) noise: f64,
    /// What a block does to both: the same, of the block.
    pub(crate) block_noise: f64,
    /// Whether one trial in twenty is 30 % slower for a reason of its own.
    pub(crate) outliers: bool,
    pub(crate) stop: Stop,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MatchRow {
    pub(crate) difference: f64,
    pub(crate) noise: f64,
    pub(crate) outliers: bool,
    pub(crate) blocks: String,
    pub(crate) runs: u64,
    pub(crate) faster: f64,
    pub(crate) slower: f64,
    pub(crate) equivalent: f64,
    pub(crate) inconclusive: f64,
}

/// Plays it and counts.
pub(crate) fn matches(one: Match, runs: u64, seed: u64) -> MatchRow {
    let mut counts = [0u64; 4];
    for run in 0..runs {
        let mut chance = Chance::of(seed, run);
        let at = match settle(one, &mut chance) {
            Some(Finding::Faster) => 0,
            Some(Finding::Slower) => 1,
            Some(Finding::Equivalent) => 2,
            Some(Finding::Inconclusive) | None => 3,
        };
        counts[at] += 1;
    }
    let [faster, slower, equivalent, inconclusive] = counts.map(|count| real(count) / real(runs.max(1)));
    let blocks = match one.stop {
        Stop::Blocks(n) => n.to_string(),
        Stop::Precision => "6 to 12, until ±2 %".to_owned(),
    };
    let Match { difference, noise, outliers, .. } = one;
    MatchRow { difference, noise, outliers, blocks, runs, faster, slower, equivalent, inconclusive }
}

fn settle(one: Match, chance: &mut Chance) -> Option<Finding> {
    let blocks = if let Stop::Blocks(n) = one.stop { n } else { 12 };
    let mut pairs = Vec::with_capacity(blocks);
    while pairs.len() < blocks {
        let block = one.block_noise * chance.normal();
        let mut figure = |level: f64| {
            let bad = if one.outliers && chance.uniform() < 0.05 { 0.7 } else { 1.0 };
            1000.0 * level * bad * (block + one.noise * chance.normal()).exp()
        };
        pairs.push((figure(1.0), figure(1.0 + one.difference)));
        if one.stop == Stop::Precision && pairs.len() >= 6 {
            let ratio = compare(&pairs, Rule::THROUGHPUT).ok()?.ratio;
            if (ratio.high - ratio.low) / 2.0 / ratio.point <= 0.02 {
                break;
            }
        }
    }
    compare(&pairs, Rule::THROUGHPUT).ok().map(|c| c.finding)
}
