//! Intervals by resampling, from a seed: blocks of values in a row, and runs
//! with what is inside them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::error::{Result, StatsError, bounded, checked, open_share};
use crate::real;

/// The most replicates of one interval.
pub const REPLICATES_MAX: usize = 100_000;

/// How a bootstrap is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Values in a row that are drawn together; 1 takes them as independent.
    pub block: usize,
    /// How many series are drawn.
    pub replicates: usize,
    /// What fixes the draws: the same seed gives the same interval for ever
    /// (ChaCha8, whose stream is its specification's).
    pub seed: u64,
    /// The interval's confidence.
    pub confidence: f64,
}

/// How blocks may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// Within the series: its first and last values are drawn less often than the others.
    Moving,
    /// The series' end goes on at its beginning, so that all are drawn alike.
    Circular,
}

/// The length of blocks for the variance of a mean of n values, `n^{1/3}` rounded up, at least 1.
///
/// Source: Hall, Horowitz & Jing (1995), *On blocking rules for the bootstrap
/// with dependent data*, Biometrika 82(3): the order n^{1/3}.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cube root of a count")]
pub fn block_length(n: usize) -> usize {
    (real(n).cbrt().ceil() as usize).max(1)
}

/// The percentile interval of a statistic of a series whose neighbours depend
/// on each other: series of blocks are drawn with replacement, and the ends
/// are quantiles of the statistic over them. A draw for which `statistic` has
/// no value is left out; half of them must have one.
///
/// Source: Künsch (1989), *The jackknife and the bootstrap for general
/// stationary observations*, Ann. Statist. 17(3) (moving); Politis & Romano
/// (1992), *A circular block-resampling procedure for stationary data*; the
/// percentile interval: Efron & Tibshirani (1993), *An Introduction to the
/// Bootstrap*, 13.
///
/// # Errors
/// Under 2 values, one that is not finite, a block longer than the series, a
/// setting out of range, a statistic without a value.
pub fn block_bootstrap(
    values: &[f64],
    blocks: Blocks,
    how: Resampling,
    statistic: impl Fn(&[f64]) -> Option<f64>,
) -> Result<(f64, f64)> {
    checked(values, 2)?;
    settings(how)?;
    let n = values.len();
    if how.block > n {
        return Err(StatsError::OutOfRange { what: "a block", range: "1 to the number of values" });
    }
    let mut random = ChaCha8Rng::seed_from_u64(how.seed);
    let starts = match blocks {
        Blocks::Moving => n - how.block + 1,
        Blocks::Circular => n,
    };
    let mut drawn = Vec::with_capacity(n + how.block);
    let mut found = Vec::with_capacity(how.replicates);
    for _ in 0..how.replicates {
        drawn.clear();
        while drawn.len() < n {
            let start = below(starts, &mut random);
            drawn.extend((start..start + how.block).map(|i| values[i % n]));
        }
        drawn.truncate(n);
        found.extend(statistic(&drawn).filter(|v| v.is_finite()));
    }
    percentile_interval(found, how)
}

/// The percentile interval of a statistic of runs that consist of pieces
/// (trials of seconds): runs are drawn with replacement, then pieces within
/// each by circular blocks, and the statistic is of all the pieces drawn (their
/// histograms merged, say).
///
/// Source: Davison & Hinkley (1997), *Bootstrap Methods and their
/// Application*, 3.8 (hierarchical data); Ren et al. (2010), *Nonparametric
/// bootstrapping for hierarchical data*, J. Applied Statistics 37(9), who find
/// that resampling the lower level as well widens little; it is kept because
/// runs are few.
///
/// # Errors
/// Under 2 runs, a run without pieces, a setting out of range, a statistic without a value.
pub fn two_level_bootstrap<T>(
    runs: &[Vec<T>],
    how: Resampling,
    statistic: impl Fn(&[&T]) -> Option<f64>,
) -> Result<(f64, f64)> {
    settings(how)?;
    if runs.len() < 2 {
        return Err(StatsError::TooFew { have: runs.len(), need: 2 });
    }
    if runs.iter().any(Vec::is_empty) {
        return Err(StatsError::TooFew { have: 0, need: 1 });
    }
    let mut random = ChaCha8Rng::seed_from_u64(how.seed);
    let mut drawn: Vec<&T> = Vec::new();
    let mut found = Vec::with_capacity(how.replicates);
    for _ in 0..how.replicates {
        drawn.clear();
        for _ in 0..runs.len() {
            let run = &runs[below(runs.len(), &mut random)];
            let (from, block) = (drawn.len(), how.block.min(run.len()));
            while drawn.len() < from + run.len() {
                let start = below(run.len(), &mut random);
                drawn.extend((start..start + block).map(|i| &run[i % run.len()]));
            }
            drawn.truncate(from + run.len());
        }
        found.extend(statistic(&drawn).filter(|v| v.is_finite()));
    }
    percentile_interval(found, how)
}

