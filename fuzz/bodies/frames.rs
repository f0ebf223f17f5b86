//! Any bytes, in any pieces, as the frames of an HTTP/2 connection, of either side: no panic, the same frames in any
//! fragmentation, none that the rules of its type rule out, and no more given than came.

use prony_http2::Fault;
use prony_http2::frame::{FRAME_MAX_BYTES, Piece, Reader, Settings, kind};

/// Longer inputs are not played byte by byte: it would cost the fuzzer its speed.
const BYTEWISE_MAX_BYTES: usize = 4096;

/// What was read: each frame's type, flags, stream and payload; of DATA without its padding.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// The first byte says how long the pieces are that the rest is cut into.
pub fn check(input: &[u8]) {
    let Some((size, wire)) = input.split_first() else { return };
    let whole = read(std::iter::once(wire));
    assert_eq!(whole, read(wire.chunks(1 + usize::from(*size))));
    if wire.len() <= BYTEWISE_MAX_BYTES {
        assert_eq!(whole, read(wire.chunks(1)));
    }
}

/// All frames, and the fault that ended them.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Frame>, Option<Fault>) {
    let (mut reader, mut frames, mut open) = (Reader::default(), Vec::new(), None);
    for piece in pieces {
        let mut input = piece;
        while !input.is_empty() {
            let before = input.len();
            match reader.next(&mut input) {
                Err(fault) => {
                    assert!(!fault.reason.is_empty());
                    return (frames, Some(fault));
                }
                Ok(Piece::More | Piece::Part(_)) => {}
                Ok(Piece::Data { frame, first, bytes, last }) => {
                    assert!(frame.kind == kind::DATA && frame.stream > 0 && bytes.len() <= before);
                    let (length, mut payload) = match first {
                        Some(length) => (length, Vec::new()),
                        None => open.take().expect("a frame goes on that began"),
                    };
                    payload.extend_from_slice(bytes);
                    assert!(payload.len() <= length as usize && length <= frame.length);
                    if last {
                        assert_eq!(payload.len(), length as usize);
                        let (kind, flags, stream) = (frame.kind, frame.flags, frame.stream);
                        frames.push(Frame { kind, flags, stream, payload });
                    } else {
                        open = Some((length, payload));
                    }
                }
                Ok(Piece::Whole(frame, payload)) => {
                    assert!(frame.length <= FRAME_MAX_BYTES);
                    if frame.kind == kind::SETTINGS {
                        // Refused or read, but read without a panic.
                        let _ = Settings::of(payload);
                    }
                    let (kind, flags, stream) = (frame.kind, frame.flags, frame.stream);
                    frames.push(Frame { kind, flags, stream, payload: payload.to_vec() });
                }
            }
        }
    }
    (frames, None)
}
