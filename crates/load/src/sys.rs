//! The system calls of the engine: the one unsafe module of this crate, with its parts in `sys/`.
//!
//! `libc` and not rustix or mio, because both round a wait to milliseconds,
//! and a pacer that wakes up to a millisecond late is not one.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

mod stamps;
mod waiting;

pub(crate) use stamps::{
    ClockSteps, Stamper, discard_stamped, realtime_offset_ns, recv_stamped, stamp_arrivals,
};
#[cfg(test)]
pub(crate) use waiting::refuse_here;
pub(crate) use waiting::{Epoll, Events, Interest};

const NS_PER_S: u64 = 1_000_000_000;

/// Turns a C return value into a result.
fn check(value: libc::c_int) -> io::Result<libc::c_int> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
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

/// CPU time of the calling thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the process in nanoseconds.
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

/// Raises the soft limit of open files to the hard one and returns it.
pub(crate) fn raise_open_files() -> io::Result<u64> {
    // SAFETY: rlimit is plain data; both calls get a valid pointer to it.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
        }
        Ok(limit.rlim_cur)
    }
}

/// Pins the calling thread to one CPU.
pub(crate) fn pin_thread(cpu: u32) -> io::Result<()> {
    let cpu = cpu as usize;
    // SAFETY: cpu_set_t is plain data; CPU_SET checks its index against the
    // set's size; pid 0 is the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if cpu >= 8 * size_of::<libc::cpu_set_t>() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        libc::CPU_SET(cpu, &mut set);
        check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)).map(|_| ())
    }
}

/// Asks the kernel to wake the calling thread within 1 ns of a timer instead
/// of its default 50 µs. (Best effort: a refusal costs precision, which is measured.)
pub(crate) fn tighten_timer_slack() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Closes a descriptor that the caller owns and will not use again.
pub(crate) fn close(fd: RawFd) {
    // SAFETY: every caller gives up `fd` with this call.
    unsafe { libc::close(fd) };
}

/// A connect that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connecting {
    /// It is established already.
    Done,
    /// It will be writable when it is decided.
    Pending,
}

/// A socket address as the kernel takes it.
struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl RawAddress {
    /// `T` is one of the socket address types, all of which fit the storage.
    fn of<T>(raw: &T) -> RawAddress {
        // SAFETY: sockaddr_storage is plain data; `raw` is plain data of a socket
        // address type, none of which is longer than the storage (asserted).
        unsafe {
            assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
            let mut storage: libc::sockaddr_storage = mem::zeroed();
            ptr::copy_nonoverlapping(
                ptr::from_ref(raw).cast::<u8>(),
                (&raw mut storage).cast(),
                size_of::<T>(),
            );
            RawAddress { storage, length: size_of::<T>() as libc::socklen_t }
        }
    }

    fn inet(address: &SocketAddr) -> RawAddress {
        match address {
            SocketAddr::V4(v4) => RawAddress::of(&libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => RawAddress::of(&libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    /// A path of up to 107 bytes without a NUL, which is what the kernel has room for.
    fn unix(path: &Path) -> io::Result<RawAddress> {
        // SAFETY: sockaddr_un is plain data for which all zeroes is a value.
        let mut raw: libc::sockaddr_un = unsafe { mem::zeroed() };
        raw.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() || bytes.len() >= raw.sun_path.len() || bytes.contains(&0) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the path of a Unix socket has 1 to 107 bytes",
            ));
        }
        for (to, from) in raw.sun_path.iter_mut().zip(bytes) {
            *to = from.cast_signed();
        }
        Ok(RawAddress::of(&raw))
    }
}

/// Opens a non-blocking TCP connection without Nagle's delay, from `source` if one is given.
pub(crate) fn connect(address: &SocketAddr, source: Option<&IpAddr>) -> io::Result<(RawFd, Connecting)> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let fd = open_stream(family)?;
    set_flag(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY);
    if let Some(source) = source {
        // The port is chosen at the connect, so that one serves many peers.
        set_flag(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
        let raw = RawAddress::inet(&SocketAddr::new(*source, 0));
        // SAFETY: the address is valid and of the length given.
        let bound = check(unsafe { libc::bind(fd, (&raw const raw.storage).cast(), raw.length) });
        if let Err(e) = bound {
            close(fd);
            return Err(e);
        }
    }
    let to = RawAddress::inet(address);
    let begun = begin_connect(fd, &to)?;
    // To this machine the handshake is over when connect(2) returns, though it says that it is pending: asked
    // again it says so, which spares a wake-up, a change of interest and a look at SO_ERROR.
    if begun.1 == Connecting::Pending && address.ip().is_loopback() {
        return begin_connect(fd, &to);
    }
    Ok(begun)
}

/// Opens a non-blocking connection to a Unix socket.
pub(crate) fn connect_unix(path: &Path) -> io::Result<(RawFd, Connecting)> {
    let raw = RawAddress::unix(path)?;
    begin_connect(open_stream(libc::AF_UNIX)?, &raw)
}

fn open_stream(family: libc::c_int) -> io::Result<RawFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes integers, returns a descriptor.
    check(unsafe { libc::socket(family, kind, 0) })
}

/// Switches an option on; a refusal is no reason not to connect.
fn set_flag(fd: RawFd, level: libc::c_int, option: libc::c_int) {
    let one: libc::c_int = 1;
    // SAFETY: the option's value is a valid int for the call.
    unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            (&raw const one).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Asks for no event before so many bytes have arrived (SO_RCVLOWAT, socket(7)). The end of the stream,
/// and a receive window that is full before, are events all the same. A refusal costs wake-ups only.
pub(crate) fn wake_at(fd: RawFd, bytes: u32) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the option's value is a valid int for the call.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        );
    }
}

/// Takes over `fd`, which is closed where the connect fails.
fn begin_connect(fd: RawFd, to: &RawAddress) -> io::Result<(RawFd, Connecting)> {
    // SAFETY: the address is valid and of the length given.
    match check(unsafe { libc::connect(fd, (&raw const to.storage).cast(), to.length) }) {
        Ok(_) => Ok((fd, Connecting::Done)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINPROGRESS | libc::EALREADY | libc::EINTR)) => {
            Ok((fd, Connecting::Pending))
        }
        Err(e) => {
            close(fd);
            Err(e)
        }
    }
}

/// How a pending connect ended.
pub(crate) fn connect_result(fd: RawFd) -> io::Result<()> {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are valid and of the sizes said.
    check(unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &raw mut length)
    })?;
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Whether a socket that was connected to `peer` is connected to itself, which TCP allows when a client on
/// an ephemeral port dials that very port: it would answer its own requests.
pub(crate) fn connected_to_itself(fd: RawFd, peer: &SocketAddr) -> bool {
    // SAFETY: sockaddr_storage is plain data, large and aligned enough for an address of either family.
    unsafe {
        let mut own: libc::sockaddr_storage = mem::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        if libc::getsockname(fd, (&raw mut own).cast(), &raw mut length) != 0 {
            return false;
        }
        match peer {
            SocketAddr::V4(peer) => {
                let own = &*(&raw const own).cast::<libc::sockaddr_in>();
                own.sin_port == peer.port().to_be() && own.sin_addr.s_addr.to_ne_bytes() == peer.ip().octets()
            }
            SocketAddr::V6(peer) => {
                let own = &*(&raw const own).cast::<libc::sockaddr_in6>();
                own.sin6_port == peer.port().to_be() && own.sin6_addr.s6_addr == peer.ip().octets()
            }
        }
    }
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
