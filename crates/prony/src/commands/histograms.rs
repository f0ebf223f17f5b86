//! `prony report --format hgrm|hlog|monitor`: the histograms that a run log has, in other tools' formats, and what the
//! machines did.

use std::collections::BTreeSet;
use std::io::{self, Write};

use prony_model::Trial;
use prony_model::run_log::{RunLog, TrialResult};
use prony_report::export::monitor::{self, Monitored};
use prony_report::format::{count, printable};

use super::only;
use crate::cli::ReportArguments;
use crate::failure::Failure;
use crate::printer::Printer;

/// A writer of `prony_report::export`, over trials of one kind.
type Writer = fn(&[&Trial], &mut dyn Write) -> io::Result<()>;

/// The trials of one candidate under one plan, written. Those that count are taken together; where there is
/// but one, it is taken whatever it is.
pub(super) fn text(
    log: &RunLog,
    arguments: &ReportArguments,
    write: Writer,
    printer: &Printer,
) -> Result<String, Failure> {
    let run = &arguments.run;
    let mut chosen: Vec<(&TrialResult, &Trial)> = log
        .last_results()
        .into_values()
        .filter_map(|result| Some((result, result.trial.as_ref()?)))
        .collect();
    only::keep(&mut chosen, &arguments.only, |(result, _)| kind(result), run)?;
    let of: BTreeSet<(&str, &str)> = chosen.iter().map(|(r, _)| kind(r)).collect();
    if of.len() != 1 {
        let names = |names: BTreeSet<&str>| printable(&names.into_iter().collect::<Vec<_>>().join(", "));
        return Err(Failure::usage(format!(
            "{run}: this format has room for one candidate under one plan, and the run has {} of these. Choose with \
             --only: candidates are {}; plans are {}.",
            of.len(),
            names(of.iter().map(|(candidate, _)| *candidate).collect()),
            names(of.iter().map(|(_, plan)| *plan).collect()),
        )));
    }
    let all: Vec<&Trial> = chosen.iter().map(|(_, trial)| *trial).collect();
    let counted: Vec<&Trial> = all.iter().copied().filter(|trial| all.len() == 1 || trial.counts()).collect();
    if counted.is_empty() {
        return Err(Failure::not_measured(format!(
            "{run}: none of these {} trials counts: each is invalid or was interrupted.",
            all.len()
        )));
    }
    let mut bytes = Vec::new();
    write(&counted, &mut bytes).map_err(|why| Failure::usage(format!("{run}: {why}.")))?;
    if all.len() > 1 {
        let (candidate, plan) = kind(chosen[0].0);
        let left_out = match all.len() - counted.len() {
            0 => String::new(),
            n => format!("; {n} left out, invalid or interrupted"),
        };
        printer.note(&format!(
            "{} of {} under {} together{left_out}.",
            count(counted.len() as u64, "trial", "trials"),
            printable(candidate),
            printable(plan)
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the machines did in each of the trials, in their order.
pub(super) fn monitored(log: &RunLog, arguments: &ReportArguments) -> Result<String, Failure> {
    let run = &arguments.run;
    let mut chosen: Vec<Monitored<'_>> = log.last_results().into_values().filter_map(of_result).collect();
    only::keep(&mut chosen, &arguments.only, place_of, run)?;
    let mut bytes = Vec::new();
    monitor::write(&chosen, &mut bytes).map_err(|why| Failure::not_measured(format!("{run}: {why}.")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn place_of<'a>(one: &'a Monitored<'_>) -> (&'a str, &'a str) {
    one.place.map_or(("", ""), |place| (&place.candidate, &place.plan))
}

fn of_result(result: &TrialResult) -> Option<Monitored<'_>> {
    let trial = result.trial.as_ref()?;
    let server = result.server.as_ref().or(trial.server.as_ref());
    Some(Monitored { trial, server, place: Some(&result.planned) })
}

fn kind(result: &TrialResult) -> (&str, &str) {
    (&result.planned.candidate, &result.planned.plan)
}
