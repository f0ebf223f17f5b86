//! The system calls of the engine: the one unsafe module of this crate.
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
use std::sync::atomic::{AtomicBool, Ordering};

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

/// The process's peak resident memory.
pub(crate) fn max_rss_bytes() -> u64 {
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
pub(crate) fn pin_thread(cpu: usize) -> io::Result<()> {
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

/// An epoll instance.
#[derive(Debug)]
pub(crate) struct Epoll {
    fd: RawFd,
}

/// What is waited for on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Bytes or the peer's end.
    Read,
    /// Room to write, or the end of a connect.
    Write,
    /// Both.
    ReadWrite,
}

impl Interest {
    fn bits(self) -> u32 {
        let bits = match self {
            Interest::Read => libc::EPOLLIN,
            Interest::Write => libc::EPOLLOUT,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        bits.unsigned_abs()
    }
}

/// The events of one wait.
pub(crate) struct Events {
    list: Vec<libc::epoll_event>,
    count: usize,
}

impl Events {
    /// Room for `capacity` events a wait; more stay for the next.
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        Events { list: vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)], count: 0 }
    }

    /// How many events the last wait gave.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The token of event `i`.
    pub(crate) fn token(&self, i: usize) -> u64 {
        self.list[i].u64
    }
}

/// Set once `epoll_pwait2` (Linux 5.11) was found missing or forbidden.
static NO_PWAIT2: AtomicBool = AtomicBool::new(false);

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: takes a flag, returns a descriptor.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Epoll { fd })
    }

    fn control(&self, operation: libc::c_int, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.bits(), u64: token };
        // SAFETY: `event` is valid for the call; the kernel copies it.
        check(unsafe { libc::epoll_ctl(self.fd, operation, fd, &raw mut event) }).map(|_| ())
    }

    pub(crate) fn add(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest, token)
    }

    pub(crate) fn modify(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest, token)
    }

    /// Waits for events for at most `timeout_ns`. An interrupted wait gives none.
    pub(crate) fn wait(&self, timeout_ns: u64, events: &mut Events) -> io::Result<()> {
        events.count = 0;
        let capacity = libc::c_int::try_from(events.list.len()).unwrap_or(libc::c_int::MAX);
        let got = if NO_PWAIT2.load(Ordering::Relaxed) {
            // Rounded down: the caller looks at its clock again and waits anew.
            let milliseconds = libc::c_int::try_from(timeout_ns / 1_000_000).unwrap_or(libc::c_int::MAX);
            // SAFETY: the list has room for `capacity` events.
            check(unsafe { libc::epoll_wait(self.fd, events.list.as_mut_ptr(), capacity, milliseconds) })
        } else {
            let timeout = libc::timespec {
                tv_sec: libc::time_t::try_from(timeout_ns / NS_PER_S).unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::try_from(timeout_ns % NS_PER_S).unwrap_or(0),
            };
            // SAFETY: as above; `timeout` outlives the call; no signal mask.
            check(unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    self.fd,
                    events.list.as_mut_ptr(),
                    capacity,
                    &raw const timeout,
                    ptr::null::<libc::sigset_t>(),
                    0usize,
                )
            } as libc::c_int)
        };
        match got {
            Ok(count) => {
                events.count = count.unsigned_abs() as usize;
                Ok(())
            }
            Err(e) => match e.raw_os_error() {
                Some(libc::EINTR) => Ok(()),
                Some(libc::ENOSYS | libc::EPERM) if !NO_PWAIT2.swap(true, Ordering::Relaxed) => Ok(()),
                _ => Err(e),
            },
        }
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        close(self.fd);
    }
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
    begin_connect(fd, &RawAddress::inet(address))
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

