//! One connection: what comes in as steps, what goes out as bytes. Its requests are at places, numbers below the number
//! of streams asked for; who drives it chooses a free one. Everything a request needs is allocated with the connection.

mod receiving;
mod requests;
mod response;
mod sending;

use std::collections::VecDeque;

pub use requests::Requests;
use response::{Heads, Ordinary};

use crate::frame::{Piece, Reader, Settings, WINDOW_MAX, flag, kind, word, write};
use crate::hpack::{LIST_MAX_BYTES, TABLE_MAX_BYTES};
use crate::{Code, Coding, Fault};

/// Where a connection keeps a request until its response is whole.
pub type StreamPlace = u16;

/// The connection's end, without fault: a GOAWAY that says that none of the peer's streams was processed.
pub const FAREWELL: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The window of the connection and of each stream: so large that the server never waits. A used half is given back.
pub const WINDOW_BYTES: u32 = (1 << 30) - 1;
/// The server's window for a stream, and for the connection, before it says anything.
const WINDOW_FIRST: i64 = 65_535;
/// The last id of a stream: 2^30 of them exhaust a connection.
const ID_LAST: u32 = (1 << 31) - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'b> {
    /// All input is used.
    More,
    /// Bytes that say nothing, or nothing yet; of this request's response, if of any.
    Wire(Option<StreamPlace>),
    /// The server's settings came: the connection stands. They are answered by what is outgoing.
    Ready,
    /// The head of a response is whole, and more is to come. (Heads of interim responses, 1xx, are [`Step::Wire`].)
    Head { place: StreamPlace, status: u16 },
    /// A part of a response's body, and not its last.
    Body {
        place: StreamPlace,
        /// At least one.
        bytes: &'b [u8],
    },
    End {
        place: StreamPlace,
        /// Its status, where its head has come only now.
        status: Option<u16>,
        /// The last of its body, as far as it was not given yet.
        bytes: &'b [u8],
    },
    /// There will be no (whole) response, and the place is free.
    Failed { place: StreamPlace, failure: Failure },
    /// The connection takes no more requests: ended by the server so, or out of ids. Sent ones may still be answered.
    Draining(Code),
    /// The request was surely not processed: it may be sent again on another connection. The place is free.
    Moved(StreamPlace),
}

/// Why a request failed while its connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The server refused to process it (REFUSED_STREAM).
    Refused,
    /// The server ended its stream with this code.
    Reset(Code),
    /// The response is not one: what is wrong with it. The stream was ended.
    Malformed(&'static str),
    Closed,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    id: u32,
    /// Where its request begins in what is outgoing; meaningless once a byte of it is written.
    begins: usize,
    /// How much of the body the server still takes; negative where it lowered its windows after it was sent.
    window: i64,
    /// How much of the body has been taken for being written; meaningless where there is none.
    sent: usize,
    /// How much of our window the server has used.
    received: u32,
    left: Option<u64>,
    has_head: bool,
    to_head: bool,
    interim: u8,
}

#[derive(Debug, Clone, Copy)]
struct Draining {
    last: u32,
    code: Code,
    told: bool,
}

/// What the server's settings mean for the table of request fields.
#[derive(Debug, Clone, Copy)]
struct Encoding {
    /// The most that the table may take; never raised again.
    table_bytes: usize,
    /// The table's size changed, which the next block has to say.
    resized: bool,
    /// The shared fields stand in the table.
    indexed: bool,
}

#[derive(Debug)]
pub struct Connection {
    reader: Reader,
    heads: Heads,
    ordinary: Ordinary,
    streams: Vec<Stream>,
    /// How the body of each place's last response is coded; not after [`Connection::take_fast`].
    codings: Vec<Coding>,
    open: VecDeque<(u32, StreamPlace)>,
    /// How many of them, the youngest ones, have requests of which nothing is written.
    unsent: usize,
    /// Requests that have no stream yet: their places, and which of the requests each is.
    queue: VecDeque<(StreamPlace, u32)>,
    uploads: VecDeque<(StreamPlace, u32)>,
    outgoing: sending::Outgoing,
    next_id: u32,
    /// No stream above this one was ended by us alone: to those above that are gone, the server sends nothing.
    forgotten: u32,
    ready: bool,
    server_streams: u32,
    stream_window: i64,
    window: i64,
    received: u32,
    encoding: Encoding,
    draining: Option<Draining>,
    fault: Option<Fault>,
    empty_frames: u32,
}

enum Found {
    Open(StreamPlace),
    /// It was, and is not any more; whether the server need not know that yet.
    Gone {
        unknown_to_server: bool,
    },
    Never,
}

