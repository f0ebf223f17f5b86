//! Who is compared with whom.

use prony_model::run_log::RunLog;

use super::{ComparisonError, RunCandidate};

/// The pairs of two runs: those named (one for both, or A's and B's); else the only one of each; else all that both
/// have.
pub fn choose<'a>(
    (log_a, run_a): (&'a RunLog, &'a str),
    (log_b, run_b): (&'a RunLog, &'a str),
    named: &'a [String],
) -> Result<Vec<(RunCandidate<'a>, RunCandidate<'a>)>, ComparisonError> {
    let (of_a, of_b) = (measured(log_a), measured(log_b));
    let pair = |a: &'a str, b: &'a str| {
        (
            RunCandidate { log: log_a, run: run_a, candidate: a },
            RunCandidate { log: log_b, run: run_b, candidate: b },
        )
    };
    match named {
        [] => {}
        [one] => return Ok(vec![pair(known(&of_a, one, run_a)?, known(&of_b, one, run_b)?)]),
        [one, other] => return Ok(vec![pair(known(&of_a, one, run_a)?, known(&of_b, other, run_b)?)]),
        more => return Err(too_many(more)),
    }
    if let ([one], [other]) = (of_a.as_slice(), of_b.as_slice()) {
        return Ok(vec![pair(one, other)]);
    }
    let common: Vec<_> = of_a.iter().filter(|label| of_b.contains(label)).map(|l| pair(l, l)).collect();
    if common.is_empty() {
        return Err(ComparisonError::Choice(format!(
            "No candidate is in both runs: {run_a} has {}, {run_b} has {}. Name one of each: --candidate A \
             --candidate B.",
            list(&of_a),
            list(&of_b)
        )));
    }
    Ok(common)
}

/// The pair of one run: the two named; the baseline and the one named; or its only two, the baseline first.
pub fn choose_in<'a>(
    log: &'a RunLog,
    run: &'a str,
    named: &'a [String],
) -> Result<(RunCandidate<'a>, RunCandidate<'a>), ComparisonError> {
    let all = measured(log);
    let pair = |a: &'a str, b: &'a str| {
        (RunCandidate { log, run, candidate: a }, RunCandidate { log, run, candidate: b })
    };
    let baseline = log.header.baseline.as_deref().filter(|label| all.contains(label));
    match (named, all.as_slice()) {
        ([one, other], _) => Ok(pair(known(&all, one, run)?, known(&all, other, run)?)),
        ([one], _) => match baseline.filter(|label| label != one) {
            Some(baseline) => Ok(pair(baseline, known(&all, one, run)?)),
            None => Err(ComparisonError::Choice(format!(
                "Only {one} is named, and a comparison is of two: name two of {}, as in prony compare {run} A B.",
                list(&all)
            ))),
        },
        ([], [one, other]) if baseline == Some(other) => Ok(pair(other, one)),
        ([], [one, other]) => Ok(pair(one, other)),
        ([], [only]) => Err(ComparisonError::Choice(format!(
            "{run} has one candidate, {only}: give another run log to compare it with, or measure both in one \
             run with `prony bench --candidate base=… --candidate head=…`."
        ))),
        ([], []) => Err(ComparisonError::Choice(format!("{run} holds no trial with a result."))),
        ([], _) => Err(ComparisonError::Choice(format!(
            "{run} has {} candidates: name two of {}, as in prony compare {run} {} {}.",
            all.len(),
            list(&all),
            all[0],
            all[1]
        ))),
        (more, _) => Err(too_many(more)),
    }
}

fn too_many(named: &[String]) -> ComparisonError {
    ComparisonError::Choice(format!("{} candidates are named: a comparison is of two.", named.len()))
}

/// Candidates with a measured trial, in the header's order, then those that only trials name.
fn measured(log: &RunLog) -> Vec<&str> {
    let with = |label: &str| log.results.iter().any(|r| r.planned.candidate == label && r.trial.is_some());
    let mut labels: Vec<&str> =
        log.header.candidates.iter().map(|c| c.label.as_str()).filter(|label| with(label)).collect();
    for result in log.results.iter().filter(|r| r.trial.is_some()) {
        if !labels.contains(&result.planned.candidate.as_str()) {
            labels.push(&result.planned.candidate);
        }
    }
    labels
}

fn known<'a>(labels: &[&'a str], name: &str, run: &str) -> Result<&'a str, ComparisonError> {
    labels.iter().copied().find(|label| *label == name).ok_or_else(|| {
        ComparisonError::Choice(format!("{run} has no measured candidate {name:?}; it has {}.", list(labels)))
    })
}

fn list(labels: &[&str]) -> String {
    if labels.is_empty() { "none".to_owned() } else { labels.join(", ") }
}
