//! Waiting for connections, to the nanosecond.

use std::io;
use std::os::fd::RawFd;
use std::ptr;

use prony_model::measurement::Waits;

use super::{NS_PER_S, check, close};

/// The token of the timer that ends waits: none of a connection's.
const TIMER_TOKEN: u64 = u64::MAX;

/// An epoll instance.
#[derive(Debug)]
pub(crate) struct Epoll {
    fd: RawFd,
    /// What ends waits where `epoll_pwait2` (Linux 5.11) is missing or forbidden.
    timer: Option<Timer>,
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

    fn capacity(&self) -> libc::c_int {
        libc::c_int::try_from(self.list.len()).unwrap_or(libc::c_int::MAX)
    }

    /// How many events the last wait gave.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Takes the event of this token out, if it is among them.
    pub(crate) fn take(&mut self, token: u64) -> bool {
        let Some(at) = self.list[..self.count].iter().position(|event| event.u64 == token) else {
            return false;
        };
        self.count -= 1;
        self.list.swap(at, self.count);
        true
    }

    /// The token of event `i`.
    pub(crate) fn token(&self, i: usize) -> u64 {
        self.list[i].u64
    }
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        // SAFETY: takes a flag, returns a descriptor.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Epoll { fd, timer: None })
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

    /// What ends waits, as far as is known.
    pub(crate) fn waits(&self) -> Waits {
        if self.timer.is_some() { Waits::Timerfd } else { Waits::Pwait2 }
    }

    /// Waits for events for at most `timeout_ns`. An interrupted wait gives none.
    pub(crate) fn wait(&mut self, timeout_ns: u64, events: &mut Events) -> io::Result<()> {
        events.count = 0;
        let got = match &self.timer {
            None => self.pwait2(timeout_ns, events),
            Some(timer) => {
                // Armed anew, it is not readable any more.
                let armed = if timeout_ns > 0 { timer.arm(timeout_ns) } else { Ok(()) };
                armed.and_then(|()| self.plain_wait(if timeout_ns > 0 { -1 } else { 0 }, events))
            }
        };
        match got {
            Ok(count) => {
                events.count = count.unsigned_abs() as usize;
                if self.timer.is_some() {
                    events.take(TIMER_TOKEN);
                }
                Ok(())
            }
            Err(e) => match e.raw_os_error() {
                Some(libc::EINTR) => Ok(()),
                // A kernel before 5.11, or a filter of system calls that does not know this one.
                // The caller looks at its clock again and waits anew.
                Some(libc::ENOSYS | libc::EPERM) if self.timer.is_none() => {
                    let timer = Timer::new()?;
                    self.add(timer.fd, Interest::Read, TIMER_TOKEN)?;
                    self.timer = Some(timer);
                    Ok(())
                }
                _ => Err(e),
            },
        }
    }

    fn pwait2(&self, timeout_ns: u64, events: &mut Events) -> io::Result<libc::c_int> {
        let timeout = timespec(timeout_ns);
        // SAFETY: the list has room for `capacity` events; `timeout` outlives the call; no signal mask.
        check(unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd,
                events.list.as_mut_ptr(),
                events.capacity(),
                &raw const timeout,
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        } as libc::c_int)
    }

    /// Waits without a time that is worth the name: for ever (-1), or not at all (0).
    fn plain_wait(&self, milliseconds: libc::c_int, events: &mut Events) -> io::Result<libc::c_int> {
        let capacity = events.capacity();
        // SAFETY: the list has room for `capacity` events.
        check(unsafe { libc::epoll_wait(self.fd, events.list.as_mut_ptr(), capacity, milliseconds) })
    }
}

impl Drop for Epoll {
    fn drop(&mut self) {
        close(self.fd);
    }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(ns / NS_PER_S).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::try_from(ns % NS_PER_S).unwrap_or(0),
    }
}

/// A timer on the monotonic clock that is waited for as a connection is.
#[derive(Debug)]
struct Timer {
    fd: RawFd,
}

impl Timer {
    fn new() -> io::Result<Timer> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: takes integers, returns a descriptor.
        check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }).map(|fd| Timer { fd })
    }

    /// Becomes readable after so long, and not before, whatever it was set to.
    fn arm(&self, after_ns: u64) -> io::Result<()> {
        let due = libc::itimerspec { it_interval: timespec(0), it_value: timespec(after_ns) };
        // SAFETY: `due` is valid for the call; the old value is not asked for.
        check(unsafe { libc::timerfd_settime(self.fd, 0, &raw const due, ptr::null_mut()) }).map(|_| ())
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        close(self.fd);
    }
}

/// Makes a system call fail with `errno` in this thread and in those that it
/// starts, for good, as a sandbox does (seccomp(2)).
#[cfg(test)]
pub(crate) fn refuse_here(call: libc::c_long, errno: i32) {
    let step = |code: u32, jump_if_not: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: jump_if_not,
        k,
    };
    let mut filter = [
        // The call's number is the first word of what the filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs()),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` points to as many steps as it says, and the kernel copies them.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)).unwrap();
        let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
        check(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program)).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::now_ns;
    use std::thread;

    /// Waits for 7 ms in pieces; how many, and none of them may end before its time.
    fn waited(epoll: &mut Epoll) -> u32 {
        let mut events = Events::with_capacity(4);
        let (begun, mut waits) = (now_ns(), 0);
        loop {
            let left = (begun + 7_000_000).saturating_sub(now_ns());
            if left == 0 {
                return waits;
            }
            let before = now_ns();
            epoll.wait(left.min(3_500_123), &mut events).unwrap();
            waits += 1;
            assert_eq!(events.len(), 0, "a wait's own end is no event");
            assert!(waits == 1 || now_ns() - before >= left.min(3_500_123), "a wait ended before its time");
        }
    }

    #[test]
    fn where_pwait2_is_refused_a_timer_ends_waits_to_the_nanosecond() {
        for errno in [libc::ENOSYS, libc::EPERM] {
            thread::spawn(move || {
                refuse_here(libc::SYS_epoll_pwait2, errno);
                let mut epoll = Epoll::new().unwrap();
                // The refused call, and two or three waits: rounded to milliseconds, thousands would be needed.
                assert!(waited(&mut epoll) <= 4);
                assert_eq!(epoll.waits(), Waits::Timerfd);
                // Not at all is not for ever.
                epoll.wait(0, &mut Events::with_capacity(4)).unwrap();
            })
            .join()
            .unwrap();
        }
        let mut epoll = Epoll::new().unwrap();
        assert!(waited(&mut epoll) <= 4);
        assert_eq!(epoll.waits(), Waits::Pwait2);
    }
}
