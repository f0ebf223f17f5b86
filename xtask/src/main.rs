//! Tasks of the repository, in the language of the repository.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to its developer")]

mod action;
mod circles;
mod containers;
mod coverage;
mod curl_tests;
mod dist;
mod docs;
mod e2e;
mod engine;
mod files;
mod flame;
mod fleet_cost;
mod fuzz;
mod gate;
mod h2spec;
mod hammer;
mod http2_counts;
mod links;
mod loopback;
mod median;
mod other_host;
mod packages;
mod page;
mod peers;
mod programs;
mod release;
mod replication;
mod replications;
mod rotation;
mod shop;
mod site;
mod soak;
mod suite;
mod tidy;
mod truth;
mod two_hosts;
mod view_cost;
mod web;
mod web_data;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use view_cost::View;

#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Run the tests, and show what takes longest
    Test,
    /// Run the tests again and again under conditions that no verdict may depend on
    Hammer(hammer::Asked),
    /// Hold the tree to its own rules
    Tidy,
    /// Write the generated pages
    Docs,
    /// Make, and try, what a release consists of
    Dist(dist::Asked),
    /// Drive the release binary against real servers
    E2e,
    /// Run the steps of GitHub's action and of GitLab's template
    Action,
    /// Run servers in containers
    Containers,
    /// Compare two commits of an application over a database
    Shop,
    /// Compare commits that compute, and look whether the profile names the function
    Flame,
    /// Make a site of docs/
    Site(site::Asked),
    /// Open the web page in a browser; --cost measures what a watched page costs a load
    Web(view_cost::Asked),
    /// Measure, by --cost, what the terminal's view costs a load
    Tui(view_cost::Asked),
    /// Simulate trials of known truth
    Coverage(coverage::Asked),
    /// Hold the release binary against known answers on real sockets
    Truth(truth::Asked),
    /// Hold what a request costs the engine against an older commit
    Gate(gate::Asked),
    /// Run the fuzz targets
    Fuzz(fuzz::Asked),
    /// Watch the memory of a long load
    Soak(soak::Asked),
    /// Measure what a fleet costs
    Fleet(fleet_cost::Asked),
    /// Run an experiment over loopback and on two hosts
    TwoHosts(two_hosts::Asked),
    /// Compare Prony with other load generators
    Peers(peers::Asked),
    /// Ask for the responses of curl's own test cases
    CurlTests(curl_tests::Asked),
    /// Ask h2spec's servers, which break HTTP/2's rules
    H2spec,
    /// Hold counts against the logs of servers that speak HTTP/2
    Http2Counts,
    /// Write the pages about published comparisons from run logs
    Replications(replications::Asked),
    /// Write the page about distributions from their package lists
    Packages(packages::Asked),
    /// What `hammer` starts: takes each core half of the time
    #[command(hide = true)]
    Busy,
    /// What `peers` starts: the parent of a tool
    #[command(hide = true)]
    Measured(peers::Measured),
    #[command(hide = true)]
    Floor(peers::floor::Asked),
    #[command(hide = true)]
    CountingServer,
}

fn main() -> ExitCode {
    let root = &root();
    let result = match Task::parse() {
        Task::Test => suite::run(root),
        Task::Hammer(asked) => hammer::run(root, &asked),
        Task::Tidy => tidy::run(root),
        Task::Docs => docs::write(root),
        Task::Dist(asked) => dist::run(root, asked),
        Task::E2e => e2e::run(root),
        Task::Action => action::run(root),
        Task::Containers => containers::run(root),
        Task::Shop => shop::run(root),
        Task::Flame => flame::run(root),
        Task::Site(asked) => site::run(root, &asked),
        Task::Web(asked) if asked.cost => view_cost::run(root, &asked, View::Page),
        Task::Web(_) => web::run(root),
        Task::Tui(asked) if asked.cost => view_cost::run(root, &asked, View::Terminal),
        Task::Tui(_) => Err("tui measures what the view costs: give --cost".to_owned()),
        Task::Coverage(asked) => coverage::run(root, &asked),
        Task::Truth(asked) => truth::run(root, &asked),
        Task::Gate(asked) => gate::run(root, &asked),
        Task::Fuzz(asked) => fuzz::run(root, &asked),
        Task::Soak(asked) => soak::run(root, &asked),
        Task::Fleet(asked) => fleet_cost::run(root, &asked),
        Task::TwoHosts(asked) => two_hosts::run(root, &asked),
        Task::Peers(asked) => peers::run(root, &asked),
        Task::CurlTests(asked) => curl_tests::run(root, &asked),
        Task::H2spec => h2spec::run(root),
        Task::Http2Counts => http2_counts::run(root),
        Task::Replications(asked) => replications::run(root, &asked),
        Task::Packages(asked) => packages::run(root, &asked),
        Task::Busy => hammer::busy(),
        Task::Measured(asked) => peers::measured(&asked),
        Task::Floor(asked) => peers::floor::run(&asked),
        Task::CountingServer => peers::counting::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// The binary that is checked: `$PRONY`, or this tree's.
fn prony(root: &Path) -> Result<PathBuf, String> {
    std::env::var_os("PRONY").map_or_else(|| own_prony(root), |named| built(named.into()))
}

/// What `make build` leaves: it alone is of the commit that a stored page names.
fn own_prony(root: &Path) -> Result<PathBuf, String> {
    built(root.join("target/release/prony"))
}

fn built(binary: PathBuf) -> Result<PathBuf, String> {
    if binary.is_file() { Ok(binary) } else { Err(format!("{} is not built: make build", binary.display())) }
}

fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}
