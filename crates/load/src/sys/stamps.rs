//! The kernel's receive stamps, and the clock that they are of.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::{NS_PER_S, clock_ns, now_ns, set_option};

const STAMP_FLAGS: libc::c_uint = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;

pub(crate) fn stamp_arrivals(fd: RawFd) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, STAMP_FLAGS.cast_signed())
}

/// A socket that does nothing but keep stamping switched on.
pub(crate) fn stamper() -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    stamp_arrivals(socket.as_raw_fd())?;
    Ok(socket)
}

/// Wall clock − monotonic clock, in nanoseconds: of three readings between two of the monotonic clock the quickest.
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
struct ControlRoom([u8; ROOM as usize]);
/// In bytes; as an integer that every C library's type of a length can be made of.
const ROOM: u8 = 128;

/// Reads what has arrived, with the wall clock's stamp of its last packet, if it has one; 0 is the peer's end.
pub(crate) fn recv_stamped(fd: RawFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    receive(fd, part, 0)
}

/// As [`recv_stamped`], but drops at most `most` bytes uncopied. TCP only: MSG_TRUNC touches no memory (tcp(7)).
pub(crate) fn discard_stamped(fd: RawFd, most: usize) -> io::Result<(usize, Option<u64>)> {
    let part = libc::iovec { iov_base: ptr::null_mut(), iov_len: most };
    receive(fd, part, libc::MSG_TRUNC)
}

/// `part` is memory that may be written, or, with MSG_TRUNC on TCP, none.
fn receive(fd: RawFd, mut part: libc::iovec, flags: libc::c_int) -> io::Result<(usize, Option<u64>)> {
    let mut control = ControlRoom([0; ROOM as usize]);
    // SAFETY: msghdr is plain data; every pointer in it is valid, of the length
    // said, and outlives the call. CMSG_FIRSTHDR gives null or a header that
    // lies whole within the control bytes that the kernel says it wrote; its
    // data is read unaligned, and only if it is as long as three timespecs.
    unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = ROOM.into();
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

/// Says when the wall clock was stepped: due at the end of time, cancelled by each step (TFD_TIMER_CANCEL_ON_SET).
#[derive(Debug)]
pub(crate) struct ClockSteps {
    timer: OwnedFd,
}

impl ClockSteps {
    pub(crate) fn open() -> io::Result<ClockSteps> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let steps = ClockSteps { timer: timerfd_create(TimerfdClockId::Realtime, flags)? };
        steps.arm(i64::MAX)?;
        Ok(steps)
    }

    fn arm(&self, at_s: i64) -> io::Result<()> {
        let due =
            Itimerspec { it_interval: Timespec::default(), it_value: Timespec { tv_sec: at_s, tv_nsec: 1 } };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&self.timer, flags, &due)?;
        Ok(())
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.timer.as_raw_fd()
    }

    pub(crate) fn noted(&self) -> io::Result<()> {
        // What is read does not matter: ECANCELED is the step.
        let _ = rustix::io::read(&self.timer, &mut [0; size_of::<u64>()]);
        self.arm(i64::MAX)
    }

    /// Becomes readable at once, as after a step.
    #[cfg(test)]
    pub(crate) fn pretend(&self) {
        self.arm(1).unwrap();
    }
}
