//! The same experiment over loopback and on two hosts:
//! `cargo xtask two-hosts [--prony PATH] [--only NAME]… [--scale NAME] [--blocks N] [--store]`: `quickstart` with three
//! installed servers, once as on any machine and once with `--server-host`, whose host is a network namespace of this
//! machine: only the way differs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use prony_analysis::comparison::{Comparison, ComparisonError, Options, choose, compare_candidates};
use prony_analysis::experiment::ExperimentAnalysis;
use prony_model::run_log::RunLog;
use prony_report::markdown;
use serde_json::Value;

use crate::other_host::{GIVEN, OtherHost};
use crate::page::{date, host};
use crate::programs::{self, commit};
use crate::{built, own_prony};

const EXPERIMENT: &str = "quickstart";
const SERVERS: [&str; 3] = ["nginx-fpm", "node-http", "go-net-http"];
/// Below the repository: a log's path stands in the page.
const FOLDER: &str = "target/two-hosts";
const LOGS: [&str; 2] = ["loopback.jsonl", "two-hosts.jsonl"];

#[derive(Parser)]
pub(crate) struct Asked {
    #[arg(long)]
    prony: Option<PathBuf>,
    /// Only these servers
    #[arg(long, default_values = SERVERS)]
    only: Vec<String>,
    #[arg(long)]
    scale: Option<String>,
    #[arg(long, default_value = "10")]
    blocks: String,
    /// Keep the results in docs/benchmarks/
    #[arg(long)]
    store: bool,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let other = OtherHost::start(&root.join(FOLDER).join("host"), root, &[])?.ok_or("it was not run")?;
    let binary = asked.prony.clone().map_or_else(|| own_prony(root), built)?;
    let prony = |line: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(line).current_dir(root).env("PATH", other.path());
        command
    };
    let mut line = vec!["bench", EXPERIMENT, "-q", "--blocks", &asked.blocks];
    line.extend(asked.only.iter().flat_map(|name| ["--only", name.as_str()]));
    line.extend(asked.scale.iter().flat_map(|name| ["--scale", name.as_str()]));
    let lines = [line.clone(), [line, vec!["--server-host", GIVEN]].concat()];
    let mut logs = Vec::new();
    for (name, line) in LOGS.iter().zip(&lines) {
        let log = format!("{FOLDER}/{name}");
        let _ = fs::remove_file(root.join(&log));
        println!("prony {}", line.join(" "));
        println!("{}", programs::text(&mut prony(&[line.as_slice(), &["-o", log.as_str()]].concat()))?);
        let log = prony_analysis::run_log::read(&root.join(&log)).map_err(|e| e.to_string())?;
        if let Some(skipped) = log.header.skipped.first() {
            return Err(format!("{} was skipped: {}", skipped.candidate, skipped.reason));
        }
        logs.push(log);
    }
    let [loopback, two_hosts] = logs.as_slice() else { return Err("two runs are compared".to_owned()) };
    let (refused, compared) = compare(loopback, two_hosts)?;
    if compared.len() != asked.only.len() {
        return Err(format!("{} of {} servers were measured in both", compared.len(), asked.only.len()));
    }
    let doctor = programs::json(&mut prony(&["doctor", "--host", GIVEN, "--format", "json"]))?;
    let mut text = head(root, &doctor, &lines.map(|line| format!("prony {}", line.join(" "))));
    text += &figures(&[loopback, two_hosts].map(prony_analysis::analyse), &compared);
    text += &format!("\n{WHY}\n\n`prony compare` of both logs says so, too:\n\n> {refused}\n");
    println!("{text}");
    if asked.store {
        crate::page::store(root, &format!("two-hosts-{}", date()), &text, None)?;
    }
    Ok(())
}

/// What `prony compare` says of both, and each server's figures as it compares them all the same with `--force`.
fn compare(loopback: &RunLog, two_hosts: &RunLog) -> Result<(String, Vec<Comparison>), String> {
    let pairs = choose((loopback, LOGS[0]), (two_hosts, LOGS[1]), &[]).map_err(|why| why.to_string())?;
    let forced = Options { force: true, ..Options::default() };
    let (mut refused, mut compared) = (String::new(), Vec::new());
    for (a, b) in pairs {
        match compare_candidates(a, b, &Options::default()) {
            Ok(_) => {
                return Err(format!(
                    "`prony compare` sets both of {} side by side without a word",
                    a.candidate
                ));
            }
            Err(why @ ComparisonError::Unlike { .. }) if refused.is_empty() => refused = why.to_string(),
            Err(ComparisonError::Unlike { .. }) => {}
            Err(why) => return Err(why.to_string()),
        }
        compared.push(compare_candidates(a, b, &forced).map_err(|why| why.to_string())?);
    }
    Ok((refused, compared))
}

fn head(root: &Path, doctor: &Value, lines: &[String; 2]) -> String {
    let trip = |at: &str| doctor["round_trip"][at].as_u64().unwrap_or(0) / 1_000;
    format!(
        "# The same experiment over loopback and on two hosts, {}\n\n{}.\n\n\
         `cargo xtask two-hosts --store` at commit {}: `{}`, then `{}`.\nThe other host is a network namespace of this machine \
         behind a pair of virtual interfaces, with an OpenSSH of its own: the same\nCPUs, kernel and servers, and no network card \
         or switch. What differs is the way alone.\nA byte takes {} µs there and back at least, {} µs in the median, {} µs at p99 \
         (`prony doctor --host`).\n\n",
        date(),
        host(&doctor["host"]),
        commit(root),
        lines[0],
        lines[1],
        trip("min_ns"),
        trip("p50_ns"),
        trip("p99_ns"),
    )
}

/// Each server in both runs, and what either run says of the servers among themselves.
fn figures(runs: &[ExperimentAnalysis; 2], compared: &[Comparison]) -> String {
    let compared: String =
        compared.iter().map(|comparison| markdown::comparison(comparison, true) + "\n").collect();
    let [loopback, two_hosts] = runs.each_ref().map(markdown::experiment);
    format!(
        "A is over loopback, B on two hosts.\n\n{compared}## Over loopback\n\n{loopback}\n## On two hosts\n\n{two_hosts}"
    )
}

/// What does not depend on the day.
const WHY: &str = "\
## What can make them differ

- **The way.** A packet between namespaces goes through the routing, the queues and the interfaces of two network stacks; over
  loopback through one. Servers that answer at once spend a larger share of their time on it than those that compute, so that
  ratios between servers can be others, too. Between namespaces of one machine there is no wire: where a ratio's interval holds 1,
  all that is too little to be seen here.
- **Interrupts are a figure of their own.** Where packets are received is a soft interrupt (`softirq_ns`), of the whole host. Here both
  hosts share CPUs, so that it holds the client's packets, too; on two machines it is the server's alone. Over loopback nobody
  can tell whose it is, and it is not shown.
- **CPU time of the server per request** is its processes' alone. What the kernel does for a packet within the process that sends it
  is in it; what it does in a soft interrupt's own time may not be, as the kernel was built (`CONFIG_IRQ_TIME_ACCOUNTING`).
- **Latency has another floor**: the round trip above, which no server can answer faster than.
- **What can be compared** is what each run says of the servers among themselves: the order, and ratios with their intervals.

A network between two machines adds what is not here: cards with rings, offloads and coalesced interrupts, a switch, and other
users of both. [two-hosts.md](../two-hosts.md) says what is recorded of it.";
