//! `prony servers`: the catalogue, installation, and the contract check.

mod check;
mod list;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use prony_host::state;
use prony_lab::bench::{Serving, script};
use prony_lab::candidate::{Candidate, Layout};
use prony_lab::catalogue::Catalogue;
use prony_lab::container::Engine;
use prony_lab::experiment::Experiment;
use prony_lab::provision;
use prony_lab::sample::{can_limit, parse_size};
use prony_lab::server_host::ServerHost;
use prony_load::Control;
use prony_model::secret::redacted_command;

use super::server_host::connect;
use crate::cli::{ListFormat, RuntimeArguments, ServersArguments, ServersCommand};
use crate::failure::{Failure, INTERRUPTED, NOT_MEASURED};
use crate::printer::Printer;

/// Where installed servers and everything else of the laboratory live.
pub(crate) const ROOT: &str = ".prony";
/// Where the script of `servers start --print` has a server listen unless told otherwise.
const PRINTED_PORT: u16 = 8080;
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &ServersArguments, printer: &Printer) -> Result<(), Failure> {
    let catalogue = catalogue(&arguments.servers, printer);
    let layout = layout()?;
    match &arguments.command {
        ServersCommand::List { format, long } => {
            printer.out(&match format {
                ListFormat::Text if *long => list::long(&catalogue),
                ListFormat::Text => list::text(&catalogue, &layout),
                ListFormat::Markdown => list::markdown(&catalogue),
                ListFormat::Json => list::json(&catalogue, &layout, *long),
            });
            Ok(())
        }
        ServersCommand::Install { names, all, experiment, yes, settings, runtime, agent_binary } => {
            let labels = match experiment {
                Some(name) => Experiment::find(name).map_err(Failure::usage)?.candidates,
                None if *all => catalogue.servers.keys().cloned().collect(),
                None => names.clone(),
            };
            let candidates = candidates(&labels, *settings, &catalogue, runtime)?;
            let host = connect(runtime, agent_binary, None, printer)?;
            let failed = install(&candidates, &layout, host.as_deref(), *yes, printer)?;
            if failed.is_empty() {
                return Ok(());
            }
            let message = format!("Not installed:\n  {}", failed.join("\n  "));
            Err(Failure { message, code: NOT_MEASURED })
        }
        ServersCommand::Check { names, all, settings, record, runtime, agent_binary } => {
            let chosen = if *all { catalogue.servers.keys().cloned().collect() } else { names.clone() };
            let candidates = candidates(&chosen, *settings, &catalogue, runtime)?;
            let host = connect(runtime, agent_binary, None, printer)?;
            if host.is_some() && *record {
                return Err(Failure::usage(
                    "--record writes what this machine verified: leave --server-host out, or run it there.",
                ));
            }
            let memory_bytes = if host.is_some() { None } else { native_memory(runtime)? };
            let options = check::Options { all: *all, record: *record, memory_bytes };
            check::run(&candidates, &layout, host.as_ref(), options, printer)
        }
        ServersCommand::Start { name, port, workers, runtime, print } => {
            let mut candidate = Candidate::parse(name, &catalogue).map_err(Failure::usage)?;
            if let Some(engine) = engine(runtime, None)? {
                candidate = candidate.in_container(&engine);
            }
            let port = port.or(candidate.fixed_port()).or(print.then_some(PRINTED_PORT));
            if let Some(port) = port {
                candidate = candidate.on_port(port).map_err(Failure::usage)?;
            }
            if *print {
                let script = script(&candidate, &layout, port.unwrap_or(PRINTED_PORT), *workers);
                printer.out(&script.map_err(Failure::not_measured)?);
                return Ok(());
            }
            start(&candidate, &layout, *workers, printer)
        }
        ServersCommand::New { name, from, dir } => {
            let folder = catalogue.scaffold(name, from, Path::new(dir)).map_err(Failure::usage)?;
            let own = Path::new(dir) == Path::new(prony_lab::catalogue::OWN_SERVERS);
            let servers = if own { String::new() } else { format!(" --servers {dir}") };
            printer.out(&format!(
                "{} is a copy of {from}: change it, then run `prony servers check {name}{servers}`.",
                folder.display()
            ));
            Ok(())
        }
    }
}

/// The engine of `--runtime`; `None`: processes of this machine.
pub(crate) fn engine(runtime: &str, memory: Option<&str>) -> Result<Option<Arc<Engine>>, Failure> {
    let found = (runtime != "native").then(|| Engine::find(runtime, memory)).transpose();
    found.map(|engine| engine.map(Arc::new)).map_err(Failure::usage)
}

/// The memory limit of native servers, once it is known that it can be set.
pub(crate) fn native_memory(arguments: &RuntimeArguments) -> Result<Option<u64>, Failure> {
    let Some(size) = arguments.memory.as_deref().filter(|_| arguments.runtime == "native") else {
        return Ok(None);
    };
    let bytes = parse_size(size).map_err(Failure::usage)?;
    can_limit().map_err(Failure::usage)?;
    Ok(Some(bytes))
}

