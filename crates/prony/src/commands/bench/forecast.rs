//! What `--dry-run` prints of a run, and for how long it would take.

use std::time::Duration;

use prony_host::cpus::show_list;
use prony_lab::bench::{BenchCandidate, BenchSetup};
use prony_model::units::show_duration;
use prony_report::format::count;

use super::{adaptive, duet, services};
use crate::cli::BenchArguments;
use crate::failure::Failure;

pub(super) fn forecast(setup: &BenchSetup, arguments: &BenchArguments) -> Result<String, Failure> {
    let experiment = &setup.experiment;
    let plans = experiment.plans.len();
    let candidates = u32::try_from(setup.candidates.len()).unwrap_or(u32::MAX);
    let forecast = setup.forecast(experiment.blocks.max);
    let mut lines = vec![
        format!("{} ({})", experiment.title, experiment.name),
        format!(
            "{}{} × {} × {} = {}, about {}",
            count(u64::from(candidates), "candidate", "candidates"),
            setup.twin().map_or(String::new(), |twin| format!(" and a twin of {}", twin.candidate.label())),
            count(plans as u64, "plan", "plans"),
            count(u64::from(experiment.blocks.max), "block", "blocks"),
            count(u64::from(forecast.trials), "trial", "trials"),
            shown(forecast.total)
        ),
    ];
    if arguments.plan.is_auto() && !setup.resume {
        lines.push("-d auto: 1s stands here for what a load before the run chooses, up to 30s".to_owned());
    }
    if candidates == 0 {
        lines.push("nothing can run: no candidate is available (see skipped below)".to_owned());
    }
    if let Some(budget) = experiment.budget.filter(|_| candidates > 0) {
        lines.push(format!(
            "budget {}: {} of {} blocks fit (a block takes about {})",
            show_duration(budget),
            forecast.blocks_in_budget,
            experiment.blocks.max,
            shown(forecast.block)
        ));
    }
    match &setup.duet {
        Some(places) => lines.push(duet::forecast(places)),
        None if candidates == 0 => {}
        None => lines.push(adaptive::forecast(experiment, &forecast, arguments)?),
    }
    let cpus = |cpus: &[u32]| if cpus.is_empty() { "any".to_owned() } else { show_list(cpus) };
    lines.push(format!(
        "seed {} · server CPUs {} · client CPUs {}",
        experiment.seed,
        cpus(&setup.pins.server),
        cpus(&setup.pins.client)
    ));
    lines.extend(services::forecast(setup));
    if !setup.fleet.is_empty() {
        lines.push(format!("loads    by {}", setup.fleet.join(" ")));
    }
    let plans = prony_lab::bench::named_plans(setup).into_iter();
    lines.extend(plans.map(|plan| format!("plan     {}: {}", plan.name, plan.describe)));
    for BenchCandidate { candidate, version, .. } in &setup.candidates {
        lines.push(
            format!("runs     {}  {}", candidate.label(), version.as_deref().unwrap_or_default())
                .trim_end()
                .to_owned(),
        );
    }
    for skipped in &setup.skipped {
        lines.push(format!("skipped  {}: {}", skipped.candidate, skipped.reason_and_fix()));
    }
    Ok(lines.join("\n"))
}

pub(super) fn shown(duration: Duration) -> String {
    show_duration(Duration::from_secs(duration.as_secs().max(1)))
}
