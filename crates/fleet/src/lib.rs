//! Many machines as one: a controller and its agents apply one load, and their shares of it are merged exactly.
//!
//! The protocol is pure (`protocol`, `agent`, `controller`) and is tried in a simulated network. `session` seals what
//! they say, `fragments` cuts it into what NATS takes, `nats` carries it: the one file that knows NATS and an async
//! runtime. `fleet` is the controller's process, `assemble` starts its agents (`local`, `ssh`), `agent_process` is an agent's,
//! `server` the nats-server of a run, `ssh_process` an ssh that runs, and one that copies this program to a host. `ssh_pipe` is for
//! an agent that runs servers and applies no load: it knows nothing of all that.

mod agent;
mod agent_binary;
mod agent_process;
mod agents;
pub mod allow;
#[cfg(test)]
mod any_fragments_tests;
mod assemble;
pub mod certificates;
mod controller;
mod delta_file;
mod fleet;
mod fragments;
pub mod job;
pub mod keys;
mod local;
mod nats;
pub mod pool;
pub mod protocol;
pub mod server;
pub mod session;
#[cfg(test)]
mod sim;
mod ssh;
pub mod ssh_pipe;
mod ssh_process;
pub mod standing;
mod suitable;
mod tied;
mod trial;

pub use agent_process::run as run_agent;
pub use agents::{Agents, SshHost};
pub use fleet::{Fleet, Setup};
pub use local::AGENT_ARGUMENT;
pub use server::find as find_server;
pub use suitable::check;
pub use tied::{TIED_ARGUMENT, become_tied};
