//! Frames as they are sent.

use super::{FRAME_MAX_BYTES, flag, kind, setting};
use crate::Code;

/// What a client's connection begins with, before its first frame.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// A connection's window before any WINDOW_UPDATE, whatever the settings say.
pub const CONNECTION_WINDOW_FIRST: u32 = 65_535;

/// A client's beginning: settings, and a window of this size, at least 65,535, for the connection and each stream.
pub fn preface(out: &mut Vec<u8>, window: u32, list_max: u32) {
    out.extend_from_slice(PREFACE);
    settings(
        out,
        &[
            (setting::ENABLE_PUSH, 0),
            (setting::INITIAL_WINDOW_SIZE, window),
            (setting::MAX_HEADER_LIST_SIZE, list_max),
        ],
    );
    window_update(out, 0, window - CONNECTION_WINDOW_FIRST);
}

pub fn settings(out: &mut Vec<u8>, list: &[(u16, u32)]) {
    header(out, 6 * list.len(), kind::SETTINGS, 0, 0);
    for (id, value) in list {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// A frame's header. No payload here is longer than [`FRAME_MAX_BYTES`].
pub fn header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind, flags, s0, s1, s2, s3]);
}

/// A header block, given in parts, in as many frames as it needs.
pub fn headers(out: &mut Vec<u8>, stream: u32, ends_stream: bool, parts: &[&[u8]]) {
    let frame = |out: &mut Vec<u8>, left: usize, kind: u8, flags: u8| {
        let length = left.min(FRAME_MAX_BYTES as usize);
        let ends = if length == left { flag::END_HEADERS } else { 0 };
        header(out, length, kind, flags | ends, stream);
        length
    };
    let mut left: usize = parts.iter().map(|part| part.len()).sum();
    if left <= FRAME_MAX_BYTES as usize {
        let ends = if ends_stream { flag::END_STREAM } else { 0 };
        header(out, left, kind::HEADERS, ends | flag::END_HEADERS, stream);
        return parts.iter().for_each(|part| out.extend_from_slice(part));
    }
    let mut room = frame(out, left, kind::HEADERS, if ends_stream { flag::END_STREAM } else { 0 });
    for part in parts {
        let mut part = *part;
        while !part.is_empty() {
            if room == 0 {
                room = frame(out, left, kind::CONTINUATION, 0);
            }
            let (now, later) = part.split_at(room.min(part.len()));
            out.extend_from_slice(now);
            room -= now.len();
            left -= now.len();
            part = later;
        }
    }
}

pub fn copied(out: &mut Vec<u8>, stream: u32, frame: &[u8]) {
    const STREAM: std::ops::Range<usize> = 5..9;
    let from = out.len();
    out.extend_from_slice(frame);
    if let Some(id) = out[from..].get_mut(STREAM) {
        id.copy_from_slice(&stream.to_be_bytes());
    }
}

/// A part of a body, of at most [`FRAME_MAX_BYTES`].
pub fn data(out: &mut Vec<u8>, stream: u32, ends_stream: bool, bytes: &[u8]) {
    header(out, bytes.len(), kind::DATA, if ends_stream { flag::END_STREAM } else { 0 }, stream);
    out.extend_from_slice(bytes);
}

pub fn settings_ack(out: &mut Vec<u8>) {
    header(out, 0, kind::SETTINGS, flag::ACK, 0);
}

pub fn ping_ack(out: &mut Vec<u8>, payload: &[u8]) {
    header(out, payload.len(), kind::PING, flag::ACK, 0);
    out.extend_from_slice(payload);
}

/// So many bytes more for a stream, or for the connection (0).
pub fn window_update(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    header(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&bytes.to_be_bytes());
}

pub fn rst_stream(out: &mut Vec<u8>, stream: u32, code: Code) {
    header(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// The connection's end: of the other side's streams none above `last` was processed.
pub fn goaway(out: &mut Vec<u8>, last: u32, code: Code) {
    header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&last.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}
