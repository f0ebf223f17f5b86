//! What this machine does second by second: /proc/stat, meminfo and net/dev, read by whoever looks often enough. One
//! reading takes 0.05 ms of a core on two CPUs: a load pays 0.005 % of one for it.

use std::fs;

use prony_model::monitor::{CPUS_MAX, CpuColumns, Monitor, SPANS_MAX, Ticks};

use crate::cpu_ticks::{self, CpuTicks};
use crate::facts::memory_field;
use crate::monotonic_ns;

const APART_NS: u64 = 1_000_000_000;
/// A last span that is shorter is left out: of so few ticks nothing is told. That of a load in which it is the only one is
/// kept from two milliseconds on, in which instants are stated.
const LAST_NS: u64 = 100_000_000;
const ONLY_NS: u64 = 2_000_000;
/// Readings times CPUs: 4 MB of memory, and some 500 KB of a run log.
const ROWS_MAX: usize = 1 << 16;

/// To be looked with ten times a second; most looks read the clock alone.
#[derive(Debug)]
pub struct MonitorWatch {
    /// Those of the first reading, whose columns all others have.
    cpus: Vec<u32>,
    readings: Vec<Reading>,
    apart_ns: u64,
    due_ns: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Reading {
    at_ns: u64,
    ticks: Vec<Ticks>,
    /// Used, buffers, cached, free.
    memory: Option<[u64; 4]>,
    /// Received, sent, over `lo`; since the interfaces' start.
    network: Option<[u64; 3]>,
}

impl Default for MonitorWatch {
    fn default() -> MonitorWatch {
        MonitorWatch { cpus: Vec::new(), readings: Vec::new(), apart_ns: APART_NS, due_ns: 0 }
    }
}

impl MonitorWatch {
    pub fn look(&mut self) {
        let at_ns = monotonic_ns();
        if at_ns >= self.due_ns {
            self.read(at_ns);
        }
    }

    /// The last look, at a load's end.
    pub fn end(&mut self) {
        let at_ns = monotonic_ns();
        let least_ns = if self.readings.len() > 1 { LAST_NS } else { ONLY_NS };
        if self.readings.last().is_none_or(|last| at_ns >= last.at_ns + least_ns) {
            self.read(at_ns);
        }
    }

    fn read(&mut self, at_ns: u64) {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        self.keep(at_ns, &text("/proc/stat"), &text("/proc/meminfo"), &text("/proc/net/dev"));
    }

    fn keep(&mut self, at_ns: u64, stat: &str, meminfo: &str, dev: &str) {
        let cpus = cpu_ticks::cpus(stat);
        if self.readings.is_empty() {
            self.cpus = cpus.keys().copied().collect();
        }
        let last = self.readings.last();
        // A CPU that was taken away keeps what it had done.
        let known = |(i, cpu): (usize, &u32)| {
            cpus.get(cpu).map(CpuTicks::by_class).or_else(|| Some(last?.ticks[i])).unwrap_or_default()
        };
        let ticks: Vec<Ticks> = if self.cpus.len() > CPUS_MAX {
            vec![sum(cpus.values().map(CpuTicks::by_class))]
        } else {
            self.cpus.iter().enumerate().map(known).collect()
        };
        let lines = ticks.len().max(1);
        self.readings.push(Reading { at_ns, ticks, memory: memory(meminfo), network: network(dev) });
        // Absolute instants, so that a late look does not shift those after it.
        let due_ns = self.due_ns + self.apart_ns;
        self.due_ns = if due_ns > at_ns { due_ns } else { at_ns + self.apart_ns };
        if self.readings.len() > (ROWS_MAX / lines).min(SPANS_MAX) {
            let mut index = 0..;
            self.readings.retain(|_| index.next().is_some_and(|i| i % 2 == 0));
            self.apart_ns *= 2;
            self.due_ns = self.readings.last().map_or(0, |last| last.at_ns + self.apart_ns);
        }
    }

