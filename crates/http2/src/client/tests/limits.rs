//! What the server allows, ends or gets wrong, and what a hostile one may not do.

use super::*;
use crate::frame::FRAME_MAX_BYTES;

/// Whether it takes no more requests and has none.
fn is_drained(c: &Connection) -> bool {
    c.is_draining() && c.open.is_empty() && c.queue.is_empty()
}

#[test]
fn permits_are_what_was_asked_for_or_what_the_server_allows() {
    let requests = requests(b"");
    let limit = |streams| settings(&[(setting::MAX_CONCURRENT_STREAMS, streams)]);
    let mut c = standing_with(10, &[(setting::MAX_CONCURRENT_STREAMS, 4)], &requests);
    assert_eq!((c.streams(), c.permits()), (4, 4));
    for place in 0..4 {
        c.submit(place, 0);
    }
    assert_eq!(c.permits(), 0);
    sent(&mut c, &requests);
    take(&mut c, &limit(1)).unwrap();
    assert_eq!((c.streams(), c.permits()), (1, -3), "those that are open go on");
    take(&mut c, &[headers(1, OK, true), headers(3, OK, true), headers(5, OK, true)].concat()).unwrap();
    assert_eq!(c.permits(), 0);
    take(&mut c, &limit(u32::MAX)).unwrap();
    assert_eq!((c.streams(), c.permits()), (10, 9));
}

#[test]
fn a_request_over_a_lowered_limit_waits_for_a_stream() {
    let requests = requests(b"");
    let mut c = standing_with(2, &[], &requests);
    c.submit(0, 0);
    c.submit(1, 0);
    take(&mut c, &settings(&[(setting::MAX_CONCURRENT_STREAMS, 1)])).unwrap();
    assert_eq!(
        sent(&mut c, &requests).last().map(|frame| (frame.kind, frame.stream)),
        Some((kind::HEADERS, 1))
    );
    assert_eq!(sent(&mut c, &requests), Vec::<Sent>::new());
    take(&mut c, &headers(1, OK, true)).unwrap();
    assert_eq!(
        sent(&mut c, &requests).last().map(|frame| (frame.kind, frame.stream)),
        Some((kind::HEADERS, 3))
    );
}

#[test]
fn a_connection_is_exhausted_by_2_to_the_30_streams() {
    let requests = requests(b"");
    let mut c = standing_with(10, &[], &requests);
    c.next_id = ID_LAST - 4;
    assert_eq!(c.permits(), 3);
    for place in 0..4 {
        c.submit(place, 0);
    }
    assert_eq!(c.permits(), -1);
    let ids: Vec<u32> = sent(&mut c, &requests).iter().map(|frame| frame.stream).collect();
    assert_eq!(ids, [ID_LAST - 4, ID_LAST - 2, ID_LAST]);
    assert_eq!(c.permits(), 0);
    assert_eq!(take(&mut c, &[]), Ok(vec![Said::Draining(Code::NO_ERROR), Said::Moved(3)]));
    let wire = [headers(ID_LAST - 4, OK, true), headers(ID_LAST, OK, true), headers(ID_LAST - 2, OK, true)];
    assert!(!is_drained(&c));
    assert_eq!(take(&mut c, &wire.concat()).unwrap().len(), 6);
    assert!(is_drained(&c));
}

#[test]
fn goaway_leaves_what_the_server_processes_and_moves_the_rest() {
    let requests = requests(b"");
    let mut c = standing_with(5, &[], &requests);
    for place in 0..3 {
        c.submit(place, 0);
    }
    sent(&mut c, &requests);
    c.submit(3, 0);
    let wire = goaway(3, Code::NO_ERROR);
    let want = vec![Said::Draining(Code::NO_ERROR), Said::Moved(3), Said::Moved(2)];
    assert_eq!(take(&mut c, &wire), Ok(want));
    assert_eq!((c.permits(), is_drained(&c)), (0, false));
    // What the server sends on a stream that it did not count is ignored.
    assert_eq!(take(&mut c, &headers(5, OK, true)), Ok(vec![]));
    assert_eq!(take(&mut c, &headers(3, OK, true)), Ok(vec![Said::Head(1, 200), Said::End(1)]));
    // A second one names fewer, and never more.
    assert_eq!(take(&mut c, &goaway(0x7fff_ffff, Code::NO_ERROR)), Ok(vec![]));
    assert_eq!(take(&mut c, &goaway(0, Code::ENHANCE_YOUR_CALM)), Ok(vec![Said::Moved(0)]));
    assert!(is_drained(&c));
    assert_eq!(answers(&mut c), Vec::<Sent>::new());
    assert_eq!(c.ended(), Step::More);
}

