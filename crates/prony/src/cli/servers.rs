//! `prony servers`.

use clap::{Args, Subcommand};

/// The catalogue of servers.
#[derive(Debug, Args)]
pub(crate) struct ServersArguments {
    #[command(subcommand)]
    pub(crate) command: ServersCommand,
    /// Also take servers from this folder (repeatable); ./prony/servers is taken by itself
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) servers: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// What there is, and what is installed
    List,
    /// Installs servers: packages through apt (asks first), the rest into .prony/
    Install {
        /// Servers, or candidates with their settings such as gunicorn:gevent
        #[arg(required_unless_present_any = ["all", "experiment"])]
        names: Vec<String>,
        /// Every server of the catalogue
        #[arg(long)]
        all: bool,
        /// The servers of this experiment
        #[arg(long, value_name = "EXPERIMENT")]
        experiment: Option<String>,
        /// Don't ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Starts each server, holds it against the contract, and stops it
    Check {
        /// Servers, or candidates with their settings
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// Every server that is installed
        #[arg(long)]
        all: bool,
    },
}
