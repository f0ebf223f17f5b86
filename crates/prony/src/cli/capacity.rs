//! Flags of `prony capacity`.

use clap::Args;

use prony_model::options::LoadOptions;

/// `prony capacity URL`.
#[derive(Debug, Args)]
pub(crate) struct CapacityArguments {
    /// What is loaded: http://host:port/path; without one, an embedded target on this machine
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// What must be kept: p99<50ms, errors<0.1%, throughput>5k (repeatable) [default: the backlog does
    /// not grow and errors<0.1%]
    #[arg(long = "slo", value_name = "FIGURE<LIMIT")]
    pub(crate) slos: Vec<String>,
    /// How close to the edge the answer must come
    #[arg(long, value_name = "PERCENT", default_value = "1%")]
    pub(crate) resolution: String,
    /// CPUs that the workers are pinned to, in turn: 0 or 0,2 or 0-3
    #[arg(long, value_name = "CPUS")]
    pub(crate) pin: Option<String>,
    /// Write the result as JSON to a file, or to stdout with nothing else on it
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// The answer's line only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// A header whose value is not written anywhere, beside those that are secret by custom (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// Append the search to a run log, which `prony report` and `prony serve` show
    #[arg(short = 'o', long = "output", value_name = "RUN.jsonl")]
    pub(crate) output: Option<String>,
    /// Progress as plain lines on stderr, also where it is no terminal, and no view that is drawn
    #[arg(long)]
    pub(crate) plain: bool,
}
