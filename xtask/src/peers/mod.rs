//! `cargo xtask peers`: Prony beside other load generators, on this machine, in one run.
//!
//! Figures of load generators compare only where everything else is the same: the server, its CPU, the client's CPU and
//! the minute. So each tool runs next to a run of Prony, again and again, and what is compared is the ratio of
//! neighbours. Begin at [`scenarios`] for what is run, [`tools`] for how, [`figures`] for what is made of it.

mod bars;
mod canned;
mod child;
mod claims;
pub(crate) mod counting;
mod figures;
pub(crate) mod floor;
mod install;
mod lines;
mod measure;
mod measuring;
mod nginx;
mod scenarios;
mod server;
mod store;
mod table;
mod tools;

use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser;
use serde_json::Value;

pub(crate) use self::child::{cpus, measured, pinned};
use self::figures::Run;
use self::lines::Load;
use self::measure::{Bench, Ready};
pub(crate) use self::nginx::lacks as tls_lacks;
use self::scenarios::{SCENARIOS, Scenario, Subject};
pub(crate) use self::server::{Kind, Server};
use self::store::Comparison;
use self::tools::{Places, Source, TOOLS, Tool};

/// Rounds of a result that counts: the interval of a median of nine is from its second to its eighth value.
const ROUNDS: u32 = 9;
/// A run's seconds beyond its load: starting, ending, two ledgers. For the forecast only.
const OVERHEAD_S: f64 = 0.35;

/// Compares Prony with other load generators and prints the table.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask peers", no_binary_name = true)]
struct PeersArguments {
    /// Install the tools that registries have, as far as they are missing
    #[arg(long)]
    install: bool,
    /// Only these tools, `wrk,oha` (Prony and the floor are always there)
    #[arg(long, value_delimiter = ',', value_name = "TOOLS")]
    only: Vec<String>,
    /// Only these scenarios, `closed,stall`
    #[arg(long = "scenario", value_delimiter = ',', value_name = "SCENARIOS")]
    scenarios: Vec<String>,
    /// Only the scenarios of HTTP/2, which are left out otherwise
    #[arg(long)]
    http2: bool,
    /// Rounds; nine or more for results that count
    #[arg(long, default_value_t = ROUNDS, value_name = "N")]
    rounds: u32,
    /// Two rounds of two seconds: whether everything works, not how well
    #[arg(long)]
    quick: bool,
    /// Write the table and the raw data to docs/benchmarks/, under the scenarios' names where only some ran
    #[arg(long)]
    store: bool,
    /// Say what would run, and how long it would take
    #[arg(long)]
    dry_run: bool,
}

/// A scenario with the subjects that can run here.
struct Planned {
    scenario: &'static Scenario,
    load: Load,
    ours: Vec<Ready>,
    near: Vec<Ready>,
    far: Vec<Ready>,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let arguments = match PeersArguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(e) if !e.use_stderr() => {
            print!("{e}");
            return Ok(());
        }
        Err(e) => return Err(e.to_string()),
    };
    let places = Places { prony: root.join("target/release/prony"), tools: root.join(".prony/peers") };
    let (first, last) = match cpus().as_slice() {
        [first, .., last] => (*first, *last),
        _ => {
            return Err(
                "a client and a server on one CPU measure each other: this needs two CPUs.".to_owned()
            );
        }
    };
    let chosen = choose(&arguments)?;
    let tools = wanted(&arguments)?;
    if arguments.install {
        install::install(&tools, &places)?;
    }
    let scratch = places.tools.join("run");
    std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let mut skipped = missing(&tools, &places);
    let plans = plan(&chosen, &tools, &places, &scratch, arguments.quick, &mut skipped)?;
    let rounds = if arguments.quick { 2 } else { arguments.rounds };
    say_plan(&plans, &skipped, rounds);
    if arguments.dry_run {
        return Ok(());
    }
    let bench = Bench { places: &places, client_cpu: first, server_cpu: last, scratch: &scratch };
    let (mut runs, host) = (Vec::new(), host(&places, last, &scratch)?);
    for planned in &plans {
        let subjects = (&planned.ours[..], &planned.near[..], &planned.far[..]);
        let measured =
            measure::scenario(&bench, planned.scenario, &planned.load, rounds, subjects, &mut say_run);
        match measured {
            Ok(more) => runs.extend(more),
            // The minutes before it were not for nothing.
            Err(why) => skipped.push((planned.scenario.name.to_owned(), why)),
        }
    }
    let scenarios = plans.iter().map(|p| p.scenario).collect();
    let mut comparison = Comparison::new(rounds, host, scenarios, runs);
    for tool in &tools {
        if let (Some(program), true) = (tool.program(&places), tool.name != "floor") {
            comparison.versions.insert(tool.name.to_owned(), tool.version(&program));
        }
    }
    comparison.skipped = skipped;
    let page = table::page(&comparison);
    print!("{page}");
    let part: &[String] = if arguments.http2 { &["http2".to_owned()] } else { &arguments.scenarios };
    if arguments.store { comparison.store(root, &page, part) } else { Ok(()) }
}

