//! How surely a window knows a figure, by a few long parts of it, each for itself. Long parts are nearly independent,
//! and Student's t pays for there being few.

use crate::batch::lag1_autocorrelation;
use crate::interval::mean;
use crate::real;
use crate::student::t_two_sided;

/// Few, so that each is long; t on four degrees of freedom is a third wider in the median than the normal interval of a
/// known variance.
pub const PARTS: usize = 5;

/// By the figures of the parts: `t(B − 1)·√(Σ(xᵢ − x)²/(B − 1)/B)`; `None` below two, or when one is not finite.
/// Source: Ibragimov & Müller (2010), *t-statistic based correlation and heterogeneity robust inference*, JBES 28(4),
/// for few groups, whatever the dependence within them. About the whole's figure and not the parts' mean, since
/// estimates of parts are biased where they are not linear: sectioning (Asmussen & Glynn (2007), *Stochastic
/// Simulation*, III.5a; Nakayama (2014), ACM TOMACS 24(4), for quantiles).
pub fn half_width(parts: &[f64], whole: f64, confidence: f64) -> Option<f64> {
    let count = real(parts.len());
    let t = t_two_sided(count - 1.0, confidence)?;
    let squares: f64 = parts.iter().map(|part| (part - whole).powi(2)).sum();
    Some(t * (squares / (count - 1.0) / count).sqrt()).filter(|half| half.is_finite())
}

/// With fewer steps than this no memory is told: four a part.
const STEPS_MIN: usize = 4 * PARTS;

/// Beyond it the sums below have no end.
const RHO_MAX: f64 = 0.98;

/// A first-order memory: steps that are k apart correlate by ρᵏ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Autocorrelation {
    rho: f64,
    steps: f64,
}

impl Autocorrelation {
    /// From values in a row, many to a part: their lag-1 autocorrelation where it is beyond chance (2/√n), corrected
    /// for its bias (Marriott & Pope (1954), Biometrika 41), plus its standard error √((1 − ρ²)/n) (Box & Jenkins
    /// (1970), *Time Series Analysis*, 7.2): too short a memory does more harm than too long a one. None below 20
    /// values, or where one is not finite.
    pub fn estimate(steps: &[f64]) -> Autocorrelation {
        let n = real(steps.len());
        let lag1 = lag1_autocorrelation(steps).filter(|r| steps.len() >= STEPS_MIN && *r > 2.0 / n.sqrt());
        let Some(lag1) = lag1 else { return Autocorrelation::default() };
        let rho = ((n * lag1 + 1.0) / (n - 4.0)).clamp(0.0, RHO_MAX);
        Autocorrelation { rho: (rho + ((1.0 - rho * rho) / n).sqrt()).min(RHO_MAX), steps: n }
    }

    /// By what [`half_width`] of so many equal parts is too narrow where neighbours share what is remembered. With the
    /// correlation r of neighbouring means of m steps, which falls by d = ρᵐ a part, the mean's variance is I = 1 +
    /// 2Σ(1 − l/B)·r·dˡ⁻¹ times that of independent ones, and what the parts deviate by shows (B − I)/(B − 1) of it
    /// (sums of ρᵏ over two batches and over one: Law (2015), *Simulation Modeling and Analysis*, 4.4 and 9.5.3).
    pub fn widening(self, parts: usize) -> f64 {
        let (rho, count) = (self.rho, real(parts));
        if rho <= 0.0 || parts < 2 {
            return 1.0;
        }
        let m = (self.steps / count).max(1.0);
        let left = rho.powf(m);
        let between = rho * ((1.0 - left) / (1.0 - rho)).powi(2);
        let within = m * (1.0 + rho) / (1.0 - rho) - 2.0 * rho * (1.0 - left) / (1.0 - rho).powi(2);
        let (mut grown, mut correlation) = (1.0, between / within);
        for lag in 1..parts {
            grown += 2.0 * (1.0 - real(lag) / count) * correlation;
            correlation *= left;
        }
        (grown * (count - 1.0) / (count - grown)).sqrt()
    }
}