impl Connection {
    pub fn new(streams: StreamPlace) -> Connection {
        let most = usize::from(streams);
        let mut connection = Connection {
            reader: Reader::default(),
            heads: Heads::default(),
            ordinary: Ordinary::none(),
            streams: vec![Stream::default(); most],
            codings: vec![Coding::default(); most],
            open: VecDeque::with_capacity(most),
            unsent: 0,
            queue: VecDeque::with_capacity(most),
            uploads: VecDeque::with_capacity(most),
            outgoing: sending::Outgoing::default(),
            next_id: 1,
            forgotten: 0,
            ready: false,
            server_streams: 0,
            stream_window: 0,
            window: 0,
            received: 0,
            encoding: Encoding { table_bytes: 0, resized: false, indexed: false },
            draining: None,
            fault: None,
            empty_frames: 0,
        };
        connection.open();
        connection
    }

    pub fn clear(&mut self) {
        self.queue.clear();
        self.open();
    }

    /// Begins anew, on another socket. Requests that have no stream go over this one; others are forgotten.
    pub fn open(&mut self) {
        self.reader.reset();
        self.heads.reset();
        self.ordinary.reset();
        self.open.clear();
        self.unsent = 0;
        self.uploads.clear();
        self.outgoing.clear();
        (self.next_id, self.forgotten, self.ready) = (1, 0, false);
        // Until it says otherwise, as many as are asked for (RFC 9113, section 6.5.2).
        (self.server_streams, self.stream_window, self.window) = (u32::MAX, WINDOW_FIRST, WINDOW_FIRST);
        (self.received, self.empty_frames) = (0, 0);
        self.encoding = Encoding { table_bytes: TABLE_MAX_BYTES, resized: false, indexed: false };
        (self.draining, self.fault) = (None, None);
        write::preface(&mut self.outgoing.bytes, WINDOW_BYTES, LIST_MAX_BYTES as u32);
    }

    /// How many streams the connection may have at once: as asked, or as the server allows.
    pub fn streams(&self) -> u32 {
        (self.streams.len() as u32).min(self.server_streams)
    }

    /// How many streams it has opened since it was: each has an odd id, from 1 on.
    pub fn streams_opened(&self) -> u32 {
        self.next_id / 2
    }

    /// How many more requests it takes now; negative where the server lowered its limit, 0 before its settings.
    pub fn permits(&self) -> i32 {
        if !self.ready || self.draining.is_some() || self.fault.is_some() {
            return 0;
        }
        let ids = (ID_LAST + 2 - self.next_id) / 2;
        let streams = self.streams().min(ids + self.open.len() as u32);
        streams as i32 - (self.open.len() + self.queue.len()) as i32
    }

    /// What unfinished frames and header blocks take beyond the few kilobytes that each connection may keep.
    pub fn partial_bytes(&self) -> usize {
        self.reader.beyond_kept()
    }

    pub fn is_ready(&self) -> bool {
        self.ready
    }

    pub fn is_draining(&self) -> bool {
        self.draining.is_some()
    }

    /// Whether what was taken leaves steps that need no more bytes.
    pub fn has_buffered_events(&self) -> bool {
        let drains = |draining: &Draining| {
            let unprocessed = self.open.back().is_some_and(|(id, _)| *id > draining.last);
            !draining.told || !self.queue.is_empty() || unprocessed
        };
        self.draining.as_ref().is_some_and(drains)
    }

    /// How the body of the response that this place had last is coded; not after [`Connection::take_fast`].
    pub fn coding(&self, place: StreamPlace) -> Coding {
        self.codings[usize::from(place)]
    }

    /// How many requests wait for the server's windows with their bodies, once all that is outgoing is written.
    pub fn flow_blocked(&self) -> usize {
        if self.outgoing.is_empty() { self.uploads.len() } else { 0 }
    }

