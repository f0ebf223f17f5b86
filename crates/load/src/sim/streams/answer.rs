//! A simulated server's answer: frames, one after the other, with whatever else a server may send.

use prony_http2::frame::{flag, kind, write};

use super::super::chance::Chance;
use super::habits::Habits;

/// Header blocks as bytes: `:status` of the static table, and literals.
const STATUS_200: u8 = 0x88;
const STATUS_404: u8 = 0x8d;
/// `:status: 103`, a literal that enters no table.
const STATUS_103: &[u8] = b"\x08\x03103";
/// `x: y`, which enters the table; and the table's youngest entry.
const ENTERS: &[u8] = b"\x40\x01x\x01y";
const YOUNGEST: u8 = 0xbe;

#[derive(Debug, Clone)]
pub(super) enum Piece {
    Interim,
    Head {
        status: u16,
        length: Option<usize>,
        has_frills: bool,
        ends: bool,
    },
    Data {
        bytes: usize,
        padding: Option<u8>,
        ends: bool,
    },
    Trailers,
    /// A head without a status, and the stream's end.
    NoStatus,
    /// A head that promises more than comes.
    Short,
}

impl Piece {
    /// Whether it is the last of its stream.
    pub(super) fn ends(&self) -> bool {
        match self {
            Piece::Interim => false,
            Piece::Head { ends, .. } | Piece::Data { ends, .. } => *ends,
            Piece::Trailers | Piece::NoStatus | Piece::Short => true,
        }
    }

    /// Its frames. `entered` says whether a header field has entered the connection's table.
    pub(super) fn bytes(&self, stream: u32, entered: &mut bool) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Piece::Interim => write::headers(&mut out, stream, false, &[STATUS_103]),
            Piece::NoStatus => write::headers(&mut out, stream, true, &[ENTERS]),
            Piece::Short => write::headers(&mut out, stream, true, &[&[STATUS_200], &length_field(5)]),
            Piece::Trailers => {
                *entered = true;
                write::headers(&mut out, stream, true, &[ENTERS]);
            }
            Piece::Data { bytes, padding, ends } => {
                let flags = if *ends { flag::END_STREAM } else { 0 };
                let body = vec![b'x'; *bytes];
                match padding {
                    None => write::data(&mut out, stream, *ends, &body),
                    Some(padding) => {
                        let length = 1 + bytes + usize::from(*padding);
                        write::header(&mut out, length, kind::DATA, flags | flag::PADDED, stream);
                        out.push(*padding);
                        out.extend(body);
                        out.resize(out.len() + usize::from(*padding), 0);
                    }
                }
            }
            Piece::Head { status, length, has_frills, ends } => {
                let mut block = vec![if *status == 404 { STATUS_404 } else { STATUS_200 }];
                block.extend(length.map(length_field).into_iter().flatten());
                if *has_frills {
                    block.extend_from_slice(if *entered { &[YOUNGEST] } else { ENTERS });
                    *entered = true;
                    in_many_frames(&mut out, stream, *ends, &block);
                } else {
                    write::headers(&mut out, stream, *ends, &[&block]);
                }
            }
        }
        out
    }
}

fn length_field(length: usize) -> Vec<u8> {
    let digits = length.to_string();
    let mut field = vec![0x0f, 0x0d, digits.len() as u8];
    field.extend_from_slice(digits.as_bytes());
    field
}

/// A header block with padding and a priority, a byte in each frame.
fn in_many_frames(out: &mut Vec<u8>, stream: u32, ends: bool, block: &[u8]) {
    const PADDING: usize = 3;
    let flags = flag::PADDED | flag::PRIORITY | if ends { flag::END_STREAM } else { 0 };
    write::header(out, 1 + 5 + 1 + PADDING, kind::HEADERS, flags, stream);
    out.push(PADDING as u8);
    out.extend_from_slice(&[0, 0, 0, 0, 16]);
    out.push(block[0]);
    out.extend_from_slice(&[0; PADDING]);
    for (at, byte) in block.iter().enumerate().skip(1) {
        let flags = if at + 1 == block.len() { flag::END_HEADERS } else { 0 };
        write::header(out, 1, kind::CONTINUATION, flags, stream);
        out.push(*byte);
    }
    if block.len() == 1 {
        write::header(out, 0, kind::CONTINUATION, flag::END_HEADERS, stream);
    }
}

/// The parts of an answer that is whole at `end_ns`, each with its instant, and its status.
pub(super) fn pieces(
    chance: &mut Chance,
    habits: &Habits,
    now_ns: u64,
    end_ns: u64,
) -> (Vec<(u64, Piece)>, u16) {
    let frills = habits.frills_per_mille;
    let status = if chance.per_mille(habits.missing_per_mille) { 404 } else { 200 };
    let count = chance.size(0, habits.pieces).max(habits.pieces.min(1));
    let ends_by_trailers = chance.per_mille(frills);
    let mut pieces: Vec<Piece> =
        (0..chance.size(0, 2)).filter(|_| chance.per_mille(frills)).map(|_| Piece::Interim).collect();
    let ends = count == 0 && !ends_by_trailers;
    let length = (chance.per_mille(habits.lengths_per_mille)).then_some(count * habits.piece_bytes);
    pieces.push(Piece::Head { status, length, has_frills: chance.per_mille(frills), ends });
    for i in 1..=count {
        if chance.per_mille(frills) {
            pieces.push(Piece::Data { bytes: 0, padding: None, ends: false });
        }
        let padding = chance.per_mille(frills).then(|| chance.between(0, 255) as u8);
        let ends = i == count && !ends_by_trailers;
        pieces.push(Piece::Data { bytes: habits.piece_bytes, padding, ends });
    }
    if ends_by_trailers {
        pieces.push(Piece::Trailers);
    }
    // An answer of one moment, or one that comes bit by bit.
    let at_once = !chance.per_mille(frills);
    let mut instants: Vec<u64> =
        pieces.iter().map(|_| if at_once { end_ns } else { chance.between(now_ns, end_ns) }).collect();
    instants.sort_unstable();
    if let Some(last) = instants.last_mut() {
        *last = end_ns;
    }
    (instants.into_iter().zip(pieces).collect(), status)
}
