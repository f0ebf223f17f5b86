//! What equals would show: the A/A noise of the same run.

use prony_stats::CONFIDENCE;
use prony_stats::interval::{logarithms, mean, variance};
use prony_stats::student::t_two_sided;
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::real_len;

/// The A/A noise of one figure in one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    /// From one trial to the next of the same candidate: the standard deviation, as a share.
    pub trial_to_trial: f64,
    /// Half the width of the interval that an A/A comparison of as many blocks of this run would have,
    /// as a share: differences under it are not seen here.
    pub half_width: f64,
    /// Blocks, or trials of the one that has fewer.
    pub n: u64,
}

impl Noise {
    fn new(trial_to_trial: f64, half_width: f64, n: usize) -> Option<Noise> {
        let (trial_to_trial, half_width) = (trial_to_trial.exp_m1(), half_width.exp_m1());
        half_width.is_finite().then_some(Noise { trial_to_trial, half_width, n: n as u64 })
    }

    /// From both sides' figures in the order of time, each held against itself alone: the mean square of successive
    /// differences of its logarithms is twice the variance from trial to trial, whatever slow change there is besides,
    /// and whatever the difference between both. With σ²ₐ and σ²ᵦ of n blocks the half width is t(n − 1)·√((σ²ₐ +
    /// σ²ᵦ)/n): successive differences of two sides weigh as 4(n − 1)/3 degrees of freedom, so that n − 1 is on the
    /// safe side. `None` under two trials of either, or where one is not above 0. Source: von Neumann, Kent, Bellinson
    /// & Hart (1941), *The mean square successive difference*, Ann. Math. Statist. 12(2).
    pub(super) fn of_trials(a: &[f64], b: &[f64]) -> Option<Noise> {
        let (var_a, var_b) = (successive(a)?, successive(b)?);
        let n = a.len().min(b.len());
        let t = t_two_sided(real_len(n) - 1.0, CONFIDENCE)?;
        let error = ((var_a + var_b) / real_len(n)).sqrt();
        Noise::new(f64::midpoint(var_a, var_b).sqrt(), t * error, n)
    }

    /// Of a duet, from each block's ln(left/right): who stands there is in it, and who is better is not, so that their
    /// spread is what a ratio of equals would have. `trial_to_trial` is of a single half's ratio: √2 times that of two
    /// halves' mean.
    pub(super) fn of_places(places: &[f64]) -> Option<Noise> {
        let spread = variance(places)?.sqrt();
        let t = t_two_sided(real_len(places.len()) - 1.0, CONFIDENCE)?;
        let half_width = t * spread / real_len(places.len()).sqrt();
        Noise::new(std::f64::consts::SQRT_2 * spread, half_width, places.len())
    }
}

/// Half the mean square of successive differences of logarithms.
fn successive(values: &[f64]) -> Option<f64> {
    let squares = logarithms(values)?.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect::<Vec<_>>();
    mean(&squares).map(|square| square / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_trials_is_the_one_by_hand() {
        // Differences of logarithms 0.1 and −0.1: σ² = 0.01/2 on both sides; t(2) = 4.303.
        let side = [1.0, 0.1f64.exp(), 1.0];
        let noise = Noise::of_trials(&side, &side).unwrap();
        let expected = 4.302_653 * (0.01f64 / 3.0).sqrt();
        assert!((noise.half_width.ln_1p() - expected).abs() < 1e-6, "{noise:?}");
        assert!((noise.trial_to_trial.ln_1p() - 0.005f64.sqrt()).abs() < 1e-9);
        assert_eq!(noise.n, 3);
    }

    #[test]
    fn neither_a_difference_of_the_sides_nor_a_drift_is_noise() {
        let mut normal = crate::testing::noise(11);
        let mut draw = |level: f64, drift: f64| -> Vec<f64> {
            (0..200).map(|i| level * (0.02 * normal.next().unwrap() + drift * f64::from(i)).exp()).collect()
        };
        let noise = Noise::of_trials(&draw(100.0, 0.0005), &draw(300.0, -0.0005)).unwrap();
        assert!((0.017..0.023).contains(&noise.trial_to_trial), "2 % asked for: {noise:?}");
    }

    #[test]
    fn equals_differ_by_more_than_the_noise_in_one_to_five_percent() {
        let mut normal = crate::testing::noise(13);
        let mut draw = || -> Vec<f64> { (0..6).map(|_| (0.03 * normal.next().unwrap()).exp()).collect() };
        let beyond = (0..2000)
            .filter(|_| {
                let (a, b) = (draw(), draw());
                let noise = Noise::of_trials(&a, &b).unwrap();
                let d: f64 = a.iter().zip(&b).map(|(a, b)| (b / a).ln()).sum::<f64>() / 6.0;
                d.abs() > noise.half_width.ln_1p()
            })
            .count();
        assert!(beyond < 100, "{beyond} of 2000 lie beyond");
        assert!(beyond > 10, "{beyond} of 2000: it is no bound for ever");
    }

    #[test]
    fn the_noise_of_a_duets_places_is_the_one_by_hand() {
        // 0.1, 0.2 and 0.3 deviate by 0.1 about whatever place is better; t(2) = 4.303.
        let noise = Noise::of_places(&[0.1, 0.2, 0.3]).unwrap();
        assert!((noise.half_width.ln_1p() - 4.302_653 * 0.1 / 3f64.sqrt()).abs() < 1e-6, "{noise:?}");
        assert!((noise.trial_to_trial.ln_1p() - 0.1 * 2f64.sqrt()).abs() < 1e-9);
        assert_eq!(Noise::of_places(&[0.1]), None);
    }

    #[test]
    fn one_trial_or_a_figure_of_zero_has_no_noise() {
        assert_eq!(Noise::of_trials(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(Noise::of_trials(&[1.0, 0.0], &[1.0, 2.0]), None);
    }
}
