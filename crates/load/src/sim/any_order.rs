//! A network whose servers answer in any order: what it does with bytes, whatever protocol they are of.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;
use std::{env, io};

use crate::net::{Connecting, Handle, Interest, Net};
use prony_model::measurement::{ErrorKind, Measurement};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;

use super::Case;
use super::chance::Chance;
use super::world::{CALLS_MAX, EPOCH_NS, FIRST_HANDLE};

const MS: u64 = 1_000_000;

impl Case {
    /// A load by chance on its plan's connections, whose servers take so long for a request, and leave some unanswered or not.
    pub(super) fn load_at_random(&mut self, chance: &mut Chance, service_ns: u64, is_silent: bool) {
        let plan = &mut self.plan;
        let carried_per_s = 1e9 / service_ns as f64 * f64::from(plan.connections);
        if chance.per_mille(500) {
            let rate = carried_per_s * chance.between(10, 150) as f64 / 100.0;
            plan.arrivals = Arrivals::Constant(Rate::per_s(rate.clamp(1.0, 1e6)).unwrap());
        }
        if chance.per_mille(300) {
            plan.stop.requests = Some(chance.between(1, 300));
        }
        let length_ns = (300.0 / carried_per_s * 1e9) as u64;
        plan.stop.duration = Some(Duration::from_nanos(length_ns.clamp(MS, 2_500 * MS)));
        // Only a request that is never answered runs into it, and not every case has time for that.
        plan.timeout = Duration::from_nanos(if is_silent { 200 * service_ns } else { 100_000 * MS });
        self.in_parts = chance.per_mille(500);
    }
}

/// Plays the cases that the environment asks for, or these and the `found`; fails with the first faulty one's seed.
pub(super) fn sound_for_all_seeds(cases: u64, found: &[u64], faults: impl Fn(u64) -> Vec<String>) {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let first = number("PRONY_SIM_FIRST").unwrap_or(0);
    let count = number("PRONY_SIM_SEEDS").unwrap_or(cases);
    let one = number("PRONY_SIM_SEED").map(|seed| vec![seed]);
    for seed in one.unwrap_or_else(|| (first..first + count).chain(found.iter().copied()).collect()) {
        let faults = catch_unwind(AssertUnwindSafe(|| faults(seed)));
        let faults = faults.unwrap_or_else(|_| vec!["it panicked".to_owned()]);
        assert!(faults.is_empty(), "PRONY_SIM_SEED={seed}:\n{}", faults.join("\n"));
    }
}

pub(super) fn failures(m: &Measurement, kind: ErrorKind) -> u64 {
    m.errors.get(&kind).map_or(0, |failures| failures.count)
}

/// What calls of the network cost, and how often they fail.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conditions {
    /// How often a read or write takes a part only, or nothing.
    pub(super) parts_per_mille: u32,
    pub(super) refused_per_mille: u32,
    /// How long a connect takes at most; 0: it is done at once.
    pub(super) connect_ns: u64,
    pub(super) call_ns: u64,
}

/// The servers of a worker's connections, with what they and the network see.
pub(super) trait Servers: Debug {
    /// A server's side of one connection.
    type Connection: Debug;
    type Due: Debug;
    /// What it means to the client that bytes were read up to some point.
    type Mark: Debug;

