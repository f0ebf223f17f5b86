//! The simulated world as a worker sees it: an implementation of [`Net`].

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use crate::measurement::ErrorKind;
use crate::net::{Connecting, Handle, Interest, Net};

use super::answer::Meaning;
use super::connection::Link;
use super::nature::ConnectFate;
use super::world::{Event, Unstamped, World};

/// Longer waits are taken in two steps, as on Linux.
const LONG_WAIT_NS: u64 = 10_000_000;
const EARLY_NS: u64 = 5_000_000;
/// The most events of one wait, as on Linux.
const EVENTS_MAX: usize = 64;
/// Tokens with this bit are of connections without a request.
const LINGER_BIT: u64 = 1 << 63;

/// A worker's end of the simulated world, which a test keeps the other end of.
#[derive(Debug, Clone)]
pub(super) struct SimNet {
    world: Rc<RefCell<World>>,
    events: Vec<u64>,
}

impl SimNet {
    pub(super) fn new(world: &Rc<RefCell<World>>) -> SimNet {
        SimNet { world: Rc::clone(world), events: Vec::new() }
    }
}

fn errno(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

fn kind_of(code: i32) -> ErrorKind {
    match code {
        libc::ECONNREFUSED => ErrorKind::ConnectRefused,
        libc::ETIMEDOUT => ErrorKind::ConnectTimeout,
        libc::EADDRNOTAVAIL => ErrorKind::NoPorts,
        _ => ErrorKind::ConnectFailed,
    }
}

impl Net for SimNet {
    fn now_ns(&mut self) -> u64 {
        self.world.borrow_mut().read_clock()
    }

    fn cpu_ns(&mut self) -> u64 {
        self.world.borrow().now_ns
    }

    fn connect(&mut self, token: u64) -> io::Result<(Handle, Connecting)> {
        self.world.borrow_mut().connect(token)
    }

    fn connect_result(&mut self, handle: Handle) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        world.pass_call();
        match world.of(handle).link {
            Link::Open => Ok(()),
            Link::Connecting => panic!("a pending connect has no result: epoll did not report it"),
            Link::Failed(code) => {
                world.of(handle).cause = Some(kind_of(code));
                Err(errno(code))
            }
        }
    }

    fn watch(&mut self, handle: Handle, interest: Interest, token: u64) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        world.pass_call();
        let connection = world.of(handle);
        connection.interest = interest;
        connection.token = token;
        if connection.link == Link::Open && token & LINGER_BIT == 0 {
            world.establish(handle);
        }
        Ok(())
    }

    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        self.world.borrow_mut().send(handle, bytes)
    }

    fn recv(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let connection = world.of(handle);
        assert!(connection.requests.is_empty(), "an answer is read with its stamp: {connection:?}");
        world.take(handle, buffer).map(|(count, _)| count)
    }

    fn recv_stamped(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        let mut world = self.world.borrow_mut();
        let got = world.take(handle, buffer);
        match &got {
            Ok((bytes, stamp_ns)) => {
                world.unstamped = Some(Unstamped { handle, bytes: *bytes, stamp_ns: *stamp_ns });
            }
            Err(e) if e.raw_os_error() == Some(libc::ECONNRESET) => {
                world.of(handle).cause = Some(ErrorKind::Reset);
            }
            Err(_) => {}
        }
        got
    }

    fn discard(&mut self, handle: Handle, most: usize) -> io::Result<(usize, Option<u64>)> {
        let mut dropped = vec![0; most.min(1 << 20)];
        self.recv_stamped(handle, &mut dropped)
    }

    fn discards(&self) -> bool {
        true
    }

    fn stamps(&self) -> bool {
        self.world.borrow().nature.stamps.is_some()
    }

    fn close(&mut self, handle: Handle) {
        let mut world = self.world.borrow_mut();
        let mut connection = world.remove(handle);
        let at = world.stamp_ns;
        world.truth.all_failed(&mut connection.requests, at, connection.cause);
        world.pass_call();
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        self.events = world.wait(now_ns, until_ns);
        Ok(self.events.len())
    }

    fn token(&self, i: usize) -> u64 {
        self.events[i]
    }
}

