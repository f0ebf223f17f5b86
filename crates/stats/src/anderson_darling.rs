//! Whether values look exponential or normal: Anderson–Darling.

use statrs::function::erf::erfc;

use crate::error::{Result, StatsError, checked, finite};
use crate::interval::{mean, variance};
use crate::real;

/// Significance and the critical value of the adjusted statistic, exponential
/// with its mean estimated: Stephens (1986), table 4.14.
const EXPONENTIAL: [(f64, f64); 5] =
    [(0.15, 0.922), (0.10, 1.078), (0.05, 1.341), (0.025, 1.606), (0.01, 1.957)];

/// What the test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AndersonDarling {
    /// A², of which more is less like the distribution.
    pub statistic: f64,
    /// A² adjusted for n, as the tables want it.
    pub adjusted: f64,
}

impl AndersonDarling {
    /// The smallest of the levels 15, 10, 5, 2.5 and 1 % at which exponential
    /// gaps are rejected; `None` where none of them rejects. For the statistic
    /// of [`exponential`] only.
    pub fn exponential_rejected_at(&self) -> Option<f64> {
        EXPONENTIAL.iter().rev().find(|(_, critical)| self.adjusted > *critical).map(|(level, _)| *level)
    }

    /// The p-value of normality, for the statistic of [`normal`] only.
    ///
    /// Source: D'Agostino & Stephens (1986), *Goodness-of-Fit Techniques*,
    /// table 4.9.
    pub fn normal_p_value(&self) -> f64 {
        let a = self.adjusted;
        let p = if a <= 0.2 {
            1.0 - (-13.436 + 101.14 * a - 223.73 * a * a).exp()
        } else if a <= 0.34 {
            1.0 - (-8.318 + 42.796 * a - 59.938 * a * a).exp()
        } else if a <= 0.6 {
            (0.9177 - 4.279 * a - 1.38 * a * a).exp()
        } else if a <= 13.0 {
            (1.2937 - 5.709 * a + 0.0186 * a * a).exp()
        } else {
            0.0 // the fit ends here, at 10⁻³⁰
        };
        p.clamp(0.0, 1.0)
    }
}

/// A² of values (gaps, at least 0) against the exponential distribution whose
/// mean is theirs, adjusted by `1 + 0.6/n`.
///
/// With very many values any schedule is rejected, since clocks tick: hand in
/// 2,000 at most.
///
/// Source: Anderson & Darling (1954), *A test of goodness of fit*, JASA
/// 49(268); Stephens (1974), *EDF statistics for goodness of fit and some
/// comparisons*, JASA 69(347).
///
/// # Errors
/// Under 8 values, one that is not finite or below 0, or all 0.
pub fn exponential(gaps: &[f64]) -> Result<AndersonDarling> {
    checked(gaps, 8)?;
    if gaps.iter().any(|g| *g < 0.0) {
        return Err(StatsError::OutOfRange { what: "a gap", range: "at least 0" });
    }
    let centre = mean(gaps).ok_or(StatsError::Overflow)?;
    if centre <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    // (F, 1 − F), each without cancellation.
    let statistic = a_squared(gaps, |x| (-(-x / centre).exp_m1(), (-x / centre).exp()))?;
    Ok(AndersonDarling { statistic, adjusted: statistic * (1.0 + 0.6 / real(gaps.len())) })
}

/// A² of values against the normal distribution with their own mean and
/// variance, adjusted by `1 + 0.75/n + 2.25/n²`.
///
/// Source: as [`exponential`]; the adjustment is D'Agostino & Stephens (1986), table 4.7.
///
/// # Errors
/// Under 8 values, one that is not finite, or no spread.
pub fn normal(values: &[f64]) -> Result<AndersonDarling> {
    checked(values, 8)?;
    let n = real(values.len());
    let centre = mean(values).ok_or(StatsError::Overflow)?;
    let spread = variance(values).ok_or(StatsError::Overflow)?.sqrt();
    if spread <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let statistic = a_squared(values, |x| {
        let z = (x - centre) / spread / std::f64::consts::SQRT_2;
        (erfc(-z) / 2.0, erfc(z) / 2.0)
    })?;
    Ok(AndersonDarling { statistic, adjusted: statistic * (1.0 + 0.75 / n + 2.25 / (n * n)) })
}

/// `−n − (1/n) Σ (2i−1)(ln F(xᵢ) + ln(1 − F(xₙ₊₁₋ᵢ)))`, sorted; `both` gives (F, 1 − F).
fn a_squared(values: &[f64], both: impl Fn(f64) -> (f64, f64)) -> Result<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = real(sorted.len());
    // A value at which F is 0 counts as the smallest float: its logarithm is −708 and not −∞.
    let log = |share: f64| share.max(f64::MIN_POSITIVE).ln();
    let sum: f64 = sorted
        .iter()
        .zip(sorted.iter().rev())
        .enumerate()
        .map(|(i, (low, high))| (2.0 * real(i) + 1.0) * (log(both(*low).0) + log(both(*high).1)))
        .sum();
    finite(-n - sum / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn levels_are_kept_and_the_other_distribution_is_seen() {
        let mut stream = Stream(4);
        let (mut exponentials, mut normals, mut wrong) = (0, 0, 0);
        for _ in 0..1000 {
            let gaps: Vec<f64> = (0..100).map(|_| -(1.0 - stream.uniform()).ln()).collect();
            let values: Vec<f64> = (0..100).map(|_| stream.normal()).collect();
            exponentials +=
                usize::from(exponential(&gaps).unwrap().exponential_rejected_at().is_some_and(|l| l <= 0.05));
            normals += usize::from(normal(&values).unwrap().normal_p_value() < 0.05);
            wrong += usize::from(normal(&gaps).unwrap().normal_p_value() < 0.05);
        }
        assert!((30..75).contains(&exponentials) && (30..75).contains(&normals), "{exponentials} {normals}");
        assert!(wrong > 990, "{wrong}");
    }

    proptest! {
        #[test]
        fn order_and_scale_do_not_matter(mut gaps in prop::collection::vec(0.001f64..10.0, 8..40), scale in 0.01f64..100.0) {
            let a = exponential(&gaps).unwrap().statistic;
            gaps.reverse();
            let scaled: Vec<f64> = gaps.iter().map(|g| g * scale).collect();
            prop_assert!((exponential(&scaled).unwrap().statistic - a).abs() < 1e-6 * a.abs().max(1.0));
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..20)) {
            for found in [exponential(&values), normal(&values)].into_iter().flatten() {
                prop_assert!(found.statistic.is_finite() && (0.0..=1.0).contains(&found.normal_p_value()));
            }
        }
    }
}
