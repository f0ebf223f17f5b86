//! `prony serve`: run logs as web pages.

use std::path::{Path, PathBuf};
use std::sync::mpsc;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::history;
use crate::cli::ServeArguments;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::web::{Server, Shelf, Site};

/// Where `prony bench` leaves its run logs.
const RUNS: &str = "runs";

pub(crate) fn run(arguments: &ServeArguments, printer: &Printer) -> Result<(), Failure> {
    let shelf = shelf(&arguments.runs)?;
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Failure::not_measured(format!("Ctrl-C cannot be watched for: {e}.")))?;
    let server = Server::start(&arguments.listen, Site::Runs(shelf), &[])?;
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

/// The files and folders to show; each must be there now, and is read when it is asked for.
fn shelf(given: &[String]) -> Result<Shelf, Failure> {
    let usual = [RUNS.to_owned()];
    let named = if given.is_empty() { &usual[..] } else { given };
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
        named.iter().map(PathBuf::from).partition(|path| path.is_dir());
    if given.is_empty() && !history::files(Path::new(RUNS)).is_ok_and(|(found, _)| !found.is_empty()) {
        return Err(Failure::usage(format!(
            "There is nothing to serve: {RUNS}/ has no run log. Name one, or make one with `prony bench` or `prony load -o`."
        )));
    }
    if let Some(missing) = files.iter().find(|path| !Path::is_file(path)) {
        return Err(Failure::usage(format!(
            "{} is neither a file nor a folder: name run logs, or a folder of them.",
            missing.display()
        )));
    }
    Ok(Shelf::new(files, folders))
}
