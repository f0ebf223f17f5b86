//! Whether two orders agree: Kendall's tau-b.

use crate::error::{Result, StatsError, bounded, checked, finite};
use crate::interval::mean;
use crate::midranks::midranks;
use crate::real;
use crate::student::{normal_p_value, t_two_sided};

/// The most pairs: tau compares each with each, five million at 3,162.
pub(crate) const PAIRS_MAX: usize = 3_000;

/// A correlation with its p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// From −1 (opposite) through 0 to 1 (the same order).
    pub coefficient: f64,
    /// How probable one as far from 0 is, on either side, where there is none.
    pub p: f64,
    /// Pairs.
    pub n: usize,
}

/// Kendall's tau-b with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tau {
    /// The coefficient and the p-value.
    pub correlation: Correlation,
    /// The interval's ends; `None` under 5 pairs, of which it says nothing.
    pub interval: Option<(f64, f64)>,
}

/// Kendall's tau-b, (concordant − discordant) over the geometric mean of the
/// pairs that are not tied in x and in y. The p-value is the normal one with
/// the variance corrected for ties; the interval is that of `atanh τ` with
/// the variance `0.437/(n − 4)`, carried back, with t at n − 2 degrees of freedom
/// in place of z: with z, twelve pairs are covered in under 93 % of
/// simulated cases. A τ of ±1 has no `atanh`: its interval is taken from half a
/// pair less than all, so that few pairs do not look certain.
///
/// Source: Kendall (1945), *The treatment of ties in ranking problems*,
/// Biometrika 33(3); Fieller, Hartley & Pearson (1957), *Tests for rank
/// correlation coefficients I*, Biometrika 44; Bonett & Wright (2000), *Sample
/// size requirements for estimating Pearson, Kendall and Spearman
/// correlations*, Psychometrika 65(1), who find it to hold for |τ| < 0.8.
///
/// # Errors
/// Lists of different lengths, under 4 pairs, over `PAIRS_MAX`, a value that is not finite, a list without spread; a
/// confidence outside 0 to 1.
pub fn kendall_tau_b(x: &[f64], y: &[f64], confidence: f64) -> Result<Tau> {
    both(x, y)?;
    bounded(x.len(), PAIRS_MAX)?;
    crate::error::open_share("a confidence", confidence)?;
    let mut score = 0.0;
    for i in 0..x.len() {
        for j in 0..i {
            score += sign(x[i] - x[j]) * sign(y[i] - y[j]);
        }
    }
    let n = real(x.len());
    let ((_, tx), (_, ty)) = (midranks(x), midranks(y));
    let pairs = n * (n - 1.0) / 2.0;
    let tied = |groups: &[usize]| groups.iter().map(|t| real(*t) * (real(*t) - 1.0) / 2.0).sum::<f64>();
    let untied = ((pairs - tied(&tx)) * (pairs - tied(&ty))).sqrt();
    if untied <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let tau = (score / untied).clamp(-1.0, 1.0);
    let p = normal_p_value(score / score_variance(n, &tx, &ty).sqrt());
    let interval = t_two_sided(n - 2.0, confidence).filter(|_| x.len() >= 5).map(|t| {
        let most = 1.0 - 1.0 / pairs;
        let half = t * (0.437 / (n - 4.0)).sqrt();
        let centre = tau.clamp(-most, most).atanh();
        ((centre - half).tanh().min(tau), (centre + half).tanh().max(tau))
    });
    Ok(Tau { correlation: Correlation { coefficient: tau, p: finite(p)?, n: x.len() }, interval })
}

