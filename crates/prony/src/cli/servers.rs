//! `prony servers`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Lists, installs and checks the servers of the catalogue.
#[derive(Debug, Args)]
pub(crate) struct ServersArguments {
    #[command(subcommand)]
    pub(crate) command: ServersCommand,
    /// Also use the servers in this folder (repeatable); those in ./prony/servers are always used
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) servers: Vec<String>,
}

/// Where servers run.
#[derive(Debug, Args)]
pub(crate) struct RuntimeArguments {
    /// Where servers run: native, container (podman or docker, whichever works), podman or docker
    #[arg(long, value_name = "RUNTIME", default_value = "native")]
    pub(crate) runtime: String,
    /// The memory limit of each server, `512m` [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Start servers on another machine, which ssh can log in to without a password, and load them from here:
    /// `ssh:HOST`, or `ssh:HOST=ADDRESS` with the IPv4 address of that machine on which they listen [default: the
    /// address that ssh connected to]
    #[arg(long, value_name = "HOST")]
    pub(crate) server_host: Option<String>,
    /// Allow a --candidate COMMAND on the machine of --server-host, not only servers of the catalogue
    #[arg(long, requires = "server_host")]
    pub(crate) allow_commands: bool,
}

impl RuntimeArguments {
    /// Those of who asks a host for something else than starting servers.
    pub(crate) fn native() -> RuntimeArguments {
        RuntimeArguments {
            runtime: "native".to_owned(),
            memory: None,
            server_host: None,
            allow_commands: false,
        }
    }
}

/// The formats of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Text for a terminal
    Text,
    /// A table with when and how each server was verified, as in docs/servers.md
    Markdown,
    /// JSON
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Lists the servers, and which are installed
    List {
        /// The output format
        #[arg(long, value_enum, default_value = "text")]
        format: ListFormat,
    },
    /// Installs servers: Debian packages through apt (asks first), everything else into .prony/
    Install {
        /// Servers, or candidates with their settings, such as gunicorn:gevent
        #[arg(required_unless_present_any = ["all", "experiment"])]
        names: Vec<String>,
        /// Every server of the catalogue
        #[arg(long)]
        all: bool,
        /// The servers of this experiment
        #[arg(long, value_name = "EXPERIMENT")]
        experiment: Option<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        /// Also install what each of their settings needs
        #[arg(long)]
        settings: bool,
        #[command(flatten)]
        runtime: RuntimeArguments,
        /// The Prony binary to copy to the host, if of its CPU architecture and not there yet; it must be of this
        /// version (repeatable) [default: this program]
        #[arg(long, value_name = "FILE", requires = "server_host")]
        agent_binary: Vec<PathBuf>,
    },
    /// Starts each server, checks that it responds as every server of the catalogue must, and stops it
    Check {
        /// Servers, or candidates with their settings
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// Every server of the catalogue; those that are not installed are skipped
        #[arg(long)]
        all: bool,
        /// Also check each of their settings, one at a time
        #[arg(long)]
        settings: bool,
        /// Record version, date, runtime and machine of each server that passes, in verified.toml beside its recipe
        #[arg(long)]
        record: bool,
        #[command(flatten)]
        runtime: RuntimeArguments,
        /// The Prony binary to copy to the host, if of its CPU architecture and not there yet; it must be of this
        /// version (repeatable) [default: this program]
        #[arg(long, value_name = "FILE", requires = "server_host")]
        agent_binary: Vec<PathBuf>,
    },
    /// Creates a recipe for a server of your own, as a copy of another server's
    New {
        /// The new server's name
        name: String,
        /// The server to copy
        #[arg(long, value_name = "SERVER", default_value = "node-http")]
        from: String,
        /// The folder in which the server's folder is created
        #[arg(long, value_name = "DIR", default_value = "prony/servers")]
        dir: String,
    },
}
