//! `--service`, `--reset` and what goes with them, over those of an experiment.

use prony_host::cpus::show_list;
use prony_host::pins::Pins;
use prony_lab::bench::{BenchCandidate, BenchSetup};
use prony_lab::experiment::Experiment;
use prony_lab::server_host::ServerHost;
use prony_lab::service::{RESET_TIMEOUT, Reset, Service, check, check_candidate, check_reset};
use prony_model::run_log::RunLog;
use prony_model::units::parse_duration;

use crate::cli::BenchArguments;
use crate::commands::parse_cpus;
use crate::failure::Failure;

/// What flags say of services and of the reset; a service of an experiment gives way to one of its name.
pub(super) fn apply(experiment: &mut Experiment, arguments: &BenchArguments) -> Result<(), Failure> {
    let given = arguments.services.iter().map(|text| {
        let (name, command) = named("--service", "COMMAND {port}", text)?;
        Service::given(name, command).map_err(Failure::usage)
    });
    let given = given.collect::<Result<Vec<Service>, Failure>>()?;
    // In its place: others may name it. A second one of a name is refused below.
    let of_file = experiment.services.len();
    let mut replaced = Vec::new();
    for service in given {
        let at = experiment.services[..of_file].iter().position(|other| other.name == service.name);
        match at.filter(|at| !replaced.contains(at)) {
            Some(at) => {
                experiment.services[at] = service;
                replaced.push(at);
            }
            None => experiment.services.push(service),
        }
    }
    for text in &arguments.service_ready {
        let (name, ready) = named("--service-ready", "COMMAND", text)?;
        known(experiment, "--service-ready", name)?.ready = Some(ready.to_owned());
    }
    for text in &arguments.service_timeout {
        let (name, time) = named("--service-timeout", "60s", text)?;
        known(experiment, "--service-timeout", name)?.ready_timeout = parse_duration(time)?;
    }
    for name in &arguments.keep_service {
        known(experiment, "--keep-service", name)?.keep = true;
    }
    if let Some(command) = &arguments.reset {
        let timeout = experiment.reset.as_ref().map_or(RESET_TIMEOUT, |of_file| of_file.timeout);
        experiment.reset = Some(Reset { command: command.clone(), timeout });
    }
    if let Some(timeout) = &arguments.reset_timeout {
        let timeout = parse_duration(timeout)?;
        let Some(reset) = experiment.reset.as_mut().filter(|_| !timeout.is_zero()) else {
            return Err(Failure::usage(
                "--reset-timeout is how long a --reset may take: give both, and more than 0.",
            ));
        };
        reset.timeout = timeout;
    }
    check(&experiment.services, &[]).map_err(Failure::usage)?;
    let reset = experiment.reset.as_ref();
    reset.map_or(Ok(()), |reset| check_reset(&reset.command, &experiment.services)).map_err(Failure::usage)
}

fn named<'a>(flag: &str, what: &str, text: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let split = text.split_once('=').filter(|(_, what)| !what.trim().is_empty());
    split.ok_or_else(|| {
        Failure::usage(format!("{flag} {text:?} says no name, or nothing: write NAME='{what}'."))
    })
}

fn known<'a>(experiment: &'a mut Experiment, flag: &str, name: &str) -> Result<&'a mut Service, Failure> {
    experiment.services.iter_mut().find(|service| service.name == name).ok_or_else(|| {
        Failure::usage(format!(
            "{flag} {name}: there is no such service: give --service {name}='COMMAND {{port}}'."
        ))
    })
}

/// Refuses what `--server-host` does not do, before it is reached.
pub(super) fn check_host(arguments: &BenchArguments) -> Result<(), Failure> {
    let BenchArguments { port, runtime, .. } = arguments;
    match runtime.server_host {
        Some(_) if port.is_some() => {
            Err(Failure::usage("--port is not known to --server-host: leave one of them out."))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_run(
    experiment: &Experiment,
    candidates: &[BenchCandidate],
    arguments: &BenchArguments,
) -> Result<(), Failure> {
    for c in candidates {
        for words in c.candidate.told() {
            check_candidate(c.candidate.label(), words, &experiment.services).map_err(Failure::usage)?;
        }
    }
    let services = !experiment.services.is_empty();
    if let Some(url) = candidates.iter().find(|c| services && c.candidate.as_url().is_some()) {
        return Err(Failure::usage(format!(
            "{} is a URL, whose server Prony does not start and cannot tell where a service is: leave it out, or --service.",
            url.candidate.label()
        )));
    }
    // Those of a file are refused as those of flags are.
    let keeps = experiment.services.iter().any(|service| service.keep);
    if arguments.duet && (keeps || experiment.reset.is_some()) {
        return Err(Failure::usage(
            "--duet runs two candidates at once: a reset, or a service that both use, would be of both. Leave --duet out.",
        ));
    }
    Ok(())
}

/// The CPUs of services: of --pin or the resumed log, or one of the client's where it has two; empty: the server's.
pub(super) fn cpus(
    experiment: &Experiment,
    candidates: &[BenchCandidate],
    arguments: &BenchArguments,
    (before, there): (Option<&RunLog>, Option<&ServerHost>),
    pins: &mut Pins,
) -> Result<Vec<u32>, Failure> {
    let needed = !experiment.services.is_empty() || candidates.iter().any(is_of_recipe);
    if let Some(given) = arguments.pin.iter().find_map(|text| text.strip_prefix("service=")) {
        let cpus = parse_cpus(given)?;
        // Of another host, the client has none.
        let clients = |cpu: &u32| there.is_none() && pins.client.contains(cpu);
        let taken = cpus.iter().find(|cpu| clients(cpu) || pins.server.contains(cpu));
        return match taken {
            Some(cpu) => Err(Failure::usage(format!(
                "--pin: CPU {cpu} cannot be both the services' and another side's: leave service= out, and they share \
                 the server's."
            ))),
            None if !needed => Err(Failure::usage(
                "--pin service= is for a run with services: give --service, or leave it out.",
            )),
            None => Ok(cpus),
        };
    }
    Ok(match before {
        Some(log) => log.header.service_cpus.clone(),
        None if !needed || !arguments.pin.is_empty() || arguments.duet => Vec::new(),
        None => match there {
            // The last that is no server's; a host may be this machine by another address.
            Some(host) => {
                let free = host.host().cpus_allowed.iter().rev().find(|cpu| !pins.server.contains(cpu));
                let is_here = host.host().boot_id == prony_host::boot_id();
                let own = free.filter(|cpu| !is_here || pins.client.iter().any(|client| client != *cpu));
                pins.client.retain(|cpu| !is_here || Some(cpu) != own);
                own.copied().into_iter().collect()
            }
            None if pins.client.len() > 1 => pins.client.pop().into_iter().collect(),
            None => Vec::new(),
        },
    })
}

/// Nobody's file but the one that is named says which commands are run: that of a log does not.
pub(super) fn check_resumed(experiment: &Experiment) -> Result<(), Failure> {
    if experiment.services.is_empty() && experiment.reset.is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        "This run's experiment has commands to run, services or a reset: name its file again with --resume.",
    ))
}

pub(super) fn forecast(setup: &BenchSetup) -> Vec<String> {
    let on = match setup.service_cpus[..] {
        [] => "the server's CPUs".to_owned(),
        _ => format!("CPUs {}", show_list(&setup.service_cpus)),
    };
    setup.experiment.services.iter().map(|service| format!("service  {} on {on}", service.name)).collect()
}

fn is_of_recipe(c: &BenchCandidate) -> bool {
    c.candidate.server().is_some_and(|server| server.recipe.has_services())
}
