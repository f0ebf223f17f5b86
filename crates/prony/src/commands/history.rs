//! `prony history`: a figure over a folder of run logs.

use std::fs;
use std::path::{Path, PathBuf};

use prony_analysis::figure::Figure;
use prony_analysis::history::{self, History, LeftOut, RunFigures};
use prony_model::run_log::RunLog;
use prony_report::page::{self, HistoryFrom};
use prony_report::{format, json, terminal};

use super::{logs, only, write_output};
use crate::cli::{HistoryArguments, HistoryFormat};
use crate::failure::Failure;
use crate::printer::Printer;

/// Run logs read at most, the last by name (their names begin with their dates).
const FILES_MAX: usize = 1_000;
/// Where the page is written unless told otherwise.
const PAGE: &str = "history.html";
/// Entries of a folder that are looked at.
const ENTRIES_MAX: usize = 100_000;
/// A log that is longer is left out: only one is in memory at a time.
const FILE_MAX_BYTES: u64 = 1 << 30;

pub(crate) fn run(arguments: &HistoryArguments, printer: &Printer) -> Result<(), Failure> {
    let figure = history::figure(&arguments.figure).map_err(|e| Failure::usage(format!("--figure {e}")))?;
    let relative_to = arguments.relative_to.as_deref();
    let (files, left_out) = files(Path::new(&arguments.folder))?;
    // The page has a switch of figures, the one asked for first.
    let mut figures = vec![figure];
    if arguments.format == HistoryFormat::Html {
        figures.extend(history::figures().filter(|other| *other != figure));
    }
    let runs = files.iter().map(|file| {
        let shown = file.display().to_string();
        let read = read(file).and_then(|log| figures_of(&log, &shown, &figures, relative_to));
        (shown, read)
    });
    let mut histories = histories(&figures, runs, relative_to, left_out);
    if let Some(history) = histories.first().filter(|history| history.runs == 0) {
        let why = history.left_out.first().map_or(String::new(), |l| format!(" {}: {}", l.file, l.why));
        return Err(Failure::usage(format!(
            "{} has no run log that can be {}: create some with `prony bench`{}.{why}",
            arguments.folder,
            if relative_to.is_some() { "used" } else { "read" },
            if relative_to.is_some() { "" } else { " or `prony load -o`" },
        )));
    }
    for history in &mut histories {
        only::keep(&mut history.series, &arguments.only, |s| (&s.candidate, &s.plan), "these runs")?;
    }
    let Some(history) = histories.first() else { return Ok(()) };
    let text = match arguments.format {
        HistoryFormat::Json => json::pretty(history),
        HistoryFormat::Terminal => terminal::history(history, &printer.options()),
        HistoryFormat::Html => {
            let from =
                HistoryFrom { histories: &histories, folder: &arguments.folder, href: &|_| None, home: None };
            page::history(&from).map_err(Failure::usage)?
        }
    };
    // A page is a file, as in `prony report`.
    let page = (arguments.format == HistoryFormat::Html).then_some(PAGE);
    write_output(&text, arguments.output.as_deref().or(page), "History", printer)
}

/// What a run log has of each figure.
pub(crate) fn figures_of(
    log: &RunLog,
    file: &str,
    figures: &[Figure],
    relative_to: Option<&str>,
) -> Result<Vec<RunFigures>, String> {
    figures.iter().map(|figure| history::figures_of(log, file, *figure, relative_to)).collect()
}

/// A history of each figure, over what [`figures_of`] found in files.
pub(crate) fn histories(
    figures: &[Figure],
    files: impl Iterator<Item = (String, Result<Vec<RunFigures>, String>)>,
    relative_to: Option<&str>,
    mut left_out: Vec<LeftOut>,
) -> Vec<History> {
    let mut runs: Vec<Vec<RunFigures>> = figures.iter().map(|_| Vec::new()).collect();
    for (file, found) in files {
        match found {
            Ok(found) => runs.iter_mut().zip(found).for_each(|(all, one)| all.push(one)),
            Err(why) => left_out.push(LeftOut { file, why }),
        }
    }
    let each = figures.iter().zip(runs);
    each.map(|(figure, runs)| history::history(runs, *figure, relative_to, left_out.clone())).collect()
}

/// The folder's run logs by name, and a remark on those too many.
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
            "and {} before it by name: a history reads the last {FILES_MAX}",
            format::count(too_many as u64 - 1, "file", "files")
        );
        left_out.push(LeftOut { file: files[too_many - 1].display().to_string(), why });
    }
    Ok((files.split_off(too_many), left_out))
}

/// The run log of a file; why it cannot be read, without the path.
pub(crate) fn read(path: &Path) -> Result<RunLog, String> {
    let metadata = fs::metadata(path).map_err(|e| e.to_string())?;
    // To open a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.len() > FILE_MAX_BYTES {
        return Err(format!("it is longer than {} MiB", FILE_MAX_BYTES >> 20));
    }
    logs::read(path).map_err(|e| {
        let message = e.to_string();
        message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&message).to_owned()
    })
}
