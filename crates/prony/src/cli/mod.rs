//! What the user may type. Values stay text here where a sentence of our own
//! says more than a parser's; [`super::commands`] gives them their meaning.

mod bench;
mod capacity;
mod compare;
mod doctor;
mod history;
mod load;
mod report;
mod schema;
mod serve;
mod servers;
mod target;
pub(crate) mod traps;

use clap::{Parser, Subcommand};

pub(crate) use bench::BenchArguments;
pub(crate) use capacity::CapacityArguments;
pub(crate) use compare::{CompareArguments, CompareFormat};
pub(crate) use doctor::{DoctorArguments, DoctorFormat};
pub(crate) use history::{HistoryArguments, HistoryFormat};
pub(crate) use load::LoadArguments;
pub(crate) use report::{ReportArguments, ReportFormat};
pub(crate) use schema::{Document, SchemaArguments};
pub(crate) use serve::ServeArguments;
pub(crate) use servers::{ListFormat, RuntimeArguments, ServersArguments, ServersCommand};
pub(crate) use target::TargetArguments;

/// Puts HTTP servers on the brake: applies a known load, and says how much a
/// server carries, how quickly it answers, what that costs and how far to believe it.
#[derive(Debug, Parser)]
#[command(name = "prony", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a threshold asked for was missed; 2 the command or a file is wrong; \
3 the target could not be loaded, or nothing valid was measured; 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Loads one target and says how it bears it
    Load(Box<LoadArguments>),
    /// Runs an experiment: many servers, many settings, side by side
    Bench(Box<BenchArguments>),
    /// Searches for the highest rate that a target sustains
    Capacity(Box<CapacityArguments>),
    /// Shows a run log: on the terminal, as Markdown, JSON, CSV, or one HTML page
    Report(ReportArguments),
    /// The catalogue of servers: list, install, check, new
    Servers(ServersArguments),
    /// The reference server, whose truth is known
    Target(TargetArguments),
    /// Shows run logs as web pages, on this machine
    Serve(ServeArguments),
    /// Shows a figure over many runs, and where its level changed
    History(HistoryArguments),
    /// Says which of two is faster, slower or equivalent, or that these trials don't tell
    Compare(CompareArguments),
    /// What on this host distorts results, and what mends it
    Doctor(DoctorArguments),
    /// The JSON Schemas of what Prony writes
    Schema(SchemaArguments),
}
