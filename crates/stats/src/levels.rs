//! Whether a few values look as if they had two levels.

use crate::interval::mean;
use crate::{real, usable};

/// The least part of the squares that is left about two halves' means in 1 % of normal samples of n: 1 − 2/π of very
/// many (Hartigan (1978), *Asymptotic distributions for clustering criteria*, Ann. Statist. 6(1)), less 0.865/√n by
/// simulation, which says nothing too often under ten values. It is never so small under six.
fn least_left(n: f64) -> f64 {
    1.0 - std::f64::consts::FRAC_2_PI - 0.865 / n.sqrt()
}

/// How many are on the lower level, and both means, where as little is left as in one normal sample of a hundred; at
/// least two on each. `None` of one level, under six values, and where one is not finite. Source: Engelman & Hartigan
/// (1969), *Percentage points of a test for clusters*, JASA 64(328).
pub fn two_levels(values: &[f64]) -> Option<(usize, f64, f64)> {
    if !usable(values, 6) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let squares = |part: &[f64]| {
        let centre = mean(part).unwrap_or(f64::NAN);
        (centre, part.iter().map(|v| (v - centre).powi(2)).sum::<f64>())
    };
    let all = squares(&sorted).1;
    let cuts = (2..=sorted.len() - 2).map(|at| {
        let ((low, below), (high, above)) = (squares(&sorted[..at]), squares(&sorted[at..]));
        (below + above, (at, low, high))
    });
    let (left, found) = cuts.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (left < least_left(real(sorted.len())) * all).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;

    #[test]
    fn two_levels_are_seen_and_one_is_not() {
        let two = [1.0, 9.0, 1.1, 9.1, 0.9, 8.9, 9.0, 1.0];
        let (below, low, high) = two_levels(&two).unwrap();
        assert_eq!((below, (low * 1e9).round() / 1e9, (high * 1e9).round() / 1e9), (4, 1.0, 9.0));
        assert_eq!(two_levels(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), None);
        assert_eq!(two_levels(&[5.0, 5.1, 4.9, 5.0, 5.05, 4.95, 5.0, 50.0]), None, "one outlier is no level");
        assert_eq!(two_levels(&[5.0; 9]), None);
        assert_eq!(two_levels(&[1.0, 1.0, 9.0, 9.0, 9.0]), None, "five say nothing");
    }

    #[test]
    fn normal_values_seldom_look_two_level_and_two_levels_do() {
        let mut stream = Stream(19);
        for n in [6, 8, 12, 30] {
            let said = (0..4_000)
                .filter(|_| two_levels(&(0..n).map(|_| stream.normal()).collect::<Vec<_>>()).is_some())
                .count();
            assert!(said <= 60, "{said} of 4,000 samples of {n}");
        }
        // Half of the starts ten standard deviations higher.
        let mut level = || if stream.uniform() < 0.5 { 10.0 } else { 0.0 };
        let levels: Vec<f64> = (0..12_000).map(|_| level()).collect();
        let said = levels.chunks(12).filter(|part| {
            two_levels(&part.iter().map(|l| l + stream.normal()).collect::<Vec<_>>()).is_some()
        });
        let said = said.count();
        assert!(said > 900, "{said} of 1,000");
    }
}