#[test]
fn a_graceful_end_is_announced_before_it_is_drawn() {
    let mut c = asked(2);
    let want = vec![Said::Draining(Code::NO_ERROR)];
    assert_eq!(take(&mut c, &goaway(0x7fff_ffff, Code::NO_ERROR)), Ok(want));
    assert_eq!(take(&mut c, &goaway(1, Code::NO_ERROR)), Ok(vec![Said::Moved(1)]));
}

#[test]
fn an_upload_goes_on_while_the_connection_drains() {
    let requests = requests(&[b'x'; 70_000]);
    let mut c = standing_with(1, &[], &requests);
    c.submit(0, 0);
    sent(&mut c, &requests);
    let wire = [goaway(1, Code::NO_ERROR), window_update(0, 9_000), window_update(1, 9_000)];
    take(&mut c, &wire.concat()).unwrap();
    let rest = sent(&mut c, &requests);
    assert_eq!(rest.iter().map(|frame| frame.payload.len()).sum::<usize>(), 70_000 - 65_535);
}

#[test]
fn ping_and_settings_are_answered_at_once_and_answers_are_not() {
    let mut c = asked(1);
    let wire = [
        frame(kind::PING, 0, 0, b"abcdefgh"),
        frame(kind::PING, flag::ACK, 0, b"12345678"),
        settings(&[]),
        frame(kind::SETTINGS, flag::ACK, 0, &[]),
        frame(kind::PRIORITY, 0, 1, &[0; 5]),
        frame(0x77, 0xff, 1, b"unknown"),
    ];
    assert_eq!(take(&mut c, &wire.concat()), Ok(vec![]));
    let ping = Sent { kind: kind::PING, flags: flag::ACK, stream: 0, payload: b"abcdefgh".to_vec() };
    let settings = Sent { kind: kind::SETTINGS, flags: flag::ACK, stream: 0, payload: vec![] };
    assert_eq!(answers(&mut c), [ping, settings]);
}

#[test]
fn a_server_that_never_reads_its_answers_is_left() {
    let mut c = asked(1);
    let pings = frame(kind::PING, 0, 0, &[0; 8]).repeat(10_000);
    assert_eq!(take(&mut c, &pings), Ok(vec![]));
    let fault = take(&mut c, &settings(&[])).unwrap_err();
    assert_eq!(fault.code, Code::ENHANCE_YOUR_CALM);
    assert!(c.outgoing.bytes.len() < 200_000);
    // One that does may go on for ever.
    let mut c = asked(1);
    for _ in 0..5 {
        assert_eq!(take(&mut c, &pings), Ok(vec![]));
        assert_eq!(answers(&mut c).len(), 10_000);
    }
}

#[test]
fn a_flood_of_empty_frames_is_bounded_and_small_ones_are_not() {
    let mut c = asked(1);
    take(&mut c, &headers(1, OK, false)).unwrap();
    assert_eq!(take(&mut c, &data(1, b"", false).repeat(1_000)), Ok(vec![]));
    assert_eq!(take(&mut c, &data(1, b"", false)).unwrap_err().code, Code::ENHANCE_YOUR_CALM);
    let mut c = asked(1);
    take(&mut c, &headers(1, OK, false)).unwrap();
    let padding = frame(kind::DATA, flag::PADDED, 1, &[3, 0, 0, 0]);
    assert_eq!(take(&mut c, &padding.repeat(1_001)).unwrap_err().code, Code::ENHANCE_YOUR_CALM);
    let mut c = asked(1);
    take(&mut c, &headers(1, OK, false)).unwrap();
    let small = [data(1, b"x", false), data(1, b"", false)].concat();
    assert_eq!(take(&mut c, &small.repeat(5_000)), Ok(vec![Said::Body(0, vec![b'x'; 5_000])]));
}

#[test]
fn windows_are_given_back_when_half_used_padding_included() {
    let (mut c, requests) = (asked(1), requests(b""));
    take(&mut c, &headers(1, OK, false)).unwrap();
    let payload = [&[255][..], &[b'x'; 16_128][..], &[0; 255][..]].concat();
    let one = frame(kind::DATA, flag::PADDED, 1, &payload);
    assert_eq!(one.len(), 9 + FRAME_MAX_BYTES as usize);
    let mut updates = Vec::new();
    for _ in 0..40_000 {
        let mut input = &one[..];
        while c.take(&mut input).unwrap() != Step::More {}
        updates.extend(sent(&mut c, &requests));
    }
    let half = (WINDOW_BYTES / 2).div_ceil(FRAME_MAX_BYTES) * FRAME_MAX_BYTES;
    let want = [Sent::word(kind::WINDOW_UPDATE, 0, half), Sent::word(kind::WINDOW_UPDATE, 1, half)];
    assert_eq!(updates, want, "for 625 MiB, one for the connection and one for the stream");
}

