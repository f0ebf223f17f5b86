//! The window so far, for who watches a load: small enough to be copied ten times a second.

use prony_model::histogram::{Histogram, highest_ns, nearest_rank, numbered_bucket, value_of_numbered};

/// Each power of two has 2^4 buckets, so that a bucket is 3 to 6 % wide.
const BITS: u32 = 4;
/// The first bucket begins at 1.024 µs, 2^10 ns.
const FIRST: u64 = 112;
/// Buckets: 26 powers of two, to 68.7 s.
pub const COARSE_BUCKETS: usize = 416;
/// A percentile has at least so many samples beyond it, as everywhere.
const BEYOND_MIN: u64 = 100;

/// The finished seconds together: response times, failed ones ranking last (docs/decisions/0002), none still waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveSummary {
    pub completed: u64,
    pub failed: u64,
    pub p50: LivePercentile,
    pub p90: LivePercentile,
    pub p99: LivePercentile,
    pub p999: LivePercentile,
    /// The longest of the completed; `None` without any.
    pub max_ns: Option<u64>,
    pub shape: CoarseHistogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LivePercentile {
    /// Fewer than 100 samples lie beyond it.
    #[default]
    TooFew,
    /// Its rank is a failed request's.
    Failed,
    /// In nanoseconds.
    At(u64),
}

/// A histogram's outline: counts in buckets of equal width on a logarithmic scale, nearly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoarseHistogram {
    /// How many durations fell into each bucket; the first and the last also hold what lies beyond.
    pub counts: [u64; COARSE_BUCKETS],
}

impl Default for CoarseHistogram {
    fn default() -> CoarseHistogram {
        CoarseHistogram { counts: [0; COARSE_BUCKETS] }
    }
}

impl CoarseHistogram {
    pub fn of(histogram: &Histogram) -> CoarseHistogram {
        let mut shape = CoarseHistogram::default();
        for (fine, count) in histogram.buckets() {
            let bucket = numbered_bucket(highest_ns(fine), BITS).saturating_sub(FIRST);
            let bucket = usize::try_from(bucket).unwrap_or(COARSE_BUCKETS).min(COARSE_BUCKETS - 1);
            shape.counts[bucket] += count;
        }
        shape
    }

    /// How many durations are in buckets that begin at this one, in nanoseconds, or after it.
    pub fn beyond(&self, ns: u64) -> u64 {
        let bucket = (0..COARSE_BUCKETS).find(|bucket| CoarseHistogram::begins_ns(*bucket) >= ns);
        bucket.map_or(0, |bucket| self.counts[bucket..].iter().sum())
    }

    pub fn begins_ns(bucket: usize) -> u64 {
        value_of_numbered(FIRST + bucket as u64, BITS)
    }
}

impl LiveSummary {
    pub fn of(completed: &Histogram, failed: u64) -> LiveSummary {
        let total = completed.len() + failed;
        let quantile = |quantile: f64| {
            let rank = nearest_rank(quantile, total);
            if total.saturating_sub(rank) < BEYOND_MIN {
                LivePercentile::TooFew
            } else if rank > completed.len() {
                LivePercentile::Failed
            } else {
                LivePercentile::At(completed.value_at_rank(rank))
            }
        };
        LiveSummary {
            completed: completed.len(),
            failed,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max_ns: (!completed.is_empty()).then(|| completed.max()),
            shape: CoarseHistogram::of(completed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 10,000 µs, once each.
    fn ten_thousand() -> Histogram {
        let mut histogram = Histogram::default();
        (1..=10_000).for_each(|us| histogram.record(us * 1_000));
        histogram
    }

    #[test]
    fn percentiles_are_those_of_known_values() {
        let so_far = LiveSummary::of(&ten_thousand(), 0);
        let near = |quantile, us: u64| match quantile {
            LivePercentile::At(ns) => ns.abs_diff(us * 1_000) <= us, // three digits
            _ => false,
        };
        assert!(near(so_far.p50, 5_000) && near(so_far.p90, 9_000) && near(so_far.p99, 9_900), "{so_far:?}");
        // Ten lie beyond the last.
        assert_eq!((so_far.p999, so_far.completed), (LivePercentile::TooFew, 10_000));
        assert_eq!(LiveSummary::of(&Histogram::default(), 0), LiveSummary::default());
    }

    #[test]
    fn failed_requests_rank_last() {
        // A tenth and a bit failed: the median moves, the 90th percentile is a failure's.
        let so_far = LiveSummary::of(&ten_thousand(), 1_200);
        assert!(
            matches!(so_far.p50, LivePercentile::At(ns) if ns.abs_diff(5_600_000) <= 5_600),
            "{so_far:?}"
        );
        assert_eq!(
            [so_far.p90, so_far.p99, so_far.p999],
            [LivePercentile::Failed, LivePercentile::Failed, LivePercentile::TooFew]
        );
    }

    #[test]
    fn every_value_is_in_its_own_bucket_and_buckets_are_narrow() {
        for bucket in 0..COARSE_BUCKETS - 1 {
            let (begins, ends) = (CoarseHistogram::begins_ns(bucket), CoarseHistogram::begins_ns(bucket + 1));
            let width = (ends - begins) as f64 / begins as f64;
            assert!((0.03..=0.0626).contains(&width), "{bucket}: {width}");
        }
        assert_eq!(CoarseHistogram::begins_ns(0), 1_024);
        let mut histogram = Histogram::default();
        for value in [1, 500, 1_030, 6_980_000, 70_000_000_000, 3_000_000_000_000] {
            histogram.record(value);
        }
        let shape = CoarseHistogram::of(&histogram);
        assert_eq!((shape.counts[0], shape.counts[COARSE_BUCKETS - 1]), (3, 2));
        let of_seven = shape.counts[1..COARSE_BUCKETS - 1].iter().position(|n| *n == 1).unwrap() + 1;
        assert!(
            CoarseHistogram::begins_ns(of_seven) <= 6_980_000
                && 6_980_000 < CoarseHistogram::begins_ns(of_seven + 1)
        );
    }
}
