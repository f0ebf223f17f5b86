//! A test whose null is "level": KPSS. A diagnostic, and no verdict: with
//! many values it rejects drifts that matter to nobody.

use crate::dependence::long_run_variance;
use crate::error::{Result, StatsError, checked, finite};
use crate::interval::mean;
use crate::real;

/// Critical values of η for a level, and the share of level series beyond
/// them: Kwiatkowski et al. (1992), table 1.
const TABLE: [(f64, f64); 4] = [(0.347, 0.10), (0.463, 0.05), (0.574, 0.025), (0.739, 0.01)];

/// What KPSS found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kpss {
    /// η: the sum of squared partial sums over n² times the long-run variance.
    pub statistic: f64,
    /// Its p-value, interpolated in the printed table, which goes from 0.10 to
    /// 0.01: beyond its ends these are what it is at least and at most.
    pub p: f64,
}

/// The KPSS test that a series varies about a level; `lags` of the long-run
/// variance, usually [`crate::dependence::schwert_lags`].
///
/// Source: Kwiatkowski, Phillips, Schmidt & Shin (1992), *Testing the null
/// hypothesis of stationarity against the alternative of a unit root*, J.
/// Econometrics 54.
///
/// # Errors
/// Under 10 values, one that is not finite, no spread, or as many lags as values.
pub fn kpss(values: &[f64], lags: usize) -> Result<Kpss> {
    checked(values, 10)?;
    let centre = mean(values).ok_or(StatsError::Overflow)?;
    let long_run = long_run_variance(values, lags)?;
    if long_run <= 0.0 {
        return Err(StatsError::NoSpread);
    }
    let (mut partial, mut squares) = (0.0, 0.0);
    for value in values {
        partial += value - centre;
        squares += partial * partial;
    }
    let n = real(values.len());
    let statistic = finite(squares / (n * n) / long_run)?;
    Ok(Kpss { statistic, p: p_value(statistic) })
}

fn p_value(statistic: f64) -> f64 {
    let [first, .., last] = TABLE;
    if statistic <= first.0 {
        return first.1;
    }
    for pair in TABLE.windows(2) {
        let ((x1, p1), (x2, p2)) = (pair[0], pair[1]);
        if statistic <= x2 {
            return p1 + (p2 - p1) * (statistic - x1) / (x2 - x1);
        }
    }
    last.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn level_noise_passes_and_a_walk_does_not() {
        let mut stream = Stream(2);
        let level = (0..1000).filter(|_| kpss(&stream.chain(0.0, 100), 4).unwrap().p < 0.05).count();
        assert!((25..80).contains(&level), "{level} of 1000 at 5 %");
        let mut walk = 0.0;
        let walked: Vec<f64> = (0..300)
            .map(|_| {
                walk += stream.normal();
                walk
            })
            .collect();
        assert_eq!(kpss(&walked, 5).unwrap().p, 0.01);
    }

    proptest! {
        #[test]
        fn the_statistic_does_not_know_units(values in prop::collection::vec(-10.0f64..10.0, 10..40), scale in 0.1f64..100.0, shift in -50.0f64..50.0) {
            let Ok(a) = kpss(&values, 2) else { return Ok(()) };
            prop_assume!(crate::interval::variance(&values).unwrap() > 1e-3);
            let moved: Vec<f64> = values.iter().map(|v| v * scale + shift).collect();
            let b = kpss(&moved, 2).unwrap();
            prop_assert!((a.statistic - b.statistic).abs() <= 1e-6 * a.statistic.max(1.0));
        }

        #[test]
        fn nothing_panics(values in prop::collection::vec(any::<f64>(), 0..20), lags in 0usize..30) {
            if let Ok(k) = kpss(&values, lags) { prop_assert!(k.statistic.is_finite() && (0.01..=0.10).contains(&k.p)); }
        }
    }
}
