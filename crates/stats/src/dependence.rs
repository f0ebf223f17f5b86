//! How much values in a row depend on each other: von Neumann's ratio, the
//! long-run variance, the effective sample size that follows.

use crate::error::{Result, StatsError, checked, finite};
use crate::interval::{mean, variance};
use crate::real;
use crate::student::normal_p_value;

/// Von Neumann's test that neighbours are independent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VonNeumann {
    /// `Σ(xᵢ₊₁−xᵢ)² / Σ(xᵢ−x̄)²`: 2 where independent, towards 0 where
    /// neighbours resemble each other, towards 4 where they alternate.
    pub ratio: f64,
    /// How probable a ratio as far from 2 is, on either side.
    pub p: f64,
}

/// Von Neumann's ratio of at least 8 values with its normal approximation:
/// mean 2, variance `4(n−2)/(n²−1)`. It is what batch sizes are judged by: batches whose
/// means pass are long enough to be taken as independent.
///
/// Source: von Neumann (1941), *Distribution of the ratio of the mean square
/// successive difference to the variance*, Ann. Math. Statist. 12(4); Young
/// (1941), same volume, for the variance; as the test of batch means in
/// Fishman (1978), *Grouping observations in digital simulation*, Management
/// Science 24(5), and Steiger & Wilson (2002), *An improved batch means
/// procedure for simulation output analysis*, Management Science 48(12).
///
/// # Errors
/// Under 8 values, a value that is not finite, or no spread.
pub fn von_neumann(values: &[f64]) -> Result<VonNeumann> {
    checked(values, 8)?;
    let n = real(values.len());
    let total = variance(values).ok_or(StatsError::Overflow)? * (n - 1.0);
    if total <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let steps: f64 = values.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum();
    let ratio = finite(steps / total)?;
    let z = (1.0 - ratio / 2.0) * ((n * n - 1.0) / (n - 2.0)).sqrt();
    Ok(VonNeumann { ratio, p: normal_p_value(z) })
}

/// The number of lags that a long-run variance of n values looks at:
/// `⌊4(n/100)^{1/4}⌋`.
///
/// Source: Schwert (1989), *Tests for unit roots: a Monte Carlo
/// investigation*, J. Business & Economic Statistics 7(2), the rule of KPSS's own tables.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fourth root, not negative")]
pub fn schwert_lags(n: usize) -> usize {
    (4.0 * (real(n) / 100.0).powf(0.25)).floor() as usize
}

/// The long-run variance of a level series, `γ₀ + 2Σ(1 − k/(l+1))γₖ` with
/// Bartlett's weights over `lags` lags and γ with denominator n: n times the
/// variance of the mean. Never negative.
///
/// Source: Newey & West (1987), *A simple, positive semi-definite,
/// heteroskedasticity and autocorrelation consistent covariance matrix*,
/// Econometrica 55(3).
///
/// # Errors
/// Under 2 values, a value that is not finite, or as many lags as values.
pub fn long_run_variance(values: &[f64], lags: usize) -> Result<f64> {
    checked(values, 2)?;
    if lags >= values.len() {
        return Err(StatsError::OutOfRange {
            what: "the number of lags",
            range: "below the number of values",
        });
    }
    let centre = mean(values).ok_or(StatsError::Overflow)?;
    let n = real(values.len());
    let covariance = |lag: usize| {
        values.iter().zip(&values[lag..]).map(|(a, b)| (a - centre) * (b - centre)).sum::<f64>() / n
    };
    let weighted: f64 = (1..=lags).map(|k| (1.0 - real(k) / (real(lags) + 1.0)) * covariance(k)).sum();
    Ok(finite(covariance(0) + 2.0 * weighted)?.max(0.0))
}

/// How many independent values these weigh as for their mean, `n·γ₀ / σ²`
/// with the long-run variance σ² over `lags` lags; from 1 to n (values that
/// alternate are not taken as more than they are).
///
/// Source: Law (2015), *Simulation Modeling and Analysis*, 4.4 and 9.5.3.
///
/// # Errors
/// As [`long_run_variance`].
pub fn effective_size_by_lags(values: &[f64], lags: usize) -> Result<f64> {
    let long_run = long_run_variance(values, lags)?;
    let own = long_run_variance(values, 0)?;
    let n = real(values.len());
    if own <= 0.0 || long_run <= 0.0 {
        return Ok(n);
    }
    Ok((n * (own / long_run)).clamp(1.0, n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn the_test_keeps_its_level_and_sees_a_chain() {
        let mut stream = Stream(11);
        let mut rejected =
            |phi: f64| (0..2000).filter(|_| von_neumann(&stream.chain(phi, 20)).unwrap().p < 0.05).count();
        let (level, power) = (rejected(0.0), rejected(0.8));
        assert!((60..140).contains(&level), "{level} of 2000 at 5 %");
        assert!(power > 1600, "{power}");
    }

    #[test]
    fn a_chain_weighs_as_its_formula_says() {
        // AR(1): (1 − φ)/(1 + φ) = 1/3 at φ = 0.5.
        let mut stream = Stream(5);
        let values = stream.chain(0.5, 20_000);
        let share = effective_size_by_lags(&values, 60).unwrap() / 20_000.0;
        assert!((share - 1.0 / 3.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn equal_values_have_no_ratio() {
        assert_eq!(von_neumann(&[1.0; 9]), Err(StatsError::NoSpread));
        assert_eq!(effective_size_by_lags(&[1.0; 9], 2), Ok(9.0));
        assert_eq!(von_neumann(&[1.0; 7]), Err(StatsError::TooFew { have: 7, need: 8 }));
    }

    /// The definition, slowly: the quadratic form over all pairs of values.
    fn slow(values: &[f64], lags: usize) -> f64 {
        let n = values.len();
        let centre = values.iter().sum::<f64>() / n as f64;
        let mut sum = 0.0;
        for i in 0..n {
            for j in 0..n {
                let weight = 1.0 - i.abs_diff(j) as f64 / (lags as f64 + 1.0);
                sum += weight.max(0.0) * (values[i] - centre) * (values[j] - centre);
            }
        }
        sum / n as f64
    }

    proptest! {
        #[test]
        fn the_long_run_variance_is_the_double_sum(values in prop::collection::vec(-10.0f64..10.0, 2..30), lags in 0usize..29) {
            let lags = lags % values.len();
            let v = long_run_variance(&values, lags).unwrap();
            prop_assert!((v - slow(&values, lags)).abs() < 1e-9);
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..20), lags in 0usize..30) {
            if let Ok(v) = von_neumann(&values) { prop_assert!(v.ratio.is_finite() && (0.0..=1.0).contains(&v.p)); }
            if let Ok(v) = effective_size_by_lags(&values, lags) { prop_assert!(v.is_finite()); }
        }
    }
}
