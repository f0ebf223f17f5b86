//! Where an answer ends: HTTP/1.1 framing, pure. Bytes in, decisions out.
//!
//! Heads are read by httparse; what a head says of the body's length, and
//! everything after, is decided here by RFC 9112, section 6. Where the
//! standard lets a client choose between tolerance and refusal (both lengths,
//! two lengths), this refuses: a load tool that guesses measures its guess.

mod fields;

use std::mem::MaybeUninit;

pub use fields::Fields;

/// The longest head that is accepted, and the longest trailer section.
/// nginx and Apache stop at 8 KiB a line; 64 KiB is beyond any honest server.
pub const HEAD_MAX_BYTES: usize = 64 << 10;
/// The most header fields of one answer.
const HEADERS_MAX: usize = 128;
/// The longest chunk-size line, extensions included.
const CHUNK_LINE_MAX_BYTES: u32 = 4096;
/// The most 1xx answers before the real one; a server that sends more is stuck.
const INTERIM_MAX: u8 = 16;

/// What a connection keeps of the memory that a head in pieces took: enough for honest heads in pieces again and again.
/// Ten thousand connections to a server that sends long ones slowly would keep 640 MB.
const PARTIAL_KEPT_BYTES: usize = 4 << 10;

/// A longer head is parsed each time.
const LAST_HEAD_MAX_BYTES: usize = 2 << 10;

const HEAD_TOO_LONG: ProtocolError = ProtocolError("the answer's head is longer than 64 KiB");

/// What one step of the framer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All input is used; the answer goes on.
    More,
    /// The answer is whole.
    Done {
        /// How much of the input belonged to it.
        consumed: usize,
        /// Its status.
        status: u16,
        /// Whether the connection may carry another request.
        reusable: bool,
    },
}

/// Why the bytes are not an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolError(pub &'static str);

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

/// Where in a chunk-size line the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizePart {
    Digits,
    Extension,
    AfterCr,
}

/// Reads one answer after another.
#[derive(Debug)]
pub struct Framer {
    state: State,
    /// The head's bytes, when it did not come in one piece. Empty otherwise.
    partial: Vec<u8>,
    status: u16,
    reusable: bool,
    interim: u8,
    beyond_head: bool,
}

/// The last head and what it said. A server's answers mostly have the same
/// head, byte for byte, until its Date changes: comparing costs a tenth of parsing.
#[derive(Debug, Default)]
pub struct LastHead {
    bytes: Vec<u8>,
    said: Option<Head>,
    answers_head: bool,
}

impl LastHead {
    /// None yet.
    pub fn new() -> LastHead {
        // The longest head that is kept is a little longer than servers' usual ones.
        LastHead { bytes: Vec::with_capacity(LAST_HEAD_MAX_BYTES), said: None, answers_head: false }
    }

    fn find(&self, input: &[u8], answers_head: bool) -> Option<Head> {
        let same = self.answers_head == answers_head && input.starts_with(&self.bytes);
        self.said.filter(|_| same)
    }

    fn keep(&mut self, head: &Head, input: &[u8], answers_head: bool) {
        if head.length <= LAST_HEAD_MAX_BYTES && head.status >= 200 {
            self.bytes.clear();
            self.bytes.extend_from_slice(&input[..head.length]);
            self.said = Some(*head);
            self.answers_head = answers_head;
        }
    }
}

impl Default for Framer {
    fn default() -> Framer {
        Framer::new()
    }
}

impl Framer {
    /// A framer at the start of an answer.
    pub fn new() -> Framer {
        Framer {
            state: State::Head,
            partial: Vec::new(),
            status: 0,
            reusable: false,
            interim: 0,
            beyond_head: false,
        }
    }

    /// Forgets an unfinished answer; for a new connection.
    pub fn reset(&mut self) {
        self.state = State::Head;
        self.forget_partial();
        self.interim = 0;
    }

    /// Whether any byte of an unfinished answer has been seen.
    pub fn in_progress(&self) -> bool {
        self.state != State::Head || !self.partial.is_empty() || self.interim > 0
    }

