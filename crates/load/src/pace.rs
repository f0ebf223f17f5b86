//! When requests are due: pure functions from an index to an instant.
//!
//! The schedule is an absolute function of k, never a sum of sleeps: a late
//! wake-up delays one request, not all that follow.

use std::fmt;

const NS_PER_S: u128 = 1_000_000_000;
const MICRO: u128 = 1_000_000;

/// A rate of requests, exact: an integer of millionths per second, so that
/// the k-th instant is right to the nanosecond for any k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    micro_per_s: u64,
}

impl Rate {
    /// The highest rate a plan may ask for, per second.
    pub const MAX_PER_S: f64 = 1e8;

    /// A rate from requests per second; `None` unless it lies between
    /// 0.000001 and [`Rate::MAX_PER_S`].
    pub fn per_s(per_s: f64) -> Option<Rate> {
        if !(per_s > 0.0 && per_s <= Rate::MAX_PER_S) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above: 0 < per_s <= 1e8"
        )]
        let micro_per_s = (per_s * 1e6).round() as u64;
        (micro_per_s > 0).then_some(Rate { micro_per_s })
    }

    /// Requests per second.
    #[expect(clippy::cast_precision_loss, reason = "at most 1e14, exact in an f64")]
    pub fn as_per_s(self) -> f64 {
        self.micro_per_s as f64 / 1e6
    }

    /// The instant of the k-th request (from 0), in nanoseconds after the
    /// schedule's start: `k / rate`, rounded down; saturates after 584 years.
    pub fn due_ns(self, k: u64) -> u64 {
        let ns = u128::from(k) * MICRO * NS_PER_S / u128::from(self.micro_per_s);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How many requests are due strictly before `at_ns` after the schedule's
    /// start: the inverse of [`Rate::due_ns`].
    pub fn due_before(self, at_ns: u64) -> u64 {
        // due_ns(k) < at  <=>  floor(k*M/r) < at  <=>  k*M < at*r  <=>  k < at*r/M
        let scaled = u128::from(at_ns) * u128::from(self.micro_per_s);
        let count = scaled.div_ceil(MICRO * NS_PER_S);
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.as_per_s())
    }
}

/// One worker's share of a constant schedule: worker w of W takes the
/// arrivals w, w + W, w + 2W, … below `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    rate: Rate,
    worker: u64,
    workers: u64,
    limit: u64,
}

impl Share {
    /// The share of `worker` (from 0) among `workers`, of the first `limit` arrivals.
    pub fn new(rate: Rate, worker: u32, workers: u32, limit: Option<u64>) -> Share {
        Share {
            rate,
            worker: u64::from(worker),
            workers: u64::from(workers.max(1)),
            limit: limit.unwrap_or(u64::MAX),
        }
    }

    /// The instant of this worker's i-th arrival (from 0) in nanoseconds
    /// after the start; `None` when the schedule ends before it.
    pub fn due_ns(&self, i: u64) -> Option<u64> {
        let k = i.checked_mul(self.workers)?.checked_add(self.worker)?;
        (k < self.limit).then(|| self.rate.due_ns(k))
    }

    /// How many of this worker's arrivals are due strictly before `at_ns`.
    pub fn due_before(&self, at_ns: u64) -> u64 {
        let total = self.rate.due_before(at_ns).min(self.limit);
        total.saturating_sub(self.worker).div_ceil(self.workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_request_is_due_at_once() {
        let rate = Rate::per_s(2000.0).unwrap();
        assert_eq!(rate.due_ns(0), 0);
        assert_eq!(rate.due_ns(1), 500_000);
        assert_eq!(rate.due_before(0), 0);
        assert_eq!(rate.due_before(1), 1);
        assert_eq!(rate.due_before(500_000), 1);
        assert_eq!(rate.due_before(500_001), 2);
    }

    #[test]
    fn absurd_rates_are_refused() {
        for per_s in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 2e8] {
            assert_eq!(Rate::per_s(per_s), None, "{per_s}");
        }
    }

    proptest! {
        #[test]
        fn due_before_inverts_due(micro in 1u64..100_000_000_000_000, k in 0u64..1_000_000_000) {
            let rate = Rate { micro_per_s: micro };
            let at = rate.due_ns(k);
            prop_assume!(at < u64::MAX);
            prop_assert!(rate.due_before(at) <= k);
            prop_assert!(rate.due_before(at + 1) > k);
        }

        #[test]
        fn the_kth_instant_is_right_to_the_nanosecond(micro in 1u64..100_000_000_000_000, k in 0u64..1_000_000_000) {
            let rate = Rate { micro_per_s: micro };
            // floor(k / rate): due <= k/rate < due + 1, in exact integers.
            let due = u128::from(rate.due_ns(k));
            let scaled = u128::from(k) * 1_000_000_000_000_000;
            prop_assume!(due < u128::from(u64::MAX));
            prop_assert!(due * u128::from(micro) <= scaled);
            prop_assert!((due + 1) * u128::from(micro) > scaled);
        }

        #[test]
        fn shares_interleave_to_the_whole(micro in 1_000u64..1_000_000_000_000, workers in 1u32..9, limit in 0u64..200, at in 0u64..10_000_000_000) {
            let rate = Rate { micro_per_s: micro };
            let shares: Vec<Share> = (0..workers).map(|w| Share::new(rate, w, workers, Some(limit))).collect();
            let mut all: Vec<u64> = shares.iter().flat_map(|s| (0..limit + 1).map_while(|i| s.due_ns(i))).collect();
            all.sort_unstable();
            let whole: Vec<u64> = (0..limit).map(|k| rate.due_ns(k)).collect();
            prop_assert_eq!(&all, &whole);
            let before: u64 = shares.iter().map(|s| s.due_before(at)).sum();
            prop_assert_eq!(before, whole.iter().filter(|due| **due < at).count() as u64);
        }
    }
}
