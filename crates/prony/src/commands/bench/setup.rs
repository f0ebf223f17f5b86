//! From flags to a run: which experiment, which candidates, which CPUs, which log.

use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prony_fleet::Agents;
use prony_host::cpus::allowed;
use prony_host::pins::{self, Pins};
use prony_host::state;
use prony_lab::bench::{BenchCandidate, BenchSetup, CpuHalves, Resolved, resolve};
use prony_lab::candidate::{Candidate, Layout};
use prony_lab::experiment::{Blocks, CORES_MAX, Experiment, WorkerPolicy};
use prony_lab::server_host::ServerHost;
use prony_lab::supervise::Supervision;
use prony_model::plan::ArrivalKind;
use prony_model::rfc3339;
use prony_model::run_log::{Header, RunLog};
use prony_model::units::parse_duration;

use super::{adaptive, candidates, controls, duet, services};
use crate::cli::{BenchArguments, Disturbed};
use crate::commands::server_host::connect;
use crate::commands::servers::{catalogue, engine, install, layout, native_memory};
use crate::commands::{fleet, parse_cpus, plan, reproduce, thresholds};
use crate::failure::Failure;
use crate::printer::Printer;

/// Everything that a run needs, from the command line or the resumed log; `agents` apply its loads, if any.
pub(super) fn setup(
    arguments: &BenchArguments,
    agents: Option<&Agents>,
    printer: &Printer,
) -> Result<BenchSetup, Failure> {
    services::check_host(arguments)?;
    let (resumed, before) = resumed_log(arguments)?.unzip();
    let before = before.as_ref();
    let layout = layout()?;
    let (Resolved { mut experiment, mut candidates, skipped, baseline }, server_host) =
        match arguments.candidates.is_empty() {
            true => of_experiment(arguments, before, &layout, printer)?,
            false => of_candidates(arguments, &layout, printer)?,
        };
    let watches_another = arguments.watch.iter().any(|named| named.contains("=ssh:"));
    fleet::check_agent_binary(&arguments.fleet, watches_another || server_host.is_some())?;
    choose(&mut experiment, arguments, before.map(|log| &log.header))?;
    match before {
        None => begin(&mut experiment, arguments)?,
        Some(log) => go_on(&mut experiment, &mut candidates, arguments, log)?,
    }
    services::apply(&mut experiment, arguments)?;
    services::check_run(&experiment, &candidates, arguments)?;
    let memory_bytes = match &server_host {
        Some(_) => None, // it sees to that itself
        None if candidates.iter().all(|c| c.candidate.engine().is_some()) => None, // their engines do
        None => native_memory(&arguments.runtime)?,
    };
    if let Some(size) = &arguments.runtime.memory {
        limited(&mut candidates, size);
    }
    let log = resumed.or_else(|| arguments.output.as_ref().map(PathBuf::from));
    let (mut pins, places) = cpus_of(arguments, &experiment, &candidates, before, server_host.as_deref())?;
    let service_cpus =
        services::cpus(&experiment, &candidates, arguments, (before, server_host.as_deref()), &mut pins)?;
    if arguments.pin.is_empty() && agents.is_some_and(|agents| !matches!(agents, Agents::Local(_))) {
        // This machine's CPUs are none of another's.
        pins.client.clear();
    }
    let state = state::folder().map_err(Failure::usage)?;
    let setup = BenchSetup {
        reproduce: before
            .map_or_else(|| reproduce::own(&arguments.redact), |log| log.header.reproduce.clone()),
        supervision: Supervision::new(&state, &pins.client, memory_bytes),
        service_cpus,
        host: prony_host::read(),
        resume: before.is_some(),
        experiment,
        candidates,
        skipped,
        baseline,
        layout,
        // Without one it is named when no other bench runs: see `default_log`.
        log: log.unwrap_or_default(),
        pins,
        duet: places,
        server_host,
        repeats_disturbed: arguments.disturbed == Disturbed::Repeat,
        fleet: fleet::flags(&arguments.fleet),
        slo: thresholds::parse(&arguments.slo)?.iter().map(ToString::to_string).collect(),
    };
    controls::check(&setup.experiment, setup.twin(), setup.duet.is_some())?;
    agents.map_or(Ok(()), |agents| fleet::check_bench(agents, &setup))?;
    Ok(setup)
}

