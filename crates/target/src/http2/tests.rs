use super::*;
use crate::answer::{Answer, Content, Writer};
use crate::board::Written;
use crate::outbox::Outbox;
use prony_http2::frame::FRAME_MAX_BYTES;
use prony_http2::hpack::{Field, Indexing, write_field};

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

fn headers(stream: u32, fields: &[(&str, &str)], ends: bool) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        write_field(&mut block, &Field { name, value: value.as_bytes(), indexing: Indexing::Once });
    }
    let mut out = Vec::new();
    write::headers(&mut out, stream, ends, &[&block]);
    out
}

const GET: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")];
const ECHO: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/echo"), (":authority", "a")];

fn data(stream: u32, bytes: &[u8], ends: bool) -> Vec<u8> {
    frame(kind::DATA, if ends { flag::END_STREAM } else { 0 }, stream, bytes)
}

/// What a server did with a client's bytes behind its settings.
struct Played {
    http2: Http2,
    requests: Vec<(u32, Request)>,
    gone: Vec<u32>,
    tally: Counts,
    fault: Option<Fault>,
}

fn play(config: Http2Config, wire: &[Vec<u8>], piece: usize) -> Played {
    let http2 = Http2::new(config);
    let (requests, gone) = (Vec::new(), Vec::new());
    let mut played = Played { http2, requests, gone, tally: Counts::default(), fault: None };
    let wire = [frame(kind::SETTINGS, 0, 0, &[]), wire.concat()].concat();
    for mut piece in wire.chunks(piece) {
        loop {
            match played.http2.take(&mut piece, &mut played.tally) {
                Ok(Event::More) => break,
                Ok(Event::Nothing) => {}
                Ok(Event::Request(stream, request)) => played.requests.push((stream, request)),
                Ok(Event::Gone(stream)) => played.gone.push(stream),
                Err(fault) => {
                    played.fault = Some(fault);
                    return played;
                }
            }
        }
    }
    played
}

fn whole(wire: &[Vec<u8>]) -> Played {
    play(Http2Config::default(), wire, usize::MAX)
}

/// The kinds, streams and last four bytes of the frames that are no answer's, behind the settings and the window.
fn sent(played: &Played) -> Vec<(u8, u32, u32)> {
    let mut rest = &played.http2.out[..];
    let mut frames = Vec::new();
    while let Some((header, after)) = rest.split_first_chunk::<9>() {
        let length = usize::from(header[1]) * 256 + usize::from(header[2]);
        let (payload, after) = after.split_at(length);
        frames.push((header[3], word(&header[5..]), payload.last_chunk::<4>().map_or(0, |last| word(last))));
        rest = after;
    }
    frames.split_off(3)
}

#[test]
fn requests_come_in_any_pieces() {
    let wire = [
        headers(1, &GET, true),
        headers(3, &ECHO, false),
        headers(5, &GET, false),
        data(3, b"abc", false),
        data(5, b"dropped", true),
        data(3, b"de", false),
        headers(3, &[("x-sum", "1")], true),
    ];
    for piece in [usize::MAX, 1, 2, 7, 30] {
        let played = play(Http2Config::default(), &wire, piece);
        assert_eq!(played.fault, None);
        let got: Vec<_> = played
            .requests
            .iter()
            .map(|(id, request)| (*id, request.head.route, &request.body[..]))
            .collect();
        let want: [(u32, Route, &[u8]); 3] =
            [(1, Route::Text, b""), (5, Route::Text, b""), (3, Route::Echo, b"abcde")];
        assert_eq!(got, want, "in pieces of {piece}");
        assert!(sent(&played).is_empty());
    }
}

