//! Where an answer ends: HTTP/1.1 framing, pure. httparse reads heads; what they say of the body's length is decided by
//! RFC 9112, section 6. What curl and browsers tolerate is taken and counted, the rest refused (docs/decisions/0034).

mod fields;
mod head;
mod heads;

use prony_http2::Coding;
use prony_model::measurement::{ErrorKind, Tolerance};

pub use fields::Fields;
use head::{Body, Head, parse_head};
pub use heads::Heads;
pub(crate) use heads::PARTIAL_MAX_BYTES;

/// The longest head that is accepted, as of Chromium.
pub const HEAD_MAX_BYTES: usize = 256 << 10;
/// The longest trailer section.
const TRAILERS_MAX_BYTES: u32 = 64 << 10;
/// The longest chunk-size line, extensions included.
const CHUNK_LINE_MAX_BYTES: u32 = 4096;
/// The most 1xx answers before the real one; a server that sends more is stuck.
const INTERIM_MAX: u8 = 16;

/// What a connection keeps of a head in pieces; what is longer shares [`heads::PARTIAL_MAX_BYTES`] with the others.
const PARTIAL_KEPT_BYTES: usize = 4 << 10;

const HEAD_TOO_LONG: ProtocolError = ProtocolError("the response's head is longer than 256 KiB");
/// Of the kind [`ErrorKind::PartialHeads`].
pub(crate) const NO_ROOM: ProtocolError = ProtocolError(
    "the unfinished response heads on this worker's connections exceed 64 MiB: give fewer connections (-c) \
     or more workers (-t)",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    More,
    Done { consumed: usize, status: u16, reusable: bool },
}

/// Why the bytes are not taken for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolError(pub &'static str);

