//! What a server's process tree costs, sampled ten times a second beside the load.
//!
//! CPU time is the cgroup's where one could be made, else the sum of `schedstat` over threads, of which those that came
//! and went between two samples are missed: the method is recorded. Memory is the sum of resident pages, which counts
//! pages that processes share in each of them; once a second it is also the sum of proportional shares, which counts
//! them once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) use prony_host::WholeHost;
use prony_host::process::{self, Identity, ProcessStat};
use prony_host::{Machine, cpus, memory_field};
use prony_model::server::ServerSamples;

use crate::launch::ContainerSpec;
use crate::programs::capture;

use process_tracker::ProcessTracker;

mod cgroup;
pub(crate) mod memory;
mod process_tracker;
mod service;
mod window;

pub(crate) use cgroup::{Cgroup, CgroupVersion};
pub use memory::can_limit;
pub use memory::parse_size;
pub(crate) use process_tracker::Changes;
pub(crate) use service::SampledService;

/// Between two samples. A reading costs about 20 µs and 10 µs a process, so
/// that twenty processes cost 0.2 % of one of the client's cores.
pub(crate) const PERIOD: Duration = Duration::from_millis(100);
/// Samples from one reading of proportional memory to the next: the kernel walks every page
/// table of the tree for it, about 1 ms for 100 MB.
const SAMPLES_PER_PSS: usize = 10;
/// How long a container engine may take to tell a container's pid.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Reading {
    pub(crate) at_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) rss_bytes: u64,
    pub(crate) processes: u32,
    pub(crate) threads: u32,
}

#[derive(Debug, Clone)]
pub(crate) enum Processes {
    /// Everything below this process: its guard, or its container's monitor.
    Below(u32),
    Of(Vec<Identity>),
}

#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) processes: Processes,
    pub(crate) cgroup: Option<Cgroup>,
}

impl Watched {
    fn processes(&self) -> Vec<ProcessStat> {
        match &self.cgroup {
            Some(cgroup) => cgroup.pids().into_iter().filter_map(process::stat).collect(),
            None => match &self.processes {
                Processes::Below(pid) => process::descendants(*pid),
                Processes::Of(roots) => process::trees(roots),
            },
        }
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.processes().iter().filter(|process| !process.is_zombie).map(|process| process.pid).collect()
    }

    /// A container's processes alone, without those of its engine; `None` when the engine does not tell.
    pub(crate) fn of_container(container: &ContainerSpec) -> Option<Watched> {
        let said =
            capture(&container.inspect(), Path::new("/"), &[], INSPECT_TIMEOUT).filter(|s| s.success)?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let (id, pid) = text.trim().split_once(' ')?;
        let pid: u32 = pid.parse().ok().filter(|pid| *pid != 0)?;
        let first = process::stat(pid)?;
        // Only a cgroup of the container's own; without one, everything below its engine's monitor.
        let cgroup =
            Cgroup::of_process(pid).filter(|c| id.len() >= 12 && c.path.to_string_lossy().contains(id));
        Some(Watched { processes: Processes::Below(first.parent), cgroup })
    }
}

#[derive(Debug)]
pub(crate) struct Sampler {
    finish: Sender<()>,
    thread: JoinHandle<Samples>,
}

#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) cpu_method: &'static str,
    /// In the order of time, the first before the load and the last after it.
    readings: Vec<Reading>,
    tracker: ProcessTracker,
    machine: Machine,
    /// Proportional memory: the instant, and bytes over the tree. Empty where it may not be read.
    pss: Vec<(u64, u64)>,
    host: WholeHost,
}

impl Sampler {
    /// Starts sampling, on the CPUs given (the client's, so that no reading is
    /// charged to the server; empty: any), of the tree, of these cores and of the whole host. Returns when the first
    /// reading is taken: who is in it was there before whatever follows.
    pub(crate) fn start(
        watched: Watched,
        cpus: &[u32],
        cores: &[u32],
        host: WholeHost,
    ) -> std::io::Result<Sampler> {
        let cpu_method = watched.cgroup.as_ref().map_or("schedstat", Cgroup::method);
        let (finish, finished) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let (client_cpus, machine) = (cpus.to_vec(), Machine::of(cores));
        let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            let _ = cpus::set_affinity(0, &client_cpus); // refused only for CPUs that are gone
            let mut meter = Meter::new(watched);
            let mut samples = Samples { cpu_method, machine, host, ..Samples::default() };
            meter.take(&mut samples);
            let _ = begun.send(());
            // Absolute instants: a late reading does not shift those after it.
            let mut due = Instant::now() + PERIOD;
            loop {
                let told = finished.recv_timeout(due.saturating_duration_since(Instant::now()));
                meter.take(&mut samples);
                if told != Err(RecvTimeoutError::Timeout) {
                    samples.host.end();
                    return samples;
                }
                due = next_due(due, Instant::now());
            }
        })?;
        let _ = begins.recv();
        Ok(Sampler { finish, thread })
    }

    pub(crate) fn finish(self) -> Samples {
        let _ = self.finish.send(());
        self.thread.join().unwrap_or_default()
    }
}

