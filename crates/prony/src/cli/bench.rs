//! `prony bench`.

use clap::{Args, ValueEnum, value_parser};

use prony_lab::experiment::{BLOCKS_MAX, CORES_MAX, WorkerPolicy};
use prony_model::options::LoadOptions;

/// Runs an experiment.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// The name of a built-in experiment, or a TOML file
    pub(crate) experiment: Option<String>,
    /// Install the experiment's servers first, as `prony servers install` does: what cannot be had is named and skipped
    #[arg(long, requires = "experiment", conflicts_with_all = ["candidates", "dry_run"])]
    pub(crate) install: bool,
    /// Install Debian packages without asking (with --install)
    #[arg(long, short, requires = "install")]
    pub(crate) yes: bool,
    /// A server to measure: NAME='COMMAND {port}', NAME=URL or NAME=image:IMAGE (repeatable)
    ///
    /// It takes the place of an experiment. Prony starts COMMAND with a free port in place of {port}. For a server
    /// on a Unix socket, {run} is a new folder at each start: give its socket as --unix '{run}/app.sock'. IMAGE is run
    /// in a container by podman or docker (--runtime), with the port in its environment variable PORT
    #[arg(long = "candidate", value_name = "NAME=WHAT", conflicts_with = "experiment")]
    pub(crate) candidates: Vec<String>,
    /// Also measure the CPU time, memory and restarts of the server of a --candidate URL: the process PID and its
    /// descendants, or the process that listens on :PORT of this machine or of a machine that ssh can log in to
    /// (repeatable)
    #[arg(
        long,
        value_name = "NAME=PID|:PORT|ssh:HOST:PORT",
        conflicts_with = "experiment",
        requires = "candidates"
    )]
    pub(crate) watch: Vec<String>,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// The path to request, `/api/items` [default: /]
    ///
    /// It is requested from every --candidate COMMAND, also to see whether the server is ready. A --candidate URL
    /// has its own path
    #[arg(long, value_name = "PATH", conflicts_with = "experiment")]
    pub(crate) path: Option<String>,
    /// Every --candidate COMMAND serves https:// on {port}: with the files {cert} and {key}, which Prony makes for
    /// each start, or with its own certificate for 127.0.0.1 (then give --cacert or -k)
    #[arg(long, conflicts_with = "experiment")]
    pub(crate) https: bool,
    /// Start what candidates need, such as a database: NAME='COMMAND {port}', or NAME='postgresql[:SEED.sql] [SETTING=VALUE]'
    /// (repeatable; started in this order)
    ///
    /// It is started anew for each trial, and on CPUs of its own if there are at least three. Commands get its port in
    /// place of {NAME_port}, and in the environment variable NAME_PORT. It is ready when that port accepts connections
    #[arg(long = "service", value_name = "NAME=COMMAND")]
    pub(crate) services: Vec<String>,
    /// The service is ready when this command succeeds, or when this http:// URL responds (repeatable)
    #[arg(long, value_name = "NAME=COMMAND|URL")]
    pub(crate) service_ready: Vec<String>,
    /// How long the service may take to become ready (repeatable) [default: 60s]
    #[arg(long, value_name = "NAME=TIME")]
    pub(crate) service_timeout: Vec<String>,
    /// Keep this service running between trials instead of starting it anew for each (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "duet")]
    pub(crate) keep_service: Vec<String>,
    /// Run this command before each trial, with the services up: to fill a database or to empty a cache
    ///
    /// A trial is not measured if it fails
    #[arg(long, value_name = "COMMAND", conflicts_with = "duet")]
    pub(crate) reset: Option<String>,
    /// How long a reset may take [default: the experiment's, else 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) reset_timeout: Option<String>,
    /// Give these arguments to every image: '--listen {port}'. They are split as a shell splits them
    #[arg(long, value_name = "WORDS", requires = "candidates", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Pull images that are not on this machine [default: a run without them is refused]
    #[arg(long, requires = "candidates")]
    pub(crate) pull: bool,
    /// The port on which every --candidate COMMAND or image listens, if it cannot be given one; {port} is then this one
    #[arg(
        long,
        value_name = "PORT",
        conflicts_with_all = ["experiment", "unix", "duet"],
        requires = "candidates",
        value_parser = value_parser!(u16).range(1..)
    )]
    pub(crate) port: Option<u16>,
    /// CPU cores for each server [default: the experiment's, else 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=CORES_MAX.into()))]
    pub(crate) server_cores: Option<u32>,
    /// Worker processes or threads of each server, set in its configuration or in place of {workers} in a command:
    /// a number, `server_cores` (one per core) or `source` (as in the published comparison) [default: the
    /// experiment's, else one per core]
    #[arg(long, value_name = "N|WORD")]
    pub(crate) workers: Option<WorkerPolicy>,
    /// Write the run log to this file [default: runs/DATE-NAME.jsonl]
    #[arg(short = 'o', long = "output", value_name = "RUN.jsonl")]
    pub(crate) output: Option<String>,
    /// Continue an interrupted run in this run log; with a larger --blocks, add blocks to it [default: the file of
    /// -o]
    #[arg(long, value_name = "RUN.jsonl", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// Print what would run and how long; run nothing
    ///
    /// Also what is missing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Start no block that would end later than TIME after the run's start, `30m` [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Blocks to run [default: the experiment's, else 5]
    ///
    /// In each block, every candidate is loaded once with every plan, in random order
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=BLOCKS_MAX.into()))]
    pub(crate) blocks: Option<u32>,
    /// Use the variant of the experiment with this name, such as `short` or `full`
    #[arg(long, value_name = "NAME", conflicts_with = "candidates")]
    pub(crate) scale: Option<String>,
    /// Run only these candidates or plans (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "candidates")]
    pub(crate) only: Vec<String>,
    /// Leave these candidates or plans out (repeatable)
    #[arg(long, value_name = "NAME", conflicts_with = "candidates")]
    pub(crate) skip: Vec<String>,
    /// Pin the server or the client to these CPUs (repeatable): `--pin server=1 --pin client=0,2-3` [default: the
    /// last CPUs for the server]; with services also `--pin service=2` [default: the server's]
    #[arg(long, value_name = "SIDE=CPUS")]
    pub(crate) pin: Vec<String>,
    #[command(flatten)]
    pub(crate) runtime: super::RuntimeArguments,
    #[command(flatten)]
    pub(crate) fleet: super::FleetOptions,
    /// Also use the servers in this folder (repeatable); those in ./prony/servers are always used
    #[arg(long, value_name = "DIR", conflicts_with = "candidates")]
    pub(crate) servers: Vec<String>,
    /// Also hide the value of this header in all output (repeatable) [always hidden: names that contain auth,
    /// cookie, credential, jwt, key, password, secret, session, signature or token]
    #[arg(long, value_name = "NAME")]
    pub(crate) redact: Vec<String>,
    /// Print no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write JMeter's log of each trial, a line per request, into this folder, as NUMBER-CANDIDATE-PLAN.jtl
    ///
    /// Of searches it has none. Requests of a closed loop beyond 5 million, and of other loads beyond 10 million, are left out;
    /// each takes 40 bytes of memory
    #[arg(long, value_name = "jtl=FOLDER", conflicts_with_all = ["duet", "dry_run"])]
    pub(crate) export: Vec<String>,
    /// Show the run on a web page while it runs, and its report afterwards. If other machines can reach the address
    /// (--web=0.0.0.0:8080), they need the token in the printed URL
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:0")]
    pub(crate) web: Option<String>,
    /// Serve metrics at http://ADDRESS/metrics while the run lasts, in OpenMetrics format: `9464` for this machine
    /// only, `0.0.0.0:9464` for every machine that can reach it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Send metrics to an OpenTelemetry collector every 5 s and at the end, as OTLP in JSON: `http://localhost:4318`
    /// (/v1/metrics is added if the URL has no path)
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// How long to wait for another bench on this machine to end; `0` does not wait [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<String>,
    /// What to do when other programs use the run's CPUs
    #[arg(
        long,
        value_name = "WAY",
        env = "PRONY_DISTURBED",
        hide_env_values = true,
        default_value = "repeat"
    )]
    pub(crate) disturbed: Disturbed,
    /// Add blocks until each ratio is known to within ±SHARE, `2%`
    ///
    /// That is, until the 95 % confidence interval of every ratio to the baseline is within ±SHARE. --blocks is
    /// then the maximum [default: 30]
    #[arg(long, value_name = "SHARE")]
    pub(crate) precision: Option<String>,
    /// Measure the baseline a second time in each block, as if it were another candidate, and report whether the
    /// run finds a difference between the two, and how often it would find one of 3 %. The baseline is the
    /// experiment's, else the first candidate; `--controls=false` leaves out an experiment's own controls
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) controls: Option<bool>,
    /// With --dry-run: forecast the precision from the noise in this earlier run log
    #[arg(long, value_name = "RUN.jsonl", requires = "dry_run")]
    pub(crate) noise_of: Option<String>,
    /// A threshold, `p99<50ms` (repeatable); exit code 1 if it is missed
    ///
    /// It applies to every candidate under every plan. Other figures: `errors<0.1%`, `throughput>5k`,
    /// `memory<200MB`. Exit code 4 if the figure is withheld or missing
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) slo: Vec<String>,
    /// Exit with code 1 also if a threshold is undecided
    #[arg(long, requires = "slo")]
    pub(crate) strict: bool,
    /// Run two candidates at the same time, each on half of the CPUs, then with the halves swapped, so that
    /// disturbances of the machine affect both alike. Needs a rate (-R)
    #[arg(long)]
    pub(crate) duet: bool,
    /// Of two candidates, show which functions' CPU time per request grew: after the last trial, one more of each under
    /// `perf record`, which counts for no figure. `grown` does so where CPU per request grew, and where perf can be used
    ///
    /// Of servers that Prony starts on this machine
    #[arg(
        long,
        value_name = "WHEN",
        env = "PRONY_PROFILE",
        hide_env_values = true,
        num_args = 0..=1,
        require_equals = true,
        default_value = "grown",
        default_missing_value = "always"
    )]
    pub(crate) profile: ProfileWhen,
    /// Print progress as lines on standard error instead of drawing the live view
    #[arg(long)]
    pub(crate) plain: bool,
}

/// When two candidates are sampled by perf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileWhen {
    Grown,
    Always,
    Never,
}

/// What is done about trials that other programs disturb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Disturbed {
    /// Wait up to 10 s for an idle second before each load, and run disturbed trials again at the end of their
    /// block
    Repeat,
    /// Do neither
    Keep,
}
