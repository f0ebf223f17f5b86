//! Servers that speak HTTP/2 and hold a client to its rules: limits, windows, settings, the order of streams.

use prony_http2::Code;
use prony_http2::frame::{Header, flag, kind, setting, word, write};
use prony_model::measurement::ErrorKind;
use prony_model::plan::{Expect, Plan};
use prony_model::units::nanoseconds;

use crate::pace::request_order::RequestOrder;

use super::super::any_order::{Conditions, Departure, Heard, Servers};
use super::super::chance::Chance;
use super::answer::{self, Piece};
use super::connection::{Connection, Due, Incoming, Mark, Means, Sets, Stream, WINDOW_FIRST, header_of};
use super::habits::Habits;
use super::truth::Truth;

/// The longest wait for more room in a window.
const GRANT_NS: u64 = 300_000;
/// Behind a GOAWAY, how long at most until its connection ends once it carries nothing.
const END_NS: u64 = 2_000_000;
/// The last stream of a first GOAWAY, which only says that another one follows.
const NOT_YET: u32 = (1 << 31) - 1;

/// What reading comes to, until it is known when that was.
#[derive(Debug)]
enum Read {
    Answered { number: usize, status: u16, stands_ns: u64 },
    Failed(ErrorKind),
    OfNone(usize),
}

#[derive(Debug)]
pub(super) struct StreamServers {
    habits: Habits,
    body_bytes: usize,
    slots: usize,
    order: Option<RequestOrder>,
    life: u64,
    timeout_ns: u64,
    expect: Expect,
    served: usize,
    unstamped: Vec<Read>,
    pub(super) truth: Truth,
}

impl StreamServers {
    pub(super) fn new(
        habits: Habits,
        plan: &Plan,
        slots: usize,
        order: Option<RequestOrder>,
    ) -> StreamServers {
        StreamServers {
            habits,
            body_bytes: plan.body.len(),
            slots,
            order,
            life: plan.life().map_or(u64::MAX, u64::from),
            timeout_ns: nanoseconds(plan.timeout),
            expect: plan.expect.clone(),
            served: 0,
            unstamped: Vec::new(),
            truth: Truth::default(),
        }
    }

    /// The first byte of a frame is written: `whole` has all of it.
    fn begin_frame(&mut self, at: &mut Heard<'_, Connection>, header: Header, payload: &[u8]) {
        let connection = &mut *at.connection;
        if header.kind != kind::HEADERS {
            return;
        }
        assert!(header.has(flag::END_HEADERS), "a request's header block is short");
        assert!(connection.settled, "a request before the server's settings");
        assert!(header.stream % 2 == 1 && header.stream > connection.last, "a stream out of order");
        connection.last = header.stream;
        let (mut path, mut pseudo) = (None, 0);
        let decoded = connection.decoder.decode(payload, |name, value| {
            pseudo += u32::from(name.starts_with(b":"));
            if name == b":path" {
                path = Some(String::from_utf8(value.to_vec()).unwrap());
            }
        });
        assert_eq!((decoded, pseudo), (Ok(()), 4), "a request has four pseudo-headers");
        // What was moved before it was written goes out all the same, and means nothing.
        if connection.goaway_read.is_some_and(|last| header.stream > last) {
            return;
        }
        let which = path.and_then(|path| path[1..].parse().ok()).expect("a path is a number");
        let number = self.truth.send(at.slot % self.slots, which, at.stamp_ns);
        connection.open.insert(header.stream, number);
        self.truth.most_open = self.truth.most_open.max(connection.open.len());
    }

