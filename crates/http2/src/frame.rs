//! Frames (RFC 9113, sections 4 and 6): read from any split of bytes, held against the rules that need no knowledge of
//! streams. DATA is passed on as it comes; others are given whole, a header block joined.

pub mod write;

use crate::{Code, Fault};

/// The longest payload that is sent, and that the other side may send: the standard's initial SETTINGS_MAX_FRAME_SIZE.
pub const FRAME_MAX_BYTES: u32 = 16_384;
/// The longest header block, as it comes.
const BLOCK_MAX_BYTES: usize = 256 << 10;
/// The most frames after a header block's first: 16 for 256 KiB by an honest peer; tiny ones keep this side busy.
const CONTINUATIONS_MAX: u32 = 64;
/// What a connection keeps of the memory that frames in pieces took.
const PARTIAL_KEPT_BYTES: usize = 4 << 10;
/// The largest window (RFC 9113, section 6.9.1).
pub const WINDOW_MAX: u32 = (1 << 31) - 1;

pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// The flags of frames; ACK is END_STREAM's bit.
pub mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

pub mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

const PADDING: Fault = Fault::protocol("a frame has more padding than payload");
const SHORT: Fault = size("a frame is shorter than its flags say");

const fn size(reason: &'static str) -> Fault {
    Fault { code: Code::FRAME_SIZE_ERROR, reason }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The payload's length in bytes.
    pub length: u32,
    /// One of [`kind`]'s, or one that the standard does not have.
    pub kind: u8,
    /// Some of [`flag`]'s.
    pub flags: u8,
    /// 0 where the frame is about the connection.
    pub stream: u32,
}

