//! `prony report`.

use clap::{Args, ValueEnum};

/// Shows a run log.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run log of `prony bench`, or of `prony load -o`
    pub(crate) run: String,
    /// The form
    #[arg(long, value_enum, default_value_t = ReportFormat::Terminal)]
    pub(crate) format: ReportFormat,
    /// With hgrm and hlog: the trials of this candidate or plan; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Write to FILE instead of standard output [default for html: the run log's name with .html]
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Open the HTML page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for a terminal
    Terminal,
    /// For a README or a pull request
    Markdown,
    /// The whole analysis
    Json,
    /// Each trial as judged now, a JSON object a line: prony.trial/1 with its place in the run
    Trials,
    /// One self-contained page
    Html,
    /// The ranking's rows
    Csv,
    /// JUnit XML for CI: a test case for each candidate and plan
    Junit,
    /// A step summary of GitHub Actions; appended to $GITHUB_STEP_SUMMARY where that is set and -o is not given
    Github,
    /// `OpenMetrics`' text, a sample for each figure of each trial
    #[value(name = "openmetrics")]
    OpenMetrics,
    /// The percentile table of one candidate under one plan, for `HdrHistogram`'s plotter
    Hgrm,
    /// Its interval log, for the `HdrHistogram` libraries
    Hlog,
}