fn of_experiment(
    arguments: &BenchArguments,
    before: Option<&RunLog>,
    layout: &Layout,
    printer: &Printer,
) -> Result<(Resolved, Option<Arc<ServerHost>>), Failure> {
    if let Some(option) = arguments.plan.given().into_iter().find(|option| option != "seed") {
        return Err(Failure::usage(format!(
            "{} cannot be used with an experiment, whose file says its plans: change them there, or give \
             --candidate NAME='COMMAND {{port}}' instead of an experiment.",
            plan::flag(&option)
        )));
    }
    let mut experiment = experiment(arguments, before)?;
    filter(&mut experiment, arguments)?;
    experiment.redact.clone_from(&arguments.redact);
    let host = connect(
        &arguments.runtime,
        &arguments.fleet.agent_binary,
        experiment.server_host.as_deref(),
        printer,
    )?;
    let engine = match &host {
        Some(_) => None,
        None => engine(&arguments.runtime.runtime, arguments.runtime.memory.as_deref())?,
    };
    let catalogue = catalogue(&arguments.servers, printer);
    if arguments.install {
        let known = experiment.candidates.iter().filter_map(|label| Candidate::parse(label, &catalogue).ok());
        let each = known.map(|candidate| match &engine {
            Some(engine) => candidate.in_container(engine),
            None => candidate,
        });
        let each: Vec<Candidate> = each.collect();
        for why in install(&each, layout, host.as_deref(), arguments.yes, printer)? {
            printer.note(&format!("not installed, and skipped: {why}"));
        }
    }
    let resolved = resolve(&experiment, &catalogue, layout, engine.as_ref(), host.as_ref());
    let resolved = resolved.map_err(Failure::usage)?;
    if let Some(host) = &host
        && let Some(why) = host.lost()
    {
        return Err(Failure::not_measured(format!("{}: {why}", host.given())));
    }
    Ok((resolved, host))
}

fn of_candidates(
    arguments: &BenchArguments,
    layout: &Layout,
    printer: &Printer,
) -> Result<(Resolved, Option<Arc<ServerHost>>), Failure> {
    let (experiment, candidates) = candidates::experiment(arguments, layout)?;
    let host = connect(&arguments.runtime, &arguments.fleet.agent_binary, None, printer)?;
    let baseline = experiment.baseline.clone();
    Ok((Resolved { experiment, candidates, skipped: Vec::new(), baseline }, host))
}

/// What new and resumed runs have alike: the user's word, else the log's or experiment's. A budget is a session's.
fn choose(
    experiment: &mut Experiment,
    arguments: &BenchArguments,
    before: Option<&Header>,
) -> Result<(), Failure> {
    experiment.server_cores = arguments.server_cores.unwrap_or(experiment.server_cores);
    let seed = arguments.plan.seed.or(before.map(|header| header.seed));
    experiment.seed = seed.unwrap_or(experiment.seed);
    let budget = arguments.budget.as_deref().map(parse_duration).transpose()?;
    if budget.is_some_and(|budget| budget.is_zero()) {
        return Err(Failure::usage("--budget 0 allows no trial: give how long the run may take, 30m."));
    }
    let without = before.map_or(experiment.budget, |header| header.budget_ns.map(Duration::from_nanos));
    experiment.budget = budget.or(without);
    match arguments.workers {
        None => {}
        Some(WorkerPolicy::Fixed(workers)) if !(1..=CORES_MAX).contains(&workers) => {
            return Err(Failure::usage(format!(
                "--workers {workers}: write a number from 1 to {CORES_MAX}."
            )));
        }
        Some(WorkerPolicy::Source) if experiment.published.is_none() => {
            return Err(Failure::usage(
                "--workers source takes them from a published source, and this experiment names none: write a \
                 number or server_cores.",
            ));
        }
        Some(policy) => experiment.workers = policy,
    }
    Ok(())
}

/// A server with a limit is another than one without: its version, in the run log too, names the limit.
fn limited(candidates: &mut [BenchCandidate], size: &str) {
    for candidate in candidates.iter_mut().filter(|c| c.candidate.as_url().is_none()) {
        let version = candidate.version.take().unwrap_or_else(|| "version unknown".to_owned());
        candidate.version = Some(format!("{version}, at most {size} of memory"));
    }
}

