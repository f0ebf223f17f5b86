//! `prony bench`.

use clap::Args;

use prony_lab::experiment::WorkerPolicy;
use prony_model::options::LoadOptions;

/// Runs an experiment.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// An experiment's name or TOML file
    #[arg(required_unless_present_any = ["candidates", "resume"])]
    pub(crate) experiment: Option<String>,
    /// Without an experiment: NAME='COMMAND {port}' or NAME=URL (repeatable)
    #[arg(long = "candidate", value_name = "NAME=COMMAND|URL", conflicts_with = "experiment")]
    pub(crate) candidates: Vec<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// What is requested of every --candidate COMMAND, under load and to see whether it is ready, `/api/items`;
    /// a URL has its own [default: /]
    #[arg(long, value_name = "PATH", conflicts_with = "experiment")]
    pub(crate) path: Option<String>,
    /// CPU cores that each server gets [default: the experiment's, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) server_cores: Option<u32>,
    /// Workers that each server is told to use, by its configuration or by {workers} in a command: a number,
    /// `server_cores` or `source` [default: the experiment's, else as many as it has cores]
    #[arg(long, value_name = "N|WORD")]
    pub(crate) workers: Option<WorkerPolicy>,
    /// The run log [default: runs/DATE-NAME.jsonl]
    #[arg(short = 'o', long = "output", value_name = "RUN.jsonl")]
    pub(crate) output: Option<String>,
    /// Go on with the run of -o (or of this file) where it ended
    #[arg(long, value_name = "RUN.jsonl", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// Say what would run, how long it takes and what is missing; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// End after the block that still fits, `30m`
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Blocks: how often each candidate has its turn
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// The experiment's smaller form, such as `short`
    #[arg(long, value_name = "NAME")]
    pub(crate) scale: Option<String>,
    /// Only these candidates or plans (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Not these candidates or plans (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) skip: Vec<String>,
    /// CPUs, `server=1` and `client=0` (repeatable) [default: the last ones for the server]
    #[arg(long, value_name = "SIDE=CPUS")]
    pub(crate) pin: Vec<String>,
    #[command(flatten)]
    pub(crate) runtime: super::RuntimeArguments,
    /// Also take servers from this folder (repeatable); ./prony/servers is taken by itself
    #[arg(long, value_name = "DIR")]
    pub(crate) servers: Vec<String>,
    /// Also hide this header's value in everything written (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// No progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show the run on a web page while it goes on, then its report; elsewhere than on this machine
    /// (--web=0.0.0.0:8080) only with the token that is printed
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    pub(crate) web: Option<String>,
    /// Serve how the run stands at http://ADDRESS/metrics while it runs, as OpenMetrics' text: `9464` or
    /// `127.0.0.1:9464`; an address of another machine's reach is open to whoever reaches it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// How long to wait while another bench runs on this machine; 0 is not at all [default: until it ends]
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<String>,
    /// Add blocks until every ratio to the baseline is within ±SHARE, `2%`; --blocks is then the most
    /// [default: 30]
    #[arg(long, value_name = "SHARE")]
    pub(crate) precision: Option<String>,
    /// With --dry-run: forecast the precision from the noise of this earlier run log
    #[arg(long, value_name = "RUN.jsonl", requires = "dry_run")]
    pub(crate) noise_of: Option<String>,
    /// A threshold, `p99<50ms`, `errors<0.1%` or `throughput>5k`, held against every candidate under every
    /// plan; exit code 1 where one is missed (repeatable)
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) slo: Vec<String>,
    /// Exit code 1 where a threshold is undecided, too
    #[arg(long, requires = "slo")]
    pub(crate) strict: bool,
    /// Run two candidates at once, each on half of the CPUs, then with places changed, and compare the same
    /// seconds: a noisy machine's noise is in both. For rates (-R), not for maxima
    #[arg(long)]
    pub(crate) duet: bool,
    /// Progress as plain lines on stderr, also where it is no terminal, and no view that is drawn
    #[arg(long)]
    pub(crate) plain: bool,
}
