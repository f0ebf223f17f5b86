//! Tasks of the repository, in the language of the repository.
//!
//! `cargo xtask test` runs the tests and shows what takes longest, `cargo xtask hammer` runs them again and again under
//! conditions that no verdict may depend on; `cargo xtask tidy` holds the tree to its own rules; `cargo xtask docs`
//! writes the generated pages; `cargo xtask dist` makes and tries what a release consists of; `cargo xtask e2e` drives the
//! release binary against real servers, `cargo xtask action` the steps of GitHub's action, `cargo xtask containers` against
//! some in containers; `cargo xtask site` makes a site of docs/;
//! `cargo xtask peers` compares Prony with other load
//! generators; `cargo xtask fuzz` runs the fuzz targets; `cargo xtask soak` watches
//! the memory of a long load; `cargo xtask fleet` measures what a fleet costs; `cargo xtask two-hosts` runs an experiment over
//! loopback and on two hosts; `cargo xtask web` opens the web page in a browser;
//! `cargo xtask site` builds the documentation's site;
//! `cargo xtask tui --cost` measures what the terminal's view costs a load;
//! `cargo xtask coverage` simulates trials of known truth; `cargo xtask truth` holds the
//! release binary against known answers on real sockets; `cargo xtask gate` holds what a request costs the engine against
//! an older commit; `cargo xtask curl-tests` asks it for the responses of curl's own test cases, `cargo xtask h2spec`
//! for those of h2spec's servers, which break HTTP/2's rules; `cargo xtask http2-counts` holds its counts against the logs
//! of servers that speak HTTP/2; `cargo xtask replications` writes the pages about published comparisons from run logs,
//! `packages` the page about distributions from their package lists.
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
mod fleet_cost;
mod fuzz;
mod gate;
mod h2spec;
mod hammer;
mod http2_counts;
mod links;
mod median;
mod other_host;
mod packages;
mod peers;
mod release;
mod replication;
mod replications;
mod rotation;
mod site;
mod soak;
mod stored;
mod suite;
mod tidy;
mod today;
mod truth;
mod tui_cost;
mod two_hosts;
mod web;
mod web_cost;
mod web_data;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let result =
        match arguments.first().map(String::as_str) {
            Some("tidy") => tidy::run(&root()),
            Some("dist") => dist::run(&root(), rest),
            Some("docs") => docs::write(&root()),
            Some("e2e") => e2e::run(&root()),
            Some("action") => action::run(&root()),
            Some("containers") => containers::run(&root()),
            Some("test") => suite::run(&root()),
            Some("hammer") => hammer::run(&root(), rest),
            Some("gate") => gate::run(&root(), rest),
            Some("busy") => hammer::busy(),
            Some("fuzz") => fuzz::run(&root(), rest),
            Some("web") if rest.iter().any(|word| word == "--cost") => {
                web_cost::run(&root().join("target/release/prony"), rest)
            }
            Some("web") => web::run(&root()),
            Some("tui") if rest.iter().any(|word| word == "--cost") => {
                tui_cost::run(&root().join("target/release/prony"), rest)
            }
            Some("coverage") => coverage::run(&root(), rest),
            Some("h2spec") => h2spec::run(&root()),
            Some("http2-counts") => http2_counts::run(&root()),
            Some("curl-tests") => curl_tests::run(&root(), rest),
            Some("replications") => replications::run(&root(), rest),
            Some("packages") => packages::run(&root(), rest),
            Some("site") => site::run(&root(), rest),
            Some("fleet") => fleet_cost::run(&root(), rest),
            Some("two-hosts") => two_hosts::run(&root(), rest),
            Some("soak") => soak::run(&root(), rest),
            Some("peers") => peers::run(&root(), rest),
            Some("truth") => truth::run(&root(), rest),
            // What `peers` starts: this program again, as the parent of a tool, as the floor and as a server.
            Some("pinned") => peers::pinned(rest),
            Some("measured") => peers::measured(rest),
            Some("floor") => peers::floor::run(rest),
            Some("counting-server") => peers::counting::run(),
            _ => Err("usage: cargo xtask test|dist|hammer|tidy|docs|e2e|action|site|containers|web|tui --cost|coverage|fleet|two-hosts|fuzz|soak|peers|truth|gate|h2spec|http2-counts|curl-tests|replications|packages"
                .to_owned()),
        };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// The binary that is checked: `$PRONY`, or what `make build` leaves.
fn prony(root: &std::path::Path) -> PathBuf {
    std::env::var_os("PRONY").map_or_else(|| root.join("target/release/prony"), PathBuf::from)
}

fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}
