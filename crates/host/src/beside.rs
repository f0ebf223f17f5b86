//! What other programs did with some CPUs between two instants: processes that are neither this one, nor below it, nor
//! the kernel's own threads, whose work follows the load's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

use crate::cpu_ticks::{self, CpuTicks, TICK_NS, spent};
use crate::cpus::allowed;
use crate::monotonic_ns;
use crate::process::{Identity, ProcessStat, pids, stat};

/// The parent of all threads of the kernel.
const KTHREADD: u32 = 2;

/// What was read at one instant. Reading takes some 10 µs a process: not within a window.
#[derive(Debug, Clone)]
pub struct Beside {
    at_ns: u64,
    cpus: BTreeMap<u32, CpuTicks>,
    /// Of each other process the ticks that it used, and the CPU that it ran on last.
    others: BTreeMap<Identity, (u64, u32)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// CPU time of processes that were there at the first instant, over the time in between: 1 is a whole CPU.
    pub others: f64,
    /// The largest share of a CPU's time that the hypervisor gave to others.
    pub steal: f64,
}

impl Beside {
    pub fn read() -> Beside {
        let processes: Vec<ProcessStat> = pids().into_iter().filter_map(stat).collect();
        Beside {
            at_ns: monotonic_ns(),
            cpus: cpu_ticks::cpus(&fs::read_to_string("/proc/stat").unwrap_or_default()),
            others: others(&processes, std::process::id()),
        }
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` at which it was read.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// On these CPUs (empty: all that this process may use), by what was there at `first`: what has begun later may be
    /// a server's own work, handed to a container's engine.
    pub fn until(&self, last: &Beside, first: &Beside, cpus: &[u32]) -> Taken {
        let all = if cpus.is_empty() { allowed() } else { Vec::new() };
        let cpus = if cpus.is_empty() { &all } else { cpus };
        let ticks = last.others.iter().filter_map(|(process, (ticks, cpu))| {
            let (before, cpu_before) =
                self.others.get(process).filter(|_| first.others.contains_key(process))?;
            let here = cpus.contains(cpu) || cpus.contains(cpu_before);
            here.then(|| ticks.saturating_sub(*before))
        });
        let span_ns = last.at_ns.saturating_sub(self.at_ns).max(1);
        let steal = cpus.iter().filter_map(|cpu| spent(&self.cpus, &last.cpus, *cpu, |t| t.steal));
        Taken {
            others: ticks.sum::<u64>().saturating_mul(TICK_NS) as f64 / span_ns as f64,
            steal: steal.map(|(share, _)| share).fold(0.0, f64::max),
        }
    }
}

/// All but the process `own`, what is below it, and the kernel's threads.
fn others(processes: &[ProcessStat], own: u32) -> BTreeMap<Identity, (u64, u32)> {
    let parents: HashMap<u32, u32> = processes.iter().map(|process| (process.pid, process.parent)).collect();
    let is_ours = |pid: u32| {
        let (mut at, mut seen) = (pid, BTreeSet::new());
        while at != own && at != KTHREADD {
            match parents.get(&at) {
                // A torn reading may have a circle.
                Some(parent) if seen.insert(at) => at = *parent,
                _ => return false,
            }
        }
        true
    };
    let other = processes.iter().filter(|process| !is_ours(process.pid));
    other.map(|process| (process.identity(), (process.cpu_ticks, process.cpu))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, cpu_ticks: u64) -> ProcessStat {
        let rest = format!("S {parent} 0 0 0 0 0 0 0 0 0 {cpu_ticks} 0 0 0 0 0 1 0 {pid} 0 0");
        let cpu = format!("{}1 0", "0 ".repeat(38 - 24));
        ProcessStat::parse(&format!("{pid} (a) {rest} {cpu}")).unwrap()
    }

    fn at(seconds: u64, processes: &[ProcessStat]) -> Beside {
        Beside { at_ns: seconds * 1_000_000_000, cpus: BTreeMap::new(), others: others(processes, 100) }
    }

    /// Prony is 100, its guard 101, a server 102; 3 is the kernel's, 50 another program, and 60 begins later.
    #[test]
    fn only_older_processes_outside_of_this_run_are_other_programs() {
        let all = |ticks: u64| {
            [(1, 0), (2, 0), (3, 2), (50, 1), (100, 1), (101, 100), (102, 101)]
                .map(|(pid, parent)| process(pid, parent, ticks))
                .to_vec()
        };
        let first = at(0, &all(0));
        let last = at(2, &[all(50), vec![process(60, 1, 100)]].concat());
        // 1 and 50, half a second each, in two.
        assert_eq!(first.until(&last, &first, &[1]).others, 0.5);
        assert_eq!(first.until(&last, &first, &[0]).others, 0.0, "on another CPU");
        let later = at(4, &[all(50), vec![process(60, 1, 300)]].concat());
        assert_eq!(last.until(&later, &first, &[1]).others, 0.0, "60 was not there at the first");
        assert_eq!(last.until(&later, &last, &[1]).others, 1.0);
    }

    #[test]
    fn this_machine_can_be_read() {
        let first = Beside::read();
        let own = std::process::id();
        assert!(!first.others.keys().any(|process| process.pid == own || process.pid == KTHREADD));
        let taken = first.until(&Beside::read(), &first, &allowed());
        assert!(taken.others >= 0.0 && (0.0..=1.0).contains(&taken.steal));
    }
}
