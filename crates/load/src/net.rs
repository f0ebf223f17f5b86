//! What a worker needs of the world: a clock, connections and a way to wait. A worker is generic over this trait alone,
//! so that the very loop that loads servers also runs under a simulated clock and network.

pub mod dial;
pub(crate) mod endpoint;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use crate::net::endpoint::Endpoint;
use crate::sys;
pub(crate) use crate::sys::{Connecting, Handle, Interest, would_block};
use crate::tls;
use prony_model::measurement::{TlsUse, Waits};

pub(crate) const NO_HANDLE: Handle = -1;

pub(crate) trait Net {
    /// The monotonic clock in nanoseconds.
    fn now_ns(&mut self) -> u64;
    fn cpu_ns(&mut self) -> u64;
    /// Starts a connect to the origin's address of this number and watches it under `token`: for its end where it is pending, for reading where it is done.
    fn connect(&mut self, token: u64, address: u32) -> io::Result<(Handle, Connecting)>;
    /// How a pending connect ended; `WouldBlock` while more than TCP has to be agreed on.
    fn connect_result(&mut self, handle: Handle) -> io::Result<()>;
    /// Whether the kernel has sent something of this connection again, which has sent no request yet.
    fn was_retried(&self, _handle: Handle) -> bool {
        false
    }
    fn watch(&mut self, handle: Handle, interest: Interest, token: u64) -> io::Result<()>;
    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize>;
    /// Reads what has arrived; 0 is the peer's end.
    fn recv(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize>;
    /// Reads, with the kernel's stamp of the last byte on the clock of [`Net::now_ns`]; 0 bytes is the peer's end.
    fn recv_stamped(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)>;
    /// Drops at most `most` arrived bytes uncopied; gives what [`Net::recv_stamped`] would. Only if [`Net::discards`].
    fn discard(&mut self, handle: Handle, most: usize) -> io::Result<(usize, Option<u64>)>;
    fn discards(&self) -> bool;
    fn stamps(&self) -> bool;
    /// Asks for no event before so many bytes have arrived, the peer's end apart; 1 for any.
    fn wake_at(&mut self, _handle: Handle, _bytes: u32) {}
    fn lingers(&self) -> bool {
        false
    }
    fn close(&mut self, handle: Handle);
    /// Waits for events until `until_ns`, or less, maybe with none. Gives how many there are.
    fn wait(&mut self, now_ns: u64, until_ns: u64) -> io::Result<usize>;
    fn token(&self, i: usize) -> u64;
    /// Sends what a connect that succeeded still owes, where no request follows at once.
    fn settle(&mut self, _handle: Handle) -> io::Result<()> {
        Ok(())
    }
    /// The connection carries no more requests: what still comes over it is no answer.
    fn leave(&mut self, _handle: Handle) {}
    /// The same, and the server is told that nothing more is sent.
    fn end(&mut self, _handle: Handle) {}
    /// A request begins on this token's slot, before any call for it: for who keeps an account of the worker.
    fn begun(&mut self, _token: u64) {}
    fn waits(&self) -> Waits {
        Waits::Pwait2
    }
    /// What TLS was agreed on so far, and when first; `None` where it is not spoken.
    fn tls(&self) -> Option<(TlsUse, u64)> {
        None
    }
}

/// Longer waits end so much early and go on: a deeply sleeping processor wakes late, which the second wait repairs.
const EARLY_NS: u64 = 5_000_000;
/// Waits longer than this are taken in two steps.
const LONG_WAIT_NS: u64 = 10_000_000;

/// Events looked at in one round: 64 take a quarter of a millisecond, so that deadlines and gaps are looked at often.
const EVENTS_MAX: usize = 64;

/// How often the wall clock's offset (stamps are of it) is read anew, beside each step. Both clocks are slewed alike.
const OFFSET_EVERY_NS: u64 = 100_000_000;

/// The token of what tells of steps: none of a connection's, nor the waits' own.
const STEPS_TOKEN: u64 = u64::MAX - 1;

pub(crate) struct Linux {
    epoll: sys::Epoll,
    events: sys::Events,
    endpoint: Endpoint,
    next_source: usize,
    /// Keeps the kernel's stamping on (packets just after switching go without). `None`: not asked for, or refused.
    stamper: Option<OwnedFd>,
    /// Tells of steps of the wall clock, where stamps are of it and the kernel will.
    steps: Option<sys::ClockSteps>,
    /// Wall clock − monotonic clock.
    offset_ns: i64,
    offset_read_ns: u64,
    tls: Option<tls::Table>,
}

impl Linux {
    /// With `stamps`, arrivals are stamped by the kernel, where it will.
    pub(crate) fn new(endpoint: Endpoint, tls: Option<&tls::Setup>, stamps: bool) -> io::Result<Linux> {
        let epoll = sys::Epoll::new()?;
        // What arrives on a Unix socket is never a packet.
        let stamps = stamps && matches!(endpoint, Endpoint::Tcp { .. });
        let stamper = if stamps { sys::stamper().ok() } else { None };
        let steps = stamper.as_ref().and_then(|_| sys::ClockSteps::open().ok());
        // Without, a step is noticed with the next reading of the offset.
        let steps = steps.filter(|s| epoll.add(s.fd(), Interest::Read, STEPS_TOKEN).is_ok());
        Ok(Linux {
            epoll,
            events: sys::Events::with_capacity(EVENTS_MAX),
            stamper,
            steps,
            endpoint,
            next_source: 0,
            offset_ns: sys::realtime_offset_ns(),
            offset_read_ns: sys::now_ns(),
            tls: tls.map(tls::Table::new),
        })
    }