fn settings(how: Resampling) -> Result<()> {
    open_share("a confidence", how.confidence)?;
    bounded(how.replicates, REPLICATES_MAX)?;
    if how.block == 0 || how.replicates < 20 {
        return Err(StatsError::OutOfRange {
            what: "a block",
            range: "at least 1, with at least 20 replicates",
        });
    }
    Ok(())
}

/// The quantiles at (1 ∓ confidence)/2 as order statistics, outwards.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 to 100,000")]
fn percentile_interval(mut found: Vec<f64>, how: Resampling) -> Result<(f64, f64)> {
    if found.len() * 2 < how.replicates {
        return Err(StatsError::NotFinite);
    }
    found.sort_by(f64::total_cmp);
    let out = (real(found.len()) * (1.0 - how.confidence) / 2.0).floor() as usize;
    let low = out.min((found.len() - 1) / 2);
    Ok((found[low], found[found.len() - 1 - low]))
}

/// A number from 0 to `bound` − 1, all alike but for 2⁻⁶⁴·bound (Lemire (2019),
/// *Fast random integer generation in an interval*, without its rejection).
fn below(bound: usize, random: &mut ChaCha8Rng) -> usize {
    let product = u128::from(random.next_u64()) * bound as u128;
    usize::try_from(product >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use crate::interval::mean;
    use proptest::prelude::*;

    const HOW: Resampling = Resampling { block: 1, replicates: 500, seed: 1, confidence: 0.95 };

    #[test]
    fn a_seed_fixes_it() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i % 17)).collect();
        let draw = |seed| {
            block_bootstrap(&values, Blocks::Circular, Resampling { seed, block: 3, ..HOW }, mean).unwrap()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn blocks_cover_a_chain_that_single_values_do_not() {
        let mut stream = Stream(21);
        let (mut blocks, mut single) = (0, 0);
        for seed in 0..400 {
            let values = stream.chain(0.6, 200);
            let covered = |block| {
                let how = Resampling { block, replicates: 200, seed, ..HOW };
                let (low, high) = block_bootstrap(&values, Blocks::Circular, how, mean).unwrap();
                low <= 100.0 && 100.0 <= high
            };
            blocks += usize::from(covered(12));
            single += usize::from(covered(1));
        }
        assert!(blocks > 345 && single < 300, "{blocks} and {single} of 400");
    }

    #[test]
    fn runs_that_differ_widen_it() {
        let mut stream = Stream(22);
        let mut width = |between: f64| {
            let runs: Vec<Vec<f64>> = (0..10)
                .map(|_| {
                    let level = between * stream.normal();
                    (0..20).map(|_| level + stream.normal()).collect()
                })
                .collect();
            let of = |drawn: &[&f64]| mean(&drawn.iter().map(|v| **v).collect::<Vec<_>>());
            let (low, high) = two_level_bootstrap(&runs, HOW, of).unwrap();
            high - low
        };
        assert!(width(5.0) > 5.0 * width(0.0));
    }

    #[test]
    fn what_it_cannot_be_used_on() {
        let of = |how| block_bootstrap(&[1.0, 2.0], Blocks::Moving, how, mean);
        assert!(of(Resampling { block: 3, ..HOW }).is_err() && of(Resampling { block: 0, ..HOW }).is_err());
        assert!(of(Resampling { replicates: 1_000_000, ..HOW }).is_err());
        assert_eq!(block_bootstrap(&[1.0, 2.0], Blocks::Moving, HOW, |_| None), Err(StatsError::NotFinite));
        assert!(two_level_bootstrap(&[vec![1.0], vec![]], HOW, |_| Some(1.0)).is_err());
    }

    proptest! {
        #[test]
        fn every_value_is_one_that_was_there(values in prop::collection::vec(-5.0f64..5.0, 2..20), block in 0usize..20, circular in any::<bool>()) {
            let block = 1 + block % values.len();
            let kind = if circular { Blocks::Circular } else { Blocks::Moving };
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let how = Resampling { block, replicates: 50, ..HOW };
            let (low, high) = block_bootstrap(&values, kind, how, |drawn| {
                assert!(drawn.len() == values.len() && drawn.iter().all(|v| values.contains(v)));
                drawn.iter().copied().reduce(f64::min)
            }).unwrap();
            prop_assert!(least <= low && low <= high);
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..9), block in 0usize..12, confidence in any::<f64>()) {
            let how = Resampling { block, replicates: 20, seed: 0, confidence };
            if let Ok((low, high)) = block_bootstrap(&values, Blocks::Moving, how, mean) { prop_assert!(low <= high); }
        }
    }
}
