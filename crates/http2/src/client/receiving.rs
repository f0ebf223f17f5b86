//! What frames mean for the streams that they are on.

use super::response::Head;
use super::{Connection, Draining, Encoding, Failure, Found, Step, Stream, StreamPlace, WINDOW_BYTES};
use crate::bytes::equal;
use crate::frame::{FRAME_MAX_BYTES, Header, Settings, WINDOW_MAX, flag, kind, write};
use crate::{Code, Fault};

/// The most DATA frames in a row with nothing in them and nothing ended by them.
const EMPTY_FRAMES_MAX: u32 = 1_000;
/// The most 1xx responses before the real one, as in HTTP/1.
const INTERIM_MAX: u8 = 16;

impl Connection {
    /// Takes the response at the front of the input, where it is as most are: the oldest stream's, and, but for the stream,
    /// byte for byte what an ordinary one before it was. Gives its place, which is free then, its status and its body.
    /// Otherwise it takes nothing: [`Connection::take`] takes the next step.
    #[inline(always)]
    pub fn take_fast<'b>(&mut self, input: &mut &'b [u8]) -> Option<(StreamPlace, u16, &'b [u8])> {
        let (frame, rest) = input.split_first_chunk::<9>()?;
        let [begins @ .., _, _, _, _] = frame;
        let [.., s0, s1, s2, s3] = *frame;
        let (id, place) = *self.open.front()?;
        let stream = &self.streams[usize::from(place)];
        let ordinary = &self.ordinary;
        if *begins != ordinary.begins
            || u32::from_be_bytes([s0, s1, s2, s3]) != id
            || stream.has_head
            || stream.to_head
            || ordinary.changes != self.heads.changes()
            || !self.does_nothing_else()
        {
            return None;
        }
        let (goes_on, rest) = rest.split_at_checked(ordinary.goes_on.len())?;
        let (again, rest) = rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_at_checked(ordinary.body_bytes as usize)?;
        if *again != [s0, s1, s2, s3] || !equal(goes_on, &ordinary.goes_on) {
            return None;
        }
        *input = rest;
        let status = ordinary.status;
        self.empty_frames = 0;
        self.count_received(ordinary.body_bytes);
        self.unsent -= usize::from(self.unsent == self.open.len());
        self.open.pop_front();
        Some((place, status, bytes))
    }

    /// The same of any stream's whole response whose head says what the last one said; and the next may be like it.
    pub(super) fn take_ordinary<'b>(&mut self, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let (frame, rest) = Header::first(input)?;
        let is_head = frame.kind == kind::HEADERS && frame.flags == flag::END_HEADERS;
        if !is_head || !self.does_nothing_else() {
            return None;
        }
        let (block, rest) = rest.split_at_checked(frame.length as usize)?;
        let head = self.heads.repeated(block)?;
        let (bytes, rest) = last_data(rest, frame.stream)?;
        let status = head.status_with_body(bytes.len() as u64)?;
        let Found::Open(place) = self.find(frame.stream) else { return None };
        let stream = &self.streams[usize::from(place)];
        if stream.has_head || stream.to_head {
            return None;
        }
        let changes = self.heads.changes();
        self.ordinary.learn(input, block.len(), bytes.len() as u32, (status, head.coding), changes);
        *input = rest;
        self.empty_frames = 0;
        self.count_received(bytes.len() as u32);
        self.codings[usize::from(place)] = head.coding;
        self.close(place);
        Some(Step::End { place, status: Some(status), bytes })
    }

    /// Whether the next byte begins a frame, and neither a request's body nor the connection's end is under way.
    #[inline]
    fn does_nothing_else(&self) -> bool {
        self.draining.is_none()
            && self.fault.is_none()
            && self.uploads.is_empty()
            && self.reader.is_between_frames()
    }

    pub(super) fn head(&mut self, frame: Header, head: Head) -> Result<Step<'static>, Fault> {
        let Some(place) = self.answered(frame.stream)? else { return Ok(Step::Wire(None)) };
        let ends = frame.has(flag::END_STREAM);
        self.empty_frames = 0;
        let stream = &mut self.streams[usize::from(place)];
        let malformed = match (head.malformed, head.status) {
            (Some(reason), _) => Some(reason),
            (None, None) if !stream.has_head => Some("a response has no :status"),
            (None, None) if !ends => Some("a response goes on after its trailers"),
            (None, None) => stream.ends_short(),
            (None, Some(_)) if stream.has_head => Some("a response has a second head"),
            (None, Some(101)) => Some("the server switched protocols (101), which nobody asked for"),
            (None, Some(100..200)) if ends => Some("a response ends with an interim one (1xx)"),
            (None, Some(100..200)) => {
                stream.interim += 1;
                if stream.interim <= INTERIM_MAX {
                    return Ok(Step::Wire(Some(place)));
                }
                Some("more than 16 interim responses (1xx) came before the real one")
            }
            (None, Some(status)) => {
                stream.has_head = true;
                self.codings[usize::from(place)] = head.coding;
                let bodiless = stream.to_head || status == 204 || status == 304;
                stream.left = if bodiless { Some(0) } else { head.length };
                if ends { stream.ends_short() } else { None }
            }
        };
        if let Some(reason) = malformed {
            return Ok(self.refuse(place, Code::PROTOCOL_ERROR, reason));
        }
        match head.status {
            Some(status) if !ends => Ok(Step::Head { place, status }),
            status => {
                self.complete(place);
                Ok(Step::End { place, status, bytes: &[] })
            }
        }
    }

    /// Takes (a part of) a DATA frame. What it may not be is found with its first part, however its bytes were cut.
    pub(super) fn data<'b>(
        &mut self,
        frame: Header,
        first: Option<u32>,
        bytes: &'b [u8],
        last: bool,
    ) -> Result<Step<'b>, Fault> {
        let ends = frame.has(flag::END_STREAM);
        // Whatever its stream, it counts for the connection, padding and all.
        if first.is_some() {
            self.count_received(frame.length);
        }
        let Some(place) = self.answered(frame.stream)? else { return Ok(Step::Wire(None)) };
        if let Some(length) = first {
            // What is only padding is empty, too.
            self.empty_frames = if length == 0 && !ends { self.empty_frames + 1 } else { 0 };
            if self.empty_frames > EMPTY_FRAMES_MAX {
                return Err(Fault::calm("more than 1,000 DATA frames in a row were empty"));
            }
            let stream = &mut self.streams[usize::from(place)];
            if let Some(used) = used(&mut stream.received, frame.length)
                && !ends
            {
                write::window_update(&mut self.outgoing.bytes, frame.stream, used);
            }
            if let Some(reason) = stream.counts(length, ends) {
                return Ok(self.refuse(place, Code::PROTOCOL_ERROR, reason));
            }
        }
        if last && ends {
            self.complete(place);
            return Ok(Step::End { place, status: None, bytes });
        }
        Ok(if bytes.is_empty() { Step::Wire(Some(place)) } else { Step::Body { place, bytes } })
    }

    #[inline]
    fn count_received(&mut self, length: u32) {
        if let Some(used) = used(&mut self.received, length) {
            write::window_update(&mut self.outgoing.bytes, 0, used);
        }
    }

    /// The server ended a stream. (Where it did so after the whole response, the stream is gone already.)
    pub(super) fn reset(&mut self, id: u32, code: Code) -> Result<Step<'static>, Fault> {
        match self.find(id) {
            Found::Open(place) => {
                self.close(place);
                let failure =
                    if code == Code::REFUSED_STREAM { Failure::Refused } else { Failure::Reset(code) };
                Ok(Step::Failed { place, failure })
            }
            Found::Gone { .. } => Ok(Step::Wire(None)),
            Found::Never => Err(Fault::protocol("the server reset a stream that was never opened")),
        }
    }

    /// The server takes more of the bodies, of the connection's together where `id` is 0.
    pub(super) fn widen(&mut self, id: u32, bytes: u32) -> Result<Step<'static>, Fault> {
        const TOO_LARGE: &str = "the server made a window larger than 2^31 - 1";
        const NOTHING: &str = "the server sent a WINDOW_UPDATE of 0";
        if id == 0 {
            if bytes == 0 {
                return Err(Fault::protocol(NOTHING));
            }
            self.window += i64::from(bytes);
            if self.window > i64::from(WINDOW_MAX) {
                return Err(Fault { code: Code::FLOW_CONTROL_ERROR, reason: TOO_LARGE });
            }
            return Ok(Step::Wire(None));
        }
        match self.find(id) {
            Found::Open(place) => {
                let stream = &mut self.streams[usize::from(place)];
                stream.window += i64::from(bytes);
                let too_large = stream.window > i64::from(WINDOW_MAX);
                Ok(match bytes {
                    0 => self.refuse(place, Code::PROTOCOL_ERROR, NOTHING),
                    _ if too_large => self.refuse(place, Code::FLOW_CONTROL_ERROR, TOO_LARGE),
                    _ => Step::Wire(Some(place)),
                })
            }
            Found::Gone { .. } => Ok(Step::Wire(None)),
            Found::Never => {
                Err(Fault::protocol("the server sent a WINDOW_UPDATE for a stream that was never opened"))
            }
        }
    }

    pub(super) fn settle(&mut self, settings: Settings) -> Result<Step<'static>, Fault> {
        if settings.push {
            return Err(Fault::protocol("the server's ENABLE_PUSH is not 0"));
        }
        self.server_streams = settings.streams.unwrap_or(self.server_streams);
        if let Some(window) = settings.window {
            let more = i64::from(window) - self.stream_window;
            self.stream_window += more;
            for (_, place) in &self.open {
                let window = &mut self.streams[usize::from(*place)].window;
                *window += more;
                if *window > i64::from(WINDOW_MAX) {
                    return Err(Fault {
                        code: Code::FLOW_CONTROL_ERROR,
                        reason: "the server's INITIAL_WINDOW_SIZE makes a window larger than 2^31 - 1",
                    });
                }
            }
        }
        if let Some(table_bytes) = settings.table_bytes.map(|bytes| bytes as usize)
            && table_bytes < self.encoding.table_bytes
        {
            self.encoding = Encoding { table_bytes, resized: true, indexed: false };
        }
        if !self.ready {
            self.ready = true;
            return Ok(Step::Ready);
        }
        self.outgoing.answered()
    }

    /// The connection takes no more requests; of those it has, none above `last` was processed.
    pub(super) fn drain(&mut self, last: u32, code: Code) {
        // A second GOAWAY may only name a lower one.
        let before = self.draining.unwrap_or(Draining { last, code, told: false });
        self.draining = Some(Draining { last: before.last.min(last), ..before });
    }

    fn refuse(&mut self, place: StreamPlace, code: Code, reason: &'static str) -> Step<'static> {
        self.end_stream(place, code);
        Step::Failed { place, failure: Failure::Malformed(reason) }
    }

    fn complete(&mut self, place: StreamPlace) {
        if !self.uploads.is_empty() && self.uploads.iter().any(|(other, _)| *other == place) {
            self.end_stream(place, Code::CANCEL);
        } else {
            self.close(place);
        }
    }
}

