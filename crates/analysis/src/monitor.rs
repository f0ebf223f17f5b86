//! What machines did over a trial's time, as plots show it.

use prony_model::monitor::{self, Monitor, Ticks};
use prony_model::run_log::TrialResult;
use prony_model::trial::Trial;
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::{real, rounded};
use crate::usage::thousandths;

/// Points of a series: what 900 pixels can show as lines of their own.
const POINTS_MAX: usize = 240;
/// Points of all CPUs that have a series of their own by class: some 30 KB of a page before it is packed.
const CELLS_MAX: usize = 1_200;

/// A machine over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct MonitorSeries {
    /// `client` or `server`; empty where it is the only one.
    pub machine: &'static str,
    /// The end of each span, from the window's start; the warm-up is negative.
    pub at_ns: Vec<i64>,
    /// All CPUs together, then each, as many as there is room for.
    pub cpus: Vec<CpuShares>,
    /// Memory at each span's end; empty where it could not be read.
    pub used_bytes: Vec<u64>,
    /// The kernel's buffers of block devices.
    pub buffers_bytes: Vec<u64>,
    /// Pages of files and reclaimable caches of the kernel.
    pub cached_bytes: Vec<u64>,
    /// Unused.
    pub free_bytes: Vec<u64>,
    /// Bytes per second that all interfaces but `lo` received; empty where it could not be read.
    pub received_per_s: Vec<u64>,
    /// Bytes per second that they sent.
    pub sent_per_s: Vec<u64>,
    /// Bytes per second that passed over `lo`.
    pub loopback_per_s: Vec<u64>,
}

/// What a CPU did, as shares of each span, 0 to 1, which add up to 1. An empty column is all zeros.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CpuShares {
    /// Its number; none: all of the machine together.
    pub cpu: Option<u32>,
    /// Programs.
    pub user: Vec<f64>,
    /// The kernel for them.
    pub system: Vec<f64>,
    /// Nothing.
    pub idle: Vec<f64>,
    /// Nothing, while something waited for a disk.
    pub iowait: Vec<f64>,
    /// Interrupts.
    pub irq: Vec<f64>,
    /// What follows from them.
    pub softirq: Vec<f64>,
    /// The hypervisor ran others.
    pub steal: Vec<f64>,
}

/// The machines of a trial, the server's first; none in logs from before there was a monitor.
pub(crate) fn machines(result: &TrialResult, trial: &Trial) -> Vec<MonitorSeries> {
    let server = result.server.as_ref().or(trial.server.as_ref());
    monitor::of_trial(trial, server).map(|(machine, seen)| series(machine, seen)).collect()
}

/// Spans of a machine, some of them together: the first one, and the one after the last.
fn groups(seen: &Monitor) -> Vec<(usize, usize)> {
    let (spans, together) = (seen.at_ms.len(), seen.at_ms.len().div_ceil(POINTS_MAX).max(1));
    (0..spans).step_by(together).map(|from| (from, (from + together).min(spans))).collect()
}

fn series(machine: &'static str, seen: &Monitor) -> MonitorSeries {
    let groups = groups(seen);
    let lines = (CELLS_MAX / groups.len().max(1)).max(1);
    let together = shares(None, groups.iter().map(|(from, to)| seen.together(*from, *to)));
    let each = seen.cpus.iter().filter(|cpu| cpu.cpu.is_some()).take(lines - 1);
    let each = each.map(|cpu| shares(cpu.cpu, groups.iter().map(|(from, to)| cpu.ticks(*from, *to))));
    let memory: Vec<[u64; 4]> = groups.iter().filter_map(|(_, to)| seen.memory(to - 1)).collect();
    let per_s = |(from, to): &(usize, usize)| {
        let length_s = real(seen.length_ms(*from, *to)) / 1e3;
        Some(seen.network(*from, *to)?.map(|bytes| rounded(real(bytes) / length_s)))
    };
    let network: Vec<[u64; 3]> = groups.iter().filter_map(per_s).collect();
    MonitorSeries {
        machine,
        at_ns: groups.iter().map(|(_, to)| seen.start_ms(*to).saturating_mul(1_000_000)).collect(),
        cpus: [together].into_iter().chain(each).collect(),
        used_bytes: memory.iter().map(|m| m[0]).collect(),
        buffers_bytes: memory.iter().map(|m| m[1]).collect(),
        cached_bytes: memory.iter().map(|m| m[2]).collect(),
        free_bytes: memory.iter().map(|m| m[3]).collect(),
        received_per_s: network.iter().map(|n| n[0]).collect(),
        sent_per_s: network.iter().map(|n| n[1]).collect(),
        loopback_per_s: network.iter().map(|n| n[2]).collect(),
    }
}

fn shares(cpu: Option<u32>, spans: impl Iterator<Item = Ticks>) -> CpuShares {
    let mut columns: [Vec<f64>; 7] = Default::default();
    for ticks in spans {
        let all = real(ticks.iter().sum::<u64>().max(1));
        columns.iter_mut().zip(ticks).for_each(|(c, n)| c.push(thousandths(real(n) / all)));
    }
    let [user, system, idle, iowait, irq, softirq, steal] =
        columns.map(|column| if column.iter().all(|share| *share == 0.0) { Vec::new() } else { column });
    CpuShares { cpu, user, system, idle, iowait, irq, softirq, steal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::monitor;

    #[test]
    fn shares_of_a_span_add_up_to_it() {
        let seen = series("", &monitor(-2, 10, 4));
        assert_eq!((seen.at_ns.len(), seen.at_ns[0], seen.cpus.len()), (12, -1_000_000_000, 5));
        for cpu in &seen.cpus {
            let at = |column: &Vec<f64>| column.first().copied().unwrap_or(0.0);
            let classes =
                [&cpu.user, &cpu.system, &cpu.idle, &cpu.iowait, &cpu.irq, &cpu.softirq, &cpu.steal];
            assert!((classes.map(at).iter().sum::<f64>() - 1.0).abs() < 0.004, "{cpu:?}");
            assert!(cpu.iowait.is_empty());
        }
        assert_eq!((seen.cpus[0].cpu, seen.cpus[2].cpu), (None, Some(1)));
        assert_eq!(
            (seen.received_per_s[0], seen.loopback_per_s[0], seen.used_bytes.len()),
            (1_000, 5_000, 12)
        );
    }

    #[test]
    fn long_loads_and_many_cpus_have_few_points() {
        let seen = series("server", &monitor(0, 3_600, 4));
        assert_eq!((seen.at_ns.len(), seen.cpus.len(), seen.received_per_s[7]), (240, 5, 1_000));
        let seen = series("server", &monitor(0, 300, 200));
        assert!(seen.at_ns.len() * seen.cpus.len() <= CELLS_MAX && seen.cpus.len() > 1);
        assert_eq!(series("", &Monitor::default()).at_ns.len(), 0);
    }
}
