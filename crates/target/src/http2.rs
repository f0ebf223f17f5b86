//! A connection's HTTP/2 as a server speaks it, each within the windows, without clock or socket. It keeps the
//! standard's rules strictly, so that a client's mistakes are seen, and breaks them where its [`Misbehaviour`] says so.

mod answering;
mod head;

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use prony_http2::frame::{Header, Piece, Reader, Settings, WINDOW_MAX, flag, kind, setting, word, write};
use prony_http2::hpack::TABLE_MAX_BYTES;
use prony_http2::{Code, Fault};

use crate::answer::Body;
use crate::config::Http2Config;
use crate::decoder::Request;
use crate::ledger::Counts;
use crate::outbox::Account;
use crate::request::{BODY_BYTES_MAX, BodyEnd, Head, Persistence, Route};
use head::{Heads, Said};

/// The bodies of unanswered requests on a connection, in bytes. Memory that grows with what comes may be twice as much.
const BODIES_BYTES_MAX: usize = 32 << 20;
/// What a client may send before it is given more: on the connection, and on each stream a whole body.
const CONNECTION_WINDOW: u32 = 1 << 30;
const STREAM_WINDOW: u32 = BODY_BYTES_MAX as u32;
/// A header list as long as HTTP/1's longest head.
const LIST_BYTES_MAX: u32 = 16 << 10;

pub(crate) enum Event {
    More,
    Nothing,
    Request(u32, Request),
    /// The stream is gone: whatever was to be sent on it is not.
    Gone(u32),
}

#[derive(Clone, Copy)]
struct Inflow {
    left: u32,
    size: u32,
}

impl Inflow {
    fn new(size: u32) -> Inflow {
        Inflow { left: size, size }
    }

    fn take(&mut self, bytes: u32) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// What to give back, where a half has been used.
    fn widen(&mut self) -> Option<u32> {
        let used = self.size - self.left;
        (used >= self.size / 2).then(|| {
            self.left = self.size;
            used
        })
    }
}

enum Phase {
    Asking {
        request: Request,
        left: Option<u64>,
    },
    /// Its answer is not due yet.
    Waiting,
    Answering {
        body: Body,
        sent: usize,
        account: Account,
    },
}

struct Stream {
    phase: Phase,
    inflow: Inflow,
    /// How much of the body the client still takes; negative where it lowered its windows.
    outflow: i64,
    /// The bytes of its request's body that are held.
    held_bytes: usize,
    /// Which of the connection's requests it is, from 1; those for the ledger are not counted.
    number: u64,
}

pub(crate) struct Http2 {
    config: Http2Config,
    reader: Reader,
    heads: Heads,
    streams: BTreeMap<u32, Stream>,
    answering: VecDeque<u32>,
    /// Frames that are no answer's, for the next [`Http2::pump`].
    out: Vec<u8>,
    /// The last stream that the client opened, and the last one that was ended without its knowing.
    last: u32,
    forgotten: u32,
    requests: u64,
    /// No stream above this one is processed any more.
    goaway: Option<u32>,
    settled: bool,
    inflow: Inflow,
    /// The connection's window for answers, and a new stream's.
    outflow: i64,
    stream_outflow: i64,
    /// The client's table became smaller, which the next block has to say.
    resized: bool,
    bodies_bytes: usize,
}

impl Http2 {
    pub(crate) fn new(config: Http2Config) -> Http2 {
        let mut out = Vec::new();
        write::settings(
            &mut out,
            &[
                (setting::MAX_CONCURRENT_STREAMS, config.max_streams),
                (setting::INITIAL_WINDOW_SIZE, config.starve_uploads.unwrap_or(STREAM_WINDOW)),
                (setting::MAX_HEADER_LIST_SIZE, LIST_BYTES_MAX),
            ],
        );
        write::window_update(&mut out, 0, CONNECTION_WINDOW - write::CONNECTION_WINDOW_FIRST);
        Http2 {
            config,
            reader: Reader::default(),
            heads: Heads::default(),
            streams: BTreeMap::new(),
            answering: VecDeque::new(),
            out,
            last: 0,
            forgotten: 0,
            requests: 0,
            goaway: None,
            settled: false,
            inflow: Inflow::new(CONNECTION_WINDOW),
            outflow: i64::from(write::CONNECTION_WINDOW_FIRST),
            stream_outflow: i64::from(write::CONNECTION_WINDOW_FIRST),
            resized: false,
            bodies_bytes: 0,
        }
    }

    /// Whether it takes no more requests and has none.
    pub(crate) fn is_drained(&self) -> bool {
        self.goaway.is_some() && self.streams.is_empty()
    }

    pub(crate) fn end(&mut self, fault: Fault) {
        write::goaway(&mut self.out, self.goaway.unwrap_or(self.last), fault.code);
        self.streams.clear();
        self.answering.clear();
    }

