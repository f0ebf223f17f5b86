//! Comparisons between candidates whose true difference is known.

use prony_analysis::compare::{Finding, Rule, compare};
use prony_analysis::figure::Figure;
use prony_analysis::look::Level;
use prony_analysis::precision::{BLOCKS_MAX, BLOCKS_MIN, expected};
use prony_stats::interval::variance;
use serde::Serialize;

use super::chance::Chance;
use crate::median::real;

const PRECISION: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stop {
    /// After so many.
    Blocks(u32),
    /// As `prony bench --precision 2%` has it: between its fewest and most blocks, when the ratio's interval is so narrow.
    Precision,
}

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
        Stop::Precision => format!("{BLOCKS_MIN} to {BLOCKS_MAX}, until ±2 %"),
    };
    let Match { difference, noise, outliers, .. } = one;
    MatchRow { difference, noise, outliers, blocks, runs, faster, slower, equivalent, inconclusive }
}

fn settle(one: Match, chance: &mut Chance) -> Option<Finding> {
    let (fewest, most) = match one.stop {
        Stop::Blocks(n) => (n, n),
        Stop::Precision => (BLOCKS_MIN, BLOCKS_MAX),
    };
    let mut pairs = Vec::new();
    for blocks in 1..=most {
        let block = one.block_noise * chance.normal();
        let mut figure = |level: f64| {
            let bad = if one.outliers && chance.uniform() < 0.05 { 0.7 } else { 1.0 };
            1000.0 * level * bad * (block + one.noise * chance.normal()).exp()
        };
        pairs.push((figure(1.0), figure(1.0 + one.difference)));
        if blocks >= fewest && blocks < most {
            let ratios: Vec<f64> = pairs.iter().map(|(a, b): &(f64, f64)| (b / a).ln()).collect();
            if expected(variance(&ratios)?.sqrt(), blocks, true).is_some_and(|half| half <= PRECISION) {
                break;
            }
        }
    }
    let level = Level { widened: one.stop == Stop::Precision, ..Level::look(1) };
    compare(&pairs, Rule::usual(Figure::THROUGHPUT), level).map(|c| c.finding)
}