    fn read_offset(&mut self, now_ns: u64) {
        self.offset_ns = sys::realtime_offset_ns();
        self.offset_read_ns = now_ns;
    }

    /// Where the wall clock was stepped during the wait, stamps are carried over by its new offset.
    fn note_step(&mut self) {
        let Some(steps) = &self.steps else { return };
        if self.events.take(STEPS_TOKEN) {
            if steps.noted().is_err() {
                self.steps = None;
            }
            self.read_offset(sys::now_ns());
        }
    }

    fn is_its_own_peer(&self, handle: Handle) -> bool {
        matches!(self.endpoint, Endpoint::Tcp { .. }) && sys::connected_to_itself(handle)
    }

    fn monotonic(&self, stamp: Option<u64>) -> Option<u64> {
        stamp.and_then(|realtime| realtime.checked_add_signed(-self.offset_ns))
    }
}

/// The next of the local addresses that are of the destination's kind.
fn next_source<'a>(sources: &'a [IpAddr], next: &mut usize, address: &SocketAddr) -> Option<&'a IpAddr> {
    let of_kind = || sources.iter().filter(|source| source.is_ipv4() == address.is_ipv4());
    let source = of_kind().nth(next.checked_rem(of_kind().count())?);
    *next = next.wrapping_add(1);
    source
}

impl Net for Linux {
    fn now_ns(&mut self) -> u64 {
        sys::now_ns()
    }

    fn lingers(&self) -> bool {
        true
    }

    fn cpu_ns(&mut self) -> u64 {
        sys::thread_cpu_ns()
    }

