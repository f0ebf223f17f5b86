//! `prony ci`. Every flag is read from a variable, too, so that no text of a workflow's goes through a shell.

use clap::builder::FalseyValueParser;
use clap::{Args, Subcommand};

/// What a job of continuous integration does with a change.
#[derive(Debug, Args)]
pub(crate) struct CiArguments {
    #[command(subcommand)]
    pub(crate) command: CiCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CiCommand {
    /// Measures a change and its base in alternation, and reports which is faster
    Compare(Box<CiCompareArguments>),
    /// Posts the result of `prony ci compare` on the pull request or merge request
    ///
    /// A comment that it posted earlier is updated. The token is read from the environment variable PRONY_CI_TOKEN
    Comment(CiCommentArguments),
}

/// An application of which two revisions are built, started and loaded side by side.
#[derive(Debug, Args)]
pub(crate) struct ServedArguments {
    /// A plan file: its load, its thresholds and the path of its URL
    ///
    /// --load, --slo and --path override them
    #[arg(value_name = "PLAN.toml", env = "PRONY_CI_PLAN", hide_env_values = true)]
    pub(crate) plan: Option<String>,
    /// The command that starts the server on {port}, run by `sh`
    ///
    /// It runs in the application's folder
    #[arg(long, value_name = "COMMAND", env = "PRONY_CI_SERVE", hide_env_values = true)]
    pub(crate) serve: String,
    /// The command that builds the server, run by `sh`
    ///
    /// It runs in the application's folder, once for the change and once for the base
    #[arg(long, value_name = "COMMAND", env = "PRONY_CI_BUILD", hide_env_values = true)]
    pub(crate) build: Option<String>,
    /// The application's folder, in a git repository [default: the current folder]
    #[arg(long, value_name = "DIR", env = "PRONY_CI_DIRECTORY", hide_env_values = true)]
    pub(crate) directory: Option<String>,
    /// Start what the server needs, such as a database: NAME='COMMAND {port}' (repeatable)
    ///
    /// It is started for the change and for the base alike. --serve gets its port in place of {NAME_port}, and in
    /// the environment variable NAME_PORT. PRONY_CI_SERVICE has one service per line
    #[arg(
        long = "service",
        value_name = "NAME=COMMAND",
        env = "PRONY_CI_SERVICE",
        hide_env_values = true,
        value_delimiter = '\n'
    )]
    pub(crate) services: Vec<String>,
    /// Run this command before each trial, with the services up: to fill a database or to empty a cache
    #[arg(long, value_name = "COMMAND", env = "PRONY_CI_RESET", hide_env_values = true)]
    pub(crate) reset: Option<String>,
    /// The path to request [default: /]
    #[arg(long, value_name = "PATH", env = "PRONY_CI_PATH", hide_env_values = true)]
    pub(crate) path: Option<String>,
    /// Flags for `prony bench`, in one argument and quoted as in a shell: '-c 100 -d 5s --blocks 8'
    ///
    /// Without -d, -n or --stage the window is `-d auto`
    #[arg(
        long,
        value_name = "FLAGS",
        env = "PRONY_CI_LOAD",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    pub(crate) load: Option<String>,
    /// Measure for at most this long, `15m` [default: no limit]
    #[arg(long, value_name = "TIME", env = "PRONY_CI_BUDGET", hide_env_values = true)]
    pub(crate) budget: Option<String>,
    /// Exit code 1 if one of these holds: `slower`, `worse`, `inconclusive`, `'p99>+5%'` (separated by commas)
    ///
    /// `worse` also judges CPU per request and memory. Exit code 4 if a condition cannot be judged
    #[arg(long, value_name = "CONDITIONS", env = "PRONY_CI_FAIL_IF", hide_env_values = true)]
    pub(crate) fail_if: Option<String>,
    /// The smallest difference that matters, `throughput=1%` (separated by commas)
    ///
    /// [default: 2% for throughput, 5% for all others]
    #[arg(long, value_name = "FIGURE=SHARE", env = "PRONY_CI_MARGIN", hide_env_values = true)]
    pub(crate) margin: Option<String>,
}

/// Compares the repository's current state with a commit.
#[derive(Debug, Args)]
pub(crate) struct CiCompareArguments {
    #[command(flatten)]
    pub(crate) served: ServedArguments,
    /// The commit, tag or branch to compare with [default: the base of this job's pull request]
    ///
    /// Or of its merge request. It is fetched from `origin` if the repository does not have it
    #[arg(long, value_name = "REVISION", env = "PRONY_CI_BASE", hide_env_values = true)]
    pub(crate) base: Option<String>,
    /// Measure both at the same time, each on half of the CPUs; needs a rate (-R) in --load
    #[arg(long, env = "PRONY_CI_DUET", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub(crate) duet: bool,
    /// Add blocks until the 95 % confidence interval of the ratio is within ±SHARE [default: 2%; with --duet, or
    /// with --blocks in --load, the number of blocks is fixed]
    #[arg(long, value_name = "SHARE", env = "PRONY_CI_PRECISION", hide_env_values = true)]
    pub(crate) precision: Option<String>,
    /// Exit code 1 if one of these thresholds is missed: `p99<50ms` (separated by commas)
    #[arg(long, value_name = "THRESHOLDS", env = "PRONY_CI_SLO", hide_env_values = true)]
    pub(crate) slo: Option<String>,
    /// When to show which functions' CPU time per request grew, by one more trial of each under `perf record`: `always`,
    /// `never`, or `grown`, where it grew and perf can be used [default: grown]
    #[arg(
        long,
        value_name = "WHEN",
        env = "PRONY_CI_PROFILE",
        hide_env_values = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always"
    )]
    pub(crate) profile: Option<String>,
    /// Also show the figures that nothing asks for: start-up time, and response times along the tail
    #[arg(long, env = "PRONY_CI_ALL", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub(crate) all: bool,
    /// The folder for run log, HTML page, comparison and JUnit XML
    ///
    /// Those of an earlier comparison are replaced
    #[arg(
        short = 'o',
        long,
        value_name = "DIR",
        default_value = "prony-ci",
        env = "PRONY_CI_OUTPUT",
        hide_env_values = true
    )]
    pub(crate) output: String,
    /// Exit as `git bisect run` takes it: 0 if no condition of --fail-if holds [default: slower], 1 if one does, 125 if
    /// neither is sure or the change cannot be built or started, 128 if the command or the base is wrong
    #[arg(long, env = "PRONY_CI_GIT_BISECT", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub(crate) git_bisect: bool,
}

/// Comments on a pull request.
#[derive(Debug, Args)]
pub(crate) struct CiCommentArguments {
    /// The folder that `prony ci compare` wrote
    #[arg(default_value = "prony-ci", env = "PRONY_CI_OUTPUT", hide_env_values = true)]
    pub(crate) output: String,
    /// A name for this comparison, needed if several comment on one pull request: each updates its own comment
    #[arg(long, value_name = "TEXT", env = "PRONY_CI_NAME", hide_env_values = true)]
    pub(crate) name: Option<String>,
}
