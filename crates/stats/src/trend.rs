//! A trend that outliers do not bend: Theil–Sen, with Sen's interval.

use crate::batch::effective_size;
use crate::interval::Interval;
use crate::real;
use crate::student::normal_two_sided;

/// The most points: 200 give 19,900 slopes, sorted in a millisecond.
pub const POINTS_MAX: usize = 200;

/// The Theil–Sen slope in y's unit per x's, the median of all pairs' slopes, with the interval that inverts Kendall's
/// test of "no trend". Exact, O(n²). `None` below four points, above [`POINTS_MAX`], when a number is not finite or all
/// x are one. Source: Theil (1950), *A rank-invariant method of linear and polynomial regression analysis*; Sen (1968),
/// *Estimates of the regression coefficient based on Kendall's tau*, JASA 63(324), section 6, with Kendall's variance
/// corrected for ties in y. The interval assumes independent residuals; batches make that nearly so.
pub fn theil_sen(points: &[(f64, f64)], confidence: f64) -> Option<Interval> {
    widened(points, confidence, 1.0)
}

/// [`theil_sen`], with an interval that is wider where neighbours resemble each other: the variance of Kendall's S
/// times n over [`crate::batch::effective_size`] of the residuals about the line. Never narrower than Sen's, below ten
/// points just as wide. Points must be in order of x, equally far apart. Source: Yue & Wang (2004), *The Mann-Kendall
/// test modified by effective sample size to detect trend in serially correlated hydrological series*, Water Resources
/// Management 18, on Hamed & Rao (1998), *A modified Mann-Kendall trend test for autocorrelated data*, J. Hydrology
/// 204.
pub fn theil_sen_dependent(points: &[(f64, f64)], confidence: f64) -> Option<Interval> {
    let plain = theil_sen(points, confidence)?;
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - plain.point * x).collect();
    let Some(effective) = effective_size(&residuals) else { return Some(plain) };
    widened(points, confidence, real(points.len()) / effective)
}

fn widened(points: &[(f64, f64)], confidence: f64, inflation: f64) -> Option<Interval> {
    let n = points.len();
    if !(4..=POINTS_MAX).contains(&n) || points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, (x1, y1)) in points.iter().enumerate() {
        for (x2, y2) in &points[i + 1..] {
            if x1 != x2 {
                slopes.push((y2 - y1) / (x2 - x1));
            }
        }
    }
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let (low, high) = interval_indices(slopes.len(), points, confidence, inflation);
    Some(Interval { point: median_of_sorted(&slopes), low: slopes[low], high: slopes[high], n })
}

pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| median_of_sorted(&sorted))
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

/// Where the ends stand among the sorted slopes, from 0: ranks `(N − C)/2` and `(N + C)/2 + 1` from 1, to the nearest.
fn interval_indices(count: usize, points: &[(f64, f64)], confidence: f64, inflation: f64) -> (usize, usize) {
    let c = normal_two_sided(confidence) * (kendall_variance(points) * inflation).sqrt();
    let last = count - 1;
    let low = ((real(count) - c) / 2.0).round() - 1.0;
    let high = ((real(count) + c) / 2.0).round();
    (low.clamp(0.0, real(last)) as usize, high.clamp(0.0, real(last)) as usize)
}

/// The variance of Kendall's S: `(n(n−1)(2n+5) − Σ t(t−1)(2t+5)) / 18` over groups of t tied y.
fn kendall_variance(points: &[(f64, f64)]) -> f64 {
    let weight = |n: usize| real(n) * (real(n) - 1.0) * (2.0 * real(n) + 5.0);
    let mut ys: Vec<f64> = points.iter().map(|(_, y)| *y).collect();
    ys.sort_by(f64::total_cmp);
    let ties: f64 = ys.chunk_by(|a, b| a == b).map(|group| weight(group.len())).sum();
    ((weight(points.len()) - ties) / 18.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_slope_and_interval_are_those_of_sens_example() {
        // Sen (1968), section 6: seven points, slope 4, 93 % interval (3.71, 4.38);
        // also the golden of SciPy's tests of `theilslopes`.
        let points =
            [(1.0, 9.0), (2.0, 15.0), (3.0, 19.0), (4.0, 20.0), (10.0, 45.0), (12.0, 55.0), (18.0, 78.0)];
        let slope = theil_sen(&points, 0.93).unwrap();
        assert!((slope.point - 4.0).abs() < 1e-12, "{slope:?}");
        assert!((slope.low - 3.71).abs() < 0.005 && (slope.high - 4.38).abs() < 0.005, "{slope:?}");
    }

    #[test]
    fn a_quarter_of_outliers_bends_the_slope_little() {
        let points: Vec<_> =
            (0..20).map(|i| (f64::from(i), if i % 4 == 1 { 1e6 } else { 2.0 * f64::from(i) })).collect();
        assert!((theil_sen(&points, 0.95).unwrap().point - 2.0).abs() < 0.5);
    }

    #[test]
    fn equal_values_have_a_slope_of_zero() {
        let points: Vec<_> = (0..20).map(|i| (f64::from(i), 7.0)).collect();
        let slope = theil_sen(&points, 0.95).unwrap();
        assert_eq!((slope.point, slope.low, slope.high), (0.0, 0.0, 0.0));
    }

    #[test]
    fn too_few_or_unsound_points_have_no_slope() {
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 0.95), None);
        assert_eq!(theil_sen(&[(0.0, 1.0); 5], 0.95), None);
        assert_eq!(theil_sen(&[(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 3.0)], 0.95), None);
        assert_eq!(theil_sen(&[(0.0, 1.0); 201], 0.95), None);
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
    }

    #[test]
    fn under_dependence_the_wider_interval_covers_more() {
        let mut stream = crate::batch::tests::Stream(31);
        for (phi, least) in [(0.0, 940), (0.4, 900), (0.6, 830)] {
            let (mut wide, mut sens) = (0, 0);
            for _ in 0..1000 {
                let noise = stream.chain(phi, 20);
                let points: Vec<_> = (0..20).map(|i| (i as f64, noise[i] + 0.3 * i as f64)).collect();
                let covers = |s: Interval| usize::from(s.low <= 0.3 && 0.3 <= s.high);
                wide += covers(theil_sen_dependent(&points, 0.95).unwrap());
                sens += covers(theil_sen(&points, 0.95).unwrap());
            }
            assert!(wide >= least && wide >= sens, "phi {phi}: {wide}, Sen's {sens} of 1000");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_slope_and_a_line_added_shifts_both(
            ys in prop::collection::vec(-100.0f64..100.0, 4..40), tilt in -5.0f64..5.0,
        ) {
            let points: Vec<_> = ys.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect();
            let tilted: Vec<_> = points.iter().map(|(x, y)| (*x, y + tilt * x)).collect();
            let (a, b) = (theil_sen(&points, 0.95).unwrap(), theil_sen(&tilted, 0.95).unwrap());
            prop_assert!(a.low <= a.point && a.point <= a.high);
            let wide = theil_sen_dependent(&points, 0.95).unwrap();
            prop_assert!(wide.low <= a.low && wide.high >= a.high && wide.point == a.point);
            prop_assert!((b.point - a.point - tilt).abs() < 1e-9);
        }
    }
}
