//! Where the level of a series changes: steps, found in intervals of all
//! lengths and held to one error rate over all of them.
//!
//! For each of a fixed family of intervals and each place to cut one in two,
//! the two sides' means are compared by the pooled t statistic, which is the
//! likelihood-ratio statistic of one step in normal noise: Worsley (1979), *On
//! the likelihood ratio test for a shift in location of normal populations*, JASA
//! 74(366). The intervals are the seeded ones of Kovács, Bühlmann, Li & Munk
//! (2023), *Seeded binary segmentation*, Biometrika 110(1): a few of each length,
//! n log n in all, among which every step has one that holds it and no other.
//! Whole-series cuts alone would miss a step down that is followed by one back up.
//!
//! The p-value of each cut is multiplied by the number of all cuts (Bonferroni),
//! so that a series without any step, in independent normal noise, has one
//! named with at most the level asked for. Neighbouring cuts resemble each other, so the
//! true rate is lower. No chance enters: the same series gives the same answer.

use crate::interval::{Interval, mean, variance};
use crate::student::{t_p_value, t_two_sided};
use crate::{real, usable};

/// The most values: 1,000 have some 30,000 cuts.
pub const VALUES_MAX: usize = 1_000;
/// The fewest values with an answer: two on one side, three on the other.
pub const VALUES_MIN: usize = 5;
/// The fewest values between two steps; one alone has no spread, and may be an outlier.
const SIDE_MIN: usize = 2;

/// A step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value after it, from 0.
    pub at: usize,
    /// The p-value of the cut that found it, for all cuts together.
    pub p: f64,
}

/// The steps of a series, in its order, at most `level` of false ones in a series without any.
/// `None` of fewer than [`VALUES_MIN`] or more than [`VALUES_MAX`] values, when one is not finite, and of a level
/// outside 0 to 1.
pub fn change_points(values: &[f64], level: f64) -> Option<Vec<ChangePoint>> {
    if !usable(values, VALUES_MIN) || values.len() > VALUES_MAX || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let sums = Sums::of(values);
    let intervals = seeded(values.len());
    let cuts: usize = intervals.iter().map(|(from, to)| to - from + 1 - 2 * SIDE_MIN).sum();
    let mut best: Vec<(ChangePoint, (usize, usize))> = Vec::new();
    for (from, to) in intervals {
        let Some((at, t)) = sums.best_cut(from, to) else { continue };
        let p = t_p_value(t, real(to - from) - 2.0).unwrap_or(1.0) * real(cuts);
        if p <= level {
            best.push((ChangePoint { at, p }, (from, to)));
        }
    }
    // The narrowest interval that shows a step holds no second one that would shift it (Kovács et al.,
    // after Baranowski, Chen & Fryzlewicz 2019); among equals, the surer.
    best.sort_by(|(a, i), (b, j)| (i.1 - i.0).cmp(&(j.1 - j.0)).then(a.p.total_cmp(&b.p)));
    let mut found: Vec<ChangePoint> = Vec::new();
    for (point, (from, to)) in best {
        // An interval with a step that is known already says nothing new.
        if found.iter().all(|known| known.at <= from || known.at >= to) {
            found.push(point);
        }
    }
    found.sort_by_key(|point| point.at);
    Some(placed(found, &sums, values.len()))
}

/// Each step where the two segments beside it fit best: the narrow interval that showed it saw few values.
/// Bai (1997), *Estimating multiple breaks one at a time*, Econometric Theory 13(3), repartition.
fn placed(mut found: Vec<ChangePoint>, sums: &Sums, n: usize) -> Vec<ChangePoint> {
    for i in 0..found.len() {
        let from = i.checked_sub(1).map_or(0, |before| found[before].at);
        let to = found.get(i + 1).map_or(n, |after| after.at);
        if let Some((at, _)) = sums.best_cut(from, to) {
            found[i].at = at;
        }
    }
    found
}

