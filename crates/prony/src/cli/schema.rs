//! `prony schema`.

use clap::{Args, ValueEnum};

/// Prints the JSON Schema of an output format.
#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// The output to describe
    #[arg(value_enum, default_value_t = Document::Trial)]
    pub(crate) of: Document,
}

/// What Prony writes as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// `load --json`: prony.trial/1
    Trial,
    /// `load --repeat N --json`: prony.repeat/1
    Repeat,
    /// A line of a run log (`bench`, `load -o`): prony.run/2
    Run,
    /// `capacity --json`: prony.capacity/1
    Capacity,
    /// `report --format json`: prony.analysis/1
    Analysis,
    /// `compare --format json`: a list of prony.comparison/1
    Comparison,
    /// `history --format json`: prony.history/1
    History,
    /// `bisect --json`: prony.bisection/1
    Bisection,
}