impl Stream {
    /// Counts a part of the body; what is wrong with it, if anything is.
    fn counts(&mut self, length: u32, ends: bool) -> Option<&'static str> {
        if !self.has_head {
            return Some("a response's body came before its head");
        }
        if let Some(left) = &mut self.left {
            let Some(rest) = left.checked_sub(u64::from(length)) else {
                return Some("a response's body is longer than its head says, or allows");
            };
            *left = rest;
        }
        if ends { self.ends_short() } else { None }
    }

    fn ends_short(&self) -> Option<&'static str> {
        let short = self.left.is_some_and(|left| left > 0);
        short.then_some("a response's body is shorter than its Content-Length")
    }
}

/// What a DATA frame brings that is all there is of a stream's body and all there: of that, and what follows it.
fn last_data(input: &[u8], stream: u32) -> Option<(&[u8], &[u8])> {
    let (frame, rest) = Header::first(input)?;
    let is_last = frame.kind == kind::DATA && frame.flags == flag::END_STREAM && frame.stream == stream;
    let fits = is_last && frame.length <= FRAME_MAX_BYTES;
    rest.split_at_checked(frame.length as usize).filter(|_| fits)
}

/// Counts a frame against one of our windows; gives what to give back of it, where a half has been used. (So much is left
/// then that no frame can be larger: a server that sends more than it may cannot be told from one that may again.)
#[inline]
fn used(received: &mut u32, length: u32) -> Option<u32> {
    *received += length;
    (*received >= WINDOW_BYTES / 2).then(|| std::mem::take(received))
}