    /// Whether the answer's head is still to come, or a part of it.
    pub fn awaits_head(&self) -> bool {
        self.state == State::Head
    }

    /// Whether the last input had more in it than (a part of) one head.
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

    /// Takes note of `count` bytes of [`Framer::body_left`] that came and were dropped.
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

    /// Takes the next bytes of an answer (to HEAD, if `answers_head`: such have
    /// no body); body bytes are handed to `body` as they come.
    ///
    /// # Errors
    /// When the bytes cannot be an answer. The connection is of no use then.
    // Its one hot caller is the worker's loop; left to itself, the compiler calls it there as that loop grows, for some 60
    // instructions an answer (callgrind).
    #[inline(always)]
    pub fn feed(
        &mut self,
        input: &[u8],
        answers_head: bool,
        last: &mut LastHead,
        body: &mut impl FnMut(&[u8]),
    ) -> Result<Progress, ProtocolError> {
        let mut at = 0;
        self.beyond_head = false;
        loop {
            match self.state {
                State::Head => match self.head(&input[at..], answers_head, last)? {
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
                    if self.chunk_byte(*byte)? {
                        return Ok(self.done(at));
                    }
                }
            }
            if at == input.len() && !matches!(self.state, State::Fixed { left: 0 }) {
                return Ok(Progress::More);
            }
        }
    }

