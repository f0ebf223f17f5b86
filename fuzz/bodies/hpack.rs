//! Header blocks of one connection, one after the other, for our decoder and for loona-hpack's: the
//! same fields, or both refuse. What the last one said is then encoded by each and decoded by the other.

use loona_hpack::decoder::DecoderError;
use prony_http2::hpack::{Decoder, Field, Forms, Indexing, TABLE_MAX_BYTES};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// Each block has a byte for its length before it; the last one may be shorter.
pub fn check(input: &[u8]) {
    let (mut ours, mut theirs) = (Decoder::new(), loona_hpack::Decoder::new());
    theirs.set_max_allowed_table_size(TABLE_MAX_BYTES);
    let mut last = Fields::new();
    let mut rest = input;
    while let Some((length, after)) = rest.split_first() {
        let (block, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        let mut got = Fields::new();
        let read = ours.decode(block, |name, value| got.push((name.to_vec(), value.to_vec())));
        match (read, theirs.decode(block)) {
            (Ok(()), Ok(want)) => assert_eq!(got, want),
            // A block of nothing but sizes: both have taken them, and we find no fault.
            (Ok(()), Err(DecoderError::SizeUpdateAtEnd)) => assert!(got.is_empty()),
            (Ok(()), Err(theirs)) => panic!("they refuse {block:02x?}: {theirs}"),
            (Err(fault), Ok(_)) => {
                let stricter = ["after its first field", "256 KiB"];
                let known = stricter.iter().any(|known| fault.reason.contains(known));
                assert!(known, "we refuse {block:02x?}: {}", fault.reason);
                break;
            }
            (Err(_), Err(_)) => break,
        }
        last = got;
    }
    exchange(&last);
}

/// Encodes fields twice, so that what entered a table is named, and reads them on the other side.
fn exchange(fields: &Fields) {
    let (mut ours, mut theirs) = (Decoder::new(), loona_hpack::Encoder::new());
    for _ in 0..2 {
        let block = theirs.encode(fields.iter().map(|(name, value)| (&name[..], &value[..])));
        let mut got = Fields::new();
        let read = ours.decode(&block, |name, value| got.push((name.to_vec(), value.to_vec())));
        assert_eq!((read, &got), (Ok(()), fields));
    }
    let kinds = [Indexing::Shared, Indexing::Once, Indexing::Never];
    let texts: Vec<(&str, &[u8])> = fields
        .iter()
        .filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, &value[..])))
        .collect();
    let list: Vec<Field<'_>> = texts
        .iter()
        .zip(kinds.iter().cycle())
        .map(|((name, value), kind)| Field { name, value, indexing: *kind })
        .collect();
    let want: Fields = texts.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect();
    let forms = Forms::of(&list);
    let mut theirs = loona_hpack::Decoder::new();
    for block in [&forms.plain, &forms.first, &forms.indexed, &forms.indexed] {
        assert_eq!(theirs.decode(block).expect("they read what we write"), want);
    }
}
