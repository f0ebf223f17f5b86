//! Servers under supervision: started through a guard, ready when they answer
//! rightly, and ended with every process they left.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use prony_host::process::{self, Identity, pid_namespace};
use prony_load::open_files_at_start;
use serde::{Deserialize, Serialize};

use crate::launch::{LaunchSpec, run_dir};
use crate::sample::{Cgroup, Processes, Watched, memory};
use crate::sys;

mod error;
mod guard;
mod journal;
pub(crate) mod listener;
mod port;
mod prepare;

pub(crate) use error::{StartError, StartErrorKind};
pub use guard::GUARD_ARGUMENT;
pub use guard::run_guard;
pub(crate) use journal::clean_up;
pub(crate) use port::free_port;
pub(crate) use prepare::{NotUp, prepare, run_folder};

use guard::{CONTAINER_TIMEOUT, GuardEvent, GuardOrder, KILL_TIMEOUT, STOP_LINE, STOP_TIMEOUT};
use journal::Entry;

/// Between two looks whether a server answers: short at first, since most start within 100 ms.
const READY_PERIOD_MIN: Duration = Duration::from_millis(1);
const READY_PERIOD_MAX: Duration = Duration::from_millis(20);
/// How often somebody else must be seen on a server's port.
const STRANGER_LOOKS: u32 = 3;
const GUARD_END: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Supervision {
    /// The program that becomes the guard: `/proc/self/exe`.
    pub(crate) guard_exe: PathBuf,
    /// CPUs of the guard: the client's; empty: any.
    pub(crate) guard_cpus: Vec<u32>,
    /// Where the journal is: a folder that nobody else may write to, `prony_host::state`.
    pub(crate) root: PathBuf,
    pub(crate) stop_timeout: Duration,
    pub(crate) cgroup: bool,
    /// A server's processes' memory together, swap included; a container's engine sees to its own.
    pub(crate) memory_bytes: Option<u64>,
}

impl Supervision {
    pub fn new(root: &Path, guard_cpus: &[u32], memory_bytes: Option<u64>) -> Supervision {
        Supervision {
            guard_exe: PathBuf::from("/proc/self/exe"),
            guard_cpus: guard_cpus.to_vec(),
            root: root.to_owned(),
            stop_timeout: STOP_TIMEOUT,
            cgroup: true,
            memory_bytes,
        }
    }
}

#[derive(Debug)]
pub struct Running {
    pub(crate) commands: Vec<Vec<String>>,
    guard: Child,
    orders: Option<ChildStdin>,
    events: Receiver<GuardEvent>,
    entry: Entry,
    root: PathBuf,
    patience: Duration,
    first_started_ns: Option<u64>,
    ended: Option<(usize, String)>,
    failed: Option<String>,
    guard_lost: bool,
    stopped: Option<StopReport>,
    startup: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Death {
    /// A part of a sentence: `was ended by signal 9`.
    pub(crate) how: String,
    pub(crate) log_tail: Vec<String>,
}

impl Death {
    pub(crate) fn said(&self, candidate: &str) -> String {
        self.said_beside(candidate, "it")
    }

