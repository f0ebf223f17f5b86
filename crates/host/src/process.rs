//! Processes as /proc has them: who descends from whom, whether a pid is still who it was, and what threads did.

use std::collections::HashMap;
use std::fmt::Display;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

pub(crate) const WORKER: &str = "prony-load-";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// Its start time, `/proc/PID/stat` field 22.
    pub start_ticks: u64,
}

impl Identity {
    /// The process of this number as it is now; `None` when there is none.
    pub fn of(pid: u32) -> Option<Identity> {
        stat(pid).map(|process| process.identity())
    }

    pub fn lives(self) -> bool {
        stat(self.pid).is_some_and(|process| process.identity() == self && !process.is_zombie)
    }

    /// Sends SIGTERM to it and to no other that has its number now; whether it was sent.
    pub fn terminate(self) -> bool {
        self.send(Signal::TERM)
    }

    /// Sends SIGKILL, as [`Identity::terminate`] does.
    pub fn kill(self) -> bool {
        self.send(Signal::KILL)
    }

    /// The descriptor is taken first and the identity read afterwards: a reused number is never touched.
    fn send(self, signal: Signal) -> bool {
        let held = pid(self.pid).ok().flatten().and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        held.is_some_and(|held| {
            Identity::of(self.pid) == Some(self) && pidfd_send_signal(&held, signal).is_ok()
        })
    }
}

/// This process's namespace of process numbers, by which two containers that share a folder know each other's; 0: not known.
pub fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// What `/proc/PID/stat` says of a process, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: u32,
    pub name: String,
    pub parent: u32,
    /// Clock ticks from boot to its start; with the pid, its identity within a boot.
    pub start_ticks: u64,
    pub cpu_ticks: u64,
    pub threads: u32,
    pub rss_pages: u64,
    /// Drawn anew whenever a process executes a program; a fork keeps it. 0 where another user's may not be read.
    pub stack: u64,
    pub cpu: u32,
    /// Ended, but not taken in by its parent yet.
    pub is_zombie: bool,
}

impl ProcessStat {
    /// Reads `/proc/PID/stat`. proc(5): the name stands in brackets and may hold spaces and brackets itself.
    pub fn parse(text: &str) -> Option<ProcessStat> {
        let (pid, rest) = text.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3); // proc(5) numbers from 1; the state is 3
        let number = |at: usize| field(at)?.parse::<u64>().ok();
        Some(ProcessStat {
            pid: pid.parse().ok()?,
            name: name.trim().to_owned(),
            parent: field(4)?.parse().ok()?,
            cpu_ticks: number(14)?.saturating_add(number(15)?),
            threads: field(20)?.parse().ok()?,
            start_ticks: number(22)?,
            rss_pages: number(24)?,
            stack: number(28).unwrap_or(0),
            cpu: field(39).and_then(|cpu| cpu.parse().ok()).unwrap_or(0),
            is_zombie: matches!(*field(3)?, "Z" | "X"),
        })
    }

    pub fn identity(&self) -> Identity {
        Identity { pid: self.pid, start_ticks: self.start_ticks }
    }
}

