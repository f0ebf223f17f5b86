//! `prony history`: a figure over a folder of run logs.

use std::fs;
use std::path::{Path, PathBuf};

use prony_analysis::history::{self, History, LeftOut, RunFigures};
use prony_model::run_log::RunLog;
use prony_report::page::{self, HistoryFrom};
use prony_report::terminal::{self, TerminalOptions};
use prony_report::{format, json};

use super::write_file;
use crate::cli::{HistoryArguments, HistoryFormat};
use crate::failure::Failure;
use crate::printer::Printer;

/// Run logs read at most, the last by name (their names begin with their dates).
const FILES_MAX: usize = 1_000;
/// Where the page is written unless told otherwise.
const PAGE: &str = "history.html";
/// A folder with more entries is none of run logs.
const ENTRIES_MAX: usize = 100_000;
/// A log that is longer is left out: only one is in memory at a time.
const FILE_MAX_BYTES: u64 = 1 << 30;

pub(crate) fn run(arguments: &HistoryArguments, printer: &Printer) -> Result<(), Failure> {
    let figure = history::figure(&arguments.figure).map_err(|e| Failure::usage(format!("--figure {e}")))?;
    let (files, mut left_out) = files(Path::new(&arguments.folder))?;
    // The page has a switch of figures, the one asked for first.
    let mut figures = vec![figure];
    if arguments.format == HistoryFormat::Html {
        figures.extend(history::figures().filter(|other| *other != figure));
    }
    let mut runs: Vec<Vec<RunFigures>> = figures.iter().map(|_| Vec::new()).collect();
    for file in files {
        let shown = file.display().to_string();
        let read = read(&file).and_then(|log| {
            figures.iter().map(|f| history::figures_of(&log, &shown, *f)).collect::<Result<Vec<_>, _>>()
        });
        match read {
            Ok(read) => runs.iter_mut().zip(read).for_each(|(all, run)| all.push(run)),
            Err(why) => left_out.push(LeftOut { file: shown, why }),
        }
    }
    if runs.iter().all(Vec::is_empty) {
        let why = left_out.first().map_or(String::new(), |l| format!(" {}: {}", l.file, l.why));
        return Err(Failure::usage(format!(
            "{} has no run log that can be read: make some with `prony bench` or `prony load -o`.{why}",
            arguments.folder
        )));
    }
    let mut histories: Vec<History> =
        figures.into_iter().zip(runs).map(|(f, runs)| history::history(runs, f, left_out.clone())).collect();
    for history in &mut histories {
        keep(history, &arguments.only)?;
    }
    show(arguments, &histories, printer)
}

fn show(arguments: &HistoryArguments, histories: &[History], printer: &Printer) -> Result<(), Failure> {
    let Some(history) = histories.first() else { return Ok(()) };
    let text = match arguments.format {
        HistoryFormat::Json => json::history(history),
        HistoryFormat::Terminal => {
            terminal::history(history, &TerminalOptions { color: printer.color(), ..Default::default() })
        }
        HistoryFormat::Html => {
            let from = HistoryFrom { histories, folder: &arguments.folder, href: &|_| None, home: None };
            page::history(&from).map_err(Failure::usage)?
        }
    };
    match arguments.output.as_deref() {
        // A page is a file, as in `prony report`.
        None if arguments.format == HistoryFormat::Html => {
            write_file(PAGE, &text)?;
            printer.note(&format!("History: {PAGE}"));
        }
        None | Some("-") => printer.out(&text),
        Some(path) => write_file(path, &text)?,
    }
    Ok(())
}

/// The folder's run logs by name, and what is said of those too many.
pub(crate) fn files(folder: &Path) -> Result<(Vec<PathBuf>, Vec<LeftOut>), Failure> {
    let entries = fs::read_dir(folder).map_err(|e| {
        Failure::usage(format!("{} cannot be read as a folder of run logs: {e}.", folder.display()))
    })?;
    let paths = entries.take(ENTRIES_MAX).flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    files.sort();
    let too_many = files.len().saturating_sub(FILES_MAX);
    let mut left_out = Vec::new();
    if too_many > 0 {
        let why = format!(
            "{} before it by name: a history reads the last {FILES_MAX}",
            format::count(too_many as u64 - 1, "other is left out, too,", "others are left out, too,")
        );
        left_out.push(LeftOut { file: files[too_many - 1].display().to_string(), why });
    }
    Ok((files.split_off(too_many), left_out))
}

/// Whether a file of that length is read.
pub(crate) fn bounded(length_bytes: u64) -> Result<(), String> {
    if length_bytes > FILE_MAX_BYTES {
        return Err(format!("it is longer than {} MiB", FILE_MAX_BYTES >> 20));
    }
    Ok(())
}

fn read(path: &Path) -> Result<RunLog, String> {
    let metadata = fs::metadata(path).map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("it is no file".to_owned());
    }
    bounded(metadata.len())?;
    // Its sentence begins with the path, which stands before it already.
    let named = format!("{}: ", path.display());
    prony_analysis::run_log::read(path).map_err(|e| {
        let said = e.to_string();
        said.strip_prefix(&named).map_or(said.clone(), str::to_owned)
    })
}

/// Only the series of these candidates or plans.
fn keep(history: &mut History, only: &[String]) -> Result<(), Failure> {
    if only.is_empty() {
        return Ok(());
    }
    for name in only {
        if !history.series.iter().any(|s| s.candidate == *name || s.plan == *name) {
            return Err(Failure::usage(format!(
                "--only {name:?} is neither a candidate nor a plan of these runs."
            )));
        }
    }
    let candidates: Vec<&String> =
        only.iter().filter(|name| history.series.iter().any(|s| s.candidate == **name)).collect();
    let plans: Vec<&String> = only.iter().filter(|name| !candidates.contains(name)).collect();
    history.series.retain(|s| {
        (candidates.is_empty() || candidates.contains(&&s.candidate))
            && (plans.is_empty() || plans.contains(&&s.plan))
    });
    Ok(())
}
