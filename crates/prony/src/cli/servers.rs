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
    /// Where to start servers: `native`, as processes of this machine; `podman`; `docker`; or `container`,
    /// whichever of the two works. A --candidate image: runs in `container` unless another engine is given
    #[arg(long, value_name = "RUNTIME", default_value = "native")]
    pub(crate) runtime: String,
    /// The memory limit of each server, `512m` [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
    /// Start servers on another machine and load them from this one: `ssh:HOST`, or `ssh:HOST=ADDRESS` with the
    /// IPv4 address on which they listen there [default: the address that ssh connects to]. ssh must be able to log
    /// in without a password
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
    /// A table that also says when and how each server was checked, as in docs/servers.md
    Markdown,
    /// JSON
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Lists the servers, and which of them are installed
    List {
        /// The output format
        #[arg(long, value_enum, default_value = "text")]
        format: ListFormat,
        /// Also what each takes to run: packages, megabytes and seconds to install, lines of configuration, processes,
        /// idle memory (text and JSON)
        #[arg(long)]
        long: bool,
    },
    /// Installs servers: Debian packages with apt (asks first), all else into .prony/
    Install {
        /// Servers, or candidates with their settings, such as gunicorn:gevent
        #[arg(required_unless_present_any = ["all", "experiment"])]
        names: Vec<String>,
        /// All servers of the catalogue
        #[arg(long)]
        all: bool,
        /// The servers of this experiment
        #[arg(long, value_name = "EXPERIMENT")]
        experiment: Option<String>,
        /// Install Debian packages without asking
        #[arg(long, short)]
        yes: bool,
        /// Also install what the settings of each server need
        #[arg(long)]
        settings: bool,
        #[command(flatten)]
        runtime: RuntimeArguments,
        /// The Prony binary to copy to the host, if it has that CPU architecture and does not have the binary yet;
        /// its version must be that of this program (repeatable) [default: this program]
        #[arg(long, value_name = "FILE", requires = "server_host")]
        agent_binary: Vec<PathBuf>,
    },
    /// Starts each server, checks its responses, and stops it
    Check {
        /// Servers, or candidates with their settings
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// All servers of the catalogue that are installed
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
        /// The Prony binary to copy to the host, if it has that CPU architecture and does not have the binary yet;
        /// its version must be that of this program (repeatable) [default: this program]
        #[arg(long, value_name = "FILE", requires = "server_host")]
        agent_binary: Vec<PathBuf>,
    },
    /// Starts a server in the foreground, until Ctrl-C
    ///
    /// It prints the URL, the command that runs, and where the log is. It can be loaded at any time, by any tool
    Start {
        /// The server, or a candidate with its settings, such as gunicorn:gevent
        name: String,
        /// The port on which it listens [default: a free one; with --print 8080]
        #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
        port: Option<u16>,
        /// Worker processes or threads
        #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
        workers: u32,
        /// Where to start it: `native`, `container`, `podman` or `docker`
        #[arg(long, value_name = "RUNTIME", default_value = "native")]
        runtime: String,
        /// Print a shell script that starts it without Prony; start nothing
        #[arg(long)]
        print: bool,
    },
    /// Creates a recipe for your own server, as a copy of another server's recipe
    New {
        /// The new server's name
        name: String,
        /// The server to copy
        #[arg(long, value_name = "SERVER", default_value = "node-http")]
        from: String,
        /// The folder in which to create the server's folder
        #[arg(long, value_name = "DIR", default_value = "prony/servers")]
        dir: String,
    },
}
