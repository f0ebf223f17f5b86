//! What goes out: the connection's beginning, requests, bodies within the windows.

use super::*;

fn fields(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, |name, value| fields.push((text(name), text(value)))).unwrap();
    fields
}

fn sizes(frames: &[Sent], stream: u32) -> Vec<usize> {
    let of = |frame: &&Sent| frame.kind == kind::DATA && frame.stream == stream;
    frames.iter().filter(of).map(|frame| frame.payload.len()).collect()
}

#[test]
fn a_connection_stands_once_the_servers_settings_have_come() {
    let requests = requests(b"");
    let mut c = Connection::new(10);
    assert_eq!(c.permits(), 0);
    let kinds: Vec<u8> = sent(&mut c, &requests).iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [kind::SETTINGS, kind::WINDOW_UPDATE]);
    // A request that was asked for too early waits.
    c.submit(0, 0);
    assert_eq!(sent(&mut c, &requests), Vec::<Sent>::new());
    assert_eq!(take(&mut c, &settings(&[(0x99, 5)])), Ok(vec![Said::Ready]));
    assert_eq!(c.permits(), 9);
    let frames = sent(&mut c, &requests);
    let kinds: Vec<(u8, u8)> = frames.iter().map(|frame| (frame.kind, frame.flags)).collect();
    let ends = flag::END_STREAM | flag::END_HEADERS;
    assert_eq!(kinds, [(kind::SETTINGS, flag::ACK), (kind::HEADERS, ends)]);
    // Its acknowledgement of ours is taken, and says nothing.
    assert_eq!(take(&mut c, &frame(kind::SETTINGS, flag::ACK, 0, &[])), Ok(vec![]));
    assert_eq!(answers(&mut c), Vec::<Sent>::new());
}

#[test]
fn requests_have_odd_ascending_ids_and_send_shared_fields_once() {
    let requests = requests(b"");
    let mut c = standing_with(4, &[], &requests);
    for (place, request) in [(3, 0), (0, 1), (2, 0)] {
        c.submit(place, request);
    }
    let frames = sent(&mut c, &requests);
    assert_eq!(frames.iter().map(|frame| frame.stream).collect::<Vec<_>>(), [1, 3, 5]);
    let mut decoder = Decoder::new();
    let mut want = Vec::new();
    for (method, path) in [("GET", "/a"), ("HEAD", "/b"), ("GET", "/a")] {
        let mut list = vec![
            (":method", method),
            (":path", path),
            (":scheme", "http"),
            (":authority", "h:8080"),
            ("user-agent", "prony"),
        ];
        if method == "HEAD" {
            list.push(("x-own", "1"));
        }
        want.push(list.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect::<Vec<_>>());
    }
    let got: Vec<_> = frames.iter().map(|frame| fields(&mut decoder, &frame.payload)).collect();
    assert_eq!(got, want);
    assert_eq!(decoder.changes(), 2, "the authority and the agent entered the table with the first");
    assert!(frames[2].payload.len() < frames[0].payload.len());
    // Their responses come in any order.
    let wire = [headers(5, OK, true), headers(1, OK, true)].concat();
    let want = vec![Said::Head(2, 200), Said::End(2), Said::Head(3, 200), Said::End(3)];
    assert_eq!(take(&mut c, &wire), Ok(want));
}

#[test]
fn a_smaller_table_is_obeyed_and_said_at_the_next_block() {
    let requests = requests(b"");
    let mut c = standing_with(100, &[(setting::HEADER_TABLE_SIZE, 0)], &requests);
    for place in 0..2 {
        c.submit(place, 0);
    }
    let frames = sent(&mut c, &requests);
    assert_eq!(frames[0].payload[..2], [0x20, 0x82], "a size update to 0, once");
    let mut decoder = Decoder::new();
    let first = fields(&mut decoder, &frames[0].payload);
    assert_eq!(fields(&mut decoder, &frames[1].payload), first);
    assert_eq!(decoder.changes(), 1, "nothing enters the table");
    // Raised again, it stays as it is: what a client makes of it is its own affair.
    take(&mut c, &settings(&[(setting::HEADER_TABLE_SIZE, 65_536)])).unwrap();
    c.submit(2, 0);
    let frames = sent(&mut c, &requests);
    assert_eq!(fields(&mut decoder, &frames[1].payload), first);
    assert_eq!(decoder.changes(), 1);
}

