//! What Prony's own process costs while a load runs, sampled with the load's snapshots. The samples are counters since
//! the machine's start: a long load keeps them further apart instead of more of them. What cannot be read is 0.

use std::fs;

use prony_model::client::ClientColumns;

use rustix::time::ClockId;

use crate::cores::{CORES_MAX, busy_ns};
use crate::process::{scheduled, workers};
use crate::{clock_ns, cpus, monotonic_ns, page_bytes};

/// Samples kept: more than a plot of 240 points shows, and 10 KB of a run log, 2 KB more for each CPU.
const SAMPLES_MAX: usize = 300;
/// Between two samples at first; a snapshot that comes a little early is as good as one in time.
const APART_NS: u64 = 90_000_000;
const WORKERS_MAX: usize = 16;

#[derive(Debug)]
pub struct ClientWatch {
    cores: Vec<u32>,
    page_bytes: u64,
    workers: Vec<u32>,
    samples: Vec<Sample>,
    apart_ns: u64,
    /// The most memory since the last sample that was kept.
    rss_bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sample {
    at_ns: u64,
    process_ns: u64,
    workers_ns: Vec<u64>,
    rss_bytes: u64,
    busy_ns: Vec<u64>,
}

impl ClientWatch {
    /// Watches this process, and these CPUs where nobody else does (empty: none).
    pub fn on(cores: &[u32]) -> ClientWatch {
        ClientWatch {
            cores: cores.iter().copied().take(CORES_MAX).collect(),
            page_bytes: page_bytes(),
            workers: Vec::new(),
            samples: Vec::new(),
            apart_ns: APART_NS,
            rss_bytes: 0,
        }
    }

    /// Watches this process, and of these CPUs (empty: all that it may use) what they do.
    pub fn with_cores(cores: &[u32]) -> ClientWatch {
        if cores.is_empty() { ClientWatch::on(&cpus::allowed()) } else { ClientWatch::on(cores) }
    }

    pub fn look(&mut self) {
        let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
        self.rss_bytes = self.rss_bytes.max(resident_pages(&statm) * self.page_bytes);
        let at_ns = monotonic_ns();
        let due = self.samples.last().is_none_or(|last| at_ns >= last.at_ns + self.apart_ns);
        if !due {
            return;
        }
        if self.workers.is_empty() {
            self.workers = workers().take(WORKERS_MAX).collect();
            self.workers.sort_unstable();
        }
        // A thread that has ended cannot be asked any more: what it had used stands.
        let before = self.samples.last().map(|last| last.workers_ns.clone()).unwrap_or_default();
        let workers_ns = self.workers.iter().enumerate().map(|(i, thread)| {
            let known = before.get(i).copied().unwrap_or(0);
            scheduled("self", *thread).map_or(known, |counted| counted.ran_ns.max(known))
        });
        let workers_ns = workers_ns.collect();
        let busy_ns = if self.cores.is_empty() {
            Vec::new()
        } else {
            busy_ns(&fs::read_to_string("/proc/stat").unwrap_or_default(), &self.cores)
        };
        let rss_bytes = std::mem::take(&mut self.rss_bytes);
        let process_ns = clock_ns(ClockId::ProcessCPUTime);
        self.keep(Sample { at_ns, process_ns, workers_ns, rss_bytes, busy_ns });
    }

    fn keep(&mut self, sample: Sample) {
        if self.samples.len() >= SAMPLES_MAX {
            self.thin();
        }
        self.samples.push(sample);
    }

    /// Half as many samples, twice as far apart. The first stays: all counters are since it.
    fn thin(&mut self) {
        let mut samples = std::mem::take(&mut self.samples).into_iter();
        self.samples.extend(samples.next());
        while let Some(dropped) = samples.next() {
            let Some(kept) = samples.next() else {
                // Without a successor it would be lost with the memory it saw.
                self.samples.push(dropped);
                break;
            };
            let rss_bytes = kept.rss_bytes.max(dropped.rss_bytes);
            self.samples.push(Sample { rss_bytes, ..kept });
        }
        self.apart_ns = self.apart_ns.saturating_mul(2);
    }

