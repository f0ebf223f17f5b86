//! `prony serve`: run logs as web pages.

use std::path::{Path, PathBuf};

use prony_report::runs::{self, RunIndex};

use crate::cli::ServeArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::Printer;
use crate::web::{self, Site};

const RUNS: &str = "runs";

pub(crate) fn run(arguments: &ServeArguments, printer: &Printer) -> Result<(), Failure> {
    let run_index = run_index(&arguments.runs, "serve")?;
    let mut signals = interrupt::signals()?;
    let url = web::start(&arguments.listen, Site::Runs(run_index), &[])?;
    printer.out(&format!("{url}  (Ctrl-C ends)"));
    // What ends it is no failure: nothing was under way.
    let _ = signals.forever().next();
    Ok(())
}

/// The files and folders to show, or to `publish`; each must be there now, and is read when it is asked for.
pub(super) fn run_index(given: &[String], what_for: &str) -> Result<RunIndex, Failure> {
    let usual = [RUNS.to_owned()];
    let named = if given.is_empty() { &usual[..] } else { given };
    if given.is_empty() && !runs::files(Path::new(RUNS)).is_ok_and(|(found, _)| !found.is_empty()) {
        return Err(Failure::usage(format!(
            "There is nothing to {what_for}: {RUNS}/ has no run log. Name one, or create one with `prony bench` or `prony load -o`."
        )));
    }
    let is_there = |path: &&String| Path::new(path).is_file() || Path::new(path).is_dir();
    if let Some(missing) = named.iter().find(|path| !is_there(path)) {
        return Err(Failure::usage(format!(
            "{missing} is neither a file nor a folder: name run logs, or a folder of them."
        )));
    }
    Ok(RunIndex::new(named.iter().map(PathBuf::from)))
}
