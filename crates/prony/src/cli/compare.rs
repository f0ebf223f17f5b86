//! `prony compare`.

use clap::{Args, ValueEnum};

/// Compares two candidates or runs.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Two run logs, A.jsonl B.jsonl; or one run log and two of its candidates, RUN.jsonl base head (without names
    /// if it has only two candidates)
    #[arg(required = true, num_args = 1..=3, value_name = "RUN|CANDIDATE")]
    pub(crate) what: Vec<String>,
    /// The candidate to compare, in both run logs; if given twice, the first is that of A and the second that of B
    #[arg(long = "candidate", value_name = "NAME")]
    pub(crate) candidates: Vec<String>,
    /// The smallest difference that matters, `throughput=1%` or `p99=10%` (repeatable) [default: 2% for throughput,
    /// 5% for all others]
    #[arg(long, value_name = "FIGURE=SHARE")]
    pub(crate) margin: Vec<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t = CompareFormat::Terminal)]
    pub(crate) format: CompareFormat,
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Exit code 1 if B is `slower`, `worse` or `inconclusive`, or beyond a limit, `'p99>+5%'` (repeatable)
    ///
    /// `slower` judges throughput, p50 and p99, and so does `inconclusive`; `worse` judges CPU per request and
    /// memory, too. A limit, `'throughput<-3%'`, is exceeded if the whole confidence interval of the change is
    /// beyond it. Several conditions may also be separated by commas. Exit code 4 if a figure cannot be judged
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// A folder with five or more run logs like A: their spread is the noise by which two runs are judged
    ///
    /// A may be one of them. Without this flag, two runs have no verdict
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<String>,
    /// Also show the figures that nothing asks for: start-up time, and response times along the tail
    #[arg(long)]
    pub(crate) all: bool,
    /// Compare although hosts, plans, sampling methods or versions of Prony differ
    ///
    /// The output names the differences
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