    fn hear_frame(&mut self, at: &mut Heard<'_, Connection>, frame: &Incoming) -> Vec<(u64, Due)> {
        let Incoming { header, payload, .. } = frame;
        let connection = &mut *at.connection;
        match header.kind {
            kind::HEADERS => return self.hear_request(at, *header),
            kind::DATA => return self.hear_body(at, *header),
            kind::SETTINGS if header.has(flag::ACK) => {
                let sets = connection.unacknowledged.pop_front().expect("settings are acknowledged once");
                connection.streams_most = sets.streams.unwrap_or(connection.streams_most);
                if let Some(window) = sets.window {
                    let more = i64::from(window) - connection.stream_window;
                    connection.stream_window += more;
                    for stream in connection.streams.values_mut() {
                        stream.window += more;
                        self.truth.negative_windows += u64::from(stream.window < 0);
                    }
                }
            }
            kind::RST_STREAM => {
                connection.streams.remove(&header.stream);
                if connection.open.remove(&header.stream).is_some() {
                    assert_eq!(word(payload), Code::CANCEL.0, "a stream is given up when its time is over");
                    self.truth.cancel(at.stamp_ns);
                }
                return self.end_drained(at);
            }
            kind::GOAWAY if word(&payload[4..]) == Code::NO_ERROR.0 => {
                assert!(connection.open.is_empty(), "a connection that has carried all of its requests");
                self.truth.farewells += 1;
            }
            kind::GOAWAY => self.truth.client_goaways.push(word(&payload[4..])),
            kind::PING => assert_eq!(payload.as_slice(), b"whatever", "a PING's answer is its own"),
            kind::SETTINGS | kind::WINDOW_UPDATE => {}
            other => panic!("a client sent a frame of type {other}"),
        }
        Vec::new()
    }

    fn hear_request(&mut self, at: &mut Heard<'_, Connection>, header: Header) -> Vec<(u64, Due)> {
        let connection = &mut *at.connection;
        if connection.goaway.is_some_and(|last| header.stream > last) {
            return Vec::new();
        }
        let (open, most) = (connection.streams.len() as u32, connection.streams_most);
        assert!(open < most, "a request beside {open} others where the server takes {most} at most");
        connection.requests += 1;
        assert!(connection.requests <= self.life, "a connection has as many requests as it may");
        let ends = header.has(flag::END_STREAM);
        assert_eq!(ends, self.body_bytes == 0, "a request has the body that is asked for");
        let mut later = Vec::new();
        if !ends {
            later.push((at.now_ns + at.chance.between(1, GRANT_NS), Due::Grant(header.stream)));
        }
        let mut answer = self.answer(at, header.stream);
        if ends || at.chance.per_mille(self.habits.early_per_mille) {
            self.truth.early += u64::from(!ends);
            later.append(&mut answer);
        }
        let connection = &mut *at.connection;
        let window = connection.stream_window;
        connection.streams.insert(header.stream, Stream { window, came: 0, answer });
        if self.habits.goaway_after.is_some_and(|after| after == connection.requests) {
            later.push((at.now_ns + at.chance.between(0, self.habits.service_ns.1), Due::GoAway));
        }
        if at.chance.per_mille(self.habits.pings_per_mille) {
            later.push((at.now_ns + at.chance.between(0, GRANT_NS), Due::Ping));
        }
        if at.chance.per_mille(self.habits.resettles_per_mille) {
            later.push((
                at.now_ns + at.chance.between(0, GRANT_NS),
                Due::Settings(self.other_settings(at.chance)),
            ));
        }
        later
    }

    fn other_settings(&self, chance: &mut Chance) -> Sets {
        let streams = self.habits.streams.map(|streams| chance.between(1, 2 * u64::from(streams)) as u32);
        let window = self.habits.window.map(|window| chance.between(0, 2 * u64::from(window)) as u32);
        let table_bytes = self.habits.table_bytes.map(|most| chance.between(0, u64::from(most)) as u32);
        Sets { streams, window, table_bytes }
    }

    /// What is to become of a request that has just come, its times as if it were whole.
    fn answer(&mut self, at: &mut Heard<'_, Connection>, id: u32) -> Vec<(u64, Due)> {
        let Habits { service_ns: (low, high), durations_ns, .. } = &self.habits;
        let known = durations_ns.get(self.served).or(durations_ns.last()).copied();
        self.served += 1;
        let (habits, chance) = (&self.habits, &mut *at.chance);
        let end_ns = at.now_ns + known.unwrap_or_else(|| chance.between(*low, *high));
        if chance.per_mille(habits.silent_per_mille) {
            return Vec::new();
        }
        let instead = if chance.per_mille(habits.closes_per_mille) {
            Due::End
        } else if chance.per_mille(habits.breaks_per_mille) {
            Due::Break
        } else if chance.per_mille(habits.refuses_per_mille) {
            Due::Reset(id, Code::REFUSED_STREAM)
        } else if chance.per_mille(habits.resets_per_mille) {
            Due::Reset(id, Code::INTERNAL_ERROR)
        } else if chance.per_mille(habits.malformed_per_mille) {
            Due::Piece(id, if chance.per_mille(500) { Piece::NoStatus } else { Piece::Short }, 0)
        } else {
            let (pieces, status) = answer::pieces(chance, habits, at.now_ns, end_ns);
            return pieces.into_iter().map(|(at_ns, piece)| (at_ns, Due::Piece(id, piece, status))).collect();
        };
        vec![(end_ns, instead)]
    }

