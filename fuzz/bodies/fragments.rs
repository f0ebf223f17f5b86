//! Any pieces of messages in any order: no panic, no message longer than one may be, and an honest message after them, in any
//! order of its pieces, is whole again.

use crate::fragments::{Joining, MESSAGE_MAX_BYTES, split};

/// A message of two pieces.
const HONEST_BYTES: usize = 600 << 10;
/// No piece of the input's has its number.
const HONEST_NUMBER: u64 = 1 << 40;
/// How long a piece is for each byte of its length: the longest are longer than a piece may be.
const UNIT_BYTES: usize = 2_100;

/// Each four bytes are a piece: the message's number, its place, the count, and its length. Then the input itself is one.
pub fn check(input: &[u8]) {
    let mut joining = Joining::default();
    let filler = vec![7; usize::from(u8::MAX) * UNIT_BYTES];
    let mut add = |piece: &[u8]| {
        let message = joining.add(piece);
        assert!(message.as_ref().is_none_or(|message| message.len() <= MESSAGE_MAX_BYTES));
        message
    };
    for four in input.chunks_exact(4) {
        let [number, at, count, length] = [four[0], four[1], four[2], four[3]];
        let numbers = [u64::from(number).to_le_bytes(), u64::from(at).to_le_bytes()];
        let count = u32::from(count).to_le_bytes();
        // Long ones are rare, or nothing else would be tried.
        let length = if length > 250 { usize::from(length) * UNIT_BYTES } else { usize::from(length) };
        add(&[&numbers[0], &numbers[1][..4], &count[..], &filler[..length]].concat());
    }
    add(input);
    let message: Vec<u8> = (0..HONEST_BYTES).map(|i| (i % 251) as u8).collect();
    let mut pieces = split(HONEST_NUMBER, &message);
    if input.len() % 2 == 1 {
        pieces.reverse();
    }
    let (last, before) = pieces.split_last().expect("a message has pieces");
    assert!(!before.is_empty() && before.iter().all(|piece| add(piece).is_none()));
    assert!(add(last) == Some(message));
}