impl Header {
    #[inline]
    fn of(bytes: &[u8; 9]) -> Header {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        Header {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            // The first bit is reserved, and ignored.
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    /// The header in front of these bytes, where it is whole, and what follows it.
    #[inline]
    pub(crate) fn first(bytes: &[u8]) -> Option<(Header, &[u8])> {
        bytes.split_first_chunk::<9>().map(|(header, rest)| (Header::of(header), rest))
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'s, 'b> {
    More,
    /// Bytes of a frame on this stream (0: on none, or not known yet) that say nothing, or nothing yet.
    Part(u32),
    Data {
        frame: Header,
        /// With the frame's first piece: how many bytes it brings in all.
        first: Option<u32>,
        bytes: &'b [u8],
        last: bool,
    },
    /// A whole frame of another standard type; of HEADERS its first header, and the block without padding and priority.
    Whole(Header, &'s [u8]),
}

#[derive(Debug, Clone, Copy)]
enum At {
    PadLength(Header),
    Data { frame: Header, first: bool, data: u32, padding: u32 },
    Payload(Header),
    Skip { stream: u32, left: u32 },
}

/// Reads a connection's frames, one after the other.
#[derive(Debug, Default)]
pub struct Reader {
    /// `None` between two frames.
    at: Option<At>,
    /// A header that came in pieces, and how much of it is there.
    header: [u8; 9],
    got: usize,
    partial: Vec<u8>,
    block: Vec<u8>,
    /// The HEADERS frame whose block is to go on, and the frames that followed it.
    opening: Option<Header>,
    continuations: u32,
    /// What stands in `partial`, or `block`, has been given.
    spent: bool,
    begun: bool,
}

impl Reader {
    pub fn reset(&mut self) {
        (self.at, self.got, self.opening, self.continuations, self.begun) = (None, 0, None, 0, false);
        self.forget();
    }

    /// What frames in pieces and header blocks take beyond what each connection may keep.
    pub fn beyond_kept(&self) -> usize {
        let beyond = |bytes: &Vec<u8>| bytes.capacity().saturating_sub(PARTIAL_KEPT_BYTES);
        beyond(&self.partial) + beyond(&self.block)
    }

    #[inline]
    pub(crate) fn is_between_frames(&self) -> bool {
        self.at.is_none() && self.got == 0 && self.opening.is_none()
    }

    pub fn next<'s, 'b: 's>(&'s mut self, input: &mut &'b [u8]) -> Result<Piece<'s, 'b>, Fault> {
        if self.spent {
            self.forget();
        }
        if input.is_empty() {
            return Ok(Piece::More);
        }
        let at = match self.at.take() {
            Some(at) => at,
            None => match self.header(input) {
                Some(frame) => self.admit(frame)?,
                None => return Ok(Piece::Part(0)),
            },
        };
        match at {
            At::PadLength(frame) => {
                let Some((padding, rest)) = input.split_first() else {
                    self.at = Some(at);
                    return Ok(Piece::Part(frame.stream));
                };
                *input = rest;
                let padding = u32::from(*padding);
                let data = (frame.length - 1).checked_sub(padding).ok_or(PADDING)?;
                Ok(self.data(input, frame, true, data, padding))
            }
            At::Data { frame, first, data, padding } => Ok(self.data(input, frame, first, data, padding)),
            At::Skip { stream, left } => {
                let left = left - split(input, left).len() as u32;
                self.at = (left > 0).then_some(At::Skip { stream, left });
                Ok(Piece::Part(stream))
            }
            At::Payload(frame) => {
                let payload: &'s [u8] = if self.partial.is_empty() && input.len() >= frame.length as usize {
                    split(input, frame.length)
                } else {
                    let missing = frame.length - self.partial.len() as u32;
                    self.partial.extend_from_slice(split(input, missing));
                    if self.partial.len() < frame.length as usize {
                        self.at = Some(at);
                        return Ok(Piece::Part(frame.stream));
                    }
                    self.spent = true;
                    &self.partial
                };
                let fragment = match frame.kind {
                    kind::HEADERS => fragment(frame, payload)?,
                    kind::CONTINUATION => payload,
                    _ => return Ok(Piece::Whole(frame, payload)),
                };
                let ends = frame.has(flag::END_HEADERS);
                let Some(opening) = self.opening.or((!ends).then_some(frame)) else {
                    return Ok(Piece::Whole(frame, fragment));
                };
                if self.block.len() + fragment.len() > BLOCK_MAX_BYTES {
                    return Err(Fault::calm("a header block is longer than 256 KiB"));
                }
                self.block.extend_from_slice(fragment);
                self.opening = (!ends).then_some(opening);
                if !ends {
                    return Ok(Piece::Part(frame.stream));
                }
                self.spent = true;
                Ok(Piece::Whole(opening, &self.block))
            }
        }
    }

    /// Leaves behind what was given, and most of the memory that much of it took.
    fn forget(&mut self) {
        self.spent = false;
        self.partial.clear();
        self.partial.shrink_to(PARTIAL_KEPT_BYTES);
        if self.opening.is_none() {
            self.continuations = 0;
            self.block.clear();
            self.block.shrink_to(PARTIAL_KEPT_BYTES);
        }
    }

    fn header(&mut self, input: &mut &[u8]) -> Option<Header> {
        if self.got == 0
            && let Some((header, rest)) = Header::first(input)
        {
            *input = rest;
            return Some(header);
        }
        let bytes = split(input, (self.header.len() - self.got) as u32);
        self.header[self.got..self.got + bytes.len()].copy_from_slice(bytes);
        self.got += bytes.len();
        if self.got < self.header.len() {
            return None;
        }
        self.got = 0;
        Some(Header::of(&self.header))
    }

    /// Whether a frame may come now, and be so long; gives how it is read.
    fn admit(&mut self, frame: Header) -> Result<At, Fault> {
        if !self.begun && (frame.kind != kind::SETTINGS || frame.has(flag::ACK)) {
            // "HTTP/1.1 400 Bad Request", say, read as a header.
            let http1 = frame.length == u32::from_be_bytes(*b"\0HTT") && frame.kind == b'P';
            return Err(Fault::protocol(if http1 {
                "the server answered in HTTP/1: it does not speak HTTP/2 here"
            } else {
                "what the server sent first is not HTTP/2: no SETTINGS frame"
            }));
        }
        self.begun = true;
        if frame.length > FRAME_MAX_BYTES {
            return Err(size("a frame is longer than the 16,384 bytes it may have"));
        }
        match self.opening {
            Some(opening) if frame.kind != kind::CONTINUATION || frame.stream != opening.stream => {
                return Err(Fault::protocol("another frame came within a header block"));
            }
            Some(_) => {
                self.continuations += 1;
                if self.continuations > CONTINUATIONS_MAX {
                    return Err(Fault::calm("a header block came in more than 65 frames"));
                }
            }
            None if frame.kind == kind::CONTINUATION => {
                return Err(Fault::protocol("a CONTINUATION frame came without a header block"));
            }
            None => {}
        }
        check(frame)?;
        Ok(match frame.kind {
            kind::DATA if frame.has(flag::PADDED) => At::PadLength(frame),
            kind::DATA => At::Data { frame, first: true, data: frame.length, padding: 0 },
            kind::HEADERS..=kind::CONTINUATION => At::Payload(frame),
            _ => At::Skip { stream: frame.stream, left: frame.length },
        })
    }

    fn data<'b>(
        &mut self,
        input: &mut &'b [u8],
        frame: Header,
        first: bool,
        data: u32,
        padding: u32,
    ) -> Piece<'b, 'b> {
        let (bytes, first) = (split(input, data), first.then_some(data));
        let data = data - bytes.len() as u32;
        let padding = if data == 0 { padding - split(input, padding).len() as u32 } else { padding };
        let last = data == 0 && padding == 0;
        if !last {
            self.at = Some(At::Data { frame, first: false, data, padding });
        }
        Piece::Data { frame, first, bytes, last }
    }
}

/// Takes at most so many bytes from the front of the input.
fn split<'b>(input: &mut &'b [u8], most: u32) -> &'b [u8] {
    let (now, later) = input.split_at(input.len().min(most as usize));
    *input = later;
    now
}

