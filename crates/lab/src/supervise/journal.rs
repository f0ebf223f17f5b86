//! What is running, on disk: so that a later Prony can end what a killed one left.
//!
//! One small file per guard, written before the guard is told to start anything and removed when it has ended. A
//! process is known by its pid, its start time and the machine's boot: only one that all three prove to be ours is ever
//! sent a signal. The entries are in a folder that only the effective user may use (`prony_host::state`) and never in
//! the current one, where anybody's files may lie: whoever could write one could have any process ended.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prony_host::boot_id;
use prony_host::process::{self, Identity, pid_namespace};
use serde::{Deserialize, Serialize};

use super::guard::remove_container;
use crate::launch::{ContainerSpec, run_dir};
use crate::programs::find_command;
use crate::sample::Cgroup;

/// How long a guard whose Prony is gone has to end by itself.
const GUARD_PATIENCE: Duration = Duration::from_secs(5);
/// How long what was sent SIGKILL may take to be gone.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) guard: Identity,
    pub(crate) owner: Identity,
    /// `/proc/sys/kernel/random/boot_id`: pids and start times mean nothing in another boot.
    pub(crate) boot_id: String,
    /// The namespace that the numbers of processes are of; 0: not known.
    #[serde(default)]
    pub(crate) pid_namespace: u64,
    pub(crate) label: String,
    pub(crate) run_dir: PathBuf,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) processes: Vec<Identity>,
    #[serde(default)]
    pub(crate) container: Option<ContainerSpec>,
    /// The cgroup that limits their memory; it may be the same.
    #[serde(default)]
    pub(crate) memory_cgroup: Option<Cgroup>,
}

fn folder(root: &Path) -> PathBuf {
    root.join("journal")
}

fn entry_path(root: &Path, guard_pid: u32) -> PathBuf {
    folder(root).join(format!("{}-{guard_pid}.json", pid_namespace()))
}

/// Writes or replaces an entry, atomically: it is whole or it is not there.
pub(crate) fn write(root: &Path, entry: &Entry) -> io::Result<()> {
    std::fs::create_dir_all(folder(root))?;
    let path = entry_path(root, entry.guard.pid);
    let unfinished = path.with_extension("json.new");
    std::fs::write(&unfinished, serde_json::to_vec(entry)?)?;
    std::fs::rename(&unfinished, &path)
}

/// Removes an entry; one that is gone already is no error.
pub(crate) fn remove(root: &Path, guard_pid: u32) {
    let _ = std::fs::remove_file(entry_path(root, guard_pid));
}

/// Ends and removes what Pronys that are gone have left by the journal below `root`, and says of each what was done.
/// Takes up to ten seconds where a server resists.
pub(crate) fn clean_up(root: &Path) -> Vec<String> {
    clean_up_by(root, &find_command)
}