    fn conditions(&self) -> Conditions;
    /// A connect is asked for on this slot, and is refused or not.
    fn connect(&mut self, slot: usize, refused: bool, stamp_ns: u64);
    /// The client takes a connection for one that stands.
    fn accept(&mut self, chance: &mut Chance, now_ns: u64) -> (Self::Connection, Vec<(u64, Self::Due)>);
    /// The client wrote the first `count` of these bytes, at `stamp_ns` by its own clock.
    fn hear(&mut self, at: Heard<'_, Self::Connection>, bytes: &[u8], count: usize) -> Vec<(u64, Self::Due)>;
    /// What was to be done later is done now.
    fn due(&mut self, at: Heard<'_, Self::Connection>, due: Self::Due) -> Departure<Self>;
    /// The client read these bytes, of which the next mark is behind the last one, or beyond.
    fn came(&mut self, _connection: &mut Self::Connection, _bytes: &[u8]) {}
    /// Bytes were read up to this mark.
    fn read(&mut self, slot: usize, connection: &mut Self::Connection, mark: Self::Mark);
    /// The clock was read: so many bytes, and the marks since, were read then.
    fn stamp(&mut self, now_ns: u64, bytes: usize);
    fn wrote(&mut self, stamp_ns: u64, bytes: usize);
    fn close(&mut self, slot: usize, connection: &mut Self::Connection, stamp_ns: u64);
    fn begin(&mut self, slot: usize, stamp_ns: u64);
}

#[derive(Debug)]
pub(super) struct Heard<'a, C> {
    pub(super) connection: &'a mut C,
    pub(super) slot: usize,
    pub(super) chance: &'a mut Chance,
    pub(super) now_ns: u64,
    pub(super) stamp_ns: u64,
}

/// What leaves a server at once, and what follows later.
#[derive(Debug)]
pub(super) struct Departure<S: Servers + ?Sized> {
    /// Each with what its last byte means, if anything.
    pub(super) bytes: Vec<(Vec<u8>, Option<S::Mark>)>,
    pub(super) later: Vec<(u64, S::Due)>,
    /// The server ends the connection.
    pub(super) ends: bool,
}

impl<S: Servers> Departure<S> {
    pub(super) fn nothing() -> Departure<S> {
        Departure { bytes: Vec::new(), later: Vec::new(), ends: false }
    }

    pub(super) fn of(bytes: Vec<u8>, mark: Option<S::Mark>) -> Departure<S> {
        Departure { bytes: vec![(bytes, mark)], ..Departure::nothing() }
    }

    pub(super) fn end() -> Departure<S> {
        Departure { ends: true, ..Departure::nothing() }
    }
}

#[derive(Debug)]
struct Connection<S: Servers> {
    serial: u64,
    token: u64,
    interest: Interest,
    open: bool,
    inbox: VecDeque<u8>,
    ended: bool,
    arrived: usize,
    read: usize,
    /// After how many bytes what is known.
    marks: VecDeque<(usize, S::Mark)>,
    server: S::Connection,
}

#[derive(Debug)]
enum Event<D> {
    Connected,
    Due(D),
}

/// By instant, then in order of scheduling; the connection by handle and serial.
type Scheduled<D> = BTreeMap<(u64, u64), (usize, u64, Event<D>)>;

#[derive(Debug)]
struct World<S: Servers> {
    servers: S,
    chance: Chance,
    now_ns: u64,
    stamp_ns: u64,
    calls: u64,
    sequence: u64,
    scheduled: Scheduled<S::Due>,
    connections: Vec<Option<Connection<S>>>,
    unstamped: usize,
}

#[derive(Debug)]
pub(super) struct Network<S: Servers> {
    world: Rc<RefCell<World<S>>>,
    events: Vec<u64>,
}

impl<S: Servers> Clone for Network<S> {
    fn clone(&self) -> Network<S> {
        Network { world: Rc::clone(&self.world), events: Vec::new() }
    }
}

impl<S: Servers> Network<S> {
    pub(super) fn new(seed: u64, servers: S) -> Network<S> {
        let world = World {
            servers,
            chance: Chance::new(seed),
            now_ns: EPOCH_NS,
            stamp_ns: EPOCH_NS,
            calls: 0,
            sequence: 0,
            scheduled: BTreeMap::new(),
            connections: Vec::new(),
            unstamped: 0,
        };
        Network { world: Rc::new(RefCell::new(world)), events: Vec::new() }
    }

    pub(super) fn advance_to(&self, to_ns: u64) {
        self.world.borrow_mut().advance_to(to_ns);
    }

