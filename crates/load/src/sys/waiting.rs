//! Waiting for connections, to the nanosecond.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use prony_model::measurement::Waits;

use super::{NS_PER_S, borrow, check};

/// The token of the timer that ends waits: none of a connection's.
const TIMER_TOKEN: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Epoll {
    fd: OwnedFd,
    /// What ends waits where `epoll_pwait2` (Linux 5.11) is missing or forbidden.
    timer: Option<Timer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Bytes or the peer's end.
    Read,
    Write,
    ReadWrite,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Interest::Read => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
            Interest::ReadWrite => EventFlags::IN | EventFlags::OUT,
        }
    }
}

pub(crate) struct Events {
    list: Vec<Event>,
    count: usize,
}

impl Events {
    /// Room for `capacity` events a wait; more stay for the next.
    pub(crate) fn with_capacity(capacity: usize) -> Events {
        let none = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Events { list: vec![none; capacity.max(1)], count: 0 }
    }

    fn capacity(&self) -> libc::c_int {
        libc::c_int::try_from(self.list.len()).unwrap_or(libc::c_int::MAX)
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn take(&mut self, token: u64) -> bool {
        let Some(at) = self.list[..self.count].iter().position(|event| event.data.u64() == token) else {
            return false;
        };
        self.count -= 1;
        self.list.swap(at, self.count);
        true
    }

    pub(crate) fn token(&self, i: usize) -> u64 {
        self.list[i].data.u64()
    }
}

impl Epoll {
    pub(crate) fn new() -> io::Result<Epoll> {
        Ok(Epoll { fd: epoll::create(epoll::CreateFlags::CLOEXEC)?, timer: None })
    }

    pub(crate) fn add(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        Ok(epoll::add(&self.fd, borrow(fd), EventData::new_u64(token), interest.flags())?)
    }

    pub(crate) fn modify(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        Ok(epoll::modify(&self.fd, borrow(fd), EventData::new_u64(token), interest.flags())?)
    }

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
                let timeout = (timeout_ns == 0).then(Timespec::default);
                armed.and_then(|()| Ok(epoll::wait(&self.fd, &mut events.list[..], timeout.as_ref())?))
            }
        };
        match got {
            Ok(count) => {
                events.count = count;
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
                    self.add(timer.0.as_raw_fd(), Interest::Read, TIMER_TOKEN)?;
                    self.timer = Some(timer);
                    Ok(())
                }
                _ => Err(e),
            },
        }
    }

    fn pwait2(&self, timeout_ns: u64, events: &mut Events) -> io::Result<usize> {
        let timeout = timespec(timeout_ns);
        // SAFETY: the list, whose events are laid out as the kernel's, has room for `capacity` of them; `timeout`
        // outlives the call; no signal mask.
        let count = check(unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.fd.as_raw_fd(),
                events.list.as_mut_ptr(),
                events.capacity(),
                &raw const timeout,
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        } as libc::c_int)?;
        Ok(count.unsigned_abs() as usize)
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / NS_PER_S).cast_signed(), tv_nsec: (ns % NS_PER_S).cast_signed() }
}

/// A timer on the monotonic clock that is waited for as a connection is.
#[derive(Debug)]
struct Timer(OwnedFd);

impl Timer {
    fn new() -> io::Result<Timer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(Timer(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Becomes readable after so long, and not before, whatever it was set to.
    fn arm(&self, after_ns: u64) -> io::Result<()> {
        let due = Itimerspec { it_interval: timespec(0), it_value: timespec(after_ns) };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &due)?;
        Ok(())
    }
}

/// Makes a call whose argument of this number is not 0 fail with `errno`, here and in child threads (seccomp(2)).
#[cfg(test)]
pub(crate) fn refuse_here(call: libc::c_long, argument: u32, errno: i32) {
    let step = |code: u32, jump_if_not: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: jump_if_not,
        k,
    };
    let mut filter = [
        // The call's number is the first word of what the filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 3, call as u32),
        // Arguments are eight bytes each, after 16 others; the low half of one.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 16 + 8 * argument),
        step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 1, 0),
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
    fn without_pwait2_a_timer_ends_waits_to_the_nanosecond() {
        for errno in [libc::ENOSYS, libc::EPERM] {
            thread::spawn(move || {
                refuse_here(libc::SYS_epoll_pwait2, 0, errno);
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