/// −1, 0 or 1; of a difference that overflows, its sign.
fn sign(difference: f64) -> f64 {
    if difference > 0.0 {
        1.0
    } else if difference < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// The variance of concordant − discordant without correlation, with ties:
/// Kendall & Gibbons (1990), 4.3.
fn score_variance(n: f64, tx: &[usize], ty: &[usize]) -> f64 {
    let sum = |groups: &[usize], of: &dyn Fn(f64) -> f64| groups.iter().map(|t| of(real(*t))).sum::<f64>();
    let fives = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let threes = |t: f64| t * (t - 1.0) * (t - 2.0);
    let twos = |t: f64| t * (t - 1.0);
    (fives(n) - sum(tx, &fives) - sum(ty, &fives)) / 18.0
        + sum(tx, &threes) * sum(ty, &threes) / (9.0 * threes(n))
        + sum(tx, &twos) * sum(ty, &twos) / (2.0 * twos(n))
}

fn both(x: &[f64], y: &[f64]) -> Result<()> {
    if x.len() != y.len() {
        return Err(StatsError::Lengths { left: x.len(), right: y.len() });
    }
    checked(x, 4)?;
    checked(y, 4)?;
    mean(x).and(mean(y)).map(|_| ()).ok_or(StatsError::Overflow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn the_same_order_is_one_and_the_opposite_minus_one() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let up = [10.0, 20.0, 40.0, 80.0, 81.0, 90.0];
        let down: Vec<f64> = up.iter().map(|v| -v).collect();
        let tau = kendall_tau_b(&x, &up, 0.95).unwrap();
        assert_eq!(tau.correlation.coefficient, 1.0);
        assert_eq!(kendall_tau_b(&x, &down, 0.95).unwrap().correlation.coefficient, -1.0);
        let (low, high) = tau.interval.unwrap();
        assert!(high == 1.0 && (0.2..0.9).contains(&low), "six are not certain: {low}");
        assert_eq!(kendall_tau_b(&x, &[1.0; 6], 0.95), Err(StatsError::NoSpread));
        assert!(kendall_tau_b(&x[..4], &up[..4], 0.95).unwrap().interval.is_none());
    }

    #[test]
    fn the_interval_of_tau_covers_it() {
        // Bivariate normal with correlation r: τ = (2/π)·asin r (Greiner's relation).
        let mut stream = Stream(8);
        for (r, n) in [(0.0f64, 12), (0.5, 12), (0.8, 20)] {
            let truth = 2.0 / std::f64::consts::PI * r.asin();
            let covered = (0..1500)
                .filter(|_| {
                    let (x, y): (Vec<f64>, Vec<f64>) = (0..n)
                        .map(|_| {
                            let a = stream.normal();
                            (a, r * a + (1.0 - r * r).sqrt() * stream.normal())
                        })
                        .unzip();
                    let (low, high) = kendall_tau_b(&x, &y, 0.95).unwrap().interval.unwrap();
                    low <= truth && truth <= high
                })
                .count();
            assert!(covered >= 1395, "r {r}, n {n}: {covered} of 1500");
        }
    }

    fn slow_tau(x: &[f64], y: &[f64]) -> f64 {
        let (mut plus, mut minus, mut only_x, mut only_y) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..x.len() {
            for j in 0..i {
                match (x[i].total_cmp(&x[j]) as i8, y[i].total_cmp(&y[j]) as i8) {
                    (0, 0) => {}
                    (0, _) => only_y += 1.0,
                    (_, 0) => only_x += 1.0,
                    (a, b) if a == b => plus += 1.0,
                    _ => minus += 1.0,
                }
            }
        }
        let total: f64 = plus + minus;
        (plus - minus) / ((total + only_x) * (total + only_y)).sqrt()
    }

    proptest! {
        #[test]
        fn tau_is_its_slow_definition(pairs in prop::collection::vec((0i32..6, 0i32..6), 4..25)) {
            let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(a, b)| (f64::from(*a), f64::from(*b))).unzip();
            let Ok(tau) = kendall_tau_b(&x, &y, 0.95) else { return Ok(()) };
            prop_assert!((tau.correlation.coefficient - slow_tau(&x, &y)).abs() < 1e-12);
            if let Some((low, high)) = tau.interval {
                prop_assert!(-1.0 <= low && low <= tau.correlation.coefficient && tau.correlation.coefficient <= high && high <= 1.0);
            }
        }

        #[test]
        fn nothing_panics(x in prop::collection::vec(any::<f64>(), 0..9), y in prop::collection::vec(any::<f64>(), 0..9)) {
            if let Ok(Tau { correlation: found, .. }) = kendall_tau_b(&x, &y, 0.95) {
                prop_assert!(found.coefficient.abs() <= 1.0 && (0.0..=1.0).contains(&found.p));
            }
        }
    }
}
