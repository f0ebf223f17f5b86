//! Flags of `prony fleet`.

use clap::{Args, Subcommand};

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
