//! Whether two are alike enough: equivalence by two one-sided tests.

use crate::error::{Result, StatsError, checked, positive};
use crate::interval::{mean, variance};
use crate::real;
use crate::student::t_p_value;

/// The p-value of "the mean lies outside ±`margin`", by two one-sided t tests
/// (the larger of theirs): small where values (log ratios of blocks) are
/// surely within the margin. At 0.05 it rejects exactly where the 90 % t interval lies inside.
///
/// Source: Schuirmann (1987), *A comparison of the two one-sided tests
/// procedure and the power approach*, J. Pharmacokinetics and
/// Biopharmaceutics 15(6).
///
/// # Errors
/// Under 2 values, one that is not finite, a margin that is not above 0.
pub fn equivalence_p_value(values: &[f64], margin: f64) -> Result<f64> {
    positive("a margin", margin)?;
    checked(values, 2)?;
    let n = real(values.len());
    let centre = mean(values).ok_or(StatsError::Overflow)?;
    let error = (variance(values).ok_or(StatsError::Overflow)? / n).sqrt();
    // How far inside its nearer end the mean lies decides.
    let inside = margin - centre.abs();
    if error < f64::EPSILON * margin {
        return Ok(if inside > 0.0 { 0.0 } else { 1.0 });
    }
    let two_sided = t_p_value(inside / error, n - 1.0).ok_or(StatsError::Overflow)?;
    Ok(if inside > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::mean_interval;
    use proptest::prelude::*;

    #[test]
    fn equal_values_inside_are_certain() {
        assert_eq!(equivalence_p_value(&[0.01; 3], 0.02), Ok(0.0));
        assert_eq!(equivalence_p_value(&[0.02; 3], 0.02), Ok(1.0));
        assert!(equivalence_p_value(&[0.01], 0.02).is_err());
        assert!(equivalence_p_value(&[0.01, 0.02], 0.0).is_err());
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_90_percent_interval(values in prop::collection::vec(-1.0f64..1.0, 2..20), margin in 0.05f64..2.0) {
            let p = equivalence_p_value(&values, margin).unwrap();
            let i = mean_interval(&values, 0.90).unwrap();
            // Not at the very edge, where rounding decides.
            prop_assume!((margin - i.high).abs() > 1e-6 && (margin + i.low).abs() > 1e-6);
            prop_assert_eq!(p < 0.05, i.low > -margin && i.high < margin);
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..9), margin in any::<f64>()) {
            if let Ok(p) = equivalence_p_value(&values, margin) { prop_assert!((0.0..=1.0).contains(&p)); }
        }
    }
}