    fn hear_body(&mut self, at: &mut Heard<'_, Connection>, header: Header) -> Vec<(u64, Due)> {
        let connection = &mut *at.connection;
        connection.window -= i64::from(header.length);
        assert!(connection.window >= 0, "more of bodies than the connection's window allows");
        let Some(stream) = connection.streams.get_mut(&header.stream) else { return Vec::new() };
        stream.window -= i64::from(header.length);
        assert!(stream.window >= 0 || header.length == 0, "more of a body than its stream's window allows");
        stream.came += header.length as usize;
        assert_eq!(header.has(flag::END_STREAM), stream.came == self.body_bytes, "a body's end is its own");
        if !header.has(flag::END_STREAM) {
            return Vec::new();
        }
        // The answer's instants are as if the request had been whole at once.
        let now_ns = at.now_ns;
        std::mem::take(&mut stream.answer).into_iter().map(|(at_ns, due)| (at_ns.max(now_ns), due)).collect()
    }

    /// A connection that is to end, and carries nothing, does.
    fn end_drained(&self, at: &mut Heard<'_, Connection>) -> Vec<(u64, Due)> {
        let ends = at.connection.goaway.is_some() && at.connection.streams.is_empty();
        if ends { vec![(at.now_ns + at.chance.between(0, END_NS), Due::End)] } else { Vec::new() }
    }

    fn depart(
        &mut self,
        at: &mut Heard<'_, Connection>,
        stream: u32,
        bytes: Vec<u8>,
        means: Means,
    ) -> Departure<Self> {
        at.connection.touched = at.connection.touched.max(stream);
        let mark = Mark { stream, means };
        Departure { later: self.end_drained(at), ..Departure::of(bytes, Some(mark)) }
    }

    fn piece(
        &mut self,
        at: &mut Heard<'_, Connection>,
        id: u32,
        piece: &Piece,
        status: u16,
    ) -> Departure<Self> {
        let connection = &mut *at.connection;
        if !connection.streams.contains_key(&id) {
            return Departure::nothing();
        }
        let bytes = piece.bytes(id, &mut connection.entered_table);
        if !piece.ends() {
            return self.depart(at, id, bytes, Means::Nothing);
        }
        connection.streams.remove(&id);
        let means = if status == 0 { Means::Failed(ErrorKind::Protocol) } else { Means::End(status) };
        self.depart(at, id, bytes, means)
    }

    /// Makes a stream's window larger, and the connection's where that is small.
    fn grant(&mut self, at: &mut Heard<'_, Connection>, id: u32) -> Departure<Self> {
        let connection = &mut *at.connection;
        let body_bytes = self.body_bytes;
        let Some(stream) = connection.streams.get_mut(&id).filter(|stream| stream.came < body_bytes) else {
            return Departure::nothing();
        };
        let more = at.chance.between(1, 1_000);
        stream.window += more as i64;
        let mut out = Vec::new();
        write::window_update(&mut out, id, more as u32);
        let mark = |stream| Some(Mark { stream, means: Means::Nothing });
        let mut bytes = vec![(out.clone(), mark(id))];
        if connection.window < WINDOW_FIRST / 2 {
            connection.window += WINDOW_FIRST;
            out.clear();
            write::window_update(&mut out, 0, WINDOW_FIRST as u32);
            bytes.push((out.clone(), mark(0)));
        }
        let later = vec![(at.now_ns + at.chance.between(1, GRANT_NS), Due::Grant(id))];
        Departure { bytes, later, ends: false }
    }

