//! `cargo xtask peers`: Prony beside other load generators, on this machine, in one run. Figures compare only where the
//! server, its CPU, the client's CPU and the minute are the same: each tool runs next to a run of Prony, again and
//! again, and what is compared is the ratio of neighbours. Begin at [`scenarios`] for what is run, [`tools`] for how,
//! [`figures`] for what is made of it.

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
use std::process::Command;

use clap::Parser;
use clap::builder::PossibleValuesParser;

pub(crate) use self::child::{Measured, measured};
use self::figures::Run;
use self::lines::Load;
use self::measure::{Bench, Ready};
pub(crate) use self::nginx::lacks as tls_lacks;
use self::scenarios::{SCENARIOS, Scenario, tool_of};
pub(crate) use self::server::{Kind, Server};
use self::store::Comparison;
use self::tools::{Places, Source, TOOLS, Tool};
use crate::programs::{self, is_there};

/// Rounds of a result that counts: the interval of a median of nine is from its second to its eighth value.
const ROUNDS: u32 = 9;
/// A run's seconds beyond its load: starting, ending, two ledgers. For the forecast only.
const OVERHEAD_S: f64 = 0.35;

#[derive(Debug, Parser)]
pub(crate) struct Asked {
    /// Install the tools that registries have, as far as they are missing
    #[arg(long)]
    install: bool,
    /// Only these tools, `wrk,oha` (Prony and the floor are always there)
    #[arg(long, value_delimiter = ',', value_name = "TOOLS", value_parser = tool_names())]
    only: Vec<String>,
    /// Only these scenarios, `closed,stall`
    #[arg(long = "scenario", value_delimiter = ',', value_name = "SCENARIOS", value_parser = scenario_names())]
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

struct Planned {
    scenario: &'static Scenario,
    load: Load,
    ours: Vec<Ready>,
    near: Vec<Ready>,
    far: Vec<Ready>,
}

pub(crate) fn run(root: &Path, arguments: &Asked) -> Result<(), String> {
    let places = Places { prony: crate::own_prony(root)?, tools: root.join(".prony/peers") };
    let (first, last) = match prony_host::cpus::allowed().as_slice() {
        [first, .., last] => (*first, *last),
        _ => {
            return Err(
                "a client and a server on one CPU measure each other: this needs two CPUs.".to_owned()
            );
        }
    };
    let tools = arguments.wanted();
    if !is_there("curl", "--version") {
        return Err(
            "curl asks the servers for their own counts, and is not here: apt-get install curl".to_owned()
        );
    }
    if arguments.install {
        install::install(&tools, &places)?;
    }
    let scratch = places.tools.join("run");
    crate::files::make(&scratch)?;
    let mut skipped = missing(&tools, &places);
    let plan = |scenario| plan(scenario, &tools, &places, &scratch, arguments.quick, &mut skipped);
    let plans: Vec<Planned> = arguments.chosen().into_iter().filter_map(plan).collect();
    let rounds = if arguments.quick { 2 } else { arguments.rounds };
    say_plan(&plans, &skipped, rounds);
    if arguments.dry_run {
        return Ok(());
    }
    if cfg!(debug_assertions) && !arguments.quick {
        return Err(
            "this build is not optimised, and others are measured by its floor and its counting server: \
                    cargo run --release -p xtask -- peers"
                .to_owned(),
        );
    }
    let bench = Bench { places: &places, client_cpu: first, server_cpu: last, scratch: &scratch };
    // Of a load of its own target, whose result has it.
    let one = programs::json(Command::new(&places.prony).args(["load", "-n", "1", "-q", "--json", "-"]))?;
    let (mut runs, host) = (Vec::new(), one["host"].clone());
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

fn tool_names() -> PossibleValuesParser {
    PossibleValuesParser::new(TOOLS.iter().map(|tool| tool.name))
}

fn scenario_names() -> PossibleValuesParser {
    PossibleValuesParser::new(SCENARIOS.iter().map(|scenario| scenario.name))
}

impl Asked {
    fn chosen(&self) -> Vec<&'static Scenario> {
        let is_named = |s: &&Scenario| self.scenarios.iter().any(|name| name == s.name);
        let is_usual = |s: &&Scenario| self.scenarios.is_empty() && s.load.http2 == self.http2;
        SCENARIOS.iter().filter(|scenario| is_named(scenario) || is_usual(scenario)).collect()
    }

    fn wanted(&self) -> Vec<&'static Tool> {
        let is_named = |tool: &&Tool| self.only.is_empty() || self.only.iter().any(|name| name == tool.name);
        TOOLS.iter().filter(|tool| tool.source == Source::Own || is_named(tool)).collect()
    }
}

fn missing(tools: &[&'static Tool], places: &Places) -> Vec<(String, String)> {
    let absent = tools.iter().filter(|tool| tool.program(places).is_none() && tool.source != Source::Own);
    absent.map(|t| (t.name.to_owned(), format!("it isn't here ({})", t.source.describe()))).collect()
}

/// What can run of a scenario; the rest is told in `skipped`.
fn plan(
    scenario: &'static Scenario,
    tools: &[&'static Tool],
    places: &Places,
    scratch: &Path,
    quick: bool,
    skipped: &mut Vec<(String, String)>,
) -> Option<Planned> {
    let mut load = scenario.load;
    if quick {
        load.seconds = 2;
    }
    if let Some(why) = (scenario.server == Kind::Tls).then(nginx::lacks).flatten() {
        skipped.push((scenario.name.to_owned(), why));
        return None;
    }
    let [ours, near, far] = [scenario.ours, scenario.near, scenario.far].map(|subjects| {
        let mut able = Vec::new();
        for subject in subjects {
            // That a tool is not wanted or not here is told once for all scenarios.
            let Some(tool) = tools.iter().find(|tool| tool.name == tool_of(subject)) else { continue };
            let Some(program) = tool.program(places) else { continue };
            let ready = Ready { subject, tool, program };
            if measure::line(&ready, &load, "http://127.0.0.1:1/", scratch).is_some() {
                able.push(ready);
            } else {
                let what = format!("{}, {}", scenario.name, subject);
                skipped.push((what, "it cannot do this".to_owned()));
            }
        }
        able
    });
    if near.is_empty() && far.is_empty() {
        skipped.push((scenario.name.to_owned(), "none of its tools is here, or was asked for".to_owned()));
        return None;
    }
    Some(Planned { scenario, load, ours, near, far })
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
