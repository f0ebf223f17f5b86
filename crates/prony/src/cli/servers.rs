//! `prony servers`.

use clap::{Args, Subcommand, ValueEnum};

/// The catalogue of servers.
#[derive(Debug, Args)]
pub(crate) struct ServersArguments {
    #[command(subcommand)]
    pub(crate) command: ServersCommand,
    /// Also take servers from this folder (repeatable); ./prony/servers is taken by itself
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) servers: Vec<String>,
}

/// Where servers run.
#[derive(Debug, Args)]
pub(crate) struct RuntimeArguments {
    /// native, container (podman or docker, whichever works), podman or docker
    #[arg(long, value_name = "RUNTIME", default_value = "native")]
    pub(crate) runtime: String,
    /// The most memory that a server may use, `512m` [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

/// How the catalogue is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    Text,
    /// docs/servers.md
    Markdown,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// What there is, and what is installed
    List {
        /// text, markdown (with when and how each was verified) or json
        #[arg(long, value_enum, default_value = "text")]
        format: ListFormat,
    },
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
        /// Also what each single setting of theirs needs
        #[arg(long)]
        settings: bool,
        #[command(flatten)]
        runtime: RuntimeArguments,
    },
    /// Starts each server, holds it against the contract, and stops it
    Check {
        /// Servers, or candidates with their settings
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// Every server of the catalogue; those that are not installed are skipped by name
        #[arg(long)]
        all: bool,
        /// Also with each of their settings, one at a time
        #[arg(long)]
        settings: bool,
        /// Write version, date, runtime and machine of those that pass to verified.toml beside their recipes
        #[arg(long)]
        record: bool,
        #[command(flatten)]
        runtime: RuntimeArguments,
    },
    /// Begins a server of your own as a copy of another
    New {
        /// What it is to be called
        name: String,
        /// The server that is copied
        #[arg(long, value_name = "SERVER", default_value = "node-http")]
        from: String,
        /// The folder that holds such folders
        #[arg(long, value_name = "DIR", default_value = "prony/servers")]
        dir: String,
    },
}
