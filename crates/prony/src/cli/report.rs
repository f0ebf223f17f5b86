//! `prony report`.

use clap::{Args, ValueEnum};

/// Shows a run log.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run log of `prony bench`, `prony load -o` or `prony capacity -o`
    pub(crate) run: String,
    /// The output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Terminal)]
    pub(crate) format: ReportFormat,
    /// With hgrm, hlog and monitor: only the trials of this candidate or plan (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Write to FILE instead of standard output [default for html: the run log's name with .html]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// With markdown and -o: draw plots as SVG files beside FILE (NAME-1.svg …), which the Markdown shows
    #[arg(long)]
    pub(crate) plots: bool,
    /// Open the HTML page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// The formats of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for a terminal
    Terminal,
    /// Markdown tables, for a README or a pull request
    Markdown,
    /// The whole analysis: prony.analysis/1
    Json,
    /// A JSON object per line for each trial, judged by this version of Prony: prony.trial/1 with its place in the
    /// run
    Trials,
    /// One self-contained HTML page
    Html,
    /// CSV: a row per plan and candidate, or per trial of `prony load`
    Csv,
    /// JUnit XML for CI: a test case per plan and candidate
    Junit,
    /// A step summary for GitHub Actions; appended to $GITHUB_STEP_SUMMARY if that is set and -o is not given
    Github,
    /// OpenMetrics text with one sample for each figure of each trial
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// The percentiles of one candidate under one plan, for HdrHistogram's plotter
    Hgrm,
    /// A histogram per second for one candidate under one plan, for the HdrHistogram libraries
    Hlog,
    /// CSV: what the machines did in each second of each trial, by CPU: user, system, idle …, memory, network
    Monitor,
    /// Bencher Metric Format: throughput, response and CPU per request of each candidate under each plan
    Bmf,
    /// For github-action-benchmark, customSmallerIsBetter: p50, p99 and CPU per request
    Gab,
    /// For github-action-benchmark, customBiggerIsBetter: throughput
    GabThroughput,
}
