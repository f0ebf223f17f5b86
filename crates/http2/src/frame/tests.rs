use super::*;
use proptest::prelude::*;

/// What a reader makes of a connection's bytes: DATA and other frames put together again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Read {
    Data { stream: u32, length: u32, flags: u8, bytes: Vec<u8> },
    Whole(Header, Vec<u8>),
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::header(&mut out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
    out
}

/// The server's first frame.
fn settings() -> Vec<u8> {
    frame(kind::SETTINGS, 0, 0, &[])
}

/// Reads pieces to their end; what was read before a fault counts.
fn read(reader: &mut Reader, pieces: &[&[u8]]) -> (Vec<Read>, Option<Fault>) {
    let mut found = Vec::new();
    let mut open: Option<Read> = None;
    for piece in pieces {
        let mut input = *piece;
        loop {
            match reader.next(&mut input) {
                Err(fault) => return (found, Some(fault)),
                Ok(Piece::More) => break,
                Ok(Piece::Part(_)) => {}
                Ok(Piece::Whole(header, payload)) => found.push(Read::Whole(header, payload.to_vec())),
                Ok(Piece::Data { frame, first, bytes, last }) => {
                    let begins = open.is_none();
                    assert_eq!(first.is_some(), begins);
                    let begun = Read::Data {
                        stream: frame.stream,
                        length: frame.length,
                        flags: frame.flags,
                        bytes: Vec::new(),
                    };
                    let mut data = open.take().unwrap_or(begun);
                    if let Read::Data { bytes: all, .. } = &mut data {
                        all.extend_from_slice(bytes);
                    }
                    if last {
                        found.push(data);
                    } else {
                        open = Some(data);
                    }
                }
            }
        }
    }
    (found, None)
}

/// The fault of these frames behind the server's settings.
fn fault(frames: &[Vec<u8>]) -> Fault {
    let wire = [settings(), frames.concat()].concat();
    read(&mut Reader::default(), &[&wire]).1.unwrap()
}

#[test]
fn each_type_has_its_stream() {
    for kind in [kind::DATA, kind::HEADERS, kind::PRIORITY, kind::RST_STREAM] {
        let fault = fault(&[frame(kind, flag::END_HEADERS, 0, &[0; 8])]);
        assert_eq!(fault.code, Code::PROTOCOL_ERROR, "{kind}");
        assert!(fault.reason.contains("belongs to a stream"), "{kind}");
    }
    for kind in [kind::SETTINGS, kind::PING, kind::GOAWAY] {
        let fault = fault(&[frame(kind, 0, 1, &[0; 8])]);
        assert_eq!(fault.code, Code::PROTOCOL_ERROR, "{kind}");
        assert!(fault.reason.contains("belongs to the connection"), "{kind}");
    }
}

#[test]
fn each_type_has_its_length() {
    let cases: [(u8, u8, u32, &[usize]); 11] = [
        (kind::PRIORITY, 0, 1, &[0, 4, 6]),
        (kind::RST_STREAM, 0, 1, &[0, 3, 5]),
        (kind::WINDOW_UPDATE, 0, 1, &[0, 3, 5]),
        (kind::WINDOW_UPDATE, 0, 0, &[0, 3, 5]),
        (kind::PING, 0, 0, &[0, 7, 9]),
        (kind::GOAWAY, 0, 0, &[0, 7]),
        (kind::SETTINGS, 0, 0, &[1, 5, 7]),
        (kind::SETTINGS, flag::ACK, 0, &[1, 6]),
        (kind::DATA, flag::PADDED, 1, &[0]),
        (kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, &[0]),
        (kind::HEADERS, flag::PRIORITY | flag::END_HEADERS, 1, &[0, 4]),
    ];
    for (kind, flags, stream, lengths) in cases {
        for length in lengths {
            let payload = vec![0; *length];
            let fault = fault(&[frame(kind, flags, stream, &payload)]);
            assert_eq!(fault.code, Code::FRAME_SIZE_ERROR, "{kind} of {length}");
        }
    }
}

