//! The system calls: every line of `unsafe` of this crate is here.
//!
//! `libc` and not mio or rustix: both round waits to milliseconds, and a server whose delays are its truth has to wait
//! by the nanosecond. Reading, writing and shutting down go through `std::net`, which makes exactly one `recv` or
//! `send` (with `MSG_NOSIGNAL`) per call.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::mem::size_of;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

mod stamps;

pub(crate) use stamps::{Stamps, recv};

/// Bytes can be read, or the peer has ended its side.
pub(crate) const READABLE: u32 = libc::EPOLLIN as u32;
/// Bytes can be written.
pub(crate) const WRITABLE: u32 = libc::EPOLLOUT as u32;
/// The connection is over in both directions. Reported whether asked for or not.
pub(crate) const BROKEN: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;

/// Connections the kernel may hold for us before they are accepted; it cuts this down to `net.core.somaxconn`.
const BACKLOG: libc::c_int = 4096;

/// Nanoseconds in a second.
const SECOND_NS: u64 = 1_000_000_000;

/// Now, in nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec that lives across the call. The call cannot fail for the clocks used here.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    (now.tv_sec as u64) * SECOND_NS + now.tv_nsec as u64
}

/// Lets this thread's timers fire when they are due; by default the kernel may add 50 µs to save wake-ups.
pub(crate) fn sharpen_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes one integer, touches this thread only, and no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Turns `-1` into the error of the last call.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that a call has just returned.
fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the callers pass a descriptor the kernel has just created for them and that nothing else knows.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(ns / SECOND_NS).unwrap_or(libc::time_t::MAX),
        tv_nsec: (ns % SECOND_NS) as libc::c_long,
    }
}

/// One report of the poller.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Event(libc::epoll_event);

impl Event {
    /// An empty one, to be filled in.
    pub(crate) const EMPTY: Event = Event(libc::epoll_event { events: 0, u64: 0 });

    /// The number the descriptor was added with.
    pub(crate) fn token(self) -> u64 {
        self.0.u64
    }

    /// Whether any of these conditions is reported.
    pub(crate) fn has(self, conditions: u32) -> bool {
        self.0.events & conditions != 0
    }
}

/// A level-triggered epoll instance that waits by the nanosecond.
pub(crate) struct Poller {
    fd: OwnedFd,
    /// Cleared when `epoll_pwait2` is refused: Linux before 5.11, or a sandbox that doesn't know it.
    has_pwait2: bool,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        // SAFETY: takes no pointer.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Poller { fd: own(fd), has_pwait2: true })
    }

    /// Watches `fd` for `conditions`; its reports carry `token`. Closing the descriptor ends the watch.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, conditions: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, conditions)
    }

    /// Changes what a watched descriptor is watched for.
    pub(crate) fn change(&self, fd: BorrowedFd<'_>, token: u64, conditions: u32) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, conditions)
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: BorrowedFd<'_>,
        token: u64,
        conditions: u32,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event { events: conditions, u64: token };
        // SAFETY: both descriptors are open for as long as they are borrowed; the kernel copies `event` in the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd.as_raw_fd(), &raw mut event) })?;
        Ok(())
    }

    /// Waits until something is reported or `timeout_ns` is over (`None`: for ever). An interrupted wait reports nothing.
    pub(crate) fn wait(&mut self, events: &mut [Event], timeout_ns: Option<u64>) -> io::Result<usize> {
        if self.has_pwait2 {
            match self.wait_pwait2(events, timeout_ns) {
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                    self.has_pwait2 = false;
                }

                Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(0),
                result => return result,
            }
        }
        // ppoll takes nanoseconds and is everywhere: one more call, but no answer is late by a rounded millisecond.
        if !wait_readable(self.fd.as_fd(), timeout_ns)? {
            return Ok(0);
        }
        // SAFETY: `events` is valid for its length, and `Event` is a transparent epoll_event.
        let count = check(unsafe {
            libc::epoll_wait(self.fd.as_raw_fd(), events.as_mut_ptr().cast(), events.len() as libc::c_int, 0)
        });
        match count {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            count => count.map(|n| n as usize),
        }
    }

    fn wait_pwait2(&self, events: &mut [Event], timeout_ns: Option<u64>) -> io::Result<usize> {
        let timeout = timeout_ns.map(timespec);
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `events` is valid for its length, `Event` is a transparent epoll_event, `timeout` is null or points
        // to a timespec that lives across the call, and a null signal mask is allowed.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                events.as_mut_ptr(),
                events.len() as libc::c_int,
                timeout,
                ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count as usize) }
    }
}

