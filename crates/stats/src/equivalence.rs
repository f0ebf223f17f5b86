//! Whether two are alike enough: equivalence by two one-sided tests.

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
/// `None` under 2 values, when one is not finite, or of a margin that is not above 0.
pub fn equivalence_p_value(values: &[f64], margin: f64) -> Option<f64> {
    let n = real(values.len());
    let centre = mean(values).filter(|_| margin > 0.0 && margin.is_finite())?;
    let error = (variance(values)? / n).sqrt();
    // How far inside its nearer end the mean lies decides.
    let inside = margin - centre.abs();
    if error < f64::EPSILON * margin {
        return Some(if inside > 0.0 { 0.0 } else { 1.0 });
    }
    let two_sided = t_p_value(inside / error, n - 1.0)?;
    Some(if inside > 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::mean_interval;
    use proptest::prelude::*;

    #[test]
    fn equal_values_are_certainly_inside_or_outside_the_margin() {
        assert_eq!(equivalence_p_value(&[0.01; 3], 0.02), Some(0.0));
        assert_eq!(equivalence_p_value(&[0.02; 3], 0.02), Some(1.0));
        assert_eq!(equivalence_p_value(&[0.01], 0.02), None);
        assert_eq!(equivalence_p_value(&[0.01, 0.02], 0.0), None);
    }

    proptest! {
        #[test]
        fn it_rejects_where_the_90_percent_interval_lies_inside(values in prop::collection::vec(-1.0f64..1.0, 2..20), margin in 0.05f64..2.0) {
            let p = equivalence_p_value(&values, margin).unwrap();
            let i = mean_interval(&values, 0.90).unwrap();
            // Not at the very edge, where rounding decides.
            prop_assume!((margin - i.high).abs() > 1e-6 && (margin + i.low).abs() > 1e-6);
            prop_assert_eq!(p < 0.05, i.low > -margin && i.high < margin);
        }

        #[test]
        fn any_values_have_a_probability_or_none(values in prop::collection::vec(any::<f64>(), 0..9), margin in any::<f64>()) {
            prop_assert!(equivalence_p_value(&values, margin).is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
    }
}
