//! The guard's loop: starts, reaps, ends.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prony_host::cpus;
use prony_host::process::{self, Identity, ProcessStat};
use rustix::process::{WaitOptions, wait};
use rustix::stdio::stdin;

use super::{
    CONTAINER_TIMEOUT, GuardEvent, GuardOrder, Input, KILL_TIMEOUT, STOP_LINE, log, tell, wait_readable,
};
use crate::launch::{ContainerSpec, ProcessSpec, run_dir};
use crate::sample::{Cgroup, CgroupVersion, memory};
use crate::supervise::StopReport;
use crate::sys;

const WAIT_FOR_PERIOD: Duration = Duration::from_millis(2);
/// How often descendants are looked for again while they are being ended.
const STOP_PERIOD: Duration = Duration::from_millis(20);
/// How often a container is asked for that may be in the making.
const REMOVE_PERIOD: Duration = Duration::from_millis(200);

/// What an engine's service holds is no descendant of ours, and what SIGKILL ended left its records. Where its client was
/// `cut_short` before the service said that it is made, it is waited for: else it would be there a moment later.
pub(in crate::supervise) fn remove_container(container: &ContainerSpec, cut_short: bool) {
    let give_up_at = Instant::now() + CONTAINER_TIMEOUT;
    let may_come = cut_short && container.made.as_ref().is_some_and(|made| !made.exists());
    while !removed(container, give_up_at) && may_come && Instant::now() < give_up_at {
        std::thread::sleep(REMOVE_PERIOD);
    }
}

/// Whether the engine removed one: it prints the name of what it removed.
fn removed(container: &ContainerSpec, give_up_at: Instant) -> bool {
    let command = container.remove();
    let Some((program, arguments)) = command.split_first() else { return true };
    let quiet = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = quiet else { return true };
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= give_up_at {
            let _ = child.kill().and_then(|()| child.wait().map(|_| ()));
            return false;
        }
        std::thread::sleep(STOP_PERIOD / 4);
    }
    // What it said is there by now; something that it left running may hold the pipe open, and is not waited for.
    child.stdout.is_some_and(|mut said| {
        let [there] = wait_readable([said.as_fd()], Some(Duration::ZERO));
        there && said.read(&mut [0]).is_ok_and(|read| read > 0)
    })
}

struct Process {
    pid: u32,
    log: Arc<log::Log>,
}

pub(super) struct Reaper {
    order: GuardOrder,
    /// CPUs the guard had before it was pinned: the servers' where they are not pinned.
    own_cpus: Vec<u32>,
    child_events: File,
    cgroup: Option<Cgroup>,
    cgroup_procs: Option<File>,
    /// The cgroup that limits their memory, if that was asked for; why not, in a sentence.
    memory: Result<Option<Cgroup>, String>,
    memory_procs: Option<File>,
    started: Vec<Process>,
    /// The process that left its work to orphans, as a daemon does.
    daemon: Option<usize>,
    failed: bool,
}

impl Reaper {
    pub(super) fn new(order: GuardOrder, child_events: File) -> Reaper {
        let own_cpus = cpus::affinity(0).unwrap_or_default();
        // A guard on a server's core would be charged to it; a refusal here (a CPU
        // that is gone) is Prony's to report, which pins itself to the same ones.
        let _ = cpus::set_affinity(0, &order.guard_cpus);
        let me = std::process::id();
        let memory = order.memory_bytes.map(|bytes| memory::limit(me, bytes)).transpose();
        let limited = memory.as_ref().ok().and_then(Option::as_ref);
        // In version 2 a process is in one cgroup only: the one that limits it counts its time as well.
        let one = limited.filter(|c| c.version == CgroupVersion::V2).cloned();
        let cgroup = order.cgroup.then(|| one.or_else(|| Cgroup::create(me))).flatten();
        let memory_procs = limited.and_then(|c| c.open_procs().ok());
        let cgroup_procs = cgroup.as_ref().filter(|c| limited != Some(*c)).and_then(|c| c.open_procs().ok());
        Reaper {
            order,
            own_cpus,
            child_events,
            cgroup,
            cgroup_procs,
            memory,
            memory_procs,
            started: Vec::new(),
            daemon: None,
            failed: false,
        }
    }

    pub(super) fn run(mut self, input: &mut Input) {
        let memory = self.memory.as_ref().ok().cloned().flatten();
        tell(&GuardEvent::Watching { cgroup: self.cgroup.clone(), memory: memory.clone() });
        if let Err(why) = &self.memory {
            self.failed = true;
            tell(&GuardEvent::Failed { why: why.clone() });
        }
        loop {
            self.start_what_may_start();
            let waiting = !self.failed && self.started.len() < self.order.spec.processes.len();
            let timeout = waiting.then_some(WAIT_FOR_PERIOD);
            let [told, child] = wait_readable([stdin(), self.child_events.as_fd()], timeout);
            if child {
                self.take_in();
            }
            if told
                && (!input.fill() || std::iter::from_fn(|| input.take_line()).any(|line| line == STOP_LINE))
            {
                break;
            }
        }
        let cut_short =
            self.started.iter().any(|started| process::stat(started.pid).is_some_and(|p| !p.is_zombie));
        let stopped = self.stop();
        if let Some(container) = &self.order.spec.container {
            remove_container(container, cut_short);
        }
        for cgroup in self.cgroup.iter().chain(&memory) {
            cgroup.remove();
        }
        run_dir::remove(&self.order.spec.run_dir);
        tell(&GuardEvent::Stopped(stopped));
    }

