//! Counts of independent events, as samples of a profile are.

use crate::interval::Interval;
use crate::student::normal_two_sided;

/// A count as a float: counts of events are far below 2⁵³, where this is exact.
fn real(count: u64) -> f64 {
    count as f64
}

/// A Poisson mean's ends from one count: where (n − λ)² = z²·λ. Source: Rao (1948), the score test; Patil & Kulkarni
/// (2012), *Comparison of confidence intervals for the Poisson mean*, REVSTAT 10(2).
fn ends(count: u64, z: f64) -> (f64, f64) {
    let (centre, half) = (real(count) + z * z / 2.0, z * (real(count) + z * z / 4.0).sqrt());
    (centre - half, centre + half)
}

/// B's rate less A's, each a count of events and what one of them stands for (0 or more), with its interval at
/// `confidence`, by the ends of both. Source: Zou & Donner (2008), *Construction of confidence limits about effect
/// measures: a general approach*, Statistics in Medicine 27(10).
pub fn rate_difference(a: (u64, f64), b: (u64, f64), confidence: f64) -> Interval {
    let z = normal_two_sided(confidence);
    let rate = |(count, each): (u64, f64)| {
        let (low, high) = ends(count, z);
        (real(count) * each, low * each, high * each)
    };
    let ((a_rate, a_low, a_high), (b_rate, b_low, b_high)) = (rate(a), rate(b));
    let point = b_rate - a_rate;
    Interval {
        point,
        low: point - (b_rate - b_low).hypot(a_high - a_rate),
        high: point + (b_high - b_rate).hypot(a_rate - a_low),
        n: usize::try_from(a.0.saturating_add(b.0)).unwrap_or(usize::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: (u64, f64), b: (u64, f64)) -> Interval {
        rate_difference(a, b, 0.95)
    }

    #[test]
    fn a_difference_turns_its_sign_with_its_sides() {
        let (a, b) = ((40, 0.5), (90, 0.25));
        let (there, back) = (difference(a, b), difference(b, a));
        assert_eq!((there.point, there.n), (2.5, 130));
        assert!((there.low + back.high).abs() < 1e-12 && (there.high + back.low).abs() < 1e-12);
        let twice = difference((40, 1.0), (90, 0.5));
        assert!((twice.low - 2.0 * there.low).abs() < 1e-12, "by its unit");
        let none = difference((0, 1.0), (0, 1.0));
        assert!(none.low < -3.8 && none.high > 3.8, "three of nothing cannot be excluded: {none:?}");
    }

    /// P(n) of a Poisson mean, up to where less than 1e-12 is left.
    fn probabilities(mean: f64) -> Vec<f64> {
        let most = (mean + 12.0 * mean.sqrt() + 30.0) as u64;
        let mut p = (-mean).exp();
        (0..=most)
            .map(|n| {
                let of_n = p;
                p *= mean / real(n + 1);
                of_n
            })
            .collect()
    }

    #[test]
    fn the_interval_holds_the_true_difference_as_often_as_it_says() {
        for (a, b, each) in [(0.5, 5.0, 1.0), (3.0, 3.0, 1.0), (10.0, 60.0, 0.7), (200.0, 230.0, 1.3)] {
            let truth = b * each - a;
            let mut held = 0.0;
            for (n, p) in probabilities(a).into_iter().enumerate() {
                for (m, q) in probabilities(b).into_iter().enumerate() {
                    let found = difference((n as u64, 1.0), (m as u64, each));
                    if (found.low..=found.high).contains(&truth) {
                        held += p * q;
                    }
                }
            }
            assert!((0.935..=0.985).contains(&held), "{a} and {b}: {held}");
        }
    }
}
