//! The order of a plan's candidates: ratios to the baseline and intervals of rank.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_stats::interval::{geometric_mean, logarithms, variance};
use prony_stats::moderated::{Difference, Pairs, pairs, prior_of_pair};
use prony_stats::power::{blocks_to_find, power_of_pair, smallest_found};
use prony_stats::ranking::rank_intervals;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::ByBlock;
use crate::compare::POWER;
use crate::look::Level;
use crate::numbers::{count, estimate};

/// Closer throughputs are never called different: requests in flight and a tick move them about as much.
const RANK_DIFFERENCE_MIN: f64 = 0.005;

/// With so many blocks it is said which ranks change if one is left out.
const LEFT_OUT_FROM: usize = 8;

/// The differences that planning says the blocks of, as shares.
const PLANNED_FOR: [f64; 3] = [0.02, 0.05, 0.10];

/// What blocks find, in four of five runs, of a difference between two of the candidates.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Planning {
    /// So many blocks
    pub blocks: u32,
    /// find this difference, as a share, and larger ones; `None`: none that could be told.
    pub finds: Option<f64>,
    /// How many blocks find others.
    pub to_find: Vec<BlocksToFind>,
}

/// How many blocks find a difference, in four of five runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BlocksToFind {
    /// The difference, as a share.
    pub difference: f64,
    /// All blocks that it takes; `None`: more than a thousand.
    pub blocks: Option<u32>,
}

/// A candidate whose place would be another without one of the blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RankChange {
    /// Whose.
    pub candidate: String,
    /// The block that is left out, from 0.
    pub block: u32,
    /// The best and the worst place it may hold then.
    pub rank: (u32, u32),
}

/// Of candidates whose pairs' log ratios deviate by `spread` from block to block.
pub fn planning(blocks: u32, spread: f64, candidates: usize, level: Level) -> Planning {
    let to_find = |difference: f64| {
        let blocks = blocks_to_find(difference.ln_1p(), spread, candidates, level.error, POWER);
        BlocksToFind { difference, blocks: blocks.map(count) }
    };
    let finds = smallest_found(blocks as usize, spread, candidates, level.error, POWER);
    Planning { blocks, finds: finds.map(f64::exp_m1), to_find: PLANNED_FOR.map(to_find).to_vec() }
}

/// A candidate's figure over the baseline's, paired within blocks; `None` without a common block.
pub(crate) fn ratio_to_baseline(own: &ByBlock, baseline: &ByBlock, level: Level) -> Option<Estimate> {
    let ratios = own.ratios(baseline);
    let (logs, point, n) = (logarithms(&ratios)?, geometric_mean(&ratios)?, ratios.len() as u64);
    let why = if baseline.at_least {
        "the baseline's throughput is a lower bound"
    } else if own.died || baseline.died {
        "a server died in other starts, and these are the rest"
    } else if let Some(interval) = level.interval(&logs) {
        return Some(estimate(interval.exp()));
    } else {
        "one block has no interval"
    };
    Some(Estimate::bare(point, n, why))
}

/// Candidates' figures by block, of which the more the better, to be put in an order.
#[derive(Debug, Clone)]
pub struct Contest {
    /// By candidate: the logarithm of its figure in each block.
    pub figures: Vec<BTreeMap<u32, f64>>,
    /// Whether a candidate's figure is only a lower bound: nobody is called better than it.
    pub at_least: Vec<bool>,
    pub level: Level,
}

impl Contest {
    pub(crate) fn of(candidates: &[&ByBlock], level: Level) -> Contest {
        let logarithms =
            |own: &&ByBlock| own.values.iter().map(|(block, value)| (*block, value.ln())).collect();
        let at_least = candidates.iter().map(|own| own.at_least).collect();
        Contest { figures: candidates.iter().map(logarithms).collect(), at_least, level }
    }

    fn table(&self) -> Pairs {
        let first = self.figures.first().into_iter().flat_map(BTreeMap::keys);
        let row = |block: &u32| {
            self.figures.iter().map(|own| own.get(block).copied()).collect::<Option<Vec<f64>>>()
        };
        Pairs::new(self.figures.len(), first.filter_map(row).collect())
    }

