//! A limit on the memory of a server's processes together, kept by the kernel. It is a cgroup below one that lets its
//! children be limited already: no controller is switched on for anybody.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cgroup::{Cgroup, CgroupVersion};
use crate::sys;

struct Files {
    limit: &'static str,
    /// What keeps the limit from being a limit on pages in memory alone, and what is written there; not everywhere.
    swap: &'static str,
    events: &'static str,
}

const V1: Files = Files {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    events: "memory.oom_control",
};
const V2: Files = Files { limit: "memory.max", swap: "memory.swap.max", events: "memory.events" };

fn files(version: CgroupVersion) -> &'static Files {
    match version {
        CgroupVersion::V1 => &V1,
        CgroupVersion::V2 => &V2,
    }
}

/// The bytes of `--memory`: `512m`, `2g`, bytes, as container engines take it.
pub fn parse_size(text: &str) -> Result<u64, String> {
    bytes(text).ok_or_else(|| format!("--memory {text:?} is not a size: write 512m or 2g."))
}

fn bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let unit: u64 = match unit {
        "" | "b" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// Whether a limit can be set here, tried with a process that does nothing.
pub fn can_limit() -> Result<(), String> {
    let tried = limited(std::process::id(), 1 << 30).is_some_and(|cgroup| {
        let joined = cgroup.open_procs().is_ok_and(|procs| {
            let mut command = Command::new("true");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            sys::prepare_server(&mut command, &[], None, Some(&procs));
            command.status().is_ok()
        });
        cgroup.remove();
        joined
    });
    if tried { Ok(()) } else { Err(refused()) }
}

fn refused() -> String {
    "--memory needs a cgroup below which Prony may limit memory, and there is none here: run it in one of your \
     own (systemd-run --user --scope prony bench …), as root, or in containers (--runtime container)."
        .to_owned()
}

/// Makes a cgroup for the processes of this guard that together may have so many bytes, swap included.
pub(crate) fn limit(guard_pid: u32, bytes: u64) -> Result<Cgroup, String> {
    limited(guard_pid, bytes).ok_or_else(refused)
}

/// Below the nearest cgroup that allows it, from the caller's own on upwards, so that limits set on Prony
/// hold for servers too.
fn limited(guard_pid: u32, bytes: u64) -> Option<Cgroup> {
    Cgroup::find("self", "memory", |version, mount, own| {
        Cgroup::make(parents(mount, own), version, guard_pid, |made| write_limit(made, bytes).is_ok())
    })
}

fn parents(mount: &Path, own: &Path) -> Vec<PathBuf> {
    own.ancestors().take_while(|path| path.starts_with(mount)).map(Path::to_owned).collect()
}

fn write_limit(cgroup: &Cgroup, bytes: u64) -> io::Result<()> {
    let files = files(cgroup.version);
    let write = |file: &str, text: String| {
        let path = cgroup.path.join(file);
        // Not created where it is not there: the file system would make an ordinary file of a test's folder.
        std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut f| io::Write::write_all(&mut f, text.as_bytes()))
    };
    write(files.limit, bytes.to_string())?;
    // 1: memory and swap together. 2: swap alone.
    let swap = if cgroup.version == CgroupVersion::V1 { bytes } else { 0 };
    match write(files.swap, swap.to_string()) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => Ok(()),
    }
}

pub(crate) fn ended_at_limit(cgroup: &Cgroup) -> u64 {
    let text = std::fs::read_to_string(cgroup.path.join(files(cgroup.version).events)).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_sizes_are_in_binary_units() {
        assert_eq!(bytes("512m"), Some(512 << 20));
        assert_eq!((bytes("2g"), bytes("7"), bytes("7b")), (Some(2 << 30), Some(7), Some(7)));
        for wrong in ["", "m", "0", "-1", "2gb", "1.5g", "99999999999999g", "2 g"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_parent_cgroup_is_sought_up_to_the_mount() {
        let mount = Path::new("/sys/fs/cgroup");
        let tried = parents(mount, &mount.join("user.slice/a.scope"));
        let expected = ["/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"];
        assert_eq!(tried, expected.map(PathBuf::from));
        assert_eq!(parents(mount, mount), [mount]);
    }

    #[test]
    fn a_limit_is_written_only_where_the_kernel_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let cgroup = Cgroup { path: folder.path().to_owned(), version: CgroupVersion::V2 };
        assert!(write_limit(&cgroup, 1 << 20).is_err(), "no memory controller here");
        std::fs::write(folder.path().join("memory.max"), "max").unwrap();
        write_limit(&cgroup, 1 << 20).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("memory.max")).unwrap(), "1048576");
        assert!(!folder.path().join("memory.swap.max").exists());
        std::fs::write(folder.path().join("memory.events"), "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\n")
            .unwrap();
        assert_eq!(ended_at_limit(&cgroup), 3);
    }
}
