//! Flags of `prony capacity`: those of a load, of which some mean something else in a search, and some are refused
//! there with a sentence and are not in its help.

use clap::Args;
use prony_model::options::LoadOptions;

use super::FleetOptions;

/// `prony capacity URL`.
#[derive(Debug, Args)]
#[command(
    mut_arg("connections", |arg| arg.help("Connections [default: 100]")),
    mut_arg("duration", |arg| arg.help("The length of a probe; up to five times longer where a percentile needs it [default: 3s]")),
    mut_arg("rate", |arg| arg.help("The first probe's rate, `2000`, `20k` [default: an eighth of what a closed load carries]")),
    mut_arg("pipeline", |arg| arg.help("With --http2: streams that a connection carries at once [default: 1]")),
    mut_arg("requests", |arg| arg.hide(true)),
    mut_arg("stages", |arg| arg.hide(true)),
    mut_arg("warmup", |arg| arg.hide(true)),
)]
pub(crate) struct CapacityArguments {
    /// The URL to load, http://HOST:PORT/PATH or https://…; without one, an embedded reference server is loaded
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// A threshold that a sustained rate must meet: `p99<50ms`, `errors<0.1%` (repeatable) [always: the backlog of
    /// requests does not grow; errors<0.1% unless said otherwise]
    #[arg(long = "slo", value_name = "FIGURE<LIMIT")]
    pub(crate) slos: Vec<String>,
    /// Search until the sustained rate and the lowest failing one are this close
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) resolution: String,
    /// Pin the client's workers to these CPUs, `0` or `0,2-3`
    #[arg(long, value_name = "CPUS")]
    pub(crate) pin: Option<String>,
    /// Write the result as JSON to FILE; `-` is standard output, where nothing else is printed then
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// Print no progress, and only the first line of the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Redact the value of this header in all output, too (repeatable) [always: names with auth, cookie, credential, jwt,
    /// key, password, secret, session, signature or token]
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// Append the search to the run log, for `prony report` and `prony serve`
    #[arg(short = 'o', long = "output", value_name = "RUN.jsonl")]
    pub(crate) output: Option<String>,
    /// Print progress as plain lines on stderr instead of drawing the live view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Measure what the server costs, its CPU, memory and restarts: of this process id and its descendants, or of the
    /// process that listens on `:PORT` of this machine, or on `ssh:HOST:PORT` of one that ssh reaches without a password
    #[arg(long, value_name = "PID|:PORT|ssh:HOST:PORT")]
    pub(crate) watch: Option<String>,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
}
