//! Where a warm-up ends: MSER-5.

use crate::interval::mean;
use crate::real;

/// Observations per batch, the 5 of MSER-5.
pub(crate) const BATCH: usize = 5;

/// How many leading observations to leave out so that the mean of the rest is
/// known best; `None` when there are under 10 batches, or when the best cut
/// lies beyond half of them: then the warm-up is not over.
///
/// The cut d (in batches of five) minimises `Σ_{j>d} (Z_j − Z̄_d)² / (m − d)²`.
///
/// Source: White, Cobb & Spratt (2000), *A comparison of five steady-state
/// truncation heuristics for simulation*, WSC; the half is their rule that a
/// cut in the second half means that the run is too short. It can fail on
/// queues (Wang & Glynn (2016), TOMACS 27(1)): treat it as a hint.
pub fn warm_up_end(observations: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = observations.chunks_exact(BATCH).filter_map(mean).collect();
    let m = batches.len();
    if m < 10 || m * BATCH + BATCH <= observations.len() {
        return None; // too few, or one was not finite
    }
    // From the end, with running sums about the last value: `Σ(Z−Z̄)² = Σ(Z−c)² − (Σ(Z−c))²/k`.
    let centre = mean(&batches)?;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for d in (0..m).rev() {
        let z = batches[d] - centre;
        sum += z;
        squares += z * z;
        let kept = real(m - d);
        let statistic = (squares - sum * sum / kept).max(0.0) / (kept * kept);
        // The last few batches may agree by chance: at least five are kept.
        if m - d >= 5 && statistic <= best.0 {
            best = (statistic, d);
        }
    }
    (best.1 * 2 <= m).then_some(best.1 * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    /// The definition, slowly.
    fn slow(observations: &[f64]) -> Option<usize> {
        let z: Vec<f64> = observations.chunks_exact(5).map(|c| c.iter().sum::<f64>() / 5.0).collect();
        let m = z.len();
        let statistic = |d: usize| {
            let rest = &z[d..];
            let centre = rest.iter().sum::<f64>() / rest.len() as f64;
            rest.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
        };
        let best = (0..=m - 5).min_by(|a, b| statistic(*a).total_cmp(&statistic(*b)))?;
        (best * 2 <= m).then_some(best * 5)
    }

    #[test]
    fn the_warm_up_ends_where_a_ramp_does() {
        let mut stream = Stream(5);
        let values: Vec<f64> =
            (0..300).map(|i| if i < 50 { f64::from(i) * 2.0 } else { 100.0 } + stream.normal()).collect();
        let end = warm_up_end(&values).unwrap();
        assert!((40..=60).contains(&end), "{end}");
    }

    #[test]
    fn a_series_that_never_settles_has_no_end_of_its_warm_up() {
        let values: Vec<f64> = (0..300).map(|i| f64::from(i).powi(2)).collect();
        assert_eq!(warm_up_end(&values), None);
        assert_eq!(warm_up_end(&[1.0; 20]), None);
        assert_eq!(warm_up_end(&[f64::NAN; 100]), None);
        assert_eq!(warm_up_end(&[1.0; 100]), Some(0));
    }

    proptest! {
        #[test]
        fn the_end_is_that_of_the_slow_definition(values in prop::collection::vec(0.0f64..100.0, 50..200)) {
            prop_assert_eq!(warm_up_end(&values), slow(&values));
        }
    }
}