impl ProtocolError {
    pub fn kind(&self) -> ErrorKind {
        if *self == NO_ROOM { ErrorKind::PartialHeads } else { ErrorKind::Protocol }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Fixed { left: u64 },
    ChunkSize { size: u64, digits: u8, line: u32, part: SizePart },
    ChunkData { left: u64 },
    ChunkEnd { seen_cr: bool },
    Trailers { line: u32, total: u32 },
    UntilClose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizePart {
    Digits,
    Extension,
    AfterCr,
}

#[derive(Debug)]
pub struct Framer {
    state: State,
    /// The head's bytes, when it did not come in one piece. Empty otherwise.
    partial: Vec<u8>,
    status: u16,
    reusable: bool,
    interim: u8,
    asked_for_body: bool,
    coding: Coding,
    beyond_head: bool,
    bare_line_feed: bool,
}

impl Default for Framer {
    fn default() -> Framer {
        Framer::new()
    }
}

impl Framer {
    pub fn new() -> Framer {
        Framer {
            state: State::Head,
            partial: Vec::new(),
            status: 0,
            reusable: false,
            interim: 0,
            asked_for_body: false,
            coding: Coding::Identity,
            beyond_head: false,
            bare_line_feed: false,
        }
    }

    pub fn reset(&mut self, heads: &mut Heads) {
        self.state = State::Head;
        self.forget_partial(heads);
        self.interim = 0;
    }

    pub fn in_progress(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty() || self.interim > 0
    }

    pub fn awaits_head(&self) -> bool {
        self.state == State::Head
    }

    pub(crate) fn went_beyond_head(&self) -> bool {
        self.beyond_head
    }

    /// How much of the body, or of its chunk, is still to come and has nothing but body in it.
    pub fn body_left(&self) -> u64 {
        match self.state {
            State::Fixed { left } | State::ChunkData { left } => left,
            _ => 0,
        }
    }

    pub(crate) fn skip(&mut self, count: usize) -> Progress {
        let left = self.body_left().saturating_sub(count as u64);
        match self.state {
            State::Fixed { .. } if left == 0 => return self.done(count),
            State::Fixed { .. } => self.state = State::Fixed { left },
            State::ChunkData { .. } if left == 0 => self.state = State::ChunkEnd { seen_cr: false },
            State::ChunkData { .. } => self.state = State::ChunkData { left },
            _ => {}
        }
        Progress::More
    }

    /// Takes the next bytes of a response (one to HEAD has no body); body bytes are handed to `body` as they come.
    // Its one hot caller is the worker's loop; left to itself, the compiler calls it there as that loop grows, for some 60
    // instructions an answer (callgrind).
    #[inline(always)]
    pub fn feed(
        &mut self,
        input: &[u8],
        is_head_request: bool,
        heads: &mut Heads,
        body: &mut impl FnMut(&[u8]),
    ) -> Result<Progress, ProtocolError> {
        let mut at = 0;
        self.beyond_head = false;
        loop {
            match self.state {
                State::Head => match self.head(&input[at..], is_head_request, heads)? {
                    None => return Ok(Progress::More),
                    Some(used) => {
                        at += used;
                        self.beyond_head |= at < input.len();
                    }
                },
                State::Fixed { left } => {
                    let take = take(left, input.len() - at);
                    body(&input[at..at + take]);
                    at += take;
                    let left = left - take as u64;
                    self.state = State::Fixed { left };
                    if left == 0 {
                        return Ok(self.done(at));
                    }
                    return Ok(Progress::More);
                }
                State::UntilClose => {
                    body(&input[at..]);
                    return Ok(Progress::More);
                }
                State::ChunkData { left } => {
                    let take = take(left, input.len() - at);
                    body(&input[at..at + take]);
                    at += take;
                    let left = left - take as u64;
                    self.state = if left == 0 {
                        State::ChunkEnd { seen_cr: false }
                    } else {
                        State::ChunkData { left }
                    };
                }
                State::ChunkSize { .. } | State::ChunkEnd { .. } | State::Trailers { .. } => {
                    let Some(byte) = input.get(at) else { return Ok(Progress::More) };
                    at += 1;
                    if self.chunk_byte(*byte, heads)? {
                        return Ok(self.done(at));
                    }
                }
            }
            if at == input.len() && !matches!(self.state, State::Fixed { left: 0 }) {
                return Ok(Progress::More);
            }
        }
    }

    /// The peer closed: the end of an answer whose length is given so; `None` where the answer is cut off.
    pub fn end_of_stream(&mut self) -> Option<u16> {
        if self.state == State::UntilClose {
            self.state = State::Head;
            self.interim = 0;
            return Some(self.status);
        }
        None
    }

    fn done(&mut self, consumed: usize) -> Progress {
        self.state = State::Head;
        self.interim = 0;
        Progress::Done { consumed, status: self.status, reusable: self.reusable }
    }

    /// Reads a head; gives how much of `input` it took once it is whole.
    fn head(
        &mut self,
        input: &[u8],
        is_head_request: bool,
        heads: &mut Heads,
    ) -> Result<Option<usize>, ProtocolError> {
        if self.partial.is_empty() {
            if let Some(head) = heads.find(input, is_head_request) {
                return self.take_head(&head).map(|()| Some(head.length));
            }
            return match parse_head(input, is_head_request)? {
                Some(head) => {
                    self.take_head(&head)?;
                    heads.note(&head, &input[..head.length], is_head_request);
                    Ok(Some(head.length))
                }
                None => {
                    self.keep_partial(input, heads)?;
                    Ok(None)
                }
            };
        }
        self.rest_of_head(input, is_head_request, heads)
    }

    /// Reads a head whose first part came before.
    fn rest_of_head(
        &mut self,
        input: &[u8],
        is_head_request: bool,
        heads: &mut Heads,
    ) -> Result<Option<usize>, ProtocolError> {
        let before = self.partial.len();
        let room = input.len().min(HEAD_MAX_BYTES - before);
        let head_end = empty_line(&self.partial, &input[..room]);
        // What is behind an empty line is the body, unless that line came before the head.
        for end in [head_end.unwrap_or(room), room] {
            self.keep_partial(&input[self.partial.len() - before..end], heads)?;
            let full = self.partial.len() == HEAD_MAX_BYTES;
            // A short head is parsed at the end of each line, so that its fault is found soon; a long one only where it
            // may end: a server that sends a line at a time must not make us parse 256 KiB each time.
            let line_ends = self.partial.len() <= PARTIAL_KEPT_BYTES && input.contains(&b'\n');
            if head_end.is_none() && !full && !line_ends {
                return Ok(None);
            }
            match parse_head(&self.partial, is_head_request)? {
                Some(head) => {
                    self.forget_partial(heads);
                    self.take_head(&head)?;
                    heads.count(&head);
                    return Ok(Some(head.length - before));
                }
                None if full => return Err(HEAD_TOO_LONG),
                None if end == room => break,
                None => {}
            }
        }
        Ok(None)
    }

    fn keep_partial(&mut self, input: &[u8], heads: &mut Heads) -> Result<(), ProtocolError> {
        let length = self.partial.len() + input.len();
        if length > HEAD_MAX_BYTES {
            return Err(HEAD_TOO_LONG);
        }
        if length > self.partial.capacity() {
            heads.grow(&mut self.partial, length)?;
        }
        self.partial.extend_from_slice(input);
        Ok(())
    }

    fn forget_partial(&mut self, heads: &mut Heads) {
        self.partial.clear();
        if self.partial.capacity() > PARTIAL_KEPT_BYTES {
            heads.shrink(&mut self.partial);
        }
    }

    /// How the body of the last response is coded.
    pub(crate) fn coding(&self) -> Coding {
        self.coding
    }

    /// Whether the server has asked for the request's body (100) since this was asked last.
    pub(crate) fn take_continue(&mut self) -> bool {
        std::mem::take(&mut self.asked_for_body)
    }

    fn take_head(&mut self, head: &Head) -> Result<(), ProtocolError> {
        if head.status < 200 {
            self.interim += 1;
            self.asked_for_body |= head.status == 100;
            if head.status == 101 {
                return Err(ProtocolError("the server switched protocols (101), which nobody asked for"));
            }
            if self.interim > INTERIM_MAX {
                return Err(ProtocolError("more than 16 interim responses (1xx) came before the final one"));
            }
            return Ok(());
        }
        self.bare_line_feed = false;
        self.status = head.status;
        self.coding = head.coding;
        self.reusable = head.keep_alive && head.body != Body::UntilClose;
        self.state = match head.body {
            Body::Fixed(left) => State::Fixed { left },
            Body::Chunked => State::chunk_size(),
            Body::UntilClose => State::UntilClose,
        };
        Ok(())
    }

    /// Takes one byte between chunks' data; true at the answer's end.
    fn chunk_byte(&mut self, byte: u8, heads: &mut Heads) -> Result<bool, ProtocolError> {
        let before = self.state;
        self.state = match before {
            State::ChunkSize { size, digits, line, part } => chunk_size_byte(byte, size, digits, line, part)?,
            State::ChunkEnd { seen_cr } => match (byte, seen_cr) {
                (b'\r', false) => State::ChunkEnd { seen_cr: true },
                (b'\n', _) => State::chunk_size(),
                _ => return Err(ProtocolError("a chunk is not as long as its size line says")),
            },
            State::Trailers { line, total } => {
                if total >= TRAILERS_MAX_BYTES {
                    return Err(ProtocolError("the trailer section is longer than 64 KiB"));
                }
                match byte {
                    b'\n' if line == 0 => return Ok(true),
                    b'\n' => State::Trailers { line: 0, total: total + 1 },
                    b'\r' => State::Trailers { line, total: total + 1 },
                    _ => State::Trailers { line: line + 1, total: total + 1 },
                }
            }
            other => other,
        };
        if byte == b'\n' && before.lacks_carriage_return() && !self.bare_line_feed {
            self.bare_line_feed = true;
            heads.tolerate(Tolerance::BareLineFeed);
        }
        Ok(false)
    }
}

impl State {
    fn chunk_size() -> State {
        State::ChunkSize { size: 0, digits: 0, line: 0, part: SizePart::Digits }
    }

    /// Whether a line of chunks that ends now has only its line feed. (Of trailers, as of heads, nobody asks for more.)
    fn lacks_carriage_return(self) -> bool {
        match self {
            State::ChunkSize { part, .. } => part != SizePart::AfterCr,
            State::ChunkEnd { seen_cr } => !seen_cr,
            _ => false,
        }
    }
}

/// Where in `input` the first empty line ends, which may have begun in what came before.
fn empty_line(before: &[u8], input: &[u8]) -> Option<usize> {
    let mut empty = matches!(before, [] | [b'\r'] | [.., b'\n'] | [.., b'\n', b'\r']);
    for (at, byte) in input.iter().enumerate() {
        match byte {
            b'\n' if empty => return Some(at + 1),
            b'\n' => empty = true,
            b'\r' => {}
            _ => empty = false,
        }
    }
    None
}

fn take(left: u64, available: usize) -> usize {
    usize::try_from(left).map_or(available, |left| left.min(available))
}

fn chunk_size_byte(
    byte: u8,
    size: u64,
    digits: u8,
    line: u32,
    part: SizePart,
) -> Result<State, ProtocolError> {
    const BAD: ProtocolError = ProtocolError("a chunk's size line is not a hexadecimal number");
    if line >= CHUNK_LINE_MAX_BYTES {
        return Err(ProtocolError("a chunk's size line is longer than 4 KiB"));
    }
    let line = line + 1;
    let stay = |part| Ok(State::ChunkSize { size, digits, line, part });
    match (part, byte) {
        (SizePart::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
            // 15 digits stay below 2^60: no sum of ours can overflow.
            if digits == 15 {
                return Err(ProtocolError("a chunk claims to be larger than 2^60 bytes"));
            }
            let digit = (byte as char).to_digit(16).ok_or(BAD)?;
            Ok(State::ChunkSize { size: size * 16 + u64::from(digit), digits: digits + 1, line, part })
        }
        (SizePart::Digits, b';' | b' ' | b'\t') if digits > 0 => stay(SizePart::Extension),
        (SizePart::Digits, b'\r') if digits > 0 => stay(SizePart::AfterCr),
        (SizePart::Extension, b'\r') => stay(SizePart::AfterCr),
        (_, b'\n') if digits > 0 && size == 0 => Ok(State::Trailers { line: 0, total: 0 }),
        (_, b'\n') if digits > 0 => Ok(State::ChunkData { left: size }),
        (SizePart::Extension, _) => stay(SizePart::Extension),
        _ => Err(BAD),
    }
}

#[cfg(test)]
mod heads_tests;
#[cfg(test)]
mod tests;
