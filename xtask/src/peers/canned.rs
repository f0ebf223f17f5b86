//! HTTP/2 as the counting server and the floor speak it: frames counted and canned, nothing decoded.

use std::io::{self, Read};

use prony_http2::frame::{Piece, Reader, flag, kind, setting, write};

pub(super) const HEADER_BYTES: usize = 9;
/// `:status: 200` of the static table, and `content-length: 13` as a literal with an indexed name.
const HEAD: &[u8] = b"\x88\x0f\x0d\x0213";
const WINDOW: u32 = (1 << 31) - 1;

#[derive(Debug, Default)]
pub(super) struct Client {
    reader: Reader,
    /// How much of the preface has come.
    preface_bytes: usize,
}

impl Client {
    /// Appends what a server says to what was read; gives how many requests it has answered, `None` of what is no HTTP/2.
    /// Requests have no bodies.
    pub(super) fn take(&mut self, mut read: &[u8], body: &[u8], out: &mut Vec<u8>) -> Option<u64> {
        if self.preface_bytes < write::PREFACE.len() {
            let more = read.len().min(write::PREFACE.len() - self.preface_bytes);
            (self.preface_bytes, read) = (self.preface_bytes + more, &read[more..]);
            if self.preface_bytes == write::PREFACE.len() {
                write::settings(out, &[(setting::MAX_CONCURRENT_STREAMS, 10_000)]);
            }
        }
        let mut answered = 0;
        loop {
            match self.reader.next(&mut read).ok()? {
                Piece::More => return Some(answered),
                Piece::Whole(frame, _) if frame.kind == kind::HEADERS => {
                    answer(out, frame.stream, body);
                    answered += 1;
                }
                Piece::Whole(frame, _) if frame.has(flag::ACK) => {}
                Piece::Whole(frame, payload) if frame.kind == kind::PING => write::ping_ack(out, payload),
                Piece::Whole(frame, _) if frame.kind == kind::SETTINGS => write::settings_ack(out),
                Piece::Whole(..) | Piece::Part(_) | Piece::Data { .. } => {}
            }
        }
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
            let answered: u64 =
                bytes.chunks(piece).map(|bytes| client.take(bytes, body, &mut out).unwrap()).sum();
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