#[test]
fn a_frame_may_have_16_384_bytes_and_no_more() {
    let payload = vec![7; 16_384];
    let wire = [settings(), frame(kind::DATA, 0, 1, &payload)].concat();
    let (found, fault) = read(&mut Reader::default(), &[&wire]);
    assert_eq!(fault, None);
    assert_eq!(found[1], Read::Data { stream: 1, length: 16_384, flags: 0, bytes: payload });
    for kind in [kind::DATA, kind::HEADERS, kind::SETTINGS, kind::GOAWAY, 99] {
        // The header alone: nobody waits for what it announces.
        let mut header = Vec::new();
        write::header(&mut header, 16_385, kind, 0, 1);
        let wire = [settings(), header].concat();
        let code = read(&mut Reader::default(), &[&wire]).1.map(|fault| fault.code);
        assert_eq!(code, Some(Code::FRAME_SIZE_ERROR), "{kind}");
    }
}

#[test]
fn padding_and_priority_are_left_out_and_padding_must_fit() {
    let all = flag::PADDED | flag::PRIORITY | flag::END_HEADERS;
    let wire = [
        settings(),
        frame(kind::DATA, flag::PADDED, 1, b"\x02ab\0\0"),
        frame(kind::DATA, flag::PADDED, 1, b"\x02\0\0"),
        frame(kind::HEADERS, all, 3, b"\x01\0\0\0\0\x10block\0"),
    ]
    .concat();
    let (found, none) = read(&mut Reader::default(), &[&wire]);
    assert_eq!(none, None);
    let data = |length, bytes: &[u8]| {
        let bytes = bytes.to_vec();
        Read::Data { stream: 1, length, flags: flag::PADDED, bytes }
    };
    assert_eq!(found[1..3], [data(5, b"ab"), data(3, b"")]);
    assert!(matches!(&found[3], Read::Whole(header, block) if header.stream == 3 && block == b"block"));
    for frame in [
        frame(kind::DATA, flag::PADDED, 1, b"\x03ab"),
        frame(kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, b"\x03ab"),
    ] {
        let fault = fault(&[frame]);
        assert_eq!(fault.code, Code::PROTOCOL_ERROR);
        assert!(fault.reason.contains("padding"));
    }
}

#[test]
fn unknown_types_flags_and_the_reserved_bit_are_ignored() {
    let mut ping = frame(kind::PING, 0xfe, 0, b"12345678");
    ping[5] |= 0x80;
    let unknown = frame(0xbe, 0xff, 5, &[1; 3_000]);
    let wire = [settings(), unknown, frame(10, 0, 0, &[]), ping].concat();
    let (found, fault) = read(&mut Reader::default(), &[&wire]);
    assert_eq!((found.len(), fault), (2, None));
    let header = Header { length: 8, kind: kind::PING, flags: 0xfe, stream: 0 };
    assert_eq!(found[1], Read::Whole(header, b"12345678".to_vec()));
}

#[test]
fn a_header_block_is_joined_and_nothing_may_come_within_it() {
    let opening = frame(kind::HEADERS, flag::END_STREAM, 1, b"ab");
    let more = frame(kind::CONTINUATION, 0, 1, b"cd");
    let end = frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"ef");
    let wire = [settings(), opening.clone(), more, end.clone()].concat();
    let (found, none) = read(&mut Reader::default(), &[&wire]);
    assert_eq!(none, None);
    let header = Header { length: 2, kind: kind::HEADERS, flags: flag::END_STREAM, stream: 1 };
    assert_eq!(found[1], Read::Whole(header, b"abcdef".to_vec()));
    for within in [
        frame(kind::PING, 0, 0, &[0; 8]),
        frame(kind::DATA, 0, 1, b"x"),
        frame(kind::CONTINUATION, flag::END_HEADERS, 3, b"x"),
        frame(kind::HEADERS, flag::END_HEADERS, 1, b"x"),
        frame(0xbe, 0, 1, b"x"),
    ] {
        let fault = fault(&[opening.clone(), within]);
        assert_eq!(fault.code, Code::PROTOCOL_ERROR);
        assert!(fault.reason.contains("within a header block"));
    }
    let alone = fault(&[end]);
    assert_eq!(alone.code, Code::PROTOCOL_ERROR);
    assert!(alone.reason.contains("without a header block"));
}

