//! `prony compare`.

use clap::{Args, ValueEnum};

/// Compares two candidates or runs.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Two run logs, A.jsonl B.jsonl; or one and two of its candidates, RUN.jsonl base head (the names may be left out
    /// if it has only two)
    #[arg(required = true, num_args = 1..=3, value_name = "RUN|CANDIDATE")]
    pub(crate) what: Vec<String>,
    /// The candidate to compare; given twice, that of A and that of B
    #[arg(long = "candidate", value_name = "NAME")]
    pub(crate) candidates: Vec<String>,
    /// The smallest difference that matters, `throughput=1%` or `p99=10%` (repeatable)
    /// [default: 2% for throughput, 5% for all others]
    #[arg(long, value_name = "FIGURE=SHARE")]
    pub(crate) margin: Vec<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t = CompareFormat::Terminal)]
    pub(crate) format: CompareFormat,
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Exit code 1 if B is `slower` in throughput, p50 or p99, if it is `worse` in these, CPU per request or memory, if one of
    /// the former is `inconclusive`, or if a change is surely beyond a limit: `'p99>+5%'`, `'throughput<-3%'` (repeatable,
    /// or comma-separated); 4 if the figure is not there to be judged
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// A folder of run logs: two runs are compared by how five or more earlier ones of A's kind (A among them) vary; without
    /// it two runs have no verdict
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<String>,
    /// Also show the figures that nothing asks for: start-up time, and response times along the tail
    #[arg(long)]
    pub(crate) all: bool,
    /// Compare despite different hosts, plans, sampling methods or versions of Prony; the output names the differences
    #[arg(long)]
    pub(crate) force: bool,
}

/// The formats of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// A table for a terminal
    Terminal,
    /// Tables for a pull request
    Markdown,
    /// JSON: a list of prony.comparison/1
    Json,
}
