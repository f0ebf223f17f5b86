//! HTTP/2 as the counting server and the floor speak it: frames counted and canned, nothing decoded.

use std::io::{self, Read};

use prony_http2::frame::write;
use prony_http2::frame::{flag, kind, setting};

pub(super) const HEADER_BYTES: usize = 9;
/// `:status: 200` of the static table, and `content-length: 13` as a literal with an indexed name.
const HEAD: &[u8] = b"\x88\x0f\x0d\x0213";
const WINDOW: u32 = (1 << 31) - 1;

#[derive(Debug, Default)]
pub(super) struct Client {
    /// The bytes of an incomplete frame.
    partial: Vec<u8>,
    /// Bytes of a payload that are still to come, and say nothing.
    skip: usize,
    has_preface: bool,
}

impl Client {
    /// Appends what a server says to what was read; gives how many requests it has answered. Requests have no bodies.
    pub(super) fn take(&mut self, read: &[u8], body: &[u8], out: &mut Vec<u8>) -> u64 {
        let (held, mut bytes) = (std::mem::take(&mut self.partial), read);
        let held = if held.is_empty() { held } else { [&held, read].concat() };
        if !held.is_empty() {
            bytes = &held;
        }
        if !self.has_preface {
            if bytes.len() < write::PREFACE.len() {
                self.partial = bytes.to_vec();
                return 0;
            }
            bytes = &bytes[write::PREFACE.len()..];
            self.has_preface = true;
            write::settings(out, &[(setting::MAX_CONCURRENT_STREAMS, 10_000)]);
        }
        let skipped = self.skip.min(bytes.len());
        self.skip -= skipped;
        bytes = &bytes[skipped..];
        let mut answered = 0;
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            let (kind, flags) = (header[3], header[4]);
            let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            if kind == kind::PING {
                let Some(payload) = rest.get(..length) else { break };
                if flags & flag::ACK == 0 {
                    write::ping_ack(out, payload);
                }
            } else if kind == kind::SETTINGS && flags & flag::ACK == 0 {
                write::settings_ack(out);
            } else if kind == kind::HEADERS {
                answer(out, stream, body);
                answered += 1;
            }
            let now = length.min(rest.len());
            self.skip = length - now;
            bytes = &rest[now..];
        }
        self.partial.extend_from_slice(bytes);
        answered
    }
}

pub(super) fn answer(out: &mut Vec<u8>, stream: u32, body: &[u8]) {
    write::headers(out, stream, false, &[HEAD]);
    write::data(out, stream, true, body);
}

/// What the floor begins a connection with.
pub(super) fn beginning(out: &mut Vec<u8>) {
    write::preface(out, WINDOW, 1 << 16);
    write::settings_ack(out);
}

/// Reads frames until the answer on a stream has ended, and gives how many bytes that answer was.
pub(super) fn answer_length(from: &mut impl Read, stream: u32) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let mut header = [0; HEADER_BYTES];
        from.read_exact(&mut header)?;
        let payload = u64::from(u32::from_be_bytes([0, header[0], header[1], header[2]]));
        io::copy(&mut from.take(payload), &mut io::sink())?;
        if header[5..] == stream.to_be_bytes() {
            length += HEADER_BYTES + payload as usize;
            if header[4] & flag::END_STREAM != 0 {
                return Ok(length);
            }
        }
    }
}

/// A GET for `/` of this authority, without a table, on stream 0.
pub(super) fn request(authority: &str) -> Vec<u8> {
    // `:method: GET`, `:scheme: http`, `:path: /`, and `:authority` with its value.
    let mut block = vec![0x82, 0x86, 0x84, 0x01, authority.len() as u8];
    block.extend_from_slice(authority.as_bytes());
    let mut out = Vec::new();
    write::headers(&mut out, 0, true, &[&block]);
    out
}

/// Appends so many requests, on the streams from `next` on.
pub(super) fn requests(out: &mut Vec<u8>, request: &[u8], count: usize, next: &mut u32) {
    for _ in 0..count {
        let at = out.len();
        out.extend_from_slice(request);
        out[at + 5..at + HEADER_BYTES].copy_from_slice(&next.to_be_bytes());
        *next += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_requests_are_answered_in_pieces_of_any_size() {
        let (mut bytes, mut next) = (Vec::new(), 1);
        beginning(&mut bytes);
        requests(&mut bytes, &request("127.0.0.1:1"), 3, &mut next);
        let body = b"Hello, World!";
        for piece in 1..=bytes.len() {
            let (mut client, mut out) = (Client::default(), Vec::new());
            let answered: u64 = bytes.chunks(piece).map(|bytes| client.take(bytes, body, &mut out)).sum();
            assert_eq!((answered, next), (3, 7));
            let (mut said, mut whole) = (out.as_slice(), Vec::new());
            answer(&mut whole, 1, body);
            for stream in [1, 3, 5] {
                assert_eq!(answer_length(&mut said, stream).unwrap(), whole.len(), "pieces of {piece}");
            }
            assert_eq!(said, b"");
        }
    }
}
