//! Ranks that admit what is not known: intervals, from pairwise comparisons.

use crate::real;

/// Holm's step-down: which of these p-values stand at `error`, so that the
/// chance of even one false rejection among them is at most `error`.
///
/// Source: Holm (1979), *A simple sequentially rejective multiple test
/// procedure*, Scand. J. Statistics 6(2).
pub fn holm(p_values: &[f64], error: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut rejected = vec![false; p_values.len()];
    for (step, index) in order.into_iter().enumerate() {
        let level = error / real(p_values.len() - step);
        // Written so that a p-value that is no number stops here too.
        let stands = p_values[index] <= level;
        if !stands {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

/// One comparison of two contestants, by index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairwiseTest {
    /// The one that came out ahead.
    pub better: usize,
    /// The other.
    pub worse: usize,
    /// The p-value of "they are equal".
    pub p: f64,
    /// Whether the difference may be claimed at all (it is large enough to
    /// matter, and the figures allow it). It counts among the tests either way.
    pub claimable: bool,
}

/// The best and the worst place (from 1) that each of `count` contestants
/// may hold: `1 + surely better ones` and `count − surely worse ones`, where
/// "surely" is Holm's verdict over all comparisons at `error`. Ties show as
/// overlapping places.
///
/// Source: Mogstad, Romano, Shaikh & Wilhelm (2024), *Inference for ranks with
/// applications to mobility across neighbourhoods and academic achievement
/// across countries*, Rev. Econ. Studies 91(1): intervals for ranks from
/// stepwise tests of all pairwise differences; they cover all true ranks at
/// once with 1 − `error`.
pub fn rank_intervals(count: usize, comparisons: &[PairwiseTest], error: f64) -> Vec<(u32, u32)> {
    let p_values: Vec<f64> = comparisons.iter().map(|c| c.p).collect();
    let mut better = vec![0u32; count];
    let mut worse = vec![0u32; count];
    for (comparison, sure) in comparisons.iter().zip(holm(&p_values, error)) {
        if sure && comparison.claimable && comparison.better < count && comparison.worse < count {
            better[comparison.worse] += 1;
            worse[comparison.better] += 1;
        }
    }
    let last = u32::try_from(count).unwrap_or(u32::MAX);
    better.iter().zip(&worse).map(|(better, worse)| (1 + better, last.saturating_sub(*worse))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sure(better: usize, worse: usize) -> PairwiseTest {
        PairwiseTest { better, worse, p: 1e-9, claimable: true }
    }

    #[test]
    fn holm_rejects_those_by_hand() {
        // Holm's levels for four tests at 5 %: 0.0125, 0.0167, 0.025, 0.05.
        assert_eq!(holm(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(holm(&[0.01, 0.02, 0.03, 0.04], 0.05), [true, false, false, false]);
        assert_eq!(holm(&[0.01, 0.016, 0.025, 0.05], 0.05), [true; 4]);
        assert_eq!(holm(&[f64::NAN, 0.001], 0.05), [false, true]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
    }

    #[test]
    fn a_clear_order_has_single_ranks_and_a_tie_shares_them() {
        let clear = [sure(0, 1), sure(0, 2), sure(1, 2)];
        assert_eq!(rank_intervals(3, &clear, 0.05), [(1, 1), (2, 2), (3, 3)]);
        let tie = [sure(0, 2), sure(1, 2), PairwiseTest { better: 0, worse: 1, p: 0.4, claimable: true }];
        assert_eq!(rank_intervals(3, &tie, 0.05), [(1, 2), (1, 2), (3, 3)]);
        assert_eq!(rank_intervals(3, &[], 0.05), [(1, 3); 3]);
    }

    #[test]
    fn a_comparison_that_is_not_claimable_moves_no_rank() {
        let forbidden = PairwiseTest { claimable: false, ..sure(0, 1) };
        assert_eq!(rank_intervals(2, &[forbidden], 0.05), [(1, 2); 2]);
    }

    proptest! {
        #[test]
        fn holm_rejects_no_less_than_bonferroni_and_only_small_ones(ps in prop::collection::vec(0.0f64..0.2, 1..30)) {
            let rejected = holm(&ps, 0.05);
            let bonferroni = 0.05 / ps.len() as f64;
            for (p, rejected) in ps.iter().zip(&rejected) {
                prop_assert!(*p > bonferroni || *rejected);
                prop_assert!(*p <= 0.05 || !*rejected);
            }
        }

        #[test]
        fn rank_intervals_lie_within_one_and_the_number_of_candidates(count in 1usize..8, wins in prop::collection::vec((0usize..8, 0usize..8, 0.0f64..0.1), 0..20)) {
            let comparisons: Vec<_> = wins.iter()
                .map(|(a, b, p)| (a % count, b % count, *p))
                .filter(|(a, b, _)| a < b)
                .map(|(better, worse, p)| PairwiseTest { better, worse, p, claimable: true })
                .collect();
            let mut seen = std::collections::BTreeSet::new();
            let unique: Vec<_> = comparisons.into_iter().filter(|c| seen.insert((c.better, c.worse))).collect();
            for (low, high) in rank_intervals(count, &unique, 0.05) {
                prop_assert!(1 <= low && low <= high && high as usize <= count);
            }
        }
    }
}