#[test]
fn floods_of_continuation_frames_are_bounded() {
    let opening = frame(kind::HEADERS, 0, 1, b"");
    let empty = frame(kind::CONTINUATION, 0, 1, b"");
    let flood = fault(&[opening.clone(), empty.repeat(65)]);
    assert_eq!(flood.code, Code::ENHANCE_YOUR_CALM);
    assert!(flood.reason.contains("65 frames"));
    let large = frame(kind::CONTINUATION, 0, 1, &[0; 16_384]);
    let flood = fault(&[opening.clone(), large.repeat(17)]);
    assert_eq!(flood.code, Code::ENHANCE_YOUR_CALM);
    assert!(flood.reason.contains("256 KiB"));
    // Each block has as many.
    let end = frame(kind::CONTINUATION, flag::END_HEADERS, 1, b"x");
    let block = [opening, empty.repeat(60), end].concat();
    let wire = [settings(), block.repeat(5)].concat();
    let (found, fault) = read(&mut Reader::default(), &[&wire]);
    assert_eq!((found.len(), fault), (6, None));
}

#[test]
fn the_first_frame_is_settings() {
    let first = |wire: &[u8]| read(&mut Reader::default(), &[wire]).1.unwrap();
    let ack = frame(kind::SETTINGS, flag::ACK, 0, &[]);
    for wire in [frame(kind::PING, 0, 0, &[0; 8]), ack, frame(0xbe, 0, 0, &[])] {
        let fault = first(&wire);
        assert_eq!(fault.code, Code::PROTOCOL_ERROR);
        assert!(fault.reason.contains("no SETTINGS frame"));
    }
    assert!(first(b"HTTP/1.1 400 Bad Request\r\n\r\n").reason.contains("HTTP/1"));
}

#[test]
fn a_push_is_refused() {
    let fault = fault(&[frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2, 0x82])]);
    assert_eq!(fault.code, Code::PROTOCOL_ERROR);
    assert!(fault.reason.contains("PUSH_PROMISE"));
}

#[test]
fn settings_have_their_ranges_and_unknown_ones_are_ignored() {
    let of = |list: &[(u16, u32)]| {
        let mut bytes = Vec::new();
        for (id, value) in list {
            bytes.extend(id.to_be_bytes());
            bytes.extend(value.to_be_bytes());
        }
        Settings::of(&bytes)
    };
    assert_eq!(of(&[]), Ok(Settings::default()));
    let all =
        of(&[(1, 8192), (2, 0), (3, 100), (4, WINDOW_MAX), (5, 16_384), (6, 1), (99, 7), (1, 100), (1, 200)]);
    let want = Settings { table_bytes: Some(100), streams: Some(100), window: Some(WINDOW_MAX), push: false };
    assert!(of(&[(2, 1), (2, 0)]).unwrap().push, "said once");
    assert_eq!(all, Ok(want));
    assert_eq!(of(&[(4, 5), (4, 6)]).unwrap().window, Some(6), "the last one counts");
    for (id, value, code) in [
        (2, 2, Code::PROTOCOL_ERROR),
        (4, 1 << 31, Code::FLOW_CONTROL_ERROR),
        (5, 16_383, Code::PROTOCOL_ERROR),
        (5, 1 << 24, Code::PROTOCOL_ERROR),
    ] {
        assert_eq!(of(&[(id, value)]).unwrap_err().code, code, "{id} {value}");
    }
}

