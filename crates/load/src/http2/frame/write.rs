//! The frames that a client sends.

use super::{FRAME_MAX_BYTES, flag, kind, setting};
use crate::http2::Code;

/// What a client's connection begins with, before its first frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// A connection's window before any WINDOW_UPDATE, whatever the settings say.
const CONNECTION_WINDOW_FIRST: u32 = 65_535;

/// The connection's beginning: the settings, and a window of such a size for it and for each of its streams.
pub(in crate::http2) fn preface(out: &mut Vec<u8>, window: u32, list_max: u32) {
    out.extend_from_slice(PREFACE);
    let settings = [
        (setting::ENABLE_PUSH, 0),
        (setting::INITIAL_WINDOW_SIZE, window),
        (setting::MAX_HEADER_LIST_SIZE, list_max),
    ];
    header(out, 6 * settings.len(), kind::SETTINGS, 0, 0);
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
    window_update(out, 0, window - CONNECTION_WINDOW_FIRST);
}

/// A frame's header. No payload here is longer than [`FRAME_MAX_BYTES`].
pub(in crate::http2) fn header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, kind, flags, s0, s1, s2, s3]);
}

/// A header block, given in parts, in as many frames as it needs.
pub(in crate::http2) fn headers(out: &mut Vec<u8>, stream: u32, ends_stream: bool, parts: &[&[u8]]) {
    let frame = |out: &mut Vec<u8>, left: usize, kind: u8, flags: u8| {
        let length = left.min(FRAME_MAX_BYTES as usize);
        let ends = if length == left { flag::END_HEADERS } else { 0 };
        header(out, length, kind, flags | ends, stream);
        length
    };
    let mut left: usize = parts.iter().map(|part| part.len()).sum();
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

/// A part of a request's body, of at most [`FRAME_MAX_BYTES`].
pub(in crate::http2) fn data(out: &mut Vec<u8>, stream: u32, ends_stream: bool, bytes: &[u8]) {
    header(out, bytes.len(), kind::DATA, if ends_stream { flag::END_STREAM } else { 0 }, stream);
    out.extend_from_slice(bytes);
}

pub(in crate::http2) fn settings_ack(out: &mut Vec<u8>) {
    header(out, 0, kind::SETTINGS, flag::ACK, 0);
}

pub(in crate::http2) fn ping_ack(out: &mut Vec<u8>, payload: &[u8]) {
    header(out, payload.len(), kind::PING, flag::ACK, 0);
    out.extend_from_slice(payload);
}

pub(in crate::http2) fn window_update(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    header(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&bytes.to_be_bytes());
}

pub(in crate::http2) fn rst_stream(out: &mut Vec<u8>, stream: u32, code: Code) {
    header(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// The connection's end. The server opened no stream: the last one of them is 0.
pub(in crate::http2) fn goaway(out: &mut Vec<u8>, code: Code) {
    header(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&code.0.to_be_bytes());
}
