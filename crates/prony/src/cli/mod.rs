//! The command line's flags. Values stay text here where our own message says more
//! than the parser's; [`super::commands`] parses them.

mod bench;
mod capacity;
mod ci;
mod compare;
mod completions;
mod doctor;
mod fleet;
pub(crate) mod foreign_flags;
mod history;
mod load;
mod report;
mod schema;
mod serve;
mod servers;
mod target;

use clap::{Parser, Subcommand};

pub(crate) use bench::{BenchArguments, Disturbed};
pub(crate) use capacity::CapacityArguments;
pub(crate) use ci::{CiArguments, CiCommand, CiCommentArguments, CiCompareArguments};
pub(crate) use compare::{CompareArguments, CompareFormat};
pub(crate) use completions::{CompletionsArguments, ManArguments, Shell};
pub(crate) use doctor::{DoctorArguments, DoctorFormat};
pub(crate) use fleet::{
    AgentArguments, AgentRole, FleetArguments, FleetCommand, FleetOptions, KeyArguments, ManifestFormat,
    ManifestsArguments, NatsOptions,
};
pub(crate) use history::{HistoryArguments, HistoryFormat};
pub(crate) use load::{LoadArguments, OneTargetOptions};
pub(crate) use report::{ReportArguments, ReportFormat};
pub(crate) use schema::{Document, SchemaArguments};
pub(crate) use serve::ServeArguments;
pub(crate) use servers::{ListFormat, RuntimeArguments, ServersArguments, ServersCommand};
pub(crate) use target::TargetArguments;

/// Load-tests HTTP servers: applies a known load and reports throughput, latency and
/// the server's use of CPU and memory, with confidence intervals
#[derive(Debug, Parser)]
#[command(name = "prony", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 success; 1 a threshold was missed (--slo, --fail-if); 2 the command line or a \
file is wrong; 3 the target could not be loaded, or nothing valid was measured; 4 not judged: a figure that --fail-if, --slo or \
--precision names was withheld or missing; 130 interrupted.";

/// What `prony` alone says.
pub(crate) const FIRST_STEPS: &str = "\
Load one server           prony load http://127.0.0.1:8080/
Find the highest rate     prony capacity http://127.0.0.1:8080/
Compare two builds        prony bench --candidate old='./old --port {port}' --candidate new='./new --port {port}'

Without a URL, prony load starts a test server and loads that. All commands: prony --help";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load-tests one URL and reports throughput and latency
    Load(Box<LoadArguments>),
    /// Runs an experiment: compares servers and their settings under the same loads
    Bench(Box<BenchArguments>),
    /// Searches for the highest request rate that a server sustains
    Capacity(Box<CapacityArguments>),
    /// Shows a run log: in the terminal, or as Markdown, JSON, CSV, one HTML page and more
    Report(ReportArguments),
    /// Lists, installs and checks the servers of the catalogue
    Servers(ServersArguments),
    /// Runs the reference server: responses with known delays, and exact counts of requests
    Target(TargetArguments),
    /// Serves run logs as web pages on this machine
    Serve(ServeArguments),
    /// Shows a figure over many runs, and the runs at which its level changed
    History(HistoryArguments),
    /// Compares two candidates or runs: faster, slower, equivalent or inconclusive
    Compare(CompareArguments),
    /// Compares a change with its base in a CI job, and comments on the pull request
    Ci(CiArguments),
    /// Finds what on this host distorts results, and how to fix it
    Doctor(DoctorArguments),
    /// Shows and installs what `prony load --fleet` needs: nats-server, keys, manifests
    Fleet(FleetArguments),
    /// Waits for a controller (`prony load --fleet nats://…`) and applies its share of the load
    Agent(AgentArguments),
    /// Prints the JSON Schema of an output format
    Schema(SchemaArguments),
    /// Prints the script that completes Prony's commands in bash, zsh or fish
    Completions(CompletionsArguments),
    /// Writes the manual pages into a folder
    Man(ManArguments),
}
