//! The system calls of the laboratory: signals, affinity, reaping, clocks.
//!
//! All of the crate's unsafe code is here; each function is safe to call with any argument.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Signals that a terminal or a service manager sends to a whole group.
const GROUP_SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The highest CPU number that an affinity mask holds.
const CPU_MAX: usize = libc::CPU_SETSIZE as usize;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// `CLOCK_MONOTONIC` in nanoseconds: one clock for all processes of the machine.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid, exclusively borrowed timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Takes an exclusive advisory lock on a file, without waiting; whether it is ours now. It is kept
/// as long as the descriptor is open here or in a child (none inherits it: it closes on exec).
pub(crate) fn try_lock(file: &File) -> bool {
    // SAFETY: the descriptor is open; flock takes two numbers.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Sets a listening socket's queue of connections that nobody accepted yet: it takes one more than this.
#[cfg(test)]
pub(crate) fn listen(socket: RawFd, backlog: i32) -> io::Result<()> {
    // SAFETY: takes two numbers.
    checked(unsafe { libc::listen(socket, backlog) }).map(|_| ())
}

/// The size of a memory page in bytes.
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: sysconf takes a number and returns one.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

/// The soft and hard limits of open files.
pub(crate) fn open_files() -> Option<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid, exclusively borrowed rlimit.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) }).ok()?;
    Some((limit.rlim_cur, limit.rlim_max))
}

/// CPUs that the thread may use, in order; `0` is the calling thread.
pub(crate) fn affinity(thread: u32) -> io::Result<Vec<u32>> {
    // SAFETY: all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let thread = pid_t(thread)?;
    // SAFETY: `set` is valid and exclusively borrowed for the size given.
    checked(unsafe { libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set) })?;
    // SAFETY: every index is below CPU_SETSIZE.
    let allowed = (0..CPU_MAX).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) });
    Ok(allowed.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Confines a thread to CPUs; `0` is the calling thread. Threads and
/// processes it starts from now on inherit this. An empty list changes nothing.
pub(crate) fn set_affinity(thread: u32, cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Ok(());
    }
    let set = cpu_set(cpus);
    let thread = pid_t(thread)?;
    // SAFETY: `set` is valid for the size given.
    checked(unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set) })?;
    Ok(())
}

/// The calling thread runs only when no other wants to (`SCHED_IDLE`).
pub(crate) fn idle_policy() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is valid; 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) })?;
    Ok(())
}

fn cpu_set(cpus: &[u32]) -> libc::cpu_set_t {
    // SAFETY: all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus.iter().filter_map(|c| usize::try_from(*c).ok()).filter(|c| *c < CPU_MAX) {
        // SAFETY: the index is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    set
}

