//! Quantiles of samples and their distribution-free intervals, as ranks.
//!
//! Ranks are 1-based: rank 1 is the smallest value, rank n the largest.

use crate::student::normal_two_sided;

const MILLION: u64 = 1_000_000;

/// A quantile, exact to a millionth: ranks are integers, and in floats
/// 0.07 × 100 is more than 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile {
    millionths: u64,
}

impl Quantile {
    /// A quantile from 0 to 1, rounded to a millionth; `None` outside.
    pub fn new(quantile: f64) -> Option<Quantile> {
        if !(0.0..=1.0).contains(&quantile) {
            return None;
        }
        let millionths = (quantile * 1e6).round() as u64;
        Some(Quantile { millionths })
    }

    /// The quantile as a fraction.
    pub fn fraction(self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// The quantile's rank among `n` values: the least k with k/n ≥ q, and at
    /// least 1; `None` of nothing.
    ///
    /// Source: the inverse of the empirical distribution function; Hyndman &
    /// Fan (1996), *Sample quantiles in statistical packages*, type 1. It is
    /// always a value that occurred.
    pub fn rank(self, n: u64) -> Option<u64> {
        let scaled = (u128::from(n) * u128::from(self.millionths)).div_ceil(u128::from(MILLION));
        (n > 0).then(|| u64::try_from(scaled).unwrap_or(n).max(1))
    }

    /// Whether at least `beyond` of `n` values are expected beyond it: `n(1 − q) ≥ beyond`, exactly.
    pub fn has_beyond(self, n: u64, beyond: u64) -> bool {
        u128::from(n) * u128::from(MILLION - self.millionths) >= u128::from(beyond) * u128::from(MILLION)
    }

    /// How many values are expected beyond it: `n(1 − q)`.
    pub fn beyond(self, n: u64) -> f64 {
        n as f64 * ((MILLION - self.millionths) as f64) / 1e6
    }
}

/// The ranks (j, k) whose values enclose the quantile with at least
/// `confidence`, whatever the distribution: `P(j ≤ Bin(n, q) ≤ k − 1) ≥
/// confidence`, with at most half the error on either side. Of few values
/// (below 6 for the median, 368 for p99 at 95 %) rank 0 is below and rank n + 1 above all of them, where no value
/// bounds the quantile on that side. `None` of nothing, and of the extremes.
///
/// Source: Le Boudec (2010), *Performance Evaluation of Computer and
/// Communication Systems*, theorem 2.1 and its normal approximation
/// `j = ⌊nq − η√(nq(1−q))⌋, k = ⌈nq + η√(nq(1−q))⌉ + 1`, used where more than
/// [`EXACT_MAX`] values are expected on the quantile's shorter side. The values
/// must be independent: hand in an effective n where they are not.
pub fn interval_ranks(n: u64, quantile: Quantile, confidence: f64) -> Option<(u64, u64)> {
    let q = quantile.fraction();
    if n == 0 || q <= 0.0 || q >= 1.0 || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    if q > 0.5 {
        // The q-quantile of X is the (1−q)-quantile of −X, whose ranks count from the other end.
        let (j, k) = lower_half_ranks(n, 1.0 - q, confidence);
        return Some((n + 1 - k, n + 1 - j));
    }
    Some(lower_half_ranks(n, q, confidence))
}

/// Up to this many values expected on the shorter side, ranks are exact; the
/// first term of the sum, above e⁻⁵⁵⁵, still is a normal float.
pub const EXACT_MAX: f64 = 400.0;

fn lower_half_ranks(n: u64, q: f64, confidence: f64) -> (u64, u64) {
    if n as f64 * q <= EXACT_MAX {
        exact_ranks(n, q, (1.0 - confidence) / 2.0)
    } else {
        normal_ranks(n as f64, q, confidence)
    }
}

/// The largest j with P(B ≤ j−1) ≤ tail and the smallest k with P(B ≤ k−1) ≥ 1 − tail.
fn exact_ranks(n: u64, q: f64, tail: f64) -> (u64, u64) {
    let odds = q / (1.0 - q);
    let mut mass = (n as f64 * (-q).ln_1p()).exp(); // P(B = 0)
    let mut below = 0.0; // P(B ≤ i − 1)
    let mut j = 0;
    for i in 0..=n {
        below += mass; // P(B ≤ i)
        if below <= tail {
            j = i + 1;
        }
        if below >= 1.0 - tail {
            return (j, i + 1);
        }
        mass *= (n - i) as f64 / (i + 1) as f64 * odds;
    }
    (j, n + 1)
}

/// Of nq > 400, so that 0 < nq ± 2√nq < 2^53.
fn normal_ranks(n: f64, q: f64, confidence: f64) -> (u64, u64) {
    let spread = normal_two_sided(confidence) * (n * q * (1.0 - q)).sqrt();
    ((n * q - spread).floor() as u64, (n * q + spread).ceil() as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::function::gamma::ln_gamma;

    fn q(quantile: f64) -> Quantile {
        Quantile::new(quantile).unwrap()
    }

    /// At 95 %, where a value bounds the quantile on both sides.
    fn closed_ranks(n: u64, quantile: Quantile) -> Option<(u64, u64)> {
        interval_ranks(n, quantile, 0.95).filter(|(j, k)| *j >= 1 && *k <= n)
    }

    /// The definition, slowly: by logarithms of factorials.
    fn binomial_mass(n: u64, p: f64, from: u64, to: u64) -> f64 {
        let term = |i: u64| {
            let (n, i) = (n as f64, i as f64);
            (ln_gamma(n + 1.0) - ln_gamma(i + 1.0) - ln_gamma(n - i + 1.0)
                + i * p.ln()
                + (n - i) * (-p).ln_1p())
            .exp()
        };
        (from..=to).map(term).sum()
    }

    #[test]
    fn few_values_bound_a_quantile_on_one_side() {
        // By the sums of the binomial distribution, in rational numbers.
        for (n, quantile, ranks) in
            [(40, 0.99, (38, 41)), (100, 0.99, (97, 101)), (367, 0.99, (359, 368)), (5, 0.5, (0, 6))]
        {
            assert_eq!(interval_ranks(n, q(quantile), 0.95), Some(ranks), "{n} {quantile}");
        }
        assert_eq!(interval_ranks(0, q(0.5), 0.95), None);
    }

    #[test]
    fn medians_agree_with_the_printed_table() {
        // Le Boudec (2010), table A.1 (95 % intervals of the median): n, j, k.
        for (n, j, k) in
            [(6, 1, 6), (8, 1, 8), (10, 2, 9), (12, 3, 10), (15, 4, 12), (20, 6, 15), (30, 10, 21)]
        {
            assert_eq!(closed_ranks(n, q(0.5)), Some((j, k)), "n = {n}");
        }
        assert_eq!(closed_ranks(5, q(0.5)), None, "no interval at 95 % below six values");
    }

    #[test]
    fn p99_needs_368_values() {
        // 0.99ⁿ ≤ 0.025 from n = 368 on.
        assert_eq!(closed_ranks(367, q(0.99)), None);
        let (j, k) = closed_ranks(368, q(0.99)).unwrap();
        assert!(j < 365 && k == 368, "{j} {k}");
    }

    #[test]
    fn ranks_are_exact_where_a_product_of_floats_is_not() {
        assert_eq!(q(0.07).rank(100), Some(7));
        assert_eq!(q(0.9).rank(1000), Some(900));
        assert_eq!(q(0.9999).rank(10_000), Some(9_999));
        assert_eq!(q(0.0).rank(10), Some(1));
        assert_eq!(q(1.0).rank(10), Some(10));
        assert_eq!(q(0.5).rank(0), None);
        assert!(q(0.9).has_beyond(1000, 100) && !q(0.9).has_beyond(999, 100));
        assert!(Quantile::new(1.1).is_none() && Quantile::new(f64::NAN).is_none());
    }

    #[test]
    fn the_approximation_continues_the_exact_ranks() {
        for quantile in [0.01, 0.1, 0.5] {
            let n = (EXACT_MAX / quantile) as u64;
            let (j, k) = exact_ranks(n, quantile, 0.025);
            let (aj, ak) = normal_ranks(n as f64, quantile, 0.95);
            assert!(j.abs_diff(aj) <= 3 && k.abs_diff(ak) <= 3, "{quantile}: {j} {k}, {aj} {ak}");
        }
    }

    proptest! {
        #[test]
        fn rank_is_the_least_that_reaches_the_quantile(millionths in 0u64..=1_000_000, n in 1u64..5_000) {
            let rank = Quantile { millionths }.rank(n).unwrap();
            prop_assert!(rank * 1_000_000 >= n * millionths);
            prop_assert!(rank == 1 || (rank - 1) * 1_000_000 < n * millionths);
        }

        #[test]
        fn ranks_cover_in_95_percent_and_no_narrower_ones_would(n in 6u64..700, quantile in 0.05f64..0.95) {
            let quantile = q(quantile);
            let p = quantile.fraction();
            if let Some((j, k)) = closed_ranks(n, quantile) {
                prop_assert!(1 <= j && j < k && k <= n);
                prop_assert!(binomial_mass(n, p, j, k - 1) >= 0.95 - 1e-9);
                prop_assert!(binomial_mass(n, p, 0, j) > 0.025 - 1e-9, "j could be larger");
                prop_assert!(binomial_mass(n, p, k - 1, n) > 0.025 - 1e-9, "k could be smaller");
            } else {
                prop_assert!((1.0 - p).powf(n as f64) > 0.025 - 1e-9 || p.powf(n as f64) > 0.025 - 1e-9);
            }
        }

        #[test]
        fn large_samples_keep_their_coverage(n in 20_000u64..200_000, quantile in 0.03f64..0.97) {
            let quantile = q(quantile);
            let (j, k) = closed_ranks(n, quantile).unwrap();
            let covered = binomial_mass(n, quantile.fraction(), j, k - 1);
            prop_assert!((0.949..0.965).contains(&covered), "{}", covered);
        }
    }
}
