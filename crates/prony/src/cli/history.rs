//! `prony history`.

use clap::{Args, ValueEnum};

/// Shows a figure over many runs.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// A folder of run logs (*.jsonl)
    #[arg(default_value = "runs")]
    pub(crate) folder: String,
    /// The figure: throughput, p50, p75, p90, p95, p99, p999, p9999, p99999, mean, cpu (per request), memory or startup
    #[arg(long, value_name = "NAME", default_value = "throughput")]
    pub(crate) figure: String,
    /// Show each figure as its ratio to that of this candidate in the same run, such as the last release: absolute figures
    /// of hosted machines change with the machine
    #[arg(long, value_name = "CANDIDATE")]
    pub(crate) relative_to: Option<String>,
    /// Only these candidates or plans (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// The output format
    #[arg(long, value_enum, default_value_t = HistoryFormat::Terminal)]
    pub(crate) format: HistoryFormat,
    /// Write to FILE instead of standard output [default for html: history.html]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
}

/// The formats of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormat {
    /// Text for a terminal
    Terminal,
    /// JSON: prony.history/1
    Json,
    /// One self-contained HTML page of all figures
    Html,
}
