//! What a request costs on either side: instructions, which are counted, and CPU time, which is measured.

use std::path::Path;
use std::process::Command;

use prony_stats::Interval;
use serde_json::Value;

use super::trees::Tree;
use crate::files;
use crate::median::{pairs, ratio, real};
use crate::peers::{Kind, Server, tls_lacks};
use crate::programs::{self, is_there};

/// The loads that are counted, and the tests that apply them; `streams` is HTTP/2's, on connections of 32.
pub(super) const COUNTED: [(&str, &str); 4] = [
    ("closed", "sim::tests::counted::closed"),
    ("pipelined", "sim::tests::counted::pipelined"),
    ("open", "sim::tests::counted::open"),
    ("streams", "sim::streams::counted::streams"),
];
/// What starting and ending take is in both counts, and not in their difference.
const REQUESTS: [u64; 2] = [10_000, 50_000];
/// Calls of the simulated world: what it does for the worker is not the worker's.
const WORLDS: [&str; 2] = ["*SimNet as *Net>::*", "*any_order::Network<*as *Net>::*"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// CPU time per request, in nanoseconds.
    CpuTime,
    /// The most memory that the client held, in bytes.
    Memory,
}

pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) flags: &'static str,
    server: Kind,
    pub(super) cost: Cost,
}

/// The open rate is a fraction of a core's.
pub(super) const LOADS: [Load; 6] = [
    Load { name: "closed", flags: "-c 10", server: Kind::Target(&[]), cost: Cost::CpuTime },
    Load { name: "pipelined", flags: "-c 10 --pipeline 16", server: Kind::Target(&[]), cost: Cost::CpuTime },
    Load { name: "open", flags: "-c 20 -R 5000", server: Kind::Target(&[]), cost: Cost::CpuTime },
    Load { name: "tls", flags: "-c 10 -k", server: Kind::Tls, cost: Cost::CpuTime },
    Load { name: "bodies", flags: "-c 4", server: Kind::Target(&["--body", "1048576"]), cost: Cost::CpuTime },
    Load { name: "memory", flags: "-c 8000", server: Kind::Target(&[]), cost: Cost::Memory },
];
const LENGTH: &str = "-t 1 -d 2s --warmup 300ms";

/// Instructions per request of the simulated worker, the base's and this tree's.
pub(super) fn instructions(trees: &[Tree; 2], test: &str, scratch: &Path) -> Result<[f64; 2], String> {
    let [few, many] = REQUESTS;
    let per_request = |tree| -> Result<f64, String> {
        Ok(real(count(tree, test, many, scratch)? - count(tree, test, few, scratch)?) / real(many - few))
    };
    let [base, head] = trees;
    Ok([per_request(base)?, per_request(head)?])
}

fn count(tree: &Tree, test: &str, requests: u64, scratch: &Path) -> Result<u64, String> {
    if !is_there("valgrind", "--version") {
        return Err("valgrind counts instructions, and is not here: apt-get install valgrind".to_owned());
    }
    let file = scratch.join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind
        // In this order: a switch alone would count the world and nothing else.
        .args(["--tool=callgrind", "--quiet"])
        .args(WORLDS.map(|world| format!("--toggle-collect={world}")))
        .arg("--collect-atstart=yes")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&tree.tests)
        .args(["--exact", test, "--test-threads=1"])
        .env("PRONY_COUNTED", requests.to_string());
    let out = programs::text(&mut valgrind)?;
    if !out.contains("1 passed") {
        return Err(format!("there is no counted load {test}: {out}"));
    }
    let text = files::read(&file)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or_else(|| format!("{}: Callgrind left no total", file.display()))
}

/// So many pairs of loads, the base's and this tree's, on one CPU, in turns first; and this tree's ratio to the base's.
pub(super) fn paired(
    trees: &[Tree; 2],
    load: &Load,
    count: usize,
    scratch: &Path,
) -> Result<(Vec<[f64; 2]>, Interval), String> {
    let cpus = prony_host::cpus::allowed();
    let (Some(client), Some(last)) = (cpus.first(), cpus.last()) else {
        return Err("this machine does not say which CPUs it has".to_owned());
    };
    if let Some(why) = tls_lacks().filter(|_| load.server == Kind::Tls) {
        return Err(why);
    }
    let server = Server::start(&trees[1].prony, load.server, *last, scratch)?;
    let pairs = pairs(count, |side| one(&trees[side].prony, load, &server.url, *client))?;
    let ratio = ratio(pairs.iter().copied())?;
    Ok((pairs, ratio))
}

fn one(prony: &Path, load: &Load, url: &str, cpu: u32) -> Result<f64, String> {
    let mut command = Command::new(prony);
    command.args(["load", url, "-q", "--json", "-", "--pin", &cpu.to_string()]);
    let trial = programs::json(command.args(LENGTH.split(' ').chain(load.flags.split(' '))))?;
    let number = |path: &str| trial.pointer(path).and_then(Value::as_f64);
    let (Some(completed), Some(0.0)) = (number("/requests/completed"), number("/requests/failed")) else {
        return Err(format!("not all of the load was carried: {}", trial["requests"]));
    };
    if completed == 0.0 {
        return Err("a load completed no request: the machine had no time for it".to_owned());
    }
    let found = match load.cost {
        // Not `client.cpu_per_request_ns`, which is rounded to a nanosecond.
        Cost::CpuTime => number("/client/cpu_ns").map(|cpu_ns| cpu_ns / completed),
        Cost::Memory => number("/client/max_rss_bytes"),
    };
    found.ok_or_else(|| format!("the load does not say what it cost: {}", trial["client"]))
}
