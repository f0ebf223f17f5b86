//! `prony history`.

use clap::{Args, ValueEnum};
use prony_analysis::history;

/// Shows a figure over many runs.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// A folder of run logs (*.jsonl)
    #[arg(default_value = "runs")]
    pub(crate) folder: String,
    #[arg(long, value_name = "NAME", default_value = "throughput", help = figure_help())]
    pub(crate) figure: String,
    /// Show each figure as its ratio to that of this candidate, such as the last release, in the same run: absolute
    /// figures differ between machines
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

fn figure_help() -> String {
    let names: Vec<&str> = history::figures().map(|figure| figure.name).collect();
    format!("The figure: {}", names.join(", "))
}