    fn connect(&mut self, token: u64, address: u32) -> io::Result<(Handle, Connecting)> {
        let (socket, state) = match &self.endpoint {
            Endpoint::Unix(path) => sys::connect_unix(path)?,
            Endpoint::Tcp { addresses, sources } => {
                let address = addresses.at(address).ok_or(io::ErrorKind::AddrNotAvailable)?;
                let source = next_source(sources, &mut self.next_source, &address);
                sys::connect(&address, source)?
            }
        };
        if state == Connecting::Done && self.is_its_own_peer(socket.as_raw_fd()) {
            return Err(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        }
        let fd = socket.into_raw_fd();
        if self.stamper.is_some() {
            // A refusal shows as answers without a stamp, which are counted.
            let _ = sys::stamp_arrivals(fd);
        }
        // With TLS no connect is done at once: that the socket is writable begins the handshake.
        let state = if self.tls.is_some() { Connecting::Pending } else { state };
        let begun = self.tls.as_mut().map_or(Ok(()), |tls| tls.begin(fd, token));
        let interest = if state == Connecting::Done { Interest::Read } else { Interest::Write };
        if let Err(e) = begun.and_then(|()| self.epoll.add(fd, interest, token)) {
            self.close(fd);
            return Err(e);
        }
        Ok((fd, state))
    }

    fn connect_result(&mut self, handle: Handle) -> io::Result<()> {
        if self.tls.as_ref().is_none_or(|tls| tls.awaits_connect(handle)) {
            sys::connect_result(handle)?;
            if self.is_its_own_peer(handle) {
                return Err(io::Error::from_raw_os_error(libc::ECONNREFUSED));
            }
        }
        self.tls.as_mut().map_or(Ok(()), |tls| tls.shake_hands(&self.epoll, handle))
    }

    fn was_retried(&self, handle: Handle) -> bool {
        matches!(self.endpoint, Endpoint::Tcp { .. }) && sys::sent_again(handle)
    }

    fn watch(&mut self, handle: Handle, interest: Interest, token: u64) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.watch(&self.epoll, handle, interest, token),
            None => self.epoll.modify(handle, interest, token),
        }
    }

    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => tls.send(handle, bytes),
            None => sys::send(handle, bytes),
        }
    }

    fn recv(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => tls.recv(&self.epoll, handle, buffer, false).map(|(count, _)| count),
            None => sys::recv(handle, buffer),
        }
    }

    fn recv_stamped(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        let (count, stamp) = match &mut self.tls {
            Some(tls) => tls.recv(&self.epoll, handle, buffer, self.stamper.is_some())?,
            None if self.stamper.is_some() => sys::recv_stamped(handle, buffer)?,
            None => return sys::recv(handle, buffer).map(|count| (count, None)),
        };
        Ok((count, self.monotonic(stamp)))
    }

    fn discard(&mut self, handle: Handle, most: usize) -> io::Result<(usize, Option<u64>)> {
        let (count, stamp) = sys::discard_stamped(handle, most)?;
        Ok((count, self.monotonic(stamp)))
    }

    fn discards(&self) -> bool {
        // What arrives encrypted has to be decrypted, if only to find its end.
        self.tls.is_none() && matches!(self.endpoint, Endpoint::Tcp { .. })
    }

    fn stamps(&self) -> bool {
        self.stamper.is_some()
    }

    fn wake_at(&mut self, handle: Handle, bytes: u32) {
        sys::wake_at(handle, bytes);
    }

    fn close(&mut self, handle: Handle) {
        if let Some(tls) = &mut self.tls {
            tls.close(handle);
        }
        sys::close(handle);
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> io::Result<usize> {
        if now_ns.saturating_sub(self.offset_read_ns) > OFFSET_EVERY_NS {
            self.read_offset(now_ns);
        }
        let timeout = until_ns.saturating_sub(now_ns);
        let timeout = if timeout > LONG_WAIT_NS { timeout - EARLY_NS } else { timeout };
        self.epoll.wait(timeout, &mut self.events)?;
        self.note_step();
        Ok(self.events.len())
    }

    fn token(&self, i: usize) -> u64 {
        self.events.token(i)
    }

    fn waits(&self) -> Waits {
        self.epoll.waits()
    }

    fn settle(&mut self, handle: Handle) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.settle(handle))
    }

    fn leave(&mut self, handle: Handle) {
        if let Some(tls) = &mut self.tls {
            tls.leave(handle);
        }
    }

    fn end(&mut self, handle: Handle) {
        if let Some(tls) = &mut self.tls {
            tls.leave(handle);
            tls.end(handle);
        }
        sys::end_sending(handle);
    }

    fn tls(&self) -> Option<(TlsUse, u64)> {
        self.tls.as_ref().map(tls::Table::seen)
    }
}

#[cfg(test)]
mod tests;
