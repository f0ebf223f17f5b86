//! `prony serve`: run logs as web pages.

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::cli::ServeArguments;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::web::{Server, Site};

/// Where `prony bench` leaves its run logs.
const RUNS: &str = "runs";
/// More than a list can show, and than a reader wants.
const RUNS_MAX: usize = 500;

pub(crate) fn run(arguments: &ServeArguments, printer: &Printer) -> Result<(), Failure> {
    let runs = runs(&arguments.runs)?;
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Failure::not_measured(format!("Ctrl-C cannot be watched for: {e}.")))?;
    let server = Server::start(&arguments.listen, Site::Runs(runs), &[])?;
    printer.out(&format!("{}  (Ctrl-C ends)", server.url));
    // What ends it is no failure: nothing was under way.
    let (ended, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = signals.forever().next();
        let _ = ended.send(());
    });
    let _ = wait.recv();
    Ok(())
}

/// The files to show; each must be there now, and is read when it is asked for.
fn runs(given: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let mut paths: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
    if paths.is_empty() {
        let folder = std::fs::read_dir(RUNS).into_iter().flatten().flatten().map(|entry| entry.path());
        paths = folder.filter(|path| path.extension().is_some_and(|e| e == "jsonl")).take(RUNS_MAX).collect();
        paths.sort();
    }
    if paths.is_empty() {
        return Err(Failure::usage(format!(
            "There is nothing to serve: {RUNS}/ has no run log. Name one, or make one with `prony bench` or `prony load -o`."
        )));
    }
    if let Some(missing) = paths.iter().find(|path| !Path::is_file(path)) {
        return Err(Failure::usage(format!("{} is not a file: name run logs.", missing.display())));
    }
    Ok(paths)
}
