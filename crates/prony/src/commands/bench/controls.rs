//! `--controls`: what may be started once more in each block.

use prony_lab::bench::BenchCandidate;
use prony_lab::experiment::Experiment;

use crate::failure::Failure;

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
