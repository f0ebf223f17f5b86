//! Whether many candidates differ at all, over blocks: Friedman.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::midranks::{midranks, tie_cubes};
use crate::{real, usable};

/// The p-value of Friedman's test that candidates are alike: `blocks` of one value per
/// candidate, ranked within each block, so that what a block does to all
/// does not count. It is Iman & Davenport's, of
/// `F = (b−1)χ² / (b(k−1) − χ²)` at k − 1 and (k − 1)(b − 1) degrees of freedom, which with few blocks
/// is nearer to the truth than that of χ². 1 where every block is all ties. Pairs are looked at (with
/// Holm, [`crate::ranking::holm`]) where it rejects.
///
/// `None` under 2 blocks or 3 candidates, with blocks of different lengths, or when a value is not finite.
///
/// Source: Friedman (1937), *The use of ranks to avoid the assumption of
/// normality implicit in the analysis of variance*, JASA 32(200); the
/// correction for ties: Conover (1999), *Practical Nonparametric Statistics*,
/// 5.8; Iman & Davenport (1980), *Approximations of the critical region of the
/// Friedman statistic*, Comm. Statist. A9(6).
pub fn friedman_p_value(blocks: &[Vec<f64>]) -> Option<f64> {
    let statistic = chi_squared(blocks)?;
    let (b, k) = (real(blocks.len()), real(blocks[0].len()));
    let left = b * (k - 1.0) - statistic;
    if left <= 1e-9 * b * k {
        return Some(0.0); // every block has the same order
    }
    let f = FisherSnedecor::new(k - 1.0, (k - 1.0) * (b - 1.0)).ok()?;
    Some(f.sf((b - 1.0) * statistic / left).clamp(0.0, 1.0))
}

/// Friedman's χ², corrected for ties; 0 where every block is all ties.
fn chi_squared(blocks: &[Vec<f64>]) -> Option<f64> {
    let candidates = blocks.first()?.len();
    if blocks.len() < 2 || blocks.iter().any(|block| block.len() != candidates || !usable(block, 3)) {
        return None;
    }
    let mut sums = vec![0.0; candidates];
    let mut ties = 0.0;
    for block in blocks {
        let (ranks, groups) = midranks(block);
        ties += tie_cubes(&groups);
        for (sum, rank) in sums.iter_mut().zip(&ranks) {
            *sum += rank;
        }
    }
    let (b, k) = (real(blocks.len()), real(candidates));
    let unlike: f64 = sums.iter().map(|sum| (sum - b * (k + 1.0) / 2.0).powi(2)).sum();
    let spread = b * k * (k + 1.0) - ties / (k - 1.0);
    Some(if spread > 0.0 { 12.0 * unlike / spread } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn equals_are_rejected_in_five_percent_and_an_order_nearly_always() {
        let mut stream = Stream(9);
        let mut rejected = |ahead: f64| {
            (0..1000)
                .filter(|_| {
                    let blocks: Vec<Vec<f64>> = (0..6)
                        .map(|_| {
                            let block = 10.0 * stream.normal();
                            (0..5).map(|c| block + stream.normal() + ahead * f64::from(c)).collect()
                        })
                        .collect();
                    friedman_p_value(&blocks).unwrap() < 0.05
                })
                .count()
        };
        let (level, power) = (rejected(0.0), rejected(1.0));
        assert!((25..80).contains(&level), "{level} of 1000");
        assert!(power > 900, "{power}");
    }

    #[test]
    fn too_few_unequal_or_unsound_blocks_have_no_p_value() {
        for blocks in [
            vec![],
            vec![vec![1.0, 2.0, 3.0]],
            vec![vec![1.0, 2.0], vec![1.0, 2.0]],
            vec![vec![1.0, 2.0, 3.0], vec![1.0]],
            vec![vec![1.0, 2.0, 3.0], vec![1.0, 2.0, f64::NAN]],
        ] {
            assert_eq!(friedman_p_value(&blocks), None, "{blocks:?}");
        }
    }

    #[test]
    fn ties_in_every_block_are_no_difference() {
        assert_eq!(friedman_p_value(&[vec![1.0; 3], vec![2.0; 3]]), Some(1.0));
    }

    proptest! {
        /// The definition, slowly: the treatment's part of the sum of squares of ranks (Conover, 5.8).
        #[test]
        fn chi_squared_is_the_treatments_share_of_the_ranks_squares(
            rows in prop::collection::vec(prop::collection::vec(0i32..4, 4), 2..8),
        ) {
            let blocks: Vec<Vec<f64>> = rows.iter().map(|r| r.iter().map(|v| f64::from(*v)).collect()).collect();
            let ranks: Vec<Vec<f64>> = blocks.iter().map(|b| midranks(b).0).collect();
            let total: f64 = ranks.iter().flatten().map(|r| (r - 2.5).powi(2)).sum();
            prop_assume!(total > 0.0);
            let b = blocks.len() as f64;
            let mean = |candidate: usize| ranks.iter().map(|ranks| ranks[candidate]).sum::<f64>() / b;
            let between: f64 = (0..4).map(|c| (mean(c) - 2.5).powi(2)).sum::<f64>() * b;
            // χ² = SS_treatments / (SS_total / (b(k − 1))).
            let slow = between / (total / (b * 3.0));
            prop_assert!((chi_squared(&blocks).unwrap() - slow).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&friedman_p_value(&blocks).unwrap()));
        }

        #[test]
        fn any_blocks_have_a_probability_or_none(rows in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..5), 0..5)) {
            prop_assert!(friedman_p_value(&rows).is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
    }
}
