//! Servers by chance: well-formed ones are understood, hostile ones are survived, and no window is exceeded.

use super::*;
use proptest::prelude::*;

/// A response as a server may send it.
#[derive(Debug, Clone)]
struct Response {
    interims: usize,
    status: u16,
    says_length: bool,
    /// Pieces of the body, and how much padding each has.
    body: Vec<(Vec<u8>, Option<u8>)>,
    trailers: bool,
    /// Whether an empty frame ends it, where no trailers do.
    empty_end: bool,
    /// Whether its head goes in several frames.
    continued: bool,
}

fn response() -> impl Strategy<Value = Response> {
    let piece = (proptest::collection::vec(any::<u8>(), 0..50), proptest::option::of(0u8..9));
    (
        0usize..3,
        prop_oneof![Just(200u16), Just(404u16), Just(500u16), 200u16..600],
        any::<bool>(),
        proptest::collection::vec(piece, 0..4),
        any::<(bool, bool, bool)>(),
    )
        .prop_map(|(interims, status, says_length, body, (trailers, empty_end, continued))| {
            let bodiless = status == 204 || status == 304;
            let body = if bodiless { Vec::new() } else { body };
            Response { interims, status, says_length, body, trailers, empty_end, continued }
        })
}

impl Response {
    fn whole_body(&self) -> Vec<u8> {
        self.body.iter().flat_map(|(bytes, _)| bytes.clone()).collect()
    }

    /// Its frames, of which each may have others between itself and the next.
    fn frames(&self, stream: u32) -> Vec<Vec<u8>> {
        let mut frames = vec![headers(stream, &[(":status", "103"), ("link", "</a>")], false); self.interims];
        let (status, length) = (self.status.to_string(), self.whole_body().len().to_string());
        let mut fields = vec![(":status", status.as_str()), ("server", "chance")];
        if self.says_length {
            fields.push(("content-length", length.as_str()));
        }
        let ends = self.body.is_empty() && !self.trailers && !self.empty_end;
        let mut head = headers(stream, &fields, ends);
        if self.continued {
            // The block's last three bytes in a frame of their own, behind an empty one.
            let tail = head.split_off(head.len() - 3);
            head[2] -= 3;
            head[4] &= !flag::END_HEADERS;
            head.extend(frame(kind::CONTINUATION, 0, stream, b""));
            head.extend(frame(kind::CONTINUATION, flag::END_HEADERS, stream, &tail));
        }
        frames.push(head);
        for (at, (bytes, padding)) in self.body.iter().enumerate() {
            let last = at + 1 == self.body.len() && !self.trailers && !self.empty_end;
            let end = if last { flag::END_STREAM } else { 0 };
            frames.push(match padding {
                None => frame(kind::DATA, end, stream, bytes),
                Some(padding) => {
                    let zeros = vec![0; usize::from(*padding)];
                    let payload = [&[*padding][..], &bytes[..], &zeros[..]].concat();
                    frame(kind::DATA, end | flag::PADDED, stream, &payload)
                }
            });
        }
        if self.trailers {
            frames.push(headers(stream, &[("grpc-status", "0")], true));
        } else if self.empty_end {
            frames.push(data(stream, b"", true));
        }
        frames
    }
}

/// The streams' frames in an order by chance, each stream's own kept, and frames of the connection between them.
fn mixed(responses: &[Response], order: &[usize]) -> Vec<u8> {
    let mut streams: Vec<_> =
        responses.iter().enumerate().map(|(at, one)| one.frames(at as u32 * 2 + 1).into_iter()).collect();
    let mut wire = Vec::new();
    for chosen in order.iter().copied().chain(0..).take(10_000) {
        match chosen % 16 {
            13 => wire.extend(frame(kind::PING, 0, 0, &[7; 8])),
            14 => wire.extend(window_update(0, 9)),
            15 => wire.extend(frame(0x42, 0, 1, b"unknown")),
            _ => {}
        }
        let at = chosen % streams.len();
        match streams[at].next() {
            Some(frame) => wire.extend(frame),
            None if streams.iter().all(|rest| rest.as_slice().is_empty()) => break,
            None => {}
        }
    }
    wire
}

/// What a place's steps were, its body in one piece.
fn of_place(said: &[Said], place: StreamPlace) -> Vec<Said> {
    let mut own: Vec<Said> = Vec::new();
    for one in said {
        match (one, own.last_mut()) {
            (Said::Body(at, more), Some(Said::Body(_, all))) if *at == place => all.extend_from_slice(more),
            (Said::Head(at, _) | Said::Body(at, _) | Said::Failed(at, _), _) if *at == place => {
                own.push(one.clone());
            }
            (Said::End(at) | Said::Moved(at), _) if *at == place => own.push(one.clone()),
            _ => {}
        }
    }
    own
}

