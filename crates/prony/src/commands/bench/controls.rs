//! `--controls`: what may be started once more in each block.

use prony_lab::bench::BenchCandidate;
use prony_lab::experiment::Experiment;
use prony_model::run_log::RunLog;

use crate::cli::BenchArguments;
use crate::failure::Failure;

/// Takes from the command line whether the run has controls; a resumed one has those that it was begun with.
pub(super) fn adapt(
    experiment: &mut Experiment,
    arguments: &BenchArguments,
    before: Option<&RunLog>,
) -> Result<(), Failure> {
    if let Some(log) = before {
        let had = log.header.order.iter().any(|planned| planned.control.is_some());
        if arguments.controls.is_some_and(|asked| asked != had) {
            let with = if had { "with" } else { "without" };
            return Err(Failure::usage(format!(
                "--controls: the run was begun {with} them: leave it out, or begin a new run."
            )));
        }
        experiment.controls = had;
    } else {
        // A duet of an experiment with controls is without them.
        experiment.controls = arguments.controls.unwrap_or(experiment.controls && !arguments.duet);
    }
    Ok(())
}

/// Refuses controls where there would be none, or where they would be no other start.
pub(super) fn check(
    experiment: &Experiment,
    twin: Option<&BenchCandidate>,
    duet: bool,
) -> Result<(), Failure> {
    let Some(twin) = twin else { return Ok(()) };
    let label = twin.candidate.label();
    let why = if duet {
        "--controls compares two starts of one server that run in turn, and --duet runs two candidates at once: leave \
         one of them out."
            .to_owned()
    } else if twin.candidate.as_url().is_some() {
        format!(
            "--controls starts {label} once more in each block, and it is a URL, whose server Prony does not start: \
             make a candidate with a command the first one, or leave --controls out."
        )
    } else if experiment.plans.iter().all(|plan| plan.capacity.is_some()) {
        "--controls compares loads, and every plan searches for a capacity: leave --controls out.".to_owned()
    } else {
        return Ok(());
    };
    Err(Failure::usage(why))
}