    /// What the servers and the network saw, taken out.
    pub(super) fn take<T: Default>(&self, of: impl FnOnce(&mut S) -> &mut T) -> T {
        std::mem::take(of(&mut self.world.borrow_mut().servers))
    }
}

fn errno(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

impl<S: Servers> World<S> {
    fn pass(&mut self) {
        self.calls += 1;
        assert!(self.calls < CALLS_MAX, "the worker spins at {} ns", self.now_ns - EPOCH_NS);
        self.advance_to(self.now_ns + self.servers.conditions().call_ns);
    }

    fn advance_to(&mut self, to_ns: u64) {
        while let Some(entry) = self.scheduled.first_entry() {
            let (at, _) = *entry.key();
            if at > to_ns {
                break;
            }
            let (handle, serial, event) = entry.remove();
            self.now_ns = self.now_ns.max(at);
            let known = self.connections[handle].as_mut().filter(|c| c.serial == serial && !c.ended);
            let Some(connection) = known else { continue };
            let due = match event {
                Event::Connected => {
                    connection.open = true;
                    continue;
                }
                Event::Due(due) => due,
            };
            let Connection { server, token, .. } = connection;
            let (now_ns, stamp_ns) = (self.now_ns, self.stamp_ns);
            let chance = &mut self.chance;
            let at = Heard { connection: server, slot: *token as usize, chance, now_ns, stamp_ns };
            let left = self.servers.due(at, due);
            for (bytes, mark) in left.bytes {
                connection.arrived += bytes.len();
                connection.inbox.extend(bytes);
                connection.marks.extend(mark.map(|mark| (connection.arrived, mark)));
            }
            connection.ended = left.ends;
            self.schedule(handle, left.later);
        }
        self.now_ns = self.now_ns.max(to_ns);
    }

    fn schedule(&mut self, handle: usize, later: Vec<(u64, S::Due)>) {
        let serial = self.of(handle).serial;
        for (at_ns, due) in later {
            self.sequence += 1;
            self.scheduled.insert((at_ns, self.sequence), (handle, serial, Event::Due(due)));
        }
    }

    fn of(&mut self, handle: usize) -> &mut Connection<S> {
        self.connections[handle].as_mut().expect("no connection is used after its close")
    }

    fn receive(&mut self, handle: usize, buffer: &mut [u8]) -> io::Result<usize> {
        self.pass();
        let partly = self.chance.per_mille(self.servers.conditions().parts_per_mille);
        let waiting = self.of(handle).inbox.len().min(buffer.len());
        let count = if partly && waiting > 0 { self.chance.size(1, waiting) } else { waiting };
        let Some(connection) = &mut self.connections[handle] else {
            panic!("no connection is used after its close")
        };
        if count == 0 {
            return if connection.ended { Ok(0) } else { Err(errno(libc::EAGAIN)) };
        }
        for (to, byte) in buffer.iter_mut().zip(connection.inbox.drain(..count)) {
            *to = byte;
        }
        let before = connection.read;
        connection.read += count;
        let mut given = 0;
        while let Some((at, mark)) = connection.marks.pop_front_if(|(at, _)| *at <= connection.read) {
            self.servers.came(&mut connection.server, &buffer[given..at - before]);
            given = at - before;
            self.servers.read(connection.token as usize, &mut connection.server, mark);
        }
        self.servers.came(&mut connection.server, &buffer[given..count]);
        self.unstamped += count;
        Ok(count)
    }

    fn ready(&self) -> Vec<u64> {
        let ready = |c: &&Connection<S>| match c.interest {
            Interest::Read => c.open && (!c.inbox.is_empty() || c.ended),
            Interest::Write | Interest::ReadWrite => c.open,
        };
        self.connections.iter().flatten().filter(ready).map(|c| c.token).collect()
    }

    fn free_handle(&mut self) -> usize {
        if self.connections.len() < FIRST_HANDLE {
            self.connections.resize_with(FIRST_HANDLE, || None);
        }
        let free = (FIRST_HANDLE..self.connections.len()).find(|at| self.connections[*at].is_none());
        free.unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        })
    }
}

// Never inlined: `cargo xtask gate` counts the worker's instructions without those of these calls.
impl<S: Servers> Net for Network<S> {
    #[inline(never)]
    fn now_ns(&mut self) -> u64 {
        let world = &mut *self.world.borrow_mut();
        world.pass();
        world.stamp_ns = world.now_ns;
        world.servers.stamp(world.now_ns, std::mem::take(&mut world.unstamped));
        world.now_ns
    }

    #[inline(never)]
    fn cpu_ns(&mut self) -> u64 {
        self.world.borrow().now_ns
    }

