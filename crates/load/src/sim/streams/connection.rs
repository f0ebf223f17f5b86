//! A server's side of a connection of HTTP/2, and what it does on it later.

use std::collections::{BTreeMap, VecDeque};

use prony_http2::Code;
use prony_http2::frame::{Header, write};
use prony_http2::hpack::Decoder;
use prony_model::measurement::ErrorKind;

use super::answer::Piece;

/// A connection's window before any WINDOW_UPDATE, and a stream's before the settings say otherwise.
pub(super) const WINDOW_FIRST: i64 = 65_535;
const HEADER_BYTES: usize = 9;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sets {
    pub(super) streams: Option<u32>,
    pub(super) window: Option<u32>,
    pub(super) table_bytes: Option<u32>,
}

#[derive(Debug)]
pub(super) enum Due {
    Settings(Sets),
    Ping,
    /// A part of a stream's answer, of this status.
    Piece(u32, Piece, u16),
    Reset(u32, Code),
    /// More room in a stream's window.
    Grant(u32),
    GoAway,
    /// A frame that may not be.
    Break,
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) stream: u32,
    pub(super) means: Means,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Means {
    Nothing,
    Settings,
    End(u16),
    Failed(ErrorKind),
    GoAway(u32),
    Broken,
}

#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) header: Header,
    pub(super) payload: Vec<u8>,
    pub(super) left: usize,
}

#[derive(Debug)]
pub(super) struct Stream {
    /// What the client may send of its body, and how much of that came.
    pub(super) window: i64,
    pub(super) came: usize,
    /// Its answer, where that waits for the whole request.
    pub(super) answer: Vec<(u64, Due)>,
}

/// How far the client has read the server's frames.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Of a frame whose header is not whole.
    header: Vec<u8>,
    stream: u32,
    /// The bytes of its payload that are still to come.
    left: usize,
}

impl Reading {
    /// Which streams' frames the next bytes are of, in order, and how many; a header that ends in a later read: of 0.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Vec<(u32, usize)> {
        let mut taken = Vec::new();
        while !bytes.is_empty() {
            let mut now = self.left.min(bytes.len());
            self.left -= now;
            if now == 0 {
                now = bytes.len().min(HEADER_BYTES - self.header.len());
                self.header.extend_from_slice(&bytes[..now]);
                self.stream = 0;
                if self.header.len() == HEADER_BYTES {
                    let header = header_of(&self.header);
                    (self.stream, self.left) = (header.stream, header.length as usize);
                    self.header.clear();
                }
            }
            taken.push((self.stream, now));
            bytes = &bytes[now..];
        }
        taken
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) preface_left: usize,
    pub(super) incoming: Option<Incoming>,
    pub(super) decoder: Decoder,
    pub(super) reading: Reading,
    /// When the client first wrote on it.
    pub(super) stands_ns: Option<u64>,
    /// The client has read our settings, a frame that may not be.
    pub(super) settled: bool,
    pub(super) is_broken: bool,
    pub(super) unacknowledged: VecDeque<Sets>,
    pub(super) streams_most: u32,
    pub(super) stream_window: i64,
    pub(super) window: i64,
    pub(super) streams: BTreeMap<u32, Stream>,
    /// The requests of the streams of whose end the client does not know.
    pub(super) open: BTreeMap<u32, usize>,
    pub(super) last: u32,
    pub(super) requests: u64,
    /// The highest stream on which something was sent.
    pub(super) touched: u32,
    pub(super) warned: bool,
    /// No stream above this one is processed; and what the client has read of that.
    pub(super) goaway: Option<u32>,
    pub(super) goaway_read: Option<u32>,
    pub(super) entered_table: bool,
}

impl Connection {
    pub(super) fn new() -> Connection {
        Connection {
            preface_left: write::PREFACE.len(),
            incoming: None,
            decoder: Decoder::new(),
            reading: Reading::default(),
            stands_ns: None,
            settled: false,
            is_broken: false,
            unacknowledged: VecDeque::new(),
            streams_most: u32::MAX,
            stream_window: WINDOW_FIRST,
            window: WINDOW_FIRST,
            streams: BTreeMap::new(),
            open: BTreeMap::new(),
            last: 0,
            requests: 0,
            touched: 0,
            warned: false,
            goaway: None,
            goaway_read: None,
            entered_table: false,
        }
    }
}

pub(super) fn header_of(bytes: &[u8]) -> Header {
    let [l0, l1, l2, kind, flags, s0, s1, s2, s3] =
        *bytes.first_chunk::<HEADER_BYTES>().expect("frames are offered whole");
    Header {
        length: u32::from_be_bytes([0, l0, l1, l2]),
        kind,
        flags,
        stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
    }
}
