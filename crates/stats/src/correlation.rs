//! Whether two orders agree: Kendall's tau-b.

use crate::student::t_two_sided;
use crate::{real, usable};

/// The most pairs: tau compares each with each, five million at 3,162.
pub(crate) const PAIRS_MAX: usize = 3_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tau {
    /// From −1 (opposite) through 0 to 1 (the same order).
    pub coefficient: f64,
    pub n: usize,
    /// The interval's ends; `None` under 5 pairs, of which it says nothing.
    pub interval: Option<(f64, f64)>,
}

/// (concordant − discordant) over the geometric mean of the pairs not tied in x and in y. The interval is that of
/// `atanh τ` with the variance `0.437/(n − 4)`, carried back, with t at n − 2 degrees of freedom in place of z, with
/// which twelve pairs are covered in under 93 %. A τ of ±1 has no `atanh`: it is taken from half a pair less. Source:
/// Kendall (1945), *The treatment of ties in ranking problems*, Biometrika 33(3); Fieller, Hartley & Pearson (1957),
/// *Tests for rank correlation coefficients I*, Biometrika 44; Bonett & Wright (2000), *Sample size requirements for
/// estimating Pearson, Kendall and Spearman correlations*, Psychometrika 65(1), who find it to hold for |τ| < 0.8.
/// `None` of lists of different lengths, under 4 pairs, over `PAIRS_MAX`, of values not finite or without spread.
pub fn kendall_tau_b(x: &[f64], y: &[f64], confidence: f64) -> Option<Tau> {
    if x.len() != y.len() || x.len() > PAIRS_MAX || !usable(x, 4) || !usable(y, 4) {
        return None;
    }
    let mut score = 0.0;
    for i in 0..x.len() {
        for j in 0..i {
            score += sign(x[i] - x[j]) * sign(y[i] - y[j]);
        }
    }
    let n = real(x.len());
    let pairs = n * (n - 1.0) / 2.0;
    // Half of the ordered pairs of two that are equal.
    let tied = |of: &[f64]| real(of.iter().map(|a| of.iter().filter(|b| *b == a).count() - 1).sum()) / 2.0;
    let untied = ((pairs - tied(x)) * (pairs - tied(y))).sqrt();
    if untied <= 0.0 {
        return None;
    }
    let tau = (score / untied).clamp(-1.0, 1.0);
    let interval = t_two_sided(n - 2.0, confidence).filter(|_| x.len() >= 5).map(|t| {
        let most = 1.0 - 1.0 / pairs;
        let half = t * (0.437 / (n - 4.0)).sqrt();
        let centre = tau.clamp(-most, most).atanh();
        ((centre - half).tanh().min(tau), (centre + half).tanh().max(tau))
    });
    Some(Tau { coefficient: tau, n: x.len(), interval })
}

/// −1, 0 or 1; of a difference that overflows, its sign.
fn sign(difference: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.signum() }
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
        assert_eq!(tau.coefficient, 1.0);
        assert_eq!(kendall_tau_b(&x, &down, 0.95).unwrap().coefficient, -1.0);
        let (low, high) = tau.interval.unwrap();
        assert!(high == 1.0 && (0.2..0.9).contains(&low), "six are not certain: {low}");
        assert_eq!(kendall_tau_b(&x, &[1.0; 6], 0.95), None);
        assert!(kendall_tau_b(&x[..4], &up[..4], 0.95).unwrap().interval.is_none());
    }

    #[test]
    fn the_interval_covers_the_tau_of_normal_pairs() {
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
            let Some(tau) = kendall_tau_b(&x, &y, 0.95) else { return Ok(()) };
            prop_assert!((tau.coefficient - slow_tau(&x, &y)).abs() < 1e-12);
            if let Some((low, high)) = tau.interval {
                prop_assert!(-1.0 <= low && low <= tau.coefficient && tau.coefficient <= high && high <= 1.0);
            }
        }

        #[test]
        fn any_lists_have_a_coefficient_from_minus_one_to_one_or_none(x in prop::collection::vec(any::<f64>(), 0..9), y in prop::collection::vec(any::<f64>(), 0..9)) {
            prop_assert!(kendall_tau_b(&x, &y, 0.95).is_none_or(|tau| tau.coefficient.abs() <= 1.0));
        }
    }
}