/// Takes over `fd`, which is closed where the connect fails.
fn begin_connect(fd: RawFd, to: &RawAddress) -> io::Result<(RawFd, Connecting)> {
    // SAFETY: the address is valid and of the length given.
    match check(unsafe { libc::connect(fd, (&raw const to.storage).cast(), to.length) }) {
        Ok(_) => Ok((fd, Connecting::Done)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EINPROGRESS | libc::EINTR)) => {
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

/// Whether a socket is connected to itself, which TCP allows when a client on
/// an ephemeral port dials that very port: it would answer its own requests.
pub(crate) fn connected_to_itself(fd: RawFd) -> bool {
    // SAFETY: sockaddr_storage is plain data large enough for any address;
    // the lengths said are its own.
    unsafe {
        let mut own: libc::sockaddr_storage = mem::zeroed();
        let mut peer: libc::sockaddr_storage = mem::zeroed();
        let mut own_length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        let mut peer_length = own_length;
        if libc::getsockname(fd, (&raw mut own).cast(), &raw mut own_length) != 0
            || libc::getpeername(fd, (&raw mut peer).cast(), &raw mut peer_length) != 0
            || own_length != peer_length
        {
            return false;
        }
        let bytes = |storage: *const libc::sockaddr_storage| {
            std::slice::from_raw_parts(storage.cast::<u8>(), own_length as usize)
        };
        bytes(&raw const own) == bytes(&raw const peer)
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

/// Software stamps of arriving packets, reported with what is read.
const STAMP_FLAGS: libc::c_uint = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;

/// Asks the kernel to stamp what arrives on a socket.
pub(crate) fn stamp_arrivals(fd: RawFd) -> io::Result<()> {
    let flags = STAMP_FLAGS;
    // SAFETY: the option's value is a valid unsigned int for the call.
    check(unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of::<libc::c_uint>() as libc::socklen_t,
        )
    })
    .map(|_| ())
}

/// A socket that does nothing but keep stamping switched on.
#[derive(Debug)]
pub(crate) struct Stamper {
    fd: RawFd,
}

impl Stamper {
    pub(crate) fn open() -> io::Result<Stamper> {
        // SAFETY: takes integers, returns a descriptor.
        let fd = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
        let stamper = Stamper { fd };
        stamp_arrivals(fd)?;
        Ok(stamper)
    }
}

impl Drop for Stamper {
    fn drop(&mut self) {
        close(self.fd);
    }
}

/// Wall clock − monotonic clock, in nanoseconds: of three readings between
/// two of the monotonic clock the one that took least.
pub(crate) fn realtime_offset_ns() -> i64 {
    let reading = |_| {
        let (before, wall, after) = (now_ns(), clock_ns(libc::CLOCK_REALTIME), now_ns());
        let middle = before + (after - before) / 2;
        (after - before, wall.cast_signed() - middle.cast_signed())
    };
    (0..3).map(reading).min().map_or(0, |(_, offset)| offset)
}

/// Room for one control message of three timespecs (64 bytes), aligned as its header is.
#[repr(C, align(8))]
struct ControlRoom([u8; 128]);

/// Reads what has arrived, with the wall clock's stamp of the packet that
/// brought the last byte, if it has one; 0 is the peer's end.
pub(crate) fn recv_stamped(fd: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    receive(fd, part, 0)
}

/// As [`recv_stamped`], but drops the bytes, at most `most`, without copying
/// them. For TCP only, whose sockets touch no memory with MSG_TRUNC (tcp(7)).
pub(crate) fn discard_stamped(fd: RawFd, most: usize) -> io::Result<(usize, Option<u64>)> {
    let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: most };
    receive(fd, part, libc::MSG_TRUNC)
}

/// `part` is memory that may be written, or, with MSG_TRUNC on TCP, none.
fn receive(fd: RawFd, mut part: libc::iovec, flags: libc::c_int) -> io::Result<(usize, Option<u64>)> {
    let mut control = ControlRoom([0; 128]);
    // SAFETY: msghdr is plain data; every pointer in it is valid, of the length
    // said, and outlives the call. CMSG_FIRSTHDR gives null or a header that
    // lies whole within the control bytes that the kernel says it wrote; its
    // data is read unaligned, and only if it is as long as three timespecs.
    unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<ControlRoom>();
        let got = libc::recvmsg(fd, &raw mut message, flags);
        let count = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_TIMESTAMPING
            || ((*header).cmsg_len as usize) < libc::CMSG_LEN(48) as usize
        {
            return Ok((count, None));
        }
        let software = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>());
        let stamp = software.tv_sec.unsigned_abs() * NS_PER_S + software.tv_nsec.unsigned_abs();
        Ok((count, (stamp > 0).then_some(stamp)))
    }
}
