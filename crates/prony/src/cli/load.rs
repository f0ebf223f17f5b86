//! `prony load`.

use clap::Args;
use prony_model::options::LoadOptions;

/// Loads one target.
#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// What to load, http://HOST:PORT/PATH or https://…; without it, an embedded reference server
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// Write the result as JSON to FILE; `-` is standard output, which then gets nothing else
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// Append the trial to the run log FILE, for `prony report`
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Also hide this header's value in everything written (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// No progress, and only the answer's first line
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// CPUs for the client's workers, `0` or `0,2-3`
    #[arg(long, value_name = "CPUS")]
    pub(crate) pin: Option<String>,
    /// Also write the result as KIND: `hgrm` (percentiles), `hlog` (histograms per second),
    /// `csv` (a line per second), `jtl` (JMeter's log, a line per request) or `openmetrics` (repeatable)
    #[arg(long, value_name = "KIND=FILE")]
    pub(crate) export: Vec<String>,
    /// Show the load on a web page while it runs, then its report; elsewhere than on this machine
    /// (--web=0.0.0.0:8080) only with the token that is printed
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    pub(crate) web: Option<String>,
    /// Serve how the load stands at http://ADDRESS/metrics while it runs, as OpenMetrics' text: `9464` or
    /// `127.0.0.1:9464`; an address of another machine's reach is open to whoever reaches it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Also draw latency by percentile, below the table
    #[arg(long)]
    pub(crate) plot: bool,
    /// A threshold, `p99<50ms`, `errors<0.1%` or `throughput>5k`: met, missed (exit code 1) or undecided
    /// by its interval; a failed request misses every time (repeatable)
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) slo: Vec<String>,
    /// Exit code 1 where a threshold is undecided, too
    #[arg(long, requires = "slo")]
    pub(crate) strict: bool,
    /// Load N times, each on new connections, and say what all trials say together, with its interval
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
    /// Progress as plain lines on stderr, also where it is no terminal, and no view that is drawn
    #[arg(long)]
    pub(crate) plain: bool,
}
