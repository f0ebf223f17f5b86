//! Response times between the bounds that OpenTelemetry recommends, for who exports them while a load runs.

use prony_model::histogram::{SparseHistogram, middle_ns};

/// Upper bounds in milliseconds, each included. Source: OpenTelemetry's semantic conventions, `http.client.request.duration`.
pub const BOUNDS_MS: [u64; 14] = [5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Durations {
    /// By bound, known to 0.1 %; the last are beyond all.
    pub counts: [u64; BOUNDS_MS.len() + 1],
    pub sum_ns: u64,
}

impl Durations {
    pub(crate) fn add(&mut self, histogram: &SparseHistogram) {
        for (bucket, count) in histogram.buckets() {
            let ns = middle_ns(bucket);
            self.counts[BOUNDS_MS.partition_point(|bound| bound * 1_000_000 < ns)] += count;
            self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(count));
        }
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use prony_model::histogram::bucket_of;

    use super::*;

    #[test]
    fn durations_are_counted_by_their_bounds() {
        let mut durations = Durations::default();
        let values = [1_000, 4_990_000, 5_010_000, 9_000_000_000, 11_000_000_000];
        let buckets = values.map(|ns| (bucket_of(ns), 2));
        durations.add(&SparseHistogram::from_buckets(buckets.into_iter()));
        assert_eq!(durations.counts, [4, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2]);
        assert_eq!(durations.count(), 10);
        let sum_ns = 2 * values.iter().sum::<u64>();
        assert!(durations.sum_ns.abs_diff(sum_ns) <= sum_ns / 1_000, "{durations:?}");
    }
}
