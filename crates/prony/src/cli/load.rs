//! `prony load`.

use clap::Args;
use prony_model::options::LoadOptions;

use super::FleetOptions;

/// What is said of loads of one target, whether it is one load or a search.
#[derive(Debug, Args)]
pub(crate) struct OneTargetOptions {
    /// The URL to load, http://HOST:PORT/PATH or https://…; or a plan file, FILE.toml, whose keys are these flags,
    /// which override them; without either, an embedded reference server is loaded
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// Write the result as JSON to FILE; `-` is standard output, on which nothing else is then printed
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// Append the result to the run log FILE (JSON Lines), for `prony report` and `prony compare`
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Also redact the value of this header in all output (repeatable) [always redacted: names with auth, cookie,
    /// credential, jwt, key, password, secret, session, signature or token]
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// Print no progress, and only the first line of the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Pin the client's worker threads to these CPUs, `0` or `0,2-3`
    #[arg(long, value_name = "CPUS")]
    pub(crate) pin: Option<String>,
    /// Print progress as plain lines on stderr instead of drawing the live view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Also measure the server's CPU time, memory and restarts. The server is the process PID and its descendants, or
    /// the process that listens on `:PORT` of this machine, or with `ssh:HOST:PORT` on a machine that ssh can log in
    /// to without a password
    #[arg(long, value_name = "PID|:PORT|ssh:HOST:PORT")]
    pub(crate) watch: Option<String>,
    /// Also write this command as a plan file, FILE.toml, for `prony load FILE.toml`; an existing file is refused, and
    /// so is a secret that is not given as `@env:NAME`
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) save: Option<String>,
    /// What to write there.
    #[arg(skip)]
    pub(crate) saved: Option<String>,
    #[command(flatten)]
    pub(crate) fleet: FleetOptions,
}

/// Load-tests one URL.
#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    #[command(flatten)]
    pub(crate) common: OneTargetOptions,
    /// Also write the result in another format: `hgrm` (percentiles), `hlog` (a histogram per second),
    /// `csv` (a line per second), `jtl` (JMeter's log, a line per request) or `openmetrics` (repeatable)
    #[arg(long, value_name = "KIND=FILE")]
    pub(crate) export: Vec<String>,
    /// Show the load on a web page while it runs, then its report; an address that other machines can reach
    /// (--web=0.0.0.0:8080) needs the token in the printed URL
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    pub(crate) web: Option<String>,
    /// Serve metrics at http://ADDRESS/metrics while the load runs, in OpenMetrics format: `9464` for this machine
    /// only, `0.0.0.0:9464` for every machine that can reach it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Also plot latency by percentile, below the table
    #[arg(long)]
    pub(crate) plot: bool,
    /// A threshold, `p99<50ms`, `errors<0.1%` or `throughput>5k`: met, missed (exit code 1), or undecided where the
    /// confidence interval contains the limit; not judged (exit code 4) if the figure is withheld. A failed request counts
    /// as slower than any limit (repeatable)
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) slo: Vec<String>,
    /// Exit with code 1 also if a threshold is undecided
    #[arg(long, requires = "slo")]
    pub(crate) strict: bool,
    /// Run the load N times, each on new connections, and report the mean with its confidence interval over trials
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
}
