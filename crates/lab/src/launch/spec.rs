//! How a candidate is started, with everything already decided.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prony_host::cpus::show_list;
use serde::{Deserialize, Serialize};

use crate::check::{DB, Route};
use crate::container;

/// As many as a worker of the catalogue has threads or processes that wait, where it has several (four): no server then has
/// more connections than another.
const DB_POOL: u32 = 4;
pub(super) const NAME_PREFIX: &str = "prony-";

pub(super) fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

#[derive(Debug, Clone)]
pub(crate) struct LaunchContext {
    pub(crate) address: SocketAddr,
    pub(crate) workers: u32,
    /// A fresh, empty, private folder for sockets, pid files, configurations and logs; removed after the stop.
    pub(crate) run_dir: PathBuf,
    pub(crate) services: Vec<(String, u16)>,
    /// Variables of Prony's own environment that a user's own command does not get: those of `@env:`.
    pub(crate) hidden: Vec<String>,
}

impl LaunchContext {
    /// What tells of the services in the environment: `DB_PORT`.
    pub(super) fn env(&self) -> impl Iterator<Item = (String, String)> {
        let of = |(name, port): &(String, u16)| (format!("{}_PORT", name.to_uppercase()), port.to_string());
        self.services.iter().map(of)
    }

    /// The same for a server with these routes, and how many connections each of its workers may have to the database.
    pub(super) fn env_of_server(&self, routes: &[Route]) -> impl Iterator<Item = (String, String)> {
        let has_db = self.services.iter().any(|(name, _)| name == DB);
        let asks_db = routes.iter().any(|route| route.needs() == Some(DB));
        self.env().chain((has_db && asks_db).then(|| ("DB_POOL".to_owned(), DB_POOL.to_string())))
    }
}

/// A server's processes, ready to be started in order. Travels to the guard as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub(crate) label: String,
    pub(crate) processes: Vec<ProcessSpec>,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    /// Of Prony's own environment they inherit all but these (the user's own command, a container's engine); `None`:
    /// nothing.
    #[serde(default)]
    pub(crate) inherits_all_but: Option<Vec<String>>,
    /// Where stdout and stderr of process i go: `<i>.log`.
    pub(crate) run_dir: PathBuf,
    /// CPUs the processes may use; empty: any.
    pub(crate) cpus: Vec<u32>,
    pub(crate) ready_timeout: Duration,
    #[serde(default)]
    pub(crate) container: Option<ContainerSpec>,
}

/// A container, by its engine and its name: no command line, since the journal keeps it too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContainerSpec {
    pub(crate) engine: PathBuf,
    pub(crate) name: String,
    /// The file that is there once the engine has made it; `None` where its client makes it itself. A service goes on making
    /// it after its client was killed.
    #[serde(default)]
    pub(crate) made: Option<PathBuf>,
}

impl ContainerSpec {
    /// The command that prints its id and the pid of its first process.
    pub(crate) fn inspect(&self) -> Vec<String> {
        container::command(&self.engine, &["inspect", "--format", "{{.Id}} {{.State.Pid}}", &self.name])
    }

    /// The command that ends and removes it, whatever its state, and prints its name; harmless when it is gone.
    pub(crate) fn remove(&self) -> Vec<String> {
        container::removal(&self.engine, &self.name)
    }

    /// Whether its engine is one that `find` finds here, and its name is of the kind that Prony gives.
    pub(crate) fn is_ours(&self, find: &dyn Fn(&str) -> Option<PathBuf>) -> bool {
        container::ENGINES.into_iter().filter_map(find).any(|found| found == self.engine)
            && self.name.starts_with(NAME_PREFIX)
            && self.name.chars().all(is_plain)
    }
}

impl LaunchSpec {
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let set = self.env.iter().rev().find(|(of, _)| of == name).map(|(_, value)| value.clone());
        let hidden = self.inherits_all_but.as_ref().is_none_or(|hidden| hidden.iter().any(|of| of == name));
        set.or_else(|| (!hidden).then(|| std::env::var(name).ok())?)
    }

    /// Gives the processes these CPUs and no others; none: any.
    pub(crate) fn pin(&mut self, cpus: &[u32]) {
        cpus.clone_into(&mut self.cpus);
        if self.container.is_none() || cpus.is_empty() {
            return;
        }
        for process in &mut self.processes {
            // After `podman run`: affinity alone does not reach what docker's service starts.
            let at = process.argv.len().min(2);
            process.argv.insert(at, format!("--cpuset-cpus={}", show_list(cpus)));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessSpec {
    pub(crate) argv: Vec<String>,
    pub(crate) wait_for: Option<PathBuf>,
    /// Whether it is to end, with exit code 0, once it has done its work.
    #[serde(default)]
    pub(crate) ends: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_given_its_cpus_by_its_engine_too() {
        let mut spec = LaunchSpec {
            label: "x".to_owned(),
            processes: vec![ProcessSpec {
                argv: ["podman", "run", "--rm", "image"].map(str::to_owned).to_vec(),
                wait_for: None,
                ends: false,
            }],
            cwd: PathBuf::new(),
            env: Vec::new(),
            inherits_all_but: None,
            run_dir: PathBuf::new(),
            cpus: Vec::new(),
            ready_timeout: Duration::ZERO,
            container: None,
        };
        spec.pin(&[1, 3]);
        assert_eq!((spec.cpus.as_slice(), spec.processes[0].argv.len()), ([1, 3].as_slice(), 4));
        spec.container = Some(ContainerSpec { engine: PathBuf::new(), name: String::new(), made: None });
        spec.pin(&[1, 3]);
        assert_eq!(spec.processes[0].argv, ["podman", "run", "--cpuset-cpus=1,3", "--rm", "image"]);
    }

    #[test]
    fn a_container_of_another_engine_or_name_is_not_ours() {
        let find = |name: &str| Some(PathBuf::from(format!("/usr/bin/{name}")));
        let is_ours = |engine: &str, name: &str| {
            ContainerSpec { engine: engine.into(), name: name.to_owned(), made: None }.is_ours(&find)
        };
        assert!(is_ours("/usr/bin/podman", "prony-aB3dE9") && is_ours("/usr/bin/docker", "prony-1"));
        for engine in ["/tmp/podman", "podman", "/usr/bin/touch", "/usr/bin/../bin/sh", ""] {
            assert!(!is_ours(engine, "prony-1"), "{engine}");
        }
        for name in ["precious", "prony-a b", "prony-1;reboot", "--all", ""] {
            assert!(!is_ours("/usr/bin/podman", name), "{name}");
        }
    }
}