    /// Takes the next piece from the front of `input`.
    pub(crate) fn take(&mut self, input: &mut &[u8], tally: &mut Counts) -> Result<Event, Fault> {
        match self.reader.next(input)? {
            Piece::More => Ok(Event::More),
            Piece::Part(_) => Ok(Event::Nothing),
            Piece::Data { frame, first, bytes, last } => {
                let wrong = self.data(frame, first, bytes)?;
                match wrong {
                    Some(code) => Ok(self.refuse(frame.stream, code, tally)),
                    None if last && frame.has(flag::END_STREAM) => Ok(self.whole(frame.stream, tally)),
                    None => Ok(Event::Nothing),
                }
            }
            Piece::Whole(frame, payload) => match frame.kind {
                kind::HEADERS => {
                    let said = self.heads.read(payload)?;
                    self.head(frame, said, tally)
                }
                kind::RST_STREAM => self.reset(frame.stream),
                kind::WINDOW_UPDATE => {
                    let bytes = word(payload) & WINDOW_MAX;
                    self.widen(frame.stream, bytes, tally)
                }
                kind::SETTINGS if frame.has(flag::ACK) => {
                    self.settled = true;
                    Ok(Event::Nothing)
                }
                kind::SETTINGS => {
                    let settings = Settings::of(payload)?;
                    self.settle(settings)
                }
                kind::PING if !frame.has(flag::ACK) => {
                    write::ping_ack(&mut self.out, payload);
                    Ok(Event::Nothing)
                }
                // Priorities, acknowledgements, and a client's GOAWAY: it asks for no more.
                _ => Ok(Event::Nothing),
            },
        }
    }

    fn head(&mut self, frame: Header, said: Said, tally: &mut Counts) -> Result<Event, Fault> {
        let (id, ends) = (frame.stream, frame.has(flag::END_STREAM));
        if let Some(stream) = self.streams.get(&id) {
            return match stream.phase {
                Phase::Asking { .. } if ends && said.is_trailers() => Ok(self.whole(id, tally)),
                Phase::Asking { .. } => Ok(self.refuse(id, Code::PROTOCOL_ERROR, tally)),
                Phase::Waiting | Phase::Answering { .. } => Err(CLOSED),
            };
        }
        if id <= self.last || id.is_multiple_of(2) {
            return self.gone(id);
        }
        self.last = id;
        if self.goaway.is_some() {
            tally.streams_unprocessed += 1;
            self.forgotten = id;
            return Ok(Event::Nothing);
        }
        if self.streams.len() >= self.config.max_streams as usize {
            tally.streams_unprocessed += 1;
            return Ok(self.forget(id, Code::REFUSED_STREAM));
        }
        let counts = said.route != Route::Ledger;
        self.requests += u64::from(counts);
        let head = Head {
            route: said.route,
            is_head: said.is_head,
            persistence: Persistence::Keep,
            body_end: BodyEnd::Length(0),
            expects_continue: false,
            bytes: 9 + frame.length as usize,
        };
        let window = self.config.starve_uploads.unwrap_or(STREAM_WINDOW);
        // Until the client knows ours, it sends by the standard's first window.
        let window = if self.settled { window } else { window.max(write::CONNECTION_WINDOW_FIRST) };
        let stream = Stream {
            phase: Phase::Asking { request: Request { head, body: Vec::new(), came: 0 }, left: said.length },
            inflow: Inflow::new(window),
            outflow: self.stream_outflow,
            held_bytes: 0,
            number: if counts { self.requests } else { 0 },
        };
        self.streams.insert(id, stream);
        if counts {
            self.misbehave();
        }
        if !said.is_request() {
            return Ok(self.refuse(id, Code::PROTOCOL_ERROR, tally));
        }
        if said.length.is_some_and(|length| length > said.route.body_bytes_max() as u64) {
            return Ok(self.refuse(id, Code::ENHANCE_YOUR_CALM, tally));
        }
        if ends {
            return Ok(self.whole(id, tally));
        }
        if said.expects_continue {
            self.go_on(id);
        }
        Ok(Event::Nothing)
    }

    /// Ends the connection or lowers its limit, where that is asked for at the request that has just begun.
    fn misbehave(&mut self) {
        if self.requests == 1
            && let Some(streams) = self.config.lower_streams
        {
            write::settings(&mut self.out, &[(setting::MAX_CONCURRENT_STREAMS, streams)]);
        }
        if self.config.goaway_after.is_some_and(|after| u64::from(after.get()) == self.requests) {
            self.goaway = Some(self.last);
            write::goaway(&mut self.out, self.last, Code::NO_ERROR);
        }
    }

