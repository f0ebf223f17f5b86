//! `prony history`: a figure over a folder of run logs.

use std::path::Path;

use prony_analysis::history;
use prony_report::page::{self, HistoryFrom};
use prony_report::{json, runs, terminal};

use super::{only, write_output};
use crate::cli::{HistoryArguments, HistoryFormat};
use crate::failure::Failure;
use crate::printer::Printer;

const PAGE: &str = "history.html";

pub(crate) fn run(arguments: &HistoryArguments, printer: &Printer) -> Result<(), Failure> {
    let figure = history::figure(&arguments.figure).map_err(|e| Failure::usage(format!("--figure {e}")))?;
    let relative_to = arguments.relative_to.as_deref();
    let (files, left_out) = runs::files(Path::new(&arguments.folder)).map_err(Failure::usage)?;
    // The page has a switch of figures, the one asked for first.
    let mut figures = vec![figure];
    if arguments.format == HistoryFormat::Html {
        figures.extend(history::figures().filter(|other| *other != figure));
    }
    let read = files.iter().map(|file| {
        let shown = file.display().to_string();
        let of = |log| runs::figures_of(&log, &shown, &figures, relative_to);
        let found = runs::read(file).and_then(of);
        (shown, found)
    });
    let mut histories = runs::histories(&figures, read, relative_to, left_out);
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
