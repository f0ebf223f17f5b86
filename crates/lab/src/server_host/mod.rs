//! Servers on another host: an agent there starts, samples and ends them, and a controller here tells it which.
//!
//! One pipe joins both, which ssh carries: lines of JSON, each of a length that is bounded. The agent does what the
//! laboratory does on one machine, by the same functions. It ends, with everything that it has started, when the pipe
//! does, and when it has not heard of its controller for [`LEASE_NS`](prony_model::clock::LEASE_NS): a connection may be cut without a word.

mod agent;
mod agent_link;
mod controller;
mod lines;
mod link;
mod message;
mod round_trips;
mod sampling;
mod starting;

use std::time::Duration;

use prony_model::clock::BEAT_NS;

use crate::service::SERVICES_MAX;

pub use agent::{AgentOptions, serve};
pub use controller::{Pipe, ServerHost, Wanted};
pub use message::Installed;
pub use round_trips::RoundTrips;

pub(crate) use message::Found;
pub(crate) use sampling::{SampledServer, Sampling, Seen};
pub(crate) use starting::RemoteServer;

/// How often the controller says that it lives, and compares clocks.
const BEAT_EVERY: Duration = Duration::from_nanos(BEAT_NS);
/// Servers and services that are up at once: those of a duet.
const SERVERS_MAX: usize = 2 * (1 + SERVICES_MAX);

#[cfg(test)]
mod tests;
