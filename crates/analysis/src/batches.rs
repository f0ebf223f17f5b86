//! The window's 100 ms bins, merged into equal batches.

use prony_load::measurement::{BIN_NS, Bin};

/// A contiguous part of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Batch {
    /// From the window's start to this batch's start.
    pub(crate) start_ns: u64,
    /// From the window's start to this batch's end.
    pub(crate) end_ns: u64,
    /// The bins' sums.
    pub(crate) sum: Bin,
}

#[expect(clippy::cast_precision_loss, reason = "a window of a day is 8.64e13 ns, exact in an f64")]
impl Batch {
    /// Its length in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// Its middle, in seconds from the window's start.
    pub(crate) fn middle_s(&self) -> f64 {
        (self.start_ns + self.end_ns) as f64 / 2e9
    }

    /// Completed requests per second.
    pub(crate) fn rate_per_s(&self) -> f64 {
        self.sum.completed as f64 / self.seconds()
    }
}

/// The bins in `count` contiguous batches whose numbers of bins differ by one
/// at most. The last bin may be shorter than the others. Empty when there
/// are fewer bins than batches.
pub(crate) fn merge(bins: &[Bin], window_ns: u64, count: usize) -> Vec<Batch> {
    let bins = &bins[..bins.len().min(usize::try_from(window_ns.div_ceil(BIN_NS)).unwrap_or(usize::MAX))];
    if count == 0 || bins.len() < count {
        return Vec::new();
    }
    let edge = |bin: usize| (bin as u64 * BIN_NS).min(window_ns);
    (0..count)
        .map(|i| {
            let (from, to) = (i * bins.len() / count, (i + 1) * bins.len() / count);
            let mut sum = Bin::default();
            for bin in &bins[from..to] {
                sum.completed += bin.completed;
                sum.failed += bin.failed;
                sum.dispatched += bin.dispatched;
                sum.connection_wait_sum_ns =
                    sum.connection_wait_sum_ns.saturating_add(bin.connection_wait_sum_ns);
            }
            Batch { start_ns: edge(from), end_ns: edge(to), sum }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_bin_may_be_short() {
        let bins = [Bin { completed: 10, ..Bin::default() }; 5];
        let batches = merge(&bins, 450_000_000, 5);
        assert_eq!(batches[4].seconds(), 0.05);
        assert_eq!(batches[4].rate_per_s(), 200.0);
        assert!(merge(&bins, 450_000_000, 6).is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_counted_twice(counts in prop::collection::vec(0u64..1000, 1..300), count in 1usize..40, cut in 0u64..BIN_NS) {
            let bins: Vec<Bin> = counts.iter().map(|c| Bin { completed: *c, ..Bin::default() }).collect();
            let window_ns = bins.len() as u64 * BIN_NS - cut;
            let batches = merge(&bins, window_ns, count);
            prop_assert_eq!(batches.is_empty(), bins.len() < count);
            if !batches.is_empty() {
                prop_assert_eq!(batches.iter().map(|b| b.sum.completed).sum::<u64>(), counts.iter().sum::<u64>());
                prop_assert_eq!((batches[0].start_ns, batches[count - 1].end_ns), (0, window_ns));
                prop_assert!(batches.windows(2).all(|w| w[0].end_ns == w[1].start_ns));
            }
        }
    }
}