    /// The peer closed the connection: the end of the answer where its length
    /// is given so, `None` where the answer is cut off.
    pub fn end_of_stream(&mut self) -> Option<u16> {
        if self.state == State::UntilClose {
            self.reset();
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
        answers_head: bool,
        last: &mut LastHead,
    ) -> Result<Option<usize>, ProtocolError> {
        if self.partial.is_empty() {
            if let Some(head) = last.find(input, answers_head) {
                return self.take_head(&head).map(|()| Some(head.length));
            }
            return match parse_head(input, answers_head)? {
                Some(head) => {
                    last.keep(&head, input, answers_head);
                    self.take_head(&head).map(|()| Some(head.length))
                }
                None => {
                    self.keep_partial(input)?;
                    Ok(None)
                }
            };
        }
        let before = self.partial.len();
        // The body may have come along; the head's part is within the first 64 KiB.
        let room = HEAD_MAX_BYTES - before;
        self.keep_partial(&input[..input.len().min(room)])?;
        let full = self.partial.len() == HEAD_MAX_BYTES;
        // A head ends in a newline: without a new one there is nothing new to find,
        // and a server that sends a byte at a time must not make us parse 64 KiB each time.
        if !full && !input.contains(&b'\n') {
            return Ok(None);
        }
        match parse_head(&self.partial, answers_head)? {
            Some(head) => {
                self.forget_partial();
                self.take_head(&head)?;
                Ok(Some(head.length - before))
            }
            None if full => Err(HEAD_TOO_LONG),
            None => Ok(None),
        }
    }

    fn keep_partial(&mut self, input: &[u8]) -> Result<(), ProtocolError> {
        if self.partial.len() + input.len() > HEAD_MAX_BYTES {
            return Err(HEAD_TOO_LONG);
        }
        self.partial.extend_from_slice(input);
        Ok(())
    }

    fn forget_partial(&mut self) {
        self.partial.clear();
        self.partial.shrink_to(PARTIAL_KEPT_BYTES);
    }

    fn take_head(&mut self, head: &Head) -> Result<(), ProtocolError> {
        if head.status < 200 {
            self.interim += 1;
            if head.status == 101 {
                return Err(ProtocolError("the server switched protocols (101), which nobody asked for"));
            }
            if self.interim > INTERIM_MAX {
                return Err(ProtocolError("more than 16 interim answers (1xx) came before the real one"));
            }
            return Ok(());
        }
        self.status = head.status;
        self.reusable = head.keep_alive && head.body != Body::UntilClose;
        self.state = match head.body {
            Body::Fixed(left) => State::Fixed { left },
            Body::Chunked => State::chunk_size(),
            Body::UntilClose => State::UntilClose,
        };
        Ok(())
    }

    /// Takes one byte between chunks' data; true at the answer's end.
    fn chunk_byte(&mut self, byte: u8) -> Result<bool, ProtocolError> {
        self.state = match self.state {
            State::ChunkSize { size, digits, line, part } => chunk_size_byte(byte, size, digits, line, part)?,
            State::ChunkEnd { seen_cr } => match (byte, seen_cr) {
                (b'\r', false) => State::ChunkEnd { seen_cr: true },
                (b'\n', true) => State::chunk_size(),
                _ => return Err(ProtocolError("a chunk is not as long as its size line says")),
            },
            State::Trailers { line, total } => {
                if total as usize >= HEAD_MAX_BYTES {
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
        Ok(false)
    }
}

impl State {
    fn chunk_size() -> State {
        State::ChunkSize { size: 0, digits: 0, line: 0, part: SizePart::Digits }
    }
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
        (SizePart::Extension, b'\n') => Err(BAD),
        (SizePart::Extension, _) => stay(SizePart::Extension),
        (SizePart::AfterCr, b'\n') if size == 0 => Ok(State::Trailers { line: 0, total: 0 }),
        (SizePart::AfterCr, b'\n') => Ok(State::ChunkData { left: size }),
        _ => Err(BAD),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Fixed(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    length: usize,
    status: u16,
    keep_alive: bool,
    body: Body,
}

/// Reads a head from the start of `bytes`; `None` while it is not whole.
fn parse_head(bytes: &[u8], answers_head: bool) -> Result<Option<Head>, ProtocolError> {
    let mut fields = [MaybeUninit::uninit(); HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default()
        .parse_response_with_uninit_headers(&mut response, bytes, &mut fields)
        .map_err(|e| match e {
            httparse::Error::TooManyHeaders => ProtocolError("the answer has more than 128 header fields"),
            httparse::Error::Version => ProtocolError("the answer is not HTTP/1.0 or HTTP/1.1"),
            httparse::Error::Status => ProtocolError("the answer's status line is malformed"),
            _ => ProtocolError("the answer's head is malformed"),
        })?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let (Some(status), Some(minor)) = (response.code, response.version) else {
        return Err(ProtocolError("the answer's status line is malformed"));
    };
    let mut content_length: Option<u64> = None;
    let (mut has_codings, mut chunked) = (false, false);
    let mut close = false;
    let mut keep_alive_said = false;
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            if content_length.is_some() {
                return Err(ProtocolError("the answer has two Content-Length fields"));
            }
            content_length = Some(parse_length(field.value)?);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // Other codings are left as they are; where chunked is not the last, the
            // body ends with the connection (RFC 9112, section 6.3).
            has_codings = true;
            for coding in field.value.split(|b| *b == b',') {
                if chunked {
                    return Err(ProtocolError(
                        "the answer's Transfer-Encoding has chunked before another coding",
                    ));
                }
                chunked = coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
            }
        } else if field.name.eq_ignore_ascii_case("connection") {
            for token in field.value.split(|b| *b == b',') {
                let token = token.trim_ascii();
                close |= token.eq_ignore_ascii_case(b"close");
                keep_alive_said |= token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
    }
    if has_codings && content_length.is_some() {
        return Err(ProtocolError("the answer has both Content-Length and Transfer-Encoding"));
    }
    let body = if status < 200 || status == 204 || status == 304 || answers_head {
        Body::Fixed(0)
    } else if chunked {
        Body::Chunked
    } else {
        content_length.map_or(Body::UntilClose, Body::Fixed)
    };
    let keep_alive = !close && (minor == 1 || keep_alive_said);
    Ok(Some(Head { length, status, keep_alive, body }))
}

fn parse_length(value: &[u8]) -> Result<u64, ProtocolError> {
    let digits = value.trim_ascii();
    // 18 digits stay below 10^18 and within u64.
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(ProtocolError("the answer's Content-Length is not a number"));
    }
    Ok(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests;
