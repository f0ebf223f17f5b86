//! `prony report --format hgrm|hlog`: the histograms that a run log has, in other tools' formats.

use std::collections::BTreeSet;
use std::io::Write;

use prony_model::Trial;
use prony_model::export::ExportError;
use prony_model::run_log::{RunLog, TrialResult};
use prony_report::format::{count, printable};

use crate::cli::ReportArguments;
use crate::failure::Failure;
use crate::printer::Printer;

/// A writer of `prony_model::export`, over trials of one kind.
type Writer = fn(&[&Trial], &mut dyn Write) -> Result<(), ExportError>;

/// The trials of one candidate under one plan, written. Those that count are taken together; where there is
/// but one, it is taken whatever it is.
pub(super) fn text(
    log: &RunLog,
    arguments: &ReportArguments,
    write: Writer,
    printer: &Printer,
) -> Result<String, Failure> {
    let run = &arguments.run;
    let measured: Vec<(&TrialResult, &Trial)> = log
        .last_results()
        .into_values()
        .filter_map(|result| Some((result, result.trial.as_ref()?)))
        .collect();
    let chosen = chosen(run, &measured, &arguments.only)?;
    let of: BTreeSet<(&str, &str)> = chosen.iter().map(|(r, _)| kind(r)).collect();
    if of.len() != 1 {
        let names = |names: BTreeSet<&str>| printable(&names.into_iter().collect::<Vec<_>>().join(", "));
        return Err(Failure::usage(format!(
            "{run}: such a file is of one candidate under one plan, and these are {}. Choose with --only: \
             candidates are {}; plans are {}.",
            of.len(),
            names(of.iter().map(|(candidate, _)| *candidate).collect()),
            names(of.iter().map(|(_, plan)| *plan).collect()),
        )));
    }
    let all: Vec<&Trial> = chosen.iter().map(|(_, trial)| *trial).collect();
    let counted: Vec<&Trial> = all.iter().copied().filter(|trial| all.len() == 1 || trial.counts()).collect();
    if counted.is_empty() {
        return Err(Failure::not_measured(format!("{run}: none of these {} trials counts.", all.len())));
    }
    let mut bytes = Vec::new();
    write(&counted, &mut bytes).map_err(|why| Failure::usage(format!("{run}: {why}.")))?;
    if all.len() > 1 {
        let (candidate, plan) = kind(chosen[0].0);
        let left_out = match all.len() - counted.len() {
            0 => String::new(),
            n => format!("; {n} left out, which do not count"),
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

fn kind(result: &TrialResult) -> (&str, &str) {
    (&result.planned.candidate, &result.planned.plan)
}

/// What `--only` leaves: of the candidates that it names, and of the plans; of all where it names none.
fn chosen<'a>(
    run: &str,
    measured: &[(&'a TrialResult, &'a Trial)],
    only: &[String],
) -> Result<Vec<(&'a TrialResult, &'a Trial)>, Failure> {
    let names = |of: fn(&TrialResult) -> &str| -> BTreeSet<&str> {
        measured.iter().map(|(result, _)| of(result)).collect()
    };
    let (candidates, plans) = (names(|r| &r.planned.candidate), names(|r| &r.planned.plan));
    let unknown =
        only.iter().find(|name| !candidates.contains(name.as_str()) && !plans.contains(name.as_str()));
    if let Some(name) = unknown {
        let list = |names: &BTreeSet<&str>| printable(&names.iter().copied().collect::<Vec<_>>().join(", "));
        return Err(Failure::usage(format!(
            "--only {name:?} is neither a candidate that {run} measured ({}) nor a plan ({}).",
            list(&candidates),
            list(&plans)
        )));
    }
    let named = |of: &BTreeSet<&str>, name: &str| {
        !only.iter().any(|asked| of.contains(asked.as_str())) || only.iter().any(|asked| asked == name)
    };
    let keep = |result: &TrialResult| {
        named(&candidates, &result.planned.candidate) && named(&plans, &result.planned.plan)
    };
    Ok(measured.iter().copied().filter(|(result, _)| keep(result)).collect())
}
