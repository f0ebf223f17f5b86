//! Histograms of one trial as one: merged counts and their quantiles.

use crate::order::Quantile;

/// Counts per value, merged from any number of histograms whose buckets have
/// the same bounds. Percentiles are never averaged: counts are added first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// The value, ascending, and how many are at most it.
    steps: Vec<(u64, u64)>,
}

impl Merged {
    /// From (value, count) of all histograms, in any order; counts of 0 are left out.
    ///
    /// Source: Tene's HdrHistogram (2012) and every histogram of fixed
    /// buckets: the merged one is the one that would have been recorded together.
    pub fn of(counts: impl IntoIterator<Item = (u64, u64)>) -> Merged {
        let mut all: Vec<(u64, u64)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        all.sort_unstable();
        let mut steps: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        for (value, count) in all {
            match steps.last_mut() {
                Some((last, up_to)) if *last == value => *up_to = up_to.saturating_add(count),
                last => {
                    let below = last.map_or(0, |(_, up_to)| *up_to);
                    steps.push((value, below.saturating_add(count)));
                }
            }
        }
        Merged { steps }
    }

    /// How many values.
    pub fn len(&self) -> u64 {
        self.steps.last().map_or(0, |(_, up_to)| *up_to)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The value at the rank (from 1); `None` outside 1 to [`Merged::len`].
    pub fn at(&self, rank: u64) -> Option<u64> {
        let step = self.steps.partition_point(|(_, up_to)| *up_to < rank);
        self.steps.get(step).filter(|_| rank > 0).map(|(value, _)| *value)
    }

    /// The quantile as the value at rank `⌈nq⌉`, one that occurred; `None` of nothing.
    ///
    /// Source: Hyndman & Fan (1996), *Sample quantiles in statistical
    /// packages*, The American Statistician 50(4), type 1.
    pub fn quantile(&self, quantile: Quantile) -> Option<u64> {
        self.at(quantile.rank(self.len())?)
    }

    /// How many values exceed this one.
    pub fn above(&self, value: u64) -> u64 {
        let step = self.steps.partition_point(|(v, _)| *v <= value);
        self.len() - step.checked_sub(1).map_or(0, |last| self.steps[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merged_is_as_if_recorded_together(parts in prop::collection::vec(prop::collection::vec((0u64..50, 0u64..4), 0..12), 0..6), q in 0u32..=1000) {
            let mut slow: Vec<u64> = parts.iter().flatten()
                .flat_map(|(v, n)| std::iter::repeat_n(*v, usize::try_from(*n).unwrap())).collect();
            slow.sort_unstable();
            let merged = Merged::of(parts.into_iter().flatten());
            let q = Quantile::new(f64::from(q) / 1000.0).unwrap();
            prop_assert_eq!(merged.len() as usize, slow.len());
            prop_assert_eq!(merged.is_empty(), slow.is_empty());
            let expected = q.rank(slow.len() as u64).map(|rank| slow[rank as usize - 1]);
            prop_assert_eq!(merged.quantile(q), expected);
            for value in 0..52 {
                prop_assert_eq!(merged.above(value) as usize, slow.iter().filter(|v| **v > value).count());
            }
            prop_assert_eq!((merged.at(0), merged.at(merged.len() + 1)), (None, None));
        }

        #[test]
        fn counts_beyond_an_integer_do_not_panic(counts in prop::collection::vec((0u64..3, (u64::MAX - 5)..=u64::MAX), 0..5)) {
            let merged = Merged::of(counts);
            let _ = merged.quantile(Quantile::new(0.99).unwrap());
        }
    }
}
