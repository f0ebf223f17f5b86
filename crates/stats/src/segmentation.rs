//! Where the level of a series changes, as somebody finds it who looks after each new value. At each look, each place
//! to cut what came since the last change is held to the pooled t statistic: Worsley (1979), *On the likelihood ratio
//! test for a shift in location of normal populations*, JASA 74(366). It is divided by √((1 + φ)/(1 − φ)), so that
//! neighbours that correlate by φ = 0.3 do not make a step, and its p-value is multiplied by the number of cuts
//! (Bonferroni). No chance enters.

use crate::interval::{Interval, mean, variance};
use crate::student::{t_p_value, t_two_sided};
use crate::{real, usable};

/// The most values: a look at each takes linear time.
pub const VALUES_MAX: usize = 1_000;
/// The fewest values with an answer: four on either side.
pub const VALUES_MIN: usize = 2 * SIDE_MIN;
/// The fewest values on a side of a cut: of fewer, two levels that values take in turn look like a step.
const SIDE_MIN: usize = 4;
/// (1 + φ)/(1 − φ) at φ = 0.3: by so much the variance of a long mean is larger where neighbours correlate so.
const DEPENDENCE: f64 = 1.3 / 0.7;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value after it, from 0.
    pub at: usize,
    /// The p-value of the cut that found it, for all cuts of its look together.
    pub p: f64,
}

/// The steps of a series; `level` is a look's. At 0.7 % a series without any of up to 60 values has one named at any
/// look in under 5 % where values are independent or take two levels by chance, in under 8 % where neighbours correlate
/// by 0.3. `None` outside of [`VALUES_MIN`] to [`VALUES_MAX`] values, of one not finite, or a level outside 0 to 1.
pub fn change_points(values: &[f64], level: f64) -> Option<Vec<ChangePoint>> {
    if !usable(values, VALUES_MIN) || values.len() > VALUES_MAX || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let sums = Sums::of(values);
    let mut found: Vec<ChangePoint> = Vec::new();
    for to in VALUES_MIN..=values.len() {
        let from = found.last().map_or(0, |change| change.at);
        let Some((at, t)) = sums.best_cut(from, to) else { continue };
        let cuts = real(to - from + 1 - VALUES_MIN);
        let p = t_p_value(t / DEPENDENCE.sqrt(), real(to - from) - 2.0).unwrap_or(1.0) * cuts;
        if p <= level {
            found.push(ChangePoint { at, p });
        }
    }
    Some(placed(found, &sums, values.len()))
}

/// Each step where the two segments beside it fit best: the look that showed it saw few values after it.
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

