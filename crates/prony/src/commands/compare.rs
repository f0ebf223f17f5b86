//! `prony compare`: which of two is faster, if the trials show it.

use std::collections::BTreeMap;
use std::path::Path;

use prony_analysis::comparison::fail_if::{self, FailIf};
use prony_analysis::comparison::{
    Comparison, ComparisonError, Options, RunCandidate, choose, choose_in, compare_candidates,
};
use prony_analysis::earlier_runs::EarlierRuns;
use prony_analysis::figure::Figure;
use prony_analysis::history::take_earlier;
use prony_model::run_log::RunLog;
use prony_report::{json, markdown, runs, terminal};

use super::{logs, write_output};
use crate::cli::{CompareArguments, CompareFormat};
use crate::failure::{Failure, MISSED, NOT_JUDGED};
use crate::printer::Printer;

pub(crate) fn run(arguments: &CompareArguments, printer: &Printer) -> Result<(), Failure> {
    let conditions = conditions(&arguments.fail_if)?;
    let declared = fail_if::figures(&conditions);
    let margins = margins(&arguments.margin)?;
    let options = Options { margins, force: arguments.force, declared, ..Options::default() };
    let mut comparisons = compare(arguments, &options, printer)?;
    for comparison in &mut comparisons {
        comparison.not_judged = fail_if::not_judged(&conditions, comparison);
    }
    let not_judged = comparisons.iter().map(|c| c.not_judged.clone()).collect::<Vec<_>>().concat();
    let text = match arguments.format {
        CompareFormat::Terminal => {
            let shown = joined(&comparisons, |c| terminal::comparison(c, arguments.all, &printer.options()));
            terminal::not_judged(&not_judged, &printer.options()) + &shown
        }
        CompareFormat::Markdown => {
            let shown = joined(&comparisons, |c| markdown::comparison(c, arguments.all));
            markdown::not_judged(&not_judged) + &shown
        }
        CompareFormat::Json => json::pretty(&comparisons),
    };
    write_output(&text, arguments.output.as_deref(), "Comparison", printer)?;
    let failed: Vec<String> =
        comparisons.iter().flat_map(|comparison| fail_if::failures(&conditions, comparison)).collect();
    concluded(&failed, &not_judged, false)
}

/// The exit code of what failed and of what was not judged, with the reasons; `missed`: a threshold was, as was said.
pub(super) fn concluded(failed: &[String], not_judged: &[String], missed: bool) -> Result<(), Failure> {
    let failing = (!failed.is_empty()).then(|| format!("--fail-if: {}.", failed.join("; ")));
    let open = (!not_judged.is_empty()).then(|| format!("Not judged: {}.", not_judged.join("; ")));
    let code = match () {
        () if missed || failing.is_some() => MISSED,
        () if open.is_some() => NOT_JUDGED,
        () => return Ok(()),
    };
    let message = [failing, open].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Err(Failure { message, code })
}

fn joined(comparisons: &[Comparison], view: impl Fn(&Comparison) -> String) -> String {
    comparisons.iter().map(view).collect::<Vec<_>>().join("\n")
}

/// Who is compared with whom: see the grammar in [`CompareArguments::what`].
fn compare(
    arguments: &CompareArguments,
    options: &Options,
    printer: &Printer,
) -> Result<Vec<Comparison>, Failure> {
    let Some((first, rest)) = arguments.what.split_first() else {
        return Err(Failure::usage("Give two run logs to compare, or one and two of its candidates."));
    };
    let log = read(first, printer)?;
    let second = match rest {
        [second] if Path::new(second).is_file() => Some(read(second, printer)?),
        _ => None,
    };
    let pairs = match (&second, rest) {
        (Some(second), [path]) => choose((&log, first), (second, path), &arguments.candidates),
        _ => {
            if let [second] = rest
                && !log.header.candidates.iter().any(|c| c.label == *second)
            {
                return Err(Failure::usage(format!(
                    "{second:?} is neither a file nor a candidate of {first}, whose candidates are {}.",
                    log.header.candidates.iter().map(|c| c.label.as_str()).collect::<Vec<_>>().join(", ")
                )));
            }
            if !rest.is_empty() && !arguments.candidates.is_empty() {
                return Err(Failure::usage(
                    "Candidates are named twice: give them after the run log, or with --candidate.",
                ));
            }
            let named = if rest.is_empty() { &arguments.candidates } else { rest };
            choose_in(&log, first, named).map(|pair| vec![pair])
        }
    };
    let pairs = pairs.map_err(failure)?;
    let with = |(a, b): (RunCandidate<'_>, RunCandidate<'_>)| {
        let earlier =
            arguments.history.as_deref().map(|folder| earlier(folder, a, b, printer)).transpose()?;
        compare_candidates(a, b, &Options { earlier, ..options.clone() }).map_err(failure)
    };
    pairs.into_iter().map(with).collect()
}

fn earlier(
    folder: &str,
    a: RunCandidate<'_>,
    b: RunCandidate<'_>,
    printer: &Printer,
) -> Result<EarlierRuns, Failure> {
    let mut earlier = EarlierRuns::default();
    let (files, left_out) = runs::files(Path::new(folder)).map_err(Failure::usage)?;
    let mut left_out: Vec<String> = left_out.into_iter().map(|l| format!("{}: {}", l.file, l.why)).collect();
    take_earlier(&mut earlier, a.log, a, b.log).map_err(Failure::usage)?;
    for file in files {
        let taken = runs::read(&file).and_then(|log| take_earlier(&mut earlier, &log, a, b.log));
        left_out.extend(taken.err().map(|why| format!("{}: {why}", file.display())));
    }
    left_out.iter().for_each(|why| printer.note(&format!("left out of --history: {why}")));
    Ok(earlier)
}

fn read(path: &str, printer: &Printer) -> Result<RunLog, Failure> {
    Ok(logs::noted(prony_analysis::run_log::read(Path::new(path))?, path, printer))
}

pub(super) fn failure(error: ComparisonError) -> Failure {
    match error {
        ComparisonError::Choice(_) | ComparisonError::Unlike { .. } => Failure::usage(error),
        ComparisonError::Nothing(..) => Failure::not_measured(error),
    }
}

pub(super) fn conditions(texts: &[String]) -> Result<Vec<FailIf>, Failure> {
    let parse = |text| fail_if::parse(text).map_err(|e| Failure::usage(format!("--fail-if {e}")));
    Ok(texts.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?.concat())
}

/// `throughput=1%`: above 0, below 100 %.
pub(super) fn margins(texts: &[String]) -> Result<BTreeMap<Figure, f64>, Failure> {
    let mut margins = BTreeMap::new();
    for text in texts {
        let wrong =
            |why: &str| Failure::usage(format!("--margin {text:?}: {why} Write throughput=1% or p99=10%."));
        let (name, share) = text.split_once('=').ok_or_else(|| wrong("there is no =."))?;
        let figure = fail_if::figure(name.trim()).map_err(|why| wrong(&format!("{why}.")))?;
        margins
            .insert(figure, super::share(share).ok_or_else(|| wrong("the share lies between 0 and 100%."))?);
    }
    Ok(margins)
}