impl World {
    fn pass_call(&mut self) {
        self.pass(self.nature.call_cost_ns);
    }

    fn connect(&mut self, token: u64) -> io::Result<(Handle, Connecting)> {
        let asked = self.stamp_ns;
        self.connects += 1;
        let slot = token as usize;
        let request = self.running.then(|| self.begin(slot, asked));
        self.pass_call();
        let fate = self.chance.pick(&self.nature.connects);
        let refused = match fate {
            ConnectFate::RefusedAtOnce => Some(libc::ECONNREFUSED),
            ConnectFate::NoPorts => Some(libc::EADDRNOTAVAIL),
            ConnectFate::Unreachable => Some(libc::ENETUNREACH),
            _ => None,
        };
        if let Some(code) = refused {
            if let Some(request) = request {
                self.truth.failed(request, asked, kind_of(code));
            }
            return Err(errno(code));
        }
        let at_once = fate == ConnectFate::AtOnce;
        let handle = self.open(token, if at_once { Link::Open } else { Link::Connecting });
        self.of(handle).requests.extend(request);
        let decided = self.now_ns + self.chance.between(0, self.nature.connect_ns);
        match fate {
            ConnectFate::AtOnce => self.tempt(self.now_ns, handle),
            ConnectFate::Later => self.schedule(decided, handle, Event::Connected),
            ConnectFate::RefusedLater => {
                self.schedule(decided, handle, Event::ConnectFails(libc::ECONNREFUSED));
            }
            ConnectFate::GivenUpLater => {
                self.schedule(decided, handle, Event::ConnectFails(libc::ETIMEDOUT));
            }
            _ => {}
        }
        if at_once {
            self.of(handle).interest = Interest::Read;
            if !self.running {
                self.establish(handle);
            }
        }
        Ok((handle, if at_once { Connecting::Done } else { Connecting::Pending }))
    }

    /// A connection is the worker's to use: while it runs, from when it watches it for answers or writes to it.
    fn establish(&mut self, handle: Handle) {
        let connection = self.of(handle);
        if !connection.established {
            connection.established = true;
            self.truth.established += 1;
        }
    }

