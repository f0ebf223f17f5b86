//! What was measured several times, or in pairs.

use prony_stats::Interval;
use prony_stats::interval::paired_ratio_interval;
use prony_stats::order::Quantile;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

/// A median with its order-statistic interval at 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    /// `None` below six values, where no two of them are 95 % sure to enclose the median.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) n: usize,
}

impl Estimate {
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Estimate> {
        values.sort_by(f64::total_cmp);
        let n = values.len() as u64;
        let half = Quantile::new(0.5)?;
        let at = |rank: u64| values.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
        let low = rank_below(n);
        let interval = at(low).zip(at((n + 1).saturating_sub(low))).filter(|_| low > 0);
        Some(Estimate { median: at(half.rank(n)?)?, interval, n: values.len() })
    }

    /// `12.3 [11.9, 12.8]`.
    pub(crate) fn shown(&self, value: impl Fn(f64) -> String) -> String {
        let point = value(self.median);
        self.interval
            .map_or(point.clone(), |(low, high)| format!("{point} [{}, {}]", value(low), value(high)))
    }
}

/// The largest rank j whose value is above the median in 2.5 % at most: P(Bin(n, ½) ≤ j − 1) ≤ 2.5 %. Le Boudec (2010), *Performance Evaluation of Computer and Communication Systems*, theorem 2.1.
fn rank_below(n: u64) -> u64 {
    let tail = (1.0 - prony_stats::CONFIDENCE) / 2.0;
    (0..n).take_while(|k| at_most(*k, n, 0.5) <= tail).count() as u64
}

/// P(X ≤ k) for X binomial of n and p.
pub(crate) fn at_most(k: u64, n: u64, p: f64) -> f64 {
    Binomial::new(p, n).map_or(f64::NAN, |binomial| binomial.cdf(k))
}

pub(crate) fn real(value: u64) -> f64 {
    value as f64
}

/// So many pairs of measurements that follow each other, each side first in turns.
pub(crate) fn pairs<T>(
    count: usize,
    mut one: impl FnMut(usize) -> Result<T, String>,
) -> Result<Vec<[T; 2]>, String> {
    let pair = |number: usize| {
        let first = number % 2;
        let (a, b) = (one(first)?, one(1 - first)?);
        Ok(if first == 0 { [a, b] } else { [b, a] })
    };
    (0..count).map(pair).collect()
}

/// The geometric mean of the second side's figures over the first's, pair by pair, with its interval at 95 %.
pub(crate) fn ratio(pairs: impl IntoIterator<Item = [f64; 2]>) -> Result<Interval, String> {
    let pairs: Vec<(f64, f64)> = pairs.into_iter().map(|[first, second]| (second, first)).collect();
    let ratio = paired_ratio_interval(&pairs, prony_stats::CONFIDENCE);
    ratio.ok_or_else(|| "an interval needs two pairs or more".to_owned())
}

/// `1.0123 (0.9876 to 1.0234)`.
pub(crate) fn shown(Interval { point, low, high, .. }: &Interval) -> String {
    format!("{point:.4} ({low:.4} to {high:.4})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_of_nine_lies_between_its_second_and_its_eighth() {
        let e = Estimate::of((1..=9).rev().map(f64::from).collect()).unwrap();
        assert_eq!((e.median, e.interval, e.n), (5.0, Some((2.0, 8.0)), 9));
        // Le Boudec (2010), table A.1.
        let ranks = [(6, 1), (8, 1), (10, 2), (12, 3), (15, 4), (20, 6), (30, 10)];
        assert!(ranks.iter().all(|(n, j)| rank_below(*n) == *j));
        assert_eq!(Estimate::of(vec![1.0; 5]).unwrap().interval, None);
        assert_eq!(Estimate::of(Vec::new()), None);
    }
}
