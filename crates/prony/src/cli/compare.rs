//! `prony compare`.

use clap::{Args, ValueEnum};

/// Compares two.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Two run logs, A.jsonl B.jsonl; or one, and two of its candidates: RUN.jsonl base head (which may
    /// be left out where it has only two)
    #[arg(required = true, num_args = 1..=3, value_name = "RUN|CANDIDATE")]
    pub(crate) what: Vec<String>,
    /// The candidates to compare, A's first; one name is looked for in both runs (at most twice)
    #[arg(long = "candidate", value_name = "NAME")]
    pub(crate) candidates: Vec<String>,
    /// The smallest difference that matters, `throughput=1%` or `p99=10%` (repeatable)
    /// [default: 2% of throughput, 5% of everything else]
    #[arg(long, value_name = "FIGURE=SHARE")]
    pub(crate) margin: Vec<String>,
    /// The form
    #[arg(long, value_enum, default_value_t = CompareFormat::Terminal)]
    pub(crate) format: CompareFormat,
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Exit code 1 where B is `slower` (throughput, p50 or p99), where those are `inconclusive`, or where
    /// a change is surely beyond `'p99>+5%'` or `'throughput<-3%'` (repeatable, or with commas between)
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Compare across hosts, plans, sampling methods and versions of Prony all the same; the output says so
    #[arg(long)]
    pub(crate) force: bool,
}

/// The forms of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// A table for a terminal
    Terminal,
    /// For a pull request
    Markdown,
    /// Everything, `prony.comparison/1`
    Json,
}
