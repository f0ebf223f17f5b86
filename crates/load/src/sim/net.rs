//! The simulated world as a worker sees it: an implementation of [`Net`].

use std::cell::RefCell;
use std::io;
use std::mem;
use std::rc::Rc;

use crate::net::{Connecting, Handle, Interest, Net};
use prony_model::measurement::ErrorKind;

use super::connection::{Coming, Link};
use super::nature::ConnectFate;
use super::truth::{Request, Why};
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

// Never inlined: `cargo xtask gate` counts the worker's instructions without those of these calls.
impl Net for SimNet {
    #[inline(never)]
    fn now_ns(&mut self) -> u64 {
        self.world.borrow_mut().read_clock()
    }

    #[inline(never)]
    fn cpu_ns(&mut self) -> u64 {
        self.world.borrow().now_ns
    }

    #[inline(never)]
    fn connect(&mut self, token: u64, _address: u32) -> io::Result<(Handle, Connecting)> {
        self.world.borrow_mut().connect(token)
    }

    #[inline(never)]
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

    #[inline(never)]
    fn watch(&mut self, handle: Handle, interest: Interest, token: u64) -> io::Result<()> {
        let mut world = self.world.borrow_mut();
        world.pass_call();
        let connection = world.of(handle);
        connection.interest = interest;
        connection.token = token;
        if connection.link == Link::Open && token & LINGER_BIT == 0 {
            world.note_established(handle);
        }
        Ok(())
    }