fn cpus_of(
    arguments: &BenchArguments,
    experiment: &Experiment,
    candidates: &[BenchCandidate],
    before: Option<&RunLog>,
    server_host: Option<&ServerHost>,
) -> Result<(Pins, Option<CpuHalves>), Failure> {
    let given = given_pins(arguments, server_host.is_some())?;
    let of_both_hosts =
        |servers| server_host.map(|host| two_hosts(host, experiment.server_cores, servers)).transpose();
    let of_duet = match &given {
        None if arguments.duet => of_both_hosts(2)?,
        given => given.clone(),
    };
    let places = duet::places(arguments, experiment, candidates, of_duet.as_ref(), before)?;
    if let Some(places) = places {
        return Ok((places.all(), Some(places)));
    }
    let pins = match (given, before) {
        (Some(given), _) => given,
        (None, Some(log)) => {
            Pins { server: log.header.server_cpus.clone(), client: log.header.client_cpus.clone() }
        }
        (None, None) if server_host.is_some() => of_both_hosts(1)?.unwrap_or_default(),
        (None, None) => pins::split(&allowed(), experiment.server_cores).map_err(Failure::usage)?,
    };
    Ok((pins, None))
}

/// The CPUs of servers that run at once, the last ones of their host, and all of this machine's for the client.
fn two_hosts(host: &ServerHost, server_cores: u32, servers: u32) -> Result<Pins, Failure> {
    let there = &host.host().cpus_allowed;
    let needed = usize::try_from(server_cores.saturating_mul(servers)).unwrap_or(usize::MAX);
    let first = there.len().checked_sub(needed).ok_or_else(|| {
        Failure::usage(format!(
            "The servers need {needed} CPU cores of {}, and it has {}: set a smaller server_cores.",
            host.given(),
            there.len()
        ))
    })?;
    let server = there.get(first..).unwrap_or_default().to_vec();
    // A host that is this machine in another network: its CPUs are those.
    let is_here = host.host().boot_id == prony_host::boot_id();
    let client: Vec<u32> = allowed().into_iter().filter(|cpu| !is_here || !server.contains(cpu)).collect();
    Ok(Pins { client: if client.is_empty() { allowed() } else { client }, server })
}

/// The log of `--resume FILE`, or of `--resume` with `-o FILE`.
fn resumed_log(arguments: &BenchArguments) -> Result<Option<(PathBuf, RunLog)>, Failure> {
    let Some(resume) = &arguments.resume else { return Ok(None) };
    let path = match (resume.as_str(), &arguments.output) {
        ("", Some(output)) => output,
        ("", None) => return Err(Failure::usage("--resume needs a run log: --resume runs/….jsonl")),
        (file, _) => file,
    };
    let log = prony_analysis::run_log::read(Path::new(path))?;
    if log.header.one_by_one {
        return Err(Failure::usage(format!(
            "{path} holds trials of `prony load`: there is nothing to resume."
        )));
    }
    Ok(Some((PathBuf::from(path), log)))
}

fn experiment(arguments: &BenchArguments, resumed: Option<&RunLog>) -> Result<Experiment, Failure> {
    let experiment = match (&arguments.experiment, resumed) {
        (Some(name), _) => Experiment::find(name).map_err(Failure::usage)?,
        (None, Some(log)) => {
            let Some(text) = &log.header.experiment_toml else {
                return Err(Failure::usage(
                    "This run was begun with --candidate: give the same ones again with --resume.",
                ));
            };
            let read = Experiment::parse(&log.header.name, "the experiment in the run log", text);
            let mut experiment = read.map_err(Failure::usage)?;
            experiment.published.clone_from(&log.header.published);
            // Nobody's file but the one that is named says which machine is reached, and which commands are run.
            experiment.server_host = None;
            services::check_resumed(&experiment)?;
            experiment
        }
        (None, None) => {
            return Err(Failure::usage(
                "Nothing to run: name an experiment (prony bench quickstart), or give --candidate NAME='COMMAND {port}'.",
            ));
        }
    };
    match &arguments.scale {
        Some(scale) => experiment.scaled(scale).map_err(Failure::usage),
        None => Ok(experiment),
    }
}