impl Samples {
    /// The figures of a window, given in CLOCK_MONOTONIC; `None` without readings.
    pub(crate) fn window(
        &self,
        window_start_ns: u64,
        window_end_ns: u64,
        startup: Duration,
        cpus: &[u32],
    ) -> Option<ServerSamples> {
        let figures = window::figures(&self.readings, window_start_ns, window_end_ns)?;
        Some(ServerSamples {
            cpu_method: self.cpu_method.to_owned(),
            memory_method: "rss".to_owned(),
            cpus: cpus.to_vec(),
            startup_ns: u64::try_from(startup.as_nanos()).unwrap_or(u64::MAX),
            window_cpu_ns: figures.cpu_ns,
            peak_memory_bytes: figures.peak_rss_bytes,
            processes: figures.processes,
            threads: figures.threads,
            columns: window::columns(self, window_start_ns),
            peak_pss_bytes: window::peak_pss(&self.pss, window_start_ns, window_end_ns),
            host: self.host.window(window_start_ns, window_end_ns),
            services: Vec::new(),
        })
    }

    /// What became of the tree's processes from the first sample to an instant, CLOCK_MONOTONIC.
    pub(crate) fn changes(&self, until_ns: u64) -> Changes {
        let instants: Vec<u64> = self.readings.iter().map(|r| r.at_ns).collect();
        self.tracker.changes(&instants, until_ns)
    }
}

/// The first instant after now, of those a period apart.
fn next_due(mut due: Instant, now: Instant) -> Instant {
    while due <= now {
        due += PERIOD;
    }
    due
}

struct Meter {
    watched: Watched,
    page_bytes: u64,
    /// CPU time last seen, by process and thread; kept when they end.
    seen_ns: HashMap<(u32, u32), u64>,
    /// CPU time of threads whose number was reused by another.
    replaced_ns: u64,
    last_cpu_ns: u64,
}

/// What a server is while nobody loads it: its processes, and their memory by proportional shares, or resident where these
/// may not be read.
pub(crate) fn at_rest(watched: Watched) -> (u32, u64) {
    let mut meter = Meter::new(watched);
    let processes = meter.watched.processes();
    let reading = meter.reading(&processes);
    (reading.processes, pss_bytes(&processes).unwrap_or(reading.rss_bytes))
}

impl Meter {
    fn new(watched: Watched) -> Meter {
        Meter {
            watched,
            page_bytes: prony_host::page_bytes(),
            seen_ns: HashMap::new(),
            replaced_ns: 0,
            last_cpu_ns: 0,
        }
    }

    fn take(&mut self, samples: &mut Samples) {
        let processes = self.watched.processes();
        let reading = self.reading(&processes);
        samples.tracker.see(reading.at_ns, &processes);
        samples.machine.read();
        samples.host.read();
        if samples.readings.len().is_multiple_of(SAMPLES_PER_PSS)
            && let Some(bytes) = pss_bytes(&processes)
        {
            samples.pss.push((reading.at_ns, bytes));
        }
        samples.readings.push(reading);
    }

    #[cfg(test)]
    fn read(&mut self) -> Reading {
        let processes = self.watched.processes();
        self.reading(&processes)
    }

    fn reading(&mut self, processes: &[ProcessStat]) -> Reading {
        // The instant belongs to the CPU figure, the one that is divided by time.
        let at_ns = prony_host::monotonic_ns();
        let cpu_ns = match &self.watched.cgroup {
            Some(cgroup) => cgroup.cpu_ns().unwrap_or(self.last_cpu_ns),
            None => self.schedstat_ns(processes),
        };
        self.last_cpu_ns = cpu_ns.max(self.last_cpu_ns);
        let living = || processes.iter().filter(|p| !p.is_zombie);
        Reading {
            at_ns,
            cpu_ns: self.last_cpu_ns,
            rss_bytes: living().map(|p| p.rss_pages * self.page_bytes).sum(),
            processes: u32::try_from(living().count()).unwrap_or(u32::MAX),
            threads: living().map(|p| p.threads).sum(),
        }
    }

    fn schedstat_ns(&mut self, processes: &[ProcessStat]) -> u64 {
        for process in processes {
            for thread in process::threads(process.pid) {
                if let Some(counted) = process::scheduled(process.pid, thread) {
                    self.see((process.pid, thread), counted.ran_ns);
                }
            }
        }
        self.seen_ns.values().sum::<u64>() + self.replaced_ns
    }

    fn see(&mut self, thread: (u32, u32), on_cpu_ns: u64) {
        let before = self.seen_ns.insert(thread, on_cpu_ns).unwrap_or(0);
        if on_cpu_ns < before {
            self.replaced_ns += before; // a clock that ran back is another thread's
        }
    }
}

/// The tree's proportional memory; `None` where one of its processes may not be looked into.
fn pss_bytes(processes: &[ProcessStat]) -> Option<u64> {
    let mut sum = 0;
    for process in processes.iter().filter(|p| !p.is_zombie) {
        match std::fs::read_to_string(format!("/proc/{}/smaps_rollup", process.pid)) {
            Ok(text) => sum += memory_field(&text, "Pss").unwrap_or(0),
            Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => return None,
            Err(_) => {} // it has just ended
        }
    }
    Some(sum)
}

#[cfg(test)]
pub(crate) mod tests;
