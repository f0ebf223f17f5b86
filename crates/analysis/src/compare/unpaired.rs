//! The same rule for two that were not measured in common blocks.

use prony_stats::CONFIDENCE;
use prony_stats::interval::{Interval, mean, variance};
use prony_stats::student::t_two_sided;

use super::{Better, CLEAR_SHARE, CompareError, Comparison, Finding, Rule, blocks_needed};
use crate::numbers::{logs, real_len};

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
/// # Errors
/// Under two trials of either, a figure that is not above 0, a smallest difference outside 0 to 1.
pub fn compare_unpaired(a: &[f64], b: &[f64], rule: Rule) -> Result<Comparison, CompareError> {
    if !(rule.smallest > 0.0 && rule.smallest < 1.0) {
        return Err(CompareError::Smallest);
    }
    let few = CompareError::TooFewBlocks { blocks: a.len().min(b.len()) };
    let (a, b) = logs(a).zip(logs(b)).ok_or(CompareError::NotPositive)?;
    let (centre_a, centre_b) = (mean(&a).ok_or(few)?, mean(&b).ok_or(few)?);
    let (var_a, var_b) = (variance(&a).ok_or(few)?, variance(&b).ok_or(few)?);
    let (of_a, of_b) = (var_a / real_len(a.len()), var_b / real_len(b.len()));
    let point = centre_b - centre_a;
    let error = (of_a + of_b).sqrt();
    let degrees = degrees(of_a, of_b, a.len(), b.len());
    let half = |confidence: f64| t_two_sided(degrees, confidence).map(|t| t * error).ok_or(few);
    let half95 = half(CONFIDENCE)?;
    let margin = rule.margin();
    let clear = CLEAR_SHARE * margin;
    // 1e-9: a difference of δ exactly, but for rounding.
    let matters = point.abs() >= margin * (1.0 - 1e-9);
    let sure = point.abs() - half95 > clear;
    // At 5 % each: where the 90 % interval lies within ±δ.
    let within = point.abs() + half(2.0 * CONFIDENCE - 1.0)? < margin;
    let finding = match (matters && sure, within) {
        (true, _) if (point > 0.0) == (rule.better == Better::Higher) => Finding::Faster,
        (true, _) => Finding::Slower,
        (false, true) => Finding::Equivalent,
        (false, false) => Finding::Inconclusive,
    };
    // A block more is a trial more of each, whose logarithms' difference has this deviation.
    let spread = (var_a + var_b).sqrt();
    let n = a.len().min(b.len());
    let blocks_needed = (finding == Finding::Inconclusive)
        .then(|| blocks_needed(point.abs(), spread, margin))
        .flatten()
        .map(|wanted| wanted.saturating_sub(n).max(1));
    let ratio = Interval { point: point.exp(), low: (point - half95).exp(), high: (point + half95).exp(), n };
    Ok(Comparison { ratio, finding, spread, blocks_needed })
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
    use super::*;

    #[test]
    fn a_known_interval() {
        // Logarithms 0, 0.1, 0.2 and 1, 1.3: means 0.1 and 1.15, variances 0.01 and 0.045. By hand:
        // se² = 0.01/3 + 0.045/2 = 0.0258333, df = 0.0258333² / (0.0033333²/2 + 0.0225²/1) = 1.3039,
        // t(0.975) of which is about 7.4 (R: qt(0.975, 1.3039) is 7.41).
        let values = |logs: &[f64]| logs.iter().map(|l| l.exp()).collect::<Vec<_>>();
        let c = compare_unpaired(&values(&[0.0, 0.1, 0.2]), &values(&[1.0, 1.3]), Rule::THROUGHPUT).unwrap();
        assert!((c.ratio.point.ln() - 1.05).abs() < 1e-12);
        let half = (c.ratio.high.ln() - c.ratio.low.ln()) / 2.0;
        assert!((half / 0.160_728 - 7.41).abs() < 0.1, "{}", half / 0.160_728);
        assert_eq!((c.finding, c.ratio.n), (Finding::Inconclusive, 2));
    }

    #[test]
    fn the_four_findings() {
        let a = [100.0, 100.4, 99.7, 100.1, 99.9];
        let of =
            |factor: f64| compare_unpaired(&a, &a.map(|v| v * factor), Rule::THROUGHPUT).unwrap().finding;
        assert_eq!(of(1.05), Finding::Faster);
        assert_eq!(of(0.95), Finding::Slower);
        assert_eq!(of(1.001), Finding::Equivalent);
        let noisy = [90.0, 110.0, 100.0];
        let c = compare_unpaired(&noisy, &noisy.map(|v| v * 1.05), Rule::THROUGHPUT).unwrap();
        assert_eq!(c.finding, Finding::Inconclusive);
        assert!(c.blocks_needed.is_some_and(|n| n > 10), "{c:?}");
        assert_eq!(
            compare_unpaired(&a, &a.map(|v| v * 1.2), Rule::LATENCY).unwrap().finding,
            Finding::Slower
        );
    }

    #[test]
    fn what_cannot_be_compared() {
        let one = compare_unpaired(&[1.0], &[2.0, 2.0], Rule::THROUGHPUT);
        assert_eq!(one, Err(CompareError::TooFewBlocks { blocks: 1 }));
        assert_eq!(compare_unpaired(&[1.0, 0.0], &[2.0; 2], Rule::LATENCY), Err(CompareError::NotPositive));
        // Without any spread it is certain.
        let same = compare_unpaired(&[1.0; 2], &[1.0; 2], Rule::THROUGHPUT).unwrap();
        assert_eq!(same.finding, Finding::Equivalent);
        assert_eq!(compare_unpaired(&[1.0; 2], &[1.1; 2], Rule::LATENCY).unwrap().finding, Finding::Slower);
    }

    #[test]
    fn alike_is_seldom_called_different() {
        let mut noise = crate::testing::noise(5);
        let mut draw = || (0.03 * noise.next().unwrap()).exp();
        let wrong = (0..2000)
            .filter(|_| {
                let a: Vec<f64> = (0..6).map(|_| draw()).collect();
                let b: Vec<f64> = (0..6).map(|_| draw()).collect();
                let c = compare_unpaired(&a, &b, Rule::THROUGHPUT).unwrap();
                matches!(c.finding, Finding::Faster | Finding::Slower)
            })
            .count();
        assert!(wrong < 100, "{wrong} of 2000 A/A comparisons named a winner");
    }
}
