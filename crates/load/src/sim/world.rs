//! The simulated world: one clock, what is scheduled on it, and the connections between a worker and its server.

use std::collections::{BTreeMap, VecDeque};

use crate::control::{Control, STOP_AHEAD_NS};
use crate::net::Handle;
use crate::pace::request_order::RequestOrder;
use prony_model::list::TargetList;

use super::chance::Chance;
use super::connection::{Connection, Link};
use super::nature::Nature;
use super::truth::{Request, Truth};

/// Descriptors below are taken, as a process's are.
pub(super) const FIRST_HANDLE: usize = 3;
/// A worker that calls more often than this does nothing else any more.
pub(super) const CALLS_MAX: u64 = 30_000_000;
/// The clock of the simulated machine starts here.
pub(super) const EPOCH_NS: u64 = 1_000_000_000_000;

#[derive(Debug)]
pub(super) enum Event {
    Connected,
    ConnectFails(i32),
    /// A request is whole at the server.
    Asked,
    /// A part of a request is at the server, which will not wait for the rest.
    Early,
    Bytes(Vec<u8>, Option<u64>),
    End,
    Reset,
    Room,
    /// What the server does to a connection that is still idle then.
    Mischief(super::nature::Mischief),
}

/// A reading that waits for the worker's clock to be stamped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unstamped {
    pub(super) handle: Handle,
    pub(super) bytes: usize,
    pub(super) stamp_ns: Option<u64>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) now_ns: u64,
    pub(super) stamp_ns: u64,
    pub(super) nature: Nature,
    pub(super) chance: Chance,
    /// By instant, then in order of scheduling; the connection by handle and serial.
    scheduled: BTreeMap<(u64, u64), (Handle, u64, Event)>,
    sequence: u64,
    connections: Vec<Option<Connection>>,
    /// Requests of each slot without an answer yet, oldest first.
    pub(super) pending: Vec<VecDeque<Request>>,
    pub(super) pipeline: usize,
    /// How many requests each slot's connection, or the next one, takes yet, and a new one.
    pub(super) left: Vec<u64>,
    pub(super) life: u64,
    /// The requests' bytes, as the worker must write them; and where each is its connection's last.
    pub(super) requests: [Vec<Vec<u8>>; 2],
    /// Which of them is next, where there is a list.
    pub(super) request_order: Option<RequestOrder>,
    pub(super) list: Option<TargetList>,
    /// Requests that the server has looked at.
    pub(super) served: u64,
    /// When the one server of [`super::nature::Service::Queue`] is free.
    pub(super) server_free_ns: u64,
    pub(super) unstamped: Option<Unstamped>,
    pub(super) truth: Truth,
    pub(super) running: bool,
    pub(super) stop: Option<(u64, Control)>,

    pub(super) connects: u64,
    pub(super) open_most: usize,
    /// Waits that ended with nothing.
    pub(super) idle_waits: u64,
    pub(super) waits: u64,
    /// Requests whose bytes are whole at the server.
    pub(super) arrived_whole: u64,
    /// Answers that were read together with one before them.
    pub(super) answers_together: u64,
    pub(super) calls: u64,
}

impl World {
    pub(super) fn new(nature: Nature, requests: [Vec<Vec<u8>>; 2], truth: Truth) -> World {
        World {
            now_ns: EPOCH_NS,
            stamp_ns: EPOCH_NS,
            chance: Chance::new(nature.seed),
            nature,
            scheduled: BTreeMap::new(),
            sequence: 0,
            connections: Vec::new(),
            pending: vec![VecDeque::new(); truth.slots()],
            pipeline: truth.pipeline,
            left: Vec::new(),
            life: u64::MAX,
            requests,
            request_order: None,
            list: None,
            served: 0,
            server_free_ns: 0,
            unstamped: None,
            truth,
            running: false,
            stop: None,
            connects: 0,
            open_most: 0,
            idle_waits: 0,
            waits: 0,
            arrived_whole: 0,
            answers_together: 0,
            calls: 0,
        }
    }

    /// Lets time pass; what is scheduled happens, each at its instant.
    pub(super) fn pass(&mut self, ns: u64) {
        self.calls += 1;
        assert!(self.calls < CALLS_MAX, "the worker spins at {} ns", self.now_ns - EPOCH_NS);
        self.advance_to(self.now_ns + ns);
    }

