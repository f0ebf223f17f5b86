//! The same experiment over loopback and on two hosts: `cargo xtask two-hosts [--prony PATH] [--only NAME]… [--scale NAME]
//! [--store]`.
//!
//! `quickstart` with three servers, once as on any machine and once with `--server-host`, whose host is a network namespace
//! of this machine: the CPUs, the kernel and the servers are the same, and only the way differs. The page says what that does
//! to each figure, and why.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use prony_model::run_log::{RunLog, TrialResult};
use prony_model::trial::Validity;
use prony_stats::trend::median;
use serde_json::Value;

use crate::hammer::commit;
use crate::other_host::{GIVEN, OtherHost};
use crate::soak::host;
use crate::today::date;

const USAGE: &str = "usage: cargo xtask two-hosts [--prony PATH] [--only NAME]... [--scale NAME] [--store]";
const EXPERIMENT: &str = "quickstart";
const SERVERS: [&str; 3] = ["nginx-fpm", "node-http", "go-net-http"];

struct Asked {
    prony: PathBuf,
    only: Vec<String>,
    scale: Option<String>,
    store: bool,
}

/// Of one trial; `None` where it was not measured.
type Figure = fn(&TrialResult) -> Option<f64>;

/// What is set side by side: its name, how it is written, and its value.
const FIGURES: [(&str, usize, Figure); 5] = [
    ("requests/s", 0, |r| Some(r.trial.as_ref()?.throughput.requests_per_s.point)),
    ("p50 of response, µs", 0, |r| Some(r.trial.as_ref()?.latency.response.p50_ns? as f64 / 1e3)),
    ("p99 of response, µs", 0, |r| Some(r.trial.as_ref()?.latency.response.p99_ns? as f64 / 1e3)),
    ("CPU time of the server per request, µs", 2, |r| per_request_us(r, r.server.as_ref()?.window_cpu_ns)),
    ("interrupts of the servers' host per request, µs", 2, |r| {
        let host = r.server.as_ref()?.host.as_ref()?;
        per_request_us(r, host.irq_ns? + host.softirq_ns?)
    }),
];

fn per_request_us(result: &TrialResult, ns: u64) -> Option<f64> {
    let completed = result.trial.as_ref()?.requests.completed;
    (completed > 0).then(|| ns as f64 / 1e3 / completed as f64)
}

/// Runs both, prints the page, and stores it where that is asked.
///
/// # Errors
/// When one of them cannot be run, or measured nothing.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let asked = read(root, arguments)?;
    let folder = root.join("target/two-hosts");
    let other =
        OtherHost::start(&folder.join("host"), root, &[])?.map_err(|why| format!("not run: {why}"))?;
    let prony = |line: &[&str]| {
        let mut command = Command::new(&asked.prony);
        command.args(line).current_dir(root).env("PATH", other.path()).stdin(Stdio::null());
        command.output().map_err(|e| format!("{}: {e}", asked.prony.display()))
    };
    let at = |name: &str| folder.join(name).display().to_string();
    let logs = [at("loopback.jsonl"), at("two-hosts.jsonl")];
    let mut line = vec!["bench", EXPERIMENT, "-q"];
    line.extend(asked.only.iter().flat_map(|name| ["--only", name.as_str()]));
    line.extend(asked.scale.iter().flat_map(|name| ["--scale", name.as_str()]));
    let lines = [line.clone(), [line, vec!["--server-host", GIVEN]].concat()];
    let mut read_logs = Vec::new();
    for (log, line) in logs.iter().zip(&lines) {
        let _ = fs::remove_file(log);
        println!("prony {}", line.join(" "));
        let output = prony(&[line.as_slice(), &["-o", log.as_str()]].concat())?;
        print!("{}", String::from_utf8_lossy(&output.stdout));
        if !output.status.success() {
            return Err(said(&output));
        }
        read_logs.push(prony_analysis::run_log::read(Path::new(log)).map_err(|e| e.to_string())?);
    }
    let doctor = prony(&["doctor", "--host", GIVEN, "--format", "json"])?;
    let doctor: Value = serde_json::from_slice(&doctor.stdout).map_err(|_| said(&doctor))?;
    let compared = prony(&["compare", &logs[0], &logs[1]])?;
    if compared.status.success() {
        return Err("prony compare sets loopback and two hosts side by side without a word".to_owned());
    }
    let lines = lines.map(|line| format!("prony {}", line.join(" ")));
    let text = page(root, &doctor, &lines, [&read_logs[0], &read_logs[1]], &said(&compared))?;
    println!("{text}");
    if asked.store {
        crate::stored::write(root, &format!("two-hosts-{}", date()), &[("md", &text)])?;
    }
    Ok(())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().trim_start_matches("prony: ").to_owned()
}

