//! The command line's flags. Values stay text here where our own message says more
//! than the parser's; [`super::commands`] parses them.

mod bench;
mod bisect;
mod capacity;
mod ci;
mod compare;
mod completions;
mod doctor;
mod fleet;
pub(crate) mod foreign_flags;
pub(crate) mod help;
mod history;
mod load;
mod publish;
mod report;
mod schema;
mod serve;
mod servers;
mod target;

use clap::{Parser, Subcommand};

pub(crate) use bench::{BenchArguments, Disturbed, ProfileWhen};
pub(crate) use bisect::BisectArguments;
pub(crate) use capacity::CapacityArguments;
pub(crate) use ci::{CiArguments, CiCommand, CiCommentArguments, CiCompareArguments, ServedArguments};
pub(crate) use compare::{CompareArguments, CompareFormat};
pub(crate) use completions::{CompletionsArguments, ManArguments, Shell};
pub(crate) use doctor::{DoctorArguments, DoctorFormat};
pub(crate) use fleet::{
    AgentArguments, AgentRole, FleetArguments, FleetCommand, FleetOptions, KeyArguments, ManifestFormat,
    ManifestsArguments, NatsOptions,
};
pub(crate) use history::{HistoryArguments, HistoryFormat};
pub(crate) use load::{LoadArguments, OneTargetOptions};
pub(crate) use publish::PublishArguments;
pub(crate) use report::{ReportArguments, ReportFormat};
pub(crate) use schema::{Document, SchemaArguments};
pub(crate) use serve::ServeArguments;
pub(crate) use servers::{ListFormat, RuntimeArguments, ServersArguments, ServersCommand};
pub(crate) use target::TargetArguments;

/// Load-tests HTTP servers, and compares them with confidence intervals
#[derive(Debug, Parser)]
#[command(name = "prony", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Loads one URL and reports throughput and latency
    Load(Box<LoadArguments>),
    /// Measures several servers, or builds of one, under the same loads
    Bench(Box<BenchArguments>),
    /// Searches for the highest request rate that a server sustains
    Capacity(Box<CapacityArguments>),
    /// Shows a run log as text, HTML, Markdown, JSON, CSV and more
    Report(ReportArguments),
    /// Lists, installs and checks the servers of the catalogue
    Servers(ServersArguments),
    /// Runs a test server: known delays, exact counts of requests
    Target(TargetArguments),
    /// Shows run logs as web pages
    Serve(ServeArguments),
    /// Writes run logs as a static web site, with their data
    Publish(PublishArguments),
    /// Shows a figure over many runs, and where its level changed
    History(HistoryArguments),
    /// Compares two results: faster, slower, equivalent, inconclusive
    Compare(CompareArguments),
    /// Compares a change with its base in a CI job, and comments on it
    Ci(CiArguments),
    /// Finds the commit that made a figure worse
    Bisect(Box<BisectArguments>),
    /// Finds what on this machine distorts results, and how to fix it
    Doctor(DoctorArguments),
    /// Prepares loads from several machines: nats-server, keys
    Fleet(FleetArguments),
    /// Waits for a controller and applies its share of a load
    ///
    /// The controller is `prony load --fleet nats://…`; --fleet ssh: and local: start their agents themselves
    Agent(AgentArguments),
    /// Prints the JSON Schema of an output format
    Schema(SchemaArguments),
    /// Prints the script that completes Prony's commands in bash, zsh or fish
    Completions(CompletionsArguments),
    /// Writes the manual pages into a folder
    Man(ManArguments),
}