#[test]
fn a_table_that_becomes_smaller_is_filled_anew() {
    let requests = requests(b"");
    let mut c = standing_with(100, &[], &requests);
    let mut decoder = Decoder::new();
    c.submit(0, 0);
    let first = fields(&mut decoder, &sent(&mut c, &requests)[0].payload);
    take(&mut c, &settings(&[(setting::HEADER_TABLE_SIZE, 200)])).unwrap();
    for (place, changes) in [(1, 6), (2, 6)] {
        c.submit(place, 0);
        let frames = sent(&mut c, &requests);
        let block = &frames.last().unwrap().payload;
        assert_eq!(fields(&mut decoder, block), first);
        assert_eq!(decoder.changes(), changes, "two entries, two sizes, two entries");
    }
}

#[test]
fn the_first_byte_of_each_request_is_told_when_it_is_written() {
    let requests = requests(b"");
    let mut c = standing_with(3, &[], &requests);
    for place in [2, 0, 1] {
        c.submit(place, 0);
    }
    let (first, bytes) = c.outgoing(&requests);
    assert_eq!(first, Some(2));
    let total = bytes.len();
    let one = 9 + usize::from(bytes[2]);
    let two = one + 9 + usize::from(bytes[one + 2]);
    let mut begun = Vec::new();
    for (count, first, so_far) in
        [(0, Some(2), 0), (1, Some(0), 1), (one - 1, Some(0), 1), (two - one, Some(1), 2), (1, None, 3)]
    {
        c.wrote(count, |place| begun.push(place));
        assert_eq!((c.outgoing(&requests).0, begun.len()), (first, so_far));
    }
    c.wrote(total - two - 1, |_| panic!("no other begins"));
    assert_eq!(begun, [2, 0, 1]);
    assert!(c.outgoing(&requests).1.is_empty());
}

#[test]
fn a_request_given_up_before_it_was_written_is_told_no_more() {
    let requests = requests(b"");
    let mut c = standing_with(1, &[], &requests);
    c.submit(0, 0);
    c.cancel(0);
    assert!(c.outgoing(&requests).1.is_empty(), "it had no stream yet");
    c.submit(0, 0);
    assert_eq!(c.outgoing(&requests).0, Some(0));
    c.cancel(0);
    c.submit(0, 0);
    let (first, bytes) = c.outgoing(&requests);
    assert_eq!(first, Some(0));
    let frames = parse(bytes);
    let streams: Vec<(u8, u32)> = frames.iter().map(|frame| (frame.kind, frame.stream)).collect();
    assert_eq!(streams, [(kind::HEADERS, 1), (kind::RST_STREAM, 1), (kind::HEADERS, 3)]);
    let total = bytes.len();
    let mut begun = 0;
    c.wrote(total, |_| begun += 1);
    assert_eq!(begun, 1);
}

#[test]
fn a_body_waits_for_the_windows_of_stream_and_connection() {
    let body = vec![b'x'; 100_000];
    let requests = requests(&body);
    let mut c = standing_with(2, &[(setting::INITIAL_WINDOW_SIZE, 40_000)], &requests);
    c.submit(0, 0);
    c.submit(1, 0);
    let frames = sent(&mut c, &requests);
    // 65,535 for both together, 16,384 a frame, in turn.
    assert_eq!(sizes(&frames, 1), [16_384, 16_384]);
    assert_eq!(sizes(&frames, 3), [16_384, 16_383]);
    assert_eq!(c.flow_blocked(), 2);
    assert_eq!(take(&mut c, &window_update(0, 1 << 20)), Ok(vec![]));
    let frames = sent(&mut c, &requests);
    assert_eq!((sizes(&frames, 1), sizes(&frames, 3)), (vec![40_000 - 32_768], vec![40_000 - 32_767]));
    take(&mut c, &window_update(3, 60_000)).unwrap();
    let frames = sent(&mut c, &requests);
    assert_eq!(sizes(&frames, 3).iter().sum::<usize>(), 60_000);
    assert_eq!(frames.last().map(|frame| frame.flags), Some(flag::END_STREAM));
    assert_eq!(c.flow_blocked(), 1);
    take(&mut c, &window_update(1, 59_999)).unwrap();
    let frames = sent(&mut c, &requests);
    assert!(frames.iter().all(|frame| frame.flags == 0), "a byte is missing");
    take(&mut c, &window_update(1, 1)).unwrap();
    let last = Sent { kind: kind::DATA, flags: flag::END_STREAM, stream: 1, payload: b"x".to_vec() };
    assert_eq!(sent(&mut c, &requests), [last]);
    assert_eq!(c.flow_blocked(), 0);
}

