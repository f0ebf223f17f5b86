//! What controller and agents say to each other. An agent tells again and again how it stands, and the controller what
//! it wants: whatever is lost, doubled or out of order, the next exchange says all of it again. Only pieces of the
//! result are numbered, and kept by the agent until they are confirmed.

use prony_model::clock::Offset;
pub(crate) use prony_model::clock::{BEAT_NS, LEASE_NS, LOST_NS, SAMPLES};
use serde::{Deserialize, Serialize};

/// The protocol's version: agent and controller must have the same.
pub(crate) const PROTOCOL: u32 = 3;

/// Between two beats of an agent that has a load to prepare, to start or to end.
pub(crate) const BEAT_SOON_NS: u64 = 20_000_000;

/// An agent that runs and whose last answered question is so old has lost its connection, or soon has.
pub(crate) const UNANSWERED_NS: u64 = 1_000_000_000;

/// Between two beats of such an agent, so that little of its lease is lost once the way is there again.
pub(crate) const BEAT_UNANSWERED_NS: u64 = 50_000_000;

/// A piece that was not confirmed for so long is sent again.
pub(crate) const AGAIN_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Up<P> {
    Beat(Beat),
    Piece {
        trial: u32,
        /// The number of the piece, from 0.
        sequence: u64,
        is_last: bool,
        what: P,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    pub number: u64,
    /// The load that it has, from 1; 0: none yet.
    pub trial: u32,
    pub phase: Phase,
    /// Why it cannot do it, in a sentence; its phase is [`Phase::Ended`] then.
    pub failure: Option<String>,
    pub clock: Option<Offset>,
}

/// What an agent does with the load that it has, in the order in which it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// It has none.
    Idle,
    Preparing,
    Ready,
    Armed,
    Running,
    /// It has nothing more to send, whatever the reason.
    Ended,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer<J> {
    pub number: u64,
    pub clock_ns: u64,
    /// Until when it holds, by the controller's clock: nobody obeys it later.
    pub expires_ns: u64,
    /// The load that it speaks of, from 1.
    pub trial: u32,
    pub order: Order<J>,
    /// How many pieces of that load have arrived.
    pub confirmed: u64,
}

/// What the controller wants of an agent. Instants are by the controller's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order<J> {
    Wait,
    /// To prepare the load, which ends any before it. It is here until the agent says that it has it.
    Prepare(Option<Box<J>>),
    /// To start at this instant, if it hears before it that all others will, too.
    Arm(u64),
    Go,
    /// To end the load so many nanoseconds after its start; at once, where that is over.
    Stop(u64),
    Abort,
    Leave,
}
