//! `--duet`: what may run at once, and where.

use prony_host::cpus::show_list;
use prony_host::pins::Pins;
use prony_lab::bench::{BenchCandidate, CpuHalves};
use prony_lab::experiment::{Experiment, ExperimentPlan};
use prony_model::duet::DuetShared;
use prony_model::plan::Arrivals;
use prony_model::run_log::RunLog;

use super::candidates;
use crate::cli::BenchArguments;
use crate::failure::Failure;

/// The places of a duet's two candidates: of the log that is resumed, else by `--pin`, else by the machine.
pub(super) fn places(
    arguments: &BenchArguments,
    experiment: &Experiment,
    candidates: &[BenchCandidate],
    pins: Option<&Pins>,
    resumed: Option<&RunLog>,
) -> Result<Option<CpuHalves>, Failure> {
    let before = resumed.map(|log| log.header.duet.as_ref());
    match before {
        Some(None) if arguments.duet => {
            return Err(Failure::usage(
                "--duet cannot be used with --resume, unless the run was begun with it: its candidates ran \
                 in turn. Leave it out, or begin a new run.",
            ));
        }
        Some(None) => return Ok(None),
        None if !arguments.duet => return Ok(None),
        _ => check(experiment, candidates)?,
    }
    let places = match (before.flatten(), pins) {
        // Other pins than the run was begun with are refused where the log is opened.
        (_, Some(pins)) => CpuHalves::of_pins(pins),
        (Some(before), None) => Ok(CpuHalves::of_record(before)),
        (None, None) => CpuHalves::split(&prony_host::cpus::allowed(), experiment.server_cores),
    };
    places.map(Some).map_err(Failure::usage)
}

fn check(experiment: &Experiment, candidates: &[BenchCandidate]) -> Result<(), Failure> {
    let labels: Vec<&str> = candidates.iter().map(|c| c.candidate.label()).collect();
    let [a, b] = candidates else {
        return Err(Failure::usage(format!(
            "--duet needs two candidates, and these are {}: {}. Choose two with --only, or give two --candidate.",
            labels.len(),
            if labels.is_empty() { "none".to_owned() } else { labels.join(", ") }
        )));
    };
    if let Some(url) = [a, b].into_iter().find(|c| c.candidate.as_url().is_some()) {
        return Err(Failure::usage(format!(
            "--duet starts both servers, each on CPUs of its own, and {} is a URL, whose server Prony does not start: \
             leave --duet out, or give both as commands.",
            url.candidate.label()
        )));
    }
    if let (Some(port), Some(other)) = (a.candidate.fixed_port(), b.candidate.fixed_port())
        && port == other
    {
        return Err(Failure::usage(format!(
            "--duet runs both servers at once, and the images of both listen on port {port}: leave --duet out."
        )));
    }
    if let Some(path) = a.candidate.unix().filter(|path| !candidates::is_of_each_start(path)) {
        return Err(Failure::usage(format!(
            "--duet runs both servers at once, and both would listen on the Unix socket {path}: write a path with \
             {{run}}, a folder of each start's own."
        )));
    }
    if experiment.precision.is_some() {
        return Err(Failure::usage(
            "--precision is about throughput, which a duet's rate fixes: give --blocks instead.",
        ));
    }
    match experiment.plans.iter().find(|plan| !has_rate(plan)) {
        None => Ok(()),
        Some(plan) => Err(Failure::usage(format!(
            "--duet compares at a rate, and the plan {} has none: two servers at their maximum at once compete for \
             caches, memory bandwidth and clock speed, so that neither shows its own. Give -R RATE (in a file: \
             rate = …, or --only plans that have one), or leave --duet out.",
            plan.name
        ))),
    }
}

pub(super) fn forecast(places: &CpuHalves) -> String {
    let half = |name: &str, pins: &Pins| {
        format!("{name} server CPUs {}, client CPUs {}", show_list(&pins.server), show_list(&pins.client))
    };
    let shared = match places.shared {
        DuetShared::Nothing => "",
        DuetShared::Clients => " · both clients share one CPU: results are marked",
        DuetShared::Servers => " · each server shares its CPU with its own client: results are marked",
    };
    format!(
        "duet     both at once, twice a block, the second time with their CPUs swapped: {} · {}{shared}",
        half("left", &places.left),
        half("right", &places.right)
    )
}

fn has_rate(plan: &ExperimentPlan) -> bool {
    let open =
        matches!(plan.load.arrivals, Arrivals::Constant(_) | Arrivals::Poisson(_) | Arrivals::RateStages(_));
    open && plan.capacity.is_none() && plan.share.is_none()
}
