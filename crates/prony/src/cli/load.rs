//! `prony load`.

use clap::Args;
use prony_model::options::LoadOptions;

use super::FleetOptions;

/// What is said of loads of one target, whether it is one load or a search.
#[derive(Debug, Args)]
pub(crate) struct OneTargetOptions {
    /// http://HOST:PORT/PATH or https://…, or a plan file, FILE.toml [default: a test server that Prony starts]
    ///
    /// The keys of a plan file are these flags; flags override them
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// Write the result as JSON to FILE; `-` is standard output
    ///
    /// With `-`, nothing else is printed there
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// Append the result to this run log, for `prony report`, `compare` and `serve`
    #[arg(short = 'o', long = "output", value_name = "RUN.jsonl")]
    pub(crate) output: Option<String>,
    /// Also hide the value of this header in all output (repeatable) [always hidden: names that contain auth,
    /// cookie, credential, jwt, key, password, secret, session, signature or token]
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// Print only the first line of the result, and no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Pin the client's worker threads to these CPUs, `0` or `0,2-3`
    #[arg(long, value_name = "CPUS")]
    pub(crate) pin: Option<String>,
    /// Print progress as lines on standard error instead of drawing the live view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Also measure the server's CPU time, memory and restarts. The server is process PID and its descendants, or
    /// the process that listens on :PORT of this machine, or of HOST, which ssh must be able to log in to without a
    /// password
    #[arg(long, value_name = "PID|:PORT|ssh:HOST:PORT")]
    pub(crate) watch: Option<String>,
    /// Also write this command as a plan file, for `prony load FILE.toml`
    ///
    /// An existing file is refused, and so is a secret that is not given as `@env:NAME`
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
    /// Also write the result to FILE in another format: `hgrm` (percentiles), `hlog` (a histogram per second),
    /// `csv` (a line per second), `jtl` (JMeter's log, a line per request), `openmetrics` or `monitor` (CPUs, memory
    /// and network of the machine, by second) (repeatable)
    #[arg(long, value_name = "KIND=FILE")]
    pub(crate) export: Vec<String>,
    /// Show the load on a web page while it runs, and its report afterwards. If other machines can reach the
    /// address (--web=0.0.0.0:8080), they need the token in the printed URL
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    pub(crate) web: Option<String>,
    /// Serve metrics at http://ADDRESS/metrics while the load runs, in OpenMetrics format: `9464` for this machine
    /// only, `0.0.0.0:9464` for every machine that can reach it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Send metrics to an OpenTelemetry collector every 5 s and at the end, as OTLP in JSON: `http://localhost:4318`
    /// (/v1/metrics is added if the URL has no path)
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Also print a plot of latency by percentile below the table
    #[arg(long)]
    pub(crate) plot: bool,
    /// A threshold, `p99<50ms` or `errors<0.1%` (repeatable); exit code 1 if it is missed
    ///
    /// Other figures: `throughput>5k`. A threshold is undecided where the confidence interval of the figure
    /// contains the limit; --strict makes that exit code 1, too. Exit code 4 if the figure is withheld. A failed
    /// request counts as slower than any limit
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) slo: Vec<String>,
    /// Exit with code 1 also if a threshold is undecided
    #[arg(long, requires = "slo")]
    pub(crate) strict: bool,
    /// Run the load N times, and report the mean and its interval
    ///
    /// N is 1 to 1000. Each run opens new connections. The interval is the 95 % confidence interval of the mean of
    /// the runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
}