fn filter(experiment: &mut Experiment, arguments: &BenchArguments) -> Result<(), Failure> {
    let (only_candidates, only_plans): (Vec<String>, Vec<String>) =
        arguments.only.iter().cloned().partition(|name| experiment.candidates.contains(name));
    if !only_plans.is_empty() {
        experiment.keep_plans(&only_plans).map_err(|e| {
            Failure::usage(format!("--only: {e} Its candidates are {}.", experiment.candidates.join(", ")))
        })?;
    }
    if !only_candidates.is_empty() {
        experiment.candidates.retain(|c| only_candidates.contains(c));
    }
    for name in &arguments.skip {
        let before = experiment.candidates.len() + experiment.plans.len();
        experiment.candidates.retain(|c| c != name);
        experiment.plans.retain(|p| p.name != *name && p.group.as_ref() != Some(name));
        if experiment.candidates.len() + experiment.plans.len() == before {
            return Err(Failure::usage(format!(
                "--skip {name:?} is neither a candidate ({}) nor a plan of this experiment.",
                experiment.candidates.join(", ")
            )));
        }
    }
    if experiment.candidates.is_empty() || experiment.plans.is_empty() {
        return Err(Failure::usage("--skip leaves nothing to run."));
    }
    Ok(())
}

fn begin(experiment: &mut Experiment, arguments: &BenchArguments) -> Result<(), Failure> {
    if let Some(blocks) = arguments.blocks {
        experiment.blocks = Blocks { min: blocks, max: blocks };
    }
    if !arguments.slo.is_empty() {
        // A threshold is about users, who do not come evenly.
        experiment.plans.iter_mut().filter(|plan| !plan.arrivals_given).for_each(|plan| plan.space(true));
    }
    // A duet of an experiment with controls is without them.
    experiment.controls = arguments.controls.unwrap_or(experiment.controls && !arguments.duet);
    adaptive::adapt(experiment, arguments)
}

/// A resumed run has its own candidates, plans, blocks and controls: flags need not repeat them, nor may differ.
fn go_on(
    experiment: &mut Experiment,
    candidates: &mut Vec<BenchCandidate>,
    arguments: &BenchArguments,
    log: &RunLog,
) -> Result<(), Failure> {
    let header = &log.header;
    if let Some(blocks) = arguments.blocks.filter(|blocks| *blocks < header.blocks) {
        return Err(Failure::usage(format!(
            "--blocks {blocks} is fewer than the {} that the run was begun with: give more, or leave it out.",
            header.blocks
        )));
    }
    experiment.controls = header.order.iter().any(|planned| planned.control.is_some());
    if arguments.controls.is_some_and(|asked| asked != experiment.controls) {
        let with = if experiment.controls { "with" } else { "without" };
        return Err(Failure::usage(format!(
            "--controls: the run was begun {with} them: leave it out, or begin a new run."
        )));
    }
    candidates.retain(|c| header.candidates.iter().any(|known| known.label == c.candidate.label()));
    plans_as_before(experiment, header);
    adaptive::as_before(experiment, arguments, log)
}

fn plans_as_before(experiment: &mut Experiment, header: &Header) {
    experiment.plans.retain_mut(|plan| {
        let Some(known) = header.plans.iter().find(|known| known.name == plan.name) else { return false };
        plan.load.stop.duration = known.plan.duration_ns.map(Duration::from_nanos);
        plan.load.warmup = Duration::from_nanos(known.plan.warmup_ns);
        plan.space(known.plan.arrivals == ArrivalKind::Poisson);
        if let Some(stages) = known.plan.arrivals().filter(|_| !known.plan.stages.is_empty()) {
            plan.load.arrivals = stages;
        }
        true
    });
}

/// `runs/DATE-NAME.jsonl`, with the time; with a number behind it where another bench began in that second.
pub(in crate::commands) fn default_log(name: &str) -> PathBuf {
    let now = rfc3339(SystemTime::now());
    let stamp: String = now.chars().take(19).filter(|c| *c != ':').collect();
    let log = |number: String| PathBuf::from(format!("runs/{stamp}-{name}{number}.jsonl"));
    let numbered = (2..).map(|number| log(format!("-{number}")));
    iter::once(log(String::new())).chain(numbered).find(|log| !log.exists()).unwrap_or_default()
}