    pub(super) fn advance_to(&mut self, to_ns: u64) {
        while let Some(entry) = self.scheduled.first_entry() {
            let (at, _) = *entry.key();
            if at > to_ns {
                break;
            }
            let (handle, serial, event) = entry.remove();
            self.now_ns = self.now_ns.max(at);
            if self.get(handle).is_some_and(|c| c.serial == serial) {
                self.happen(at, handle, event);
            }
        }
        self.now_ns = self.now_ns.max(to_ns);
        if let Some((at, control)) = &self.stop
            && *at <= self.now_ns
        {
            control.stop_at(at + STOP_AHEAD_NS);
            self.stop = None;
        }
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        self.scheduled.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn schedule(&mut self, at_ns: u64, handle: Handle, event: Event) {
        let serial = self.of(handle).serial;
        self.sequence += 1;
        self.scheduled.insert((at_ns, self.sequence), (handle, serial, event));
    }

    fn happen(&mut self, at_ns: u64, handle: Handle, event: Event) {
        match event {
            Event::Connected => {
                self.of(handle).link = Link::Open;
                self.tempt(at_ns, handle);
            }
            Event::ConnectFails(errno) => self.of(handle).link = Link::Failed(errno),
            Event::Asked => self.answer(at_ns, handle),
            Event::Early => self.answer_early(at_ns, handle),
            Event::Bytes(bytes, stamp) => self.of(handle).arrive(bytes, stamp),
            Event::End => self.of(handle).ended = true,
            Event::Reset => {
                // What was not read is lost or not, as kernels do.
                let lost = self.chance.per_mille(500);
                let connection = self.of(handle);
                connection.reset = true;
                if lost {
                    connection.inbox.clear();
                }
            }
            Event::Room => self.of(handle).room = self.nature.room,
            Event::Mischief(mischief) => self.do_mischief(at_ns, handle, mischief),
        }
    }

    /// A handle for a new connection: the lowest that is free, as descriptors are.
    pub(super) fn open(&mut self, token: u64, link: Link) -> Handle {
        self.sequence += 1;
        let room = if self.nature.room == 0 { usize::MAX } else { self.nature.room };
        let connection = Connection::new(self.sequence, token, link, room, self.stamp_ns);
        if self.connections.len() < FIRST_HANDLE {
            self.connections.resize_with(FIRST_HANDLE, || None);
        }
        let free = (FIRST_HANDLE..self.connections.len()).find(|i| self.connections[*i].is_none());
        let index = free.unwrap_or(self.connections.len());
        if index == self.connections.len() {
            self.connections.push(None);
        }
        self.connections[index] = Some(connection);
        self.open_most = self.open_most.max(self.open_count());
        index as Handle
    }

    pub(super) fn open_count(&self) -> usize {
        self.connections.iter().flatten().count()
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Connection {
        let place = usize::try_from(handle).ok().and_then(|i| self.connections.get_mut(i));
        place.and_then(Option::take).expect("a connection is closed once")
    }

    pub(super) fn begin(&mut self, slot: usize) {
        let which = self.request_order.as_mut().map_or(0, RequestOrder::take);
        self.left[slot] -= 1;
        let last = self.left[slot] == 0;
        let request = Request { which, last, ..self.truth.begin(slot, self.stamp_ns) };
        self.pending[slot].push_back(request);
        assert!(self.pending[slot].len() <= self.pipeline, "more requests than the plan's pipeline has");
    }

    pub(super) fn length(&self, request: &Request) -> usize {
        self.bytes(request).len()
    }

    pub(super) fn bytes(&self, request: &Request) -> &[u8] {
        &self.requests[usize::from(request.last)][request.which as usize]
    }

    pub(super) fn get(&self, handle: Handle) -> Option<&Connection> {
        self.connections.get(usize::try_from(handle).ok()?)?.as_ref()
    }

    /// An open connection. A worker that uses one after its close is wrong.
    pub(super) fn of(&mut self, handle: Handle) -> &mut Connection {
        let place = usize::try_from(handle).ok().and_then(|i| self.connections.get_mut(i));
        place.and_then(Option::as_mut).expect("no connection is used after its close")
    }

    pub(super) fn ready_tokens(&self) -> Vec<u64> {
        self.connections.iter().flatten().filter(|c| c.is_ready()).map(|c| c.token).collect()
    }

    /// The worker reads the clock: what it read before is stamped so.
    pub(super) fn read_clock(&mut self) -> u64 {
        self.pass(self.nature.clock_cost_ns);
        self.stamp_ns = self.now_ns;
        if let Some(unstamped) = self.unstamped.take() {
            self.stamp_reading(unstamped);
        }
        self.stamp_ns
    }
}
