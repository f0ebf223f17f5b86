//! Data as the page's file has them: few digits, and packed where they are only looked at on demand.

use std::io::{self, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::data::Chunk;

/// Figures to six digits: no page shows more, and more would be half of its size.
struct SixDigits;

impl Formatter for SixDigits {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        // Through text, so that the shortest form of what is meant is written.
        CompactFormatter.write_f64(out, format!("{value:.5e}").parse().unwrap_or(value))
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut out, SixDigits));
    // Neither fails: the page's types are plain, and JSON is UTF-8.
    written.ok().and_then(|()| String::from_utf8(out).ok()).unwrap_or_default()
}

/// A duration, or a size, to four digits.
pub(super) fn four_digits(ns: u64) -> u64 {
    let digits = ns.checked_ilog10().unwrap_or(0);
    let step = 10_u64.pow(digits.saturating_sub(3));
    (ns / step + u64::from(ns % step * 2 >= step && step > 1)).saturating_mul(step)
}

pub(super) fn chunk(name: String, value: &impl Serialize) -> Chunk {
    Chunk { name, text: packed(json(value).as_bytes()) }
}

pub(super) fn packed(json: &[u8]) -> String {
    // Neither fails: a Vec takes all bytes.
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let bytes = packed.write_all(json).and_then(|()| packed.finish()).unwrap_or_default();
    STANDARD.encode(bytes)
}

pub(super) fn unpacked(packed: &str) -> String {
    let mut text = String::new();
    let bytes = STANDARD.decode(packed).unwrap_or_default();
    let read = ZlibDecoder::new(bytes.as_slice()).read_to_string(&mut text);
    read.map(|_| text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_to_six_and_four_digits() {
        assert_eq!(json(&[13_870.123_456, 0.001_234_567_8, 0.0]), "[13870.1,0.00123457,0.0]");
        assert_eq!(json(&(Some(f64::NAN), 13_870_123_u64)), "[null,13870123]");
        assert_eq!(
            [0, 7, 999, 1234, 12_345, 12_344, 99_999].map(four_digits),
            [0, 7, 999, 1234, 12_350, 12_340, 100_000]
        );
        assert_eq!(four_digits(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_chunk_unpacks_to_its_json() {
        let chunk = chunk("t1".into(), &vec![1, 2, 3]);
        assert_eq!(unpacked(&chunk.text), "[1,2,3]");
    }
}