    /// EAGAIN or EINTR where there was something to do.
    fn spurious(&mut self) -> io::Result<()> {
        if self.chance.per_mille(self.nature.spurious_per_mille) {
            return Err(errno(if self.chance.per_mille(500) { libc::EAGAIN } else { libc::EINTR }));
        }
        Ok(())
    }

    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        let stamp = self.stamp_ns;
        let spurious = self.spurious();
        let short = self.chance.per_mille(self.nature.short_write_per_mille);
        let last = self.of(handle).requests.back().copied();
        let fresh = last.is_none_or(|r| r.written == self.length(&r));
        if fresh {
            let slot = self.of(handle).token as usize;
            let request = self.begin(slot, stamp);
            self.of(handle).requests.push_back(request);
        }
        self.pass_call();
        self.establish(handle);
        let connection = self.of(handle);
        assert_eq!(connection.link, Link::Open, "only an established connection carries a request");
        let (reset, room) = (connection.reset, connection.room);
        let request = connection.requests.back_mut().expect("just begun");
        if request.attempt_ns == 0 {
            request.attempt_ns = stamp;
        }
        if request.written == 0 {
            request.sent_ns = stamp;
        }
        let (written, which) = (request.written, request.which as usize);
        if reset {
            connection.cause = Some(ErrorKind::Reset);
            return Err(errno(libc::ECONNRESET));
        }
        spurious?;
        if room == 0 {
            return Err(errno(libc::EAGAIN));
        }
        assert_eq!(bytes, &self.requests[which][written..], "the rest of the request, and nothing else");
        let most = bytes.len().min(room);
        let count = if short { self.chance.size(1, most) } else { most };
        let connection = self.of(handle);
        if connection.room != usize::MAX {
            connection.room -= count;
        }
        let drain = connection.room != usize::MAX && connection.room == 0;
        let request = connection.requests.back_mut().expect("just begun");
        request.written += count;
        if request.taken_ns == 0 {
            request.taken_ns = stamp;
        }
        if drain {
            let after = self.chance.between(0, self.nature.drain_ns);
            self.schedule(self.now_ns + after, handle, Event::Room);
        }
        self.receive(handle, count);
        Ok(count)
    }

    /// Reads what arrived, across pieces or only to the end of one.
    fn take(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        self.pass_call();
        self.spurious()?;
        let apart = self.nature.pieces_per_mille > 0 && self.chance.per_mille(500);
        let connection = self.of(handle);
        let (mut count, mut stamp) = (0, None);
        while let Some(piece) = connection.inbox.front_mut() {
            let some = (piece.bytes.len() - piece.read).min(buffer.len() - count);
            buffer[count..count + some].copy_from_slice(&piece.bytes[piece.read..piece.read + some]);
            (count, stamp) = (count + some, piece.stamp_ns);
            piece.read += some;
            if piece.read == piece.bytes.len() {
                connection.inbox.pop_front();
            }
            if apart || count == buffer.len() {
                break;
            }
        }
        match () {
            () if count > 0 => Ok((count, stamp)),
            () if connection.reset => Err(errno(libc::ECONNRESET)),
            () if connection.ended => Ok((0, None)),
            () => Err(errno(libc::EAGAIN)),
        }
    }

    /// What was read of an answer has its instant now.
    pub(super) fn stamp_reading(&mut self, reading: Unstamped) {
        let at = self.stamp_ns;
        let connection = self.of(reading.handle);
        let mut request = *connection.requests.front().expect("an answer is read for a request");
        let coming = connection.coming.front().copied();
        if reading.bytes == 0 {
            let read = connection.read;
            match coming.map(|c| (c.meaning, c.body_right)) {
                Some((Meaning::WholeAtEnd { head, status }, body_right)) if read >= head => {
                    connection.requests.pop_front();
                    request.last_byte_ns = at;
                    self.truth.answered(request, at, status, body_right);
                }
                _ => connection.cause = Some(ErrorKind::ClosedEarly),
            }
            return;
        }
        self.truth.read(&mut request, at, reading.bytes, reading.stamp_ns);
        let connection = self.of(reading.handle);
        connection.read += reading.bytes;
        if let Some(front) = connection.requests.front_mut() {
            *front = request;
        }
        match coming.map(|c| (c.meaning, c.length, c.body_right)) {
            Some((Meaning::Whole { at: whole, status }, length, body_right)) if connection.read >= whole => {
                connection.read -= length;
                connection.coming.pop_front();
                connection.requests.pop_front();
                self.truth.answered(request, at, status, body_right);
            }
            Some((Meaning::Nonsense { at: certain }, ..)) if connection.read >= certain => {
                connection.cause = Some(ErrorKind::Protocol);
            }
            _ => {}
        }
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> Vec<u64> {
        self.pass_call();
        self.waits += 1;
        let timeout = until_ns.saturating_sub(now_ns);
        let timeout = if timeout > LONG_WAIT_NS { timeout - EARLY_NS } else { timeout };
        let mut until = self.now_ns.saturating_add(timeout);
        if self.chance.per_mille(self.nature.early_wake_per_mille) {
            until = self.chance.between(self.now_ns, until);
        }
        let mut ready = self.ready_tokens();
        while ready.is_empty() {
            let next = self.next_ns().filter(|next| *next <= until);
            self.advance_to(next.unwrap_or(until));
            ready = self.ready_tokens();
            if next.is_none() {
                break;
            }
        }
        if self.chance.per_mille(self.nature.oversleep_per_mille) {
            let late = self.chance.between(1, self.nature.oversleep_ns);
            self.pass(late);
        }
        if ready.is_empty() {
            self.idle_waits += 1;
        }
        // epoll's order is nobody's business.
        if ready.len() > 1 && self.nature.pieces_per_mille > 0 {
            let turn = self.chance.size(0, ready.len() - 1);
            ready.rotate_left(turn);
        }
        ready.truncate(EVENTS_MAX);
        ready
    }
}
