//! What a simulated world is like: its costs, its network, its server's habits.

use super::answer::{Deed, Then};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectFate {
    /// Established when the call returns.
    AtOnce,
    Later,
    RefusedAtOnce,
    RefusedLater,
    /// The kernel gives up some time later (ETIMEDOUT).
    GivenUpLater,
    Hangs,
    NoPorts,
    Unreachable,
}

/// What the server does to a connection that has no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mischief {
    None,
    Close,
    Reset,
    /// It says something nobody asked for.
    Talk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// Each as long as chance says, all at once.
    Parallel { low_ns: u64, high_ns: u64 },
    /// One after another, first come first served.
    Queue { low_ns: u64, high_ns: u64 },
    /// Nothing for the first part of every period of the schedule, then all at once, each in `service_ns`.
    Silence { silent_ns: u64, period_ns: u64, service_ns: u64 },
    /// The k-th request that is whole at the server as long as these say, all at once.
    Known(Delays),
}

/// Delays of a known distribution, of which each is known too: the k-th, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delays {
    /// One in `every` takes `rare_ns`, the others `usual_ns`.
    Bimodal { usual_ns: u64, rare_ns: u64, every: u64 },
    /// Exponential with this mean: of each `count` requests one takes the middle of each `count`-th of the
    /// distribution. They take them in steps of `step`, which has no divisor in common with `count`.
    Exponential { mean_ns: u64, count: u64, step: u64 },
}

impl Delays {
    pub(super) fn of(self, k: u64) -> u64 {
        match self {
            Delays::Bimodal { usual_ns, rare_ns, every } => {
                if k % every == every / 2 {
                    rare_ns
                } else {
                    usual_ns
                }
            }
            Delays::Exponential { mean_ns, count, step } => {
                let share = ((k % count * step % count) as f64 + 0.5) / count as f64;
                (-(1.0 - share).ln() * mean_ns as f64).round() as u64
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamps {
    /// So often in a thousand a piece of an answer has none.
    pub(super) missing_per_mille: u32,
    /// So often it has one that cannot be.
    pub(super) absurd_per_mille: u32,
    pub(super) offset_ns: i64,
}

/// A world. Zeroes and empty tables are the ideal one: no call costs anything, every answer is right and in one piece.
#[derive(Debug, Clone)]
pub(super) struct Nature {
    pub(super) seed: u64,
    pub(super) clock_cost_ns: u64,
    pub(super) call_cost_ns: u64,
    /// So often a wait returns late,
    pub(super) oversleep_per_mille: u32,
    /// by up to so much.
    pub(super) oversleep_ns: u64,
    /// So often a wait ends before its time with nothing.
    pub(super) early_wake_per_mille: u32,
    /// So often a call that could do something says EAGAIN or EINTR.
    pub(super) spurious_per_mille: u32,
    /// So often a write takes only a part.
    pub(super) short_write_per_mille: u32,
    /// So much a connection's send buffer holds; it drains in `drain_ns`. 0: any amount.
    pub(super) room: usize,
    pub(super) drain_ns: u64,
    pub(super) connects: Vec<(ConnectFate, u32)>,
    /// What is not decided at once is decided in up to so long.
    pub(super) connect_ns: u64,
    pub(super) deeds: Vec<(Deed, u32)>,
    /// So often the server answers (413) when it has read a part of the request.
    pub(super) early_per_mille: u32,
    pub(super) service: Service,
    /// So often an answer comes in pieces,
    pub(super) pieces_per_mille: u32,
    /// with up to so long between two of them.
    pub(super) piece_gap_ns: u64,
    /// What becomes of connections without a request,
    pub(super) mischief: Vec<(Mischief, u32)>,
    /// within so long.
    pub(super) mischief_ns: u64,
    /// `None`: this kernel does not stamp.
    pub(super) stamps: Option<Stamps>,
    /// A server that has ended its side swallows what is still sent to it, where others reset.
    pub(super) half_closed: bool,
    /// Each connection's answers end so after so many bytes.
    pub(super) cut: Option<(usize, Then)>,
    /// Connections are read on after their use, as on Linux.
    pub(super) lingers: bool,
}

impl Nature {
    /// Everything right, at no cost, each answer after exactly `service_ns`.
    pub(super) fn ideal(service_ns: u64) -> Nature {
        Nature {
            seed: 1,
            clock_cost_ns: 0,
            call_cost_ns: 0,
            oversleep_per_mille: 0,
            oversleep_ns: 0,
            early_wake_per_mille: 0,
            spurious_per_mille: 0,
            short_write_per_mille: 0,
            room: 0,
            drain_ns: 0,
            connects: vec![(ConnectFate::AtOnce, 1)],
            connect_ns: 0,
            deeds: vec![(Deed::Good, 1)],
            early_per_mille: 0,
            service: Service::Parallel { low_ns: service_ns, high_ns: service_ns },
            pieces_per_mille: 0,
            piece_gap_ns: 0,
            mischief: vec![(Mischief::None, 1)],
            mischief_ns: 0,
            stamps: None,
            half_closed: false,
            cut: None,
            lingers: false,
        }
    }

    /// Whether nothing that the worker does takes time.
    pub(super) fn is_instant(&self) -> bool {
        self.clock_cost_ns == 0 && self.call_cost_ns == 0 && self.oversleep_per_mille == 0
    }
}
