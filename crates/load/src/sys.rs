//! The system calls of the engine: the one unsafe module of this crate, with its parts in `sys/`. Each answer goes
//! through `libc`: rustix and mio round waits to milliseconds, and rustix lacks receive stamps. Everything else is
//! rustix's.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

mod stamps;
mod waiting;

pub(crate) use stamps::{
    ClockSteps, discard_stamped, realtime_offset_ns, recv_stamped, stamp_arrivals, stamper,
};
#[cfg(test)]
pub(crate) use waiting::refuse_here;
pub(crate) use waiting::{Epoll, Events, Interest};

const NS_PER_S: u64 = 1_000_000_000;

fn check(value: libc::c_int) -> io::Result<libc::c_int> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

fn borrow<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: handles are of connections that the worker has opened and not closed yet, and no caller keeps the result.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that outlives the call. The clocks
    // used here exist on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.unsigned_abs() * NS_PER_S + time.tv_nsec.unsigned_abs()
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How long the machine was suspended since its start, at least and at most: CLOCK_BOOTTIME − CLOCK_MONOTONIC.
pub(crate) fn suspended_ns() -> (u64, u64) {
    let (before, boot, after) = (now_ns(), clock_ns(libc::CLOCK_BOOTTIME), now_ns());
    (boot.saturating_sub(after), boot.saturating_sub(before))
}

pub(crate) fn process_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The process's peak resident memory. By /proc, as getrusage(2) keeps the peak of the process that started this one.
pub(crate) fn max_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    peak.map_or_else(max_rss_bytes_by_usage, |kilobytes| kilobytes * 1024)
}

fn max_rss_bytes_by_usage() -> u64 {
    // SAFETY: rusage is plain data for which all zeroes is a value, and the
    // call only writes into it.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_maxrss.unsigned_abs() * 1024
}

static OPEN_FILES_AT_START: OnceLock<Option<u64>> = OnceLock::new();

/// The soft limit of open files at this process's start: what other programs are started with. `None`: none.
pub fn open_files_at_start() -> Option<u64> {
    *OPEN_FILES_AT_START.get_or_init(|| getrlimit(Resource::Nofile).current)
}

/// Raises the soft limit of open files to the hard one, as far as it may be, and returns it.
pub(crate) fn raise_open_files() -> u64 {
    open_files_at_start();
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Sandboxes refuse it; the present limit may do.
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    (if is_raised { maximum } else { current }).unwrap_or(u64::MAX)
}

pub(crate) fn pin_thread(cpu: u32) -> io::Result<()> {
    let cpu = usize::try_from(cpu).ok().filter(|cpu| *cpu < CpuSet::MAX_CPU).ok_or(Errno::INVAL)?;
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Wakes the calling thread within 1 ns of a timer, not 50 µs. (Best effort: a refusal costs precision, measured.)
pub(crate) fn tighten_timer_slack() {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// Closes a descriptor that the caller owns and will not use again.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: every caller gives up `fd` with this call.
    unsafe { libc::close(fd) };
}

/// Says that nothing more is sent. A connection that is gone already needs not be told.
pub(crate) fn end_sending(fd: RawFd) {
    let _ = net::shutdown(borrow(fd), net::Shutdown::Write);
}

pub(crate) type Handle = i32;

/// Whether a call has nothing to do yet, and is to be made again.
pub(crate) fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connecting {
    Done,
    /// It will be writable when it is decided.
    Pending,
}

/// Opens a non-blocking TCP connection without Nagle's delay, from `source` if one is given.
pub(crate) fn connect(address: &SocketAddr, source: Option<&IpAddr>) -> io::Result<(OwnedFd, Connecting)> {
    let socket = open_stream(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
    // A refusal of an option is no reason not to connect.
    let _ = sockopt::set_tcp_nodelay(&socket, true);
    if let Some(source) = source {
        // The port is chosen at the connect, so that one serves many peers.
        let _ = set_option(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
        net::bind(&socket, &SocketAddr::new(*source, 0))?;
    }
    let mut connecting = begin_connect(&socket, address)?;
    // To this machine the handshake is over when connect(2) returns, though it says that it is pending: asked
    // again it says so, which spares a wake-up, a change of interest and a look at SO_ERROR.
    if connecting == Connecting::Pending && address.ip().is_loopback() {
        connecting = begin_connect(&socket, address)?;
    }
    Ok((socket, connecting))
}

/// Opens a non-blocking connection to a Unix socket, whose path has 1 to 107 bytes.
pub(crate) fn connect_unix(path: &Path) -> io::Result<(OwnedFd, Connecting)> {
    let socket = open_stream(AddressFamily::UNIX)?;
    let connecting = begin_connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok((socket, connecting))
}

fn open_stream(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn begin_connect(socket: &OwnedFd, to: &impl SocketAddrArg) -> io::Result<Connecting> {
    match net::connect(socket, to) {
        Ok(()) => Ok(Connecting::Done),
        Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => Ok(Connecting::Pending),
        Err(e) => Err(e.into()),
    }
}

fn set_option(fd: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is a valid int for the call.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), length) }).map(|_| ())
}

/// No event before so many bytes arrived (SO_RCVLOWAT, socket(7)), end and full window apart. A refusal costs wake-ups.
pub(crate) fn wake_at(fd: RawFd, bytes: u32) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes);
}

pub(crate) fn connect_result(fd: RawFd) -> io::Result<()> {
    Ok(sockopt::socket_error(borrow(fd))??)
}

/// Whether the kernel has sent a segment of the connection again, a SYN included (`tcpi_total_retrans` of TCP_INFO).
pub(crate) fn sent_again(fd: RawFd) -> bool {
    // What `struct tcp_info` of linux/tcp.h begins with: 8 bytes, then numbers of 32 bits, this one at byte 100.
    let mut info = [0_u32; 26];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the buffer is valid for the length that is said, and every pattern of bits is a value of it.
    let got = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    got == 0 && length as usize == size_of_val(&info) && info[25] > 0
}

/// Whether a socket is connected to itself, as TCP allows on an ephemeral port: it would answer its own requests.
pub(crate) fn connected_to_itself(fd: RawFd) -> bool {
    let own = net::getsockname(borrow(fd)).and_then(SocketAddr::try_from);
    let peer = net::getpeername(borrow(fd)).ok().flatten().and_then(|peer| SocketAddr::try_from(peer).ok());
    own.is_ok_and(|own| peer.is_some_and(|peer| (own.ip(), own.port()) == (peer.ip(), peer.port())))
}

/// Reads what has arrived; 0 is the peer's end.
pub(crate) fn recv(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for its length.
    let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// Writes what fits; a closed peer is an error and not a signal.
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the slice is valid for its length.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
