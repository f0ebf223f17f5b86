//! Long heads, and the memory of unfinished ones.

use super::heads::PARTIAL_MAX_BYTES;
use super::tests::{read, read_after};
use super::*;
use prony_model::measurement::Tolerance;

/// A head of so many bytes, many fields among them.
fn head_of_length(length: usize) -> Vec<u8> {
    let mut head = b"HTTP/1.1 204 No\r\n".to_vec();
    while head.len() + 100 < length {
        head.extend_from_slice(b"X-Some-Field: and-a-value-of-this-length-which-is-usual-for-a-cookie\r\n");
    }
    head.extend_from_slice(b"X: ");
    head.resize(length - 4, b'y');
    head.extend_from_slice(b"\r\n\r\n");
    head
}

#[test]
fn a_head_of_256_kib_is_read_and_none_that_is_longer() {
    for (length, long) in [(64 << 10, false), ((64 << 10) + 1, true), (HEAD_MAX_BYTES, true)] {
        let wire = head_of_length(length);
        assert_eq!(wire.len(), length);
        assert_eq!(Fields::of(&wire).unwrap().end, length);
        for piece in [length, 64 << 10, 16 << 10, 999] {
            let pieces: Vec<&[u8]> = wire.chunks(piece).collect();
            let (mut framer, mut heads) = (Framer::new(), Heads::new());
            let got = read_after(&mut heads, false, &mut framer, &pieces).unwrap();
            assert_eq!(got, Some((204, Vec::new(), true, 0)), "{length} in pieces of {piece}");
            assert_eq!(heads.tolerated().contains_key(&Tolerance::Long), long, "{length}, {piece}");
            assert_eq!(heads.partial_bytes, 0, "its memory is given back");
        }
    }
    let wire = head_of_length(HEAD_MAX_BYTES + 1);
    for piece in [wire.len(), 64 << 10, 16 << 10, 999] {
        let pieces: Vec<&[u8]> = wire.chunks(piece).collect();
        assert_eq!(read(&mut Framer::new(), &pieces), Err(HEAD_TOO_LONG), "in pieces of {piece}");
    }
}

#[test]
fn unfinished_heads_of_a_worker_share_64_mib() {
    let wire = head_of_length(HEAD_MAX_BYTES);
    let part = &wire[..HEAD_MAX_BYTES - 1];
    let mut heads = Heads::new();
    let mut framers: Vec<Framer> = Vec::new();
    let refused = loop {
        let mut framer = Framer::new();
        match framer.feed(part, false, &mut heads, &mut |_| {}) {
            Ok(_) => framers.push(framer),
            Err(e) => break e,
        }
    };
    assert_eq!((refused.kind(), framers.len()), (ErrorKind::PartialHeads, 260));
    assert!(refused.0.contains("64 MiB") && heads.partial_bytes <= PARTIAL_MAX_BYTES);
    let memory: usize = framers.iter().map(|framer| framer.partial.capacity()).sum();
    assert!(memory <= PARTIAL_MAX_BYTES + framers.len() * PARTIAL_KEPT_BYTES, "{memory}");
    // Heads of ordinary lengths have room of their own, in pieces too.
    let mut other = Framer::new();
    let small = b"HTTP/1.1 204 No\r\nX: y\r\n\r\n";
    assert!(read_after(&mut heads, false, &mut other, &[&small[..9], &small[9..]]).unwrap().is_some());
    // One that gets whole, or is given up, makes room for another.
    let last = &wire[HEAD_MAX_BYTES - 1..];
    assert!(read_after(&mut heads, false, &mut framers[0], &[last]).unwrap().is_some());
    assert_eq!(other.feed(part, false, &mut heads, &mut |_| {}), Ok(Progress::More));
    assert!(Framer::new().feed(part, false, &mut heads, &mut |_| {}).is_err());
    framers[1].reset(&mut heads);
    assert_eq!(framers[0].feed(part, false, &mut heads, &mut |_| {}), Ok(Progress::More));
    for framer in framers.iter_mut().chain([&mut other]) {
        framer.reset(&mut heads);
    }
    assert_eq!(heads.partial_bytes, 0);
}

#[test]
fn ordinary_heads_in_pieces_take_memory_once() {
    let (mut framer, mut heads) = (Framer::new(), Heads::new());
    let wire = head_of_length(3_000);
    for piece in [100, 1, 2_999] {
        let pieces: Vec<&[u8]> = wire.chunks(piece).collect();
        assert!(read_after(&mut heads, false, &mut framer, &pieces).unwrap().is_some());
        assert_eq!((framer.partial.capacity(), heads.partial_bytes), (PARTIAL_KEPT_BYTES, 0));
    }
    // A body that comes with the head's end is no part of it.
    let mut wire = b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n".to_vec();
    wire.resize(wire.len() + 60_000, b'x');
    assert!(read_after(&mut heads, false, &mut framer, &[&wire[..20], &wire[20..]]).unwrap().is_some());
    assert_eq!(framer.partial.capacity(), PARTIAL_KEPT_BYTES);
}
