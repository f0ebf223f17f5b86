use super::*;
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
        wire: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
        status: 404,
        body: "no",
        reusable: true,
    },
];

/// Status, body, whether the connection is reusable, and how many bytes were left over.
type Read = (u16, Vec<u8>, bool, usize);

/// Feeds the pieces to the framer.
fn read(framer: &mut Framer, pieces: &[&[u8]]) -> Result<Option<Read>, ProtocolError> {
    let mut body = Vec::new();
    let mut done = None;
    for piece in pieces {
        if let Some((_, _, left)) = &mut done {
            *left += piece.len();
            continue;
        }
        match framer.feed(piece, &mut |bytes| body.extend_from_slice(bytes))? {
            Progress::More => {}
            Progress::Done { consumed, status, reusable } => {
                done = Some((status, reusable, piece.len() - consumed));
            }
        }
    }
    Ok(done.map(|(status, reusable, left)| (status, body, reusable, left)))
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
        let mut framer = Framer::new("GET");
        for _ in 0..2 {
            let got = read(&mut framer, &pieces).unwrap();
            prop_assert_eq!(got, Some((case.status, case.body.as_bytes().to_vec(), case.reusable, extra)));
            prop_assert!(!framer.in_progress());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut framer = Framer::new("GET");
        let _ = framer.feed(&bytes, &mut |_| {});
        let mut wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        wire.extend(&bytes);
        let mut framer = Framer::new("GET");
        let _ = framer.feed(&wire, &mut |_| {});
    }
}

#[test]
fn an_answer_without_length_ends_with_the_connection() {
    let mut framer = Framer::new("GET");
    let got = read(&mut framer, &[b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"]).unwrap();
    assert_eq!(got, None);
    assert_eq!(framer.end_of_stream(), Some(200));
    let got = read(&mut framer, &[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"]).unwrap();
    assert_eq!(got, None);
    assert_eq!(framer.end_of_stream(), None, "cut off");
}

#[test]
fn an_answer_to_head_has_no_body() {
    let mut framer = Framer::new("HEAD");
    let got = read(&mut framer, &[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"]).unwrap();
    assert_eq!(got, Some((200, Vec::new(), true, 0)));
}

#[test]
fn hostile_answers_are_errors_by_name() {
    let said = |wire: &str| read(&mut Framer::new("GET"), &[wire.as_bytes()]).unwrap_err().0;
    assert!(said("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n").contains("not a number"));
    assert!(
        said("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n")
            .contains("two Content-Length")
    );
    assert!(said("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n").contains("not a number"));
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert!(said(both).contains("both"));
    assert!(said("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n").contains("not \"chunked\""));
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
    assert!(said(&format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(70_000))).contains("64 KiB"));
}

#[test]
fn a_small_head_in_two_pieces_before_a_large_body_is_read() {
    let mut wire = b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n".to_vec();
    wire.resize(wire.len() + 200_000, b'x');
    let (first, rest) = wire.split_at(20);
    let pieces: Vec<&[u8]> = std::iter::once(first).chain(rest.chunks(HEAD_MAX_BYTES)).collect();
    let got = read(&mut Framer::new("GET"), &pieces).unwrap().unwrap();
    assert_eq!((got.0, got.1.len(), got.2, got.3), (200, 200_000, true, 0));
}

#[test]
fn an_endless_head_in_small_pieces_is_bounded() {
    let mut framer = Framer::new("GET");
    framer.feed(b"HTTP/1.1 200 OK\r\nX: ", &mut |_| {}).unwrap();
    let stopped = (0..100_000).find(|_| framer.feed(b"y", &mut |_| {}).is_err());
    assert!(stopped.is_some_and(|n| n < HEAD_MAX_BYTES));
}