    /// The interval of each candidate's rank, from tests of all pairs together.
    pub fn places(&self) -> Vec<(u32, u32)> {
        let (k, table, mut sure) = (self.figures.len(), self.table(), Vec::new());
        for (i, a) in self.figures.iter().enumerate() {
            for (j, b) in self.figures.iter().enumerate().skip(i + 1) {
                let differences: Vec<f64> =
                    a.iter().filter_map(|(block, own)| Some(own - b.get(block)?)).collect();
                let Some(test) = table.test((i, j), &differences, self.level.error) else { continue };
                let test = self.level.of_test(test);
                let (better, worse) = if test.mean >= 0.0 { (i, j) } else { (j, i) };
                let claimable = test.mean.abs() >= RANK_DIFFERENCE_MIN && !self.at_least[worse];
                if claimable && test.differs(self.level.error / pairs(k)) {
                    sure.push((better, worse));
                }
            }
        }
        rank_intervals(k, &sure)
    }

    /// Whether the test of ranks tells these differences from the twin apart, the others telling of the spread; `None`
    /// under two.
    pub(crate) fn tells_apart(&self, of: usize, differences: &[f64]) -> Option<bool> {
        let (own, k) = (Difference::of(differences)?, self.figures.len());
        let mut others = self.clone();
        others.figures.remove(of);
        let others = others.table();
        let prior = prior_of_pair(k, own.degrees, self.level.error).min(others.degrees());
        let test = others.spread().map_or(own, |spread| own.moderated(prior, spread.powi(2)));
        let test = self.level.of_test(test);
        Some(test.mean.abs() >= RANK_DIFFERENCE_MIN && test.differs(self.level.error / pairs(k.max(2))))
    }

    /// The chance that ranks tell two apart that differ by so much, in logarithms; of a candidate alone, by
    /// `differences`.
    pub(crate) fn chance_of(&self, difference: f64, differences: &[f64]) -> Option<f64> {
        let own = || variance(differences).map(f64::sqrt);
        let (blocks, spread) = match self.figures.len() {
            0 | 1 => (differences.len(), own()?),
            _ => (self.figures.iter().map(BTreeMap::len).min()?, self.table().spread()?),
        };
        power_of_pair(blocks, difference, spread, self.figures.len().max(2), self.level.error)
    }

    /// What so many blocks find; `None` below two blocks or candidates.
    pub(crate) fn planning(&self) -> Option<Planning> {
        let blocks = self.figures.iter().map(BTreeMap::len).min()?;
        let spread = self.table().spread().filter(|spread| *spread > 0.0)?;
        Some(planning(count(blocks), spread, self.figures.len(), self.level))
    }

    /// Which candidate's place changes if a block is left out. `None` under eight blocks.
    pub(crate) fn left_out(&self) -> Option<Vec<WithoutBlock>> {
        let blocks: Vec<u32> = self.figures.first()?.keys().copied().collect();
        if blocks.len() < LEFT_OUT_FROM || self.figures.len() < 2 {
            return None;
        }
        let whole = self.places();
        let without = |block: u32| {
            let mut rest = self.clone();
            rest.figures.iter_mut().for_each(|own| {
                own.remove(&block);
            });
            rest.places()
        };
        let changed = |block: u32| {
            let places = without(block).into_iter().enumerate();
            places
                .filter(|(at, place)| *place != whole[*at])
                .map(move |(at, place)| (at, block, place))
                .collect::<Vec<_>>()
        };
        Some(blocks.into_iter().flat_map(changed).collect())
    }
}

