use std::collections::BTreeMap;

use super::*;
use prony_model::measurement::Tolerance;
use proptest::prelude::*;

/// An answer and what a reader must make of it.
struct Case {
    wire: &'static str,
    status: u16,
    body: &'static str,
    reusable: bool,
}

const LEGAL: &[Case] = &[
    Case {
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        status: 200,
        body: "hello",
        reusable: true,
    },
    Case { wire: "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", status: 200, body: "", reusable: true },
    Case { wire: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, body: "", reusable: true },
    Case { wire: "HTTP/1.1 304 x\r\nContent-Length: 99\r\n\r\n", status: 304, body: "", reusable: true },
    Case {
        wire: "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 1\r\n\r\nx",
        status: 200,
        body: "x",
        reusable: false,
    },
    Case { wire: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", status: 200, body: "x", reusable: false },
    Case {
        wire: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
        status: 200,
        body: "x",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;q=\"1\"\r\n0123456789\r\n0\r\n\r\n",
        status: 200,
        body: "abc0123456789",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
        status: 200,
        body: "a",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nok",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 2,2 , 2\r\n\r\nok",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\nContent-Length:\r\n 2\r\nConnection: x,\r\n close\r\n\r\nok",
        status: 200,
        body: "ok",
        reusable: false,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: gzip,\n chunked\r\nX:\r\n \r\n\r\n2\r\nok\r\n0\r\n\r\n",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\no\n1;a=b\r\nk\n0\nX: y\n\n",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        status: 200,
        body: "ok",
        reusable: true,
    },
    Case {
        wire: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
        status: 404,
        body: "no",
        reusable: true,
    },
];

/// Status, body, whether the connection is reusable, and how many bytes were left over.
pub(super) type Read = (u16, Vec<u8>, bool, usize);

/// Feeds the pieces of an answer to GET to the framer.
pub(super) fn read(framer: &mut Framer, pieces: &[&[u8]]) -> Result<Option<Read>, ProtocolError> {
    read_after(&mut Heads::new(), false, framer, pieces)
}

/// As [`read`], after another head, and to HEAD.
pub(super) fn read_after(
    heads: &mut Heads,
    is_head_request: bool,
    framer: &mut Framer,
    pieces: &[&[u8]],
) -> Result<Option<Read>, ProtocolError> {
    let mut body = Vec::new();
    let mut done = None;
    for piece in pieces {
        if let Some((_, _, left)) = &mut done {
            *left += piece.len();
            continue;
        }
        match framer.feed(piece, is_head_request, heads, &mut |bytes| body.extend_from_slice(bytes))? {
            Progress::More => {}
            Progress::Done { consumed, status, reusable } => {
                done = Some((status, reusable, piece.len() - consumed));
            }
        }
    }
    Ok(done.map(|(status, reusable, left)| (status, body, reusable, left)))
}

#[test]
fn every_legal_answer_is_read_wherever_it_is_cut_in_two() {
    for case in LEGAL {
        for at in 0..=case.wire.len() {
            let (first, rest) = case.wire.as_bytes().split_at(at);
            let got = read(&mut Framer::new(), &[first, rest]).unwrap();
            assert_eq!(got, Some((case.status, case.body.as_bytes().to_vec(), case.reusable, 0)), "at {at}");
        }
    }
}

/// Fields, and why a head with these is only tolerated.
const COUNTED: [(&str, &[Tolerance]); 10] = [
    ("Content-Length: 2", &[]),
    ("Content-Length: 2\r\nContent-Length: 2", &[Tolerance::RepeatedLength]),
    ("Content-Length: 2\r\nContent-Length: 2\r\nContent-Length: 2", &[Tolerance::RepeatedLength]),
    ("Content-Length: 2, 2", &[Tolerance::RepeatedLength]),
    ("Content-Length: 2\r\nTransfer-Encoding: identity", &[Tolerance::LengthBesideCoding]),
    ("Transfer-Encoding: identity\r\nContent-Length: 2", &[Tolerance::LengthBesideCoding]),
    ("Content-Length: 2\r\nX: a\r\n b\r\n c\r\nY: a\r\n\tb", &[Tolerance::Folded]),
    ("X:\r\n\ta\r\nContent-Length:\r\n 2,\r\n 2", &[Tolerance::RepeatedLength, Tolerance::Folded]),
    (
        "Content-Length: 2\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\nX: a\n b",
        &[Tolerance::RepeatedLength, Tolerance::LengthBesideCoding, Tolerance::Folded],
    ),
    ("Content-Length: 2\r\nX: a \r\nY:\r\nZ: b", &[]),
];

#[test]
fn a_merely_tolerated_head_counts_once_wherever_it_is_cut() {
    for (fields, why) in COUNTED {
        let wire = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nok");
        for at in 0..=wire.len() {
            let (first, rest) = wire.as_bytes().split_at(at);
            let (mut framer, mut heads) = (Framer::new(), Heads::new());
            for times in 1..=3 {
                let got = read_after(&mut heads, false, &mut framer, &[first, rest]).unwrap();
                assert_eq!(got, Some((200, b"ok".to_vec(), true, 0)), "{fields:?} at {at}");
                let counts: BTreeMap<Tolerance, u64> = why.iter().map(|why| (*why, times)).collect();
                assert_eq!(*heads.tolerated(), counts, "{fields:?} at {at}");
            }
        }
    }
}

#[test]
fn chunk_lines_without_carriage_returns_count_once() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (chunks, count) in [
        ("2\r\nok\r\n0\r\n\r\n", 0),
        ("2\r\nok\r\n0\r\nX: y\n\n", 0),
        ("2\nok\n0\n\n", 1),
        ("2;a=b\nok\r\n0\r\n\r\n", 1),
        ("2\r\nok\n0\r\n\r\n", 1),
    ] {
        let wire = format!("{head}{chunks}");
        let (mut framer, mut heads) = (Framer::new(), Heads::new());
        for times in 1..=3 {
            let got = read_after(&mut heads, false, &mut framer, &[wire.as_bytes()]).unwrap();
            assert_eq!(got, Some((200, b"ok".to_vec(), true, 0)), "{chunks:?}");
            let counted = heads.tolerated().get(&Tolerance::BareLineFeed).copied();
            assert_eq!(counted.unwrap_or(0), times * count, "{chunks:?}");
        }
    }
}

