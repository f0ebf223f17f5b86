//! Comparing the clocks of two machines. Of an exchange one knows when one asked (t0), the other's clock (t1), and the
//! answer's instant (t3): the other's lead is t1 − (t0 + t3) / 2, within half of the round trip, however asymmetric the
//! ways. The shortest round trip says most (D. Mills, *Internet time synchronization: the Network Time Protocol*, IEEE
//! Trans. Comm. 1991).

use serde::{Deserialize, Serialize};

/// Between two exchanges of an agent with its controller where nothing is urgent, by which each knows that the other lives.
pub const BEAT_NS: u64 = 250_000_000;
/// An agent that has not heard of its controller for so long ends what it does: a connection may be cut without a word. It
/// looks before every request that it sends, so that it also does after SIGSTOP.
pub const LEASE_NS: u64 = 4_000_000_000;
/// An agent unheard of for so long is lost for good, and has ended: its lease began no later than it was heard.
pub const LOST_NS: u64 = 5_000_000_000;
/// Exchanges by which clocks are compared before a load, and after it.
pub const SAMPLES: u32 = 32;

/// The most that a clock drifts against another, parts per million: crystals are within 50 of the truth, each.
const DRIFT_PPM: u64 = 100;

/// How far another machine's clock is ahead of the own one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// The other's minus the own, in nanoseconds.
    pub offset_ns: i64,
    /// The truth lies within so much of it: half of the shortest round trip, and what clocks may drift since.
    pub bound_ns: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Clock {
    best: Option<Sample>,
    /// Exchanges since the last [`Clock::restart`].
    samples: u32,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    offset_ns: i64,
    error_ns: u64,
    at_ns: u64,
}

impl Sample {
    fn bound_ns(&self, now_ns: u64) -> u64 {
        self.error_ns + now_ns.saturating_sub(self.at_ns) / 1_000_000 * DRIFT_PPM
    }
}

impl Clock {
    pub fn add(&mut self, asked_ns: u64, theirs_ns: u64, now_ns: u64) {
        self.samples = self.samples.saturating_add(1);
        let middle_ns = asked_ns + now_ns.saturating_sub(asked_ns) / 2;
        let offset_ns = i64::try_from(i128::from(theirs_ns) - i128::from(middle_ns)).unwrap_or(0);
        // And the nanosecond that the middle is rounded by.
        let sample = Sample { offset_ns, error_ns: now_ns.saturating_sub(asked_ns) / 2 + 1, at_ns: now_ns };
        if self.best.is_none_or(|best| sample.error_ns <= best.bound_ns(now_ns)) {
            self.best = Some(sample);
        }
    }

    /// Forgets all of it: for a comparison that owes nothing to the one before.
    pub fn restart(&mut self) {
        *self = Clock::default();
    }

    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// What is known now; `None` without an exchange.
    pub fn offset(&self, now_ns: u64) -> Option<Offset> {
        self.best.map(|best| Offset { offset_ns: best.offset_ns, bound_ns: best.bound_ns(now_ns) })
    }
}

impl Offset {
    pub fn to_own(self, theirs_ns: u64) -> u64 {
        u64::try_from(i128::from(theirs_ns) - i128::from(self.offset_ns)).unwrap_or(0)
    }

    pub fn to_theirs(self, own_ns: u64) -> u64 {
        u64::try_from(i128::from(own_ns) + i128::from(self.offset_ns)).unwrap_or(0)
    }
}
