//! The same rule for two that were not measured in common blocks.

use prony_stats::CONFIDENCE;
use prony_stats::interval::{Interval, logarithms, mean, variance};
use prony_stats::student::t_two_sided;

use super::{RatioComparison, Rule};
use crate::numbers::real_len;

/// Compares one figure of B with that of A, from the trials of each, which have no block in common:
/// Welch's interval of the difference of mean logarithms in place of the paired one, and two one-sided
/// tests with its standard error and degrees of freedom. What the machine did between both is not in
/// it; whoever prints it says so.
///
/// `ratio.n` is the smaller number of trials, and `blocks_needed` is of trials of each.
///
/// Source: Welch (1947), *The generalization of "Student's" problem when several different population
/// variances are involved*, Biometrika 34(1–2); degrees of freedom of Satterthwaite (1946), Biometrics
/// Bulletin 2(6).
///
/// `None` under two trials of either, or when a figure is not above 0.
pub(crate) fn compare_unpaired(a: &[f64], b: &[f64], rule: Rule) -> Option<RatioComparison> {
    let (a, b) = (logarithms(a)?, logarithms(b)?);
    let (var_a, var_b) = (variance(&a)?, variance(&b)?);
    let (of_a, of_b) = (var_a / real_len(a.len()), var_b / real_len(b.len()));
    let point = mean(&b)? - mean(&a)?;
    let error = (of_a + of_b).sqrt();
    let degrees = degrees(of_a, of_b, a.len(), b.len());
    let half = |confidence: f64| t_two_sided(degrees, confidence).map(|t| t * error);
    let half95 = half(CONFIDENCE)?;
    let n = a.len().min(b.len());
    let interval = Interval { point, low: point - half95, high: point + half95, n };
    // At 5 % each: where the 90 % interval lies within ±δ.
    let equivalent = point.abs() + half(2.0 * CONFIDENCE - 1.0)? < rule.margin();
    // A block more is a trial more of each, whose logarithms' difference has this deviation.
    Some(rule.decide(interval, equivalent, (var_a + var_b).sqrt()))
}

/// Satterthwaite's; that of the smaller sample where neither has any spread.
fn degrees(of_a: f64, of_b: f64, n_a: usize, n_b: usize) -> f64 {
    let least = real_len(n_a.min(n_b)) - 1.0;
    let below = of_a * of_a / (real_len(n_a) - 1.0) + of_b * of_b / (real_len(n_b) - 1.0);
    let degrees = (of_a + of_b).powi(2) / below;
    if degrees.is_finite() { degrees.max(least) } else { least }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{latency, throughput};
    use super::*;
    use crate::compare::Finding;

    #[test]
    fn the_interval_is_welchs_by_hand() {
        // Logarithms 0, 0.1, 0.2 and 1, 1.3: means 0.1 and 1.15, variances 0.01 and 0.045. By hand:
        // se² = 0.01/3 + 0.045/2 = 0.0258333, df = 0.0258333² / (0.0033333²/2 + 0.0225²/1) = 1.3039,
        // t(0.975) of which is about 7.4 (R: qt(0.975, 1.3039) is 7.41).
        let values = |logs: &[f64]| logs.iter().map(|l| l.exp()).collect::<Vec<_>>();
        let c = compare_unpaired(&values(&[0.0, 0.1, 0.2]), &values(&[1.0, 1.3]), throughput()).unwrap();
        assert!((c.ratio.point.ln() - 1.05).abs() < 1e-12);
        let half = (c.ratio.high.ln() - c.ratio.low.ln()) / 2.0;
        assert!((half / 0.160_728 - 7.41).abs() < 0.1, "{}", half / 0.160_728);
        assert_eq!((c.finding, c.ratio.n), (Finding::Inconclusive, 2));
    }

    #[test]
    fn runs_are_found_faster_slower_equivalent_or_inconclusive() {
        let a = [100.0, 100.4, 99.7, 100.1, 99.9];
        let found = |factor: f64| compare_unpaired(&a, &a.map(|v| v * factor), throughput()).unwrap().finding;
        assert_eq!(found(1.05), Finding::Faster);
        assert_eq!(found(0.95), Finding::Slower);
        assert_eq!(found(1.001), Finding::Equivalent);
        let noisy = [90.0, 110.0, 100.0];
        let c = compare_unpaired(&noisy, &noisy.map(|v| v * 1.05), throughput()).unwrap();
        assert_eq!(c.finding, Finding::Inconclusive);
        assert!(c.blocks_needed.is_some_and(|n| n > 10), "{c:?}");
        assert_eq!(compare_unpaired(&a, &a.map(|v| v * 1.2), latency()).unwrap().finding, Finding::Slower);
    }

    #[test]
    fn one_trial_or_a_figure_of_zero_is_not_compared_and_no_spread_is_certain() {
        assert_eq!(compare_unpaired(&[1.0], &[2.0, 2.0], throughput()), None);
        assert_eq!(compare_unpaired(&[1.0, 0.0], &[2.0; 2], latency()), None);
        // Without any spread it is certain.
        let same = compare_unpaired(&[1.0; 2], &[1.0; 2], throughput()).unwrap();
        assert_eq!(same.finding, Finding::Equivalent);
        assert_eq!(compare_unpaired(&[1.0; 2], &[1.1; 2], latency()).unwrap().finding, Finding::Slower);
    }

    #[test]
    fn equals_have_a_winner_in_under_five_percent() {
        let mut noise = crate::testing::noise(5);
        let mut draw = || (0.03 * noise.next().unwrap()).exp();
        let wrong = (0..2000)
            .filter(|_| {
                let a: Vec<f64> = (0..6).map(|_| draw()).collect();
                let b: Vec<f64> = (0..6).map(|_| draw()).collect();
                let c = compare_unpaired(&a, &b, throughput()).unwrap();
                matches!(c.finding, Finding::Faster | Finding::Slower)
            })
            .count();
        assert!(wrong < 100, "{wrong} of 2000 A/A comparisons named a winner");
    }
}
