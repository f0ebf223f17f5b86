//! What comes on a request's stream.

use super::*;

fn reason(said: &[Said]) -> &'static str {
    match said.last() {
        Some(Said::Failed(0, Failure::Malformed(reason))) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_response_is_its_head_its_body_and_its_end() {
    let mut c = asked(1);
    let wire = [headers(1, OK, false), data(1, b"hello ", false), data(1, b"world", true)].concat();
    let want = vec![Said::Head(0, 200), Said::Body(0, b"hello world".to_vec()), Said::End(0)];
    assert_eq!(take(&mut c, &wire), Ok(want));
    assert_eq!((c.permits(), answers(&mut c)), (1, vec![]));
}

#[test]
fn a_response_may_end_with_head_or_empty_frame_or_trailers() {
    let mut c = asked(3);
    let wire = [
        headers(1, &[(":status", "204")], true),
        headers(3, OK, false),
        data(3, b"", true),
        headers(5, OK, false),
        data(5, b"abc", false),
        headers(5, &[("grpc-status", "0")], true),
    ];
    let want = vec![
        Said::Head(0, 204),
        Said::End(0),
        Said::Head(1, 200),
        Said::End(1),
        Said::Head(2, 200),
        Said::Body(2, b"abc".to_vec()),
        Said::End(2),
    ];
    assert_eq!(take(&mut c, &wire.concat()), Ok(want));
}

#[test]
fn interim_responses_are_of_their_request_and_say_nothing() {
    let mut c = asked(1);
    let interim = headers(1, &[(":status", "100")], false);
    let hints = headers(1, &[(":status", "103"), ("link", "x")], false);
    let wire = [interim.clone(), hints].concat();
    let mut input = &wire[..];
    assert_eq!(c.take(&mut input), Ok(Step::Wire(Some(0))));
    assert_eq!(c.take(&mut input), Ok(Step::Wire(Some(0))));
    assert_eq!(c.take(&mut input), Ok(Step::More));
    assert_eq!(take(&mut c, &headers(1, OK, true)), Ok(vec![Said::Head(0, 200), Said::End(0)]));
    let mut c = asked(1);
    assert_eq!(take(&mut c, &interim.repeat(16)), Ok(vec![]));
    assert!(reason(&take(&mut c, &interim).unwrap()).contains("more than 16"));
}

#[test]
fn bytes_that_are_cut_within_a_frame_are_of_its_request() {
    let mut c = asked(2);
    let wire = [headers(3, OK, false), data(3, b"abc", true)].concat();
    let head = headers(3, OK, false).len();
    let mut steps = Vec::new();
    for piece in [&wire[..4], &wire[4..head - 1], &wire[head - 1..head + 9], &wire[head + 9..]] {
        let mut input = piece;
        loop {
            match c.take(&mut input).unwrap() {
                Step::More => break,
                step => steps.push(format!("{step:?}")),
            }
        }
    }
    let want = [
        "Wire(None)",
        "Wire(Some(1))",
        "Head { place: 1, status: 200 }",
        "Wire(Some(1))",
        "End { place: 1, status: None, bytes: [97, 98, 99] }",
    ];
    assert_eq!(steps, want);
}

#[test]
fn a_content_length_is_what_the_body_has() {
    let five: &[(&str, &str)] = &[(":status", "200"), ("content-length", "5")];
    let end = [Said::Head(0, 200), Said::Body(0, b"hello".to_vec()), Said::End(0)];
    for wire in [
        [headers(1, five, false), data(1, b"hel", false), data(1, b"lo", true)].concat(),
        [headers(1, five, false), data(1, b"hello", false), data(1, b"", true)].concat(),
        [headers(1, five, false), data(1, b"hello", false), headers(1, &[("a", "b")], true)].concat(),
    ] {
        assert_eq!(take(&mut asked(1), &wire).unwrap(), end);
    }
    for wire in [
        headers(1, five, true),
        [headers(1, five, false), data(1, b"hell", true)].concat(),
        [headers(1, five, false), data(1, b"", true)].concat(),
        [headers(1, five, false), data(1, b"hell", false), headers(1, &[("a", "b")], true)].concat(),
    ] {
        assert!(reason(&take(&mut asked(1), &wire).unwrap()).contains("shorter"));
    }
    let wire = [headers(1, five, false), data(1, b"hello!", false)].concat();
    assert!(reason(&take(&mut asked(1), &wire).unwrap()).contains("longer"));
}

#[test]
fn responses_to_head_and_of_204_or_304_have_no_body() {
    let requests = requests(b"");
    for (request, status) in [(1, "200"), (0, "204"), (0, "304")] {
        let fields = [(":status", status), ("content-length", "5")];
        let number = status.parse().unwrap();
        for (wire, ends) in [
            (headers(1, &fields, true), true),
            ([headers(1, &fields, false), data(1, b"", true)].concat(), true),
            ([headers(1, &fields, false), data(1, b"hello", true)].concat(), false),
        ] {
            let mut c = standing_with(1, &[], &requests);
            c.submit(0, request);
            sent(&mut c, &requests);
            let said = take(&mut c, &wire).unwrap();
            if ends {
                assert_eq!(said, [Said::Head(0, number), Said::End(0)]);
            } else {
                assert!(reason(&said).contains("longer"));
            }
        }
    }
}

#[test]
fn a_malformed_response_ends_its_stream_and_no_other() {
    let first = |wire: Vec<u8>| [wire, headers(3, OK, true)].concat();
    for (wire, said) in [
        (headers(1, &[("a", "b")], true), "no :status"),
        (headers(1, &[("a", "b")], false), "no :status"),
        (headers(1, &[(":status", "200"), ("A", "b")], true), "a name"),
        (headers(1, &[(":status", "101")], false), "101"),
        (headers(1, &[(":status", "103")], true), "interim"),
        (data(1, b"x", false), "before its head"),
        (data(1, b"", true), "before its head"),
        ([headers(1, OK, false), headers(1, OK, false)].concat(), "second head"),
        ([headers(1, OK, false), headers(1, OK, true)].concat(), "second head"),
        ([headers(1, OK, false), headers(1, &[("a", "b")], false)].concat(), "trailers"),
        ([headers(1, OK, false), headers(1, &[("a ", "b")], true)].concat(), "a name"),
    ] {
        let mut c = asked(2);
        let all = take(&mut c, &first(wire)).unwrap();
        let (other, own) = all.split_at(all.len() - 2);
        assert!(reason(other).contains(said), "{said}: {all:?}");
        assert_eq!(own, [Said::Head(1, 200), Said::End(1)], "{said}");
        let reset = Sent::word(kind::RST_STREAM, 1, Code::PROTOCOL_ERROR.0);
        assert_eq!(answers(&mut c), [reset], "{said}");
        assert_eq!(c.permits(), 2);
        // What the server still sends on it is nobody's.
        let late = [data(1, b"more", false), headers(1, &[("a", "b")], true)].concat();
        assert_eq!(take(&mut c, &late), Ok(vec![]));
    }
}

#[test]
fn a_reset_fails_its_request_by_its_code() {
    let mut c = asked(4);
    let wire = [
        reset(1, Code::REFUSED_STREAM),
        reset(3, Code::CANCEL),
        reset(5, Code::NO_ERROR),
        headers(7, OK, false),
        data(7, b"x", false),
        reset(7, Code(2)),
    ];
    let want = vec![
        Said::Failed(0, Failure::Refused),
        Said::Failed(1, Failure::Reset(Code::CANCEL)),
        Said::Failed(2, Failure::Reset(Code::NO_ERROR)),
        Said::Head(3, 200),
        Said::Body(3, b"x".to_vec()),
        Said::Failed(3, Failure::Reset(Code(2))),
    ];
    assert_eq!(take(&mut c, &wire.concat()), Ok(want));
    assert_eq!((c.permits(), answers(&mut c)), (4, vec![]), "nothing is sent back");
    assert_eq!(Code(2).name(), "INTERNAL_ERROR");
    assert_eq!(Code(14).name(), "unknown");
}

#[test]
fn a_reset_after_the_whole_response_changes_nothing() {
    let mut c = asked(1);
    let priority = frame(kind::PRIORITY, 0, 1, &[0; 5]);
    let wire = [headers(1, OK, true), reset(1, Code::NO_ERROR), window_update(1, 5), priority];
    assert_eq!(take(&mut c, &wire.concat()), Ok(vec![Said::Head(0, 200), Said::End(0)]));
}

#[test]
fn a_response_beyond_its_end_is_an_error_of_the_connection() {
    for more in [data(1, b"x", false), data(1, b"", true), headers(1, &[("a", "b")], true)] {
        let mut c = asked(1);
        take(&mut c, &headers(1, OK, true)).unwrap();
        assert_eq!(take(&mut c, &more).unwrap_err().code, Code::STREAM_CLOSED);
    }
}

#[test]
fn frames_on_an_unopened_stream_are_an_error_of_the_connection() {
    for stream in [2, 3, 4, 0x7fff_ffff] {
        for wire in [
            headers(stream, OK, true),
            data(stream, b"x", true),
            reset(stream, Code::CANCEL),
            window_update(stream, 1),
        ] {
            assert_eq!(take(&mut asked(1), &wire).unwrap_err().code, Code::PROTOCOL_ERROR);
        }
    }
}

#[test]
fn a_request_given_up_is_reset_and_its_late_frames_are_ignored() {
    let mut c = asked(2);
    assert_eq!(take(&mut c, &headers(1, OK, false)), Ok(vec![Said::Head(0, 200)]));
    c.cancel(0);
    c.cancel(0);
    assert_eq!(answers(&mut c), [Sent::word(kind::RST_STREAM, 1, Code::CANCEL.0)]);
    assert_eq!(c.permits(), 1);
    let before = c.received;
    let wire = [data(1, b"late", false), headers(1, &[("a", "b")], true), headers(3, OK, true)].concat();
    assert_eq!(take(&mut c, &wire), Ok(vec![Said::Head(1, 200), Said::End(1)]));
    assert_eq!(c.received, before + 4, "it counts against the connection's window");
}

#[test]
fn a_header_block_of_a_given_up_stream_still_changes_the_table() {
    let mut c = asked(2);
    c.cancel(0);
    let enters = frame(kind::HEADERS, flag::END_HEADERS, 1, &[0x48, 3, b'2', b'0', b'1']);
    assert_eq!(take(&mut c, &enters), Ok(vec![]));
    let named = frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 3, &[0xbe]);
    assert_eq!(take(&mut c, &named), Ok(vec![Said::Head(1, 201), Said::End(1)]));
}

