//! Whether many candidates differ at all, over blocks: Friedman.

use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use crate::error::{Result, StatsError, checked, finite};
use crate::midranks::{midranks, tie_cubes};
use crate::real;

/// What Friedman's test found.
#[derive(Debug, Clone, PartialEq)]
pub struct Friedman {
    /// χ², corrected for ties.
    pub statistic: f64,
    /// Its p-value at candidates − 1 degrees of freedom.
    pub p: f64,
    /// Iman & Davenport's, which is nearer to the truth with few blocks.
    pub p_f: f64,
    /// The mean rank of each candidate, 1 for the smallest values.
    pub mean_ranks: Vec<f64>,
}

/// Friedman's test that candidates are alike: `blocks` of one value per
/// candidate, ranked within each block, so that what a block does to all
/// does not count. Pairs are looked at (with Holm, [`crate::ranking::holm`])
/// where it rejects.
///
/// Source: Friedman (1937), *The use of ranks to avoid the assumption of
/// normality implicit in the analysis of variance*, JASA 32(200); the
/// correction for ties: Conover (1999), *Practical Nonparametric Statistics*,
/// 5.8; Iman & Davenport (1980), *Approximations of the critical region of the
/// Friedman statistic*, Comm. Statist. A9(6).
///
/// # Errors
/// Under 2 blocks or 3 candidates, blocks of different lengths, a value that
/// is not finite, or every block all ties.
pub fn friedman(blocks: &[Vec<f64>]) -> Result<Friedman> {
    let candidates = blocks.first().map_or(0, Vec::len);
    if blocks.len() < 2 {
        return Err(StatsError::TooFew { have: blocks.len(), need: 2 });
    }
    let mut sums = vec![0.0; candidates];
    let mut ties = 0.0;
    for block in blocks {
        if block.len() != candidates {
            return Err(StatsError::Lengths { left: candidates, right: block.len() });
        }
        checked(block, 3)?;
        let (ranks, groups) = midranks(block);
        ties += tie_cubes(&groups);
        for (sum, rank) in sums.iter_mut().zip(&ranks) {
            *sum += rank;
        }
    }
    let (b, k) = (real(blocks.len()), real(candidates));
    let unlike: f64 = sums.iter().map(|sum| (sum - b * (k + 1.0) / 2.0).powi(2)).sum();
    let spread = b * k * (k + 1.0) - ties / (k - 1.0);
    if spread <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let statistic = finite(12.0 * unlike / spread)?;
    let chi = ChiSquared::new(k - 1.0).map_err(|_| StatsError::Overflow)?;
    let mean_ranks = sums.iter().map(|sum| sum / b).collect();
    Ok(Friedman {
        statistic,
        p: chi.sf(statistic).clamp(0.0, 1.0),
        p_f: iman_davenport(statistic, b, k)?,
        mean_ranks,
    })
}

/// `F = (b−1)χ² / (b(k−1) − χ²)` at k − 1 and (k − 1)(b − 1) degrees of freedom.
fn iman_davenport(statistic: f64, b: f64, k: f64) -> Result<f64> {
    let left = b * (k - 1.0) - statistic;
    if left <= 1e-9 * b * k {
        return Ok(0.0); // every block has the same order
    }
    let f = FisherSnedecor::new(k - 1.0, (k - 1.0) * (b - 1.0)).map_err(|_| StatsError::Overflow)?;
    Ok(f.sf((b - 1.0) * statistic / left).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn the_level_is_kept_and_an_order_is_seen() {
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
                    friedman(&blocks).unwrap().p_f < 0.05
                })
                .count()
        };
        let (level, power) = (rejected(0.0), rejected(1.0));
        assert!((25..80).contains(&level), "{level} of 1000");
        assert!(power > 900, "{power}");
    }

    #[test]
    fn what_it_cannot_be_used_on() {
        assert_eq!(friedman(&[]), Err(StatsError::TooFew { have: 0, need: 2 }));
        assert_eq!(friedman(&[vec![1.0, 2.0], vec![1.0, 2.0]]), Err(StatsError::TooFew { have: 2, need: 3 }));
        assert_eq!(friedman(&[vec![1.0; 3], vec![2.0; 3]]), Err(StatsError::NoSpread));
        let lengths = friedman(&[vec![1.0, 2.0, 3.0], vec![1.0]]);
        assert_eq!(lengths, Err(StatsError::Lengths { left: 3, right: 1 }));
    }

    proptest! {
        /// The definition, slowly: the treatment's part of the sum of squares of ranks (Conover, 5.8).
        #[test]
        fn it_is_the_share_of_the_ranks_squares(rows in prop::collection::vec(prop::collection::vec(0i32..4, 4), 2..8)) {
            let blocks: Vec<Vec<f64>> = rows.iter().map(|r| r.iter().map(|v| f64::from(*v)).collect()).collect();
            let Ok(found) = friedman(&blocks) else { return Ok(()) };
            let ranks: Vec<Vec<f64>> = blocks.iter().map(|b| midranks(b).0).collect();
            let total: f64 = ranks.iter().flatten().map(|r| (r - 2.5).powi(2)).sum();
            let between: f64 = found.mean_ranks.iter().map(|m| (m - 2.5).powi(2)).sum::<f64>() * blocks.len() as f64;
            // χ² = SS_treatments / (SS_total / (b(k − 1))).
            let slow = between / (total / (blocks.len() as f64 * 3.0));
            prop_assert!((found.statistic - slow).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&found.p) && (0.0..=1.0).contains(&found.p_f));
        }

        #[test]
        fn nothing_panics(rows in prop::collection::vec(prop::collection::vec(any::<f64>(), 0..5), 0..5)) {
            if let Ok(found) = friedman(&rows) { prop_assert!(found.statistic.is_finite()); }
        }
    }
}
