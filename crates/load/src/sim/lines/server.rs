//! Servers that speak the protocol of lines, and what the network sees of them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::any_order::{Conditions, Departure, Heard, Servers};
use super::super::chance::Chance;

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
    pub(super) conditions: Conditions,
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
            conditions: Conditions::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    GivenUp,
}

#[derive(Debug)]
pub(super) enum Due {
    /// Bytes, and the request that the last of them resolve.
    Bytes(Vec<u8>, Option<(u64, Fate)>),
    End,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// The unfinished line of the client, and when its first byte was written.
    line: Vec<u8>,
    line_ns: u64,
    asked: BTreeMap<u64, u64>,
    /// Those that the server has not resolved or that the client took back.
    active: BTreeSet<u64>,
    /// The most permits that it has been given.
    most: usize,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Truth {
    /// When each answer was read whole, and how long after its request was written.
    pub(super) answered: Vec<(u64, u64)>,
    /// When each other request failed, but for those whose time was over.
    pub(super) failed: Vec<u64>,
    pub(super) taken_back: u64,
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
pub(super) struct LineServers {
    habits: Habits,
    served: usize,
    /// Requests resolved on a slot since the clock was read, and when they were written.
    unstamped: Vec<(usize, Fate, u64)>,
    pub(super) truth: Truth,
}

impl LineServers {
    pub(super) fn new(habits: Habits, slots: usize) -> LineServers {
        let truth = Truth { begun: vec![0; slots], resolved: vec![0; slots], ..Truth::default() };
        LineServers { habits, served: 0, unstamped: Vec::new(), truth }
    }

    fn fail_all(&mut self, slot: usize, stamp_ns: u64) {
        let unresolved = self.truth.begun[slot] - self.truth.resolved[slot];
        self.truth.resolved[slot] += unresolved;
        self.truth.failed.extend((0..unresolved).map(|_| stamp_ns));
    }

    fn hear_line(&mut self, at: &mut Heard<'_, Connection>, line: &str) -> Vec<(u64, Due)> {
        let (kind, id) = line.split_once(' ').expect("a line has two words");
        let id: u64 = id.parse().expect("an id is a number");
        let connection = &mut *at.connection;
        if kind == "C" {
            connection.active.remove(&id);
            if connection.asked.remove(&id).is_some() {
                self.truth.taken_back += 1;
                self.truth.resolved[at.slot] += 1;
            }
            return Vec::new();
        }
        assert_eq!(kind, "Q");
        connection.asked.insert(id, connection.line_ns);
        connection.active.insert(id);
        let (active, most) = (connection.active.len(), connection.most);
        assert!(active <= most, "{active} requests at once where the server took {most} at most");
        self.truth.most_active = self.truth.most_active.max(active);
        self.answer(at, id)
    }

    fn answer(&mut self, at: &mut Heard<'_, Connection>, id: u64) -> Vec<(u64, Due)> {
        let Habits { service_ns: (low, high), durations_ns, .. } = &self.habits;
        let known = durations_ns.get(self.served).or(durations_ns.last()).copied();
        self.served += 1;
        let chance = &mut *at.chance;
        let end = at.now_ns + known.unwrap_or_else(|| chance.between(*low, *high));
        if chance.per_mille(self.habits.silent_per_mille) {
            return Vec::new();
        }
        if chance.per_mille(self.habits.closes_per_mille) {
            return vec![(end, Due::End)];
        }
        if chance.per_mille(self.habits.gives_up_per_mille) {
            return vec![(end, Due::Bytes(format!("E {id}\n").into_bytes(), Some((id, Fate::GivenUp))))];
        }
        let mut later = Vec::new();
        if chance.per_mille(self.habits.conditions.parts_per_mille) {
            let part_ns = chance.between(at.now_ns, end);
            later.push((part_ns, Due::Bytes(format!("B {id} 3\nabc").into_bytes(), None)));
        }
        let length = chance.size(0, 2);
        let mut bytes = format!("A {id} 200 {length}\n").into_bytes();
        bytes.resize(bytes.len() + length, b'x');
        later.push((end, Due::Bytes(bytes, Some((id, Fate::Answered)))));
        if chance.per_mille(self.habits.repermits_per_mille) {
            let permits = chance.size(1, 2 * self.habits.permits);
            at.connection.most = at.connection.most.max(permits);
            later.push((end, Due::Bytes(format!("P {permits}\n").into_bytes(), None)));
        }
        later
    }
}

impl Servers for LineServers {
    type Connection = Connection;
    type Due = Due;
    type Mark = (u64, Fate);

    fn conditions(&self) -> Conditions {
        self.habits.conditions
    }

    fn connect(&mut self, slot: usize, refused: bool, stamp_ns: u64) {
        self.truth.connects += 1;
        if refused {
            self.fail_all(slot, stamp_ns);
        }
    }

    fn accept(&mut self, _chance: &mut Chance, _now_ns: u64) -> (Connection, Vec<(u64, Due)>) {
        let connection = Connection {
            line: Vec::new(),
            line_ns: 0,
            asked: BTreeMap::new(),
            active: BTreeSet::new(),
            most: self.habits.permits,
        };
        (connection, Vec::new())
    }

    fn hear(&mut self, mut at: Heard<'_, Connection>, bytes: &[u8], count: usize) -> Vec<(u64, Due)> {
        let mut later = Vec::new();
        for byte in &bytes[..count] {
            if at.connection.line.is_empty() {
                at.connection.line_ns = at.stamp_ns;
                if *byte == b'Q' {
                    self.truth.sent.push(at.stamp_ns);
                }
            }
            if *byte == b'\n' {
                let line = String::from_utf8(std::mem::take(&mut at.connection.line)).unwrap();
                later.extend(self.hear_line(&mut at, &line));
            } else {
                at.connection.line.push(*byte);
            }
        }
        later
    }

    fn due(&mut self, at: Heard<'_, Connection>, due: Due) -> Departure<LineServers> {
        match due {
            Due::End => Departure::end(),
            Due::Bytes(bytes, resolves) => {
                if let Some((id, _)) = resolves {
                    at.connection.active.remove(&id);
                }
                Departure::of(bytes, resolves)
            }
        }
    }

    fn read(&mut self, slot: usize, connection: &mut Connection, (id, fate): (u64, Fate)) {
        // One that was taken back meanwhile has failed already.
        self.unstamped.extend(connection.asked.remove(&id).map(|sent_ns| (slot, fate, sent_ns)));
    }

    fn stamp(&mut self, now_ns: u64, bytes: usize) {
        if bytes > 0 {
            self.truth.reads.push((now_ns, bytes));
        }
        for (slot, fate, sent_ns) in self.unstamped.drain(..) {
            self.truth.resolved[slot] += 1;
            match fate {
                Fate::Answered => self.truth.answered.push((now_ns, now_ns - sent_ns)),
                Fate::GivenUp => self.truth.failed.push(now_ns),
            }
        }
    }

    fn wrote(&mut self, stamp_ns: u64, bytes: usize) {
        self.truth.writes.push((stamp_ns, bytes));
    }

    fn close(&mut self, slot: usize, _connection: &mut Connection, stamp_ns: u64) {
        self.fail_all(slot, stamp_ns);
    }

    fn begin(&mut self, slot: usize, _stamp_ns: u64) {
        self.truth.begun[slot] += 1;
    }
}
