//! Run logs in files and folders: which there are, and the pages of a site of them, a list, a report each and their
//! history.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use prony_analysis::figure::Figure;
use prony_analysis::history::{self, History, LeftOut, RunFigures};
use prony_analysis::run_log;
use prony_model::run_log::RunLog;

use crate::format;
use crate::page::live::{self, RunEntry};
use crate::page::{self, HistoryFrom};

/// Run logs of a folder at most, the last by name (their names begin with their dates).
const FILES_MAX: usize = 1_000;
const ENTRIES_MAX: usize = 100_000;
/// A log that is longer is left out: only one is in memory at a time.
const FILE_MAX_BYTES: u64 = 1 << 30;
const HISTORY: &str = "history";

/// A folder's run logs by name, and a remark on those too many; or why it cannot be read.
pub fn files(folder: &Path) -> Result<(Vec<PathBuf>, Vec<LeftOut>), String> {
    let entries = fs::read_dir(folder)
        .map_err(|e| format!("{} cannot be read as a folder of run logs: {e}.", folder.display()))?;
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

pub fn read(path: &Path) -> Result<RunLog, String> {
    let metadata = fs::metadata(path).map_err(|e| e.to_string())?;
    // To open a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if metadata.len() > FILE_MAX_BYTES {
        return Err(format!("it is longer than {} MiB", FILE_MAX_BYTES >> 20));
    }
    run_log::read_any(path).map_err(|e| {
        let message = e.to_string();
        message.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&message).to_owned()
    })
}

pub fn figures_of(
    log: &RunLog,
    file: &str,
    figures: &[Figure],
    relative_to: Option<&str>,
) -> Result<Vec<RunFigures>, String> {
    figures.iter().map(|figure| history::figures_of(log, file, *figure, relative_to)).collect()
}

/// A history of each figure, over what [`figures_of`] found in files.
pub fn histories(
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
    let left_out = &left_out;
    let of = |(figure, runs): (&Figure, Vec<RunFigures>)| {
        history::history(runs, *figure, relative_to, left_out.clone())
    };
    thread::scope(|scope| {
        let begun: Vec<_> = figures.iter().zip(runs).map(|each| scope.spawn(move || of(each))).collect();
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|why| resume_unwind(why))).collect()
    })
}

/// A site of run logs. A file is read when asked for, and again when changed: a run may be going on.
#[derive(Debug)]
pub struct RunIndex {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// Held while a file is read, so that one run log at a time is in memory.
    runs: Mutex<Vec<Run>>,
}

#[derive(Debug)]
struct Run {
    path: PathBuf,
    stamp: Stamp,
    entry: RunEntry,
    /// By figure, in [`history::figures`]' order; or why the file has no part in histories.
    figures: Result<Vec<RunFigures>, String>,
}

type Stamp = (u64, Option<SystemTime>);

impl RunIndex {
    pub fn new(given: impl Iterator<Item = PathBuf>) -> RunIndex {
        let (folders, files) = given.partition(|path| path.is_dir());
        RunIndex { files, folders, runs: Mutex::default() }
    }

    /// Every run by its name, which is that of its file whatever others there are, in letters that addresses and files may
    /// have. Files of the same name have a hash of their path behind it, each: a name is never first one's, then another's.
    pub(crate) fn named(&self) -> (Vec<(String, PathBuf)>, Vec<LeftOut>) {
        let (mut paths, mut left_out) = (self.files.clone(), Vec::new());
        for folder in &self.folders {
            match files(folder) {
                Ok((files, too_many)) => {
                    paths.extend(files);
                    left_out.extend(too_many);
                }
                Err(why) => left_out.push(LeftOut { file: folder.display().to_string(), why }),
            }
        }
        let mut found = HashSet::new();
        paths.retain(|path| found.insert(path.clone()));
        let mut count: HashMap<String, u32> = HashMap::new();
        paths.iter().for_each(|path| *count.entry(name(path)).or_default() += 1);
        let named = paths.into_iter().map(|path| {
            let name = name(&path);
            if count.get(&name) == Some(&1) && !name.is_empty() {
                return (name, path);
            }
            let mut hash = flate2::Crc::new();
            hash.update(path.as_os_str().as_encoded_bytes());
            (format!("{name}-{:08x}", hash.sum()), path)
        });
        (named.collect(), left_out)
    }

    fn refreshed<T>(&self, of: impl FnOnce(&[Run], Vec<LeftOut>) -> T) -> T {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known: HashMap<PathBuf, Run> = runs.drain(..).map(|run| (run.path.clone(), run)).collect();
        let (named, left_out) = self.named();
        for (name, path) in named {
            let Ok(metadata) = path.metadata() else { continue };
            let stamp = (metadata.len(), metadata.modified().ok());
            let kept = known.remove(&path).filter(|run| run.stamp == stamp);
            let mut run = kept.unwrap_or_else(|| Run::read(path, stamp));
            run.entry.href = if run.entry.failure.is_some() { String::new() } else { format!("runs/{name}") };
            runs.push(run);
        }
        of(&runs, left_out)
    }

    /// The page of this path; `None` where there is none.
    pub fn page(&self, path: &str) -> Option<Result<String, String>> {
        match path.strip_prefix('/')? {
            "" => Some(self.refreshed(list)),
            HISTORY => Some(self.refreshed(|runs, left_out| self.history(runs, left_out))),
            other => {
                let name = other.strip_prefix("runs/")?;
                let (_, path) = self.named().0.into_iter().find(|(other, _)| other == name)?;
                let _one_reader = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
                let log = read(&path).map_err(|why| format!("{}: {why}", path.display()));
                Some(log.and_then(|log| page::report(&log, Some("../")).map_err(|e| e.to_string())))
            }
        }
    }

