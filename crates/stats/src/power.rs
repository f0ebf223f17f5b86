//! How many blocks it takes: for an interval of a width, to find a difference.

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

use crate::real;
use crate::student::t_two_sided;

/// No plan asks for more blocks: beyond it the answer is "not with this noise".
pub(crate) const BLOCKS_MAX: usize = 10_000;

/// The fewest blocks whose t interval of a mean log ratio is expected to
/// reach no further than `half_width` (of the logarithm: `ln 1.02` for ±2 %),
/// where log ratios of blocks have the standard deviation `sd`:
/// `t(n−1)·sd/√n ≤ half_width`. At least 2.
///
/// Source: Jain (1991), *The Art of Computer Systems Performance Analysis*,
/// 13.9, with t for z.
///
/// `None` of a width or confidence outside its range, of a `sd` below 0, and where `BLOCKS_MAX` are not enough.
pub fn blocks_for_width(sd: f64, half_width: f64, confidence: f64) -> Option<usize> {
    let possible = sd >= 0.0 && half_width > 0.0 && half_width.is_finite() && confidence > 0.0;
    let reached = |n: usize| {
        t_two_sided(real(n) - 1.0, confidence).is_some_and(|t| t * sd / real(n).sqrt() <= half_width)
    };
    fewest(reached).filter(|_| possible)
}

/// The chance that the two-sided t test of n blocks finds a true mean log
/// ratio of `difference`, where their standard deviation is `sd`: that the
/// interval at `confidence` excludes 0, on the difference's own side or the other.
///
/// Source: the non-central t of Johnson & Welch (1940), *Applications of the
/// non-central t-distribution*, Biometrika 31; here as its mixture
/// `∫ Φ(δ√n/σ − t√(u/ν)) dχ²_ν(u)`, by Simpson's rule.
///
/// `None` under 2 blocks, over `BLOCKS_MAX`, of a `sd` that is not above 0, a
/// difference that is not finite, a confidence outside 0 to 1.
pub fn power(n: usize, difference: f64, sd: f64, confidence: f64) -> Option<f64> {
    let possible = sd > 0.0 && sd.is_finite() && difference.is_finite() && confidence > 0.0;
    let degrees = real(n) - 1.0;
    let t = t_two_sided(degrees, confidence).filter(|_| possible && n <= BLOCKS_MAX)?;
    // Beyond 1e6 standard errors it is found, and floats stay tame.
    let shift = (difference.abs() / sd * real(n).sqrt()).min(1e6);
    Some(over_chi(degrees, |r| normal_below(shift - t * r) + normal_below(-shift - t * r)).clamp(0.0, 1.0))
}

/// The fewest blocks with which a true difference is found with `power`.
///
/// Source: as [`power()`].
///
/// `None` as [`power()`]; of a difference of 0, which no number finds; where `BLOCKS_MAX` are not enough.
pub fn blocks_to_find(difference: f64, sd: f64, confidence: f64, wanted: f64) -> Option<usize> {
    let possible = difference != 0.0 && wanted > 0.0 && wanted < 1.0;
    fewest(|n| power(n, difference, sd, confidence).is_some_and(|found| found >= wanted)).filter(|_| possible)
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
    use crate::interval::mean_interval;
    use proptest::prelude::*;

    #[test]
    fn power_is_the_share_of_simulated_runs_that_find_the_difference() {
        let mut stream = Stream(12);
        let found = (0..4000).filter(|_| {
            let values: Vec<f64> = (0..6).map(|_| 0.05 + 0.0424 * stream.normal()).collect();
            let i = mean_interval(&values, 0.95).unwrap();
            i.low > 0.0 || i.high < 0.0
        });
        let (seen, said) = (found.count() as f64 / 4000.0, power(6, 0.05, 0.0424, 0.95).unwrap());
        assert!((seen - said).abs() < 0.025, "{seen} seen, {said} said");
    }

    #[test]
    fn no_noise_needs_two_blocks_and_too_much_has_no_number() {
        assert_eq!(blocks_for_width(0.0, 0.02, 0.95), Some(2));
        assert_eq!(blocks_for_width(10.0, 0.02, 0.95), None);
        assert_eq!(blocks_to_find(1e-9, 1.0, 0.95, 0.8), None);
        assert_eq!((blocks_to_find(0.0, 1.0, 0.95, 0.8), power(1, 0.1, 0.1, 0.95)), (None, None));
    }

    proptest! {
        #[test]
        fn one_block_fewer_would_not_be_enough(sd in 0.001f64..0.2, width in 0.005f64..0.2, wanted in 0.5f64..0.95) {
            let enough = |n: usize| t_two_sided(real(n) - 1.0, 0.95).unwrap() * sd / real(n).sqrt() <= width;
            if let Some(n) = blocks_for_width(sd, width, 0.95) {
                prop_assert!(enough(n) && (n == 2 || !enough(n - 1)));
            }
            if let Some(n) = blocks_to_find(width, sd, 0.95, wanted) {
                prop_assert!(power(n, width, sd, 0.95).unwrap() >= wanted);
                prop_assert!(n == 2 || power(n - 1, width, sd, 0.95).unwrap() < wanted);
            }
        }

        #[test]
        fn any_power_is_a_probability_or_none(n in any::<usize>(), a in any::<f64>(), b in any::<f64>(), c in any::<f64>()) {
            prop_assert!(power(n, a, b, c).is_none_or(|found| (0.0..=1.0).contains(&found)));
            let _ = (blocks_for_width(a, b, c), blocks_to_find(a, b, c, 0.8));
        }
    }
}
