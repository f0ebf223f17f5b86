//! `--candidate NAME='CMD {port}'`, `NAME=image:IMAGE` and `NAME=URL`: a run without a file.

use prony_analysis::window::PILOT;
use prony_lab::bench::BenchCandidate;
use std::sync::Arc;

use prony_lab::candidate::{Candidate, Layout, Listens};
use prony_lab::container::Engine;
use prony_lab::experiment::{Experiment, ExperimentPlan};
use prony_model::target::Target;

use crate::cli::BenchArguments;
use crate::commands::plan;
use crate::commands::server_host::watched;
use crate::commands::servers;
use crate::failure::Failure;

const BLOCKS: u32 = 5;
/// How what is measured begins where it is an image.
const IMAGE: &str = "image:";

pub(in crate::commands) fn experiment(
    arguments: &BenchArguments,
    layout: &Layout,
) -> Result<(Experiment, Vec<BenchCandidate>), Failure> {
    let engine = engine(arguments)?;
    let args = arguments.args.as_deref().unwrap_or_default();
    let args = shlex::split(args).ok_or_else(|| {
        Failure::usage(format!(
            "--args {args:?} has a quote that does not end: close it, or put \\ before it."
        ))
    })?;
    let mut candidates = Vec::new();
    for text in &arguments.candidates {
        let Some((name, what)) = text.split_once('=') else {
            return Err(Failure::usage(format!(
                "--candidate {text:?} has no name: write NAME='COMMAND {{port}}', NAME=image:IMAGE or NAME=URL."
            )));
        };
        let candidate = if what.starts_with("http://") || what.starts_with("https://") {
            Candidate::url(name, Target::given(what).map_err(Failure::usage)?)
        } else if let (Some(image), Some(engine)) = (what.strip_prefix(IMAGE), &engine) {
            Candidate::of_image(name, image, &args, arguments.port, engine)
        } else {
            let (tls, unix, port) = (arguments.https, arguments.plan.unix.clone(), arguments.port);
            let listens = Listens { tls, unix, port };
            Candidate::command(name, what, listens)
        };
        let candidate = candidate.map_err(Failure::usage)?;
        if candidates.iter().any(|c: &BenchCandidate| c.candidate.label() == candidate.label()) {
            return Err(Failure::usage(format!(
                "Two candidates are called {name:?}: give each its own name."
            )));
        }
        let version = candidate.image_version(arguments.pull, layout).map_err(Failure::usage)?;
        candidates.push(BenchCandidate::new(candidate, version));
    }
    watch(arguments, &mut candidates)?;
    check_listens(arguments, &candidates)?;
    if let Some(url) = candidates.iter().find(|c| c.candidate.as_url().is_some())
        && arguments.runtime.server_host.is_some()
    {
        return Err(Failure::usage(format!(
            "--server-host starts servers there, and {} is a URL, whose server Prony does not start: leave one of them out.",
            url.candidate.label()
        )));
    }
    // The flags mean what they mean for `load`; the target is each candidate's own.
    let tls = candidates.iter().any(|c| c.candidate.tls());
    let target = Target { tls, ..plan::placeholder() };
    let by_fleet = arguments.fleet.fleet.is_some() && arguments.resume.is_none();
    let piloted = arguments.plan.pilot(PILOT, by_fleet).map_err(Failure::usage)?;
    let options = piloted.as_ref().unwrap_or(&arguments.plan);
    let mut plan = plan::plan(options, &arguments.redact, Some(target))?;
    plan.target.path = path(arguments, &candidates)?;
    let seed = plan.seed;
    let labels = candidates.iter().map(|c| c.candidate.label().to_owned()).collect();
    let blocks = arguments.blocks.unwrap_or(BLOCKS);
    let plan =
        ExperimentPlan { arrivals_given: arguments.plan.arrivals.is_some(), ..ExperimentPlan::of(plan) };
    let experiment = Experiment::of_candidates(labels, plan, blocks, seed);
    Ok((experiment, candidates))
}