    fn history(&self, runs: &[Run], left_out: Vec<LeftOut>) -> Result<String, String> {
        let found = runs.iter().map(|run| (run.entry.file.clone(), run.figures.clone()));
        let histories = histories(&figures(), found, None, left_out);
        let hrefs: HashMap<&str, &String> =
            runs.iter().map(|run| (run.entry.file.as_str(), &run.entry.href)).collect();
        let folders: Vec<String> = self.folders.iter().map(|f| f.display().to_string()).collect();
        let from = HistoryFrom {
            histories: &histories,
            folder: &folders.join(", "),
            href: &|file| hrefs.get(file).map(|href| (*href).clone()),
            home: Some("./"),
        };
        page::history(&from).map_err(|e| e.to_string())
    }
}

fn list(runs: &[Run], left_out: Vec<LeftOut>) -> Result<String, String> {
    let failed = |LeftOut { file, why }| RunEntry { file, failure: Some(why), ..RunEntry::default() };
    let left_out: Vec<RunEntry> = left_out.into_iter().map(failed).collect();
    let mut entries: Vec<&RunEntry> = runs.iter().map(|run| &run.entry).chain(&left_out).collect();
    entries.sort_by(|a, b| b.created_at.cmp(&a.created_at));
    let several = entries.iter().filter(|entry| entry.failure.is_none()).count() > 1;
    live::runs(&entries, several.then_some(HISTORY)).map_err(|e| e.to_string())
}

impl Run {
    fn read(path: PathBuf, stamp: Stamp) -> Run {
        let file = path.display().to_string();
        let (entry, figures) = match read(&path) {
            Ok(log) => (live::entry(&log, &file), figures_of(&log, &file, &figures(), None)),
            Err(why) => (RunEntry { file, failure: Some(why.clone()), ..RunEntry::default() }, Err(why)),
        };
        Run { path, stamp, entry, figures }
    }
}

fn figures() -> Vec<Figure> {
    history::figures().collect()
}

/// A file's name without its ending, as [`plain`] has it.
fn name(path: &Path) -> String {
    plain(&path.file_stem().unwrap_or_default().to_string_lossy())
}

/// A name of letters that need no escape in addresses and files; none that leads to another folder.
pub fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.trim_start_matches('.').chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_its_name_whatever_files_come_and_go() {
        let folder = std::env::temp_dir().join(format!("prony-run-index-{}", std::process::id()));
        let other = folder.join("other");
        fs::create_dir_all(&other).unwrap();
        let write = |path: PathBuf| fs::write(path, "no run log\n").unwrap();
        write(folder.join("b.jsonl"));
        let given = [PathBuf::from("given.jsonl"), folder.clone(), other.clone()];
        let run_index = RunIndex::new(given.into_iter());
        let file =
            |name: &str| run_index.named().0.into_iter().find(|(n, _)| n == name).map(|(_, path)| path);
        assert_eq!(file("b"), Some(folder.join("b.jsonl")));
        write(folder.join("a.jsonl"));
        write(folder.join("notes.txt"));
        assert_eq!(file("b"), Some(folder.join("b.jsonl")), "a name stays what it was");
        assert_eq!(file("a"), Some(folder.join("a.jsonl")));
        assert_eq!((file("notes"), file("")), (None, None));
        let report = run_index.page("/runs/b").unwrap().unwrap_err();
        assert!(report.contains("b.jsonl") && report.contains("not a run log"), "{report}");
        for nothing in ["/runs/c", "/runs/../b", "/history/b", "b", ""] {
            assert!(run_index.page(nothing).is_none(), "{nothing}");
        }
        run_index.refreshed(|runs, _| {
            assert_eq!(runs.len(), 2, "given.jsonl is not there");
            let failure = runs[0].entry.failure.clone().unwrap();
            assert!(runs[0].path.ends_with("a.jsonl") && failure.contains("not a run log"), "{failure}");
        });
        fs::remove_file(folder.join("a.jsonl")).unwrap();
        assert_eq!(run_index.refreshed(|runs, _| runs.len()), 1);
        // A second file of the name: neither is found by it, and both by names of their own.
        write(other.join("b.jsonl"));
        assert_eq!(file("b"), None);
        let names: Vec<String> = run_index.named().0.into_iter().map(|(name, _)| name).collect();
        assert!(
            names[1].starts_with("b-") && names[2].starts_with("b-") && names[1] != names[2],
            "{names:?}"
        );
        fs::remove_dir_all(&folder).unwrap();
        let list = run_index.page("/").unwrap().unwrap();
        assert!(list.contains("cannot be read as a folder of run logs"), "a folder that is gone is said");
    }

    #[test]
    fn names_of_runs_are_plain_letters_and_lead_nowhere_else() {
        for (file, expected) in [
            ("runs/2026-11-27T10-a_b.jsonl", "2026-11-27T10-a_b"),
            ("a b%2F?<é>.jsonl", "a-b-2F----"),
            ("...jsonl", ""),
            (".hidden.jsonl", "hidden"),
        ] {
            assert_eq!(name(Path::new(file)), expected, "{file}");
        }
        let index = RunIndex::new(std::iter::once(PathBuf::from("...jsonl")));
        assert!(index.named().0[0].0.starts_with('-'), "a run without a name has its hash");
    }
}
