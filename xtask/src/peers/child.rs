//! A child on one CPU whose cost is known when it ends, by getrusage(2) of waited-for children. That adds up all of a
//! process's children, so each tool gets a parent of its own, this program again under a hidden task name.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeVal;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::{files, programs};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Cost {
    pub(super) user_ns: u64,
    /// CPU time in the kernel on its behalf.
    pub(super) system_ns: u64,
    pub(super) wall_ns: u64,
    pub(super) peak_rss_bytes: u64,
    pub(super) exit_code: Option<i32>,
    pub(super) timed_out: bool,
}

pub(super) fn costs(
    cpu: u32,
    limit: Duration,
    line: &[String],
    scratch: &Path,
) -> Result<(Cost, Output), String> {
    let report = scratch.join("cost.json");
    // From the run before; a stale one must not pass for this one's.
    let _ = std::fs::remove_file(&report);
    let mut measured = pinned(cpu);
    measured.arg(programs::own()?.get_program()).args(["measured", &limit.as_secs().to_string()]);
    measured.arg(&report).args(line);
    let output = programs::output(measured.current_dir(scratch))?;
    let cost = std::fs::read(&report)
        .map_err(|e| e.to_string())
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|e| e.to_string()))
        .map_err(|e| format!("{}: its cost is not known ({e}): {}", line.join(" "), stderr(&output)))?;
    Ok((cost, output))
}

pub(super) fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}

/// Becomes a program on one CPU that may open as many files as it may: 8,000 connections pass the usual soft limit.
const PINNED: &str = "ulimit -Sn \"$(ulimit -Hn)\" && exec taskset --cpu-list \"$0\" \"$@\"";

/// A program, which is the first of its arguments to be added, on this CPU.
pub(super) fn pinned(cpu: u32) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", PINNED, &cpu.to_string()]);
    command
}

#[derive(Parser)]
pub(crate) struct Measured {
    limit_s: u64,
    /// Where its cost is written to
    report: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<String>,
}

pub(crate) fn measured(asked: &Measured) -> Result<(), String> {
    let (program, limit) = (&asked.command[0], Duration::from_secs(asked.limit_s));
    let started = Instant::now();
    let mut child =
        Command::new(program).args(&asked.command[1..]).spawn().map_err(|e| format!("{program}: {e}"))?;
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
    files::write(&asked.report, json)
}

fn nanoseconds(time: TimeVal) -> u64 {
    let microseconds = time.tv_sec() * 1_000_000 + time.tv_usec();
    u64::try_from(microseconds).unwrap_or(0) * 1_000
}