fn engine(arguments: &BenchArguments) -> Result<Option<Arc<Engine>>, Failure> {
    let is_image = |text: &String| text.split_once('=').is_some_and(|(_, what)| what.starts_with(IMAGE));
    let images = arguments.candidates.iter().filter(|text| is_image(text)).count();
    let (runtime, memory) = (&arguments.runtime.runtime, &arguments.runtime.memory);
    let refusals = [
        (
            images < arguments.candidates.len() && runtime != "native",
            "--runtime is for an experiment's servers and for images: a --candidate runs as its own command says.",
        ),
        (images == 0 && arguments.args.is_some(), "--args is for images: write arguments into the command."),
        (
            images == 0 && arguments.pull,
            "--pull is for images, --candidate NAME=image:IMAGE, and there is none.",
        ),
        (images > 0 && arguments.https, "--https is for commands: an image gets no certificate."),
        (
            images > 0 && arguments.plan.unix.is_some(),
            "--unix is for commands: an image listens on the port that it is given.",
        ),
        (
            images > 0 && arguments.runtime.server_host.is_some(),
            "--server-host starts commands and the catalogue's servers there, no images: leave one of them out.",
        ),
        (
            images > 0 && images < arguments.candidates.len() && memory.is_some(),
            "--memory is for images or for commands, not for both in one run: leave it out, or put both in images.",
        ),
    ];
    if let Some((_, why)) = refusals.iter().find(|(refused, _)| *refused) {
        return Err(Failure::usage(*why));
    }
    let runtime = if runtime == "native" { "container" } else { runtime };
    if images == 0 { Ok(None) } else { servers::engine(runtime, memory.as_deref()) }
}

fn watch(arguments: &BenchArguments, candidates: &mut [BenchCandidate]) -> Result<(), Failure> {
    for text in &arguments.watch {
        let (name, server) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!(
                "--watch {text:?} says no candidate: write NAME=PID, NAME=:PORT or NAME=ssh:HOST:PORT."
            ))
        })?;
        let of =
            candidates.iter_mut().find(|c| c.candidate.label() == name && c.candidate.as_url().is_some());
        let of = of.ok_or_else(|| {
            Failure::usage(format!(
                "--watch {text}: no --candidate {name}=URL is given; what Prony starts itself, it samples anyway."
            ))
        })?;
        of.watched = Some(watched(server, &arguments.fleet.agent_binary)?);
    }
    Ok(())
}

fn check_listens(arguments: &BenchArguments, candidates: &[BenchCandidate]) -> Result<(), Failure> {
    let url = candidates.iter().find(|c| c.candidate.as_url().is_some());
    if arguments.port.is_some() && candidates.iter().all(|c| c.candidate.as_url().is_some()) {
        return Err(Failure::usage("--port is for commands: write the port into the URL of each candidate."));
    }
    if arguments.https && candidates.iter().all(|c| c.candidate.as_url().is_some()) {
        return Err(Failure::usage(
            "--https is for commands: write https:// into the URL of each candidate.",
        ));
    }
    match (url, arguments.plan.unix.as_deref().filter(|path| is_of_each_start(path))) {
        (Some(url), Some(path)) => Err(Failure::usage(format!(
            "--unix {path} is another socket at each start of a command, and {} is a URL, whose server Prony does not \
             start: write the path of its socket.",
            url.candidate.label()
        ))),
        _ => Ok(()),
    }
}

/// Whether a socket's path is another at each start of a server.
pub(super) fn is_of_each_start(path: &str) -> bool {
    ["{run}", "{port}"].iter().any(|variable| path.contains(variable))
}

/// What is requested of every command: `--path`, checked as the path of a URL is.
fn path(arguments: &BenchArguments, candidates: &[BenchCandidate]) -> Result<String, Failure> {
    let Some(path) = &arguments.path else { return Ok("/".to_owned()) };
    if candidates.iter().all(|c| c.candidate.as_url().is_some()) {
        return Err(Failure::usage("--path is for commands: write the path into the URL of each candidate."));
    }
    if !path.starts_with('/') {
        return Err(Failure::usage(format!("--path {path:?} does not begin with a /: write /{path}.")));
    }
    Ok(Target::given(&format!("http://127.0.0.1{path}")).map_err(Failure::usage)?.path)
}
