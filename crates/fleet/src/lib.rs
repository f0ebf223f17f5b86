//! Many machines as one: a controller and its agents apply one load, and their shares of it are merged exactly.
//!
//! The protocol is pure (`protocol`, `agent`, `controller`) and is tried in a simulated network. `session` agrees on keys and
//! seals what they say, `fragments` cuts it into what NATS takes, `sealed` does both; `nats` carries it: the one file that knows
//! NATS and an async runtime. `fleet` applies loads, `members` has its agents, `agent_child` starts them (`ssh`, `ssh_copy`),
//! `agent_process` is an agent's process, `server` the nats-server of a run. `ssh_pipe` is for an agent that runs servers and
//! applies no load: it knows nothing of all that.

mod agent;
mod agent_binary;
mod agent_child;
mod agent_process;
mod agents;
pub mod allow;
#[cfg(test)]
mod any_fragments_tests;
pub mod certificates;
mod child;
mod controller;
mod delta_file;
mod die_with_parent;
mod fleet;
mod fragments;
pub mod job;
pub mod keys;
mod members;
mod nats;
pub mod pool;
pub mod pool_agent;
pub mod protocol;
mod sealed;
pub mod server;
pub mod session;
#[cfg(test)]
mod sim;
mod ssh;
mod ssh_copy;
pub mod ssh_pipe;
mod trial;
mod validate;

pub use agent_child::AGENT_ARGUMENT;
pub use agent_process::run as run_agent;
pub use agents::{Agents, SshHost};
pub use die_with_parent::{DIE_WITH_PARENT_ARGUMENT, run_dying_with_parent};
pub use fleet::{Fleet, Setup};
pub use server::find as find_server;
pub use validate::validate;