fn fragment(frame: Header, payload: &[u8]) -> Result<&[u8], Fault> {
    let (mut rest, mut padding) = (payload, 0);
    if frame.has(flag::PADDED) {
        let (bytes, after) = rest.split_first().ok_or(SHORT)?;
        (rest, padding) = (after, usize::from(*bytes));
    }
    if frame.has(flag::PRIORITY) {
        rest = rest.get(5..).ok_or(SHORT)?;
    }
    let length = rest.len().checked_sub(padding).ok_or(PADDING)?;
    Ok(&rest[..length])
}

/// A frame's own rules: which stream it may be on, and how long it may be. (A PRIORITY frame of another length is an
/// error of its stream by the standard, which allows to take any of these for one of the connection.)
fn check(frame: Header) -> Result<(), Fault> {
    let on_connection = frame.stream == 0;
    match frame.kind {
        kind::PUSH_PROMISE => return Err(Fault::protocol("a PUSH_PROMISE frame came, which was ruled out")),
        kind::DATA..=kind::RST_STREAM | kind::CONTINUATION if on_connection => {
            return Err(Fault::protocol("a frame that belongs to a stream came without one"));
        }
        kind::SETTINGS | kind::PING | kind::GOAWAY if !on_connection => {
            return Err(Fault::protocol("a frame that belongs to the connection came on a stream"));
        }
        _ => {}
    }
    let fits = match frame.kind {
        kind::DATA => frame.length > 0 || !frame.has(flag::PADDED),
        kind::PRIORITY => frame.length == 5,
        kind::RST_STREAM | kind::WINDOW_UPDATE => frame.length == 4,
        kind::SETTINGS if frame.has(flag::ACK) => frame.length == 0,
        kind::SETTINGS => frame.length.is_multiple_of(6),
        kind::PING => frame.length == 8,
        kind::GOAWAY => frame.length >= 8,
        _ => true,
    };
    if fits { Ok(()) } else { Err(size("a frame is not as long as its type is")) }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// The smallest that was named: a table goes through all of them.
    pub table_bytes: Option<u32>,
    /// How many streams the other side may open at once.
    pub streams: Option<u32>,
    pub window: Option<u32>,
    /// Pushes would be taken. A client may say so, a server must not.
    pub push: bool,
}

impl Settings {
    /// Reads a payload that is a multiple of six bytes.
    pub fn of(payload: &[u8]) -> Result<Settings, Fault> {
        let mut settings = Settings::default();
        for one in payload.chunks_exact(6) {
            let (id, value) = (u16::from_be_bytes([one[0], one[1]]), word(&one[2..]));
            match id {
                setting::HEADER_TABLE_SIZE => {
                    settings.table_bytes = Some(settings.table_bytes.map_or(value, |least| least.min(value)));
                }
                setting::ENABLE_PUSH if value > 1 => {
                    return Err(Fault::protocol("ENABLE_PUSH is neither 0 nor 1"));
                }
                setting::ENABLE_PUSH => settings.push |= value == 1,
                setting::MAX_CONCURRENT_STREAMS => settings.streams = Some(value),
                setting::INITIAL_WINDOW_SIZE if value > WINDOW_MAX => {
                    return Err(Fault {
                        code: Code::FLOW_CONTROL_ERROR,
                        reason: "INITIAL_WINDOW_SIZE is beyond 2^31 - 1",
                    });
                }
                setting::INITIAL_WINDOW_SIZE => settings.window = Some(value),
                setting::MAX_FRAME_SIZE if !(FRAME_MAX_BYTES..1 << 24).contains(&value) => {
                    return Err(Fault::protocol("MAX_FRAME_SIZE is not one that may be"));
                }
                _ => {}
            }
        }
        Ok(settings)
    }
}

/// The number in the first four bytes; 0 where there are fewer.
pub fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests;
