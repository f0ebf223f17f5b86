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
    /// Also write the result as KIND: `hgrm` (percentiles), `hlog` (histograms per second),
    /// `csv` (a line per second), `jtl` (JMeter's log, a line per request) or `openmetrics` (repeatable)
    #[arg(long, value_name = "KIND=FILE")]
    pub(crate) export: Vec<String>,
    /// Several requests in turn, a URL, METHOD URL or path a line; `-` is standard input. The URL
    /// before it gives only the server, and may be left out where lines name it
    #[arg(long, value_name = "FILE|-")]
    pub(crate) targets: Option<String>,
    /// The lines of --targets in another order each round, drawn from the seed
    #[arg(long)]
    pub(crate) shuffle: bool,
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

/// The flags that make a plan, of `load` and of `bench --candidate`.
#[derive(Debug, Clone, Args, Default)]
pub(crate) struct PlanArguments {
    /// Worker threads [default: 1]
    #[arg(short, long, value_name = "N", value_parser = count::<u32>)]
    pub(crate) threads: Option<u32>,
    /// Connections [default: 50, with -R 100]
    #[arg(short, long, value_name = "N", value_parser = count::<u32>)]
    pub(crate) connections: Option<u32>,
    /// The window's length, `30s`, `1m30s`; a bare number is seconds [default: 10s unless -n is given]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Stop after N requests, warm-up included
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<u64>)]
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
    #[arg(long, short_alias = 'T', value_name = "TIME")]
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
    /// The body that every answer must have: as text, from a file, or by its hash
    #[arg(long, value_name = "TEXT|@FILE|sha256:HEX")]
    pub(crate) expect_body: Option<String>,
    /// When requests of -R are due: `constant`, or `poisson` from the seed [default: constant]
    #[arg(long, value_name = "KIND")]
    pub(crate) arrivals: Option<String>,
    /// The seed of everything random, recorded [default: 1, or the experiment's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Requests that a connection carries at once (HTTP pipelining) [default: 1]
    #[arg(short, long, value_name = "N", value_parser = count::<u32>)]
    pub(crate) pipeline: Option<u32>,
    /// A linear ramp from the stage before (0 at first): `30s:20k/s` to a rate, `60s:5000c` to
    /// connections in a closed loop; `0s:…` jumps (repeatable, in order; they end the load)
    #[arg(long = "stage", value_name = "TIME:LEVEL")]
    pub(crate) stages: Vec<String>,
    /// Connect from these local addresses in turn, `127.0.0.2,127.0.0.3` or `127.0.0.2-127.0.0.9`
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) source: Option<String>,
    /// Connect to this Unix socket; the URL still gives the path and the Host header
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<String>,
    /// Stay awake before a request is due: sends within a microsecond, and takes a core
    #[arg(long)]
    pub(crate) spin: bool,
    /// Time arrivals when they are read, not by the kernel's stamps: cheaper, and the client's own delay counts too
    #[arg(long)]
    pub(crate) user_clock: bool,
    /// Accepted for wrk's sake: percentiles are always shown
    #[arg(short = 'L', long, hide = true)]
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

impl PlanArguments {
    /// The first flag given that an experiment's own plans leave no room for:
    /// all of them but the seed.
    pub(crate) fn first_of_a_plan(&self) -> Option<&'static str> {
        let PlanArguments {
            threads,
            connections,
            duration,
            requests,
            rate,
            headers,
            method,
            body,
            timeout,
            warmup,
            no_keepalive,
            expect_status,
            expect_body,
            arrivals,
            pipeline,
            stages,
            spin,
            user_clock,
            source,
            unix,
            seed: _,
            latency: _,
            cacert,
            cert,
            key,
            insecure,
            tls_resumption,
        } = self;
        let flags = [
            ("-t", threads.is_some()),
            ("-c", connections.is_some()),
            ("-d", duration.is_some()),
            ("-n", requests.is_some()),
            ("-R", rate.is_some()),
            ("-H", !headers.is_empty()),
            ("-m", method.is_some()),
            ("-b", body.is_some()),
            ("--timeout", timeout.is_some()),
            ("--warmup", warmup.is_some()),
            ("--no-keepalive", *no_keepalive),
            ("--expect-status", expect_status.is_some()),
            ("--expect-body", expect_body.is_some()),
            ("--arrivals", arrivals.is_some()),
            ("-p", pipeline.is_some()),
            ("--stage", !stages.is_empty()),
            ("--spin", *spin),
            ("--user-clock", *user_clock),
            ("--source", source.is_some()),
            ("--unix", unix.is_some()),
            ("--cacert", cacert.is_some()),
            ("--cert", cert.is_some()),
            ("--key", key.is_some()),
            ("--insecure", *insecure),
            ("--tls-resumption", tls_resumption.is_some()),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }
}

/// A whole number, `500`, `10k` or `2M`, as wrk reads them.
pub(crate) fn count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err("write a whole number, 500, 10k or 2M".to_owned());
    }
    let value = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    value.and_then(|n| N::try_from(n).ok()).ok_or_else(|| "it is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_units_and_bounds() {
        assert_eq!((count::<u32>("10k"), count::<u64>("2M")), (Ok(10_000), Ok(2_000_000)));
        for wrong in ["", "k", "-1", "1.5k", "0x10", "+5", "5000M"] {
            assert!(count::<u32>(wrong).is_err(), "{wrong}");
        }
    }
}