fn pid_t(pid: u32) -> io::Result<libc::pid_t> {
    libc::pid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// What a guard is to the kernel: the parent of every orphan below it, in a
/// session of its own (so that Ctrl-C does not reach it), deaf to the signals
/// that are sent to groups.
pub(crate) fn become_guard() -> io::Result<()> {
    // SAFETY: prctl with these arguments reads and writes no memory of ours.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })?;
    for signal in GROUP_SIGNALS {
        // SAFETY: SIG_IGN runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // SAFETY: setsid takes nothing. It fails where we lead a group already, which isolates as well.
    unsafe { libc::setsid() };
    Ok(())
}

/// A descriptor that becomes readable when a child of this process ends.
/// Blocks SIGCHLD in the calling thread: to be called before any other thread is started.
pub(crate) fn child_events() -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigset is initialised by sigemptyset before use.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid and exclusively borrowed; signalfd returns a new descriptor, owned by nobody else.
    unsafe {
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd = checked(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Waits until one of the descriptors is readable or closed, or the time is over.
/// An interrupted wait returns early.
pub(crate) fn wait_readable<const N: usize>(fds: [RawFd; N], timeout: Option<Duration>) -> [bool; N] {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let milliseconds =
        timeout.map_or(-1, |t| libc::c_int::try_from(t.as_millis()).unwrap_or(libc::c_int::MAX));
    // SAFETY: `polled` is an exclusively borrowed array of the length given.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
    polled.map(|p| ready > 0 && p.revents != 0)
}

/// Reads whatever is there; 0 at the end of the file.
pub(crate) fn read_some(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid and exclusively borrowed for its length.
    let read = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

/// What reaping found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reaped {
    /// This child ended.
    Child(u32, Ended),
    /// There are children, and all live.
    AllLive,
    /// There are no children.
    NoChildren,
}

/// Takes in one ended child, without waiting.
pub(crate) fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: `status` is a valid, exclusively borrowed int.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match u32::try_from(pid) {
        Ok(0) => Reaped::AllLive,
        Ok(pid) if libc::WIFSIGNALED(status) => Reaped::Child(pid, Ended::Signal(libc::WTERMSIG(status))),
        Ok(pid) => Reaped::Child(pid, Ended::Code(libc::WEXITSTATUS(status))),
        Err(_) => Reaped::NoChildren,
    }
}

/// Prepares a server's process: its own group, default signals, its CPUs, and
/// its cgroup joined before its first instruction, so that every cycle is counted; and the
/// cgroup that limits its memory, without which it does not start.
pub(crate) fn prepare_server(
    command: &mut Command,
    cpus: &[u32],
    cgroup_procs: Option<&File>,
    memory_procs: Option<&File>,
) {
    let set = (!cpus.is_empty()).then(|| cpu_set(cpus));
    // The descriptor is used in the child between fork and exec, where the
    // guard's copy is still open: the guard keeps the file for its lifetime.
    let procs = cgroup_procs.map(AsRawFd::as_raw_fd);
    let limited = memory_procs.map(AsRawFd::as_raw_fd);
    command.process_group(0);
    let before_exec = move || {
        // SAFETY: signal, sigprocmask, sched_setaffinity, open, write and close are async-signal-safe
        // and touch only this child's own state and the values captured by copy.
        unsafe {
            for signal in GROUP_SIGNALS {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            if let Some(set) = &set {
                checked(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set))?;
            }
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
    // SAFETY: the closure allocates nothing and calls only async-signal-safe functions.
    unsafe { command.pre_exec(before_exec) };
}

/// A process held by descriptor: its number cannot be reused while it is being judged.
pub(crate) struct PidFd(OwnedFd);

impl PidFd {
    /// Takes hold of a process; an error when there is none of this number.
    pub(crate) fn open(pid: u32) -> io::Result<PidFd> {
        let pid = pid_t(pid)?;
        // SAFETY: pidfd_open takes two numbers and returns a new descriptor.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let fd = checked(libc::c_int::try_from(fd).unwrap_or(-1))?;
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(PidFd(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        self.send(libc::SIGTERM)
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.send(libc::SIGKILL)
    }

    fn send(&self, signal: libc::c_int) -> io::Result<()> {
        let info: *const libc::siginfo_t = std::ptr::null();
        // SAFETY: the descriptor is open; a null siginfo is allowed and means a plain signal.
        let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal, info, 0) };
        checked(libc::c_int::try_from(sent).unwrap_or(-1))?;
        Ok(())
    }
}

/// Whether a server that does not set SO_REUSEADDR could listen on this port of
/// 127.0.0.1 now. (The standard library's listener sets it, and so would overlook TIME_WAIT.)
pub(crate) fn port_is_free(port: u16) -> bool {
    // SAFETY: socket takes numbers and returns a new descriptor.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    let Ok(fd) = checked(fd) else { return false };
    // SAFETY: the descriptor is new and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all zeroes is a valid sockaddr_in.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: the address is valid for the length given.
    unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) == 0 }
}

/// CPU time of this process, all its threads together, those that have ended too.
pub(crate) fn process_cpu_ns() -> u64 {
    let mut used = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `used` is a valid, exclusively borrowed timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut used) };
    let seconds = u64::try_from(used.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(used.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_port_is_not_free() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(!port_is_free(port));
        drop(taken);
        // A child that another test starts at this moment holds all descriptors until it executes, and another program
        // may take the port: one that was let go is free in the end.
        crate::guard::tests::wait_until("a free port", || {
            let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = taken.local_addr().unwrap().port();
            drop(taken);
            port_is_free(port)
        });
    }

    #[test]
    fn affinity_is_what_was_set() {
        std::thread::spawn(|| {
            let all = affinity(0).unwrap();
            let one = vec![*all.last().unwrap()];
            set_affinity(0, &one).unwrap();
            assert_eq!(affinity(0).unwrap(), one);
            set_affinity(0, &[]).unwrap();
            assert_eq!(affinity(0).unwrap(), one, "an empty list changes nothing");
        })
        .join()
        .unwrap();
    }
}
