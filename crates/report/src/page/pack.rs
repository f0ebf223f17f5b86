//! Parts of a page's data that are unpacked only when they are looked at.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

use super::data::{Chunk, Short};

/// Six digits are three more than any figure here is sure of, and half of an f64's.
pub(super) fn six_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    // Through text, so that the shortest form of what is meant is written.
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Three digits is what a histogram holds; a fourth keeps its steps in place.
pub(super) fn four_digits(ns: u64) -> u64 {
    let digits = ns.checked_ilog10().unwrap_or(0);
    let step = 10_u64.pow(digits.saturating_sub(3));
    (ns / step + u64::from(ns % step * 2 >= step && step > 1)).saturating_mul(step)
}

pub(super) fn short(estimate: &prony_model::Estimate) -> Short {
    Short {
        point: six_digits(estimate.point),
        low: estimate.ci_low.map(six_digits),
        high: estimate.ci_high.map(six_digits),
        n: estimate.n,
        why: estimate.no_interval.clone(),
    }
}

/// A value as a chunk: JSON, packed.
pub(super) fn chunk(name: String, value: &impl Serialize) -> Chunk {
    // It does not fail: the page's types are plain.
    Chunk { name, text: packed(&serde_json::to_vec(value).unwrap_or_default()) }
}

/// In zlib in base64, which a browser's `DecompressionStream` takes apart.
pub(super) fn packed(json: &[u8]) -> String {
    // Neither fails: a Vec takes all bytes.
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let bytes = packed.write_all(json).and_then(|()| packed.finish()).unwrap_or_default();
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_to_six_and_four_digits() {
        assert_eq!(six_digits(13_870.123_456), 13_870.1);
        assert_eq!(six_digits(0.001_234_567_8), 0.001_234_57);
        assert_eq!((six_digits(0.0), six_digits(f64::NAN)), (0.0, 0.0));
        assert_eq!(
            [0, 7, 999, 1234, 12_345, 12_344, 99_999].map(four_digits),
            [0, 7, 999, 1234, 12_350, 12_340, 100_000]
        );
        assert_eq!(four_digits(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_chunk_unpacks_to_its_json() {
        use std::io::Read;
        let chunk = chunk("t1".into(), &vec![1, 2, 3]);
        let bytes = STANDARD.decode(chunk.text).unwrap();
        let mut json = String::new();
        flate2::read::ZlibDecoder::new(bytes.as_slice()).read_to_string(&mut json).unwrap();
        assert_eq!(json, "[1,2,3]");
    }
}
