//! The system calls of the laboratory that no dependency makes: how signals reach a guard, and what is done in a
//! server's process before its first instruction. All unsafe code is here; each function is safe to call.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use prony_host::cpus;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const GROUP_SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// From now on this process does not heed the signals that are sent to groups.
pub(crate) fn ignore_group_signals() {
    for signal in GROUP_SIGNALS {
        // SAFETY: SIG_IGN runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// A file that becomes readable when a child of this process ends; reading it never waits.
/// Blocks SIGCHLD in the calling thread: to be called before any other thread is started.
pub(crate) fn child_events() -> io::Result<File> {
    // SAFETY: an all-zero sigset is initialised by sigemptyset before use.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid and exclusively borrowed; signalfd returns a new descriptor, owned by nobody else.
    unsafe {
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd = checked(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(File::from_raw_fd(fd))
    }
}

/// Has a child begin with this soft limit of open files: a load raises Prony's own, and each server is to have the same.
pub(crate) fn limit_open_files(command: &mut Command, soft: Option<u64>) {
    let before_exec = move || {
        let maximum = getrlimit(Resource::Nofile).maximum;
        Ok(setrlimit(Resource::Nofile, Rlimit { current: soft, maximum })?)
    };
    // SAFETY: the closure allocates nothing, and makes two system calls.
    unsafe { command.pre_exec(before_exec) };
}

/// Prepares a server's process: its own group, default signals, its CPUs, and its cgroup joined before its first
/// instruction, so that every cycle is counted; and the cgroup that limits its memory, without which it does not start.
pub(crate) fn prepare_server(
    command: &mut Command,
    cpus: &[u32],
    cgroup_procs: Option<&File>,
    memory_procs: Option<&File>,
) {
    // The descriptor is used in the child between fork and exec, where the
    // guard's copy is still open: the guard keeps the file for its lifetime.
    let procs = cgroup_procs.map(AsRawFd::as_raw_fd);
    let limited = memory_procs.map(AsRawFd::as_raw_fd);
    let cpus = cpus.to_vec();
    command.process_group(0);
    let before_exec = move || {
        // SAFETY: signal, sigprocmask, open, write and close are async-signal-safe
        // and touch only this child's own state and the values captured by copy.
        unsafe {
            for signal in GROUP_SIGNALS {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            cpus::set_affinity(0, &cpus)?;
            // When memory runs out, the kernel shall end the server and neither the guard nor
            // Prony: its end is then seen and recorded. Raising one's own score is always allowed.
            let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if score >= 0 {
                libc::write(score, c"500".as_ptr().cast(), 3);
                libc::close(score);
            }
            if let Some(procs) = procs {
                // `0` stands for the writer. A refusal shows as an empty cgroup, which the guard looks for.
                libc::write(procs, c"0".as_ptr().cast(), 1);
            }
            if let Some(limited) = limited
                && libc::write(limited, c"0".as_ptr().cast(), 1) != 1
            {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing, and calls only async-signal-safe functions.
    unsafe { command.pre_exec(before_exec) };
}
