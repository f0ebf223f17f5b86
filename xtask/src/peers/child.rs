//! A child on one CPU whose cost is known when it ends.
//!
//! The tools of a comparison are of five languages and most report no CPU time, so the kernel's account is read:
//! getrusage(2) of waited-for children. It adds up all of a process's children, and its peak memory is the largest of
//! any; so each tool gets a parent of its own, this program again under a hidden task name, which has no other child.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// What a tool cost, from its start to its end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Cost {
    /// CPU time in user space.
    pub(super) user_ns: u64,
    /// CPU time in the kernel on its behalf.
    pub(super) system_ns: u64,
    /// From the start of the process to its end.
    pub(super) wall_ns: u64,
    pub(super) peak_rss_bytes: u64,
    /// The exit code; none where a signal ended it.
    pub(super) exit_code: Option<i32>,
    /// Whether it outlived its limit and was killed.
    pub(super) timed_out: bool,
}

/// The CPUs that this process may use, in order.
pub(crate) fn cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect()
}

/// Runs `line` on `cpu`, for at most `limit`.
pub(super) fn run(
    cpu: usize,
    limit: Duration,
    line: &[String],
    scratch: &Path,
) -> Result<(Cost, Output), String> {
    let report = scratch.join("cost.json");
    // From the run before; a stale one must not pass for this one's.
    let _ = std::fs::remove_file(&report);
    let own = std::env::current_exe().map_err(|e| format!("this program was not found: {e}"))?;
    let output = Command::new(own)
        .arg("measured")
        .arg(cpu.to_string())
        .arg(limit.as_secs().to_string())
        .arg(&report)
        .args(line)
        .current_dir(scratch)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{}: {e}", line.join(" ")))?;
    let cost = std::fs::read(&report)
        .map_err(|e| e.to_string())
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|e| e.to_string()))
        .map_err(|e| format!("{}: its cost is not known ({e}): {}", line.join(" "), stderr(&output)))?;
    Ok((cost, output))
}

/// The last line that a child wrote to stderr.
pub(super) fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}

/// `xtask pinned CPU COMMAND…`: becomes the command, on that CPU.
pub(crate) fn pinned(arguments: &[String]) -> Result<(), String> {
    let [cpu, program, rest @ ..] = arguments else { return Err("pinned CPU COMMAND…".to_owned()) };
    prepare(cpu)?;
    Err(format!("{program}: {}", Command::new(program).args(rest).exec()))
}

/// `xtask measured CPU LIMIT_S REPORT COMMAND…`: runs the command on that CPU and writes its [`Cost`] to REPORT.
pub(crate) fn measured(arguments: &[String]) -> Result<(), String> {
    let [cpu, limit_s, report, program, rest @ ..] = arguments else {
        return Err("measured CPU LIMIT_S REPORT COMMAND…".to_owned());
    };
    prepare(cpu)?;
    let limit = Duration::from_secs(limit_s.parse().map_err(|_| format!("{limit_s:?} is no number"))?);
    let started = Instant::now();
    let mut child = Command::new(program).args(rest).spawn().map_err(|e| format!("{program}: {e}"))?;
    let pid = i32::try_from(child.id()).map_err(|e| e.to_string())?;
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || sender.send((child.wait(), Instant::now())));
    let mut timed_out = false;
    let (status, at) = match ended.recv_timeout(limit) {
        Ok(ended) => ended,
        Err(_) => {
            timed_out = true;
            // It has not been waited for, so the id is still its own.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            ended.recv().map_err(|e| e.to_string())?
        }
    };
    let status = status.map_err(|e| format!("{program}: {e}"))?;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| e.to_string())?;
    let cost = Cost {
        user_ns: nanoseconds(usage.user_time()),
        system_ns: nanoseconds(usage.system_time()),
        wall_ns: u64::try_from((at - started).as_nanos()).unwrap_or(u64::MAX),
        peak_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * 1024,
        exit_code: status.code(),
        timed_out,
    };
    let json = serde_json::to_vec(&cost).map_err(|e| e.to_string())?;
    std::fs::write(report, json).map_err(|e| format!("{report}: {e}"))
}

/// Pins this process, and lets it open as many files as it may: 8,000 connections pass the usual soft limit.
fn prepare(cpu: &str) -> Result<(), String> {
    let number: usize = cpu.parse().map_err(|_| format!("{cpu:?} is no CPU"))?;
    let mut set = CpuSet::new();
    set.set(number)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|e| format!("CPU {number} cannot be used: {e}"))?;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(|e| e.to_string())?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_err(|e| e.to_string())
}

fn nanoseconds(time: TimeVal) -> u64 {
    let microseconds = time.tv_sec() * 1_000_000 + time.tv_usec();
    u64::try_from(microseconds).unwrap_or(0) * 1_000
}
