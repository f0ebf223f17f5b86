//! What is measured in a row, where neighbours resemble each other: effective sample sizes.

use crate::interval::{mean, variance};
use crate::real;

/// Fewer values than this have no effective size.
const VALUES_MIN: usize = 5;

/// With fewer values their autocorrelation is not estimated: its standard error is 1/√n, a third, and would be noise.
const LAG1_VALUES_MIN: usize = 10;

/// Values that resemble their neighbours more are taken to do only so much: beyond it, the correction has no end.
const LAG1_MAX: f64 = 0.8;

/// How many independent values these weigh as, at most as many as they are, and just as many below ten: `n(1−ρ)/(1+ρ)`
/// (Zwiers & von Storch (1995), *Taking serial correlation into account in tests of the mean*, J. Climate 8), with the
/// lag-1 autocorrelation ρ corrected for its bias (Marriott & Pope (1954), Biometrika 41) and never negative. `None`
/// below five values, or when one is not finite.
pub fn effective_size(values: &[f64]) -> Option<f64> {
    let n = real(values.len());
    let lag1 = lag1_autocorrelation(values).filter(|_| values.len() >= VALUES_MIN)?;
    let rho = if values.len() < LAG1_VALUES_MIN { 0.0 } else { (n * lag1 + 1.0) / (n - 4.0) };
    let rho = rho.clamp(0.0, LAG1_MAX);
    Some(n * (1.0 - rho) / (1.0 + rho))
}

/// The autocorrelation of neighbours, `Σ(xᵢ−x̄)(xᵢ₊₁−x̄) / Σ(xᵢ−x̄)²`; 0 when all are equal. `None` below two values,
/// or when one is not finite. Source: Box & Jenkins (1970), *Time Series Analysis*, 2.1.
pub fn lag1_autocorrelation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let total = variance(values)? * (real(values.len()) - 1.0);
    if total <= 0.0 {
        return Some(0.0);
    }
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    Some(neighbours / total)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SplitMix64 (Steele, Lea & Flood 2014): a stream that a seed fixes.
    pub(crate) struct Stream(pub(crate) u64);

    impl Stream {
        pub(crate) fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Standard normal, by Box & Muller (1958).
        pub(crate) fn normal(&mut self) -> f64 {
            let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
            radius * (std::f64::consts::TAU * self.uniform()).cos()
        }

        /// Values whose neighbours correlate by `phi`, about 100.
        pub(crate) fn chain(&mut self, phi: f64, length: usize) -> Vec<f64> {
            let mut x = self.normal();
            (0..length)
                .map(|_| {
                    x = phi * x + (1.0 - phi * phi).sqrt() * self.normal();
                    100.0 + x
                })
                .collect()
        }
    }

    #[test]
    fn the_lag1_autocorrelation_is_the_one_by_hand() {
        // 1 2 3 4: deviations −1.5 −0.5 0.5 1.5; (0.75 − 0.25 + 0.75) / 5.
        assert!((lag1_autocorrelation(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(lag1_autocorrelation(&[3.0, 3.0]), Some(0.0));
    }

    proptest! {
        #[test]
        fn there_are_no_more_effective_values_than_values(values in prop::collection::vec(-10.0f64..10.0, 5..60)) {
            let effective = effective_size(&values).unwrap();
            prop_assert!(effective > 0.0 && effective <= values.len() as f64);
        }
    }
}
