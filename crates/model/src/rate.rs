//! How much load: a rate, and stages that change it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

const NS_PER_S: u128 = 1_000_000_000;
const MICRO: u128 = 1_000_000;

/// An exact rate: an integer of millionths per second, so that the k-th instant is right to the nanosecond for any k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Rate {
    micro_per_s: u64,
}

impl Rate {
    pub const MAX_PER_S: f64 = 1e8;

    /// `None` unless it lies between 0.000001 and [`Rate::MAX_PER_S`].
    pub fn per_s(per_s: f64) -> Option<Rate> {
        if !(per_s > 0.0 && per_s <= Rate::MAX_PER_S) {
            return None;
        }
        let micro_per_s = (per_s * 1e6).round() as u64;
        (micro_per_s > 0).then_some(Rate { micro_per_s })
    }

    /// Requests per second: at most 1e14 millionths, exact in an f64.
    pub fn as_per_s(self) -> f64 {
        self.micro_per_s as f64 / 1e6
    }

    /// Millionths of requests per second, exactly.
    pub fn as_micro_per_s(self) -> u64 {
        self.micro_per_s
    }

    /// The instant of the k-th request (from 0), in nanoseconds after the
    /// schedule's start: `k / rate`, rounded down; saturates after 584 years.
    pub fn due_ns(self, k: u64) -> u64 {
        let ns = u128::from(k) * MICRO * NS_PER_S / u128::from(self.micro_per_s);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// How many requests are due strictly before `at_ns`: the inverse of [`Rate::due_ns`].
    pub fn due_before(self, at_ns: u64) -> u64 {
        // due_ns(k) < at  <=>  floor(k*M/r) < at  <=>  k*M < at*r  <=>  k < at*r/M
        let scaled = u128::from(at_ns) * u128::from(self.micro_per_s);
        let count = scaled.div_ceil(MICRO * NS_PER_S);
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl From<Rate> for u64 {
    fn from(rate: Rate) -> u64 {
        rate.micro_per_s
    }
}

impl TryFrom<u64> for Rate {
    type Error = &'static str;

    /// Of millionths per second.
    fn try_from(micro_per_s: u64) -> Result<Rate, &'static str> {
        let rate = Rate::per_s(micro_per_s as f64 / 1e6).map(|_| Rate { micro_per_s });
        rate.ok_or("no rate that a plan may ask for")
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.as_per_s())
    }
}

/// A stage: the level it ends at, and how long it takes there from that of the stage before (the first begins at 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// How long it takes; zero is a jump.
    pub duration: Duration,
    /// The level at its end: millionths of requests per second, or connections.
    pub to: u64,
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
    fn rates_out_of_bounds_are_refused() {
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
    }
}
