//! Means with Student's t intervals: of figures, of their logarithms, of paired ratios.

use crate::real;
use crate::student::t_two_sided;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub point: f64,
    pub low: f64,
    pub high: f64,
    /// Independent pieces it rests on.
    pub n: usize,
}

impl Interval {
    /// Of logarithms: the same of what they are the logarithms of.
    pub fn exp(self) -> Interval {
        Interval { point: self.point.exp(), low: self.low.exp(), high: self.high.exp(), n: self.n }
    }
}

/// The arithmetic mean; `None` of nothing, or when it is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    (!values.is_empty()).then(|| sum / real(values.len())).filter(|m| m.is_finite())
}

/// The sample variance (denominator n − 1); `None` below two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    Some(squares / (real(values.len()) - 1.0)).filter(|v| v.is_finite())
}

/// The mean with its two-sided t interval at `confidence`: `x̄ ± t·s/√n`. `None` below two values, or when one is not
/// finite. Source: Student (1908); Jain (1991), *The Art of Computer Systems Performance Analysis*, 13.2.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len();
    let point = mean(values)?;
    let half = t_two_sided(real(n) - 1.0, confidence)? * (variance(values)? / real(n)).sqrt();
    Some(Interval { point, low: point - half, high: point + half, n })
}

/// The geometric mean: of figures that vary by factors (rates, times), as repeated runs do. `None` of nothing, or when
/// a value is not positive and finite. Source: Fleming & Wallace (1986), *How not to lie with statistics*, CACM 29(3).
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs = logarithms(values)?;
    // One value is its own mean, without the rounding of the way there and back.
    if values.len() == 1 { Some(values[0]) } else { mean(&logs).map(f64::exp) }
}

/// The geometric mean of `a/b` over pairs (one pair a block), with its t interval on log ratios: what a block does to
/// both cancels. `None` below two pairs, or when a value is not positive and finite. Source: Jain (1991), 13.4.1
/// (paired observations), on logarithms as in Kalibera & Jones (2013), *Rigorous benchmarking in reasonable time*,
/// ISMM.
pub fn paired_ratio_interval(pairs: &[(f64, f64)], confidence: f64) -> Option<Interval> {
    mean_interval(&log_ratios(pairs)?, confidence).map(Interval::exp)
}

fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    Some(logarithms(&a)?.iter().zip(logarithms(&b)?).map(|(a, b)| a - b).collect())
}

/// The logarithms of values; `None` when one is not positive and finite.
pub fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|v| (*v > 0.0 && v.is_finite()).then(|| v.ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mean_interval_is_that_of_jains_example() {
        // Jain (1991), example 13.4: differences of six workloads, mean −0.32,
        // variance 81.62, 90 % interval (−7.75, 7.11).
        let differences = [5.4 - 19.1, 16.6 - 3.5, 0.6 - 3.4, 1.4 - 2.5, 0.6 - 3.6, 7.3 - 1.7];
        let i = mean_interval(&differences, 0.90).unwrap();
        assert!((i.point + 0.32).abs() < 0.01, "{i:?}");
        assert!((variance(&differences).unwrap() - 81.62).abs() < 0.02);
        assert!((i.low + 7.75).abs() < 0.02 && (i.high - 7.11).abs() < 0.02, "{i:?}");
    }

    #[test]
    fn too_few_or_unsound_values_have_no_interval() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(paired_ratio_interval(&[(1.0, 2.0)], 0.95), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn pairing_cancels_what_a_block_does_to_both() {
        let pairs = [(200.0, 100.0), (20.2, 10.0), (1.98, 1.0), (600.0, 300.0)];
        let i = paired_ratio_interval(&pairs, 0.95).unwrap();
        assert!(i.low > 1.97 && i.high < 2.03, "{i:?}");
    }

    proptest! {
        #[test]
        fn exchanging_both_sides_inverts_the_ratio(pairs in prop::collection::vec((0.1f64..10.0, 0.1f64..10.0), 2..12)) {
            let turned: Vec<_> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let i = paired_ratio_interval(&pairs, 0.95).unwrap();
            let j = paired_ratio_interval(&turned, 0.95).unwrap();
            prop_assert!((i.point * j.point - 1.0).abs() < 1e-9);
            prop_assert!((i.low * j.high - 1.0).abs() < 1e-6);
        }
    }
}