/// A candidate, by its number, the block that is left out, and its place then.
type WithoutBlock = (usize, u32, (u32, u32));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FigureValue;

    fn ranks(candidates: &[&ByBlock]) -> Vec<(u32, u32)> {
        Contest::of(candidates, Level::look(1)).places()
    }

    fn by_block(first: u32, values: &[f64]) -> Option<ByBlock> {
        let known = |value: &f64| FigureValue { value: *value, at_least: false };
        ByBlock::new((first..).zip(values.iter().map(known)), geometric_mean, false)
    }

    fn candidate(values: &[f64]) -> ByBlock {
        by_block(0, values).unwrap()
    }

    #[test]
    fn pairing_finds_an_order_that_noise_between_blocks_hides() {
        // The host swings by a factor of two between blocks; a is 10 % ahead in each.
        let swing = [100.0, 200.0, 150.0, 120.0];
        let a = candidate(&swing.map(|s| s * 1.1));
        let b = candidate(&[100.5, 199.0, 150.4, 119.8]);
        assert_eq!(ranks(&[&a, &b]), [(1, 1), (2, 2)]);
        let ratio = ratio_to_baseline(&a, &b, Level::look(1)).unwrap();
        assert!(ratio.ci_low.unwrap() > 1.09 && ratio.ci_high.unwrap() < 1.11, "{ratio:?}");
    }

    #[test]
    fn a_pair_that_is_told_apart_stays_so_whatever_others_do() {
        // c is ahead of a by a clear, steady 10 %; two others wander over everything.
        let a = candidate(&[100.0, 100.1, 99.9, 100.0, 100.1]);
        let c = candidate(&[110.0, 110.1, 109.9, 110.0, 110.2]);
        let b = candidate(&[105.0, 105.1, 104.9, 105.0, 105.15]);
        assert_eq!(ranks(&[&a, &c]), [(2, 2), (1, 1)]);
        assert_eq!(ranks(&[&a, &b, &c]), [(3, 3), (2, 2), (1, 1)]);
        let equal = candidate(&[100.0; 5]);
        assert_eq!(ranks(&[&equal, &equal, &equal]), [(1, 3); 3]);
    }

    #[test]
    fn a_slower_one_of_nine_is_found_and_equals_only_seldom() {
        let mut noise = crate::testing::noise(3);
        let (mut found, mut wrong) = (0, 0);
        for _ in 0..500 {
            let mut figures = |slower: f64| -> Vec<BTreeMap<u32, f64>> {
                let level = |c: u32| if c == 0 { (1.0 - slower).ln() } else { 0.0 };
                let mut own = |c: u32| (0..5).map(|b| (b, level(c) + 0.03 * noise.next().unwrap())).collect();
                (0..9).map(&mut own).collect()
            };
            let of = |figures: Vec<BTreeMap<u32, f64>>| {
                Contest { figures, at_least: vec![false; 9], level: Level::look(1) }.places()
            };
            found += of(figures(0.10))[0].0 - 1;
            wrong += u32::from(of(figures(0.0)) != [(1, 9); 9]);
        }
        assert!(found > 2_800, "{found} of 4,000 pairs");
        assert!(wrong <= 35, "{wrong} of 500");
    }

    #[test]
    fn from_eight_blocks_ranks_that_one_block_decides_are_named() {
        let steady = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.0];
        let none = |values: &[f64; 8], other: &[f64; 8]| {
            let (a, b) = (candidate(values), candidate(other));
            Contest::of(&[&a, &b], Level::look(1)).left_out().unwrap()
        };
        assert_eq!(none(&steady, &steady.map(|v| v * 0.8)), []);
        // Seven blocks tell them apart, and the eighth hides it.
        let mut hidden = steady.map(|v| v * 0.95);
        hidden[6] = 120.0;
        assert_eq!(none(&steady, &hidden), [(0, 6, (1, 1)), (1, 6, (2, 2))]);
        let (a, b) = (candidate(&steady[..7]), candidate(&steady[..7]));
        assert_eq!(Contest::of(&[&a, &b], Level::look(1)).left_out(), None);
    }

    #[test]
    fn planning_says_what_these_and_more_blocks_would_find() {
        let found = planning(12, 0.042_426, 2, Level::look(1));
        let blocks: Vec<u32> = found.to_find.iter().filter_map(|f| f.blocks).collect();
        assert_eq!(blocks, [43, 9, 5]);
        assert!((0.035..0.05).contains(&found.finds.unwrap()), "{found:?}");
        assert!(planning(12, 0.042_426, 9, Level::look(1)).finds > found.finds);
    }

    #[test]
    fn no_candidate_ranks_above_one_known_by_a_lower_bound() {
        let a = candidate(&[200.0, 201.0, 199.0]);
        let b = ByBlock { at_least: true, ..candidate(&[100.0, 101.0, 99.5]) };
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
        let a = ByBlock { at_least: true, ..a };
        let b = ByBlock { at_least: false, ..b };
        assert_eq!(ranks(&[&a, &b]), [(1, 1), (2, 2)], "at least twice as much is more");
        assert!(
            ratio_to_baseline(&b, &a, Level::look(1)).unwrap().no_interval.unwrap().contains("lower bound")
        );
        let died = ByBlock { died: true, ..b };
        assert!(
            ratio_to_baseline(&died, &candidate(&[100.0; 3]), Level::look(1))
                .unwrap()
                .no_interval
                .unwrap()
                .contains("died")
        );
    }

    #[test]
    fn a_difference_too_small_to_matter_is_a_tie() {
        let a = candidate(&[20_000.0, 20_000.0, 20_000.0]);
        let b = candidate(&[19_950.0, 19_951.0, 19_950.0]);
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
    }

    #[test]
    fn candidates_without_two_common_blocks_are_not_told_apart() {
        let a = by_block(0, &[100.0, 100.0]).unwrap();
        let b = by_block(1, &[10.0, 10.0]).unwrap();
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
        assert_eq!(
            ratio_to_baseline(&a, &b, Level::look(1)).unwrap().no_interval.unwrap(),
            "one block has no interval"
        );
        assert!(by_block(0, &[100.0, 0.0]).is_none() && by_block(0, &[]).is_none());
    }
}