/// How far the mean of `after` is above that of `before`, with the two-sample t interval of pooled variance.
/// Where the cut between them was chosen by the same values, the true confidence is lower. `None` below two
/// values on a side, or when one is not finite.
///
/// Source: Jain (1991), *The Art of Computer Systems Performance Analysis*, 13.4.2, with one variance for both.
pub fn step(before: &[f64], after: &[f64], confidence: f64) -> Option<Interval> {
    let degrees = real(before.len() + after.len()) - 2.0;
    let spread = |side: &[f64]| Some(variance(side)? * (real(side.len()) - 1.0));
    let pooled = (spread(before)? + spread(after)?) / degrees;
    let half = t_two_sided(degrees, confidence)?
        * (pooled * (1.0 / real(before.len()) + 1.0 / real(after.len()))).sqrt();
    let point = mean(after)? - mean(before)?;
    Some(Interval { point, low: point - half, high: point + half, n: before.len() + after.len() })
}

/// Intervals [from, to) of at least twice [`SIDE_MIN`]: layers whose lengths shrink by √½, each of evenly
/// spread intervals that overlap by half or more.
fn seeded(n: usize) -> Vec<(usize, usize)> {
    let mut all = vec![(0, n)];
    let mut shrunk = 1.0;
    loop {
        shrunk *= std::f64::consts::FRAC_1_SQRT_2;
        let length = real(n) * shrunk;
        if length < real(2 * SIDE_MIN) - 1.0 {
            break;
        }
        let many = 2 * (1.0 / shrunk).ceil() as usize - 1;
        let shift = (real(n) - length) / real(many - 1).max(1.0);
        for i in 0..many {
            let from = (real(i) * shift).floor() as usize;
            let to = ((real(i) * shift + length).ceil() as usize).min(n);
            if to - from >= 2 * SIDE_MIN {
                all.push((from, to));
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Sums of the values before each place, about the series' mean, so that little cancels.
struct Sums {
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Sums {
        // Halves first, so that the largest of floats do not overflow.
        let scale = values.iter().fold(0.0_f64, |m, v| m.max(v.abs())).max(f64::MIN_POSITIVE);
        let centre = values.iter().map(|v| v / scale).sum::<f64>() / real(values.len());
        let (mut first, mut second) = (vec![0.0], vec![0.0]);
        let (mut a, mut b) = (0.0, 0.0);
        for v in values {
            let d = v / scale - centre;
            a += d;
            b += d * d;
            first.push(a);
            second.push(b);
        }
        Sums { first, second }
    }

    /// The cut of [from, to) with the largest |t|; infinite where the sides differ and have no spread.
    fn best_cut(&self, from: usize, to: usize) -> Option<(usize, f64)> {
        let cuts = from + SIDE_MIN..(to + 1).saturating_sub(SIDE_MIN);
        let with_t = cuts.map(|at| (at, self.t(from, at, to)));
        with_t.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, t)| *t > 0.0)
    }

    /// |t| of the difference of means between [from, at) and [at, to), with pooled variance.
    fn t(&self, from: usize, at: usize, to: usize) -> f64 {
        let side = |from: usize, to: usize| {
            let n = real(to - from);
            let sum = self.first[to] - self.first[from];
            (n, sum / n, (self.second[to] - self.second[from] - sum * sum / n).max(0.0))
        };
        let ((n, left, a), (m, right, b)) = (side(from, at), side(at, to));
        let difference = (left - right).abs();
        let error = ((a + b) / (n + m - 2.0) * (1.0 / n + 1.0 / m)).sqrt();
        // The values were scaled to 1: below 1e-12 there is rounding and nothing else.
        if difference < 1e-12 {
            0.0
        } else if error < 1e-13 {
            f64::INFINITY
        } else {
            difference / error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    /// Levels with noise: each (length, level), the noise's standard deviation being `noise`.
    fn series(parts: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut stream = Stream(seed);
        let n = parts.iter().map(|(n, _)| n).sum();
        let noisy = stream.chain(0.0, n);
        let levels = parts.iter().flat_map(|(n, level)| std::iter::repeat_n(*level, *n));
        levels.zip(noisy).map(|(level, e)| level + noise * e).collect()
    }

    fn at(values: &[f64]) -> Vec<usize> {
        change_points(values, 0.05).unwrap().iter().map(|c| c.at).collect()
    }

    #[test]
    fn change_points_are_found_where_they_are() {
        assert_eq!(at(&series(&[(12, 0.0), (12, 8.0)], 1.0, 1)), [12]);
        assert_eq!(at(&series(&[(12, 0.0), (9, -9.0), (15, 0.0)], 1.0, 2)), [12, 21], "a dip and back");
        assert_eq!(at(&series(&[(10, 0.0), (10, 9.0), (10, 18.0), (10, 3.0)], 1.0, 3)), [10, 20, 30]);
        assert_eq!(at(&[1.0, 1.01, 1.005, 2.0, 2.01]), [3], "five values can be enough");
        assert_eq!(at(&[5.0, 5.0, 5.0, 6.0, 6.0, 6.0]), [3], "without any spread");
    }

    #[test]
    fn equal_values_and_a_single_outlier_have_no_step() {
        assert_eq!(at(&[7.0; 20]), Vec::<usize>::new());
        assert_eq!(at(&[1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0]), Vec::<usize>::new(), "an outlier");
    }

    #[test]
    fn series_without_a_step_have_one_named_in_under_five_percent() {
        let mut stream = Stream(77);
        for n in [5, 8, 20, 60] {
            let named = (0..1000).filter(|_| !at(&stream.chain(0.0, n)).is_empty()).count();
            // 5 % are 50; three standard deviations of a count of 50 are 21.
            assert!(named <= 71, "{named} of 1000 with {n} values");
        }
    }

    #[test]
    fn a_clear_step_is_found_within_one_place_in_90_percent() {
        let mut near = 0;
        for seed in 0..200 {
            let found = at(&series(&[(10, 0.0), (10, 5.0)], 1.0, 1000 + seed));
            near += usize::from(found.len() == 1 && found[0].abs_diff(10) <= 1);
        }
        assert!(near >= 180, "{near} of 200");
    }

    #[test]
    fn a_step_has_the_textbook_s_interval() {
        // Means 2 and 7, each variance 1: pooled 1, error √(2/3), t₄ = 2.7764.
        let i = step(&[1.0, 2.0, 3.0], &[6.0, 7.0, 8.0], 0.95).unwrap();
        assert!(
            (i.point - 5.0).abs() < 1e-12 && (i.high - 5.0 - 2.776_445 * (2.0f64 / 3.0).sqrt()).abs() < 1e-5
        );
        assert_eq!(step(&[1.0], &[2.0, 3.0], 0.95), None);
    }

    #[test]
    fn too_few_too_many_or_unsound_values_have_no_answer() {
        assert_eq!(change_points(&[1.0; 4], 0.05), None);
        assert_eq!(change_points(&[1.0; VALUES_MAX + 1], 0.05), None);
        assert_eq!(change_points(&[1.0; 9], 0.0), None);
        assert_eq!(change_points(&[1.0, 1.0, f64::NAN, 1.0, 1.0], 0.05), None);
        assert!(change_points(&[f64::MAX, f64::MIN, 1.0, f64::MAX, f64::MIN, 0.0], 0.05).is_some());
    }

    #[test]
    fn intervals_are_few_and_of_all_lengths() {
        let all = seeded(100);
        assert!(all.len() < 300 && all.contains(&(0, 100)), "{}", all.len());
        for length in [4, 10, 25, 50] {
            let covered = |place: usize| {
                let within = |(f, t): &&(usize, usize)| *f <= place && place < *t && t - f <= length * 3 / 2;
                all.iter().any(|interval| within(&interval))
            };
            assert!((0..100).all(covered), "intervals of about {length}");
        }
        assert!(seeded(5).iter().all(|(from, to)| to - from >= 4 && *to <= 5));
    }

    proptest! {
        #[test]
        fn change_points_do_not_depend_on_the_unit_or_an_offset(
            values in prop::collection::vec(-10.0f64..10.0, 5..40), shift in -100.0f64..100.0, factor in 0.1f64..10.0,
        ) {
            let moved: Vec<f64> = values.iter().map(|v| v * factor + shift).collect();
            prop_assert_eq!(at(&values), at(&moved));
        }

        #[test]
        fn change_points_are_in_order_and_within_the_series(values in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 5.0]), 5..60)) {
            let found = change_points(&values, 0.5).unwrap();
            prop_assert!(found.windows(2).all(|pair| pair[0].at < pair[1].at));
            prop_assert!(found.iter().all(|c| c.at >= 1 && c.at < values.len() && c.p <= 0.5 && c.p >= 0.0));
        }
    }
}
