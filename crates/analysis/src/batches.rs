//! The window's 100 ms bins, merged into equal batches.

use prony_model::measurement::{Bin, Bins, Second};

use crate::numbers::real;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Batch {
    /// From the window's start to this batch's start.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) sum: Bin,
}

impl Batch {
    pub(crate) fn seconds(&self) -> f64 {
        real(self.end_ns - self.start_ns) / 1e9
    }

    pub(crate) fn middle_s(&self) -> f64 {
        real(self.start_ns + self.end_ns) / 2e9
    }

    pub(crate) fn rate_per_s(&self) -> f64 {
        real(self.sum.completed) / self.seconds()
    }
}

/// `count` contiguous batches of bins whose numbers of whole bins differ by one at most. A shorter last bin goes with
/// the last batch: a batch of few milliseconds would be mostly noise. Empty with fewer whole bins than batches, and
/// when the window goes on beyond the bins.
pub(crate) fn merge(Bins { width_ns, each: bins }: &Bins, window_ns: u64, count: usize) -> Vec<Batch> {
    let whole = usize::try_from(window_ns / width_ns).unwrap_or(usize::MAX);
    let all = usize::try_from(window_ns.div_ceil(*width_ns)).unwrap_or(usize::MAX);
    if count == 0 || whole < count || bins.len() < all {
        return Vec::new();
    }
    let first_bin = |batch: usize| if batch == count { all } else { batch * whole / count };
    let edge = |bin: usize| (bin as u64 * width_ns).min(window_ns);
    (0..count)
        .map(|i| {
            let (from, to) = (first_bin(i), first_bin(i + 1));
            let mut sum = Bin::default();
            bins[from..to].iter().for_each(|bin| sum.add(bin));
            Batch { start_ns: edge(from), end_ns: edge(to), sum }
        })
        .collect()
}

/// The entries but for a last one of less than this share of the others' length (of a second, where there is but one).
pub(crate) fn whole_entries(series: &[Second], least: f64) -> Vec<&Second> {
    let each_ns = series.iter().map(|s| s.length_ns).max().unwrap_or(0).max(1_000_000_000);
    series.iter().filter(|s| real(s.length_ns) >= least * real(each_ns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::healthy;
    use prony_model::measurement::BIN_NS;
    use proptest::prelude::*;

    #[test]
    fn a_short_last_bin_is_part_of_the_last_batch() {
        let mut bins = [Bin { completed: 10, ..Bin::default() }; 5];
        bins[4].completed = 5;
        let bins = Bins::of(&bins);
        let batches = merge(&bins, 450_000_000, 4);
        assert_eq!(batches[3].seconds(), 0.15);
        assert_eq!(batches[3].rate_per_s(), 100.0);
        assert!(merge(&bins, 450_000_000, 5).is_empty());
    }

    #[test]
    fn a_last_entry_shorter_than_the_others_is_left_out() {
        let mut series = healthy(4, 100).series;
        let whole = |series: &[Second], least| whole_entries(series, least).len();
        assert_eq!(whole(&series, 0.9), 4);
        series[3].length_ns = 600_000_000;
        assert_eq!((whole(&series, 0.5), whole(&series, 0.9)), (4, 3));
        for entry in &mut series[..3] {
            entry.length_ns = 4_000_000_000;
        }
        series[3].length_ns = 1_900_000_000;
        assert_eq!(whole(&series, 0.5), 3);
        assert_eq!(whole(&series[3..], 0.9), 1);
        series[3].length_ns = 400_000_000;
        assert_eq!(whole(&series[3..], 0.5), 0);
    }

    #[test]
    fn a_window_that_goes_on_beyond_its_bins_has_no_batches() {
        assert!(merge(&Bins::of(&[Bin::default(); 10]), 1_100_000_000, 5).is_empty());
    }

    proptest! {
        #[test]
        fn every_bin_is_in_one_batch(counts in prop::collection::vec(0u64..1000, 1..300), count in 1usize..40, cut in 0u64..BIN_NS) {
            let bins: Vec<Bin> = counts.iter().map(|c| Bin { completed: *c, ..Bin::default() }).collect();
            let window_ns = bins.len() as u64 * BIN_NS - cut;
            let batches = merge(&Bins::of(&bins), window_ns, count);
            prop_assert_eq!(batches.is_empty(), ((window_ns / BIN_NS) as usize) < count);
            if !batches.is_empty() {
                prop_assert_eq!(batches.iter().map(|b| b.sum.completed).sum::<u64>(), counts.iter().sum::<u64>());
                prop_assert_eq!((batches[0].start_ns, batches[count - 1].end_ns), (0, window_ns));
                prop_assert!(batches.windows(2).all(|w| w[0].end_ns == w[1].start_ns));
            }
        }
    }
}