/// The means of so many contiguous runs whose lengths differ by one at most; the values themselves where they are no
/// more.
pub fn means(values: &[f64], count: usize) -> Vec<f64> {
    let count = count.min(values.len());
    (0..count)
        .filter_map(|i| mean(&values[i * values.len() / count..(i + 1) * values.len() / count]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn half_widths_are_those_by_hand() {
        // t(0.975; 4) = 2.776445; deviations −2 … 2: 10/4/5 = 0.5.
        let parts = [8.0, 9.0, 10.0, 11.0, 12.0];
        assert!((half_width(&parts, 10.0, 0.95).unwrap() - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-5);
        // About a whole that is not their mean: 5 more squares of 1.
        assert!((half_width(&parts, 11.0, 0.95).unwrap() - 2.776_445 * 0.75f64.sqrt()).abs() < 1e-5);
        assert_eq!(half_width(&[1.0], 1.0, 0.95), None);
        assert_eq!(half_width(&[1.0, f64::NAN], 1.0, 0.95), None);
        assert_eq!(means(&[1.0, 3.0, 5.0, 6.0, 7.0], 2), [2.0, 6.0]);
        assert_eq!(means(&[1.0, 3.0], 5), [1.0, 3.0]);
    }

    #[test]
    fn five_parts_cover_in_93_percent_with_memory_to_a_tenth() {
        // A hundred steps, whose 1/e time is 0, 1.4, 4.5 and 9.5 of them.
        let mut stream = Stream(7);
        for phi in [0.0, 0.5, 0.8, 0.9] {
            let covered = (0..2_000).filter(|_| {
                let steps = stream.chain(phi, 100);
                let whole = mean(&steps).unwrap();
                let half = half_width(&means(&steps, PARTS), whole, 0.95).unwrap()
                    * Autocorrelation::estimate(&steps).widening(PARTS);
                (whole - 100.0).abs() <= half
            });
            let covered = covered.count();
            assert!(covered >= 1_860, "phi {phi}: {covered} of 2,000");
        }
    }

    #[test]
    fn few_equal_or_unsound_steps_have_no_memory() {
        assert_eq!(Autocorrelation::estimate(&[1.0; 19]), Autocorrelation::default());
        assert_eq!(Autocorrelation::estimate(&[1.0; 100]).widening(5), 1.0);
        assert_eq!(Autocorrelation::estimate(&[f64::NAN; 30]).widening(5), 1.0);
    }

    /// The definition, slowly: the variance of the mean of B means of m steps, over what their deviations show of it.
    fn slow(rho: f64, m: i32, parts: i32) -> f64 {
        let over = |a: i32, b: i32| -> f64 {
            (0..m).flat_map(|i| (0..m).map(move |j| rho.powi((a * m + i - b * m - j).abs()))).sum()
        };
        let all = |f: &dyn Fn(i32) -> f64| (0..parts).map(f).sum::<f64>() / f64::from(parts);
        let of_mean = all(&|a| all(&|b| over(a, b)));
        let shown = (all(&|a| over(a, a)) - of_mean) * f64::from(parts) / f64::from(parts - 1);
        (of_mean / (shown / f64::from(parts))).sqrt()
    }

    proptest! {
        #[test]
        fn widening_is_the_sum_over_all_steps(rho in 0.01f64..0.95, m in 1i32..15, parts in 3i32..6) {
            let found = Autocorrelation { rho, steps: f64::from(m * parts) }.widening(usize::try_from(parts).unwrap());
            let expected = slow(rho, m, parts);
            prop_assert!((found - expected).abs() < 1e-6 * expected, "{found} against {expected}");
        }

        #[test]
        fn any_widening_is_finite_and_at_least_one(values in prop::collection::vec(any::<f64>(), 0..60), parts in 0usize..6) {
            let widening = Autocorrelation::estimate(&values).widening(parts);
            prop_assert!(widening >= 1.0 && widening.is_finite());
        }
    }
}