#[test]
fn windows_of_the_server_have_their_bounds() {
    let requests = requests(&[b'x'; 70_000]);
    let upload = |wire: &[Vec<u8>]| {
        let mut c = standing_with(1, &[], &requests);
        c.submit(0, 0);
        sent(&mut c, &requests);
        (take(&mut c, &wire.concat()), c)
    };
    let code = |wire: &[Vec<u8>]| upload(wire).0.map_err(|fault| fault.code);
    assert_eq!(code(&[window_update(0, 0x7fff_ffff)]), Ok(vec![]));
    assert_eq!(code(&[window_update(0, 0x7fff_ffff), window_update(0, 1)]), Err(Code::FLOW_CONTROL_ERROR));
    assert_eq!(code(&[window_update(0, 0)]), Err(Code::PROTOCOL_ERROR));
    let failed = |wire: &[Vec<u8>], code: Code| {
        let (said, mut c) = upload(wire);
        assert!(matches!(said.unwrap()[..], [Said::Failed(0, Failure::Malformed(_))]));
        assert_eq!(sent(&mut c, &requests), [Sent::word(kind::RST_STREAM, 1, code.0)]);
    };
    failed(&[window_update(1, 0x7fff_ffff), window_update(1, 1)], Code::FLOW_CONTROL_ERROR);
    failed(&[window_update(1, 0)], Code::PROTOCOL_ERROR);
    let initial = |bytes| settings(&[(setting::INITIAL_WINDOW_SIZE, bytes)]);
    // What was 65,535 and is 0 now is 2^31 - 1, and then one too many.
    assert_eq!(code(&[window_update(1, 0x7fff_ffff), initial(65_535)]), Ok(vec![]));
    assert_eq!(code(&[window_update(1, 0x7fff_ffff), initial(65_536)]), Err(Code::FLOW_CONTROL_ERROR));
    assert_eq!(code(&[initial(1 << 31)]), Err(Code::FLOW_CONTROL_ERROR));
}

#[test]
fn a_fault_tells_the_server_its_code_and_is_final() {
    let cases: [(Vec<u8>, Code); 6] = [
        (frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2, 0x82]), Code::PROTOCOL_ERROR),
        (frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xbe]), Code::COMPRESSION_ERROR),
        (frame(kind::PING, 0, 0, b"short"), Code::FRAME_SIZE_ERROR),
        (settings(&[(setting::ENABLE_PUSH, 1)]), Code::PROTOCOL_ERROR),
        (settings(&[(setting::MAX_FRAME_SIZE, 0)]), Code::PROTOCOL_ERROR),
        (frame(kind::CONTINUATION, 0, 1, b""), Code::PROTOCOL_ERROR),
    ];
    for (wire, code) in cases {
        let mut c = asked(2);
        let fault = take(&mut c, &wire).unwrap_err();
        assert_eq!(fault.code, code);
        assert_eq!(take(&mut c, &headers(1, OK, true)), Err(fault));
        assert_eq!(c.permits(), 0);
        let payload = [[0; 4], code.0.to_be_bytes()].concat();
        let last = answers(&mut c).pop();
        assert_eq!(last, Some(Sent { kind: kind::GOAWAY, flags: 0, stream: 0, payload }));
        for place in [1, 0] {
            assert_eq!(c.ended(), Step::Failed { place, failure: Failure::Closed });
        }
        assert_eq!(c.ended(), Step::More);
    }
}

#[test]
fn a_connections_end_fails_what_was_sent_and_moves_the_rest() {
    let requests = requests(b"");
    let mut c = standing_with(4, &[], &requests);
    c.submit(0, 0);
    sent(&mut c, &requests);
    c.submit(1, 0);
    c.submit(2, 0);
    let length = c.outgoing(&requests).1.len();
    // One byte of the first of them was written.
    c.wrote(1, |_| {});
    assert!(length > 1);
    c.submit(3, 0);
    assert_eq!(c.ended(), Step::Moved(3));
    assert_eq!(c.ended(), Step::Moved(2));
    assert_eq!(c.ended(), Step::Failed { place: 1, failure: Failure::Closed });
    assert_eq!(c.ended(), Step::Failed { place: 0, failure: Failure::Closed });
    assert_eq!(c.ended(), Step::More);
    // The next connection begins from nothing.
    c.open();
    assert_eq!(c.permits(), 0);
    assert_eq!(take(&mut c, &settings(&[])), Ok(vec![Said::Ready]));
    c.submit(0, 0);
    let frames = sent(&mut c, &requests);
    let kinds: Vec<u8> = frames.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::WINDOW_UPDATE, kind::SETTINGS, kind::HEADERS]);
    assert_eq!((frames[3].stream, c.permits()), (1, 3));
}
