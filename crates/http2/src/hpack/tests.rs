use super::table::Table;
use super::*;
use proptest::prelude::*;

/// Names and values as text.
type Fields = Vec<(String, String)>;

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u32> = hexadecimal.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, Fault> {
    let mut fields = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, |name, value| fields.push((text(name), text(value))))?;
    Ok(fields)
}

fn fields(list: &[(&str, &str)]) -> Fields {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The table's entries, the youngest first.
fn entries(decoder: &Decoder) -> Fields {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (0..).map_while(|index| decoder.table().get(index)).map(|(n, v)| (text(n), text(v))).collect()
}

#[test]
fn integers_are_those_of_appendix_c_1() {
    let cases: [(usize, u32, &[u8]); 7] = [
        (10, 5, &[0b0000_1010]),
        (1337, 5, &[0b0001_1111, 0b1001_1010, 0b0000_1010]),
        (42, 8, &[0b0010_1010]),
        (30, 5, &[30]),
        (31, 5, &[31, 0]),
        (31 + 127, 5, &[31, 127]),
        (31 + 128, 5, &[31, 0x80, 1]),
    ];
    for (value, prefix_bits, want) in cases {
        let mut out = Vec::new();
        write_integer(&mut out, 0, prefix_bits, value);
        assert_eq!(out, want, "{value}");
        assert_eq!(integer(&mut &want[..], prefix_bits), Ok(value));
    }
}

#[test]
fn an_integer_leaves_the_bits_before_and_the_bytes_behind_it() {
    let mut input: &[u8] = &[0b1110_1010, 7];
    assert_eq!((integer(&mut input, 5), input), (Ok(10), &[7][..]));
    let mut out = Vec::new();
    write_integer(&mut out, 0b1110_0000, 5, 1337);
    assert_eq!(out, [0xff, 0x9a, 0x0a]);
}

#[test]
fn integers_without_end_or_beyond_2_to_the_28_are_refused() {
    assert!(integer(&mut &b""[..], 5).is_err());
    assert!(integer(&mut &[31][..], 5).is_err());
    assert!(integer(&mut &[31, 0x80][..], 5).is_err());
    assert_eq!(integer(&mut &[31, 0xff, 0xff, 0xff, 0x7f][..], 5), Ok(31 + (1 << 28) - 1));
    assert!(integer(&mut &[31, 0xff, 0xff, 0xff, 0xff, 0][..], 5).is_err());
    let mut long = vec![31];
    long.extend([0x80; 100]);
    long.push(0);
    assert!(integer(&mut &long[..], 5).is_err());
}

#[test]
fn single_fields_are_those_of_appendix_c_2() {
    for (block, name, value, kept) in [
        ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", "custom-key", "custom-header", 55),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path", "/sample/path", 0),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password", "secret", 0),
        ("82", ":method", "GET", 0),
    ] {
        let mut decoder = Decoder::new();
        assert_eq!(decoded(&mut decoder, &bytes(block)), Ok(fields(&[(name, value)])));
        assert_eq!(decoder.table().size(), kept);
        assert_eq!(decoder.changes(), u64::from(kept > 0));
    }
}

type List = &'static [(&'static str, &'static str)];

/// Blocks one after the other: what each says, and then the table and its size.
fn play(decoder: &mut Decoder, steps: &[(&'static str, List, List, usize)]) {
    for (block, says, table, size) in steps {
        assert_eq!(decoded(decoder, &bytes(block)), Ok(fields(says)), "{block}");
        assert_eq!(entries(decoder), fields(table), "{block}");
        assert_eq!(decoder.table().size(), *size, "{block}");
    }
}

const REQUEST: List =
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
const REQUEST_2: List = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
    ("cache-control", "no-cache"),
];
const REQUEST_3: List = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];

/// What stands in the table after each of these three, and its size.
const AFTER_REQUESTS: [(List, usize); 3] = [
    (&[(":authority", "www.example.com")], 57),
    (&[("cache-control", "no-cache"), (":authority", "www.example.com")], 110),
    (
        &[("custom-key", "custom-value"), ("cache-control", "no-cache"), (":authority", "www.example.com")],
        164,
    ),
];

