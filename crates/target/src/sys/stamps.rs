//! When bytes arrived by the kernel's account: its software receive stamps, on this server's clock.

use std::io;
use std::mem::{self, size_of};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use rustix::time::ClockId;

use super::{SECOND_NS, clock_ns, now_ns};

/// Software stamps of arriving packets, reported with what is read (Linux, *Documentation/networking/timestamping.rst*).
const FLAGS: libc::c_uint = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
/// Slewing moves both clocks alike, and a step of the wall clock is noticed within this time. Nine readings: 0.3 µs.
const OFFSET_NS_MAX: u64 = 100_000_000;

pub(crate) struct Stamps {
    /// Wall clock − monotonic clock; stamps are of the wall clock.
    offset_ns: i64,
    read_ns: u64,
}

impl Stamps {
    /// `None` where this kernel has none. Connections inherit it; the first packet after the switch goes without.
    pub(crate) fn ask(listener: &TcpListener) -> Option<Stamps> {
        let flags = FLAGS;
        // SAFETY: the value is an unsigned int that lives across the call, and its size is given.
        let asked = unsafe {
            libc::setsockopt(
                listener.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPING,
                (&raw const flags).cast(),
                size_of::<libc::c_uint>() as libc::socklen_t,
            )
        };
        (asked == 0).then(|| Stamps { offset_ns: offset_ns(), read_ns: now_ns() })
    }

    pub(crate) fn keep(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.read_ns) > OFFSET_NS_MAX {
            *self = Stamps { offset_ns: offset_ns(), read_ns: now_ns };
        }
    }

    pub(crate) fn monotonic_ns(&self, stamp_ns: u64) -> Option<u64> {
        stamp_ns.checked_add_signed(-self.offset_ns)
    }
}

/// Of three readings between two of the monotonic clock, the one that took least.
fn offset_ns() -> i64 {
    let reading = |_| {
        let (before, wall, after) = (now_ns(), clock_ns(ClockId::Realtime), now_ns());
        let middle = before + (after - before) / 2;
        (after - before, wall.cast_signed() - middle.cast_signed())
    };
    (0..3).map(reading).min().map_or(0, |(_, offset)| offset)
}

/// Room for one control message of three timespecs (64 bytes), aligned as its header is.
#[repr(C, align(8))]
struct ControlRoom([u8; 128]);

/// With the wall clock's stamp of the packet that brought the last byte, if it has one. 0 is the client's end.
pub(crate) fn recv(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = ControlRoom([0; 128]);
    // SAFETY: msghdr is plain data; every pointer in it is valid, of the length said, and outlives the call. CMSG_FIRSTHDR
    // gives null or a header that lies whole within the control bytes that the kernel says it wrote; its data is read
    // unaligned, and only if it is as long as three timespecs.
    unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<ControlRoom>() as _;
        let got = libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0);
        let count = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_TIMESTAMPING
            || ((*header).cmsg_len as usize)
                < libc::CMSG_LEN(3 * size_of::<libc::timespec>() as libc::c_uint) as usize
        {
            return Ok((count, None));
        }
        let software = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>());
        let stamp = software.tv_sec.unsigned_abs() * SECOND_NS + software.tv_nsec.unsigned_abs();
        Ok((count, (stamp > 0).then_some(stamp)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{accept, listen, wait_readable};
    use std::io::Write;
    use std::net::TcpStream;

    fn wall_ns() -> u64 {
        clock_ns(ClockId::Realtime)
    }

    #[test]
    fn accepted_connections_are_stamped_between_send_and_read() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), false).unwrap();
        let stamps = Stamps::ask(&listener).expect("Linux stamps what a socket that asks for it receives");
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(wait_readable(listener.as_fd(), None).unwrap());
        let stream = accept(&listener).unwrap();
        let mut buffer = [0; 64];
        let mut stamped = 0;
        // The kernel switches stamping on in its own time.
        while stamped < 3 {
            let before_ns = wall_ns();
            client.write_all(b"hello").unwrap();
            assert!(wait_readable(stream.as_fd(), None).unwrap());
            let (count, stamp) = recv(stream.as_fd(), &mut buffer).unwrap();
            assert_eq!(&buffer[..count], b"hello");
            if let Some(stamp) = stamp {
                stamped += 1;
                assert!((before_ns..=wall_ns()).contains(&stamp));
                let monotonic_ns = stamp.cast_signed() - stamps.offset_ns;
                assert_eq!(stamps.monotonic_ns(stamp).map(u64::cast_signed), Some(monotonic_ns));
            }
        }
        drop(client);
        assert!(wait_readable(stream.as_fd(), None).unwrap());
        assert_eq!(recv(stream.as_fd(), &mut buffer).unwrap().0, 0);
    }

    #[test]
    fn a_step_of_the_wall_clock_is_noticed_in_a_tenth_of_a_second() {
        let wrong_ns = offset_ns() + 3_600_000_000_000;
        let mut stamps = Stamps { offset_ns: wrong_ns, read_ns: now_ns() };
        stamps.keep(stamps.read_ns + OFFSET_NS_MAX);
        assert_eq!(stamps.offset_ns, wrong_ns);
        let (wall, monotonic) = (wall_ns(), now_ns());
        stamps.keep(stamps.read_ns + OFFSET_NS_MAX + 1);
        // Both clocks were read within the call.
        let least = wall.cast_signed() - now_ns().cast_signed();
        let most = wall_ns().cast_signed() - monotonic.cast_signed();
        assert!(
            (least..=most).contains(&stamps.offset_ns),
            "{} is not in {least}..={most}",
            stamps.offset_ns
        );
    }
}
