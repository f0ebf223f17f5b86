//! Methods held against their definitions, written slowly and without the
//! module's own helpers: what golden.rs holds against other implementations
//! for some values is held here for any.

#![allow(clippy::unwrap_used, reason = "a method without a value is a failed test")]

use prony_stats::{batch, hodges_lehmann, moderated, student, trend};
use proptest::prelude::*;
use statrs::function::erf::erfc;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// With denominator n.
fn spread(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / values.len() as f64
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The value that as many are below as above; of two such, what lies half way.
fn middle(values: Vec<f64>) -> f64 {
    let values = sorted(values);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// The averages of all pairs i ≤ j.
fn averages(values: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    for (i, a) in values.iter().enumerate() {
        for b in &values[i..] {
            found.push((a + b) / 2.0);
        }
    }
    found
}

/// The slopes between all pairs of points with x = 0, 1, 2 …
fn slopes(ys: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    for (j, b) in ys.iter().enumerate() {
        for (i, a) in ys[..j].iter().enumerate() {
            found.push((b - a) / (j - i) as f64);
        }
    }
    found
}

/// Kendall's S of what is left of the points about a line of this slope: pairs that rise less those that fall.
fn kendall_score(ys: &[f64], slope: f64) -> f64 {
    slopes(ys).iter().map(|found| (found - slope).signum()).sum()
}

fn points(ys: &[f64]) -> Vec<(f64, f64)> {
    ys.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect()
}

/// How probable more than t is, under Student's distribution.
fn t_above(t: f64, degrees: f64) -> f64 {
    let both = student::t_p_value(t, degrees).unwrap();
    if t > 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

proptest! {
    #[test]
    fn equivalence_is_the_larger_of_two_one_sided_tests(
        values in prop::collection::vec(-1.0f64..1.0, 2..20), margin in 0.05f64..2.0, error in 0.001f64..0.5,
    ) {
        let n = values.len() as f64;
        let spread = (spread(&values) / (n - 1.0)).sqrt();
        let p = [(mean(&values) + margin) / spread, (margin - mean(&values)) / spread];
        let p = p.map(|t| t_above(t, n - 1.0)).into_iter().fold(0.0, f64::max);
        prop_assume!(spread > 1e-6 && (p - error).abs() > 1e-6);
        let found = moderated::Difference::of(&values).unwrap().is_within(margin, error);
        prop_assert_eq!(found, p < error);
    }

    /// A variance that is w times as large is a factor √w on the normal quantile: Sen's interval of another confidence.
    #[test]
    fn dependent_slopes_are_sens_at_the_effective_confidence(
        ys in prop::collection::vec(-100.0f64..100.0, 5..40),
    ) {
        let plain = trend::theil_sen(&points(&ys), 0.95).unwrap();
        let left: Vec<f64> = ys.iter().enumerate().map(|(i, y)| y - plain.point * i as f64).collect();
        let weight = ys.len() as f64 / batch::effective_size(&left).unwrap();
        let confidence = 1.0 - erfc(student::normal_two_sided(0.95) * weight.sqrt() / std::f64::consts::SQRT_2);
        let found = trend::theil_sen_dependent(&points(&ys), 0.95).unwrap();
        prop_assert_eq!(found, trend::theil_sen(&points(&ys), confidence).unwrap());
    }

    #[test]
    fn hodges_lehmann_is_the_middle_of_all_averages(values in prop::collection::vec(-100.0f64..100.0, 1..30)) {
        let slow = middle(averages(&values));
        prop_assert!((hodges_lehmann::centre(&values).unwrap() - slow).abs() < 1e-9);
    }

    #[test]
    fn theil_sen_is_the_middle_of_all_slopes(ys in prop::collection::vec(-100.0f64..100.0, 4..40)) {
        let slope = trend::theil_sen(&points(&ys), 0.95).unwrap();
        prop_assert!((slope.point - middle(slopes(&ys))).abs() < 1e-9);
    }

    /// Every slope outside is rejected by Kendall's test, and none inside is, by more than the rounding of ranks.
    #[test]
    fn theil_sens_interval_is_the_slopes_that_kendall_accepts(
        ys in prop::collection::vec(-100.0f64..100.0, 4..25),
    ) {
        let n = ys.len() as f64;
        prop_assume!(sorted(ys.clone()).windows(2).all(|w| w[0] < w[1]));
        let critical = 1.959_963_984_540_054 * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        let found = trend::theil_sen(&points(&ys), 0.95).unwrap();
        let slopes = sorted(slopes(&ys));
        let mut between: Vec<f64> =
            slopes.windows(2).filter(|w| w[1] - w[0] > 1e-9).map(|w| (w[0] + w[1]) / 2.0).collect();
        between.extend([slopes[0] - 1.0, slopes[slopes.len() - 1] + 1.0]);
        for slope in between {
            let score = kendall_score(&ys, slope).abs();
            if found.low < slope && slope < found.high {
                prop_assert!(score <= critical + 1.0 + 1e-9, "{}: {} over {}", slope, score, critical);
            } else {
                // Where not even all pairs are enough to reject, the interval is that of all slopes.
                let all = slopes.len() as f64;
                prop_assert!(score > critical || score == all, "{}: {} under {}", slope, score, critical);
            }
        }
    }
}
