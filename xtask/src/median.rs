//! Medians of what was measured several times.

use prony_stats::order::Quantile;
use serde::Serialize;

/// A median with its order-statistic interval at 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    /// `None` below six values, where no two of them are 95 % sure to enclose the median.
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) n: usize,
}

impl Estimate {
    /// Of these values; `None` of nothing.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Estimate> {
        values.sort_by(f64::total_cmp);
        let n = values.len() as u64;
        let half = Quantile::new(0.5)?;
        let at = |rank: u64| values.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
        let low = rank_below(n);
        let interval = at(low).zip(at((n + 1).saturating_sub(low))).filter(|_| low > 0);
        Some(Estimate { median: at(half.rank(n)?)?, interval, n: values.len() })
    }
}

/// The largest rank j whose value is above the median in 2.5 % at most: P(Bin(n, ½) ≤ j − 1) ≤ 2.5 %, for some hundreds of
/// values. Le Boudec (2010), *Performance Evaluation of Computer and Communication Systems*, theorem 2.1.
fn rank_below(n: u64) -> u64 {
    let tail = (1.0 - prony_stats::CONFIDENCE) / 2.0;
    let mut mass = 0.5f64.powf(trials(n));
    let (mut below, mut rank) = (mass, 0);
    while below <= tail && rank < n {
        rank += 1;
        mass *= trials(n - rank + 1) / trials(rank);
        below += mass;
    }
    rank
}

#[expect(clippy::cast_precision_loss, reason = "a number of trials")]
fn trials(n: u64) -> f64 {
    n as f64
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
