//! `prony bisect`: what `prony ci compare` is told of an application, without the variables of a job, and the flags of a
//! load.

use clap::builder::Resettable;
use clap::{Args, value_parser};
use prony_model::options::LoadOptions;

use super::ServedArguments;

/// Blocks of a first look at most: the fifth has sixteen times as many, and a run a thousand.
const BLOCKS_MAX: i64 = 60;

/// Finds a commit.
#[derive(Debug, Args)]
#[command(
    mut_args(|arg| arg.env(Resettable::Reset)),
    mut_arg("build", |arg| arg.long_help(Resettable::Reset).help("The command that builds the server, run by `sh` in the application's \
    folder, once for each commit that is tried")),
    mut_arg("services", |arg| arg.long_help(Resettable::Reset).help("Start what the server needs, such as a database: NAME='COMMAND {port}' \
    (repeatable)")),
    mut_arg("load", |arg| arg.long_help(Resettable::Reset).help("More flags for `prony bench`, in one argument and quoted as in a shell: \
    '--pin server=1 --pin client=0'")),
    mut_arg("budget", |arg| arg.help("Take at most this long, `2h`; what is left is then named as open [default: no limit]")),
    mut_arg("fail_if", |arg| arg.long_help(Resettable::Reset).help("What makes a commit bad: `slower`, `worse`, `'p99>+5%'` (separated by commas) \
    [default: slower]. Of `slower` and `worse` it is half of what --bad is found to lose")),
)]
pub(crate) struct BisectArguments {
    #[command(flatten)]
    pub(crate) served: ServedArguments,
    #[command(flatten)]
    pub(crate) plan: LoadOptions,
    /// A commit, tag or branch before the loss; each commit that is tried is compared with it
    #[arg(long, value_name = "REVISION")]
    pub(crate) good: String,
    /// A commit, tag or branch that has the loss; --good is among its ancestors
    ///
    /// The commits between are those of its first parents: of a merge the branch is not tried
    #[arg(long, value_name = "REVISION", default_value = "HEAD")]
    pub(crate) bad: String,
    /// Blocks of the first look at a commit; while it is undecided they are doubled, four times at most
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u32).range(2..=BLOCKS_MAX))]
    pub(crate) blocks: u32,
    /// Write the result as JSON to FILE; `-` is standard output
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<String>,
    /// A new folder for the result and each commit's run log and HTML page [default: runs/DATE-bisect]
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) output: Option<String>,
}
