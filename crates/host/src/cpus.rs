//! CPUs: which a thread may use, and lists of them.

use std::collections::BTreeSet;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::process::pid;
use crate::sys;

/// No kernel has as many: a longer range is a slip.
const CPU_MAX: u32 = 1 << 16;

/// CPUs that this process may use, in order; empty where that cannot be told.
pub fn allowed() -> Vec<u32> {
    // The main thread's: others may have been pinned.
    affinity(std::process::id()).or_else(|_| affinity(0)).unwrap_or_default()
}

/// CPUs that a thread may use, in order; `0` is the calling thread.
pub fn affinity(thread: u32) -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(pid(thread)?)?;
    let of_set = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Ok(of_set.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Confines a thread to CPUs (`0`: the calling thread), and what it starts from now on. An empty list changes nothing.
/// Allocates nothing, so that it may be called between fork and exec.
pub fn set_affinity(thread: u32, cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    let known = cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).filter(|cpu| *cpu < CpuSet::MAX_CPU);
    known.for_each(|cpu| set.set(cpu));
    Ok(sched_setaffinity(pid(thread)?, &set)?)
}

/// Makes the calling thread, and those it starts, one that must not disturb a measurement: on these CPUs (empty: where
/// it is), under the idle policy. With a niceness of 19 it would keep the CPU for milliseconds when the engine wakes.
/// Best effort: where the kernel refuses, the thread is an ordinary one.
pub fn enter_background(cpus: &[u32]) {
    let _ = set_affinity(0, cpus);
    let _ = sys::idle_policy();
}

/// Reads a list as the kernel and `--pin` write it, `0-3,8`; `None` where it is none.
pub fn parse_list(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// A list as people and `--pin` write it: `0,2,3`.
pub fn show_list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

pub fn union(some: &[u32], more: &[u32]) -> Vec<u32> {
    some.iter().chain(more).copied().collect::<BTreeSet<u32>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinity_is_what_was_set() {
        std::thread::spawn(|| {
            let all = affinity(0).unwrap();
            let one = vec![*all.last().unwrap()];
            set_affinity(0, &one).unwrap();
            assert_eq!(affinity(0).unwrap(), one);
            set_affinity(0, &[]).unwrap();
            assert_eq!(affinity(0).unwrap(), one, "an empty list changes nothing");
            assert!(affinity(u32::MAX).is_err() && set_affinity(u32::MAX, &one).is_err(), "no such thread");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn lists_of_cpus_are_read_and_written() {
        assert_eq!(parse_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!(show_list(&[0, 1, 2, 5]), "0,1,2,5");
        for none in ["", "2-1", "0,", "a", "0-99999", "-1"] {
            assert_eq!(parse_list(none), None, "{none:?}");
        }
        assert_eq!(union(&[3, 1], &[2, 1]), [1, 2, 3]);
    }
}