    fn start_what_may_start(&mut self) {
        while !self.failed
            && let Some(spec) = self.order.spec.processes.get(self.started.len()).cloned()
        {
            let before = self.started.len().checked_sub(1).map(|i| &self.order.spec.processes[i]);
            if before.and_then(|p| p.wait_for.as_ref()).is_some_and(|path| !path.exists()) {
                return;
            }
            if let Err(why) = self.start(&spec) {
                self.failed = true;
                let program = spec.argv.first().map_or("", String::as_str);
                tell(&GuardEvent::Failed { why: format!("{program:?} cannot be started: {why}.") });
            }
        }
    }

    fn start(&mut self, spec: &ProcessSpec) -> io::Result<()> {
        let number = self.started.len();
        let Some((program, arguments)) = spec.argv.split_first() else {
            return Err(io::Error::other("the command is empty"));
        };
        let (reader, writer) = io::pipe()?;
        let cpus = if self.order.spec.cpus.is_empty() { &self.own_cpus } else { &self.order.spec.cpus };
        let mut command = Command::new(program);
        let inheriting = match &self.order.spec.inherits_all_but {
            Some(hidden) => hidden.iter().fold(&mut command, |command, name| command.env_remove(name)),
            None => command.env_clear(),
        };
        inheriting
            .args(arguments)
            .envs(self.order.spec.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.order.spec.cwd)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        sys::prepare_server(&mut command, cpus, self.cgroup_procs.as_ref(), self.memory_procs.as_ref());
        let log = log::drain(reader, &run_dir::log_path(&self.order.spec.run_dir, number))?;
        let at_ns = prony_host::monotonic_ns();
        // Reaped by number in `take_in`; the handle itself has no use.
        let pid = command.spawn()?.id();
        self.started.push(Process { pid, log });
        let start_ticks = process::stat(pid).map_or(0, |s| s.start_ticks);
        tell(&GuardEvent::Started { process: number, pid, start_ticks, at_ns });
        Ok(())
    }

    fn take_in(&mut self) {
        self.forget_child_events();
        while let Ok(Some((pid, ended))) = wait(WaitOptions::NOHANG) {
            let is = |p: &Process| i32::try_from(p.pid) == Ok(pid.as_raw_pid());
            let started = self.started.iter().position(is);
            let detached = self.has_adopted();
            // The last orphan of a daemon was the daemon itself: its end is the server's.
            let Some(process) = started.or_else(|| self.daemon.take_if(|_| !detached)) else { continue };
            // Its last words before the word of its end: whoever hears of it reads them.
            self.started[process].log.catch_up();
            let (code, signal) = (ended.exit_status(), ended.terminating_signal());
            let ends = self.order.spec.processes[process].ends;
            // What was to end is no daemon, whose orphans are another's.
            if detached && !ends && code == Some(0) {
                self.daemon = Some(process);
            }
            // It has, and left its work to the others.
            let detached = detached || ends;
            tell(&GuardEvent::Exited { process, code, signal, detached });
        }
    }

    fn forget_child_events(&self) {
        while (&self.child_events).read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
    }

    /// Whether there are living children that the order did not name: orphans of what it did.
    ///
    /// The list of all processes is read before each is looked at: one that forked and ended meanwhile (a daemon does
    /// it twice) is seen dead, and its child not at all. That child was born before such an end, so a second look at
    /// the list has it.
    fn has_adopted(&self) -> bool {
        let me = std::process::id();
        let orphans = || {
            let children = process::descendants(me).into_iter().filter(|p| p.parent == me);
            children.filter(|p| self.started.iter().all(|started| started.pid != p.pid)).collect::<Vec<_>>()
        };
        let first = orphans();
        let lives = |orphans: &[ProcessStat]| orphans.iter().any(|p| !p.is_zombie);
        lives(&first) || (!first.is_empty() && lives(&orphans()))
    }

    fn is_told(&self, pid: u32) -> bool {
        self.order.spec.container.is_none() || self.started.iter().any(|started| started.pid == pid)
    }

    /// SIGTERM to every descendant, those that appear meanwhile included; after
    /// the timeout SIGKILL, again and again, until none is left or time is up.
    ///
    /// Of a container only the engine's client is told, which hands it on: the engine's monitor, told itself, ends
    /// without leaving the exit code for which the client then waits (podman 4.3: every second stop took the 3 s).
    fn stop(&mut self) -> StopReport {
        let me = std::process::id();
        let kill_at = Instant::now() + self.order.stop_timeout;
        let give_up_at = kill_at + KILL_TIMEOUT;
        let mut told: HashSet<Identity> = HashSet::new();
        let mut killed = false;
        loop {
            self.forget_child_events();
            let children = loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some(_)) => {}
                    others => break others,
                }
            };
            // Without children there is nothing to wait for, which is an error to the kernel.
            if children.is_err() {
                return StopReport { killed, leftovers: Vec::new() };
            }
            let living: Vec<ProcessStat> =
                process::descendants(me).into_iter().filter(|p| !p.is_zombie).collect();
            let now = Instant::now();
            if now >= give_up_at {
                let leftovers = living.iter().map(|p| format!("{} ({})", p.pid, p.name)).collect();
                return StopReport { killed, leftovers };
            }
            for process in living.iter().map(ProcessStat::identity) {
                if now >= kill_at {
                    killed |= process.kill();
                } else if self.is_told(process.pid) && told.insert(process) {
                    process.terminate();
                }
            }
            wait_readable([self.child_events.as_fd()], Some(STOP_PERIOD));
        }
    }
}