    /// The samples by column, instants from the window's start (`CLOCK_MONOTONIC`); `None` below two.
    pub fn finish(self, window_start_ns: u64) -> Option<ClientColumns> {
        let first = self.samples.first().filter(|_| self.samples.len() > 1)?;
        let from_start =
            |at: u64| i64::try_from(i128::from(at) - i128::from(window_start_ns)).unwrap_or(i64::MAX);
        // A worker that was found late has used nothing before.
        let since = |of: fn(&Sample) -> &Vec<u64>, column: usize| {
            let value = |sample: &Sample| of(sample).get(column).copied();
            let began = self.samples.iter().find_map(value).unwrap_or(0);
            self.samples.iter().map(|s| value(s).map_or(0, |v| v.saturating_sub(began))).collect::<Vec<u64>>()
        };
        Some(ClientColumns {
            at_ns: self.samples.iter().map(|s| from_start(s.at_ns)).collect(),
            process_cpu_ns: self
                .samples
                .iter()
                .map(|s| s.process_ns.saturating_sub(first.process_ns))
                .collect(),
            worker_cpu_ns: (0..self.workers.len()).map(|w| since(|s| &s.workers_ns, w)).collect(),
            rss_bytes: self.samples.iter().map(|s| s.rss_bytes).collect(),
            core_busy_ns: (0..self.cores.len()).map(|c| since(|s| &s.busy_ns, c)).collect(),
            cores: self.cores,
        })
    }
}

/// proc(5), /proc/PID/statm: the second number is the pages that are in memory.
fn resident_pages(statm: &str) -> u64 {
    statm.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::WORKER;
    use crate::testing::{Busy, wait_until};

    fn sample(at: u64) -> Sample {
        Sample {
            at_ns: at * 1000,
            process_ns: 7_000 + at * 500,
            workers_ns: vec![at * 400],
            rss_bytes: if at == 777 { 99 } else { 1 },
            busy_ns: vec![50 + at * 900],
        }
    }

    fn watch(samples: u64) -> ClientWatch {
        let mut watch = ClientWatch { workers: vec![1], ..ClientWatch::on(&[3]) };
        (0..samples).for_each(|at| watch.keep(sample(at)));
        watch
    }

    #[test]
    fn a_long_load_keeps_its_whole_work_and_its_highest_memory() {
        let columns = watch(100_000).finish(5_000).unwrap();
        let n = columns.at_ns.len();
        assert!(n <= SAMPLES_MAX && n > SAMPLES_MAX / 2, "{n}");
        assert_eq!((columns.at_ns[0], columns.process_cpu_ns[0]), (-5_000, 0));
        assert!(columns.at_ns.is_sorted() && columns.rss_bytes.contains(&99));
        // Every span's work over its length is what it was.
        for (i, at) in columns.at_ns.iter().enumerate() {
            let since = u64::try_from(at + 5_000).unwrap();
            assert_eq!(columns.process_cpu_ns[i], since / 2);
            assert_eq!(columns.worker_cpu_ns[0][i], since * 2 / 5);
            assert_eq!(columns.core_busy_ns[0][i], since * 9 / 10);
        }
        assert_eq!(columns.cores, [3]);
    }

    #[test]
    fn one_sample_of_the_client_gives_no_columns() {
        assert_eq!(watch(0).finish(0), None);
        assert_eq!(watch(1).finish(0), None);
        assert!(watch(2).finish(0).is_some());
    }

    #[test]
    fn resident_memory_is_the_second_number_of_statm() {
        assert_eq!(resident_pages("900 123 45 6 0 7 0\n"), 123);
        assert_eq!(resident_pages(""), 0);
    }

    #[test]
    fn cpu_time_of_a_busy_worker_is_in_the_columns() {
        let busy = Busy::named(&format!("{WORKER}test"), &[]);
        let found: Vec<u32> = workers().take(WORKERS_MAX).collect();
        // Other tests' workers come first where there are many.
        assert!(found.contains(&busy.id) || found.len() == WORKERS_MAX, "{found:?}");
        let mut watch = ClientWatch { workers: vec![busy.id], ..ClientWatch::with_cores(&[]) };
        let began = monotonic_ns();
        wait_until("a millisecond's work in all columns", || {
            watch.look();
            let (first, last) = (&watch.samples[0], watch.samples.last().unwrap());
            last.workers_ns[0] > first.workers_ns[0] + 1_000_000
                && last.process_ns > first.process_ns + 1_000_000
                && last.busy_ns.iter().zip(&first.busy_ns).any(|(last, first)| last > first)
        });
        drop(busy);
        let columns = watch.finish(began).unwrap();
        let last = columns.at_ns.len() - 1;
        assert!(columns.worker_cpu_ns[0][last] > 1_000_000, "{columns:?}");
        assert!(columns.process_cpu_ns[last] > 1_000_000, "{columns:?}");
        assert!(columns.rss_bytes[last] > 100_000 && columns.at_ns[0] >= 0, "{columns:?}");
        assert_eq!(columns.core_busy_ns.len(), columns.cores.len());
        assert!(columns.core_busy_ns.iter().any(|core| core[last] > 0), "somebody's CPU was busy");
    }
}
