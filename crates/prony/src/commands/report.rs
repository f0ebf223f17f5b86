//! `prony report`: a run log, shown.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use prony_analysis::analyse;
use prony_model::Trial;
use prony_model::run_log::{RunLog, TrialResult};
use prony_report::export::{csv, hgrm, hlog, openmetrics, trackers};
use prony_report::terminal::TerminalOptions;
use prony_report::{github, json, junit, markdown, page, runs, terminal};

use super::{histograms, logs, write_file, write_output};
use crate::cli::{ReportArguments, ReportFormat};
use crate::failure::Failure;
use crate::printer::Printer;

const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

pub(crate) fn run(arguments: &ReportArguments, printer: &Printer) -> Result<(), Failure> {
    let log =
        logs::noted(prony_analysis::run_log::read_any(Path::new(&arguments.run))?, &arguments.run, printer);
    if log.results.is_empty() {
        return Err(Failure::not_measured(format!(
            "{} holds no finished trial: there is nothing to report.",
            arguments.run
        )));
    }
    if arguments.plots {
        return with_plots(&log, arguments, printer);
    }
    let format = if arguments.open { ReportFormat::Html } else { arguments.format };
    let text = match format {
        ReportFormat::Hgrm => histograms::text(&log, arguments, hgrm::write, printer)?,
        ReportFormat::Hlog => histograms::text(&log, arguments, hlog::write, printer)?,
        ReportFormat::Monitor => histograms::monitored(&log, arguments)?,
        _ if !arguments.only.is_empty() => {
            return Err(Failure::usage(
                "--only goes with --format hgrm, hlog and monitor: the other formats show the whole run.",
            ));
        }
        _ => render(&log, format, printer.options())?,
    };
    let page = (format == ReportFormat::Html).then(|| html_path(&arguments.run));
    let output = arguments.output.clone().or(page);
    if output.is_none() && format == ReportFormat::Github {
        return append_summary(&text, printer);
    }
    write_output(&text, output.as_deref(), "Report", printer)?;
    match output.filter(|path| arguments.open && path != "-") {
        Some(path) => open(&path),
        None => Ok(()),
    }
}

fn with_plots(log: &RunLog, arguments: &ReportArguments, printer: &Printer) -> Result<(), Failure> {
    let output = arguments.output.as_deref().filter(|path| *path != "-").map(Path::new);
    let stem = output.and_then(Path::file_stem).filter(|_| arguments.format == ReportFormat::Markdown);
    let (Some(output), Some(stem)) = (output, stem.filter(|_| !arguments.open && arguments.only.is_empty()))
    else {
        return Err(Failure::usage(
            "--plots goes with --format markdown and -o FILE, without --open and --only: the plots are files beside FILE.",
        ));
    };
    let (text, plots) = markdown::with_plots(log, &runs::plain(&stem.to_string_lossy()));
    for (name, svg) in &plots {
        write_file(&output.with_file_name(name).to_string_lossy(), svg)?;
    }
    write_output(&text, arguments.output.as_deref(), "Report", printer)?;
    printer.note(&format!("{} beside it", prony_report::format::count(plots.len() as u64, "plot", "plots")));
    Ok(())
}

fn summary() -> Option<OsString> {
    std::env::var_os(STEP_SUMMARY).filter(|path| !path.is_empty())
}

pub(super) fn in_github() -> bool {
    summary().is_some()
}

/// Appends to the file that GitHub Actions names for a step's summary; elsewhere it is shown.
pub(super) fn append_summary(text: &str, printer: &Printer) -> Result<(), Failure> {
    let Some(path) = summary() else {
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

/// Where the HTML page of a run log is written unless told otherwise.
pub(crate) fn html_path(run: &str) -> String {
    Path::new(run).with_extension("html").to_string_lossy().into_owned()
}

/// A run log in a format. Trials of `prony load` have no ranking and are shown one by one.
fn render(log: &RunLog, format: ReportFormat, options: TerminalOptions) -> Result<String, Failure> {
    match format {
        ReportFormat::Html => return page::report(log, None).map_err(Failure::usage),
        ReportFormat::Junit => return Ok(junit::run(log)),
        ReportFormat::OpenMetrics => return Ok(openmetrics::run(log)),
        ReportFormat::Trials => return Ok(json::results(log)),
        ReportFormat::Bmf => return trackers::bmf(log).ok_or_else(nothing_known),
        ReportFormat::Gab => return trackers::gab(log, false).ok_or_else(nothing_known),
        ReportFormat::GabThroughput => return trackers::gab(log, true).ok_or_else(nothing_known),
        _ => {}
    }
    if !log.header.one_by_one {
        let analysis = analyse(log);
        return Ok(match format {
            ReportFormat::Github => github::experiment(&analysis),
            ReportFormat::Markdown => markdown::experiment(&analysis),
            ReportFormat::Json => json::pretty(&analysis),
            ReportFormat::Csv => csv::experiment(&analysis),
            _ => terminal::experiment(&analysis, &options),
        });
    }
    let named = |r: &TrialResult| Some((r.planned.name(), r.trial.clone()?));
    let trials: Vec<(String, Trial)> = log.results.iter().filter_map(named).collect();
    let each = || trials.iter().map(|(_, trial)| trial);
    Ok(match format {
        ReportFormat::Markdown => markdown::trials(log),
        ReportFormat::Json => json::pretty(&each().collect::<Vec<_>>()),
        ReportFormat::Csv => csv::trials(&trials),
        ReportFormat::Github => github::trials(&trials),
        _ => one_by_one(log, &TerminalOptions { plot: trials.len() == 1, ..options }),
    })
}

fn nothing_known() -> Failure {
    Failure::not_measured(
        "No figure of this run can be written in this format: each is withheld, known only as a bound, the response time of an \
         overload, or of trials that do not count.",
    )
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