fn in_pieces(c: &mut Connection, wire: &[u8], cuts: &[usize]) -> (Vec<Said>, Option<Fault>) {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(wire.len())).collect();
    cuts.extend([0, wire.len()]);
    cuts.sort_unstable();
    let mut all = Vec::new();
    for piece in cuts.windows(2).map(|w| &wire[w[0]..w[1]]) {
        let mut input = piece;
        loop {
            // One step at a time, so that what was said before a fault is kept.
            match c.take(&mut input) {
                Ok(Step::More) => break,
                Err(fault) => return (all, Some(fault)),
                Ok(step) => all.extend(said_by(step)),
            }
        }
    }
    (all, None)
}

/// Frames that are likely to matter, on few streams, well-formed or not.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let payload = proptest::collection::vec(any::<u8>(), 0..30);
    let one = prop_oneof![
        4 => (0u32..10, prop_oneof![Just("200"), Just("204"), Just("100"), Just("2")], any::<bool>()).prop_map(
            |(stream, status, ends)| headers(stream, &[(":status", status), ("content-length", "3")], ends)
        ),
        4 => (0u32..10, payload.clone(), any::<bool>())
            .prop_map(|(stream, bytes, ends)| data(stream, &bytes, ends)),
        1 => (0u32..10, any::<u32>()).prop_map(|(stream, code)| reset(stream, Code(code % 14))),
        1 => (0u32..10, any::<u32>()).prop_map(|(stream, bytes)| window_update(stream, bytes)),
        1 => (0u32..10).prop_map(|last| goaway(last, Code::NO_ERROR)),
        1 => (0u16..8, any::<u32>()).prop_map(|(id, value)| settings(&[(id, value)])),
        1 => (0u16..8, 0u32..100_000).prop_map(|(id, value)| settings(&[(id, value)])),
        1 => (1u32..10, payload.clone())
            .prop_map(|(stream, block)| frame(kind::HEADERS, flag::END_HEADERS, stream, &block)),
        1 => (0u8..12, any::<u8>(), 0u32..10, payload)
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload)),
    ];
    proptest::collection::vec(one, 0..30).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn a_well_formed_server_is_understood_in_any_order_and_pieces(
        responses in proptest::collection::vec(response(), 1..6),
        order in proptest::collection::vec(0usize..1_000, 0..60),
        cuts in proptest::collection::vec(0usize..2_000, 0..30),
    ) {
        let mut c = asked(responses.len() as StreamPlace);
        let (said, fault) = in_pieces(&mut c, &mixed(&responses, &order), &cuts);
        prop_assert_eq!(fault, None);
        for (at, response) in responses.iter().enumerate() {
            let place = at as StreamPlace;
            let mut want = vec![Said::Head(place, response.status)];
            let body = response.whole_body();
            if !body.is_empty() {
                want.push(Said::Body(place, body));
            }
            want.push(Said::End(place));
            prop_assert_eq!(of_place(&said, place), want);
        }
        prop_assert_eq!(c.permits(), responses.len() as i32);
    }

    #[test]
    fn any_split_of_any_bytes_is_the_same_steps(
        wire in hostile(), cuts in proptest::collection::vec(0usize..1_500, 0..30), body in 0usize..2,
    ) {
        let requests = requests(&[b'x'; 3_000][..body * 3_000]);
        let connection = || {
            let mut c = standing_with(4, &[(setting::INITIAL_WINDOW_SIZE, 1_000)], &requests);
            (0..4).for_each(|place| c.submit(place, u32::from(place % 2)));
            sent(&mut c, &requests);
            c
        };
        let (mut whole, mut cut, mut bytewise) = (connection(), connection(), connection());
        let (said, fault) = in_pieces(&mut whole, &wire, &[]);
        let said = joined(said);
        let (said_cut, fault_cut) = in_pieces(&mut cut, &wire, &cuts);
        prop_assert_eq!((joined(said_cut), fault_cut), (said.clone(), fault));
        let every: Vec<usize> = (0..wire.len()).collect();
        let (said_bytewise, fault_bytewise) = in_pieces(&mut bytewise, &wire, &every);
        prop_assert_eq!((joined(said_bytewise), fault_bytewise), (said, fault));
        let outgoing = sent(&mut whole, &requests);
        prop_assert_eq!(&sent(&mut cut, &requests), &outgoing);
        prop_assert_eq!(&sent(&mut bytewise, &requests), &outgoing);
    }

    /// Responses that are alike are taken another way than others: that decides nothing.
    #[test]
    fn a_response_nearly_like_the_last_one_means_what_it_says(
        swaps in proptest::collection::vec((0usize..8, 0usize..8), 0..3),
        heads in prop_oneof![3 => Just(0u8), 1 => any::<u8>()],
        wrong in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let requests = requests(b"");
        let connection = || {
            let mut c = standing_with(8, &[], &requests);
            (0..8).for_each(|place| c.submit(place, u32::from(heads >> place & 1)));
            sent(&mut c, &requests);
            c
        };
        let fields = [(":status", "200"), ("content-length", "5")];
        let response = |stream| [headers(stream, &fields, false), data(stream, b"Hello", true)].concat();
        let mut streams: Vec<u32> = (1..16).step_by(2).collect();
        swaps.iter().for_each(|(a, b)| streams.swap(*a, *b));
        let mut wire: Vec<u8> = streams.into_iter().flat_map(response).collect();
        for (at, byte) in wrong {
            let at = at.index(wire.len());
            wire[at] = byte;
        }
        let (mut whole, mut bytewise) = (connection(), connection());
        let (said, fault) = in_pieces(&mut whole, &wire, &[]);
        let every: Vec<usize> = (0..wire.len()).collect();
        let (said_bytewise, fault_bytewise) = in_pieces(&mut bytewise, &wire, &every);
        prop_assert_eq!((joined(said_bytewise), fault_bytewise), (joined(said), fault));
        prop_assert_eq!(&sent(&mut bytewise, &requests), &sent(&mut whole, &requests));
    }

    #[test]
    fn each_request_ends_exactly_once_whatever_the_server_does(wire in hostile(), kept in 0usize..3) {
        let requests = requests(b"");
        let mut c = standing_with(4, &[], &requests);
        (0..4).for_each(|place| c.submit(place, 0));
        if kept > 0 {
            c.outgoing(&requests);
            c.wrote(kept * 20, |_| {});
        }
        let (said, _) = in_pieces(&mut c, &wire, &[]);
        let mut ends = [0; 4];
        for one in &said {
            if let Said::End(place) | Said::Failed(place, _) | Said::Moved(place) = one {
                ends[usize::from(*place)] += 1;
            }
        }
        loop {
            match c.ended() {
                Step::End { place, .. } | Step::Failed { place, .. } | Step::Moved(place) => {
                    ends[usize::from(place)] += 1;
                }
                Step::More => break,
                Step::Draining(_) => {}
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!(ends, [1; 4]);
    }

    #[test]
    fn no_bytes_make_a_connection_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        in_pieces(&mut Connection::new(1), &bytes, &[]);
        let mut c = asked(3);
        in_pieces(&mut c, &bytes, &[]);
        prop_assert!(answers(&mut c).len() <= 1 + bytes.len() / 9);
    }

    #[test]
    fn no_window_is_exceeded_and_none_is_left_unused(
        first in 0u32..40_000,
        body in 1usize..60_000,
        moves in proptest::collection::vec((0u8..6, 0u32..30_000), 0..40),
    ) {
        let body: Vec<u8> = (0..body).map(|n| n as u8).collect();
        let requests = requests(&body);
        let mut c = standing_with(3, &[(setting::INITIAL_WINDOW_SIZE, first)], &requests);
        (0..3).for_each(|place| c.submit(place, 0));
        // The windows as the server counts them, for the connection (0) and each stream, and what came.
        let mut initial = i64::from(first);
        let (mut connection, mut windows) = (65_535_i64, [initial; 3]);
        let mut got = [Vec::new(), Vec::new(), Vec::new()];
        let last = [(4, 1 << 30), (0, 1 << 30)];
        for (kind, bytes) in moves.into_iter().chain(last) {
            for frame in sent(&mut c, &requests) {
                if frame.kind == kind::DATA {
                    let at = (frame.stream / 2) as usize;
                    connection -= frame.payload.len() as i64;
                    windows[at] -= frame.payload.len() as i64;
                    got[at].extend(frame.payload);
                    prop_assert!(connection >= 0 && windows[at] >= 0);
                    prop_assert_eq!(frame.flags == flag::END_STREAM, got[at].len() == body.len());
                }
            }
            for (window, got) in windows.iter().zip(&got) {
                prop_assert!(connection <= 0 || *window <= 0 || got.len() == body.len(), "one could go on");
            }
            let bytes = bytes.max(1);
            let wire = match kind {
                0 => {
                    connection += i64::from(bytes);
                    window_update(0, bytes)
                }
                1..=3 => {
                    windows[usize::from(kind - 1)] += i64::from(bytes);
                    window_update(u32::from(kind) * 2 - 1, bytes)
                }
                _ => {
                    windows.iter_mut().for_each(|window| *window += i64::from(bytes) - initial);
                    initial = i64::from(bytes);
                    settings(&[(setting::INITIAL_WINDOW_SIZE, bytes)])
                }
            };
            prop_assert_eq!(take(&mut c, &wire), Ok(vec![]));
        }
        for frame in sent(&mut c, &requests) {
            if frame.kind == kind::DATA {
                got[(frame.stream / 2) as usize].extend(frame.payload);
            }
        }
        prop_assert!(got.iter().all(|one| *one == body));
    }
}
