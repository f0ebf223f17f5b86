//! Flags of `prony capacity`: those of a load, of which some mean something else in a search, and some are refused
//! there with a sentence and are not in its help.

use clap::Args;
use prony_model::options::LoadOptions;

use super::FleetOptions;

/// `prony capacity URL`.
#[derive(Debug, Args)]
#[command(
    mut_arg("connections", |arg| arg.help("Concurrent connections [default: 100]")),
    mut_arg("duration", |arg| arg.help("How long each probe, a load at one rate, measures; up to five times \
    longer where a percentile needs more samples [default: 3s]")),
    mut_arg("rate", |arg| arg.help("The rate of the first probe, `2000`, `20k` [default: an eighth of the \
    throughput in a closed loop]")),
    mut_arg("pipeline", |arg| arg.help("With --http2: streams per connection [default: 1]")),
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
    /// requests does not grow; and errors<0.1% unless --slo sets another]
    #[arg(long = "slo", value_name = "FIGURE<LIMIT")]
    pub(crate) slos: Vec<String>,
    /// The precision of the result: the search ends when the sustained rate and the lowest failing rate differ by no
    /// more than this, 0.1% to 50%
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) resolution: String,
    /// Pin the client's worker threads to these CPUs, `0` or `0,2-3`
    #[arg(long, value_name = "CPUS")]
    pub(crate) pin: Option<String>,
    /// Write the result as JSON to FILE; `-` is standard output, on which nothing else is then printed
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// Print no progress, and only the first line of the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Also redact the value of this header in all output (repeatable) [always redacted: names with auth, cookie,
    /// credential, jwt, key, password, secret, session, signature or token]
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// Append the search to the run log, for `prony report` and `prony serve`
    #[arg(short = 'o', long = "output", value_name = "RUN.jsonl")]
    pub(crate) output: Option<String>,
    /// Print progress as plain lines on stderr instead of drawing the live view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Also measure the server's CPU time, memory and restarts. The server is the process PID and its descendants, or
    /// the process that listens on `:PORT` of this machine, or with `ssh:HOST:PORT` on a machine that ssh can log in
    /// to without a password
    #[arg(long, value_name = "PID|:PORT|ssh:HOST:PORT")]
    pub(crate) watch: Option<String>,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
}