/// Waits until `fd` is readable (true) or `timeout_ns` is over, or a signal came (false).
pub(crate) fn wait_readable(fd: BorrowedFd<'_>, timeout_ns: Option<u64>) -> io::Result<bool> {
    let timeout = timeout_ns.map(timespec);
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one pollfd and a null or valid timespec, all living across the call; a null signal mask is allowed.
    match check(unsafe { libc::ppoll(&raw mut poll, 1, timeout, ptr::null()) }) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        result => result.map(|n| n > 0),
    }
}

/// A doorbell between threads. Once rung it stays readable.
pub(crate) struct Bell(File);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        // SAFETY: takes no pointer.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        Ok(Bell(File::from(own(fd))))
    }

    /// Makes it readable. Fails only when it was rung 2^64 − 2 times, and then it is readable.
    pub(crate) fn ring(&self) {
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A non-blocking listener on `address`. With `share_port`, others of this user may listen on it as well, and the
/// kernel spreads the connections by a hash of their addresses.
pub(crate) fn listen(address: SocketAddr, share_port: bool) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    let socket = own(check(unsafe { libc::socket(family, kind, 0) })?);
    switch_on(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR)?;
    if share_port {
        switch_on(&socket, libc::SOL_SOCKET, libc::SO_REUSEPORT)?;
    }
    // Linux hands this down to every accepted connection, which saves a call for each.
    switch_on(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    bind(&socket, address)?;
    // SAFETY: takes no pointer; the descriptor is ours.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(TcpListener::from(socket))
}

fn switch_on(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the value is an int that lives across the call, and its size is given.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

fn bind(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    let result = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: a sockaddr_in with its own size, living across the call.
            unsafe {
                libc::bind(fd, (&raw const raw).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: a sockaddr_in6 with its own size, living across the call.
            unsafe {
                libc::bind(fd, (&raw const raw).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    };
    check(result).map(|_| ())
}

/// The next waiting connection, non-blocking from birth (std's `accept` would need one more call for that).
pub(crate) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the peer's address isn't asked for, so both pointers may be null.
    let fd = check(unsafe { libc::accept4(listener.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) })?;
    Ok(TcpStream::from(own(fd)))
}

/// Whether an accept failed for want of descriptors or memory, which only time can mend.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pwait2_waits_end_when_due_and_reports_come() {
        let mut poller = Poller::new().unwrap();
        poller.has_pwait2 = false;
        let bell = Bell::new().unwrap();
        poller.add(bell.as_fd(), 7, READABLE).unwrap();
        let mut events = [Event::EMPTY; 4];
        let before_ns = now_ns();
        assert_eq!(poller.wait(&mut events, Some(300_000)).unwrap(), 0);
        assert!(now_ns() - before_ns >= 300_000);
        bell.ring();
        assert_eq!(poller.wait(&mut events, None).unwrap(), 1);
        assert_eq!(events[0].token(), 7);
        assert!(events[0].has(READABLE) && !events[0].has(BROKEN));
    }

    #[test]
    fn accepted_connections_inherit_nodelay_and_do_not_block() {
        let listener = listen("[::1]:0".parse().unwrap(), false)
            .or_else(|_| listen("127.0.0.1:0".parse().unwrap(), false))
            .unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(wait_readable(listener.as_fd(), None).unwrap());
        let stream = accept(&listener).unwrap();
        assert!(stream.nodelay().unwrap());
        assert_eq!(accept(&listener).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