#[test]
fn a_malformed_request_ends_its_stream_and_no_other() {
    let long = [ECHO[0], ECHO[1], ECHO[2], ECHO[3], ("content-length", "16777217")];
    let five = [ECHO[0], ECHO[1], ECHO[2], ECHO[3], ("content-length", "5")];
    for (wire, code) in [
        (vec![headers(1, &GET[1..], true)], Code::PROTOCOL_ERROR),
        (vec![headers(1, &long, false)], Code::ENHANCE_YOUR_CALM),
        (vec![headers(1, &five, true)], Code::PROTOCOL_ERROR),
        (vec![headers(1, &five, false), data(1, b"four", true)], Code::PROTOCOL_ERROR),
        (vec![headers(1, &five, false), data(1, b"sixsix", false)], Code::PROTOCOL_ERROR),
        (vec![headers(1, &ECHO, false), headers(1, &[("a", "b")], false)], Code::PROTOCOL_ERROR),
        (vec![headers(1, &ECHO, false), frame(kind::WINDOW_UPDATE, 0, 1, &[0; 4])], Code::PROTOCOL_ERROR),
    ] {
        let late = [data(1, b"late", false), headers(3, &GET, true)];
        let played = whole(&[wire.concat(), late.concat()]);
        assert_eq!(played.fault, None);
        assert_eq!(sent(&played), [(kind::RST_STREAM, 1, code.0)]);
        assert_eq!((played.gone, played.tally.requests_refused), (vec![1], 1));
        assert_eq!(played.requests.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3]);
    }
}

#[test]
fn what_breaks_the_connections_rules_ends_the_connection() {
    let get = headers(1, &GET, true);
    for (wire, code) in [
        (vec![headers(2, &GET, true)], Code::PROTOCOL_ERROR),
        (vec![data(1, b"x", true)], Code::PROTOCOL_ERROR),
        (vec![frame(kind::RST_STREAM, 0, 1, &[0; 4])], Code::PROTOCOL_ERROR),
        (vec![get.clone(), get.clone()], Code::STREAM_CLOSED),
        (vec![get.clone(), data(1, b"x", true)], Code::STREAM_CLOSED),
        (vec![frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4])], Code::PROTOCOL_ERROR),
        (vec![frame(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255])], Code::FLOW_CONTROL_ERROR),
        (vec![frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xbe])], Code::COMPRESSION_ERROR),
        (vec![frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2])], Code::PROTOCOL_ERROR),
    ] {
        let mut played = whole(&wire);
        let fault = played.fault.unwrap();
        assert_eq!(fault.code, code, "{}", fault.reason);
        played.http2.end(fault);
        assert_eq!(sent(&played).last().map(|frame| (frame.0, frame.2)), Some((kind::GOAWAY, code.0)));
        assert!(played.http2.streams.is_empty());
    }
}

#[test]
fn bodies_that_are_held_together_are_bounded() {
    let mut wire: Vec<Vec<u8>> = (0..3).map(|n| headers(n * 2 + 1, &ECHO, false)).collect();
    let frames = (BODY_BYTES_MAX as u32 / FRAME_MAX_BYTES) as usize;
    for stream in [1, 3, 5] {
        wire.push(data(stream, &[0; FRAME_MAX_BYTES as usize], false).repeat(frames));
    }
    let played = whole(&wire);
    assert_eq!(played.gone, [5]);
    assert_eq!(played.http2.bodies_bytes, BODIES_BYTES_MAX);
    let update = |frame: &&(u8, u32, u32)| frame.0 != kind::WINDOW_UPDATE;
    let others: Vec<_> = sent(&played).iter().filter(update).copied().collect();
    assert_eq!(others, [(kind::RST_STREAM, 5, Code::ENHANCE_YOUR_CALM.0)]);
}

