//! A cgroup for each server: the kernel's count of its tree's CPU time, ended processes included, for one small read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How often, and with what pause, removal is tried: the kernel lets go of a
/// cgroup some milliseconds after its last process.
const REMOVE_TRIES: u32 = 50;
const REMOVE_PAUSE: Duration = Duration::from_millis(4);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CgroupVersion {
    /// `cpuacct.usage`, in nanoseconds.
    V1,
    /// `cpu.stat`, in microseconds.
    V2,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cgroup {
    /// Its folder, named `prony-<guard pid>`.
    pub(crate) path: PathBuf,
    pub(crate) version: CgroupVersion,
}

impl Cgroup {
    /// Makes one for the processes of a guard, below the caller's own (so that limits set on Prony hold for
    /// servers) or else at the top; `None` where neither is allowed.
    pub(crate) fn create(guard_pid: u32) -> Option<Cgroup> {
        Cgroup::find("self", "cpuacct", |version, mount, own| {
            Cgroup::make([own.to_owned(), mount.to_owned()], version, guard_pid, |made| {
                made.cpu_ns().is_some()
            })
        })
    }

    pub(crate) fn of_process(pid: u32) -> Option<Cgroup> {
        Cgroup::find(&pid.to_string(), "cpuacct", |version, _, path| {
            let cgroup = Cgroup { path: path.to_owned(), version };
            cgroup.cpu_ns().map(|_| cgroup)
        })
    }

    /// What is found of a process's cgroup by the newer interface or else the older: `of` is given the mount of the
    /// controller's hierarchy, and the process's folder below it.
    pub(super) fn find(
        process: &str,
        controller: &str,
        of: impl Fn(CgroupVersion, &Path, &Path) -> Option<Cgroup>,
    ) -> Option<Cgroup> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let paths = std::fs::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
        [CgroupVersion::V2, CgroupVersion::V1].into_iter().find_map(|version| {
            let v1_controller = (version == CgroupVersion::V1).then_some(controller);
            let (mount, own) = prony_host::cgroup::place(&mounts, &paths, v1_controller)?;
            of(version, &mount, &own)
        })
    }

    /// Makes one below the first of these that allows it, of a kind that works.
    pub(super) fn make(
        parents: impl IntoIterator<Item = PathBuf>,
        version: CgroupVersion,
        guard_pid: u32,
        works: impl Fn(&Cgroup) -> bool,
    ) -> Option<Cgroup> {
        parents.into_iter().find_map(|parent| {
            let cgroup = Cgroup { path: parent.join(format!("prony-{guard_pid}")), version };
            std::fs::create_dir(&cgroup.path).ok()?;
            if works(&cgroup) && cgroup.open_procs().is_ok() {
                return Some(cgroup);
            }
            cgroup.remove();
            None
        })
    }

    /// The file that a process joins by writing `0` to it.
    pub(crate) fn open_procs(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.path.join("cgroup.procs"))
    }

    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        match self.version {
            CgroupVersion::V1 => self.read("cpuacct.usage")?.trim().parse().ok(),
            CgroupVersion::V2 => usage_ns(&self.read("cpu.stat")?),
        }
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        let text = self.read("cgroup.procs").unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect()
    }

    /// Whether the kernel says of a process that it is in a cgroup of this name, and not only a file in this folder.
    pub(crate) fn holds(&self, pid: u32) -> bool {
        let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        cgroups.lines().any(|line| Path::new(line).file_name() == self.path.file_name())
    }

    pub(crate) fn method(&self) -> &'static str {
        match self.version {
            CgroupVersion::V1 => "cgroup-v1",
            CgroupVersion::V2 => "cgroup-v2",
        }
    }

    /// Removes it. A cgroup with a living process is refused by the kernel and stays.
    pub(crate) fn remove(&self) {
        let ours = self.path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("prony-"));
        if !ours {
            return;
        }
        for _ in 0..REMOVE_TRIES {
            match std::fs::remove_dir(&self.path) {
                Err(why) if why.kind() == io::ErrorKind::ResourceBusy && self.pids().is_empty() => {
                    std::thread::sleep(REMOVE_PAUSE);
                }
                _ => return,
            }
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.path.join(file)).ok()
    }
}

fn usage_ns(cpu_stat: &str) -> Option<u64> {
    let microseconds: u64 =
        cpu_stat.lines().find_map(|l| l.strip_prefix("usage_usec "))?.trim().parse().ok()?;
    microseconds.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_in_nanoseconds() {
        assert_eq!(usage_ns("usage_usec 12\nuser_usec 5\n"), Some(12_000));
        assert_eq!(usage_ns("nr_periods 0\n"), None);
    }

    /// Both versions, as far as this machine allows them: what a process used is what is counted.
    #[test]
    fn a_process_is_counted_from_its_first_instruction_to_its_last() {
        // No guard's number, and nobody else's who tests at the same time.
        let number = 4_000_000_000 + std::process::id();
        for version in [CgroupVersion::V1, CgroupVersion::V2] {
            let made = Cgroup::find("self", "cpuacct", |found, mount, own| {
                let parents = [own.to_owned(), mount.to_owned()];
                let works = |made: &Cgroup| made.cpu_ns().is_some();
                if found == version { Cgroup::make(parents, version, number, works) } else { None }
            });
            let Some(cgroup) = made else { continue };
            assert_eq!(cgroup.cpu_ns(), Some(0));
            let procs = cgroup.open_procs().unwrap();
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]);
            crate::sys::prepare_server(&mut command, &[], Some(&procs), None);
            assert!(command.status().unwrap().success());
            let used = cgroup.cpu_ns().unwrap();
            cgroup.remove();
            assert!(!cgroup.path.exists());
            // The point is: more than nothing, though the process is gone. No machine makes a turn in 10 ns.
            assert!(used > 1_000_000, "{version:?}: {used}");
        }
    }
}