fn read(root: &Path, arguments: &[String]) -> Result<Asked, String> {
    let mut asked =
        Asked { prony: root.join("target/release/prony"), only: Vec::new(), scale: None, store: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut next = || rest.next().ok_or(USAGE);
        match argument.as_str() {
            "--store" => asked.store = true,
            "--prony" => asked.prony = PathBuf::from(next()?),
            "--only" => asked.only.push(next()?.clone()),
            "--scale" => asked.scale = Some(next()?.clone()),
            other => return Err(format!("{other:?}: {USAGE}")),
        }
    }
    if asked.only.is_empty() {
        asked.only = SERVERS.map(str::to_owned).to_vec();
    }
    Ok(asked)
}

fn page(
    root: &Path,
    doctor: &Value,
    lines: &[String; 2],
    [loopback, two_hosts]: [&RunLog; 2],
    refused: &str,
) -> Result<String, String> {
    let trip = |at: &str| doctor["round_trip"][at].as_u64().unwrap_or(0) / 1_000;
    let mut page = format!(
        "# The same experiment over loopback and on two hosts, {}\n\n{}.\n\n\
         `cargo xtask two-hosts --store` at commit {}: `{}`, then `{}`.\nThe other host is a network namespace of this machine \
         behind a pair of virtual interfaces, with an OpenSSH of its own: the same\nCPUs, kernel and servers, and no network card \
         or switch. What differs is the way alone. Figures are medians over blocks.\nA byte takes {} µs there and back at least, \
         {} µs in the median, {} µs at p99 (`prony doctor --host`).\n\n\
         | server | figure | over loopback | on two hosts | ratio |\n|---|---|---|---|---|\n",
        date(),
        host(&doctor["host"]),
        commit(root),
        lines[0],
        lines[1],
        trip("min_ns"),
        trip("p50_ns"),
        trip("p99_ns"),
    );
    for candidate in &loopback.header.candidates {
        for (name, digits, figure) in FIGURES {
            let of = |log: &RunLog| middle(log, &candidate.label, figure);
            let (here, there) = (of(loopback), of(two_hosts));
            let shown =
                |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
            let ratio =
                here.zip(there).map_or("–".to_owned(), |(here, there)| format!("{:.2}", there / here));
            // Writing to a String cannot fail.
            let _ = writeln!(
                page,
                "| {} | {name} | {} | {} | {ratio} |",
                candidate.label,
                shown(here),
                shown(there)
            );
        }
        if middle(two_hosts, &candidate.label, FIGURES[0].2).is_none() {
            return Err(format!("{} was not measured on two hosts", candidate.label));
        }
    }
    let _ = writeln!(page, "\n{WHY}\n\n`prony compare` of both logs says so, too:\n\n> {refused}");
    Ok(page)
}

/// Over the trials of a candidate that count.
fn middle(log: &RunLog, candidate: &str, figure: Figure) -> Option<f64> {
    let counts = |r: &&TrialResult| {
        let trial = r.trial.as_ref();
        r.planned.candidate == candidate && trial.is_some_and(|t| t.verdict.validity != Validity::Invalid)
    };
    let values: Vec<f64> = log.results.iter().filter(counts).filter_map(figure).collect();
    median(&values)
}

/// What does not depend on the day.
const WHY: &str = "\
## Why they differ

- **The way costs both sides more.** A packet between namespaces goes through the routing, the queues and the interfaces of two
  network stacks; over loopback through one. Servers that answer at once are limited by it, those that compute are not, so that
  differences between servers shrink as the way gets longer.
- **Interrupts are a figure of their own.** Where packets are received is a soft interrupt (`softirq_ns`), of the whole host. Here both
  hosts share CPUs, so that it holds the client's packets, too; on two machines it is the server's alone. Over loopback nobody
  can tell whose it is, and it is not shown.
- **CPU time of the server per request** is its processes' alone. What the kernel does for a packet within the process that sends it
  is in it; what it does in a soft interrupt's own time may not be, as the kernel was built (`CONFIG_IRQ_TIME_ACCOUNTING`).
- **Latency has another floor**: the round trip above, which no server can answer faster than.
- **What stays** is what each run says of the servers among themselves: their order, and ratios within their intervals.

A network between two machines adds what is not here: cards with rings, offloads and coalesced interrupts, a switch, and other
users of both. [two-hosts.md](../two-hosts.md) says what is recorded of it.";