#[test]
fn giving_up_between_pieces_of_a_frame_leaves_nothing_behind() {
    let mut c = asked(2);
    let wire = [headers(1, OK, true), headers(3, OK, false), data(3, b"abcdef", true)].concat();
    let (front, behind) = wire.split_at(wire.len() - 3);
    let mut input = front;
    assert_eq!(c.take(&mut input), Ok(Step::End { place: 0, status: Some(200), bytes: &[] }));
    c.cancel(0);
    assert_eq!(c.take(&mut input), Ok(Step::Head { place: 1, status: 200 }));
    assert_eq!(c.take(&mut input), Ok(Step::Body { place: 1, bytes: b"abc" }));
    c.cancel(1);
    assert_eq!(take(&mut c, behind), Ok(vec![]));
    assert_eq!(answers(&mut c), [Sent::word(kind::RST_STREAM, 3, Code::CANCEL.0)]);
    assert_eq!(c.permits(), 2);
}

#[test]
fn a_response_like_the_last_one_is_taken_at_once() {
    let fields = [(":status", "200"), ("content-length", "5")];
    let response = |stream| [headers(stream, &fields, false), data(stream, b"Hello", true)].concat();
    let mut c = asked(5);
    assert_eq!(c.take_fast(&mut &response(1)[..]), None, "there was none before");
    let nothing = [frame(kind::DATA, 0, 1, b""), 1u32.to_be_bytes().to_vec()].concat();
    assert_eq!(c.take_fast(&mut &nothing[..]), None, "nor one of zeros");
    take(&mut c, &[response(1), response(3)].concat()).unwrap();
    let third = response(5);
    for length in 0..third.len() {
        assert_eq!(c.take_fast(&mut &third[..length]), None, "{length} bytes");
    }
    for at in 0..third.len() - b"Hello".len() {
        let mut other = third.clone();
        other[at] ^= 1;
        assert_eq!(c.take_fast(&mut &other[..]), None, "another byte {at}");
    }
    assert_eq!(c.take_fast(&mut &response(7)[..]), None, "an older one is open");
    let both = [third, response(7)].concat();
    let mut input = both.as_slice();
    assert_eq!(c.take_fast(&mut input), Some((2, 200, &b"Hello"[..])));
    assert_eq!(c.take_fast(&mut input), Some((3, 200, &b"Hello"[..])));
    assert!(input.is_empty());
    // What stands in the table is not what it was.
    take(&mut c, &frame(kind::HEADERS, flag::END_HEADERS, 9, &[0x20, 0x08, 3, b'1', b'0', b'3'])).unwrap();
    assert_eq!(c.take_fast(&mut &response(9)[..]), None);
    c.open();
    assert_eq!(take(&mut c, &settings(&[])), Ok(vec![Said::Ready]));
    c.submit(0, 0);
    sent(&mut c, &requests(b""));
    assert_eq!(c.take_fast(&mut &response(1)[..]), None, "another connection");
}

#[test]
fn each_response_tells_its_bodys_coding() {
    let gzip = [(":status", "200"), ("content-encoding", "gzip"), ("content-length", "5")];
    let plain = [(":status", "200"), ("content-length", "5")];
    let response = |stream, fields: &[(&str, &str)]| {
        [headers(stream, fields, false), data(stream, b"Hello", true)].concat()
    };
    let mut c = asked(8);
    // The first of a kind is read, the second repeats its head, the third is taken at once.
    for place in 0..8u16 {
        let (fields, coding) =
            if place < 4 { (&gzip[..], Coding::Gzip) } else { (&plain[..], Coding::Identity) };
        take(&mut c, &response(u32::from(place) * 2 + 1, fields)).unwrap();
        assert_eq!(c.coding(place), coding, "{place}");
    }
}
