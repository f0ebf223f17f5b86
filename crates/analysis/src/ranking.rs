//! The order of a plan's rows: ratios to the baseline and intervals of rank.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_stats::friedman::friedman;
use prony_stats::interval::{geometric_mean, paired_ratio_interval, paired_ratio_p_value};
use prony_stats::ranking::{Comparison, rank_intervals};
use prony_stats::{CONFIDENCE, StatsError};

/// Throughputs closer than this are never called different: requests in
/// flight at the window's ends and a window's tick move them about as much.
pub(crate) const RANK_DIFFERENCE_MIN: f64 = 0.005;

/// A candidate's throughput by block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contestant {
    /// Throughput per block; several trials of one block by their geometric mean. All above 0.
    pub(crate) blocks: BTreeMap<u32, f64>,
    /// Whether any of them is a lower bound.
    pub(crate) lower_bound: bool,
}

impl Contestant {
    /// From (block, throughput) of the trials that count; `None` when there is none, or one carried nothing.
    pub(crate) fn of(trials: &[(u32, f64)], lower_bound: bool) -> Option<Contestant> {
        let mut by_block: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (block, value) in trials {
            by_block.entry(*block).or_default().push(*value);
        }
        let blocks: Option<BTreeMap<u32, f64>> =
            by_block.into_iter().map(|(block, values)| Some((block, geometric_mean(&values)?))).collect();
        blocks.filter(|b| !b.is_empty()).map(|blocks| Contestant { blocks, lower_bound })
    }

    fn pairs(&self, other: &Contestant) -> Vec<(f64, f64)> {
        self.blocks.iter().filter_map(|(block, value)| Some((*value, *other.blocks.get(block)?))).collect()
    }

    /// This one's throughput over the baseline's, paired within blocks; `None` without a common block.
    pub(crate) fn ratio_to(&self, baseline: &Contestant) -> Option<Estimate> {
        let pairs = self.pairs(baseline);
        let ratios: Vec<f64> = pairs.iter().map(|(a, b)| a / b).collect();
        let point = geometric_mean(&ratios)?;
        let n = pairs.len() as u64;
        if baseline.lower_bound {
            return Some(Estimate::bare(point, n, "the baseline's throughput is a lower bound"));
        }
        Some(match paired_ratio_interval(&pairs, CONFIDENCE) {
            Some(i) => Estimate::new(i.point, i.low, i.high, n),
            None => Estimate::bare(point, n, "one block has no interval"),
        })
    }
}

/// The interval of each contestant's rank, by paired t tests on log ratios
/// within blocks, Holm-corrected over all pairs with two blocks in common.
/// Nobody is called better than one whose throughput is a lower bound, and of three or more nobody than
/// anybody where Friedman's test sees no difference at all.
pub(crate) fn ranks(contestants: &[&Contestant]) -> Vec<(u32, u32)> {
    let differ = differ_at_all(contestants);
    let mut comparisons = Vec::new();
    for (i, a) in contestants.iter().enumerate() {
        for (j, b) in contestants.iter().enumerate().skip(i + 1) {
            comparisons.extend(
                compare((i, a), (j, b)).map(|c| Comparison { claimable: c.claimable && differ, ..c }),
            );
        }
    }
    rank_intervals(contestants.len(), &comparisons, 1.0 - CONFIDENCE)
}

/// Friedman's test, by Iman & Davenport's F at 5 %, over the blocks that all have: where it does not
/// reject, no pair is called different. Under three contestants, or two common blocks, it is not asked.
fn differ_at_all(contestants: &[&Contestant]) -> bool {
    let Some((first, others)) = contestants.split_first().filter(|(_, others)| others.len() > 1) else {
        return true;
    };
    let common: Vec<Vec<f64>> = first
        .blocks
        .iter()
        .filter_map(|(block, value)| {
            let rest: Option<Vec<f64>> = others.iter().map(|c| c.blocks.get(block).copied()).collect();
            let mut row = rest?;
            row.push(*value);
            Some(row)
        })
        .collect();
    match friedman(&common) {
        Ok(found) => found.p_f < 1.0 - CONFIDENCE,
        Err(StatsError::NoSpread) => false,
        Err(_) => true,
    }
}