fn clean_up_by(root: &Path, engine: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<String> {
    let Ok(files) = std::fs::read_dir(folder(root)) else { return Vec::new() };
    files.flatten().filter_map(|file| clean_entry(&file.path(), engine)).collect()
}

fn clean_entry(path: &Path, engine: &dyn Fn(&str) -> Option<PathBuf>) -> Option<String> {
    if path.extension().is_none_or(|e| e != "json") {
        return None;
    }
    let text = std::fs::read(path).ok()?;
    let Ok(mut entry) = serde_json::from_slice::<Entry>(&text) else {
        let _ = std::fs::remove_file(path);
        return Some(format!(
            "{} could not be read and was removed; nothing was ended for it.",
            path.display()
        ));
    };
    let same_boot = entry.boot_id == boot_id() && !entry.boot_id.is_empty();
    if same_boot && entry.owner.lives() {
        return None; // another Prony at work
    }
    if same_boot && ![0, pid_namespace()].contains(&entry.pid_namespace) {
        return None; // another container's, whose processes cannot be seen from here
    }
    let unknown = entry.container.take_if(|container| !container.is_ours(engine));
    let ended = if same_boot { entry.end(GUARD_PATIENCE) } else { EntryEnd::default() };
    let label = &entry.label;
    if !ended.leftovers.is_empty() {
        let leftovers = ended.leftovers.join(", ");
        return Some(format!("{label} still runs after SIGKILL ({leftovers}): look at it by hand."));
    }
    run_dir::remove(&entry.run_dir);
    if same_boot {
        entry.remove_cgroups();
    }
    let _ = std::fs::remove_file(path);
    let mut text = match ended.killed {
        0 => format!("An earlier run was cut off while {label} ran; its folder was removed."),
        n => format!("An earlier run was cut off while {label} ran; {n} of its processes were ended."),
    };
    if let Some(container) = unknown {
        text.push_str(&format!(" Its container {:?} is left: no engine found here made it.", container.name));
    }
    Some(text)
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EntryEnd {
    pub(crate) killed: usize,
    pub(crate) leftovers: Vec<String>,
}

impl Entry {
    /// Waits for the guard to end its servers, then ends what is left of them. The entry must be of this boot.
    pub(crate) fn end(&self, patience: Duration) -> EntryEnd {
        let until = Instant::now() + patience;
        while self.guard.lives() && Instant::now() < until {
            std::thread::sleep(LOOK_AGAIN);
        }
        let until = Instant::now() + KILL_PATIENCE;
        let mut killed: Vec<Identity> = Vec::new();
        loop {
            let living = self.living();
            if living.is_empty() || Instant::now() >= until {
                if let Some(container) = &self.container {
                    remove_container(container, false);
                }
                let leftovers =
                    living.iter().map(|p| format!("{} {}", p.pid, process::name(p.pid))).collect();
                return EntryEnd { killed: killed.len(), leftovers };
            }
            for process in living {
                if process.kill() && !killed.contains(&process) {
                    killed.push(process);
                }
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn cgroups(&self) -> impl Iterator<Item = &Cgroup> {
        self.cgroup.iter().chain(&self.memory_cgroup)
    }

    pub(crate) fn remove_cgroups(&self) {
        self.cgroups().for_each(Cgroup::remove);
    }

    /// What lives of the guard, the processes it started, all below them, and all in their cgroup: each proven by
    /// descent, by identity or by a cgroup that only we have filled.
    fn living(&self) -> Vec<Identity> {
        let mut living: Vec<Identity> = Vec::new();
        let mut add = |found: Option<Identity>| {
            if let Some(found) = found.filter(|f| f.lives() && !living.contains(f)) {
                living.push(found);
            }
        };
        // The guard last: while it lives it keeps the tree together.
        let roots: Vec<Identity> =
            self.processes.iter().copied().chain([self.guard]).filter(|r| r.lives()).collect();
        for root in roots {
            for below in process::descendants(root.pid) {
                add(Some(below.identity()));
            }
            add(Some(root));
        }
        let ours = format!("prony-{}", self.guard.pid);
        for cgroup in self.cgroups().filter(|c| c.path.file_name().is_some_and(|n| n == ours.as_str())) {
            let held = cgroup.pids().into_iter().filter(|pid| cgroup.holds(*pid));
            held.for_each(|pid| add(Identity::of(pid)));
        }
        living
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::run_dir::MARK;
    use crate::sample::CgroupVersion;
    use crate::supervise::testing;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    /// A process that has certainly ended.
    fn gone() -> Identity {
        let mut child = sleeper();
        let identity = Identity::of(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        identity
    }

    fn entry(root: &Path, owner: Identity, processes: Vec<Identity>) -> Entry {
        let run_dir = root.join("run/1");
        std::fs::create_dir_all(&run_dir).unwrap();
        std::fs::write(run_dir.join(MARK), "").unwrap();
        let entry = Entry {
            guard: gone(),
            owner,
            boot_id: boot_id(),
            pid_namespace: pid_namespace(),
            label: "x".to_owned(),
            run_dir,
            cgroup: None,
            processes,
            container: None,
            memory_cgroup: None,
        };
        write(root, &entry).unwrap();
        entry
    }

    #[test]
    fn processes_left_by_a_killed_prony_are_ended() {
        let root = tempfile::tempdir().unwrap();
        let mut left = sleeper();
        let mut entry = entry(root.path(), gone(), vec![Identity::of(left.id()).unwrap()]);
        // An ordinary folder stands for a cgroup: both are removed by the same call.
        let cgroup = Cgroup { path: root.path().join("prony-1"), version: CgroupVersion::V2 };
        std::fs::create_dir(&cgroup.path).unwrap();
        entry.memory_cgroup = Some(cgroup.clone());
        write(root.path(), &entry).unwrap();
        let cleaned = clean_up(root.path());
        assert!(!cgroup.path.exists());
        assert_eq!(cleaned.len(), 1);
        assert!(cleaned[0].contains("1 of its processes"), "{cleaned:?}");
        assert!(!left.wait().unwrap().success());
        assert!(!entry.run_dir.exists());
        assert!(clean_up(root.path()).is_empty());
    }

    #[test]
    fn a_container_left_by_a_killed_guard_is_removed_by_its_engine() {
        let root = tempfile::tempdir().unwrap();
        let mut entry = entry(root.path(), gone(), Vec::new());
        let mark = root.path().join("removed");
        let container = testing::container(root.path(), &format!("touch {}", mark.display()), None);
        let engine = container.engine.clone();
        entry.container = Some(container);
        write(root.path(), &entry).unwrap();
        // Such a program is no engine of this machine's.
        let cleaned = clean_up(root.path());
        assert!(cleaned[0].ends_with("\"prony-test\" is left: no engine found here made it."), "{cleaned:?}");
        assert!(!mark.exists());
        write(root.path(), &entry).unwrap();
        assert_eq!(clean_up_by(root.path(), &|_| Some(engine.clone())).len(), 1);
        assert!(mark.exists());
    }

    #[test]
    fn a_living_prony_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let mut server = sleeper();
        let owner = Identity::of(std::process::id()).unwrap();
        let entry = entry(root.path(), owner, vec![Identity::of(server.id()).unwrap()]);
        assert!(clean_up(root.path()).is_empty());
        assert!(entry.run_dir.exists());
        assert_eq!(server.try_wait().unwrap(), None);
        server.kill().unwrap();
        server.wait().unwrap();
    }

    #[test]
    fn a_process_not_proven_to_be_ours_is_never_killed() {
        let root = tempfile::tempdir().unwrap();
        let mut stranger = sleeper();
        let mut reused = Identity::of(stranger.id()).unwrap();
        reused.start_ticks += 1;
        entry(root.path(), gone(), vec![reused]);
        assert_eq!(clean_up(root.path()).len(), 1);
        let mut other_boot = entry(root.path(), gone(), vec![Identity::of(stranger.id()).unwrap()]);
        other_boot.boot_id = "of another boot".to_owned();
        write(root.path(), &other_boot).unwrap();
        assert_eq!(clean_up(root.path()).len(), 1);
        assert_eq!(stranger.try_wait().unwrap(), None, "it must live");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_process_is_not_killed_because_a_file_claims_our_cgroup() {
        let root = tempfile::tempdir().unwrap();
        let mut stranger = sleeper();
        let mut entry = entry(root.path(), gone(), Vec::new());
        let path = root.path().join(format!("prony-{}", entry.guard.pid));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("cgroup.procs"), format!("{}\n", stranger.id())).unwrap();
        let cgroup = Cgroup { path, version: CgroupVersion::V2 };
        assert_eq!(cgroup.pids(), [stranger.id()]);
        entry.cgroup = Some(cgroup);
        write(root.path(), &entry).unwrap();
        assert_eq!(clean_up(root.path()).len(), 1);
        assert_eq!(stranger.try_wait().unwrap(), None, "it must live");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn what_another_container_of_the_same_folder_runs_is_left() {
        let root = tempfile::tempdir().unwrap();
        let mut entry = entry(root.path(), gone(), Vec::new());
        entry.pid_namespace += 1;
        write(root.path(), &entry).unwrap();
        assert_eq!(clean_up(root.path()), [""; 0]);
        assert!(entry.run_dir.join(MARK).exists() && entry_path(root.path(), entry.guard.pid).exists());
        // After the machine's next start nothing of it runs.
        entry.boot_id = "another".to_owned();
        write(root.path(), &entry).unwrap();
        assert_eq!(clean_up(root.path()).len(), 1);
        assert!(!entry.run_dir.exists());
    }

    #[test]
    fn a_run_folder_without_our_marker_is_never_removed() {
        let root = tempfile::tempdir().unwrap();
        let entry = entry(root.path(), gone(), Vec::new());
        std::fs::remove_file(entry.run_dir.join(MARK)).unwrap();
        std::fs::write(entry.run_dir.join("precious"), "").unwrap();
        clean_up(root.path());
        assert!(entry.run_dir.join("precious").exists());
    }

    #[test]
    fn a_damaged_journal_entry_ends_no_process_and_is_removed() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder(root.path())).unwrap();
        std::fs::write(entry_path(root.path(), 1), "{\"guard\":").unwrap();
        assert!(clean_up(root.path())[0].contains("nothing was ended"));
        assert!(clean_up(root.path()).is_empty());
    }
}