#[test]
fn what_is_refused_is_refused_wherever_it_is_cut() {
    for fields in [
        "Content-Length: 5, 6\r\n\r\n",
        "Content-Length: 5\r\nX: a\r\n b\r\nContent-Length: 6\r\n\r\n",
        "Transfer-Encoding: chunked,\r\n gzip\r\n\r\n",
        " X: y\r\n\r\n",
        "X: a\r\n b\r\nno colon\r\n\r\n",
        "X: a\r b\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok",
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{fields}");
        let why = read(&mut Framer::new(), &[wire.as_bytes()]).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::Protocol);
        for at in 0..=wire.len() {
            let (first, rest) = wire.as_bytes().split_at(at);
            assert_eq!(read(&mut Framer::new(), &[first, rest]), Err(why.clone()), "{fields:?} at {at}");
        }
    }
}

#[test]
fn header_fields_are_those_of_the_final_head() {
    let wire =
        b"HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA:  b \r\na: c\r\nContent-Length: 2\r\n\r\nno";
    let head = Fields::of(wire).unwrap();
    let fields: Vec<(&str, &str)> = head.fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(fields, [("A", "b"), ("a", "c"), ("Content-Length", "2")]);
    assert_eq!(&wire[head.end..], b"no");
    assert_eq!(Fields::of(&wire[..head.end - 1]), None);
}

#[test]
fn a_field_on_several_lines_is_one_value() {
    let wire = b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\td \r\nB:\r\n e\r\n\r\n";
    let head = Fields::of(wire).unwrap();
    let fields: Vec<(&str, &str)> = head.fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!((fields, head.end), (vec![("A", "b c d"), ("B", "e")], wire.len()));
}

