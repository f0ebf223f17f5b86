//! How many blocks it takes to find a difference, and to decide.

use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use crate::moderated::{pairs, prior_of_pair};
use crate::real;
use crate::student::{memo, t_error};

/// No plan asks for more blocks: beyond it the answer is "not with this noise".
pub(crate) const BLOCKS_MAX: usize = 1_000;

/// The chance that a two-sided t test at `error` on `degrees` of freedom finds a true mean log ratio over n blocks, on
/// either side. Source: the non-central t of Johnson & Welch (1940), *Applications of the non-central t-distribution*,
/// Biometrika 31, as its mixture `∫ Φ(δ√n/σ − t√(u/f)) dχ²_f(u)`, by Simpson's rule. `None` of a `sd` not above 0, a
/// difference not finite, an error outside 0 to 1, without a degree.
pub fn power(n: usize, difference: f64, sd: f64, degrees: f64, error: f64) -> Option<f64> {
    let t = t_error(degrees, error).filter(|_| sd > 0.0 && sd.is_finite() && difference.is_finite())?;
    let shift = shift(n, difference, sd);
    Some(over_chi(degrees, |r| beyond(shift, t * r)).clamp(0.0, 1.0))
}

/// [`power()`] of one of so many candidates' pairs, all tested at `error` together ([`crate::moderated::Pairs`]).
pub fn power_of_pair(n: usize, difference: f64, sd: f64, candidates: usize, error: f64) -> Option<f64> {
    let degrees = real(n) - 1.0;
    let all = degrees + prior_of_pair(candidates, degrees, error);
    power(n, difference, sd, all, error / pairs(candidates))
}

/// Found in `wanted` of runs, of a pair among so many candidates. `None` as [`power()`]; and where no number finds it
/// or `BLOCKS_MAX` are not enough.
pub fn blocks_to_find(difference: f64, sd: f64, candidates: usize, error: f64, wanted: f64) -> Option<usize> {
    let found = |n| power_of_pair(n, difference, sd, candidates, error).is_some_and(|found| found >= wanted);
    fewest(found).filter(|_| difference != 0.0)
}