#[test]
fn a_lowered_initial_window_can_put_open_streams_below_nothing() {
    let requests = requests(&[b'x'; 1_000]);
    let mut c = standing_with(2, &[(setting::INITIAL_WINDOW_SIZE, 600)], &requests);
    c.submit(0, 0);
    assert_eq!(sizes(&sent(&mut c, &requests), 1), [600]);
    take(&mut c, &settings(&[(setting::INITIAL_WINDOW_SIZE, 100)])).unwrap();
    assert_eq!(c.streams[0].window, -500);
    c.submit(1, 0);
    assert_eq!(sizes(&sent(&mut c, &requests), 3), [100], "a new stream has the new size");
    take(&mut c, &window_update(1, 500)).unwrap();
    assert_eq!(sent(&mut c, &requests), Vec::<Sent>::new());
    take(&mut c, &window_update(1, 10)).unwrap();
    assert_eq!(sizes(&sent(&mut c, &requests), 1), [10]);
    take(&mut c, &settings(&[(setting::INITIAL_WINDOW_SIZE, 5_000)])).unwrap();
    let frames = sent(&mut c, &requests);
    assert_eq!((sizes(&frames, 1), sizes(&frames, 3)), (vec![390], vec![900]));
}

#[test]
fn a_response_before_the_whole_request_ends_the_request() {
    let requests = requests(&[b'x'; 100_000]);
    let mut c = standing_with(2, &[], &requests);
    c.submit(0, 0);
    sent(&mut c, &requests);
    assert_eq!(c.flow_blocked(), 1);
    let wire = [headers(1, &[(":status", "413")], true), reset(1, Code::NO_ERROR)].concat();
    assert_eq!(take(&mut c, &wire), Ok(vec![Said::Head(0, 413), Said::End(0)]));
    assert_eq!(sent(&mut c, &requests), [Sent::word(kind::RST_STREAM, 1, Code::CANCEL.0)]);
    assert_eq!((c.flow_blocked(), c.permits()), (0, 2));
    take(&mut c, &window_update(0, 1 << 20)).unwrap();
    assert_eq!(sent(&mut c, &requests), Vec::<Sent>::new());
}

#[test]
fn unwritten_output_is_bounded_and_all_is_written_in_the_end() {
    let requests = requests(&[b'x'; 50_000]);
    let windows = [(setting::INITIAL_WINDOW_SIZE, 1 << 30)];
    let mut c = standing_with(100, &windows, &requests);
    take(&mut c, &window_update(0, 1 << 30)).unwrap();
    for place in 0..100 {
        c.submit(place, 0);
    }
    let mut all = Vec::new();
    loop {
        let bytes = c.outgoing(&requests).1;
        assert!(bytes.len() <= (64 << 10) + 9 + 16_384, "{}", bytes.len());
        if bytes.is_empty() {
            break;
        }
        let count = bytes.len().min(10_007);
        all.extend_from_slice(&bytes[..count]);
        c.wrote(count, |_| {});
        assert!(c.outgoing.bytes.capacity() <= 1 << 20, "{}", c.outgoing.bytes.capacity());
    }
    let frames = parse(&all);
    for stream in (1..200).step_by(2) {
        assert_eq!(sizes(&frames, stream).iter().sum::<usize>(), 50_000);
    }
    assert_eq!(frames.iter().filter(|frame| frame.flags == flag::END_STREAM).count(), 100);
}

#[test]
fn a_request_takes_no_memory_once_the_connection_stands() {
    let requests = requests(b"body");
    let mut c = standing_with(10, &[(setting::INITIAL_WINDOW_SIZE, 1 << 20)], &requests);
    let memory = |c: &Connection| {
        (c.outgoing.bytes.capacity(), c.open.capacity(), c.queue.capacity(), c.uploads.capacity())
    };
    let mut then = None;
    for round in 0..50_u32 {
        for place in 0..10 {
            c.submit(place, u32::from(place % 2));
        }
        sent(&mut c, &requests);
        for place in 0..10 {
            let stream = round * 20 + place * 2 + 1;
            let wire = [headers(stream, OK, false), data(stream, b"", true), window_update(0, 4)].concat();
            assert_eq!(take(&mut c, &wire).unwrap().len(), 2);
        }
        assert_eq!(memory(&c), *then.get_or_insert_with(|| memory(&c)), "round {round}");
    }
}
