//! Many machines as one: a controller and its agents apply one load, and their shares of it are merged exactly.
//!
//! The protocol is pure (`protocol`, `agent`, `controller`, `clock`) and is tried in a simulated network. `session` seals what
//! they say, `fragments` cuts it into what NATS takes, `nats` carries it: the one file that knows NATS and an async
//! runtime. `fleet` is the controller's process, `agent_process` an agent's, `server` the nats-server of a run.

pub mod agent;
pub mod agent_process;
pub mod clock;
pub mod controller;
pub mod fleet;
pub mod fragments;
pub mod job;
pub mod local;
pub mod nats;
pub mod protocol;
pub mod server;
pub mod session;
#[cfg(test)]
mod sim;
mod suitable;
mod trial;

pub use agent_process::run as run_agent;
pub use fleet::{Agents, Fleet};
pub use local::AGENT_ARGUMENT;
pub use server::{TIED_ARGUMENT, become_tied, find as find_server};
pub use suitable::check;

/// CLOCK_MONOTONIC, as loads have it.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}
