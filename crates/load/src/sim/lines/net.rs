//! A network whose servers speak the protocol of lines, and what it saw.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;

use crate::net::{Connecting, Handle, Interest, Net};

use super::super::chance::Chance;
use super::super::world::{CALLS_MAX, EPOCH_NS, FIRST_HANDLE};

/// What the servers do.
#[derive(Debug, Clone)]
pub(super) struct Habits {
    pub(super) seed: u64,
    /// Requests that a connection takes at once, to begin with.
    pub(super) permits: usize,
    /// How often an answer is followed by another number of permits.
    pub(super) repermits_per_mille: u32,
    /// The durations of answers, each by chance.
    pub(super) service_ns: (u64, u64),
    /// The k-th request's duration instead, from 0, of as many as there are; the others have the last one's.
    pub(super) durations_ns: Vec<u64>,
    /// How often a request is given up, never answered, or the connection closed instead of an answer.
    pub(super) gives_up_per_mille: u32,
    pub(super) silent_per_mille: u32,
    pub(super) closes_per_mille: u32,
    /// How often a read or write takes a part only, or nothing.
    pub(super) parts_per_mille: u32,
    pub(super) refused_per_mille: u32,
    pub(super) connect_ns: u64,
    pub(super) call_ns: u64,
}

impl Habits {
    /// Every answer takes so long, and no call takes time.
    pub(super) fn ideal(service_ns: u64) -> Habits {
        Habits {
            seed: 0,
            permits: 1_000,
            repermits_per_mille: 0,
            service_ns: (service_ns, service_ns),
            durations_ns: Vec::new(),
            gives_up_per_mille: 0,
            silent_per_mille: 0,
            closes_per_mille: 0,
            parts_per_mille: 0,
            refused_per_mille: 0,
            connect_ns: 0,
            call_ns: 0,
        }
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    GivenUp,
}

#[derive(Debug)]
enum Event {
    Connected,
    /// Bytes, and the request that the last of them resolve.
    Bytes(Vec<u8>, Option<(u64, Fate)>),
    End,
}

#[derive(Debug)]
struct Connection {
    serial: u64,
    token: u64,
    interest: Interest,
    open: bool,
    inbox: VecDeque<u8>,
    ended: bool,
    /// Bytes that arrived and that were read, over the connection's life.
    arrived: usize,
    read: usize,
    /// After how many bytes a request is resolved.
    resolve: VecDeque<(usize, u64, Fate)>,
    /// The unfinished line of the client, and when its first byte was written.
    line: Vec<u8>,
    line_ns: u64,
    /// When each unanswered request was written, by id.
    asked: BTreeMap<u64, u64>,
    /// Those that the server has not resolved or that the client took back.
    active: BTreeSet<u64>,
    /// The most permits that it has been given.
    most: usize,
}

/// What the network saw.
#[derive(Debug, Default, Clone)]
pub(super) struct Truth {
    /// When each answer was read whole, and how long after its request was written.
    pub(super) answered: Vec<(u64, u64)>,
    /// When each other request failed, but for those whose time was over.
    pub(super) failed: Vec<u64>,
    pub(super) taken_back: u64,
    /// When the first byte of each request was written.
    pub(super) sent: Vec<u64>,
    pub(super) writes: Vec<(u64, usize)>,
    pub(super) reads: Vec<(u64, usize)>,
    pub(super) connects: u64,
    /// The most that any server had to answer at once.
    pub(super) most_active: usize,
    begun: Vec<u64>,
    resolved: Vec<u64>,
}

#[derive(Debug)]
struct World {
    habits: Habits,
    chance: Chance,
    now_ns: u64,
    /// What the worker last read of the clock.
    stamp_ns: u64,
    calls: u64,
    served: usize,
    sequence: u64,
    scheduled: BTreeMap<(u64, u64), (usize, u64, Event)>,
    connections: Vec<Option<Connection>>,
    /// Bytes read, and requests resolved by them on a slot, since the clock was read.
    unstamped: (usize, Vec<(usize, Fate, u64)>),
    truth: Truth,
}

/// A worker's end of it.
#[derive(Debug, Clone)]
pub(super) struct LineNet {
    world: Rc<RefCell<World>>,
    events: Vec<u64>,
}

impl LineNet {
    pub(super) fn new(habits: Habits, slots: usize) -> LineNet {
        let truth = Truth { begun: vec![0; slots], resolved: vec![0; slots], ..Truth::default() };
        let world = World {
            chance: Chance::new(habits.seed),
            habits,
            now_ns: EPOCH_NS,
            stamp_ns: EPOCH_NS,
            calls: 0,
            served: 0,
            sequence: 0,
            scheduled: BTreeMap::new(),
            connections: Vec::new(),
            unstamped: (0, Vec::new()),
            truth,
        };
        LineNet { world: Rc::new(RefCell::new(world)), events: Vec::new() }
    }

