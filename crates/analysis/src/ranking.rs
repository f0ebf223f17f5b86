//! The order of a plan's candidates: ratios to the baseline and intervals of rank.

use prony_model::Estimate;
use prony_stats::CONFIDENCE;
use prony_stats::friedman::friedman_p_value;
use prony_stats::interval::{geometric_mean, paired_ratio_interval, paired_ratio_p_value};
use prony_stats::ranking::{PairwiseTest, rank_intervals};

use crate::cell::ByBlock;
use crate::numbers::estimate;
use crate::precision::withhold_if_wide;

/// Throughputs closer than this are never called different: requests in
/// flight at the window's ends and a window's tick move them about as much.
pub(crate) const RANK_DIFFERENCE_MIN: f64 = 0.005;

/// A candidate's figure over the baseline's, paired within blocks; `None` without a common block.
pub(crate) fn ratio_to_baseline(own: &ByBlock, baseline: &ByBlock) -> Option<Estimate> {
    let pairs = own.pairs(baseline);
    let point = mean_ratio(&pairs)?;
    let n = pairs.len() as u64;
    if baseline.at_least {
        return Some(Estimate::bare(point, n, "the baseline's throughput is a lower bound"));
    }
    let interval = paired_ratio_interval(&pairs, CONFIDENCE);
    let withheld = || Estimate::bare(point, n, "one block has no interval");
    Some(interval.map(estimate).map_or_else(withheld, withhold_if_wide))
}

/// The geometric mean of a/b.
fn mean_ratio(pairs: &[(f64, f64)]) -> Option<f64> {
    geometric_mean(&pairs.iter().map(|(a, b)| a / b).collect::<Vec<_>>())
}

/// The interval of each candidate's rank, by throughputs or what else is better the more of it there is; by paired t tests on log ratios
/// within blocks, Holm-corrected over all pairs with two blocks in common.
/// Nobody is called better than one whose throughput is a lower bound, and of three or more nobody than
/// anybody where Friedman's test sees no difference at all.
pub(crate) fn ranks(candidates: &[&ByBlock]) -> Vec<(u32, u32)> {
    let differ = differ_at_all(candidates);
    let mut comparisons = Vec::new();
    for (i, a) in candidates.iter().enumerate() {
        for (j, b) in candidates.iter().enumerate().skip(i + 1) {
            comparisons.extend(compare((i, a), (j, b), differ));
        }
    }
    rank_intervals(candidates.len(), &comparisons, 1.0 - CONFIDENCE)
}

/// Friedman's test, by Iman & Davenport's F at 5 %, over the blocks that all have: where it does not
/// reject, no pair is called different. Under three candidates, or two common blocks, it is not asked.
fn differ_at_all(candidates: &[&ByBlock]) -> bool {
    let Some((first, others)) = candidates.split_first().filter(|(_, others)| others.len() > 1) else {
        return true;
    };
    let common: Vec<Vec<f64>> = first
        .values
        .iter()
        .filter_map(|(block, value)| {
            let rest = others.iter().map(|other| other.values.get(block).copied());
            rest.chain([Some(*value)]).collect()
        })
        .collect();
    friedman_p_value(&common).is_none_or(|p| p < 1.0 - CONFIDENCE)
}

fn compare((i, a): (usize, &ByBlock), (j, b): (usize, &ByBlock), differ: bool) -> Option<PairwiseTest> {
    let pairs = a.pairs(b);
    let p = paired_ratio_p_value(&pairs)?;
    let ratio = mean_ratio(&pairs)?;
    let (better, worse, loser) = if ratio >= 1.0 { (i, j, b) } else { (j, i, a) };
    let claimable = differ && ratio.ln().abs() >= RANK_DIFFERENCE_MIN && !loser.at_least;
    Some(PairwiseTest { better, worse, p, claimable })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FigureValue;

    fn by_block(first: u32, values: &[f64]) -> Option<ByBlock> {
        let known = |value: &f64| FigureValue { value: *value, at_least: false };
        ByBlock::new((first..).zip(values.iter().map(known)), geometric_mean)
    }

    fn candidate(values: &[f64]) -> ByBlock {
        by_block(0, values).unwrap()
    }

    #[test]
    fn pairing_within_blocks_finds_an_order_that_noise_between_blocks_hides() {
        // The host swings by a factor of two between blocks; a is 10 % ahead in each.
        let swing = [100.0, 200.0, 150.0, 120.0];
        let a = candidate(&swing.map(|s| s * 1.1));
        let b = candidate(&[100.5, 199.0, 150.4, 119.8]);
        assert_eq!(ranks(&[&a, &b]), [(1, 1), (2, 2)]);
        let ratio = ratio_to_baseline(&a, &b).unwrap();
        assert!(ratio.ci_low.unwrap() > 1.09 && ratio.ci_high.unwrap() < 1.11, "{ratio:?}");
    }

    #[test]
    fn pairs_of_three_or_more_differ_only_where_friedmans_test_rejects() {
        // c is ahead of a by a clear, steady 10 % (its own t test says so), but ranks of five blocks of
        // four candidates, two of which wander over everything, do not differ beyond chance.
        let a = candidate(&[100.0, 100.1, 99.9, 100.0, 100.1]);
        let c = candidate(&[110.0, 110.1, 109.9, 110.0, 110.2]);
        let wander = candidate(&[90.0, 120.0, 95.0, 125.0, 105.0]);
        let other = candidate(&[125.0, 92.0, 121.0, 93.0, 106.0]);
        assert_eq!(ranks(&[&a, &c]), [(2, 2), (1, 1)]);
        assert_eq!(ranks(&[&a, &c, &wander, &other]), [(1, 4); 4]);
        // Where all keep their order, all are told apart.
        let b = candidate(&[105.0, 105.1, 104.9, 105.0, 105.15]);
        assert_eq!(ranks(&[&a, &b, &c]), [(3, 3), (2, 2), (1, 1)]);
        let equal = candidate(&[100.0; 5]);
        assert_eq!(ranks(&[&equal, &equal, &equal]), [(1, 3); 3]);
    }

    #[test]
    fn no_candidate_ranks_above_one_whose_throughput_is_a_lower_bound() {
        let a = candidate(&[200.0, 201.0, 199.0]);
        let b = ByBlock { at_least: true, ..candidate(&[100.0, 101.0, 99.5]) };
        assert_eq!(ranks(&[&a, &b]), [(1, 2), (1, 2)]);
        let a = ByBlock { at_least: true, ..a };
        let b = ByBlock { at_least: false, ..b };
        assert_eq!(ranks(&[&a, &b]), [(1, 1), (2, 2)], "at least twice as much is more");
        assert!(ratio_to_baseline(&b, &a).unwrap().no_interval.unwrap().contains("lower bound"));
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
        assert_eq!(ratio_to_baseline(&a, &b).unwrap().no_interval.unwrap(), "one block has no interval");
        assert!(by_block(0, &[100.0, 0.0]).is_none() && by_block(0, &[]).is_none());
    }
}
