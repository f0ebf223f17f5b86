//! The system calls: every line of `unsafe` of this crate is here. Waits and the kernel's receive stamps go through
//! `libc`: mio and rustix round waits to milliseconds. Writing goes through `std::net`, which makes exactly one `send`
//! (with `MSG_NOSIGNAL`) per call.
#![allow(unsafe_code)]

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

pub(crate) use rustix::event::epoll::{Event, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};

mod stamps;

pub(crate) use stamps::{Stamps, recv};

pub(crate) const NO_EVENT: Event = Event { flags: EventFlags::empty(), data: epoll::EventData::new_u64(0) };

/// Connections the kernel may hold for us before they are accepted; it cuts this down to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

const SECOND_NS: u64 = 1_000_000_000;

/// Now, in nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.cast_unsigned() * SECOND_NS + now.tv_nsec.cast_unsigned()
}

/// Lets this thread's timers fire when they are due; by default the kernel may add 50 µs to save wake-ups.
pub(crate) fn tighten_timer_slack() {
    // A refusal makes answers later, which the ledger shows.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / SECOND_NS).cast_signed(), tv_nsec: (ns % SECOND_NS).cast_signed() }
}

/// A level-triggered epoll instance that waits by the nanosecond.
pub(crate) struct Poller {
    fd: OwnedFd,
    /// Cleared when `epoll_pwait2` is refused: Linux before 5.11, or a sandbox that doesn't know it.
    has_pwait2: bool,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Poller> {
        Ok(Poller { fd: epoll::create(epoll::CreateFlags::CLOEXEC)?, has_pwait2: true })
    }

    /// Watches `fd` for `conditions`; its reports carry `token`. Closing the descriptor ends the watch.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, conditions: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.fd, fd, epoll::EventData::new_u64(token), conditions)?)
    }

    pub(crate) fn change(&self, fd: BorrowedFd<'_>, token: u64, conditions: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.fd, fd, epoll::EventData::new_u64(token), conditions)?)
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
        match epoll::wait(&self.fd, events, Some(&timespec(0))) {
            Err(Errno::INTR) => Ok(0),
            count => Ok(count?),
        }
    }

    fn wait_pwait2(&self, events: &mut [Event], timeout_ns: Option<u64>) -> io::Result<usize> {
        let timeout = timeout_ns.map(timespec);
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `events` is valid for its length, `Event` is laid out as the kernel's, `timeout` is null or points to a
        // timespec that lives across the call, and a null signal mask is allowed.
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
    match poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], timeout.as_ref()) {
        Err(Errno::INTR) => Ok(false),
        count => Ok(count? > 0),
    }
}

/// Wakes a thread that waits for it to become readable. Once set it stays so.
pub(crate) struct Wakeup(OwnedFd);

impl Wakeup {
    pub(crate) fn new() -> io::Result<Wakeup> {
        Ok(Wakeup(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes it readable. Fails only when it was set 2^64 − 2 times, and then it is readable.
    pub(crate) fn set(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// With `share_port`, others of this user may listen as well: the kernel spreads connections by a hash of addresses.
pub(crate) fn listen(address: SocketAddr, share_port: bool) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if share_port {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    // Linux hands this down to every accepted connection, which saves a call for each.
    sockopt::set_tcp_nodelay(&socket, true)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

/// The next waiting connection, non-blocking from birth (std's `accept` would need one more call for that).
pub(crate) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    Ok(TcpStream::from(net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?))
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
        let wakeup = Wakeup::new().unwrap();
        poller.add(wakeup.as_fd(), 7, EventFlags::IN).unwrap();
        let mut events = [NO_EVENT; 4];
        let before_ns = now_ns();
        assert_eq!(poller.wait(&mut events, Some(300_000)).unwrap(), 0);
        assert!(now_ns() - before_ns >= 300_000);
        wakeup.set();
        assert_eq!(poller.wait(&mut events, None).unwrap(), 1);
        let Event { flags, data } = events[0];
        assert_eq!((data.u64(), flags), (7, EventFlags::IN));
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