/// Answers all requests at once; gives whether room was missing, and the DATA frames' streams and sizes. The client
/// refuses what does not begin with settings.
fn answered(
    played: &mut Played,
    client: &mut Reader,
    writer: &Writer,
    room: usize,
) -> (bool, Vec<(u32, usize)>) {
    let mut outbox = Outbox::default();
    for (stream, request) in played.requests.drain(..) {
        let content = Content::Of(request.head.route, request.body);
        let answer = Answer { content, is_head: request.head.is_head, persistence: Persistence::Keep };
        let account = Account::Uncounted;
        played.http2.respond(stream, answer, account, writer, &mut outbox, &mut played.tally);
    }
    let more = played.http2.pump(writer, &mut outbox, room);
    let (mut input, mut sizes) = (outbox.unsent(), Vec::new());
    loop {
        match client.next(&mut input).unwrap() {
            Piece::More => return (more, sizes),
            Piece::Data { frame, .. } => sizes.push((frame.stream, frame.length as usize)),
            Piece::Part(_) | Piece::Whole(..) => {}
        }
    }
}

#[test]
fn answers_keep_to_the_windows_and_to_the_room() {
    let (writer, client) = (Writer::new(Some(50_000), Written::default()), &mut Reader::default());
    let mut played = whole(&[headers(1, &GET, true), headers(3, &GET, true)]);
    let (more, sizes) = answered(&mut played, client, &writer, usize::MAX);
    let of = |sizes: &[(u32, usize)], stream| -> usize {
        sizes.iter().filter(|(id, _)| *id == stream).map(|(_, size)| size).sum()
    };
    assert!(!more, "the connection's window is used");
    assert_eq!(of(&sizes, 1) + of(&sizes, 3), 65_535);
    let update = frame(kind::WINDOW_UPDATE, 0, 0, &(1u32 << 20).to_be_bytes());
    let initial = frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 10]);
    for wire in [&update, &initial] {
        assert!(matches!(played.http2.take(&mut &wire[..], &mut played.tally), Ok(Event::Nothing)));
    }
    assert!(answered(&mut played, client, &writer, usize::MAX).1.is_empty(), "windows that are negative");
    let initial = frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]);
    assert!(matches!(played.http2.take(&mut &initial[..], &mut played.tally), Ok(Event::Nothing)));
    let (more, none) = answered(&mut played, client, &writer, 0);
    assert!(more && none.is_empty(), "no room");
    let (more, rest) = answered(&mut played, client, &writer, usize::MAX);
    assert!(!more && played.http2.streams.is_empty());
    assert_eq!(of(&sizes, 1) + of(&rest, 1), 50_000);
    assert_eq!(of(&sizes, 3) + of(&rest, 3), 50_000);
}

#[test]
fn arbitrary_bytes_do_not_panic_and_pieces_change_nothing() {
    use rand_chacha::rand_core::{Rng, SeedableRng};
    let seed = [
        headers(1, &GET, true),
        headers(3, &ECHO, false),
        data(3, b"abc", false),
        frame(kind::WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]),
        frame(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 10]),
        headers(5, &ECHO, false),
        frame(kind::RST_STREAM, 0, 5, &[0, 0, 0, 8]),
        data(3, b"de", true),
        frame(kind::PING, 0, 0, &[0; 8]),
    ]
    .concat();
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let writer = Writer::new(None, Written::default());
    for _ in 0..5000 {
        let mut bytes = seed.clone();
        for _ in 0..random.next_u32() % 6 {
            let at = random.next_u32() as usize % bytes.len();
            bytes[at] = random.next_u32() as u8;
        }
        let piece = 1 + random.next_u32() as usize % bytes.len();
        let mut one = whole(&[bytes.clone()]);
        let mut other = play(Http2Config::default(), &[bytes], piece);
        assert_eq!(one.requests, other.requests);
        assert_eq!((&one.gone, one.fault, one.tally), (&other.gone, other.fault, other.tally));
        assert_eq!(one.http2.out, other.http2.out);
        let sizes = answered(&mut one, &mut Reader::default(), &writer, usize::MAX);
        assert_eq!(answered(&mut other, &mut Reader::default(), &writer, usize::MAX), sizes);
    }
}