fn play_requests(blocks: [&'static str; 3]) {
    let [a, b, c] = AFTER_REQUESTS;
    let steps =
        [(blocks[0], REQUEST, a.0, a.1), (blocks[1], REQUEST_2, b.0, b.1), (blocks[2], REQUEST_3, c.0, c.1)];
    play(&mut Decoder::new(), &steps);
}

#[test]
fn requests_are_those_of_appendix_c_3() {
    play_requests([
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ]);
}

#[test]
fn huffman_coded_requests_are_those_of_appendix_c_4() {
    play_requests([
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ]);
}

/// The responses of Appendix C.5 and C.6 with a table of 256 bytes: entries go as others come.
fn play_responses(blocks: [&'static str; 3]) {
    const LOCATION: (&str, &str) = ("location", "https://www.example.com");
    const CACHE: (&str, &str) = ("cache-control", "private");
    const DATE: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
    const DATE_3: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:22 GMT");
    const GZIP: (&str, &str) = ("content-encoding", "gzip");
    const COOKIE: (&str, &str) = ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1");
    let mut decoder = Decoder::new();
    assert_eq!(decoded(&mut decoder, &bytes("3fe101")), Ok(Vec::new()), "a size update alone");
    play(
        &mut decoder,
        &[
            (
                blocks[0],
                &[(":status", "302"), CACHE, DATE, LOCATION],
                &[LOCATION, DATE, CACHE, (":status", "302")],
                222,
            ),
            (
                blocks[1],
                &[(":status", "307"), CACHE, DATE, LOCATION],
                &[(":status", "307"), LOCATION, DATE, CACHE],
                222,
            ),
            (
                blocks[2],
                &[(":status", "200"), CACHE, DATE_3, LOCATION, GZIP, COOKIE],
                &[COOKIE, GZIP, DATE_3],
                215,
            ),
        ],
    );
}

#[test]
fn responses_are_those_of_appendix_c_5() {
    play_responses([
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 \
         474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 \
         666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 \
         3630 303b 2076 6572 7369 6f6e 3d31",
    ]);
}

#[test]
fn huffman_coded_responses_are_those_of_appendix_c_6() {
    play_responses([
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 \
         63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 \
         b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ]);
}

#[test]
fn malformed_blocks_are_errors_by_name() {
    let said = |block: &[u8]| {
        let fault = decoded(&mut Decoder::new(), block).unwrap_err();
        assert_eq!(fault.code, Code::COMPRESSION_ERROR);
        fault.reason
    };
    assert!(said(&[0x80]).contains("do not have"), "index 0");
    assert!(said(&[0xbe]).contains("do not have"), "62 with an empty table");
    assert!(said(&[0x7e, 0]).contains("do not have"), "the name of 62");
    assert!(said(&[0xff, 0xff, 0xff, 0xff, 0x7f]).contains("do not have"));
    assert!(said(&[0xff; 6]).contains("2^28"));
    assert!(said(&[0x40]).contains("within a field"));
    assert!(said(&[0x40, 5, b'a']).contains("within a field"));
    assert!(said(&[0x40, 1, b'a', 2, b'b']).contains("within a field"));
    assert!(said(&[0x41, 0x81, 0]).contains("Huffman"));
    assert!(said(&[0x3f, 0xe2, 0x1f]).contains("4,096"), "a size update to 4,097");
    assert!(said(&[0x82, 0x20]).contains("after its first field"));
}

#[test]
fn the_table_may_be_resized_and_emptied_at_a_blocks_beginning() {
    let mut decoder = Decoder::new();
    assert_eq!(decoded(&mut decoder, &[0x40, 1, b'a', 1, b'b']), Ok(fields(&[("a", "b")])));
    assert_eq!(entries(&decoder).len(), 1);
    // To nothing, and back to 4,096: the entry is gone.
    assert_eq!(decoded(&mut decoder, &[0x20, 0x3f, 0xe1, 0x1f, 0x82]), Ok(fields(&[(":method", "GET")])));
    assert!(entries(&decoder).is_empty());
    assert_eq!(decoded(&mut decoder, &[0x40, 1, b'a', 1, b'b', 0xbe]), Ok(fields(&[("a", "b"), ("a", "b")])));
}

#[test]
fn an_entry_may_take_the_name_of_the_one_it_evicts() {
    let mut decoder = Decoder::new();
    // A table for one entry of 34 bytes.
    decoded(&mut decoder, &[0x3f, 3, 0x40, 1, b'a', 1, b'b']).unwrap();
    assert_eq!(decoded(&mut decoder, &[0x7e, 1, b'c']), Ok(fields(&[("a", "c")])));
    assert_eq!(entries(&decoder), fields(&[("a", "c")]));
    // One that is too large for the table empties it, and is a field all the same.
    assert_eq!(decoded(&mut decoder, &[0x7e, 2, b'd', b'd']), Ok(fields(&[("a", "dd")])));
    assert!(entries(&decoder).is_empty());
}

#[test]
fn a_small_block_of_much_is_bounded() {
    let mut decoder = Decoder::new();
    // A value of 4,000 bytes enters the table, and is named again and again: a byte for 4,033.
    let mut block = vec![0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
    block.extend([b'x'; 4_000]);
    assert_eq!(decoded(&mut decoder, &block).unwrap().len(), 1);
    assert_eq!(decoded(&mut decoder, &[0xbe; 64]).unwrap().len(), 64);
    let fault = decoded(&mut decoder, &[0xbe; 10_000]).unwrap_err();
    assert_eq!(fault.code, Code::ENHANCE_YOUR_CALM);
    assert!(fault.reason.contains("256 KiB"));
}

#[test]
fn the_table_takes_a_bounded_memory_however_long_it_is_used() {
    let mut table = Table::new(TABLE_MAX_BYTES);
    for round in 0..20_000_usize {
        let name = vec![b'n'; round % 7];
        table.insert(&name, &vec![b'v'; round * 31 % 900]);
        assert!(table.size() <= TABLE_MAX_BYTES);
        assert!(table.memory() <= 4 * TABLE_MAX_BYTES, "{}", table.memory());
        assert_eq!(table.get(0).map(|(n, v)| (n.len(), v.len())), Some((round % 7, round * 31 % 900)));
    }
}

fn field<'a>(name: &'a str, value: &'a str, indexing: Indexing) -> Field<'a> {
    Field { name, value: value.as_bytes(), indexing }
}

#[test]
fn all_three_forms_are_the_same_fields_and_one_fills_the_table() {
    let list = [
        field(":method", "GET", Indexing::Shared),
        field(":authority", "h:8080", Indexing::Shared),
        field("user-agent", "prony", Indexing::Shared),
        field("authorization", "Basic bWU6cGFzcw==", Indexing::Never),
        field("x-one", "1", Indexing::Once),
        field("x-two", "2", Indexing::Shared),
    ];
    let want: Fields = list
        .iter()
        .map(|field| (field.name.to_owned(), String::from_utf8_lossy(field.value).into_owned()))
        .collect();
    let forms = Forms::of(&list);
    let mut decoder = Decoder::new();
    assert_eq!(decoded(&mut decoder, &forms.plain), Ok(want.clone()));
    assert_eq!(decoder.changes(), 0);
    assert_eq!(decoded(&mut decoder, &forms.first), Ok(want.clone()));
    let kept = fields(&[("x-two", "2"), ("user-agent", "prony"), (":authority", "h:8080")]);
    assert_eq!(entries(&decoder), kept);
    assert_eq!(decoder.table().size(), forms.table_bytes);
    let changes = decoder.changes();
    for _ in 0..3 {
        assert_eq!(decoded(&mut decoder, &forms.indexed), Ok(want.clone()));
    }
    assert_eq!(decoder.changes(), changes, "the table is what it was");
    assert!(forms.indexed.len() < forms.first.len());
}

#[test]
fn a_secret_is_marked_as_one_and_never_taken_from_a_table() {
    let mut out = Vec::new();
    write_field(&mut out, &field("authorization", "s", Indexing::Never));
    assert_eq!(out, [0x1f, 8, 1, b's'], "never indexed, with the name of entry 23");
    out.clear();
    write_field(&mut out, &field(":path", "/", Indexing::Never));
    assert_eq!(out[0], 0x14, "not as entry 4");
}

#[test]
fn a_list_item_leaves_the_table_alone() {
    let mut out = Vec::new();
    write_field(&mut out, &field(":path", "/a", Indexing::Once));
    write_field(&mut out, &field(":path", "/b", Indexing::Shared));
    assert_eq!(out[0], 0x04, "without indexing, with the name of entry 4");
    let mut decoder = Decoder::new();
    assert_eq!(decoded(&mut decoder, &out), Ok(fields(&[(":path", "/a"), (":path", "/b")])));
    assert_eq!(decoder.changes(), 0);
}

#[test]
fn header_fields_too_large_for_the_table_are_not_indexed() {
    let long = "x".repeat(3_000);
    let list = [
        field("a", &long, Indexing::Shared),
        field("b", &long, Indexing::Shared),
        field("c", "short", Indexing::Shared),
    ];
    let forms = Forms::of(&list);
    assert_eq!(forms.table_bytes, 1 + 3_000 + 32 + 1 + 5 + 32);
    let mut decoder = Decoder::new();
    for block in [&forms.first, &forms.indexed, &forms.indexed] {
        let got = decoded(&mut decoder, block).unwrap();
        assert_eq!(got, fields(&[("a", &long), ("b", &long), ("c", "short")]));
    }
}

fn some_fields() -> impl Strategy<Value = Vec<(String, Vec<u8>, u8)>> {
    let name = prop_oneof![
        Just(":path".to_owned()),
        Just(":method".to_owned()),
        Just("content-length".to_owned()),
        "[a-z-]{0,12}",
    ];
    let value = prop_oneof![
        Just(b"GET".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
        "[a-z0-9 /]{0,200}".prop_map(String::into_bytes),
        proptest::collection::vec(Just(b'x'), 1_000..3_000),
    ];
    proptest::collection::vec((name, value, 0u8..3), 0..12)
}

proptest! {
    #[test]
    fn any_integer_is_read_as_it_was_written(value in 0usize..1 << 28, prefix_bits in 4u32..8) {
        let mut out = Vec::new();
        write_integer(&mut out, 0, prefix_bits, value);
        prop_assert_eq!(integer(&mut &out[..], prefix_bits), Ok(value));
    }

    #[test]
    fn any_fields_are_read_as_they_were_written(list in some_fields(), rounds in 1usize..4) {
        let kinds = [Indexing::Shared, Indexing::Once, Indexing::Never];
        let list: Vec<Field<'_>> = list
            .iter()
            .map(|(name, value, kind)| Field { name, value, indexing: kinds[usize::from(*kind)] })
            .collect();
        let forms = Forms::of(&list);
        prop_assert!(forms.table_bytes <= TABLE_MAX_BYTES);
        let mut decoder = Decoder::new();
        let indexed = std::iter::repeat_n(&forms.indexed, rounds);
        for block in [&forms.plain, &forms.first].into_iter().chain(indexed) {
            let mut got = Vec::new();
            decoder.decode(block, |name, value| got.push((name.to_vec(), value.to_vec()))).unwrap();
            let want: Vec<_> = list.iter().map(|f| (f.name.as_bytes().to_vec(), f.value.to_vec())).collect();
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn no_bytes_make_the_decoder_panic_or_grow(
        blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..8),
    ) {
        let mut decoder = Decoder::new();
        for block in blocks {
            let mut listed = 0;
            let read = decoder.decode(&block, |name, value| listed += name.len() + value.len() + 32);
            prop_assert!(listed <= LIST_MAX_BYTES);
            prop_assert!(decoder.table().size() <= TABLE_MAX_BYTES);
            prop_assert!(decoder.table().memory() <= 4 * TABLE_MAX_BYTES);
            if read.is_err() {
                break;
            }
        }
    }
}
