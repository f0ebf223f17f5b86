//! What on this host distorts results, and what mends it. Judges turn what they read in a [`Tree`], the machine or a
//! test's folder, into [`Finding`]s; only [`restore`] changes.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use prony_host::cpus::union;
use prony_host::pins::Pins;
use prony_model::host::Host;
use serde::{Deserialize, Serialize};

mod cpu;
mod kernel;
mod network;
mod others;
mod programs;
pub mod restore;

pub(crate) use network::network;
use others::Watch;
use programs::programs;

const WATCHED: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A word for programs: `somaxconn`.
    pub(crate) code: Cow<'static, str>,
    pub what: String,
    pub value: String,
    pub state: State,
    pub why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Distorts,
    Note,
    Good,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// `/proc/sys/net/core/somaxconn`.
    pub(crate) path: PathBuf,
    pub(crate) now: String,
    pub(crate) wanted: String,
}

impl Finding {
    fn new(code: &'static str, what: &str, value: impl Into<String>, why: &str) -> Finding {
        Finding {
            code: Cow::Borrowed(code),
            what: what.to_owned(),
            value: value.into(),
            state: State::Good,
            why: why.to_owned(),
            mend: None,
            settings: Vec::new(),
        }
    }

    fn distorts(mut self, mend: impl Into<String>) -> Finding {
        (self.state, self.mend) = (State::Distorts, Some(mend.into()));
        self
    }

    fn distorts_if(self, is_so: bool, mend: impl Into<String>) -> Finding {
        if is_so { self.distorts(mend) } else { self }
    }

    fn note_if(mut self, is_so: bool, mend: Option<String>) -> Finding {
        if is_so {
            (self.state, self.mend) = (State::Note, mend);
        }
        self
    }
}

#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    pub fn of_this_machine() -> Tree {
        Tree::below(Path::new("/"))
    }

    pub(crate) fn below(root: &Path) -> Tree {
        Tree { root: root.to_owned() }
    }

    pub(crate) fn place(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A file's text without the blanks around it; `None` where there is none, or it may not be read.
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        Some(std::fs::read_to_string(self.place(path)).ok()?.trim().to_owned())
    }

    fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = std::fs::read_dir(self.place(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub server_cpus: Vec<u32>,
    pub client_cpus: Vec<u32>,
    /// Soft and hard limit of open files.
    pub open_files: (u64, u64),
    pub virtualisation: Option<String>,
    pub debug_build: bool,
    /// Whether another machine loads the servers of this one: the client's CPUs are then those of what samples them.
    pub load_is_elsewhere: bool,
}

impl Asked {
    pub fn of(host: &Host, pins: &Pins) -> Asked {
        Asked {
            server_cpus: pins.server.clone(),
            client_cpus: pins.client.clone(),
            open_files: (host.open_files_soft, host.open_files_hard),
            virtualisation: host.virtualisation.clone(),
            debug_build: cfg!(debug_assertions),
            load_is_elsewhere: false,
        }
    }

    fn cpus(&self) -> Vec<u32> {
        union(&self.server_cpus, &self.client_cpus)
    }
}

/// Everything that can be found of this machine without a load, what distorts first. It takes a second.
pub fn look(tree: &Tree, asked: &Asked) -> Vec<Finding> {
    let watch = Watch::begin(tree);
    thread::sleep(WATCHED);
    let mut findings = watch.end(tree, &asked.cpus(), std::process::id());
    findings.extend(examine(tree, asked));
    findings.extend(programs());
    sorted(findings)
}

pub fn examine(tree: &Tree, asked: &Asked) -> Vec<Finding> {
    let mut findings = cpu::findings(tree, asked);
    findings.extend(kernel::findings(tree, asked));
    findings.extend(others::memory(tree));
    if asked.debug_build {
        let why = "The client costs several times as much for each request, and is the limit much earlier.";
        let found = Finding::new("prony_build", "this Prony", "built without optimisation", why);
        findings.push(found.distorts("use a release build: cargo build --release"));
    }
    sorted(findings)
}

pub(crate) fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| finding.state);
    findings
}

#[cfg(test)]
mod tests;
