//! Flags of `prony fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of a load that agents apply.
#[derive(Debug, Args)]
pub(crate) struct FleetOptions {
    /// Apply the load from several processes as one: `local:N`, N agents on this machine, or `ssh:HOST,HOST,…`, one on each
    /// host, which `HOST=ADDRESS` loads from that address of its own. -R, -c and -n are of all together, -t, --pin and
    /// --source of each
    #[arg(long, value_name = "AGENTS")]
    pub(crate) fleet: Option<String>,
    /// Copy this binary of the same version of Prony to hosts of its architecture, where it is not yet (repeatable) [default:
    /// this program]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) agent_binary: Vec<PathBuf>,
}

/// What a fleet needs.
#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

/// What to do with it.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Shows which nats-server a fleet would use, and its version
    Status,
    /// Builds a pinned nats-server with Go, for this user, if there is none on PATH
    Install,
}