#[test]
fn frames_in_pieces_leave_their_memory_behind() {
    let opening = frame(kind::HEADERS, 0, 1, &[1; 16_000]);
    let end = frame(kind::CONTINUATION, flag::END_HEADERS, 1, &[2; 16_000]);
    let wire = [settings(), opening, end].concat();
    let pieces: Vec<&[u8]> = wire.chunks(1_000).collect();
    let mut reader = Reader::default();
    let (found, fault) = read(&mut reader, &pieces);
    assert_eq!((found.len(), fault), (2, None));
    assert!(reader.partial.capacity() <= 2 * PARTIAL_KEPT_BYTES, "{}", reader.partial.capacity());
    assert!(reader.block.capacity() <= 2 * PARTIAL_KEPT_BYTES, "{}", reader.block.capacity());
}

#[test]
fn a_block_beyond_16_384_bytes_is_written_in_several_frames() {
    for length in [0, 1, 16_383, 16_384, 16_385, 32_768, 50_000] {
        let block: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let (a, rest) = block.split_at(length / 3);
        let mut out = settings();
        write::headers(&mut out, 1, true, &[a, &[], rest]);
        let (found, fault) = read(&mut Reader::default(), &[&out]);
        assert_eq!(fault, None);
        let Read::Whole(header, got) = &found[1] else { panic!("{found:?}") };
        assert!(header.has(flag::END_STREAM) && header.kind == kind::HEADERS && *got == block, "{length}");
        assert_eq!(out.len(), 9 + length + 9 * length.div_ceil(16_384).max(1));
    }
}

#[test]
fn a_client_begins_as_the_standard_says() {
    let mut out = Vec::new();
    write::preface(&mut out, 1 << 20, 256 << 10);
    let frames = out.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let (found, fault) = read(&mut Reader::default(), &[frames]);
    assert_eq!((found.len(), fault), (2, None));
    let Read::Whole(_, settings) = &found[0] else { panic!("{found:?}") };
    assert_eq!(settings[..6], [0, 2, 0, 0, 0, 0], "no push");
    assert_eq!(Settings::of(settings).unwrap().window, Some(1 << 20));
    let Read::Whole(update, by) = &found[1] else { panic!("{found:?}") };
    assert_eq!((update.kind, update.stream, word(by)), (kind::WINDOW_UPDATE, 0, (1 << 20) - 65_535));
}

/// Any frames, well-formed or not, of types and lengths that are likely to matter.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let one = (0u8..12, any::<u8>(), 0u32..4, proptest::collection::vec(any::<u8>(), 0..40));
    let well = prop_oneof![
        (any::<u8>(), 1u32..4, proptest::collection::vec(any::<u8>(), 0..60))
            .prop_map(|(flags, stream, payload)| frame(kind::DATA, flags & 1, stream, &payload)),
        (1u32..4, proptest::collection::vec(any::<u8>(), 0..60)).prop_map(|(stream, payload)| {
            let mut out = Vec::new();
            let (a, b) = payload.split_at(payload.len() / 2);
            out.extend(frame(kind::HEADERS, 0, stream, a));
            out.extend(frame(kind::CONTINUATION, flag::END_HEADERS, stream, b));
            out
        }),
        (0u8..8, 1u32..4).prop_map(|(padding, stream)| {
            let payload = [&[padding][..], &b"data"[..], &vec![0; usize::from(padding)][..]].concat();
            frame(kind::DATA, flag::PADDED, stream, &payload)
        }),
        any::<[u8; 8]>().prop_map(|payload| frame(kind::PING, 0, 0, &payload)),
    ];
    let any_one = one.prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    proptest::collection::vec(prop_oneof![4 => well, 1 => any_one], 0..12).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_is_the_same_frames(
        frames in frames(), cuts in proptest::collection::vec(0usize..600, 0..20),
    ) {
        let wire = [settings(), frames].concat();
        let whole = read(&mut Reader::default(), &[&wire]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(wire.len())).collect();
        cuts.extend([0, wire.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &wire[w[0]..w[1]]).collect();
        let mut reader = Reader::default();
        prop_assert_eq!(&read(&mut reader, &pieces), &whole);
        reader.reset();
        prop_assert_eq!(&read(&mut reader, &wire.chunks(1).collect::<Vec<_>>()), &whole);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&mut Reader::default(), &[&bytes]);
        let wire = [settings(), bytes].concat();
        read(&mut Reader::default(), &[&wire]);
    }
}
