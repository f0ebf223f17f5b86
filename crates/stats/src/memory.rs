//! How long a series resembles itself, told from short steps, and what that means for means over longer ones.
//!
//! Ten seconds do not say how much neighbouring seconds resemble each other: their lag-1 autocorrelation has a standard
//! error of a third. A hundred tenths of seconds do.

use crate::batch::lag1_autocorrelation;
use crate::interval::{mean, variance};
use crate::real;

/// With fewer steps than this nothing is told: the standard error of an autocorrelation is over 0.22.
const STEPS_MIN: usize = 20;

/// Beyond it the sums below have no end.
const RHO_MAX: f64 = 0.98;

/// A first-order memory: steps that are k apart correlate by ρᵏ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    rho: f64,
}

impl Memory {
    /// From values in a row. `None` below 20, or when one is not finite.
    ///
    /// ρ is the lag-1 autocorrelation r₁, corrected for its bias (Marriott & Pope (1954), Biometrika 41), from 0 to 0.98.
    /// Where r₁ is beyond chance (2/√n) and r₂/r₁ is larger, it is that: noise of single steps lowers all r alike
    /// (Walker (1960), *Some consequences of superimposed error in time series analysis*, Biometrika 47). Half its standard
    /// error √((1 − ρ²)/n) (Box & Jenkins (1970), *Time Series Analysis*, 7.2) is then added: what is remembered longer
    /// than the estimate says makes intervals too narrow by more than what is remembered less makes them too wide.
    pub fn of(steps: &[f64]) -> Option<Memory> {
        let n = real(steps.len());
        if steps.len() < STEPS_MIN {
            return None;
        }
        let first = lag1_autocorrelation(steps)?;
        let second = lag2_autocorrelation(steps)?;
        let beyond_chance = first > 2.0 / n.sqrt();
        let raw = if beyond_chance { first.max((second / first).min(1.0)) } else { first };
        let rho = ((n * raw + 1.0) / (n - 4.0)).clamp(0.0, RHO_MAX);
        let unsure = if beyond_chance { ((1.0 - rho * rho) / n).sqrt() / 2.0 } else { 0.0 };
        Some(Memory { rho: (rho + unsure).min(RHO_MAX) })
    }

    /// What is left of a correlation after `steps` more steps: ρ to their power.
    pub fn decay(self, steps: f64) -> f64 {
        self.rho.powf(steps.max(1.0))
    }

    /// By how much the variance of a mean over many means of `steps` steps each is larger than their own variance says:
    /// 1 + 2r/(1 − ρᵐ), with the correlation r of neighbouring ones.
    ///
    /// Source: the sums of ρᵏ over two neighbouring batches and over one (Law (2015), *Simulation Modeling and Analysis*,
    /// 4.4 and 9.5.3, exercise on AR(1)); beyond the neighbours they fall by ρᵐ a batch.
    pub fn inflation(self, steps: f64) -> f64 {
        let (rho, m) = (self.rho, steps.max(1.0));
        if rho <= 0.0 {
            return 1.0;
        }
        let far = 1.0 - rho.powf(m);
        let between = rho * (far / (1.0 - rho)).powi(2);
        let within = m * (1.0 + rho) / (1.0 - rho) - 2.0 * rho * far / (1.0 - rho).powi(2);
        1.0 + 2.0 * (between / within) / far
    }
}

/// As [`lag1_autocorrelation`], of the neighbours' neighbours.
fn lag2_autocorrelation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let total = variance(values)? * (real(values.len()) - 1.0);
    if total <= 0.0 {
        return Some(0.0);
    }
    let pairs: f64 = values.windows(3).map(|w| (w[0] - centre) * (w[2] - centre)).sum();
    Some(pairs / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    /// The definition, slowly: the variance of the mean of 400 batches of m steps, over that if they were independent.
    fn slow(rho: f64, m: i32) -> f64 {
        let over = |lag: i32| {
            let mut sum = 0.0;
            for i in 0..m {
                for j in 0..m {
                    sum += rho.powi((lag * m + j - i).abs());
                }
            }
            sum
        };
        let own = over(0);
        1.0 + 2.0 * (1..400).map(|lag| over(lag) / own).sum::<f64>()
    }

    #[test]
    fn a_chain_s_memory_is_found_with_and_without_noise() {
        let mut stream = Stream(3);
        for noise in [0.0, 0.5] {
            let steps: Vec<f64> =
                stream.chain(0.8, 20_000).into_iter().map(|v| v + noise * stream.normal()).collect();
            let found = Memory::of(&steps).unwrap();
            assert!((found.rho - 0.8).abs() < 0.03, "{found:?} under noise {noise}");
        }
        let alone: Vec<f64> = (0..20_000).map(|_| stream.normal()).collect();
        assert!(Memory::of(&alone).unwrap().rho < 0.02);
    }

    #[test]
    fn little_is_told_of_little() {
        assert_eq!(Memory::of(&[1.0; 19]), None);
        // All equal: 1/16 by the bias' correction.
        assert_eq!(Memory::of(&[1.0; 20]), Some(Memory { rho: 1.0 / 16.0 }));
        assert_eq!(Memory::of(&[f64::NAN; 30]), None);
    }

    proptest! {
        #[test]
        fn inflation_is_the_sum_over_all_batches(rho in 0.0f64..0.9, m in 1i32..20) {
            let found = Memory { rho }.inflation(f64::from(m));
            let expected = slow(rho, m);
            prop_assert!((found - expected).abs() < 1e-6 * expected, "{found} against {expected}");
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..60), steps in 0.0f64..1e4) {
            if let Some(memory) = Memory::of(&values) {
                prop_assert!(memory.inflation(steps) >= 1.0 && memory.inflation(steps).is_finite());
            }
        }
    }
}