fn choose(arguments: &PeersArguments) -> Result<Vec<&'static Scenario>, String> {
    let known = || SCENARIOS.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
    for name in &arguments.scenarios {
        if !SCENARIOS.iter().any(|s| s.name == name) {
            return Err(format!("there is no scenario {name:?}: there are {}.", known()));
        }
    }
    let all = arguments.scenarios.is_empty();
    let is_named = |s: &&Scenario| arguments.scenarios.iter().any(|name| name == s.name);
    let is_chosen = |s: &&Scenario| if all { s.load.http2 == arguments.http2 } else { is_named(s) };
    Ok(SCENARIOS.iter().filter(is_chosen).collect())
}

/// The tools that were asked for; Prony and the floor always are.
fn wanted(arguments: &PeersArguments) -> Result<Vec<&'static Tool>, String> {
    for name in &arguments.only {
        if tools::find(name).is_none() {
            let known = TOOLS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
            return Err(format!("there is no tool {name:?}: there are {known}."));
        }
    }
    let all = arguments.only.is_empty();
    let is_wanted =
        |tool: &&Tool| all || tool.source == Source::Own || arguments.only.iter().any(|n| n == tool.name);
    Ok(TOOLS.iter().filter(is_wanted).collect())
}

fn missing(tools: &[&'static Tool], places: &Places) -> Vec<(String, String)> {
    let absent = tools.iter().filter(|tool| tool.program(places).is_none() && tool.source != Source::Own);
    absent.map(|t| (t.name.to_owned(), format!("it isn't here ({})", t.source.describe()))).collect()
}

/// What can run of what was asked for; the rest is told in `skipped`.
fn plan(
    scenarios: &[&'static Scenario],
    tools: &[&'static Tool],
    places: &Places,
    scratch: &Path,
    quick: bool,
    skipped: &mut Vec<(String, String)>,
) -> Result<Vec<Planned>, String> {
    let abilities = [help(places, "load")?, help(places, "target")?];
    let mut plans = Vec::new();
    for scenario in scenarios {
        let mut load = scenario.load;
        if quick {
            load.seconds = 2;
        }
        let ready = |subjects: &[Subject], skipped: &mut Vec<(String, String)>| {
            let mut able = Vec::new();
            for subject in subjects {
                match get_ready(*subject, tools, places, &load, scratch, &abilities[0]) {
                    Ok(Some(ready)) => able.push(ready),
                    Ok(None) => {}
                    Err(why) => skipped.push((format!("{}, {}", scenario.name, subject.label), why)),
                }
            }
            able
        };
        if let Some(why) = server_lacks(scenario, &abilities[1]) {
            skipped.push((scenario.name.to_owned(), why));
            continue;
        }
        let ours = ready(scenario.ours, skipped);
        let near = ready(scenario.near, skipped);
        let far = ready(scenario.far, skipped);
        if near.is_empty() && far.is_empty() {
            skipped
                .push((scenario.name.to_owned(), "none of its tools is here, or was asked for".to_owned()));
            continue;
        }
        plans.push(Planned { scenario, load, ours, near, far });
    }
    Ok(plans)
}

/// The subject, with its program; `None` where the tool isn't wanted or isn't here, which is told once for all scenarios.
fn get_ready(
    subject: Subject,
    tools: &[&'static Tool],
    places: &Places,
    load: &Load,
    scratch: &Path,
    prony_help: &str,
) -> Result<Option<Ready>, String> {
    let Some(tool) = tools.iter().find(|tool| tool.name == subject.tool) else { return Ok(None) };
    let Some(program) = tool.program(places) else { return Ok(None) };
    let ready = Ready { subject, tool, program };
    let line = measure::line(&ready, load, "http://127.0.0.1:1/", scratch)
        .ok_or_else(|| "it cannot do this".to_owned())?;
    if tool.name == "prony" {
        let lacks = line.arguments.iter().find(|a| a.starts_with("--") && !prony_help.contains(a.as_str()));
        if let Some(flag) = lacks {
            return Err(format!("this Prony has no {flag}"));
        }
    }
    Ok(Some(ready))
}

/// What its server would need and isn't here.
fn server_lacks(scenario: &Scenario, target_help: &str) -> Option<String> {
    let flags = match scenario.server {
        Kind::Target(flags) => flags,
        Kind::Counting => return None,
        Kind::Tls => return nginx::lacks(),
    };
    let flag = flags.iter().find(|flag| flag.starts_with("--") && !target_help.contains(**flag))?;
    Some(format!("this `prony target` has no {flag}"))
}

fn help(places: &Places, command: &str) -> Result<String, String> {
    let output = Command::new(&places.prony)
        .args([command, "--help"])
        .output()
        .map_err(|e| format!("target/release/prony could not be run ({e}): make build"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The host as Prony records it beside every figure.
fn host(places: &Places, cpu: usize, scratch: &Path) -> Result<Value, String> {
    let server = Server::start(&places.prony, Kind::Counting, cpu, scratch)?;
    let output = Command::new(&places.prony)
        .args(["load", "-n", "1", "-c", "1", "--json", "-", &server.url])
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("target/release/prony could not be run ({e}): make build"))?;
    let trial: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("prony load --json: {e}"))?;
    Ok(trial["host"].clone())
}

fn say_plan(plans: &[Planned], skipped: &[(String, String)], rounds: u32) {
    for (what, why) in skipped {
        eprintln!("skipped  {what}: {why}");
    }
    let mut total_s = 0.0;
    for planned in plans {
        let (near_rounds, far_rounds) = planned.scenario.rounds(rounds);
        let runs: usize = (0..near_rounds.max(far_rounds))
            .map(|round| {
                let near = if round < near_rounds { planned.near.len() } else { 0 };
                let far = if round < far_rounds { planned.far.len() } else { 0 };
                measure::order(near + far, planned.ours.len(), round).len()
            })
            .sum();
        let seconds = runs as f64 * (f64::from(planned.load.seconds) + OVERHEAD_S);
        total_s += seconds;
        eprintln!(
            "{:<12} {runs:>4} runs, {:>4.1} min: {}",
            planned.scenario.name,
            seconds / 60.0,
            planned.scenario.title
        );
    }
    eprintln!("about {:.0} min in all", total_s / 60.0);
}

fn say_run(run: &Run) {
    let said = run.refused.clone().unwrap_or_else(|| {
        let requests = run.served.requests;
        format!("{requests} requests, {:.0} % busy", run.busy() * 100.0)
    });
    eprintln!("{:<12} round {:>2}  {:<26} {said}", run.scenario, run.round + 1, run.subject);
}