    /// Takes no more requests: of those that came, some above any that was answered are not processed, by chance.
    fn go_away(&mut self, at: &mut Heard<'_, Connection>) -> Departure<Self> {
        let connection = &mut *at.connection;
        let mut bytes = Vec::new();
        if !connection.warned && at.chance.per_mille(300) {
            connection.warned = true;
            write::goaway(&mut bytes, NOT_YET, Code::NO_ERROR);
            let mark = Mark { stream: 0, means: Means::GoAway(NOT_YET) };
            let later = vec![(at.now_ns + at.chance.between(0, GRANT_NS), Due::GoAway)];
            return Departure { later, ..Departure::of(bytes, Some(mark)) };
        }
        self.truth.goaways += 1;
        let came = connection.streams.last_key_value().map_or(connection.touched, |(last, _)| *last);
        let last = if at.chance.per_mille(500) { came.max(connection.touched) } else { connection.touched };
        connection.goaway = Some(last);
        connection.streams.retain(|id, _| *id <= last);
        write::goaway(&mut bytes, last, Code::NO_ERROR);
        self.depart(at, 0, bytes, Means::GoAway(last))
    }
}

impl Servers for StreamServers {
    type Connection = Connection;
    type Due = Due;
    type Mark = Mark;

    fn conditions(&self) -> Conditions {
        self.habits.conditions
    }

    fn connect(&mut self, slot: usize, refused: bool, stamp_ns: u64) {
        self.truth.connects += 1;
        if refused {
            self.truth.fail_unsent(slot, stamp_ns, ErrorKind::ConnectRefused);
        }
    }

    fn accept(&mut self, chance: &mut Chance, now_ns: u64) -> (Connection, Vec<(u64, Due)>) {
        let Habits { settings_ns, streams, window, table_bytes, .. } = self.habits;
        let sets = Sets { streams, window, table_bytes };
        (Connection::new(), vec![(now_ns + chance.between(0, settings_ns), Due::Settings(sets))])
    }

    fn hear(&mut self, mut at: Heard<'_, Connection>, bytes: &[u8], count: usize) -> Vec<(u64, Due)> {
        at.connection.stands_ns.get_or_insert(at.stamp_ns);
        let (mut used, mut later) = (0, Vec::new());
        while used < count {
            let connection = &mut *at.connection;
            if connection.preface_left > 0 {
                let now = connection.preface_left.min(count - used);
                connection.preface_left -= now;
                used += now;
                continue;
            }
            let Some(mut incoming) = connection.incoming.take() else {
                // What is offered are whole frames, of which the network takes what it will.
                let header = header_of(&bytes[used..]);
                let payload = bytes[used + 9..used + 9 + header.length as usize].to_vec();
                self.begin_frame(&mut at, header, &payload);
                let left = 9 + payload.len();
                at.connection.incoming = Some(Incoming { header, payload, left });
                continue;
            };
            let now = incoming.left.min(count - used);
            incoming.left -= now;
            used += now;
            if incoming.left > 0 {
                connection.incoming = Some(incoming);
            } else {
                later.extend(self.hear_frame(&mut at, &incoming));
            }
        }
        later
    }