proptest! {
    #[test]
    fn every_legal_answer_is_read_in_any_fragmentation(
        case in 0..LEGAL.len(), cuts in proptest::collection::vec(0usize..200, 0..12), extra in 0usize..4,
    ) {
        let case = &LEGAL[case];
        let mut wire = case.wire.as_bytes().to_vec();
        wire.extend(std::iter::repeat_n(b'Z', extra));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(wire.len())).collect();
        cuts.extend([0, wire.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &wire[w[0]..w[1]]).collect();
        let (mut framer, mut heads) = (Framer::new(), Heads::new());
        for _ in 0..3 {
            let got = read_after(&mut heads, false, &mut framer, &pieces).unwrap();
            prop_assert_eq!(got, Some((case.status, case.body.as_bytes().to_vec(), case.reusable, extra)));
            prop_assert!(!framer.in_progress());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&mut Framer::new(), &[&bytes]);
        let mut wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        wire.extend(&bytes);
        let _ = read(&mut Framer::new(), &[&wire]);
    }

    #[test]
    fn a_head_like_the_last_reads_as_parsed(first in 0..LEGAL.len(), second in 0..LEGAL.len(), to_head in any::<(bool, bool)>()) {
        let (first, second) = (LEGAL[first].wire.as_bytes(), LEGAL[second].wire.as_bytes());
        let mut heads = Heads::new();
        let _ = read_after(&mut heads, to_head.0, &mut Framer::new(), &[first]);
        let got = read_after(&mut heads, to_head.1, &mut Framer::new(), &[second]);
        prop_assert_eq!(got, read_after(&mut Heads::new(), to_head.1, &mut Framer::new(), &[second]));
    }

    #[test]
    fn what_is_dropped_is_what_would_be_read(body in 1usize..5000, cuts in proptest::collection::vec(1usize..3000, 1..8), chunked in any::<bool>()) {
        let head = if chunked { format!("Transfer-Encoding: chunked\r\n\r\n{body:x}\r\n") } else { format!("Content-Length: {body}\r\n\r\n") };
        let tail = if chunked { "\r\n0\r\n\r\n" } else { "" };
        let wire = format!("HTTP/1.1 200 OK\r\n{head}");
        let (mut framer, mut heads) = (Framer::new(), Heads::new());
        prop_assert_eq!(framer.feed(wire.as_bytes(), false, &mut heads, &mut |_| {}), Ok(Progress::More));
        let (mut left, mut done, mut cuts) = (body, false, cuts.into_iter().cycle());
        while left > 0 {
            prop_assert_eq!(framer.body_left(), left as u64);
            let count = cuts.next().unwrap().min(left);
            left -= count;
            done = framer.skip(count) == Progress::Done { consumed: count, status: 200, reusable: true };
        }
        prop_assert_eq!(done, !chunked);
        if chunked {
            let end = framer.feed(tail.as_bytes(), false, &mut heads, &mut |_| {});
            prop_assert_eq!(end, Ok(Progress::Done { consumed: tail.len(), status: 200, reusable: true }));
        }
        prop_assert!(!framer.in_progress());
    }
}

#[test]
fn codings_before_chunked_are_left_alone() {
    let wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    let got = read(&mut Framer::new(), &[wire.as_bytes()]).unwrap();
    assert_eq!(got, Some((200, b"a".to_vec(), true, 0)));
    let wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(read(&mut Framer::new(), &[wire.as_bytes()]).unwrap().unwrap().3, 0);
    // Where chunked is not the last, the body ends with the connection.
    let mut framer = Framer::new();
    let wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc";
    assert_eq!(read(&mut framer, &[wire.as_bytes()]), Ok(None));
    assert_eq!(framer.end_of_stream(), Some(200));
}