    /// The spans, instants from the window's start (`CLOCK_MONOTONIC`); `None` without one.
    pub fn columns(&self, window_start_ns: u64) -> Option<Monitor> {
        let from_start = |reading: &Reading| {
            let ns = i128::from(reading.at_ns) - i128::from(window_start_ns);
            i64::try_from(ns.div_euclid(1_000_000)).unwrap_or(i64::MAX)
        };
        let first = self.readings.first()?;
        let ends = self.readings.get(1..).filter(|ends| !ends.is_empty())?;
        let spans = || self.readings.iter().zip(ends);
        let cpu = |i: usize| {
            let number = if self.cpus.len() > CPUS_MAX { None } else { self.cpus.get(i).copied() };
            let grown = |(before, after): (&Reading, &Reading)| grown(before.ticks[i], after.ticks[i]);
            CpuColumns::of(number, spans().map(grown))
        };
        let memory: Vec<[u64; 4]> = ends.iter().filter_map(|end| end.memory).collect();
        let network = spans().filter_map(|(before, after)| Some(grown(before.network?, after.network?)));
        let network: Vec<[u64; 3]> = network.collect();
        Some(Monitor {
            from_ms: from_start(first),
            at_ms: ends.iter().map(from_start).collect(),
            cpus: (0..first.ticks.len()).map(cpu).collect(),
            memory_used_bytes: column(&memory, 0, ends.len()),
            memory_buffers_bytes: column(&memory, 1, ends.len()),
            memory_cached_bytes: column(&memory, 2, ends.len()),
            memory_free_bytes: column(&memory, 3, ends.len()),
            received_bytes: column(&network, 0, ends.len()),
            sent_bytes: column(&network, 1, ends.len()),
            loopback_bytes: column(&network, 2, ends.len()),
        })
    }
}

fn sum<const N: usize>(all: impl Iterator<Item = [u64; N]>) -> [u64; N] {
    all.fold([0; N], |sum, one| std::array::from_fn(|i| sum[i].saturating_add(one[i])))
}

/// The kernel's counts of idle time and iowait may run back a little (proc(5)).
fn grown<const N: usize>(before: [u64; N], after: [u64; N]) -> [u64; N] {
    std::array::from_fn(|i| after[i].saturating_sub(before[i]))
}

/// Empty where not every span has it.
fn column<const N: usize>(rows: &[[u64; N]], of: usize, spans: usize) -> Vec<u64> {
    if rows.len() == spans { rows.iter().map(|row| row[of]).collect() } else { Vec::new() }
}

/// Used, buffers, cached and free, of which the sum is all memory (as procps' `free -w` counts, but for shared memory,
/// which the kernel has among what is cached).
fn memory(meminfo: &str) -> Option<[u64; 4]> {
    let field = |name: &str| memory_field(meminfo, name);
    let (total, buffers, free) = (field("MemTotal")?, field("Buffers")?, field("MemFree")?);
    let cached = field("Cached")?.saturating_add(field("SReclaimable").unwrap_or(0));
    let others = buffers.saturating_add(cached).saturating_add(free);
    Some([total.saturating_sub(others), buffers, cached, free])
}

/// Bytes received and sent by all interfaces but `lo`, and received by `lo`; `None` where there is no interface.
fn network(dev: &str) -> Option<[u64; 3]> {
    let interface = |line: &str| {
        let (name, counters) = line.split_once(':')?;
        let mut counters = counters.split_ascii_whitespace().map(|n| n.parse::<u64>().ok());
        // Bytes received stand first, bytes sent ninth.
        let (received, sent) = (counters.next()??, counters.nth(7)??);
        Some(if name.trim() == "lo" { [0, 0, received] } else { [received, sent, 0] })
    };
    let mut interfaces = dev.lines().filter_map(interface).peekable();
    interfaces.peek()?;
    Some(sum(interfaces))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = APART_NS;
    const MEMINFO: &str =
        "MemTotal: 1000 kB\nMemFree: 200 kB\nBuffers: 50 kB\nCached: 300 kB\nSReclaimable: 100 kB\n";
    const DEV: &str = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n  \
        eth0:500 4 0 0 0 0 0 0 70 6 0 0 0 0 0 0\n eth1: 1 4 0 0 0 0 0 0 2 6 0 0 0 0 0 0\n";

    fn stat(user: u64, idle: u64, steal: u64) -> String {
        let line = format!("{user} 1 {user} {idle} 0 0 0 {steal} 9 9");
        format!("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 {line}\ncpu3 {line}\nintr 1\n")
    }

    fn watch(seconds: u64) -> MonitorWatch {
        let mut watch = MonitorWatch::default();
        (0..seconds).for_each(|s| watch.keep(s * S, &stat(30 * s, 39 * s, s), MEMINFO, DEV));
        watch
    }

    #[test]
    fn memory_is_used_buffers_cached_and_free() {
        assert_eq!(memory(MEMINFO), Some([350, 50, 400, 200].map(|kb| kb * 1024)));
        assert_eq!(
            memory("MemTotal: 1000 kB\nMemFree: 2000 kB\nBuffers: 1 kB\nCached: 1 kB\n").unwrap()[0],
            0
        );
        for text in ["", "MemTotal: 1000\n", "MemTotal: x kB\nMemFree: 1 kB\nBuffers: 1 kB\nCached: 1 kB\n"] {
            assert_eq!(memory(text), None, "{text}");
        }
    }

    #[test]
    fn loopback_traffic_is_apart_from_that_of_all_other_interfaces() {
        assert_eq!(network(DEV), Some([501, 72, 900]));
        assert_eq!(network("Inter-| Receive\n face |bytes\n"), None);
        assert_eq!(network("eth0: 1 2 3\neth1: a b c d e f g h i j\n"), None);
        let most = format!("a: {0} {0} {0} {0} {0} {0} {0} {0} {0}\nb: 1 1 1 1 1 1 1 1 1\n", u64::MAX);
        assert_eq!(network(&most), Some([u64::MAX, u64::MAX, 0]));
    }

    #[test]
    fn every_second_has_its_ticks_by_class() {
        let seen = watch(4).columns(S).unwrap();
        assert_eq!((seen.from_ms, seen.at_ms.as_slice()), (-1_000, &[0, 1_000, 2_000][..]));
        let numbers: Vec<Option<u32>> = seen.cpus.iter().map(|cpu| cpu.cpu).collect();
        assert_eq!(numbers, [Some(0), Some(3)]);
        // Of nice ticks there was one before.
        assert_eq!(seen.cpus[1].ticks(2, 3), [30, 30, 39, 0, 0, 0, 1]);
        assert_eq!(seen.together(0, 3).iter().sum::<u64>(), 2 * 3 * 100);
        assert_eq!((seen.memory_free_bytes[2], seen.sent_bytes[2]), (200 * 1024, 0));
        assert_eq!(seen.check(), Ok(()));
    }

    #[test]
    fn long_loads_keep_all_ticks_in_longer_spans() {
        let seen = watch(10_001).columns(0).unwrap();
        let spans = seen.at_ms.len();
        assert!(spans <= SPANS_MAX && spans > SPANS_MAX / 2, "{spans}");
        let until = u64::try_from(seen.at_ms[spans - 1]).unwrap();
        assert_eq!(seen.together(0, spans).iter().sum::<u64>(), 2 * until / 10);
        assert!(seen.check().is_ok() && until > 9_990_000, "{until}");
    }

    #[test]
    fn a_machine_of_many_cpus_has_one_line_of_all() {
        let stat =
            |ticks: u64| (0..300).map(|cpu| format!("cpu{cpu} {ticks} 0 0 0 0 0 0 0\n")).collect::<String>();
        let mut watch = MonitorWatch::default();
        (0..3).for_each(|s| watch.keep(s * S, &stat(100 * s), "", ""));
        let seen = watch.columns(0).unwrap();
        assert_eq!((seen.cpus.len(), seen.cpus[0].cpu, seen.cpus[0].ticks(1, 2)[0]), (1, None, 30_000));
        assert!(seen.memory_used_bytes.is_empty() && seen.received_bytes.is_empty());
        assert_eq!(seen.check(), Ok(()));
    }

    #[test]
    fn cpus_that_go_and_texts_that_fail_break_no_columns() {
        let mut watch = watch(2);
        watch.keep(2 * S, "cpu0 90 1 90 90 0 0 0 0\n", "", DEV);
        watch.keep(3 * S, "nonsense\ncpu3 1 2 x\n", MEMINFO, "");
        watch.keep(4 * S, "cpu0 0 0 0 0 0 0 0 0\ncpu9 1 1 1 1 1 1 1 1\n", MEMINFO, DEV);
        let seen = watch.columns(0).unwrap();
        assert_eq!(seen.check(), Ok(()));
        assert_eq!((seen.cpus.len(), seen.cpus[1].ticks(1, 4)), (2, [0; 7]));
        assert!(seen.memory_used_bytes.is_empty() && seen.received_bytes.is_empty());
        assert_eq!(MonitorWatch::default().columns(0), None);
        assert_eq!(self::watch(1).columns(0), None);
    }

    #[test]
    fn this_machine_is_read_once_and_not_again_within_a_second() {
        let mut watch = MonitorWatch::default();
        let begun_ns = monotonic_ns();
        (0..3).for_each(|_| watch.look());
        let within = monotonic_ns() < begun_ns + APART_NS;
        assert!(watch.readings.len() == 1 || !within, "{watch:?}");
        assert!(!watch.readings[0].ticks.is_empty() && watch.readings[0].memory.is_some(), "{watch:?}");
    }
}