    pub(super) fn advance_to(&self, to_ns: u64) {
        self.world.borrow_mut().advance_to(to_ns);
    }

    pub(super) fn truth(&self) -> Truth {
        std::mem::take(&mut self.world.borrow_mut().truth)
    }
}

fn errno(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

impl World {
    fn pass(&mut self, ns: u64) {
        self.calls += 1;
        assert!(self.calls < CALLS_MAX, "the worker spins at {} ns", self.now_ns - EPOCH_NS);
        self.advance_to(self.now_ns + ns);
    }

    fn advance_to(&mut self, to_ns: u64) {
        while let Some(entry) = self.scheduled.first_entry() {
            let (at, _) = *entry.key();
            if at > to_ns {
                break;
            }
            let (handle, serial, event) = entry.remove();
            self.now_ns = self.now_ns.max(at);
            let connection = self.connections[handle].as_mut().filter(|c| c.serial == serial && !c.ended);
            let Some(connection) = connection else { continue };
            match event {
                Event::Connected => connection.open = true,
                Event::End => connection.ended = true,
                Event::Bytes(bytes, resolves) => {
                    connection.arrived += bytes.len();
                    connection.inbox.extend(bytes);
                    if let Some((id, fate)) = resolves {
                        connection.active.remove(&id);
                        connection.resolve.push_back((connection.arrived, id, fate));
                    }
                }
            }
        }
        self.now_ns = self.now_ns.max(to_ns);
    }

    fn schedule(&mut self, at_ns: u64, handle: usize, event: Event) {
        self.sequence += 1;
        let serial = self.of(handle).serial;
        self.scheduled.insert((at_ns, self.sequence), (handle, serial, event));
    }

    fn of(&mut self, handle: usize) -> &mut Connection {
        self.connections[handle].as_mut().expect("no connection is used after its close")
    }

    /// Requests of a slot that are unresolved have failed.
    fn fail_all(&mut self, slot: usize) {
        let unresolved = self.truth.begun[slot] - self.truth.resolved[slot];
        self.truth.resolved[slot] += unresolved;
        self.truth.failed.extend((0..unresolved).map(|_| self.stamp_ns));
    }

    /// A line of the client is whole at the server.
    fn hear(&mut self, handle: usize, line: &str) {
        let (kind, id) = line.split_once(' ').expect("a line has two words");
        let id: u64 = id.parse().expect("an id is a number");
        if kind == "C" {
            let connection = self.of(handle);
            connection.active.remove(&id);
            if connection.asked.remove(&id).is_some() {
                let slot = connection.token as usize;
                self.truth.taken_back += 1;
                self.truth.resolved[slot] += 1;
            }
            return;
        }
        assert_eq!(kind, "Q");
        let connection = self.of(handle);
        connection.asked.insert(id, connection.line_ns);
        connection.active.insert(id);
        let (active, most) = (connection.active.len(), connection.most);
        assert!(active <= most, "{active} requests at once where the server took {most} at most");
        self.truth.most_active = self.truth.most_active.max(active);
        self.answer(handle, id);
    }

    fn answer(&mut self, handle: usize, id: u64) {
        let habits = self.habits.clone();
        let (low, high) = habits.service_ns;
        let known = habits.durations_ns.get(self.served).or(habits.durations_ns.last()).copied();
        self.served += 1;
        let end = self.now_ns + known.unwrap_or_else(|| self.chance.between(low, high));
        if self.chance.per_mille(habits.silent_per_mille) {
            return;
        }
        if self.chance.per_mille(habits.closes_per_mille) {
            return self.schedule(end, handle, Event::End);
        }
        if self.chance.per_mille(habits.gives_up_per_mille) {
            let bytes = format!("E {id}\n").into_bytes();
            return self.schedule(end, handle, Event::Bytes(bytes, Some((id, Fate::GivenUp))));
        }
        if self.chance.per_mille(habits.parts_per_mille) {
            let at = self.chance.between(self.now_ns, end);
            self.schedule(at, handle, Event::Bytes(format!("B {id} 3\nabc").into_bytes(), None));
        }
        let length = self.chance.size(0, 2);
        let mut bytes = format!("A {id} 200 {length}\n").into_bytes();
        bytes.resize(bytes.len() + length, b'x');
        self.schedule(end, handle, Event::Bytes(bytes, Some((id, Fate::Answered))));
        if self.chance.per_mille(habits.repermits_per_mille) {
            let permits = self.chance.size(1, 2 * habits.permits);
            let connection = self.of(handle);
            connection.most = connection.most.max(permits);
            self.schedule(end, handle, Event::Bytes(format!("P {permits}\n").into_bytes(), None));
        }
    }

    fn ready(&self) -> Vec<u64> {
        let ready = |c: &&Connection| {
            let readable = c.open && (!c.inbox.is_empty() || c.ended);
            match c.interest {
                Interest::Read => readable,
                Interest::Write => c.open,
                Interest::ReadWrite => c.open,
            }
        };
        self.connections.iter().flatten().filter(ready).map(|c| c.token).collect()
    }
}

impl Net for LineNet {
    fn now_ns(&mut self) -> u64 {
        let world = &mut *self.world.borrow_mut();
        world.pass(world.habits.call_ns);
        world.stamp_ns = world.now_ns;
        let (bytes, resolved) = std::mem::take(&mut world.unstamped);
        if bytes > 0 {
            world.truth.reads.push((world.now_ns, bytes));
        }
        for (slot, fate, sent_ns) in resolved {
            world.truth.resolved[slot] += 1;
            match fate {
                Fate::Answered => world.truth.answered.push((world.now_ns, world.now_ns - sent_ns)),
                Fate::GivenUp => world.truth.failed.push(world.now_ns),
            }
        }
        world.now_ns
    }

    fn cpu_ns(&mut self) -> u64 {
        self.world.borrow().now_ns
    }

    fn connect(&mut self, token: u64) -> io::Result<(Handle, Connecting)> {
        let world = &mut *self.world.borrow_mut();
        world.pass(world.habits.call_ns);
        world.truth.connects += 1;
        if world.chance.per_mille(world.habits.refused_per_mille) {
            world.fail_all(token as usize);
            return Err(errno(libc::ECONNREFUSED));
        }
        world.sequence += 1;
        let at_once = world.habits.connect_ns == 0;
        let connection = Connection {
            serial: world.sequence,
            token,
            interest: if at_once { Interest::Read } else { Interest::Write },
            open: at_once,
            inbox: VecDeque::new(),
            ended: false,
            arrived: 0,
            read: 0,
            resolve: VecDeque::new(),
            line: Vec::new(),
            line_ns: 0,
            asked: BTreeMap::new(),
            active: BTreeSet::new(),
            most: world.habits.permits,
        };
        if world.connections.len() < FIRST_HANDLE {
            world.connections.resize_with(FIRST_HANDLE, || None);
        }
        let free = (FIRST_HANDLE..world.connections.len()).find(|at| world.connections[*at].is_none());
        let handle = free.unwrap_or(world.connections.len());
        if handle == world.connections.len() {
            world.connections.push(None);
        }
        world.connections[handle] = Some(connection);
        if !at_once {
            let at = world.now_ns + world.chance.between(1, world.habits.connect_ns);
            world.schedule(at, handle, Event::Connected);
        }
        Ok((handle as Handle, if at_once { Connecting::Done } else { Connecting::Pending }))
    }

    fn connect_result(&mut self, handle: Handle) -> io::Result<()> {
        assert!(self.world.borrow_mut().of(handle as usize).open, "epoll did not report it");
        Ok(())
    }

    fn watch(&mut self, handle: Handle, interest: Interest, token: u64) -> io::Result<()> {
        let world = &mut *self.world.borrow_mut();
        let connection = world.of(handle as usize);
        (connection.interest, connection.token) = (interest, token);
        Ok(())
    }

    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        let stamp_ns = world.stamp_ns;
        world.pass(world.habits.call_ns);
        assert!(!bytes.is_empty(), "there is something to write");
        let mut count = bytes.len();
        if world.chance.per_mille(world.habits.parts_per_mille) {
            count = world.chance.size(0, bytes.len());
        }
        if count == 0 {
            return Err(errno(libc::EAGAIN));
        }
        world.truth.writes.push((stamp_ns, count));
        for byte in &bytes[..count] {
            let connection = world.of(handle as usize);
            if connection.line.is_empty() {
                connection.line_ns = stamp_ns;
                if *byte == b'Q' {
                    world.truth.sent.push(stamp_ns);
                }
            }
            let connection = world.of(handle as usize);
            if *byte == b'\n' {
                let line = String::from_utf8(std::mem::take(&mut connection.line)).unwrap();
                world.hear(handle as usize, &line);
            } else {
                connection.line.push(*byte);
            }
        }
        Ok(count)
    }

    fn recv(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        world.pass(world.habits.call_ns);
        let partly = world.chance.per_mille(world.habits.parts_per_mille);
        let waiting = world.of(handle as usize).inbox.len().min(buffer.len());
        let count = if partly && waiting > 0 { world.chance.size(1, waiting) } else { waiting };
        let connection = world.of(handle as usize);
        if count == 0 {
            return if connection.ended { Ok(0) } else { Err(errno(libc::EAGAIN)) };
        }
        for (to, byte) in buffer.iter_mut().zip(connection.inbox.drain(..count)) {
            *to = byte;
        }
        connection.read += count;
        let slot = connection.token as usize;
        let mut resolved = Vec::new();
        while let Some((_, id, fate)) = connection.resolve.pop_front_if(|(at, ..)| *at <= connection.read) {
            // One that was taken back meanwhile has failed already.
            resolved.extend(connection.asked.remove(&id).map(|sent_ns| (slot, fate, sent_ns)));
        }
        world.unstamped.0 += count;
        world.unstamped.1.extend(resolved);
        Ok(count)
    }

    fn recv_stamped(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        self.recv(handle, buffer).map(|count| (count, None))
    }

    fn discard(&mut self, _handle: Handle, _most: usize) -> io::Result<(usize, Option<u64>)> {
        unreachable!("bodies of this protocol are never skipped")
    }

    fn discards(&self) -> bool {
        true
    }

    fn stamps(&self) -> bool {
        false
    }

    fn close(&mut self, handle: Handle) {
        let world = &mut *self.world.borrow_mut();
        let connection = world.connections[handle as usize].take().expect("a connection is closed once");
        world.fail_all(connection.token as usize);
    }

    fn begun(&mut self, token: u64) {
        self.world.borrow_mut().truth.begun[token as usize] += 1;
    }

    fn wait(&mut self, now_ns: u64, until_ns: u64) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        world.pass(world.habits.call_ns);
        let until = world.now_ns + until_ns.saturating_sub(now_ns);
        self.events = world.ready();
        while self.events.is_empty() {
            let next = world.scheduled.first_key_value().map(|((at, _), _)| *at).filter(|at| *at <= until);
            world.advance_to(next.unwrap_or(until));
            self.events = world.ready();
            if next.is_none() {
                break;
            }
        }
        Ok(self.events.len())
    }

    fn token(&self, i: usize) -> u64 {
        self.events[i]
    }
}