fn compare((i, a): (usize, &Contestant), (j, b): (usize, &Contestant)) -> Option<Comparison> {
    let pairs = a.pairs(b);
    let p = paired_ratio_p_value(&pairs)?;
    let ratio = geometric_mean(&pairs.iter().map(|(a, b)| a / b).collect::<Vec<_>>())?;
    let (better, worse, loser) = if ratio >= 1.0 { (i, j, b) } else { (j, i, a) };
    let claimable = ratio.ln().abs() >= RANK_DIFFERENCE_MIN && !loser.lower_bound;
    Some(Comparison { better, worse, p, claimable })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contestant(values: &[f64]) -> Contestant {
        let trials: Vec<(u32, f64)> = (0..).zip(values.iter().copied()).collect();
        Contestant::of(&trials, false).unwrap()
    }

    #[test]
    fn pairing_finds_an_order_that_blocks_would_hide() {
        // The host swings by a factor of two between blocks; a is 10 % ahead in each.
        let swing = [100.0, 200.0, 150.0, 120.0];
        let a = contestant(&swing.map(|s| s * 1.1));
        let b = contestant(&[100.5, 199.0, 150.4, 119.8]);
        assert_eq!(ranks(&[&a, &b]), [(1, 1), (2, 2)]);
        let ratio = a.ratio_to(&b).unwrap();
        assert!(ratio.ci_low.unwrap() > 1.09 && ratio.ci_high.unwrap() < 1.11, "{ratio:?}");
    }

    #[test]
    fn many_are_looked_at_in_pairs_only_where_friedman_sees_a_difference() {
        // c is ahead of a by a clear, steady 10 % (its own t test says so), but ranks of five blocks of
        // four candidates, two of which wander over everything, do not differ beyond chance.
        let a = contestant(&[100.0, 100.1, 99.9, 100.0, 100.1]);
        let c = contestant(&[110.0, 110.1, 109.9, 110.0, 110.2]);
        let wander = contestant(&[90.0, 120.0, 95.0, 125.0, 105.0]);
        let other = contestant(&[125.0, 92.0, 121.0, 93.0, 106.0]);
        assert_eq!(ranks(&[&a, &c]), [(2, 2), (1, 1)]);
        assert_eq!(ranks(&[&a, &c, &wander, &other]), [(1, 4); 4]);
        // Where all keep their order, all are told apart.
        let b = contestant(&[105.0, 105.1, 104.9, 105.0, 105.15]);
        assert_eq!(ranks(&[&a, &b, &c]), [(3, 3), (2, 2), (1, 1)]);
        let equal = contestant(&[100.0; 5]);
        assert_eq!(ranks(&[&equal, &equal, &equal]), [(1, 3); 3]);
    }

    #[test]
    fn nobody_is_better_than_a_lower_bound() {
        let a = contestant(&[200.0, 201.0, 199.0]);
        let b = Contestant { lower_bound: true, ..contestant(&[100.0, 101.0, 99.5]) };
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
        let a = Contestant { lower_bound: true, ..a };
        let b = Contestant { lower_bound: false, ..b };
        assert_eq!(ranks(&[&a, &b]), [(1, 1), (2, 2)], "at least twice as much is more");
        assert!(b.ratio_to(&a).unwrap().no_interval.unwrap().contains("lower bound"));
    }

    #[test]
    fn a_difference_too_small_to_matter_is_a_tie() {
        let a = contestant(&[20_000.0, 20_000.0, 20_000.0]);
        let b = contestant(&[19_950.0, 19_951.0, 19_950.0]);
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
    }

    #[test]
    fn blocks_of_their_own_cannot_be_compared() {
        let a = Contestant::of(&[(0, 100.0), (1, 100.0)], false).unwrap();
        let b = Contestant::of(&[(1, 10.0), (2, 10.0)], false).unwrap();
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
        assert_eq!(a.ratio_to(&b).unwrap().no_interval.unwrap(), "one block has no interval");
        assert!(Contestant::of(&[(0, 100.0), (1, 0.0)], false).is_none());
        assert!(Contestant::of(&[], false).is_none());
    }
}