    #[inline(never)]
    fn connect(&mut self, token: u64, _address: u32) -> io::Result<(Handle, Connecting)> {
        let world = &mut *self.world.borrow_mut();
        world.pass();
        let Conditions { refused_per_mille, connect_ns, .. } = world.servers.conditions();
        let refused = world.chance.per_mille(refused_per_mille);
        world.servers.connect(token as usize, refused, world.stamp_ns);
        if refused {
            return Err(errno(libc::ECONNREFUSED));
        }
        let at_once = connect_ns == 0;
        let opens_ns = world.now_ns + if at_once { 0 } else { world.chance.between(1, connect_ns) };
        let (server, first) = world.servers.accept(&mut world.chance, opens_ns);
        world.sequence += 1;
        let serial = world.sequence;
        let handle = world.free_handle();
        world.connections[handle] = Some(Connection {
            serial,
            token,
            interest: if at_once { Interest::Read } else { Interest::Write },
            open: at_once,
            inbox: VecDeque::new(),
            ended: false,
            arrived: 0,
            read: 0,
            marks: VecDeque::new(),
            server,
        });
        if !at_once {
            world.scheduled.insert((opens_ns, serial), (handle, serial, Event::Connected));
        }
        world.schedule(handle, first);
        Ok((handle as Handle, if at_once { Connecting::Done } else { Connecting::Pending }))
    }

    #[inline(never)]
    fn connect_result(&mut self, handle: Handle) -> io::Result<()> {
        assert!(self.world.borrow_mut().of(handle as usize).open, "epoll did not report it");
        Ok(())
    }

    #[inline(never)]
    fn watch(&mut self, handle: Handle, interest: Interest, token: u64) -> io::Result<()> {
        let world = &mut *self.world.borrow_mut();
        let connection = world.of(handle as usize);
        (connection.interest, connection.token) = (interest, token);
        Ok(())
    }

    #[inline(never)]
    fn send(&mut self, handle: Handle, bytes: &[u8]) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        let stamp_ns = world.stamp_ns;
        world.pass();
        assert!(!bytes.is_empty(), "there is something to write");
        let mut count = bytes.len();
        if world.chance.per_mille(world.servers.conditions().parts_per_mille) {
            count = world.chance.size(0, bytes.len());
        }
        if count == 0 {
            return Err(errno(libc::EAGAIN));
        }
        world.servers.wrote(stamp_ns, count);
        let now_ns = world.now_ns;
        let Some(Connection { server, token, .. }) = &mut world.connections[handle as usize] else {
            panic!("no connection is used after its close")
        };
        let (slot, chance) = (*token as usize, &mut world.chance);
        let at = Heard { connection: server, slot, chance, now_ns, stamp_ns };
        let later = world.servers.hear(at, bytes, count);
        world.schedule(handle as usize, later);
        Ok(count)
    }

    #[inline(never)]
    fn recv(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize> {
        self.world.borrow_mut().receive(handle as usize, buffer)
    }

    #[inline(never)]
    fn recv_stamped(&mut self, handle: Handle, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        self.world.borrow_mut().receive(handle as usize, buffer).map(|count| (count, None))
    }

    #[inline(never)]
    fn discard(&mut self, _handle: Handle, _most: usize) -> io::Result<(usize, Option<u64>)> {
        unreachable!("bodies of these protocols are never skipped")
    }

    #[inline(never)]
    fn discards(&self) -> bool {
        true
    }

    #[inline(never)]
    fn stamps(&self) -> bool {
        false
    }

    #[inline(never)]
    fn close(&mut self, handle: Handle) {
        let world = &mut *self.world.borrow_mut();
        let mut connection = world.connections[handle as usize].take().expect("a connection is closed once");
        world.servers.close(connection.token as usize, &mut connection.server, world.stamp_ns);
    }

    #[inline(never)]
    fn begun(&mut self, token: u64) {
        let world = &mut *self.world.borrow_mut();
        world.servers.begin(token as usize, world.stamp_ns);
    }

    #[inline(never)]
    fn wait(&mut self, now_ns: u64, until_ns: u64) -> io::Result<usize> {
        let world = &mut *self.world.borrow_mut();
        world.pass();
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

    #[inline(never)]
    fn token(&self, i: usize) -> u64 {
        self.events[i]
    }
}
