//! Quantiles of samples, as 1-based ranks.

const MILLION: u64 = 1_000_000;

/// Exact to a millionth: ranks are integers, and in floats 0.07 × 100 is more than 7.
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

    pub fn fraction(self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// The least k with k/n ≥ q, and at least 1: always a value that occurred; `None` of nothing. Source: Hyndman & Fan
    /// (1996), *Sample quantiles in statistical packages*, type 1.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn q(quantile: f64) -> Quantile {
        Quantile::new(quantile).unwrap()
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

    proptest! {
        #[test]
        fn rank_is_the_least_that_reaches_the_quantile(millionths in 0u64..=1_000_000, n in 1u64..5_000) {
            let rank = Quantile { millionths }.rank(n).unwrap();
            prop_assert!(rank * 1_000_000 >= n * millionths);
            prop_assert!(rank == 1 || (rank - 1) * 1_000_000 < n * millionths);
        }
    }
}
