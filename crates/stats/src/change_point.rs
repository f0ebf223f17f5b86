//! One step in a series: where it is, how high, and how surely.

use crate::batch::effective_size;
use crate::interval::mean;
use crate::{real, usable};

/// The most values: all places of the step are tried, each in linear time.
pub(crate) const VALUES_MAX: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub at: usize,
    pub before: f64,
    pub after: f64,
    /// The difference's standard error, for a step at this place: from the residuals, widened for what neighbours
    /// share.
    pub error: f64,
}

/// The two levels that leave the least squares, with at least `least` values (2 or more) on either side. The place is
/// chosen by the data, so that the difference is somewhat too large without a step: ask for a margin beside its error.
/// Source: Hinkley (1970), *Inference about the change-point in a sequence of random variables*, Biometrika 57(1).
/// `None` of fewer values than twice `least`, over `VALUES_MAX`, or when one is not finite.
pub fn step(values: &[f64], least: usize) -> Option<Step> {
    let least = least.max(2);
    if !usable(values, least.saturating_mul(2)) || values.len() > VALUES_MAX {
        return None;
    }
    let mut best: Option<(f64, usize, f64, f64)> = None;
    for at in least..=values.len() - least {
        let (head, tail) = values.split_at(at);
        let (before, after) = (mean(head)?, mean(tail)?);
        let squares = head.iter().map(|v| (v - before).powi(2)).sum::<f64>()
            + tail.iter().map(|v| (v - after).powi(2)).sum::<f64>();
        if best.is_none_or(|(least_squares, ..)| squares < least_squares) {
            best = Some((squares, at, before, after));
        }
    }
    let (squares, at, before, after) = best?;
    let residuals: Vec<f64> =
        values.iter().enumerate().map(|(i, v)| v - if i < at { before } else { after }).collect();
    let n = real(values.len());
    // Few values have no effective size: they count as they are.
    let share = effective_size(&residuals).map_or(1.0, |effective| effective / n);
    let variance = squares / (n - 2.0);
    let error = (variance / share * (1.0 / real(at) + 1.0 / (n - real(at)))).sqrt();
    error.is_finite().then_some(Step { at, before, after, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn a_step_is_found_where_it_is() {
        let values: Vec<f64> =
            (0..20).map(|i| if i < 12 { 80.0 } else { 100.0 } + f64::from(i % 2)).collect();
        let found = step(&values, 4).unwrap();
        assert_eq!((found.at, found.before, found.after), (12, 80.5, 100.5));
        assert!(found.error < 0.5, "{found:?}");
        assert_eq!(step(&[1.0; 7], 4), None);
    }

    #[test]
    fn values_that_resemble_their_neighbours_have_a_larger_error() {
        let mut stream = Stream(41);
        let mut errors =
            |phi: f64| (0..200).map(|_| step(&stream.chain(phi, 60), 4).unwrap().error).sum::<f64>();
        let (alone, chained) = (errors(0.0), errors(0.8));
        assert!(chained > 1.2 * alone, "{chained} against {alone}");
    }

    proptest! {
        #[test]
        fn the_step_minimises_the_squared_deviations(values in prop::collection::vec(-10.0f64..10.0, 6..25)) {
            let found = step(&values, 3).unwrap();
            let squares = |at: usize| {
                [&values[..at], &values[at..]].iter().map(|part| {
                    let centre = part.iter().sum::<f64>() / part.len() as f64;
                    part.iter().map(|v| (v - centre).powi(2)).sum::<f64>()
                }).sum::<f64>()
            };
            for at in 3..=values.len() - 3 {
                prop_assert!(squares(found.at) <= squares(at) + 1e-9);
            }
        }

        #[test]
        fn any_values_have_a_finite_error_or_no_step(values in prop::collection::vec(any::<f64>(), 0..12), least in 0usize..8) {
            prop_assert!(step(&values, least).is_none_or(|found| found.error.is_finite()));
        }
    }
}
