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
    /// Builds a change and its base, measures both in alternation, and says which is faster
    Compare(Box<CiCompareArguments>),
    /// Posts the result of `prony ci compare` as a comment on the pull request or merge request, or updates that
    /// comment; the token is read from PRONY_CI_TOKEN
    Comment(CiCommentArguments),
}

/// Compares the repository's current state with a commit.
#[derive(Debug, Args)]
pub(crate) struct CiCompareArguments {
    /// A plan file, whose load both are measured under: its options, thresholds and the path of its URL; --load, --slo
    /// and --path override them
    #[arg(value_name = "PLAN.toml", env = "PRONY_CI_PLAN", hide_env_values = true)]
    pub(crate) plan: Option<String>,
    /// The command that starts the server, run by `sh` in the application's folder; it contains {port}
    #[arg(long, value_name = "COMMAND", env = "PRONY_CI_SERVE", hide_env_values = true)]
    pub(crate) serve: String,
    /// The command that builds the server, run by `sh` in the same folder, once for the change and once for the base
    #[arg(long, value_name = "COMMAND", env = "PRONY_CI_BUILD", hide_env_values = true)]
    pub(crate) build: Option<String>,
    /// The commit, tag or branch to compare with; it is fetched from `origin` where it is missing [default: the base of
    /// the pull request or merge request of this job]
    #[arg(long, value_name = "REVISION", env = "PRONY_CI_BASE", hide_env_values = true)]
    pub(crate) base: Option<String>,
    /// The application's folder, in a git repository [default: the current one]
    #[arg(long, value_name = "DIR", env = "PRONY_CI_DIRECTORY", hide_env_values = true)]
    pub(crate) directory: Option<String>,
    /// Start what the server needs beside it, a database or an upstream: NAME='COMMAND {port}', for both alike; --serve has
    /// its port as {NAME_port}, and as NAME_PORT in its environment (repeatable; in the variable, a line each)
    #[arg(
        long = "service",
        value_name = "NAME=COMMAND",
        env = "PRONY_CI_SERVICE",
        hide_env_values = true,
        value_delimiter = '\n'
    )]
    pub(crate) services: Vec<String>,
    /// Run this command before each trial, with the services up, to fill a database or to empty a cache
    #[arg(long, value_name = "COMMAND", env = "PRONY_CI_RESET", hide_env_values = true)]
    pub(crate) reset: Option<String>,
    /// The path to request [default: /]
    #[arg(long, value_name = "PATH", env = "PRONY_CI_PATH", hide_env_values = true)]
    pub(crate) path: Option<String>,
    /// Flags for `prony bench`, as one argument: '-c 100 -d 5s --blocks 8', quoted as in a shell; without a -d, -n or
    /// --stage the window is `-d auto`
    #[arg(
        long,
        value_name = "FLAGS",
        env = "PRONY_CI_LOAD",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    pub(crate) load: Option<String>,
    /// Measure both at the same time, each on half of the CPUs; needs a rate (-R) in --load
    #[arg(long, env = "PRONY_CI_DUET", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub(crate) duet: bool,
    /// Add blocks until the confidence interval of the ratio is within ±SHARE [default: 2%; with --duet, or with
    /// --blocks in --load, the number of blocks is fixed]
    #[arg(long, value_name = "SHARE", env = "PRONY_CI_PRECISION", hide_env_values = true)]
    pub(crate) precision: Option<String>,
    /// Measure for at most this long, `15m`
    #[arg(long, value_name = "TIME", env = "PRONY_CI_BUDGET", hide_env_values = true)]
    pub(crate) budget: Option<String>,
    /// Exit code 1 if this holds: `slower`, `worse` (also in CPU per request and memory), `inconclusive`, `'p99>+5%'`
    /// (commas between); 4 if it cannot be judged
    #[arg(long, value_name = "CONDITIONS", env = "PRONY_CI_FAIL_IF", hide_env_values = true)]
    pub(crate) fail_if: Option<String>,
    /// Exit code 1 if one of these thresholds is missed: `p99<50ms` (commas between)
    #[arg(long, value_name = "THRESHOLDS", env = "PRONY_CI_SLO", hide_env_values = true)]
    pub(crate) slo: Option<String>,
    /// The smallest difference that matters: `throughput=1%` (commas between)
    #[arg(long, value_name = "FIGURE=SHARE", env = "PRONY_CI_MARGIN", hide_env_values = true)]
    pub(crate) margin: Option<String>,
    /// Also show the figures that nothing asks for: start-up time, and response times along the tail
    #[arg(long, env = "PRONY_CI_ALL", hide_env_values = true, value_parser = FalseyValueParser::new())]
    pub(crate) all: bool,
    /// The folder for the run log, its HTML page, the comparison and JUnit XML; earlier ones are replaced
    #[arg(
        short = 'o',
        long,
        value_name = "DIR",
        default_value = "prony-ci",
        env = "PRONY_CI_OUTPUT",
        hide_env_values = true
    )]
    pub(crate) output: String,
}

/// Comments on a pull request.
#[derive(Debug, Args)]
pub(crate) struct CiCommentArguments {
    /// The folder that `prony ci compare` wrote
    #[arg(default_value = "prony-ci", env = "PRONY_CI_OUTPUT", hide_env_values = true)]
    pub(crate) output: String,
    /// A name for this comparison, needed where several comment on the same pull request: each updates its own
    /// comment
    #[arg(long, value_name = "TEXT", env = "PRONY_CI_NAME", hide_env_values = true)]
    pub(crate) name: Option<String>,
}