#[test]
fn an_answer_without_length_ends_with_the_connection() {
    let mut framer = Framer::new();
    let got = read(&mut framer, &[b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"]).unwrap();
    assert_eq!(got, None);
    assert_eq!(framer.end_of_stream(), Some(200));
    let got = read(&mut framer, &[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"]).unwrap();
    assert_eq!(got, None);
    assert_eq!(framer.end_of_stream(), None, "cut off");
}

#[test]
fn an_answer_to_head_has_no_body() {
    let mut framer = Framer::new();
    let wire: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    let got = read_after(&mut Heads::new(), true, &mut framer, &[wire]).unwrap();
    assert_eq!(got, Some((200, Vec::new(), true, 0)));
}

#[test]
fn hostile_answers_are_errors_by_name() {
    let said = |wire: &str| read(&mut Framer::new(), &[wire.as_bytes()]).unwrap_err().0;
    assert!(said("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n").contains("not a number"));
    for lengths in ["5\r\nContent-Length: 6", "5, 6", "5, 5\r\nContent-Length: 6", "5,5,6"] {
        let field = format!("Content-Length: {lengths}\r\n");
        assert!(said(&format!("HTTP/1.1 200 OK\r\n{field}\r\n")).contains("that differ"));
        let both = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{field}\r\n");
        assert!(said(&both).contains("that differ"), "the coding excuses nothing");
    }
    for list in ["5,", ",5", "5,,5", "5 5", "5, x", "5\r\n 5", ""] {
        let wire = format!("HTTP/1.1 200 OK\r\nContent-Length: {list}\r\n\r\n");
        assert!(said(&wire).contains("not a number"), "{list:?}");
    }
    assert!(said("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n").contains("not a number"));
    assert!(said("HTTP/1.1 200 OK\r\n X: y\r\n\r\n").contains("malformed"), "there is no line to go on with");
    assert!(said("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n: y\r\n\r\n").contains("malformed"));
    assert!(said(&format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(5_001))).contains("5000 header"));
    assert!(said("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n").contains("before another"));
    let again = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    assert!(said(again).contains("before another"));
    assert!(said("HTTP/2 200 OK\r\n\r\n").contains("HTTP/1"));
    assert!(said("garbage\r\n\r\n").contains("HTTP/1.0 or"));
    assert!(said("HTTP/1.1 101 Switching\r\n\r\n").contains("101"));
    assert!(said(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(17)).contains("interim"));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(said(&format!("{chunked}xyz\r\n")).contains("hexadecimal"));
    assert!(said(&format!("{chunked}\r\n")).contains("hexadecimal"));
    assert!(said(&format!("{chunked}FFFFFFFFFFFFFFFF\r\n")).contains("2^60"));
    assert!(said(&format!("{chunked}3\r\nabcd\r\n")).contains("as long as"));
    assert!(said(&format!("{chunked}1;{}\r\n", "e".repeat(5000))).contains("4 KiB"));
    assert!(said(&format!("{chunked}0\r\n{}", "T: x\r\n".repeat(20_000))).contains("trailer"));
    assert!(said(&format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(263_000))).contains("256 KiB"));
    assert!(said(&format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(263_000))).contains("256 KiB"));
}

#[test]
fn a_small_head_in_two_pieces_before_a_large_body_is_read() {
    let mut wire = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n".to_vec();
    wire.resize(wire.len() + 200_000, b'x');
    let (first, rest) = wire.split_at(20);
    let pieces: Vec<&[u8]> = std::iter::once(first).chain(rest.chunks(HEAD_MAX_BYTES)).collect();
    let got = read(&mut Framer::new(), &pieces).unwrap().unwrap();
    assert_eq!((got.0, got.1.len(), got.2, got.3), (200, 200_000, true, 0));
}

#[test]
fn an_endless_head_in_small_pieces_is_bounded() {
    let (mut framer, mut heads) = (Framer::new(), Heads::new());
    framer.feed(b"HTTP/1.1 200 OK\r\nX: ", false, &mut heads, &mut |_| {}).unwrap();
    let stopped = (0..300_000).find(|_| framer.feed(b"y", false, &mut heads, &mut |_| {}).is_err());
    assert!(stopped.is_some_and(|n| n < HEAD_MAX_BYTES));
}

#[test]
fn a_long_head_in_pieces_leaves_its_memory_behind() {
    let wire = format!("HTTP/1.1 204 No\r\nX: {}\r\n\r\n", "y".repeat(50_000));
    let (first, rest) = wire.as_bytes().split_at(40_000);
    let mut framer = Framer::new();
    assert_eq!(read(&mut framer, &[first]).unwrap(), None);
    assert!(framer.partial.capacity() >= 40_000);
    assert_eq!(read(&mut framer, &[rest]).unwrap().unwrap().0, 204);
    assert!(framer.partial.capacity() <= 2 * PARTIAL_KEPT_BYTES, "{}", framer.partial.capacity());
    assert_eq!(read(&mut framer, &[first]).unwrap(), None);
    framer.reset(&mut Heads::new());
    assert!(framer.partial.capacity() <= 2 * PARTIAL_KEPT_BYTES, "a connection that ended keeps its memory");
}

#[test]
fn what_comes_with_a_head_is_noticed() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    for (input, beyond) in [
        (head, false),
        ("HTTP/1.1 200 OK\r\nContent-", false),
        ("HTTP/1.1 204 No\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2", true),
        ("HTTP/1.1 100 Continue\r\n\r\n", false),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", true),
        ("HTTP/1.1 204 No\r\n\r\nHTTP/1.1 204 No\r\n\r\n", true),
    ] {
        let mut framer = Framer::new();
        framer.feed(input.as_bytes(), false, &mut Heads::new(), &mut |_| {}).unwrap();
        assert_eq!(framer.went_beyond_head(), beyond, "{input:?}");
    }
    // A head after the first of its kind is compared and not parsed: the same is said of it.
    let (mut framer, mut heads) = (Framer::new(), Heads::new());
    for _ in 0..3 {
        framer.feed(head.as_bytes(), false, &mut heads, &mut |_| {}).unwrap();
        assert!(!framer.went_beyond_head());
        framer.feed(b"ok", false, &mut heads, &mut |_| {}).unwrap();
    }
}
