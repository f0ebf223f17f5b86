//! `prony load`.

use clap::Args;

/// Loads one target.
#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// What to load, http://HOST:PORT/PATH or https://…; without it, an embedded reference server
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
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
}

/// The flags that make a plan, of `load` and of `bench --candidate`.
#[derive(Debug, Args, Default)]
pub(crate) struct PlanArguments {
    /// Worker threads [default: 1]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<u32>,
    /// Connections [default: 50, with -R 100]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<u32>,
    /// The window's length, `30s`, `1m30s`; a bare number is seconds [default: 10s unless -n is given]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Stop after N requests, warm-up included
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<u64>,
    /// Requests per second, `2000`, `20k`, whatever the server does (open arrivals);
    /// without it each connection asks when its last answer came (closed)
    #[arg(short = 'R', long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// A header, 'Name: value' (repeatable); `@env:NAME` as its value is read from the environment
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// The request's method [default: GET, with -b POST]
    #[arg(short, long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// The request's body, as text or from a file
    #[arg(short, long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// A request or a connect that takes longer fails [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Traffic before the window that is not counted [default: a tenth of -d, at most 3s; none with -n alone]
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
    /// A new connection for every request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// The one status that counts as an answer [default: any 2xx or 3xx]
    #[arg(long, value_name = "STATUS")]
    pub(crate) expect_status: Option<u16>,
    /// The body that every answer must have, as text or from a file
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(crate) expect_body: Option<String>,
    /// When requests of -R are due: `constant`
    #[arg(long, value_name = "KIND", hide = true)]
    pub(crate) arrivals: Option<String>,
    /// The seed of everything random; recorded
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Accepted for wrk's sake: percentiles are always shown
    #[arg(long, hide = true)]
    pub(crate) latency: bool,
    /// Certificates in PEM form that may vouch for an https:// server, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<String>,
    /// The client's certificate for an https:// server, PEM, with those that lead to its issuer
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: Option<String>,
    /// The key of --cert, PEM [default: the file of --cert]
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<String>,
    /// Load an https:// server whoever it is: its certificate is not checked
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// Whether a new https:// connection may resume an earlier one's session [default: on]
    #[arg(long, value_name = "on|off")]
    pub(crate) tls_resumption: Option<String>,
}