    pub(crate) fn said_beside(&self, who: &str, loaded: &str) -> String {
        format!("{who} {} while {loaded} was loaded.{}", self.how, error::wrote(&self.log_tail))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct StopReport {
    pub(crate) killed: bool,
    /// Processes that live on all the same, `1234 (nginx)`: none in any sound run.
    pub(crate) leftovers: Vec<String>,
}

impl Running {
    /// Starts a server and waits until `ready` says that it answers rightly.
    ///
    /// `ready` is asked every 1 to 20 ms, from when all processes are started;
    /// `cancelled` ends the wait. The run folder must exist; it is removed at the stop.
    pub fn start(
        spec: &LaunchSpec,
        supervision: &Supervision,
        ready: &mut dyn FnMut() -> bool,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Running, StartError> {
        let failed = |kind, log_tail| StartError { label: spec.label.clone(), kind, log_tail };
        let mut running = match Running::spawn(spec, supervision) {
            Ok(running) => running,
            Err(why) => {
                run_dir::remove(&spec.run_dir);
                return Err(failed(StartErrorKind::Guard(why), Vec::new()));
            }
        };
        match running.wait_until_ready(spec, ready, cancelled) {
            Ok(startup) => {
                running.startup = startup;
                Ok(running)
            }
            Err((process, kind)) => {
                // The words of the process concerned, or else of whichever has any.
                let others = (0..spec.processes.len()).rev();
                let mut tails =
                    [process].into_iter().chain(others).map(|i| error::log_tail(&spec.run_dir, i));
                let tail = tails.find(|tail| !tail.is_empty()).unwrap_or_default();
                running.stop();
                Err(failed(kind, tail))
            }
        }
    }

    fn spawn(spec: &LaunchSpec, supervision: &Supervision) -> io::Result<Running> {
        let owner =
            Identity::of(std::process::id()).ok_or_else(|| io::Error::other("/proc cannot be read"))?;
        let mut guard = Command::new(&supervision.guard_exe);
        guard.arg(GUARD_ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        sys::limit_open_files(&mut guard, open_files_at_start());
        let mut guard = guard.spawn()?;
        let (orders, told) = (guard.stdin.take(), guard.stdout.take());
        let identity = Identity::of(guard.id()).unwrap_or(Identity { pid: guard.id(), start_ticks: 0 });
        let events = told.map_or_else(|| Err(io::Error::other("no pipe")), read_events);
        let entry = Entry {
            guard: identity,
            owner,
            boot_id: prony_host::boot_id(),
            pid_namespace: pid_namespace(),
            label: spec.label.clone(),
            run_dir: spec.run_dir.clone(),
            cgroup: None,
            processes: Vec::new(),
            container: spec.container.clone(),
            memory_cgroup: None,
        };
        let mut running = Running {
            guard,
            orders,
            // A channel whose sender is gone stands for a guard that is gone.
            events: mpsc::channel().1,
            entry,
            root: supervision.root.clone(),
            patience: supervision.stop_timeout + KILL_TIMEOUT + CONTAINER_TIMEOUT + GUARD_END,
            commands: spec.processes.iter().map(|process| process.argv.clone()).collect(),
            first_started_ns: None,
            ended: None,
            failed: None,
            guard_lost: false,
            stopped: None,
            startup: Duration::ZERO,
        };
        // From here on an error drops `running`, which ends the guard.
        running.events = events?;
        // The journal first: nothing of ours ever runs that is not written down.
        journal::write(&running.root, &running.entry)?;
        let order = GuardOrder {
            spec: spec.clone(),
            guard_cpus: supervision.guard_cpus.clone(),
            stop_timeout: supervision.stop_timeout,
            cgroup: supervision.cgroup,
            memory_bytes: supervision.memory_bytes.filter(|_| spec.container.is_none()),
        };
        let mut line = serde_json::to_string(&order)?;
        line.push('\n');
        if let Some(orders) = &mut running.orders {
            orders.write_all(line.as_bytes())?;
        }
        Ok(running)
    }

    fn wait_until_ready(
        &mut self,
        spec: &LaunchSpec,
        ready: &mut dyn FnMut() -> bool,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Duration, (usize, StartErrorKind)> {
        let deadline = Instant::now() + spec.ready_timeout;
        let mut period = READY_PERIOD_MIN;
        loop {
            self.take_events(period);
            let started = self.entry.processes.len();
            let last = started.saturating_sub(1);
            if let Some(why) = self.failed.take() {
                return Err((last, StartErrorKind::NotStarted(why)));
            }
            if let Some((process, how)) = self.ended.clone() {
                return Err((process, StartErrorKind::Died(how)));
            }
            if self.guard_lost {
                return Err((last, StartErrorKind::GuardLost));
            }
            if let Some(since_ns) = self.first_started_ns.filter(|_| started == self.commands.len())
                && ready()
            {
                return Ok(Duration::from_nanos(prony_host::monotonic_ns().saturating_sub(since_ns)));
            }
            if cancelled() {
                return Err((last, StartErrorKind::Interrupted));
            }
            if Instant::now() >= deadline {
                let missing = spec.processes.get(last).and_then(|p| p.wait_for.clone());
                let kind = match missing.filter(|_| started < self.commands.len()) {
                    Some(path) => StartErrorKind::NoPath(path),
                    None => StartErrorKind::NotReady(spec.ready_timeout),
                };
                return Err((last, kind));
            }
            if started == self.commands.len() {
                period = (period * 5 / 4).min(READY_PERIOD_MAX);
            }
        }
    }

    /// Takes in what the guard told, waiting up to `patience` for a first event.
    fn take_events(&mut self, patience: Duration) {
        let mut next = self.events.recv_timeout(patience);
        loop {
            match next {
                Ok(event) => self.take_event(event),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    self.guard_lost = self.stopped.is_none();
                    return;
                }
            }
            next = self.events.recv_timeout(Duration::ZERO);
        }
    }

    fn take_event(&mut self, event: GuardEvent) {
        match event {
            GuardEvent::Watching { cgroup, memory } => {
                (self.entry.cgroup, self.entry.memory_cgroup) = (cgroup, memory);
                self.write_down();
            }
            GuardEvent::Started { pid, start_ticks, at_ns, .. } => {
                self.first_started_ns.get_or_insert(at_ns);
                self.entry.processes.push(Identity { pid, start_ticks });
                self.write_down();
            }
            GuardEvent::Failed { why } => self.failed = Some(why),
            // A process that has left its work to children of its own is a daemon, and well.
            GuardEvent::Exited { code: Some(0), detached: true, .. } => {}
            GuardEvent::Exited { process, code, signal, .. } => {
                let how = match (code, signal) {
                    (Some(code), _) => format!("ended with exit code {code}"),
                    (None, Some(signal)) => format!("was ended by signal {signal}"),
                    (None, None) => "ended".to_owned(),
                };
                self.ended.get_or_insert((process, how));
            }
            GuardEvent::Stopped(report) => self.stopped = Some(report),
        }
    }

    fn write_down(&self) {
        // The first writing succeeded; one that fails later (no space) leaves it
        // valid, and the guard itself still ends everything.
        let _ = journal::write(&self.root, &self.entry);
    }

    /// Who else listens on a port of this address beside or instead of this server, `process 4321 (nginx)`; `None`:
    /// nobody, or it cannot be told (of a container it is not: its processes may be another service's).
    pub(crate) fn stranger_on(&self, address: Ipv4Addr, port: u16) -> Option<String> {
        if self.entry.container.is_some() {
            return None;
        }
        let look = || {
            let own: Vec<u32> = process::descendants(self.entry.guard.pid).iter().map(|p| p.pid).collect();
            listener::stranger(address, port, &own)
        };
        // A worker that is born between two readings of /proc is a stranger for that moment only.
        let mut who = look()?;
        for _ in 1..STRANGER_LOOKS {
            std::thread::sleep(READY_PERIOD_MAX);
            who = look()?;
        }
        Some(who)
    }

    /// From just before the first process was started to the first valid response.
    pub(crate) fn startup(&self) -> Duration {
        self.startup
    }

    /// The same to an instant of CLOCK_MONOTONIC at which somebody else saw the first right answer.
    pub(crate) fn startup_until(&self, at_ns: u64) -> Duration {
        Duration::from_nanos(at_ns.saturating_sub(self.first_started_ns.unwrap_or(at_ns)))
    }

    pub(crate) fn watched(&self) -> Watched {
        let of_container = self.entry.container.as_ref().and_then(Watched::of_container);
        of_container.unwrap_or_else(|| Watched {
            processes: Processes::Below(self.entry.guard.pid),
            cgroup: self.cgroup().cloned(),
        })
    }

    pub(crate) fn cgroup(&self) -> Option<&Cgroup> {
        self.entry.cgroup.as_ref()
    }

    /// What its own process writes, the last of those that were started.
    pub(crate) fn log(&self) -> PathBuf {
        run_dir::log_path(&self.entry.run_dir, self.commands.len().saturating_sub(1))
    }

    pub(crate) fn died(&mut self) -> Option<Death> {
        self.take_events(Duration::ZERO);
        if let Some((process, how)) = &self.ended {
            let log_tail = error::log_tail(&self.entry.run_dir, *process);
            let at_limit = self.entry.memory_cgroup.as_ref().is_some_and(|c| memory::ended_at_limit(c) > 0);
            let why = if at_limit { " for lack of memory, at its limit," } else { "" };
            return Some(Death { how: format!("{how}{why}"), log_tail });
        }
        self.guard_lost
            .then(|| Death { how: "lost the process that supervises it".to_owned(), log_tail: Vec::new() })
    }

    /// Ends every process and removes the run folder; returns when they are gone, after at most the stop timeout and
    /// some seconds. A second call returns the first one's report.
    pub(crate) fn stop(&mut self) -> StopReport {
        if let Some(mut orders) = self.orders.take() {
            // A guard that is gone needs no telling; closing the pipe says the same.
            let _ = orders.write_all(format!("{STOP_LINE}\n").as_bytes());
        } else if let Some(report) = &self.stopped {
            return report.clone();
        }
        let until = Instant::now() + self.patience;
        while self.stopped.is_none() && !self.guard_lost && Instant::now() < until {
            self.take_events(READY_PERIOD_MAX);
        }
        let report = match self.stopped.take() {
            Some(report) => report,
            None => self.stop_without_guard(),
        };
        self.wait_for_guard();
        if report.leftovers.is_empty() {
            journal::remove(&self.root, self.entry.guard.pid);
        }
        self.stopped = Some(report.clone());
        report
    }

    /// The guard itself is gone or stuck: what it started is ended by the journal's rules.
    fn stop_without_guard(&mut self) -> StopReport {
        let ended = self.entry.end(Duration::ZERO);
        run_dir::remove(&self.entry.run_dir);
        self.entry.remove_cgroups();
        StopReport { killed: ended.killed > 0, leftovers: ended.leftovers }
    }

    /// Takes in the guard's end; one that does not end after its last word is ended.
    fn wait_for_guard(&mut self) {
        let until = Instant::now() + GUARD_END;
        while Instant::now() < until {
            if !matches!(self.guard.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.guard.kill().and_then(|()| self.guard.wait().map(|_| ()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

fn read_events(told: ChildStdout) -> io::Result<Receiver<GuardEvent>> {
    let (sender, events) = mpsc::channel();
    std::thread::Builder::new().name("guard events".to_owned()).spawn(move || {
        for line in BufReader::new(told).lines().map_while(Result::ok) {
            if let Ok(event) = serde_json::from_str(&line)
                && sender.send(event).is_err()
            {
                return;
            }
        }
    })?;
    Ok(events)
}

#[cfg(test)]
pub(crate) use guard::tests as testing;
#[cfg(test)]
mod tests;
