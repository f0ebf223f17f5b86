//! What else runs on the machine: watched for a second.

use std::collections::BTreeMap;

use prony_host::cpu_ticks::{self, CpuTicks, spent};
use prony_host::memory_field;
use prony_host::process::ProcessStat;

use super::{Finding, Tree};

/// The share of a used core that others may take, and that the hypervisor may.
const OTHERS_MAX: f64 = 0.05;
const STEAL_MAX: f64 = 0.01;
/// A program that used this share of a core is named.
const NAMED_FROM: f64 = 0.03;
const NAMED_MAX: usize = 5;
const TICKS_PER_S: f64 = cpu_ticks::TICKS_PER_S as f64;
/// Less memory than this, and pages go to disk during a run.
const MEMORY_MIN_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, Default)]
struct Instant {
    cpus: BTreeMap<u32, CpuTicks>,
    /// By pid: name, and ticks used.
    processes: BTreeMap<u32, (String, u64)>,
}

#[derive(Debug)]
pub(super) struct Watch {
    first: Instant,
}

impl Watch {
    pub(super) fn begin(tree: &Tree) -> Watch {
        Watch { first: Instant::read(tree) }
    }

    /// The second, some time later: what was seen of these CPUs in between.
    pub(super) fn end(self, tree: &Tree, cpus: &[u32], own_pid: u32) -> Vec<Finding> {
        let last = Instant::read(tree);
        let mut findings = judged(&self.first, &last, cpus, own_pid);
        findings.extend(pressure(tree));
        findings
    }
}

impl Instant {
    fn read(tree: &Tree) -> Instant {
        let mut instant = Instant {
            cpus: cpu_ticks::cpus(&tree.text("/proc/stat").unwrap_or_default()),
            ..Instant::default()
        };
        for pid in tree.names("/proc").iter().filter_map(|name| name.parse::<u32>().ok()) {
            if let Some(process) = tree.text(format!("/proc/{pid}/stat")).and_then(|t| ProcessStat::parse(&t))
            {
                let name = process.name.chars().filter(|c| !c.is_control()).collect();
                instant.processes.insert(pid, (name, process.cpu_ticks));
            }
        }
        instant
    }
}

fn judged(first: &Instant, last: &Instant, cpus: &[u32], own_pid: u32) -> Vec<Finding> {
    let worst = |of: fn(&CpuTicks) -> u64| {
        let shares = cpus.iter().filter_map(|cpu| Some(spent(&first.cpus, &last.cpus, *cpu, of)?.0));
        shares.reduce(f64::max)
    };
    let mut findings = Vec::new();
    if let Some(busy) = worst(CpuTicks::busy) {
        let ticks = |pid: &u32, now: u64| now.saturating_sub(first.processes.get(pid).map_or(now, |p| p.1));
        // The span is told by the CPUs: all of one CPU's ticks are the time that went by.
        let span = cpus
            .iter()
            .find_map(|cpu| Some(last.cpus.get(cpu)?.total().saturating_sub(first.cpus.get(cpu)?.total())));
        let seconds = span.unwrap_or(0).max(1) as f64 / TICKS_PER_S;
        let mut named: Vec<(f64, String)> = last
            .processes
            .iter()
            .filter(|(pid, _)| **pid != own_pid)
            .map(|(pid, (name, now))| {
                let share = ticks(pid, *now) as f64 / TICKS_PER_S / seconds;
                (share, format!("{name} (process {pid}) {:.0} %", share * 100.0))
            })
            .filter(|(share, _)| *share >= NAMED_FROM)
            .collect();
        named.sort_by(|a, b| b.0.total_cmp(&a.0));
        let names: Vec<String> = named.into_iter().take(NAMED_MAX).map(|(_, name)| name).collect();
        let why = "Other programs take CPU time, caches and clock speed from server and client, unevenly.";
        let mut value = format!("{:.0} % of a used core", busy * 100.0);
        if !names.is_empty() {
            value.push_str(&format!(": {}", names.join(", ")));
        }
        let found = Finding::new("other_load", "other programs", value, why);
        findings.push(found.distorts_if(busy > OTHERS_MAX, "end these programs, or wait for their end"));
    }
    if let Some(stolen) = worst(|cpu| cpu.steal) {
        let why =
            "Time in which the hypervisor ran others on this core: servers and clocks stand still meanwhile.";
        let found = Finding::new("steal", "stolen time", format!("{:.1} %", stolen * 100.0), why);
        let mend = "use a machine whose cores are not shared; else measure at another hour, with more blocks";
        findings.push(found.distorts_if(stolen > STEAL_MAX, mend));
    }
    findings
}

/// PSI: the share of time in which somebody waited for a CPU.
fn pressure(tree: &Tree) -> Option<Finding> {
    let text = tree.text("/proc/pressure/cpu")?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let share: f64 =
        some.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
    let why = "Programs that are ready to run and have no CPU wait for each other.";
    let found =
        Finding::new("cpu_pressure", "waiting for a CPU", format!("{share:.1} % of the last 10 s"), why);
    Some(found.distorts_if(share > OTHERS_MAX * 100.0, "end other programs, or wait for their end"))
}

pub(super) fn memory(tree: &Tree) -> Option<Finding> {
    let text = tree.text("/proc/meminfo")?;
    let bytes = |name: &str| memory_field(&text, name);
    let available = bytes("MemAvailable")?;
    let swapped = bytes("SwapTotal").unwrap_or(0).saturating_sub(bytes("SwapFree").unwrap_or(0));
    let why = "Where memory is short, pages of servers go to disk or the kernel ends one of them.";
    let value = format!("{} MB available, {} MB in swap", available >> 20, swapped >> 20);
    let found = Finding::new("memory", "memory", value, why);
    let mend = "swapoff -a && swapon -a, once nothing needs it".to_owned();
    let noted = found.note_if(swapped > MEMORY_MIN_BYTES, Some(mend));
    Some(noted.distorts_if(available < MEMORY_MIN_BYTES, "end other programs"))
}
