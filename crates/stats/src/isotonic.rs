//! The non-decreasing curve nearest to points: isotonic regression.

use crate::error::{Result, StatsError, checked, finite};

/// The non-decreasing values nearest to `values` (in order of what they may
/// grow with, a rate say) in weighted least squares, by pooling adjacent
/// violators. Linear in their number. Weights are above 0 (counts of probes).
///
/// Source: Ayer, Brunk, Ewing, Reid & Silverman (1955), *An empirical
/// distribution function for sampling with incomplete information*, Ann. Math.
/// Statist. 26(4); Barlow, Bartholomew, Bremner & Brunk (1972), *Statistical
/// Inference under Order Restrictions*.
///
/// # Errors
/// Lists of different lengths, nothing, a value that is not finite, a weight that is not above 0.
pub fn isotonic(values: &[f64], weights: &[f64]) -> Result<Vec<f64>> {
    if values.len() != weights.len() {
        return Err(StatsError::Lengths { left: values.len(), right: weights.len() });
    }
    checked(values, 1)?;
    checked(weights, 1)?;
    if weights.iter().any(|w| *w <= 0.0) {
        return Err(StatsError::OutOfRange { what: "a weight", range: "above 0" });
    }
    // Pools of (mean, weight, length), each mean above the one before.
    let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (value, weight) in values.iter().zip(weights) {
        let mut pool = (*value, *weight, 1);
        while let Some(before) = pools.pop_if(|before| before.0 >= pool.0) {
            let heavy = before.1 + pool.1;
            // As a step from one mean to the other: it cannot leave the two.
            let mean = before.0 + (pool.0 - before.0) * (pool.1 / heavy);
            pool = (finite(mean)?, finite(heavy)?, before.2 + pool.2);
        }
        pools.push(pool);
    }
    Ok(pools.into_iter().flat_map(|(mean, _, length)| std::iter::repeat_n(mean, length)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pass_after_a_miss_is_shared_out() {
        // Probes at rising rates: share of misses.
        let fit = isotonic(&[0.0, 0.0, 1.0, 0.0, 1.0, 1.0], &[1.0; 6]).unwrap();
        assert_eq!(fit, [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]);
        assert_eq!(isotonic(&[3.0, 1.0], &[1.0, 3.0]).unwrap(), [1.5, 1.5]);
        assert_eq!(isotonic(&[], &[]), Err(StatsError::TooFew { have: 0, need: 1 }));
        assert!(isotonic(&[1.0], &[0.0]).is_err() && isotonic(&[1.0], &[]).is_err());
    }

    /// The min–max formula: `max over s ≤ i of min over t ≥ i of the mean of s..=t`.
    fn slow(values: &[f64], weights: &[f64]) -> Vec<f64> {
        let mean = |s: usize, t: usize| {
            let w: f64 = weights[s..=t].iter().sum();
            values[s..=t].iter().zip(&weights[s..=t]).map(|(v, w)| v * w).sum::<f64>() / w
        };
        let n = values.len();
        (0..n)
            .map(|i| {
                (0..=i)
                    .map(|s| (i..n).map(|t| mean(s, t)).fold(f64::INFINITY, f64::min))
                    .fold(f64::NEG_INFINITY, f64::max)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn it_is_the_min_max_formula(points in prop::collection::vec((-10.0f64..10.0, 0.1f64..5.0), 1..16)) {
            let (values, weights): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
            for (a, b) in isotonic(&values, &weights).unwrap().iter().zip(slow(&values, &weights)) {
                prop_assert!((a - b).abs() < 1e-9);
            }
        }

        #[test]
        fn nothing_panics(points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..9)) {
            let (values, weights): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
            if let Ok(fit) = isotonic(&values, &weights) {
                prop_assert!(fit.windows(2).all(|w| w[0] <= w[1]) && fit.iter().all(|v| v.is_finite()));
            }
        }
    }
}
