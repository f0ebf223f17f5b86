//! Shares of what comes in clusters: of the requests of a start, or of a part of a window, those beyond a limit.

use crate::CONFIDENCE;
use crate::interval::Interval;
use crate::real;
use crate::student::{normal_two_sided, t_two_sided};

/// Student's t at one degree less; of one cluster the normal quantile, which takes what is in it as independent.
pub fn factor(clusters: usize) -> f64 {
    t_two_sided(real(clusters) - 1.0, CONFIDENCE).unwrap_or_else(|| normal_two_sided(CONFIDENCE))
}

/// The share of hits over clusters of (size, hits), p, with its interval p·exp(±t·se/p), where se² is n/(n − 1)·Σ(hitsᵢ
/// − p·sizeᵢ)² over the square of all sizes, and at least that of `independent` ones, p(1 − p)/`independent`. Where
/// none or all are hits, the rule of three bounds it. `None` of nothing. Source: Cochran (1977), *Sampling Techniques*,
/// 3.12, the ratio over clusters; Hanley & Lippman-Hand (1983), *If nothing goes wrong, is everything all right?*, JAMA
/// 249(13), the rule of three.
pub fn share(clusters: &[(u64, u64)], t: f64, independent: f64) -> Option<Interval> {
    let sums @ Sums { size, hits, .. } = Sums::of(clusters);
    let p = (size > 0.0).then(|| hits / size)?;
    let few = || 3.0 * (t / normal_two_sided(CONFIDENCE)).powi(2) / independent;
    let (low, high) = if hits <= 0.0 {
        (0.0, few())
    } else if hits >= size {
        (1.0 - few(), 1.0)
    } else {
        let off = (t * sums.variance(clusters, p, independent).sqrt() / p).exp();
        (p / off, p * off)
    };
    Some(Interval { point: p, low: low.max(0.0), high: high.min(1.0), n: clusters.len() })
}

struct Sums {
    /// Clusters that have members.
    n: f64,
    size: f64,
    hits: f64,
}

impl Sums {
    fn of(clusters: &[(u64, u64)]) -> Sums {
        let (mut n, mut size, mut hits) = (0.0, 0.0, 0.0);
        for (s, h) in clusters.iter().map(floats).filter(|(s, _)| *s > 0.0) {
            (n, size, hits) = (n + 1.0, size + s, hits + h);
        }
        Sums { n, size, hits }
    }

    /// se² of [`share()`].
    fn variance(&self, clusters: &[(u64, u64)], p: f64, independent: f64) -> f64 {
        let Sums { n, size, .. } = self;
        let squares: f64 = clusters.iter().map(floats).map(|(s, h)| (h - p * s).powi(2)).sum();
        let between = if *n > 1.0 { n / (n - 1.0) * squares / (size * size) } else { 0.0 };
        between.max(p * (1.0 - p) / independent)
    }
}

fn floats((size, hits): &(u64, u64)) -> (f64, f64) {
    (*size as f64, *hits as f64)
}

/// Whether the interval of [`share()`] begins above one limit and ends above another (`None`: wherever it does), where
/// that is told without its exponential: ln x > 2(x − 1)/(x + 1) of x > 1, and exp x > 1 + x. A millionth is left for
/// rounding.
pub fn is_surely_above(
    clusters: &[(u64, u64)],
    t: f64,
    independent: f64,
    (begins, ends): (Option<f64>, Option<f64>),
) -> bool {
    const ROOM: f64 = 1.0 + 1e-6;
    let sums @ Sums { size, hits, .. } = Sums::of(clusters);
    if hits <= 0.0 || hits >= size {
        return false;
    }
    let p = hits / size;
    let off = t * t * sums.variance(clusters, p, independent);
    let is_above =
        |limit: f64| p > limit * ROOM && (2.0 * (p - limit) * p).powi(2) > off * (p + limit).powi(2) * ROOM;
    // No interval ends above 1.
    let reaches =
        |limit: f64| limit < 1.0 && (p > limit || (limit > p * ROOM && off > (limit - p).powi(2) * ROOM));
    begins.is_none_or(is_above) && ends.is_none_or(reaches)
}

/// As how many independent ones the members weigh: p(1 − p) over the square of the standard error, by the lower end.
pub fn weight(share: &Interval, t: f64) -> f64 {
    ((1.0 - share.point) / share.point) / ((share.point / share.low).ln() / t).powi(2)
}

