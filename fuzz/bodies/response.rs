//! Any bytes, in any pieces, read as answers: no panic, and what they are does
//! not depend on where the network cut them.

use std::collections::BTreeMap;

use prony_load::framing::{Framer, HEAD_MAX_BYTES, Heads, Progress};
use prony_model::measurement::Tolerance;

/// What is read "in one piece" is: more than any head, so that its fault is found at once.
const READ_MAX_BYTES: usize = 2 * HEAD_MAX_BYTES;
/// Longer inputs are not played byte by byte: it would cost the fuzzer its speed.
const BYTEWISE_MAX_BYTES: usize = 4096;

/// A whole answer.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    reusable: bool,
    body: Vec<u8>,
    /// Where in the stream it ended.
    end: usize,
}

/// How the stream ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Within an answer or between two, its body so far; the status, if the end makes it whole.
    Open { body: Vec<u8>, whole: Option<u16> },
    /// With bytes that are no answer.
    Wrong,
}

/// The first byte chooses the method, the next four where to cut, the rest is the server's.
pub fn check(input: &[u8]) {
    let Some((head, wire)) = input.split_at_checked(5) else { return };
    let to_head = head[0] & 1 == 1;
    let seed = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let (mut framer, mut heads) = (Framer::new(), Heads::new());
    let whole = read(&mut framer, to_head, &mut heads, wire.chunks(READ_MAX_BYTES));
    let counted = heads.tolerated().clone();
    let cut = read(&mut framer, to_head, &mut heads, pieces(wire, seed).into_iter());
    same(&whole, &cut);
    assert_eq!(*heads.tolerated(), times(&counted, 2), "a head is counted wherever it is cut");
    // The same framer and last head again: nothing of the last stream changes what comes of it.
    let again = read(&mut framer, to_head, &mut heads, wire.chunks(READ_MAX_BYTES));
    assert_eq!(whole, again);
    assert_eq!(*heads.tolerated(), times(&counted, 3), "and each time");
    if wire.len() <= BYTEWISE_MAX_BYTES {
        let mut heads = Heads::new();
        same(&whole, &read(&mut Framer::new(), to_head, &mut heads, wire.chunks(1)));
        assert_eq!(*heads.tolerated(), counted);
    }
}

/// So many times these counts.
fn times(counted: &BTreeMap<Tolerance, u64>, times: u64) -> BTreeMap<Tolerance, u64> {
    counted.iter().map(|(tolerance, count)| (*tolerance, count * times)).collect()
}

/// Pieces of sizes that follow from a seed, small ones and large ones, and empty ones.
fn pieces(mut wire: &[u8], mut seed: u32) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !wire.is_empty() {
        // Numerical Recipes' quick generator: any will do.
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let scale = 1usize << (seed >> 28);
        let size = (seed as usize >> 8) % (2 * scale).min(READ_MAX_BYTES);
        let (piece, rest) = wire.split_at(size.min(wire.len()));
        pieces.push(piece);
        wire = rest;
    }
    pieces
}

/// Reads a stream to its end, answer after answer.
fn read<'a>(
    framer: &mut Framer,
    to_head: bool,
    heads: &mut Heads,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Answer>, End) {
    framer.reset(heads);
    let mut answers = Vec::new();
    let mut body = Vec::new();
    let mut passed = 0;
    for piece in pieces {
        let mut at = 0;
        while at < piece.len() {
            match framer.feed(&piece[at..], to_head, heads, &mut |bytes| body.extend_from_slice(bytes)) {
                Err(e) => {
                    assert!(!e.0.is_empty());
                    return (answers, End::Wrong);
                }
                Ok(Progress::More) => break,
                Ok(Progress::Done { consumed, status, reusable }) => {
                    assert!((1..=piece.len() - at).contains(&consumed), "an answer has at least a byte");
                    assert!((200..1000).contains(&status) && !framer.in_progress());
                    at += consumed;
                    let body = std::mem::take(&mut body);
                    answers.push(Answer { status, reusable, body, end: passed + at });
                }
            }
        }
        passed += piece.len();
    }
    assert!(body.len() <= passed, "a body is made of the bytes that came");
    let whole = framer.end_of_stream();
    (answers, End::Open { body, whole })
}

/// What came in one piece and what came in several are the same. (A head that came in
/// pieces is parsed at each end of a line, a longer one where it may end, so that its fault
/// may be found later, or, where the stream ends before, not at all; it never becomes an answer.)
fn same(whole: &(Vec<Answer>, End), cut: &(Vec<Answer>, End)) {
    assert_eq!(whole.0, cut.0);
    match (&whole.1, &cut.1) {
        (End::Wrong, End::Open { whole, .. }) => assert_eq!(*whole, None),
        (whole, cut) => assert_eq!(whole, cut),
    }
}
