//! Medians of what was measured several times.

use prony_stats::order::{Quantile, interval_ranks};
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
        let interval = interval_ranks(n, half, prony_stats::CONFIDENCE)
            .and_then(|(low, high)| Some((at(low)?, at(high)?)));
        Some(Estimate { median: at(half.rank(n)?)?, interval, n: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_of_nine_lies_between_its_second_and_its_eighth() {
        let e = Estimate::of((1..=9).rev().map(f64::from).collect()).unwrap();
        assert_eq!((e.median, e.interval, e.n), (5.0, Some((2.0, 8.0)), 9));
        assert_eq!(Estimate::of(vec![1.0; 5]).unwrap().interval, None);
        assert_eq!(Estimate::of(Vec::new()), None);
    }
}