/// The share of all starts that may differ from these: with fewer of the kind, n starts have one of it in 95 %.
pub fn may_differ(starts: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE).powf(1.0 / real(starts.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn the_interval_is_cochrans_by_hand() {
        // 10, 20 and 30 of 1,000 each: p 0.02, squares 10² + 0 + 10² = 200, se² = 3/2 · 200 / 3,000² = 1/30,000;
        // t(0.975; 2) = 4.302653, and se/p = 0.288675.
        let found = share(&[(1_000, 10), (1_000, 20), (1_000, 30)], factor(3), 3_000.0).unwrap();
        let off = (4.302_653f64 * 0.288_675).exp();
        assert!((found.point - 0.02).abs() < 1e-12 && (found.high / 0.02 - off).abs() < 1e-4, "{found:?}");
        assert!((0.02 / found.low - off).abs() < 1e-4);
        assert!((weight(&found, factor(3)) - 0.02 * 0.98 * 30_000.0).abs() < 1e-6, "of independent ones");
        // Larger clusters weigh more: 10 of 1,000 and 100 of 4,000 are 110 of 5,000.
        let unlike = share(&[(1_000, 10), (4_000, 100)], 1.0, 5_000.0).unwrap();
        let error = (2.0 * 2.0 * 12.0f64.powi(2)).sqrt() / 5_000.0;
        assert!(((unlike.high / 0.022).ln() - error / 0.022).abs() < 1e-9, "{unlike:?}");
    }

    #[test]
    fn equal_clusters_are_known_just_as_well_as_independent_ones() {
        let alike = share(&[(10_000, 100); 4], 1.0, 40_000.0).unwrap();
        assert!(((alike.high / 0.01).ln() - (0.99f64 / 400.0).sqrt()).abs() < 1e-9, "{alike:?}");
        let one = share(&[(10_000, 100)], factor(1), 10_000.0).unwrap();
        assert!(((one.high / 0.01).ln() - 1.959_964 * 0.099_499).abs() < 1e-5, "{one:?}");
    }

    #[test]
    fn none_and_all_are_bounded_by_the_rule_of_three() {
        let z = factor(1);
        let ends = |clusters: &[(u64, u64)]| {
            let found = share(clusters, z, 600.0).unwrap();
            [found.low, found.point, found.high].map(|v| (v * 1e9).round() / 1e9)
        };
        assert_eq!(ends(&[(300, 0), (300, 0)]), [0.0, 0.0, 0.005]);
        assert_eq!(ends(&[(300, 300), (300, 300)]), [0.995, 1.0, 1.0]);
        assert_eq!(share(&[(0, 0)], z, 1.0), None);
        assert_eq!(share(&[], z, 1.0), None);
    }

    #[test]
    fn six_starts_leave_39_percent_open() {
        assert!((may_differ(6) - 0.393).abs() < 5e-4 && (may_differ(1) - 0.95).abs() < 1e-12);
    }

    #[test]
    fn starts_that_differ_by_chance_have_their_share_covered() {
        // Shares about 1 % that vary by a fifth between starts, 5,000 requests each.
        let mut stream = Stream(17);
        let covered = (0..2_000).filter(|_| {
            let starts: Vec<(u64, u64)> = (0..6)
                .map(|_| {
                    (5_000, (50.0 * (1.0 + 0.2 * stream.normal()) + 7.0 * stream.normal()).max(0.0) as u64)
                })
                .collect();
            let found = share(&starts, factor(6), 30_000.0).unwrap();
            found.low <= 0.01 && 0.01 <= found.high
        });
        let covered = covered.count();
        assert!(covered >= 1_860, "{covered} of 2,000");
    }

    proptest! {
        #[test]
        fn what_is_surely_above_is_above(
            clusters in prop::collection::vec((100u64..10_000, 0.0f64..1.0), 1..6),
            t in 0.001f64..13.0,
            limits in (0.0f64..1.0, 0.0f64..1.0),
            near in 0.999_999f64..1.000_001,
        ) {
            let clusters: Vec<(u64, u64)> = clusters.iter().map(|(n, p)| (*n, (*n as f64 * p * p) as u64)).collect();
            let all: u64 = clusters.iter().map(|c| c.0).sum();
            let found = share(&clusters, t, all as f64).unwrap();
            // Limits anywhere, and beside the interval's own ends.
            for (begins, ends) in [limits, (found.low * near, found.high * near), (found.low, found.high)] {
                if is_surely_above(&clusters, t, all as f64, (Some(begins), None)) {
                    prop_assert!(found.low > begins);
                }
                if is_surely_above(&clusters, t, all as f64, (None, Some(ends))) {
                    prop_assert!(found.high > ends);
                }
            }
        }

        #[test]
        fn any_share_lies_within_its_interval(clusters in prop::collection::vec((0u64..1_000, 0.0f64..1.0), 1..8)) {
            let clusters: Vec<(u64, u64)> = clusters.iter().map(|(n, p)| (*n, (*n as f64 * p) as u64)).collect();
            let all: u64 = clusters.iter().map(|c| c.0).sum();
            let found = share(&clusters, factor(clusters.len()), all as f64);
            prop_assert!(found.is_none_or(|f| 0.0 <= f.low && f.low <= f.point && f.point <= f.high && f.high <= 1.0));
        }
    }
}
