//! `prony report`: a run log, shown.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use prony_analysis::experiment::analyse;
use prony_model::Trial;
use prony_model::export::{hgrm, hlog, openmetrics};
use prony_model::run_log::{RunLog, TrialResult};
use prony_model::slo::Decision;
use prony_report::terminal::TerminalOptions;
use prony_report::{csv, github, json, junit, markdown, page, terminal};

use super::{histograms, write_file};
use crate::cli::{ReportArguments, ReportFormat};
use crate::failure::Failure;
use crate::printer::Printer;

/// Names the file of a step's summary in GitHub Actions.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

pub(crate) fn run(arguments: &ReportArguments, printer: &Printer) -> Result<(), Failure> {
    let log = super::logs::read(Path::new(&arguments.run))?;
    if log.truncated {
        printer.note(&format!("{}: its last line was cut off and is dropped.", arguments.run));
    }
    if log.results.is_empty() {
        return Err(Failure::not_measured(format!(
            "{} holds no finished trial: there is nothing to report.",
            arguments.run
        )));
    }
    let format = if arguments.open { ReportFormat::Html } else { arguments.format };
    let text = match format {
        ReportFormat::Hgrm => histograms::text(&log, arguments, hgrm::write, printer)?,
        ReportFormat::Hlog => histograms::text(&log, arguments, hlog::write, printer)?,
        _ if !arguments.only.is_empty() => {
            return Err(Failure::usage(
                "--only goes with --format hgrm and --format hlog: the other forms have all of the run.",
            ));
        }
        _ => render(&log, format, printer.color())?,
    };
    let output = match (&arguments.output, format) {
        (Some(path), _) => Some(path.clone()),
        (None, ReportFormat::Html) => Some(html_path(&arguments.run)),
        (None, _) => None,
    };
    match output {
        None if format == ReportFormat::Github => summarise(&text, printer)?,
        None => printer.out(&text),
        Some(path) if path == "-" => printer.out(&text),
        Some(path) => {
            write_file(&path, &text)?;
            printer.note(&format!("Report: {path}"));
            if arguments.open {
                open(&path)?;
            }
        }
    }
    Ok(())
}

/// Appends to the file that GitHub Actions names for a step's summary; elsewhere it is shown.
fn summarise(text: &str, printer: &Printer) -> Result<(), Failure> {
    let Some(path) = std::env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty()) else {
        printer.out(text);
        return Ok(());
    };
    let path = Path::new(&path);
    let failed =
        |e| Failure::usage(format!("{} (${STEP_SUMMARY}) could not be written: {e}.", path.display()));
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(failed)?;
    // An empty line keeps it apart from what another step wrote.
    file.write_all(format!("{text}\n").as_bytes()).map_err(failed)?;
    printer.note(&format!("Step summary: {}", path.display()));
    Ok(())
}

/// The thresholds that a trial was held against, for JUnit.
fn thresholds(trial: &Trial) -> Vec<junit::Threshold> {
    let held = trial.slo.iter().map(|held| junit::Threshold {
        name: held.slo.clone(),
        missed: held.decision == Decision::Missed,
        seen: held.seen.clone(),
    });
    held.collect()
}

/// Where the HTML page of a run log is written unless told otherwise.
pub(crate) fn html_path(run: &str) -> String {
    Path::new(run).with_extension("html").to_string_lossy().into_owned()
}

/// A run log in a form. Trials of `prony load` have no ranking and are shown one by one.
pub(crate) fn render(log: &RunLog, format: ReportFormat, color: bool) -> Result<String, Failure> {
    if format == ReportFormat::Html {
        return page::report(log).map_err(Failure::usage);
    }
    match format {
        ReportFormat::Junit => return Ok(junit::run(log, thresholds)),
        ReportFormat::OpenMetrics => return Ok(openmetrics::run(log)),
        ReportFormat::Trials => return Ok(json::results(log)),
        _ => {}
    }
    Ok(render_text(log, format, color))
}

fn render_text(log: &RunLog, format: ReportFormat, color: bool) -> String {
    let options = TerminalOptions { color, ..TerminalOptions::default() };
    if !log.header.one_by_one {
        let analysis = analyse(log);
        return match format {
            ReportFormat::Github => github::experiment(&analysis),
            ReportFormat::Markdown => markdown::experiment(&analysis),
            ReportFormat::Json => json::experiment(&analysis),
            ReportFormat::Csv => csv::experiment(&analysis),
            _ => terminal::experiment(&analysis, &options),
        };
    }
    let trials: Vec<(String, Trial)> = log
        .results
        .iter()
        .filter_map(|r| {
            r.trial.clone().map(|t| {
                (format!("{} · {} · #{}", r.planned.candidate, r.planned.plan, r.planned.index + 1), t)
            })
        })
        .collect();
    let options = TerminalOptions { plot: trials.len() == 1, ..options };
    match format {
        ReportFormat::Markdown => {
            trials.iter().map(|(_, t)| markdown::trial(t)).collect::<Vec<_>>().join("\n")
        }
        ReportFormat::Json => json::trials(&trials),
        ReportFormat::Csv => csv::trials(&trials),
        ReportFormat::Github => github::trials(&trials),
        _ => one_by_one(log, &options),
    }
}

/// Trials of `prony load` and searches of `prony capacity`, each as its command showed it.
fn one_by_one(log: &RunLog, options: &TerminalOptions) -> String {
    let shown = log.results.iter().filter_map(|result| {
        search(log, result, options)
            .or_else(|| result.trial.as_ref().map(|trial| terminal::trial(trial, options)))
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The search that a result is; `None` where it is none, or where nothing of its load is known.
fn search(log: &RunLog, result: &TrialResult, options: &TerminalOptions) -> Option<String> {
    let (found, trial) = (result.capacity.as_ref()?, result.trial.as_ref());
    let named = log.header.plans.iter().find(|named| named.name == result.planned.plan);
    let plan = trial.map(|trial| &trial.plan).or(named.map(|named| &named.plan))?;
    let address = trial.map_or("", |trial| &trial.target.address);
    Some(terminal::capacity(found, plan, address, false, options))
}

fn open(path: &str) -> Result<(), Failure> {
    Command::new("xdg-open")
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map(|_| ())
        .map_err(|e| Failure::usage(format!("The page is at {path}; opening it failed: xdg-open: {e}.")))
}