pub fn stat(pid: u32) -> Option<ProcessStat> {
    ProcessStat::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

pub fn name(pid: u32) -> String {
    stat(pid).map(|process| process.name).unwrap_or_default()
}

/// Everything below `root`, parents first. Reads all of /proc, about 10 µs a process: `task/*/children` would be
/// cheaper, but may miss some while processes come and go (proc(5)).
pub fn descendants(root: u32) -> Vec<ProcessStat> {
    let mut by_parent: HashMap<u32, Vec<ProcessStat>> = HashMap::new();
    for process in pids().into_iter().filter_map(stat) {
        by_parent.entry(process.parent).or_default().push(process);
    }
    let children = by_parent.remove(&root).unwrap_or_default();
    with_descendants(children, by_parent)
}

fn with_descendants(
    mut found: Vec<ProcessStat>,
    mut by_parent: HashMap<u32, Vec<ProcessStat>>,
) -> Vec<ProcessStat> {
    let mut at = 0;
    while let Some(process) = found.get(at) {
        // Removed as they are visited, so that even a torn reading of /proc ends.
        let below = by_parent.remove(&process.pid);
        found.extend(below.unwrap_or_default());
        at += 1;
    }
    found
}

/// These processes and everything that descends from them, each once; those that ended are left out.
pub fn trees(roots: &[Identity]) -> Vec<ProcessStat> {
    let mut by_parent: HashMap<u32, Vec<ProcessStat>> = HashMap::new();
    let mut found = Vec::new();
    for process in pids().into_iter().filter_map(stat) {
        if roots.contains(&process.identity()) {
            found.push(process);
        } else {
            by_parent.entry(process.parent).or_default().push(process);
        }
    }
    with_descendants(found, by_parent)
}

pub fn pids() -> Vec<u32> {
    numbers_in("/proc")
}

pub fn threads(process: impl Display) -> Vec<u32> {
    numbers_in(&format!("/proc/{process}/task"))
}

pub(crate) fn workers() -> impl Iterator<Item = u32> {
    threads("self").into_iter().filter(|thread| {
        let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
        name.is_ok_and(|name| name.starts_with(WORKER))
    })
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    pub ran_ns: u64,
    /// How long it has been ready to run without running.
    pub waited_ns: u64,
}

/// The first two numbers of a thread's schedstat (Linux, Documentation/scheduler/sched-stats.rst).
pub fn scheduled(process: impl Display, thread: u32) -> Option<Scheduled> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    Some(Scheduled { ran_ns: numbers.next()?.ok()?, waited_ns: numbers.next()?.ok()? })
}

/// A number as the kernel takes it; `None` is 0, which stands for the caller.
pub(crate) fn pid(number: u32) -> io::Result<Option<Pid>> {
    i32::try_from(number).map(Pid::from_raw).map_err(|_| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_hold_brackets_and_spaces() {
        let text =
            "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 12345 999 77 184467 1 3 2 0\n";
        let stat = ProcessStat::parse(text).unwrap();
        let expected = ProcessStat {
            pid: 42,
            name: "a) b (c".to_owned(),
            parent: 7,
            start_ticks: 12345,
            cpu_ticks: 11,
            threads: 3,
            rss_pages: 77,
            stack: 2,
            cpu: 0,
            is_zombie: false,
        };
        assert_eq!(stat, expected);
        assert_eq!(ProcessStat::parse("42 (cat"), None);
    }

    #[test]
    fn the_start_of_the_stack_changes_when_a_program_is_executed() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "echo; read line; exec sleep 600"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // It runs: before, the kernel moves the start of the stack while it lays out what is on it.
        let mut line = [0];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let before = stat(child.id()).unwrap();
        assert_ne!(before.stack, 0);
        assert_eq!(stat(child.id()).unwrap().stack, before.stack);
        drop(child.stdin.take());
        crate::testing::wait_until("sleep", || name(child.id()) == "sleep");
        let after = stat(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(after.start_ticks, before.start_ticks);
        assert_ne!(after.stack, before.stack);
    }

    #[test]
    fn a_grandchild_is_found_and_a_reused_id_is_not_signalled() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let me = std::process::id();
        let below = |pid: u32| descendants(pid);
        crate::testing::wait_until("a grandchild", || !below(child.id()).is_empty());
        let grandchild = below(child.id())[0].identity();
        assert!(below(me).iter().any(|p| p.pid == grandchild.pid));
        assert!(!Identity { start_ticks: grandchild.start_ticks + 1, ..grandchild }.kill());
        assert!(grandchild.lives(), "another start time: not ours");
        assert!(grandchild.kill());
        child.wait().unwrap();
    }
}