    /// Takes the next step from `input`, until [`Step::More`]. Between two steps anything else may be called.
    pub fn take<'b>(&mut self, input: &mut &'b [u8]) -> Result<Step<'b>, Fault> {
        if let Some((place, status, bytes)) = self.take_fast(input) {
            self.codings[usize::from(place)] = self.ordinary.coding;
            return Ok(Step::End { place, status: Some(status), bytes });
        }
        if let Some(step) = self.take_ordinary(input) {
            return Ok(step);
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let step = self.step(input);
        if let Err(fault) = step {
            self.fault = Some(fault);
            // The server opened no stream: the last one of them is 0.
            write::goaway(&mut self.outgoing.bytes, 0, fault.code);
        }
        step
    }

    /// The socket is closed, or given up: gives what became of each request, and then [`Step::More`].
    pub fn ended(&mut self) -> Step<'static> {
        if let Some(step) = self.owed() {
            return step;
        }
        if let Some((place, _)) = self.queue.pop_back() {
            return Step::Moved(place);
        }
        let Some((_, place)) = self.open.pop_back() else { return Step::More };
        if self.unsent > 0 {
            self.unsent -= 1;
            return Step::Moved(place);
        }
        Step::Failed { place, failure: Failure::Closed }
    }

    fn owed(&mut self) -> Option<Step<'static>> {
        let draining = self.draining.as_mut()?;
        if !draining.told {
            draining.told = true;
            return Some(Step::Draining(draining.code));
        }
        if let Some((place, _)) = self.queue.pop_back() {
            return Some(Step::Moved(place));
        }
        let last = draining.last;
        let (id, place) = *self.open.back()?;
        if id <= last {
            return None;
        }
        self.forget(place);
        Some(Step::Moved(place))
    }

    fn step<'b>(&mut self, input: &mut &'b [u8]) -> Result<Step<'b>, Fault> {
        if let Some(step) = self.owed() {
            return Ok(step);
        }
        match self.reader.next(input)? {
            Piece::More => Ok(Step::More),
            Piece::Part(id) => Ok(Step::Wire(match self.find(id) {
                Found::Open(place) => Some(place),
                Found::Gone { .. } | Found::Never => None,
            })),
            Piece::Data { frame, first, bytes, last } => self.data(frame, first, bytes, last),
            Piece::Whole(frame, payload) => match frame.kind {
                kind::HEADERS => {
                    let head = self.heads.read(payload)?;
                    self.head(frame, head)
                }
                kind::RST_STREAM => {
                    let code = Code(word(payload));
                    self.reset(frame.stream, code)
                }
                kind::WINDOW_UPDATE => {
                    let bytes = word(payload) & WINDOW_MAX;
                    self.widen(frame.stream, bytes)
                }
                kind::SETTINGS if !frame.has(flag::ACK) => {
                    let settings = Settings::of(payload)?;
                    write::settings_ack(&mut self.outgoing.bytes);
                    self.settle(settings)
                }
                kind::PING if !frame.has(flag::ACK) => {
                    write::ping_ack(&mut self.outgoing.bytes, payload);
                    self.outgoing.answered()
                }
                kind::GOAWAY => {
                    let (last, code) = (word(payload) & ID_LAST, Code(word(&payload[4..])));
                    self.drain(last, code);
                    Ok(Step::Wire(None))
                }
                // Priorities, and acknowledgements of ours.
                _ => Ok(Step::Wire(None)),
            },
        }
    }

    /// Where a stream stands among the open ones. Most answers are of the oldest.
    fn position(&self, id: u32) -> Option<usize> {
        if self.open.front().is_some_and(|(first, _)| *first == id) {
            return Some(0);
        }
        self.open.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    fn find(&self, id: u32) -> Found {
        if let Some(at) = self.position(id) {
            return Found::Open(self.open[at].1);
        }
        if id.is_multiple_of(2) || id >= self.next_id {
            return Found::Never;
        }
        Found::Gone { unknown_to_server: id <= self.forgotten }
    }

    /// The place of a stream on which a part of a response came; `None` where the stream was given up.
    fn answered(&self, id: u32) -> Result<Option<StreamPlace>, Fault> {
        match self.find(id) {
            Found::Open(place) => Ok(Some(place)),
            Found::Gone { unknown_to_server: true } => Ok(None),
            Found::Gone { unknown_to_server: false } => {
                Err(Fault { code: Code::STREAM_CLOSED, reason: "a response went on after its end" })
            }
            Found::Never => Err(Fault::protocol("a response came on a stream without a request")),
        }
    }

    fn end_stream(&mut self, place: StreamPlace, code: Code) {
        write::rst_stream(&mut self.outgoing.bytes, self.streams[usize::from(place)].id, code);
        self.forget(place);
    }

    /// Closes a stream without the server's knowing it yet.
    fn forget(&mut self, place: StreamPlace) {
        self.forgotten = self.forgotten.max(self.streams[usize::from(place)].id);
        self.close(place);
    }

    fn close(&mut self, place: StreamPlace) {
        if let Some(at) = self.position(self.streams[usize::from(place)].id) {
            // What is still written of its request is nobody's.
            self.unsent -= usize::from(at >= self.open.len() - self.unsent);
            self.open.remove(at);
        }
        if !self.uploads.is_empty() {
            self.uploads.retain(|(other, _)| *other != place);
        }
    }
}

#[cfg(test)]
mod tests;
