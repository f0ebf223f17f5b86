//! A centre that one wild trial does not move: Hodges–Lehmann, with the
//! interval that inverts Wilcoxon's signed-rank test.

use crate::error::{Result, StatsError, bounded, checked, finite, open_share};
use crate::interval::Interval;

/// The most values: 200 have 20,100 averages of pairs.
pub const VALUES_MAX: usize = 200;

/// The Hodges–Lehmann estimate of the centre of values (log ratios of blocks,
/// say): the median of the averages of all pairs, each value with itself
/// included. The interval is exact for values whose distribution is symmetric
/// about its centre and continuous; with ties it covers no less.
///
/// Source: Hodges & Lehmann (1963), *Estimates of location based on rank
/// tests*, Ann. Math. Statist. 34(2); Hollander, Wolfe & Chicken (2014),
/// *Nonparametric Statistical Methods*, 3.2–3.3.
///
/// # Errors
/// So few values that none of their intervals has this confidence (6 are
/// needed for 95 %), over [`VALUES_MAX`], or one that is not finite.
pub fn hodges_lehmann(values: &[f64], confidence: f64) -> Result<Interval> {
    open_share("a confidence", confidence)?;
    checked(values, 1)?;
    bounded(values.len(), VALUES_MAX)?;
    let n = values.len();
    let Some(depth) = critical_depth(n, (1.0 - confidence) / 2.0) else {
        return Err(StatsError::TooFew { have: n, need: least_values(confidence) });
    };
    let averages = walsh_averages(values);
    let last = averages.len() - 1;
    let point = f64::midpoint(averages[last / 2], averages[averages.len() / 2]);
    Ok(Interval { point: finite(point)?, low: averages[depth], high: averages[last - depth], n })
}

/// The Hodges–Lehmann estimate alone, which a single value has, too.
///
/// Source: as [`hodges_lehmann`].
///
/// # Errors
/// No value, over [`VALUES_MAX`], or one that is not finite.
pub fn centre(values: &[f64]) -> Result<f64> {
    checked(values, 1)?;
    bounded(values.len(), VALUES_MAX)?;
    let averages = walsh_averages(values);
    finite(f64::midpoint(averages[(averages.len() - 1) / 2], averages[averages.len() / 2]))
}

/// The averages of all pairs, sorted.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(i, a)| values[i..].iter().map(|b| f64::midpoint(*a, *b)))
        .collect();
    averages.sort_by(f64::total_cmp);
    averages
}

/// How many averages to leave out at each end: the largest c with
/// P(W ≤ c − 1) ≤ `tail`; `None` where that is none.
fn critical_depth(n: usize, tail: f64) -> Option<usize> {
    let mut below = 0.0;
    let mut depth = 0usize;
    for probability in signed_rank_distribution(n) {
        below += probability;
        if below > tail {
            break;
        }
        depth += 1;
    }
    depth.checked_sub(1)
}

/// P(W = w) for w from 0 of Wilcoxon's signed-rank statistic: each rank counts with probability ½.
///
/// Source: Wilcoxon (1945), *Individual comparisons by ranking methods*,
/// Biometrics Bulletin 1(6); the recursion over ranks is Hollander, Wolfe &
/// Chicken's, 3.1, comment 5.
fn signed_rank_distribution(n: usize) -> Vec<f64> {
    let most = n * (n + 1) / 2;
    let mut probability = vec![0.0; most + 1];
    probability[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = f64::midpoint(probability[sum], with);
        }
    }
    probability
}

/// The least n whose widest interval has this confidence: `2^{1−n} ≤ 1 − confidence`.
fn least_values(confidence: f64) -> usize {
    (1..=60)
        .find(|n| 0.5f64.powi(n - 1) <= 1.0 - confidence)
        .map_or(usize::MAX, |n| n.unsigned_abs() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn six_are_needed_and_their_interval_is_the_whole() {
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(hodges_lehmann(&five, 0.95), Err(StatsError::TooFew { have: 5, need: 6 }));
        let i = hodges_lehmann(&[1.0, 2.0, 3.0, 4.0, 5.0, 9.0], 0.95).unwrap();
        assert_eq!((i.low, i.high, i.n), (1.0, 9.0, 6));
    }

    #[test]
    fn the_centre_alone_needs_one_value_and_agrees() {
        assert_eq!(centre(&[3.0]), Ok(3.0));
        // Averages 1, 1.5, 2, 5.5, 6 and 10.
        assert_eq!(centre(&[10.0, 1.0, 2.0]), Ok(3.75));
        let eight = [1.0, 1.1, 0.9, 1.05, 0.95, 7.0, 0.98, 1.0];
        assert_eq!(centre(&eight), hodges_lehmann(&eight, 0.95).map(|i| i.point));
        assert!(centre(&[]).is_err() && centre(&[f64::NAN]).is_err() && centre(&[0.0; 201]).is_err());
    }

    #[test]
    fn one_wild_value_moves_it_little() {
        let tame = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.0];
        let mut wild = tame;
        wild[0] = 1e6;
        let moved = hodges_lehmann(&wild, 0.95).unwrap().point - hodges_lehmann(&tame, 0.95).unwrap().point;
        assert!((0.0..0.05).contains(&moved), "{moved}");
    }

    #[test]
    fn it_covers_the_centre_of_heavy_tails() {
        // Student's t at 2 degrees as a ratio: normal over the root of an exponential.
        let mut stream = Stream(6);
        let covered = (0..2000).filter(|_| {
            let values: Vec<f64> =
                (0..12).map(|_| stream.normal() / (-(1.0 - stream.uniform()).ln()).sqrt()).collect();
            let i = hodges_lehmann(&values, 0.95).unwrap();
            i.low <= 0.0 && 0.0 <= i.high
        });
        let covered = covered.count();
        assert!((1880..1935).contains(&covered), "{covered} of 2000");
    }

    proptest! {
        #[test]
        fn the_distribution_is_the_one_by_counting(n in 1usize..12) {
            let mut counts = vec![0.0; n * (n + 1) / 2 + 1];
            for signs in 0u32..1 << n {
                let w: usize = (0..n).filter(|i| signs & (1 << i) != 0).map(|i| i + 1).sum();
                counts[w] += 0.5f64.powi(i32::try_from(n).unwrap());
            }
            for (a, b) in signed_rank_distribution(n).iter().zip(&counts) {
                prop_assert!((a - b).abs() < 1e-12);
            }
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..12)) {
            if let Ok(i) = hodges_lehmann(&values, 0.95) {
                prop_assert!(i.low <= i.point && i.point <= i.high);
            }
        }
    }
}
