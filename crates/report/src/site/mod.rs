//! A site of run logs that needs no server: an index, a page per run, per server and per experiment, with their data
//! beside them. Tables and plots are in the HTML; the script adds sorting and filters.

mod experiment;
mod index;
mod run;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use prony_analysis::figure::Figure;
use prony_analysis::history::{self, LeftOut};
use prony_model::run_log::RunLog;

use crate::runs::{self, RunIndex};
use crate::svg;
use crate::words;
use run::Run;

/// Threads that read logs at most: each has one in memory.
const THREADS_MAX: usize = 4;
/// Of longer logs one at a time is in memory, whatever the threads.
const LARGE_BYTES: u64 = 64 << 20;
const NAME_MAX: usize = 80;

/// Writes a file of the site, by its path from the root; a sentence where it cannot.
pub type Write<'a> = &'a (dyn Fn(&str, &str) -> Result<(), String> + Sync);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub runs: usize,
    pub experiments: usize,
    pub servers: usize,
    pub left_out: Vec<LeftOut>,
}

/// Writes the whole site. A log that cannot be read is named on its index; where none can, nothing is written.
pub fn publish(index: &RunIndex, write: Write<'_>) -> Result<Published, String> {
    let (named, mut left_out) = index.named();
    let mut runs = Vec::new();
    for (path, found) in each_run(&named, write)? {
        match found {
            Ok(run) => runs.push(run),
            Err(why) => left_out.push(LeftOut { file: path.display().to_string(), why }),
        }
    }
    if runs.is_empty() {
        let why = left_out.first().map_or(String::new(), |l| format!(" {}: {}.", l.file, l.why));
        return Err(format!("There is no run log that can be read.{why}"));
    }
    others(runs, left_out, write)
}

/// Whatever is about more than a run.
fn others(mut runs: Vec<Run>, left_out: Vec<LeftOut>, write: Write<'_>) -> Result<Published, String> {
    // The newest first.
    runs.sort_by(|a, b| b.entry.created_at.cmp(&a.entry.created_at).then(a.name.cmp(&b.name)));
    let found = runs.iter_mut().map(|run| (run.entry.file.clone(), Ok(std::mem::take(&mut run.figures))));
    let histories = runs::histories(&figures(), found, None, Vec::new());
    let names: BTreeSet<&str> = runs.iter().map(|run| run.experiment.as_str()).collect();
    let mut servers: BTreeMap<&str, Vec<&run::Measured>> = BTreeMap::new();
    for measured in runs.iter().flat_map(|run| &run.measured) {
        servers.entry(words::parts(&measured.candidate).0).or_default().push(measured);
    }
    for name in &names {
        experiment::write(name, &runs, &histories, write)?;
    }
    for (server, measured) in &servers {
        server::write(server, measured, &histories, write)?;
    }
    index::write(&runs, &servers, &left_out, write)?;
    write("style.css", &format!("{}{}", include_str!("style.css"), svg::STYLE))?;
    write("site.js", include_str!("site.js"))?;
    Ok(Published { runs: runs.len(), experiments: names.len(), servers: servers.len(), left_out })
}

/// The pages of a log alone, by their paths from the root, with what is in them.
pub fn publish_log(log: &RunLog, name: &str, path: &Path) -> Result<BTreeMap<String, String>, String> {
    let pages = Mutex::new(BTreeMap::new());
    let write = |path: &str, text: &str| {
        pages.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), text.to_owned());
        Ok(())
    };
    others(vec![run::write(log, name, path, &write)??], Vec::new(), &write)?;
    Ok(pages.into_inner().unwrap_or_else(PoisonError::into_inner))
}

type Numbered = (usize, Result<Run, String>);
type Found = Vec<(PathBuf, Result<Run, String>)>;

/// Reads each log, writes its page, and keeps what the other pages need of it; in the order of the names.
fn each_run(named: &[(String, PathBuf)], write: Write<'_>) -> Result<Found, String> {
    let (next, large) = (AtomicUsize::new(0), Mutex::new(()));
    let work = || -> Result<Vec<Numbered>, String> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((name, path)) = named.get(at) else { return Ok(done) };
            let is_large = fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGE_BYTES);
            let _alone = is_large.then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            let run = match runs::read(path) {
                Ok(log) => run::write(&log, name, path, write)?,
                Err(why) => Err(why),
            };
            done.push((at, run));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let all = thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = started.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("A page could not be made: this is a mistake in Prony.".into()))
        });
        ended.collect::<Result<Vec<_>, String>>()
    })?;
    let mut all: Vec<Numbered> = all.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(at, run)| (named[at].1.clone(), run)).collect())
}

/// The figures whose histories the site has: throughput first, then those that the terminal's ranking has.
fn figures() -> Vec<Figure> {
    let shown = |figure: &Figure| *figure == history::DEFAULT || figure.terminal_column.is_some();
    history::figures().filter(shown).collect()
}

/// The name of the page about a server or an experiment: its own in plain letters, and what tells it from others that
/// have the same.
fn page_name(of: &str) -> String {
    let plain: String = runs::plain(of).chars().take(NAME_MAX).collect();
    if plain == of && !plain.is_empty() {
        return plain;
    }
    let mut hash = flate2::Crc::new();
    hash.update(of.as_bytes());
    format!("{plain}-{:08x}", hash.sum())
}

fn server_page(label: &str) -> String {
    format!("servers/{}.html", page_name(words::parts(label).0))
}

fn experiment_page(name: &str) -> String {
    format!("experiments/{}.html", page_name(name))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