    fn due(&mut self, mut at: Heard<'_, Connection>, due: Due) -> Departure<StreamServers> {
        let connection = &mut *at.connection;
        let mut out = Vec::new();
        match due {
            Due::End => Departure::end(),
            Due::Piece(id, piece, status) => self.piece(&mut at, id, &piece, status),
            Due::Grant(id) => self.grant(&mut at, id),
            Due::GoAway => self.go_away(&mut at),
            Due::Break => {
                // A WINDOW_UPDATE that widens by nothing.
                write::window_update(&mut out, 0, 0);
                self.depart(&mut at, 0, out, Means::Broken)
            }
            Due::Ping => {
                write::header(&mut out, 8, kind::PING, 0, 0);
                out.extend_from_slice(b"whatever");
                self.depart(&mut at, 0, out, Means::Nothing)
            }
            Due::Reset(id, code) => {
                if connection.streams.remove(&id).is_none() {
                    return Departure::nothing();
                }
                write::rst_stream(&mut out, id, code);
                let refused = code == Code::REFUSED_STREAM;
                let kind = if refused { ErrorKind::Refused } else { ErrorKind::StreamReset };
                self.depart(&mut at, id, out, Means::Failed(kind))
            }
            Due::Settings(sets) => {
                let Sets { streams, window, table_bytes } = sets;
                let lowered = streams.is_some_and(|streams| (streams as usize) < connection.streams.len());
                self.truth.limits_lowered += u64::from(lowered);
                connection.unacknowledged.push_back(sets);
                let list = [
                    (setting::HEADER_TABLE_SIZE, table_bytes),
                    (setting::MAX_CONCURRENT_STREAMS, streams),
                    (setting::INITIAL_WINDOW_SIZE, window),
                ];
                let list: Vec<(u16, u32)> =
                    list.iter().filter_map(|(id, value)| Some((*id, (*value)?))).collect();
                write::settings(&mut out, &list);
                self.depart(&mut at, 0, out, Means::Settings)
            }
        }
    }

    fn came(&mut self, connection: &mut Connection, bytes: &[u8]) {
        let Connection { reading, open, is_broken, .. } = connection;
        for (stream, bytes) in reading.take(bytes) {
            if *is_broken || !open.contains_key(&stream) {
                self.unstamped.push(Read::OfNone(bytes));
            }
        }
    }

    fn read(&mut self, _slot: usize, connection: &mut Connection, mark: Mark) {
        if connection.is_broken {
            return;
        }
        let Mark { stream, means } = mark;
        let number = connection.open.get(&stream).copied();
        match (means, number) {
            (Means::Settings, _) => connection.settled = true,
            (Means::Broken, _) => connection.is_broken = true,
            (Means::GoAway(last), _) => {
                connection.goaway_read = Some(last);
                for (_, number) in connection.open.split_off(&last.saturating_add(1)) {
                    self.truth.unsend(number);
                }
            }
            (Means::End(status), Some(number)) => {
                connection.open.remove(&stream);
                let stands_ns = connection.stands_ns.unwrap_or(0);
                self.unstamped.push(Read::Answered { number, status, stands_ns });
            }
            (Means::Failed(kind), Some(_)) => {
                connection.open.remove(&stream);
                self.unstamped.push(Read::Failed(kind));
            }
            (Means::Nothing | Means::End(_) | Means::Failed(_), _) => {}
        }
    }

    fn stamp(&mut self, now_ns: u64, bytes: usize) {
        if bytes > 0 {
            self.truth.reads.push((now_ns, bytes));
        }
        for read in std::mem::take(&mut self.unstamped) {
            match read {
                Read::OfNone(bytes) => self.truth.reads_of_none.push((now_ns, bytes)),
                Read::Failed(kind) => self.truth.fail(now_ns, kind),
                Read::Answered { number, status, stands_ns } => {
                    if now_ns - self.truth.began_ns(number).max(stands_ns) >= self.timeout_ns {
                        self.truth.cancel(now_ns);
                    } else if self.expect.accepts_status(status) {
                        self.truth.answer(number, now_ns);
                    } else {
                        self.truth.fail(now_ns, ErrorKind::UnexpectedStatus);
                    }
                }
            }
        }
    }

    fn wrote(&mut self, stamp_ns: u64, bytes: usize) {
        self.truth.writes.push((stamp_ns, bytes));
    }

    fn close(&mut self, slot: usize, connection: &mut Connection, stamp_ns: u64) {
        let kind = if connection.is_broken { ErrorKind::Protocol } else { ErrorKind::ClosedEarly };
        for _ in std::mem::take(&mut connection.open) {
            self.truth.fail(stamp_ns, kind);
        }
        // Where connections end by GOAWAY they end in no other way, but for the load's end; and what was moved too often is
        // given up without the network's hearing of it.
        if self.habits.goaway_after.is_none() {
            self.truth.fail_unsent(slot, stamp_ns, kind);
        }
    }

    fn begin(&mut self, slot: usize, stamp_ns: u64) {
        let which = self.order.as_mut().map_or(0, RequestOrder::take);
        self.truth.begin(slot, which, stamp_ns);
    }
}