    /// Takes a DATA frame, or a part of it; the code by which its stream is to be ended, if it is.
    fn data(&mut self, frame: Header, first: Option<u32>, bytes: &[u8]) -> Result<Option<Code>, Fault> {
        if first.is_some() {
            if !self.inflow.take(frame.length) {
                let reason = "more came than the connection's window allows";
                return Err(Fault { code: Code::FLOW_CONTROL_ERROR, reason });
            }
            if let Some(used) = self.inflow.widen() {
                write::window_update(&mut self.out, 0, used);
            }
        }
        let Some(stream) = self.streams.get_mut(&frame.stream) else {
            return self.gone(frame.stream).map(|_| None);
        };
        let Phase::Asking { request, left } = &mut stream.phase else { return Err(CLOSED) };
        let is_kept = request.head.route.keeps_body();
        if let Some(length) = first {
            if !stream.inflow.take(frame.length) {
                return Ok(Some(Code::FLOW_CONTROL_ERROR));
            }
            match left.map(|left| left.checked_sub(u64::from(length))) {
                Some(None) => return Ok(Some(Code::PROTOCOL_ERROR)),
                rest => *left = rest.flatten(),
            }
            request.came += length as usize;
            if is_kept {
                stream.held_bytes += length as usize;
                self.bodies_bytes += length as usize;
            }
            if request.came > request.head.route.body_bytes_max() || self.bodies_bytes > BODIES_BYTES_MAX {
                return Ok(Some(Code::ENHANCE_YOUR_CALM));
            }
            if self.config.starve_uploads.is_none()
                && !frame.has(flag::END_STREAM)
                && let Some(used) = stream.inflow.widen()
            {
                write::window_update(&mut self.out, frame.stream, used);
            }
        }
        if is_kept {
            request.body.extend_from_slice(bytes);
        }
        Ok(None)
    }

    fn whole(&mut self, id: u32, tally: &mut Counts) -> Event {
        let Some(stream) = self.streams.get_mut(&id) else { return Event::Nothing };
        match mem::replace(&mut stream.phase, Phase::Waiting) {
            Phase::Asking { request, left: None | Some(0), .. } => Event::Request(id, request),
            _ => self.refuse(id, Code::PROTOCOL_ERROR, tally),
        }
    }

    fn reset(&mut self, id: u32) -> Result<Event, Fault> {
        if id > self.last || id.is_multiple_of(2) {
            return Err(Fault::protocol("a stream was reset that was never opened"));
        }
        self.close(id);
        Ok(Event::Gone(id))
    }

    /// The client takes more, of all answers together where `id` is 0.
    fn widen(&mut self, id: u32, bytes: u32, tally: &mut Counts) -> Result<Event, Fault> {
        if id > self.last || (id != 0 && id.is_multiple_of(2)) {
            return Err(Fault::protocol("a WINDOW_UPDATE came for a stream that was never opened"));
        }
        let flow = match self.streams.get_mut(&id) {
            Some(stream) => &mut stream.outflow,
            None if id == 0 => &mut self.outflow,
            None => return Ok(Event::Nothing),
        };
        *flow += i64::from(bytes);
        let code = match bytes {
            0 => Code::PROTOCOL_ERROR,
            _ if *flow > i64::from(WINDOW_MAX) => Code::FLOW_CONTROL_ERROR,
            _ => return Ok(Event::Nothing),
        };
        if id == 0 {
            return Err(Fault { code, reason: "a WINDOW_UPDATE of the connection is 0 or too large" });
        }
        Ok(self.refuse(id, code, tally))
    }

    fn settle(&mut self, settings: Settings) -> Result<Event, Fault> {
        write::settings_ack(&mut self.out);
        self.resized |= settings.table_bytes.is_some_and(|bytes| (bytes as usize) < TABLE_MAX_BYTES);
        if let Some(window) = settings.window {
            let more = i64::from(window) - self.stream_outflow;
            self.stream_outflow += more;
            for stream in self.streams.values_mut() {
                stream.outflow += more;
                if stream.outflow > i64::from(WINDOW_MAX) {
                    let reason = "INITIAL_WINDOW_SIZE makes a window larger than 2^31 - 1";
                    return Err(Fault { code: Code::FLOW_CONTROL_ERROR, reason });
                }
            }
        }
        Ok(Event::Nothing)
    }

    /// What came on a stream that is not open: nothing where the client cannot know that yet.
    fn gone(&self, id: u32) -> Result<Event, Fault> {
        if id.is_multiple_of(2) || id > self.last {
            return Err(Fault::protocol("a frame came on a stream that a client cannot have opened"));
        }
        if id <= self.forgotten { Ok(Event::Nothing) } else { Err(CLOSED) }
    }

    fn refuse(&mut self, id: u32, code: Code, tally: &mut Counts) -> Event {
        tally.requests_refused += 1;
        self.forget(id, code)
    }

    /// Ends a stream without the client's knowing it yet.
    fn forget(&mut self, id: u32, code: Code) -> Event {
        write::rst_stream(&mut self.out, id, code);
        self.forgotten = self.forgotten.max(id);
        self.close(id);
        Event::Gone(id)
    }

    fn close(&mut self, id: u32) {
        if let Some(stream) = self.streams.remove(&id) {
            self.bodies_bytes -= stream.held_bytes;
            if !self.answering.is_empty() {
                self.answering.retain(|other| *other != id);
            }
        }
    }
}

const CLOSED: Fault = Fault { code: Code::STREAM_CLOSED, reason: "a frame came on a stream that had ended" };

#[cfg(test)]
mod tests;
