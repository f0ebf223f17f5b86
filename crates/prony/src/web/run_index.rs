//! The run logs that `prony serve` shows: a list of them, a report each, and their history.
//!
//! A file is read when it is asked for, and again when it has changed: a run may be going on. What the list
//! and the history need of it is kept, since both need all of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::SystemTime;

use prony_analysis::figure::Figure;
use prony_analysis::history::{self, RunFigures};
use prony_report::page::live::{self, RunEntry};
use prony_report::page::{self, HistoryFrom};

use crate::commands::history as folder;
use crate::lock::locked;

/// Where the history is, beside the list.
const HISTORY: &str = "history";
/// What a page below the list calls it.
const HOME: &str = "../";

/// Files and folders of run logs.
#[derive(Debug)]
pub(crate) struct RunIndex {
    /// Folders that are looked through each time.
    folders: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Every file that was ever found, in the order it was found: its place is its page's address.
    files: Vec<PathBuf>,
    known: HashMap<PathBuf, CachedFile>,
}

/// What is kept of a file while it stays as it was.
#[derive(Debug)]
struct CachedFile {
    length: u64,
    changed: Option<SystemTime>,
    entry: RunEntry,
    /// By figure, in [`history::figures`]' order; or why the file has no part in histories.
    figures: Result<Vec<RunFigures>, String>,
}

impl RunIndex {
    /// These files, and what these folders have.
    pub(crate) fn new(files: Vec<PathBuf>, folders: Vec<PathBuf>) -> RunIndex {
        RunIndex { folders, state: Mutex::new(State { files, ..State::default() }) }
    }

    /// One reader at a time, so that one run log at a time is in memory.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = locked(&self.state);
        for path in self.folders.iter().filter_map(|f| folder::files(f).ok()).flat_map(|(files, _)| files) {
            if !state.files.contains(&path) {
                state.files.push(path);
            }
        }
        state
    }

    /// The page that lists them, the newest first.
    pub(crate) fn list(&self) -> Result<String, String> {
        let mut state = self.state();
        state.refresh();
        let mut entries: Vec<RunEntry> = state
            .files
            .iter()
            .enumerate()
            .filter_map(|(n, path)| {
                let entry = state.known.get(path)?.entry.clone();
                let href = if entry.failure.is_some() { String::new() } else { format!("runs/{n}") };
                Some(RunEntry { href, ..entry })
            })
            .collect();
        drop(state);
        entries.sort_by(|a, b| b.created_at.cmp(&a.created_at));
        let several = entries.iter().filter(|entry| entry.failure.is_none()).count() > 1;
        live::runs(&entries, several.then_some(HISTORY)).map_err(|e| e.to_string())
    }

    /// The report of a number's file; `None` without such a file.
    pub(crate) fn report(&self, number: usize) -> Option<Result<String, String>> {
        let state = self.state();
        let path = state.files.get(number)?;
        let log = folder::read(path).map_err(|why| format!("{}: {why}", path.display()));
        let report = log.and_then(|log| page::report(&log, Some(HOME)).map_err(|e| e.to_string()));
        drop(state);
        Some(report)
    }

    /// The history of all of them.
    pub(crate) fn history(&self) -> Result<String, String> {
        let mut state = self.state();
        state.refresh();
        let files = state
            .files
            .iter()
            .filter_map(|path| Some((path.display().to_string(), state.known.get(path)?.figures.clone())));
        let histories = folder::histories(&figures(), files, None, Vec::new());
        let numbers: HashMap<String, usize> =
            state.files.iter().enumerate().map(|(n, path)| (path.display().to_string(), n)).collect();
        drop(state);
        let href = |file: &str| numbers.get(file).map(|n| format!("runs/{n}"));
        let names: Vec<String> = self.folders.iter().map(|f| f.display().to_string()).collect();
        let from =
            HistoryFrom { histories: &histories, folder: &names.join(", "), href: &href, home: Some("./") };
        page::history(&from).map_err(|e| e.to_string())
    }
}

impl State {
    /// Reads what is new or has changed, and forgets what is gone.
    fn refresh(&mut self) {
        let gone: Vec<PathBuf> = self.known.keys().filter(|path| !path.is_file()).cloned().collect();
        for path in gone {
            self.known.remove(&path);
        }
        for path in &self.files {
            let Ok(metadata) = path.metadata() else { continue };
            let (length, changed) = (metadata.len(), metadata.modified().ok());
            let same = |known: &CachedFile| known.length == length && known.changed == changed;
            if !self.known.get(path).is_some_and(same) {
                self.known.insert(path.clone(), known(path, length, changed));
            }
        }
    }
}

fn known(path: &Path, length: u64, changed: Option<SystemTime>) -> CachedFile {
    let file = path.display().to_string();
    let (entry, figures) = match folder::read(path) {
        Ok(log) => {
            (live::entry(&log, &file, String::new()), folder::figures_of(&log, &file, &figures(), None))
        }
        Err(why) => (RunEntry { file, failure: Some(why.clone()), ..RunEntry::default() }, Err(why)),
    };
    CachedFile { length, changed, entry, figures }
}

fn figures() -> Vec<Figure> {
    history::figures().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_found_and_every_file_keeps_its_address() {
        let folder = std::env::temp_dir().join(format!("prony-run-index-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str| std::fs::write(folder.join(name), "no run log\n").unwrap();
        write("b.jsonl");
        let run_index = RunIndex::new(vec![PathBuf::from("given.jsonl")], vec![folder.clone()]);
        let file = |number: usize| run_index.state().files.get(number).cloned();
        assert_eq!(file(1), Some(folder.join("b.jsonl")));
        write("a.jsonl");
        write("notes.txt");
        assert_eq!(file(1), Some(folder.join("b.jsonl")), "an address stays what it was");
        assert_eq!(file(2), Some(folder.join("a.jsonl")));
        assert_eq!(file(3), None);
        let report = run_index.report(1).unwrap().unwrap_err();
        assert!(report.contains("b.jsonl") && report.contains("not a run log"), "{report}");
        assert!(run_index.report(3).is_none());
        let mut state = run_index.state();
        state.refresh();
        assert_eq!(state.known.len(), 2);
        let failure = state.known[&folder.join("a.jsonl")].entry.failure.clone().unwrap();
        assert!(failure.contains("not a run log"), "{failure}");
        std::fs::remove_file(folder.join("a.jsonl")).unwrap();
        state.refresh();
        assert_eq!(state.known.len(), 1);
        drop(state);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