/// The catalogue; broken recipes are named and left out, and what takes the place of a built-in one is named.
pub(crate) fn catalogue(folders: &[String], printer: &Printer) -> Catalogue {
    let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let catalogue = Catalogue::load(&folders);
    for broken in &catalogue.broken {
        printer.note(&format!("The server {} is left out: {}", broken.name, broken.error));
    }
    let replaced: Vec<_> = catalogue.replaced().collect();
    match replaced.as_slice() {
        [] => {}
        [(name, folder)] => {
            printer.note(&format!(
                "The server {name} is the one in {}, not the built-in one.",
                folder.display()
            ));
        }
        all => {
            let folders: BTreeSet<String> =
                all.iter().filter_map(|(_, folder)| Some(folder.parent()?.display().to_string())).collect();
            let folders = folders.into_iter().collect::<Vec<_>>().join(" and ");
            printer.note(&format!("{} servers are those in {folders}, not the built-in ones.", all.len()));
        }
    }
    catalogue
}

/// The folder of what is installed, which is run: one that somebody else may have filled is refused.
pub(crate) fn layout() -> Result<Layout, Failure> {
    state::trusted(Path::new(ROOT)).map_err(|why| {
        Failure::usage(format!(
            "{why}: what is installed in it would run as you. Work in another folder, or see what is in it and make it \
             yours: chown -R \"$(id -u)\" {ROOT} && chmod go-w {ROOT}."
        ))
    })?;
    Layout::new(Path::new(ROOT))
        .map_err(|e| Failure::usage(format!("The folder {ROOT} cannot be used: {e}.")))
}

/// Candidates by their labels, where they are to run; with `settings`, each also with every single setting that there is
/// there: one that is another image is in containers only.
fn candidates(
    labels: &[String],
    settings: bool,
    catalogue: &Catalogue,
    runtime: &RuntimeArguments,
) -> Result<Vec<Candidate>, Failure> {
    // On another host it is looked for there.
    let engine = match &runtime.server_host {
        Some(_) => None,
        None => engine(&runtime.runtime, runtime.memory.as_deref())?,
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for label in labels {
        let candidate = Candidate::parse(label, catalogue).map_err(Failure::usage)?;
        let own_image = candidate.image().map(str::to_owned);
        let with_settings = if settings { candidate.with_each_setting() } else { vec![candidate] };
        for candidate in with_settings {
            let elsewhere = settings && engine.is_none() && candidate.image() != own_image.as_deref();
            if !elsewhere && !candidates.contains(&candidate) {
                candidates.push(match &engine {
                    Some(engine) => candidate.in_container(engine),
                    None => candidate,
                });
            }
        }
    }
    Ok(candidates)
}

/// Runs a server until it is asked to end, or ends by itself.
fn start(candidate: &Candidate, layout: &Layout, workers: u32, printer: &Printer) -> Result<(), Failure> {
    let control = crate::interrupt::control()?;
    let started = Serving::start(candidate, layout, workers, &|| control.stop_asked());
    let mut serving = match started {
        Err(_) if control.stop_asked() => return Err(Failure::code(INTERRUPTED)),
        started => started.map_err(Failure::not_measured)?,
    };
    printer.out(&format!("{candidate} listens on {}", serving.url));
    for command in &serving.commands {
        printer.out(&format!("  command  {}", redacted_command(&command.join(" "))));
    }
    printer.out(&format!(
        "  log      {}\nCtrl-C ends it. In another terminal: prony load {}",
        serving.log.display(),
        serving.url
    ));
    let death = loop {
        if control.stop_asked() {
            break None;
        }
        if let Some(death) = serving.died(candidate) {
            break Some(death);
        }
        thread::sleep(LOOK_EVERY);
    };
    let (kept, leftovers) = serving.stop();
    match kept {
        Ok(kept) => printer.note(&format!("Its log is now {}", kept.display())),
        Err(why) => printer.note(&why),
    }
    leftovers.iter().for_each(|left| printer.note(&format!("left behind after the stop: {left}")));
    death.map_or(Ok(()), |death| Err(Failure::not_measured(death)))
}

/// Installs what is missing, here or there; what could not be installed, with its reason.
pub(crate) fn install(
    candidates: &[Candidate],
    layout: &Layout,
    host: Option<&ServerHost>,
    yes: bool,
    printer: &Printer,
) -> Result<Vec<String>, Failure> {
    let mut tell = |text: &str| printer.note(&format!("  {text}"));
    let (control, results) = if let Some(host) = host {
        let (plan, is_nothing) = host.plan_install(candidates).map_err(Failure::not_measured)?;
        let control = agreed(&format!("On {}:\n{plan}", host.given()), is_nothing || yes, printer)?;
        let results = host.install(candidates, &|| control.stop_asked(), &mut tell);
        (control, results.map_err(Failure::not_measured)?)
    } else {
        let plan = provision::plan(candidates, layout);
        let control = agreed(&plan.describe(), plan.is_empty() || yes, printer)?;
        let results = provision::install(&plan, candidates, layout, &|| control.stop_asked(), &mut tell);
        (control, results.into_iter().map(|(label, result)| (label, result.err())).collect())
    };
    if control.stop_asked() {
        return Err(Failure {
            message: "Interrupted: run the same command again to continue.".to_owned(),
            code: INTERRUPTED,
        });
    }
    let all = results.len();
    let failed: Vec<String> = results.into_iter().filter_map(|(_, why)| why).collect();
    printer.out(&format!("{} of {all} installed", all - failed.len()));
    Ok(failed)
}

/// Shows what is to be installed and asks, unless known. Ctrl-C then ends it between steps, so that apt's is undone.
fn agreed(plan: &str, is_known: bool, printer: &Printer) -> Result<Control, Failure> {
    printer.note(plan);
    if !is_known && !printer.confirm("Continue?") {
        return Err(Failure::usage("Nothing was installed: answer yes, or give --yes."));
    }
    crate::interrupt::of_an_installation()
}