/// How far the mean of `after` is above, with the two-sample t interval of pooled variance (Jain (1991), *The Art of
/// Computer Systems Performance Analysis*, 13.4.2); of a cut chosen by the same values the true confidence is lower.
/// `None` below two values on a side, or when one is not finite.
pub fn step(before: &[f64], after: &[f64], confidence: f64) -> Option<Interval> {
    let degrees = real(before.len() + after.len()) - 2.0;
    let spread = |side: &[f64]| Some(variance(side)? * (real(side.len()) - 1.0));
    let pooled = (spread(before)? + spread(after)?) / degrees;
    let half = t_two_sided(degrees, confidence)?
        * (pooled * (1.0 / real(before.len()) + 1.0 / real(after.len()))).sqrt();
    let point = mean(after)? - mean(before)?;
    Some(Interval { point, low: point - half, high: point + half, n: before.len() + after.len() })
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
        change_points(values, 0.007).unwrap().iter().map(|c| c.at).collect()
    }

    #[test]
    fn change_points_are_found_where_they_are() {
        assert_eq!(at(&series(&[(12, 0.0), (12, 8.0)], 1.0, 1)), [12]);
        assert_eq!(at(&series(&[(12, 0.0), (9, -9.0), (15, 0.0)], 1.0, 2)), [12, 21], "a dip and back");
        assert_eq!(at(&series(&[(10, 0.0), (10, 9.0), (10, 18.0), (10, 3.0)], 1.0, 3)), [10, 20, 30]);
        assert_eq!(at(&[1.0, 1.01, 1.005, 1.0, 2.0, 2.01, 2.0, 2.005]), [4], "eight values can be enough");
        assert_eq!(at(&[5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 6.0]), [4], "without any spread");
    }

    #[test]
    fn equal_values_and_a_single_outlier_have_no_step() {
        assert_eq!(at(&[7.0; 20]), Vec::<usize>::new());
        assert_eq!(at(&[1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0]), Vec::<usize>::new(), "an outlier");
    }

    #[test]
    fn series_without_a_step_have_one_named_as_rarely_as_promised() {
        let mut stream = Stream(77);
        let mut two_level = |_: usize| -> Vec<f64> {
            (0..60).map(|_| stream.normal() * 0.3 + if stream.uniform() < 0.5 { 0.0 } else { 3.0 }).collect()
        };
        let levels: Vec<Vec<f64>> = (0..1_000).map(&mut two_level).collect();
        let chains = |phi: f64| {
            let mut stream = Stream(78);
            (0..1_000).map(|_| stream.chain(phi, 60)).collect::<Vec<_>>()
        };
        for (all, most) in [(chains(0.0), 50), (chains(0.3), 80), (levels, 50)] {
            let named = all.iter().filter(|values| !at(values).is_empty()).count();
            assert!(named <= most, "{named} of 1000, {most} at most");
        }
    }

    #[test]
    fn a_step_of_three_deviations_is_seen_within_eight_values() {
        let seen = (0..500).filter(|seed| !at(&series(&[(20, 0.0), (8, 3.0)], 1.0, 1000 + seed)).is_empty());
        let seen = seen.count();
        assert!(seen >= 450, "{seen} of 500");
    }

    /// The definition, slowly: the smallest p-value of all cuts of these values, for all of them.
    fn slow_p(values: &[f64]) -> f64 {
        let t = |at: usize| {
            let (left, right) = values.split_at(at);
            let i = step(left, right, 0.95).unwrap();
            let degrees = values.len() as f64 - 2.0;
            let error = (i.high - i.point) / t_two_sided(degrees, 0.95).unwrap();
            t_p_value(i.point / error / 1.857f64.sqrt(), degrees).unwrap()
        };
        (4..=values.len() - 4).map(t).fold(1.0, f64::min) * (values.len() - 7) as f64
    }

    #[test]
    fn the_first_look_to_name_a_step_is_the_slow_definitions() {
        let mut first = 0;
        for seed in 0..100 {
            let values = series(&[(9, 0.0), (9, 4.0)], 1.0, seed);
            let slow = (8..=18).map(|n| slow_p(&values[..n])).find(|p| *p <= 0.007);
            let found = change_points(&values, 0.007).unwrap().first().map(|c| c.p);
            assert_eq!(slow.is_some(), found.is_some(), "seed {seed}");
            if let (Some(slow), Some(found)) = (slow, found) {
                assert!((slow - found).abs() < 0.01 * slow, "{slow} {found}");
                first += 1;
            }
        }
        assert!(first > 50, "{first}");
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
        assert_eq!(change_points(&[1.0; 7], 0.05), None);
        assert_eq!(change_points(&[1.0; VALUES_MAX + 1], 0.05), None);
        assert_eq!(change_points(&[1.0; 9], 0.0), None);
        assert_eq!(change_points(&[1.0, 1.0, f64::NAN, 1.0, 1.0, 1.0, 1.0, 1.0], 0.05), None);
        assert!(change_points(&[f64::MAX, f64::MIN, 1.0, f64::MAX, f64::MIN, 0.0, 1.0, 2.0], 0.05).is_some());
    }

    proptest! {
        #[test]
        fn change_points_do_not_depend_on_the_unit_or_an_offset(
            values in prop::collection::vec(-10.0f64..10.0, 8..40), shift in -100.0f64..100.0, factor in 0.1f64..10.0,
        ) {
            let moved: Vec<f64> = values.iter().map(|v| v * factor + shift).collect();
            prop_assert_eq!(at(&values), at(&moved));
        }

        #[test]
        fn change_points_are_in_order_and_within_the_series(values in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 5.0]), 8..60)) {
            let found = change_points(&values, 0.5).unwrap();
            prop_assert!(found.windows(2).all(|pair| pair[0].at < pair[1].at));
            prop_assert!(found.iter().all(|c| c.at >= 1 && c.at < values.len() && c.p <= 0.5 && c.p >= 0.0));
        }
    }
}
