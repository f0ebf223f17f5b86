//! `prony report`: a run log, shown.

use std::path::Path;
use std::process::{Command, Stdio};

use prony_analysis::experiment::analyse;
use prony_record::Trial;
use prony_record::run_log::RunLog;
use prony_report::terminal::TerminalOptions;
use prony_report::{csv, json, markdown, page, terminal};

use super::load::RUN_NAME;
use super::write_file;
use crate::cli::{ReportArguments, ReportFormat};
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) fn run(arguments: &ReportArguments, printer: &Printer) -> Result<(), Failure> {
    let log = RunLog::read(Path::new(&arguments.run))?;
    if log.truncated {
        printer.note(&format!("{}: its last line was cut off and is dropped.", arguments.run));
    }
    let format = if arguments.open { ReportFormat::Html } else { arguments.format };
    let text = render(&log, format, printer.color())?;
    let output = match (&arguments.output, format) {
        (Some(path), _) => Some(path.clone()),
        (None, ReportFormat::Html) => Some(html_path(&arguments.run)),
        (None, _) => None,
    };
    match output {
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

/// Where the HTML page of a run log is written unless told otherwise.
pub(crate) fn html_path(run: &str) -> String {
    Path::new(run).with_extension("html").to_string_lossy().into_owned()
}

/// A run log in a form. Trials of `prony load` have no ranking and are shown one by one.
pub(crate) fn render(log: &RunLog, format: ReportFormat, color: bool) -> Result<String, Failure> {
    if format == ReportFormat::Html {
        return page::report(log).map_err(Failure::usage);
    }
    Ok(render_text(log, format, color))
}

fn render_text(log: &RunLog, format: ReportFormat, color: bool) -> String {
    let options = TerminalOptions { color, ..TerminalOptions::default() };
    if log.header.name != RUN_NAME {
        let analysis = analyse(log);
        return match format {
            ReportFormat::Terminal | ReportFormat::Html => terminal::experiment(&analysis, &options),
            ReportFormat::Markdown => markdown::experiment(&analysis),
            ReportFormat::Json => json::experiment(&analysis),
            ReportFormat::Csv => csv::experiment(&analysis),
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
    match format {
        ReportFormat::Terminal | ReportFormat::Html => {
            trials.iter().map(|(_, t)| terminal::trial(t, &options)).collect::<Vec<_>>().join("\n")
        }
        ReportFormat::Markdown => {
            trials.iter().map(|(_, t)| markdown::trial(t)).collect::<Vec<_>>().join("\n")
        }
        ReportFormat::Json => json::trials(&trials),
        ReportFormat::Csv => csv::trials(&trials),
    }
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