    #[inline(never)]
    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        self.world.borrow_mut().send(handle, bytes)
    }

    #[inline(never)]
    fn recv(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        let slot = world.of(handle).slot;
        let idle = slot.is_none_or(|slot| world.pending[slot].is_empty());
        assert!(idle, "an answer is read with its stamp");
        world.take(handle, buffer).map(|(count, _)| count)
    }

    #[inline(never)]
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

    #[inline(never)]
    fn discard(&mut self, handle: Handle, most: usize) -> io::Result<(usize, Option<u64>)> {
        let mut dropped = vec![0; most.min(1 << 20)];
        self.recv_stamped(handle, &mut dropped)
    }

    #[inline(never)]
    fn discards(&self) -> bool {
        true
    }

    #[inline(never)]
    fn stamps(&self) -> bool {
        self.world.borrow().nature.stamps.is_some()
    }

    fn lingers(&self) -> bool {
        self.world.borrow().nature.lingers
    }

    #[inline(never)]
    fn close(&mut self, handle: Handle) {
        let mut world = self.world.borrow_mut();
        world.give_up(handle);
        world.pass_call();
    }

    #[inline(never)]
    fn leave(&mut self, handle: Handle) {
        self.world.borrow_mut().leave(handle);
    }

    #[inline(never)]
    fn begun(&mut self, token: u64) {
        self.world.borrow_mut().begin(token as usize);
    }

    #[inline(never)]
    fn wait(&mut self, now_ns: u64, until_ns: u64) -> io::Result<usize> {
        let mut world = self.world.borrow_mut();
        self.events = world.wait(now_ns, until_ns);
        Ok(self.events.len())
    }

    #[inline(never)]
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
        self.pass_call();
        let fate = self.chance.pick(&self.nature.connects);
        let refused = match fate {
            ConnectFate::RefusedAtOnce => Some(libc::ECONNREFUSED),
            ConnectFate::NoPorts => Some(libc::EADDRNOTAVAIL),
            ConnectFate::Unreachable => Some(libc::ENETUNREACH),
            _ => None,
        };
        if let Some(code) = refused {
            if self.running {
                self.left[slot] = self.life;
            }
            let requests = mem::take(&mut self.pending[slot]);
            self.truth.failed(requests, asked, Why::Broken(kind_of(code)));
            return Err(errno(code));
        }
        let at_once = fate == ConnectFate::AtOnce;
        let handle = self.open(token, if at_once { Link::Open } else { Link::Connecting });
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
                self.note_established(handle);
            }
        }
        Ok((handle, if at_once { Connecting::Done } else { Connecting::Pending }))
    }

    fn spurious(&mut self) -> io::Result<()> {
        if self.chance.per_mille(self.nature.spurious_per_mille) {
            return Err(errno(if self.chance.per_mille(500) { libc::EAGAIN } else { libc::EINTR }));
        }
        Ok(())
    }

    /// A connection is the worker's to use: while it runs, from when it watches it for answers or writes to it.
    fn note_established(&mut self, handle: Handle) {
        let stamp = self.stamp_ns;
        let connection = self.of(handle);
        if connection.established_ns.is_none() {
            connection.established_ns = Some(stamp);
            self.truth.established += 1;
        }
    }

    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        let stamp = self.stamp_ns;
        let spurious = self.spurious();
        let short = self.chance.per_mille(self.nature.short_write_per_mille);
        self.pass_call();
        self.note_established(handle);
        let connection = self.of(handle);
        assert_eq!(connection.link, Link::Open, "only an established connection carries a request");
        assert!(!connection.spent, "an answer ended this connection's use");
        let (reset, room) = (connection.reset, connection.room);
        let slot = connection.slot.expect("a connection that was left carries no request");
        let unwritten = |r: &Request| r.written < self.length(r);
        let first = self.pending[slot].iter().position(unwritten).expect("there is something to write");
        if self.pending[slot][first].written == 0 {
            self.pending[slot][first].sent_ns = stamp;
        }
        if reset {
            self.of(handle).cause = Some(ErrorKind::Reset);
            return Err(errno(libc::ECONNRESET));
        }
        spurious?;
        if room == 0 {
            return Err(errno(libc::EAGAIN));
        }
        self.check_bytes(slot, first, bytes);
        let most = bytes.len().min(room);
        let count = if short { self.chance.size(1, most) } else { most };
        if room != usize::MAX {
            self.of(handle).room -= count;
            if count == room {
                let after = self.chance.between(0, self.nature.drain_ns);
                self.schedule(self.now_ns + after, handle, Event::Room);
            }
        }
        self.truth.writes.push((stamp, count));
        let (mut left, mut at) = (count, first);
        while left > 0 {
            let length = self.length(&self.pending[slot][at]);
            let request = &mut self.pending[slot][at];
            if request.written == 0 {
                (request.sent_ns, request.taken_ns) = (stamp, stamp);
            }
            let part = left.min(length - request.written);
            request.written += part;
            (left, at) = (left - part, at + 1);
            self.receive(handle, part, length);
        }
        Ok(count)
    }

    /// What is written is the rest of the first unwritten request and those behind it, nothing else.
    fn check_bytes(&self, slot: usize, first: usize, mut bytes: &[u8]) {
        for request in self.pending[slot].range(first..) {
            if bytes.is_empty() && self.list.is_some() {
                break;
            }
            let rest = &self.bytes(request)[request.written..];
            let (part, after) = bytes.split_at(rest.len().min(bytes.len()));
            assert_eq!(part, rest, "the rest of a request, whole");
            bytes = after;
        }
        assert_eq!(bytes, b"", "nothing behind the last request");
    }

    /// A slot lets its connection go: those the server may have seen have failed; others wait for the next connection.
    fn leave(&mut self, handle: Handle) {
        let at = self.stamp_ns;
        let connection = self.of(handle);
        assert!(connection.spent, "nothing ended this connection's use");
        let slot = connection.slot.take().expect("a connection is left once");
        self.left[slot] = self.life;
        while let Some(request) = self.pending[slot].front().copied().filter(|r| r.written > 0) {
            self.pending[slot].pop_front();
            self.truth.cut_off(request, at);
        }
        for request in &mut self.pending[slot] {
            request.sent_ns = 0;
        }
    }

    /// A connection is closed. What waited on it has failed.
    fn give_up(&mut self, handle: Handle) {
        let (at, timeout) = (self.stamp_ns, self.truth.timeout_ns);
        let connection = self.remove(handle);
        let Some(slot) = connection.slot else { return };
        self.left[slot] = self.life;
        let requests = mem::take(&mut self.pending[slot]);
        let Some(oldest) = requests.front() else { return };
        let why = match (connection.cause, connection.established_ns) {
            (Some(kind), _) => Why::Broken(kind),
            (None, None) => Why::ConnectSilent { expired_ns: connection.dispatched_ns + timeout },
            (None, Some(since)) => Why::Silent { expired_ns: oldest.dispatched_ns.max(since) + timeout },
        };
        self.truth.failed(requests, at, why);
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

    /// What was read of answers has its instant now.
    pub(super) fn stamp_reading(&mut self, reading: Unstamped) {
        let (at, handle) = (self.stamp_ns, reading.handle);
        let slot = self.of(handle).slot.expect("a connection that was left is not read for answers");
        if reading.bytes == 0 {
            return self.stream_ended(handle, slot);
        }
        let mut left = reading.bytes;
        for nth in 0.. {
            let connection = self.of(handle);
            let (read, coming) = (connection.read, connection.coming.front().copied());
            let whole = coming.and_then(|c| c.meaning.whole_at());
            let part = whole.map_or(left, |whole| left.min(whole - read));
            left -= part;
            connection.read += part;
            if let Some((head, why)) = coming.and_then(|c| c.tolerated)
                && (read + 1..=read + part).contains(&head)
            {
                self.truth.tolerated.push((at, why));
            }
            let mut request = *self.pending[slot].front().expect("an answer is read for a request");
            self.truth.read(&mut request, at, part, reading.stamp_ns);
            self.pending[slot][0] = request;
            let (Some(coming), true) = (coming, whole == Some(read + part)) else {
                let certain = coming.is_some_and(|c| c.meaning.is_nonsense_at(read + part));
                if certain {
                    self.of(handle).cause = Some(ErrorKind::Protocol);
                }
                return;
            };
            self.answers_together += u64::from(nth > 0);
            let connection = self.of(handle);
            connection.read = 0;
            connection.coming.pop_front();
            let keeps = self.whole(handle, slot, coming, left > 0);
            if !keeps {
                return self.truth.read_behind(&request, at, left);
            }
            if left == 0 {
                return;
            }
        }
    }

    /// The oldest request's answer is whole; whether another may follow on the connection, or does.
    fn whole(&mut self, handle: Handle, slot: usize, coming: Coming, more: bool) -> bool {
        let (at, timeout) = (self.stamp_ns, self.truth.timeout_ns);
        let status = coming.meaning.status().expect("an answer has a status");
        let request = self.pending[slot][0];
        let since = self.of(handle).established_ns.unwrap_or(0).max(request.dispatched_ns);
        if at >= since + timeout {
            // It is given up, as if there were no answer.
            return false;
        }
        self.pending[slot].pop_front();
        let written = request.written == self.length(&request);
        let next = self.pending[slot].front().is_some_and(|r| r.written > 0);
        let keeps = coming.keeps && !request.last && written && (next || !more);
        self.of(handle).spent = !keeps;
        self.truth.answered(request, at, status, coming.body_right);
        keeps
    }

    fn stream_ended(&mut self, handle: Handle, slot: usize) {
        let connection = self.of(handle);
        let (read, coming) = (connection.read, connection.coming.front().copied());
        match coming {
            Some(coming) if coming.meaning.is_whole_at_end(read) => {
                self.pending[slot][0].last_byte_ns = self.stamp_ns;
                self.whole(handle, slot, coming, false);
            }
            _ => connection.cause = Some(ErrorKind::ClosedEarly),
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
