//! The guard: a small child of Prony between it and a server's processes.
//!
//! It starts them, tells what becomes of them, and ends every one of them when it is told to, or when the pipe from
//! Prony closes, which happens even when Prony is killed by SIGKILL. As a sub-reaper it is handed every orphan below
//! it, so that a server that detaches (double fork, own session) is found too. A process group or PR_SET_PDEATHSIG
//! would lose exactly those.
//!
//! The protocol is JSON Lines: one [`GuardOrder`] on stdin, then `stop` or the
//! end of the pipe; [`GuardEvent`]s on stdout.

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{getpid, set_child_subreaper, setsid};
use serde::{Deserialize, Serialize};

use super::StopReport;
use crate::launch::LaunchSpec;
use crate::sample::Cgroup;
use crate::sys;

mod log;
mod reaper;

pub(super) use reaper::remove_container;

pub const GUARD_ARGUMENT: &str = "__guard";
/// The line that ends the servers; so does the end of the pipe.
pub(crate) const STOP_LINE: &str = "stop";
/// How long processes have between SIGTERM and SIGKILL.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the kernel has after SIGKILL: a process in an uninterruptible wait outlives it, and is then reported.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a container engine has to remove what is left of a container.
pub(crate) const CONTAINER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest order: a command line and its environment are under 2 MiB.
const ORDER_MAX_BYTES: usize = 8 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GuardOrder {
    pub(crate) spec: LaunchSpec,
    /// CPUs of the guard itself: the client's, never the server's; empty: any.
    pub(crate) guard_cpus: Vec<u32>,
    pub(crate) stop_timeout: Duration,
    pub(crate) cgroup: bool,
    /// What the processes may have together, swap included; where that cannot be kept, none is started.
    #[serde(default)]
    pub(crate) memory_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum GuardEvent {
    Watching {
        /// The cgroup made for the servers; `None` where it is not allowed.
        cgroup: Option<Cgroup>,
        #[serde(default)]
        memory: Option<Cgroup>,
    },
    Started {
        process: usize,
        pid: u32,
        /// Its start time, `/proc/PID/stat` field 22: with the pid, its identity.
        start_ticks: u64,
        /// CLOCK_MONOTONIC just before it was started, in nanoseconds.
        at_ns: u64,
    },
    /// A process could not be started; none after it will be.
    Failed { why: String },
    Exited {
        process: usize,
        /// Its exit code, unless a signal ended it.
        code: Option<i32>,
        signal: Option<i32>,
        /// Whether it left living children behind, as a daemon does.
        detached: bool,
    },
    /// All processes have ended; the guard's last word.
    Stopped(StopReport),
}

/// The guard's whole life, before any thread is started, when the first argument is [`GUARD_ARGUMENT`]: the exit code.
pub fn run_guard() -> i32 {
    let mut input = Input { buffer: Vec::new() };
    let prepared = become_guard().and_then(|()| sys::child_events());
    let (child_events, order) = match (prepared, input.line()) {
        (Ok(child_events), Some(line)) => (child_events, serde_json::from_str::<GuardOrder>(&line)),
        (Err(why), _) => {
            return fail(&format!(
                "The process that supervises the server cannot follow its processes: {why}."
            ));
        }
        (_, None) => return 0, // Prony ended before it ordered anything.
    };
    let order = match order {
        Ok(order) => order,
        Err(why) => {
            return fail(&format!(
                "The process that supervises the server cannot read its instructions: {why}."
            ));
        }
    };
    reaper::Reaper::new(order, child_events).run(&mut input);
    0
}

/// What a guard is to the kernel: the parent of every orphan below it, in a session of its own (so that Ctrl-C does not
/// reach it), and not to be ended by the signals that are sent to groups.
fn become_guard() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    sys::ignore_group_signals();
    let _ = setsid(); // refused where it leads a group already, which isolates as well
    Ok(())
}

/// Waits until one of the files is readable or closed, or the time is over. An interrupted wait returns early.
fn wait_readable<const N: usize>(files: [BorrowedFd<'_>; N], timeout: Option<Duration>) -> [bool; N] {
    let mut polled = files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN));
    let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
    let ready = poll(&mut polled, timeout.as_ref()).is_ok_and(|ready| ready > 0);
    polled.map(|file| ready && !file.revents().is_empty())
}

fn fail(why: &str) -> i32 {
    tell(&GuardEvent::Failed { why: why.to_owned() });
    1
}

/// Writes an event. When nobody listens any more, the end of stdin says so as well.
fn tell(event: &GuardEvent) {
    if let Ok(mut line) = serde_json::to_string(event) {
        line.push('\n');
        let mut out = io::stdout().lock();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// Stdin in lines, read by hand so that it can be polled together with children.
struct Input {
    buffer: Vec<u8>,
}

impl Input {
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(line);
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// Reads once; false at the end of the pipe, or when a line grows beyond reason.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 4096];
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk) {
            Ok(0) => false,
            Ok(read) => {
                self.buffer.extend_from_slice(&chunk[..read]);
                self.buffer.len() <= ORDER_MAX_BYTES
            }
            Err(why) => why == rustix::io::Errno::INTR,
        }
    }

    fn take_line(&mut self) -> Option<String> {
        let end = self.buffer.iter().position(|b| *b == b'\n')?;
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim_end().to_owned())
    }
}

#[cfg(test)]
pub(crate) mod tests;
