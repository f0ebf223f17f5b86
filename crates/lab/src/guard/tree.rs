//! Processes as /proc has them: who descends from whom, and whether a pid is still who it was.

use std::collections::HashMap;
use std::path::Path;

use crate::sys::PidFd;

/// What `/proc/PID/stat` says of a process, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// Clock ticks from boot to its start; with the pid, its identity within a boot.
    pub(crate) start_ticks: u64,
    pub(crate) threads: u32,
    pub(crate) rss_pages: u64,
    /// Where its stack begins: the kernel draws it anew whenever a process executes a program, and a fork keeps it.
    /// 0 where another user's may not be read.
    pub(crate) stack: u64,
    /// Ended, but not taken in by its parent yet.
    pub(crate) is_zombie: bool,
}

/// Reads one process; `None` when there is none.
pub(crate) fn stat(pid: u32) -> Option<ProcessStat> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// proc(5): the name stands in brackets and may hold spaces and brackets itself.
fn parse_stat(text: &str) -> Option<ProcessStat> {
    let (pid, rest) = text.split_once(" (")?;
    let (_, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3); // proc(5) numbers from 1; the state is 3
    Some(ProcessStat {
        pid: pid.parse().ok()?,
        parent: field(4)?.parse().ok()?,
        threads: field(20)?.parse().ok()?,
        start_ticks: field(22)?.parse().ok()?,
        rss_pages: field(24)?.parse().ok()?,
        stack: field(28)?.parse().ok()?,
        is_zombie: matches!(*field(3)?, "Z" | "X"),
    })
}

/// A process's short name, for messages.
pub(crate) fn name(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

/// Every process below `root`, which itself is not among them; parents before children.
///
/// Reads all of /proc, about 10 µs a process: `task/*/children` would be
/// cheaper, but is allowed to miss some while processes come and go (proc(5)).
pub(crate) fn descendants(root: u32) -> Vec<ProcessStat> {
    let mut by_parent: HashMap<u32, Vec<ProcessStat>> = HashMap::new();
    for process in pids().into_iter().filter_map(stat) {
        by_parent.entry(process.parent).or_default().push(process);
    }
    let mut found = by_parent.remove(&root).unwrap_or_default();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        // Removed as they are visited, so that even a torn reading of /proc ends.
        found.extend(by_parent.remove(&process.pid).unwrap_or_default());
        at += 1;
    }
    found
}

/// Every process of the machine.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc")) else { return Vec::new() };
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Acts on a process only if it is still the one that started at `start_ticks`.
/// The descriptor is taken first and the identity read afterwards, so that a
/// pid that was reused in between is never touched. Whether it was the one.
pub(crate) fn signal_if_same(pid: u32, start_ticks: u64, signal: fn(&PidFd) -> std::io::Result<()>) -> bool {
    let Ok(held) = PidFd::open(pid) else { return false };
    match stat(pid) {
        Some(process) if process.start_ticks == start_ticks => signal(&held).is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_hold_brackets_and_spaces() {
        let text =
            "42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 12345 999 77 184467 1 3 2 0\n";
        let stat = parse_stat(text).unwrap();
        let expected = ProcessStat {
            pid: 42,
            parent: 7,
            start_ticks: 12345,
            threads: 3,
            rss_pages: 77,
            stack: 2,
            is_zombie: false,
        };
        assert_eq!(stat, expected);
        assert_eq!(parse_stat("42 (cat"), None);
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
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let before = stat(child.id()).unwrap();
        assert_ne!(before.stack, 0);
        assert_eq!(stat(child.id()).unwrap().stack, before.stack);
        drop(child.stdin.take());
        crate::guard::tests::wait_until("sleep", || name(child.id()) == "sleep");
        let after = stat(child.id()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(after.start_ticks, before.start_ticks);
        assert_ne!(after.stack, before.stack);
    }

    #[test]
    fn a_grandchild_process_is_found_and_one_with_another_start_time_is_not_signalled() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let me = std::process::id();
        let below = |pid: u32| descendants(pid);
        crate::guard::tests::wait_until("a grandchild", || !below(child.id()).is_empty());
        let grandchild = below(child.id())[0];
        assert!(below(me).iter().any(|p| p.pid == grandchild.pid));
        let kill: fn(&PidFd) -> std::io::Result<()> = PidFd::kill;
        assert!(!signal_if_same(grandchild.pid, grandchild.start_ticks + 1, kill));
        assert!(stat(grandchild.pid).is_some_and(|s| !s.is_zombie), "another start time: not ours");
        assert!(signal_if_same(grandchild.pid, grandchild.start_ticks, kill));
        child.wait().unwrap();
    }
}