/// The smallest difference of a pair that n blocks find in `wanted` of runs. `None` as [`power()`], and beyond a factor
/// of e⁹.
pub fn smallest_found(n: usize, sd: f64, candidates: usize, error: f64, wanted: f64) -> Option<f64> {
    let found = |d: f64| power_of_pair(n, d, sd, candidates, error).is_some_and(|found| found >= wanted);
    let (mut low, mut high) = (0.0, 9.0);
    if !found(high) {
        return None;
    }
    while high - low > 1e-6 {
        let middle = f64::midpoint(low, high);
        *(if found(middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// The fewest blocks that decide in `wanted` of runs: found by the two-sided test, or shown to be within ±`margin` by
/// two one-sided ones, each at `error`. A block's standard deviation is one of `sds`, all as probable. Source: Phillips
/// (1990), *Power of the two one-sided tests procedure in bioequivalence*, J. Pharmacokinetics and Biopharmaceutics
/// 18(2). `None` where one of `sds` is not above 0, and where `BLOCKS_MAX` are not enough.
pub fn blocks_to_decide(difference: f64, margin: f64, sds: &[f64], error: f64, wanted: f64) -> Option<usize> {
    let decided = |n: usize, sd: f64| {
        let degrees = real(n) - 1.0;
        let (shift, margin) = (shift(n, difference, sd), shift(n, margin, sd));
        let (differs, within) = (t_error(degrees, error)?, t_error(degrees, 2.0 * error)?);
        Some(over_chi(degrees, |r| {
            if (differs + within) * r < margin {
                return 1.0;
            }
            let room = (margin - within * r).max(0.0);
            beyond(shift, differs * r) + 1.0 - beyond(shift, room)
        }))
    };
    let chance = |n: usize| sds.iter().map(|sd| decided(n, *sd)).sum::<Option<f64>>();
    let possible = !sds.is_empty() && sds.iter().all(|sd| *sd > 0.0 && sd.is_finite());
    fewest(|n| chance(n).is_some_and(|sum| sum >= wanted * real(sds.len()))).filter(|_| possible)
}

/// What a true standard deviation may be: seven of equal probability, at χ²'s quantiles of 1/14, 3/14, … 13/14. Source:
/// O'Hagan, Stevens & Campbell (2005), *Assurance in clinical trial design*, Pharmaceutical Statistics 4(3).
pub fn plausible_sds(sd: f64, degrees: f64) -> Vec<f64> {
    let Ok(chi) = ChiSquared::new(degrees) else { return Vec::new() };
    let quantile = |i: usize| {
        let p = (real(i) - 0.5) / 7.0;
        memo([degrees, p, f64::INFINITY, f64::INFINITY], || Some(chi.inverse_cdf(p)))
    };
    (1..=7).filter_map(quantile).map(|quantile| sd * (degrees / quantile).sqrt()).collect()
}

/// A difference in standard errors of the mean of n blocks. Beyond 1e6 everything is found, and floats stay tame.
fn shift(n: usize, difference: f64, sd: f64) -> f64 {
    (difference.abs() / sd * real(n).sqrt()).min(1e6)
}

/// The chance that a normal value about `shift` is further than `limit` from 0.
fn beyond(shift: f64, limit: f64) -> f64 {
    normal_below(shift - limit) + normal_below(-shift - limit)
}

/// The least n from 2 for which `enough` holds, which it does for all above.
fn fewest(enough: impl Fn(usize) -> bool) -> Option<usize> {
    if !enough(BLOCKS_MAX) {
        return None;
    }
    let (mut low, mut high) = (2, BLOCKS_MAX);
    while low < high {
        let middle = usize::midpoint(low, high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

fn normal_below(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

/// The mean of `of(r)` where `r = √(χ²_ν/ν)`: Simpson's rule over 400 steps,
/// ten standard deviations about r's middle (r ≈ 1 ± 1/√(2ν); for few degrees from 0).
fn over_chi(degrees: f64, of: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 400;
    let spread = 10.0 / (2.0 * degrees).sqrt();
    let (from, to) = ((1.0 - spread).max(0.0), 1.0 + spread);
    let step = (to - from) / real(STEPS);
    let half = degrees / 2.0;
    let constant = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let density = |r: f64| {
        if r <= 0.0 {
            // One degree has its density's top at 0, all others nothing there.
            return if degrees <= 1.0 { constant.exp() } else { 0.0 };
        }
        (constant + (degrees - 1.0) * r.ln() - half * r * r).exp()
    };
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let r = from + step * real(i);
            let weight = if i == 0 || i == STEPS { 1.0 } else { real(2 + 2 * (i % 2)) };
            weight * density(r) * of(r)
        })
        .sum();
    sum * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use crate::interval::{mean_interval, variance};
    use crate::moderated::Difference;
    use proptest::prelude::*;

    #[test]
    fn power_is_the_share_of_simulated_runs_that_find_it() {
        let mut stream = Stream(12);
        let found = (0..4000).filter(|_| {
            let values: Vec<f64> = (0..6).map(|_| 0.05 + 0.0424 * stream.normal()).collect();
            let i = mean_interval(&values, 0.95).unwrap();
            i.low > 0.0 || i.high < 0.0
        });
        let (seen, said) = (found.count() as f64 / 4000.0, power(6, 0.05, 0.0424, 5.0, 0.05).unwrap());
        assert!((seen - said).abs() < 0.025, "{seen} seen, {said} said");
    }

    #[test]
    fn the_blocks_that_decide_are_those_of_the_specification() {
        // σ known, 4.24 %; δ 2 %, a 5 %.
        let of = |share: f64| blocks_to_decide(share.ln_1p(), 0.02f64.ln_1p(), &[0.042_426], 0.05, 0.8);
        assert_eq!([0.0, 0.01, 0.021, 0.03, 0.05].map(of), [38, 47, 32, 19, 9].map(Some));
    }

    #[test]
    fn blocks_forecast_from_few_decide_in_four_of_five_runs() {
        // The forecast is made from six blocks' spread, and judged on fresh ones.
        let mut stream = Stream(21);
        for difference in [0.0, 0.01, 0.03] {
            let decided = (0..1000).filter(|_| {
                let mut draw =
                    |n: usize| -> Vec<f64> { (0..n).map(|_| difference + 0.03 * stream.normal()).collect() };
                let sd = variance(&draw(6)).unwrap().sqrt();
                let n = blocks_to_decide(difference, 0.02, &plausible_sds(sd, 5.0), 0.05, 0.8).unwrap();
                let after = Difference::of(&draw(n)).unwrap();
                after.differs(0.05) || after.is_within(0.02, 0.05)
            });
            let share = decided.count();
            assert!((740..920).contains(&share), "{difference}: {share} of 1000");
        }
    }

    #[test]
    fn the_smallest_difference_is_what_so_many_blocks_find() {
        for candidates in [2, 9] {
            let smallest = smallest_found(12, 0.0424, candidates, 0.035, 0.8).unwrap();
            assert_eq!(blocks_to_find(smallest, 0.0424, candidates, 0.035, 0.8), Some(12));
        }
    }

    #[test]
    fn no_noise_needs_two_blocks_and_too_much_has_no_number() {
        assert_eq!(blocks_to_find(1e-9, 1.0, 2, 0.05, 0.8), None);
        assert_eq!((blocks_to_find(0.0, 1.0, 2, 0.05, 0.8), power(1, 0.1, 0.1, 0.0, 0.05)), (None, None));
        assert_eq!(
            (blocks_to_decide(0.0, 0.02, &[], 0.05, 0.8), smallest_found(1, 1.0, 2, 0.05, 0.8)),
            (None, None)
        );
    }

    proptest! {
        #[test]
        fn one_block_fewer_would_not_be_enough(sd in 0.001f64..0.2, width in 0.005f64..0.2, wanted in 0.5f64..0.95) {
            let found = |n: usize| power(n, width, sd, real(n) - 1.0, 0.05).unwrap();
            if let Some(n) = blocks_to_find(width, sd, 2, 0.05, wanted) {
                prop_assert!(found(n) >= wanted && (n == 2 || found(n - 1) < wanted));
            }
        }

        #[test]
        fn any_power_is_a_probability_or_none(n in any::<usize>(), a in any::<f64>(), b in any::<f64>(), c in any::<f64>()) {
            prop_assert!(power(n, a, b, 3.0, c).is_none_or(|found| (0.0..=1.0).contains(&found)));
            let _ = (blocks_to_find(a, b, 2, c, 0.8), blocks_to_decide(a, b, &[c], 0.05, 0.8));
        }
    }
}