fn given_pins(arguments: &BenchArguments, on_two_hosts: bool) -> Result<Option<Pins>, Failure> {
    let mut pins = Pins::default();
    for text in &arguments.pin {
        match text.split_once('=') {
            Some(("server", cpus)) => pins.server = parse_cpus(cpus)?,
            Some(("client", cpus)) => pins.client = parse_cpus(cpus)?,
            Some(("service", _)) => {} // see `services::cpus`
            _ => return Err(Failure::usage(format!("--pin {text:?}: write --pin server=1 --pin client=0."))),
        }
    }
    if arguments.pin.is_empty() {
        return Ok(None);
    }
    if pins.server.is_empty() || pins.client.is_empty() {
        return Err(Failure::usage("--pin needs both sides: --pin server=1 --pin client=0."));
    }
    let shared = pins.server.iter().find(|cpu| pins.client.contains(cpu));
    if let Some(shared) = shared.filter(|_| !on_two_hosts) {
        return Err(Failure::usage(format!(
            "--pin: CPU {shared} cannot be both the server's and the client's."
        )));
    }
    Ok(Some(pins))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use prony_model::recorded_plan::RecordedPlan;
    use prony_model::run_log::NamedPlan;

    #[test]
    fn a_flag_precedes_the_resumed_log_and_that_the_experiment() {
        let text = "schema = \"prony.experiment/1\"\ncandidates = [\"a\"]\nseed = 1\nbudget = \"1m\"\n[[plan]]\nname = \"p\"\n";
        let header = Header { seed: 2, budget_ns: Some(120_000_000_000), ..Header::default() };
        let chosen = |flags: &[&str], before: Option<&Header>| {
            let words = ["prony", "bench", "e"].into_iter().chain(flags.iter().copied());
            let Command::Bench(arguments) = Cli::try_parse_from(words).unwrap().command else {
                panic!("a bench")
            };
            let mut experiment = Experiment::parse("e", "e.toml", text).unwrap();
            choose(&mut experiment, &arguments, before).map(|()| (experiment.seed, experiment.budget))
        };
        let of = |seed: u64, minutes: u64| (seed, Some(Duration::from_secs(minutes * 60)));
        let flags = ["--seed", "3", "--budget", "3m"];
        assert_eq!(chosen(&[], None).unwrap(), of(1, 1));
        assert_eq!(chosen(&[], Some(&header)).unwrap(), of(2, 2));
        assert_eq!(chosen(&flags, Some(&header)).unwrap(), of(3, 3));
        assert_eq!(chosen(&flags, None).unwrap(), of(3, 3));
        let endless = Header { budget_ns: None, ..header };
        assert_eq!(chosen(&[], Some(&endless)).unwrap(), (2, None), "what the run was begun without");
        assert!(chosen(&["--budget", "0s"], Some(&endless)).is_err());
    }

    #[test]
    fn a_scaled_run_goes_on_by_its_own_stages_without_its_scale() {
        let text = "schema = \"prony.experiment/1\"\ncandidates = [\"a\"]\n\
                    [[plan]]\nname = \"ramp\"\nstages = [\"60s:5000c\", \"20s:100c\"]\n\
                    [[plan]]\nname = \"rates\"\nstages = [\"60s:3k/s\"]\nwarmup = \"1s\"\n\
                    [[plan]]\nname = \"closed\"\n[scale.short]\nduration = \"8s\"\n";
        let whole = Experiment::parse("e", "e.toml", text).unwrap();
        let scaled = whole.scaled("short").unwrap();
        let record = |plan: &prony_lab::experiment::ExperimentPlan| NamedPlan {
            name: plan.name.clone(),
            plan: RecordedPlan::of(&plan.load),
            ..NamedPlan::default()
        };
        let header =
            Header { seed: 1, plans: scaled.plans.iter().map(record).collect(), ..Header::default() };
        let mut resumed = whole.clone();
        plans_as_before(&mut resumed, &header);
        assert_ne!(whole.plans, scaled.plans);
        assert_eq!(resumed.plans, scaled.plans);
    }
}
