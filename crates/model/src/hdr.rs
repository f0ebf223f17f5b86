//! Histograms as text: base64 of the compressed V2 form, which every
//! HdrHistogram implementation reads.

use std::io::Read;

use crate::measurement::{Durations, HISTOGRAM_DIGITS, HISTOGRAM_HIGH_NS, empty_histogram};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// The most bytes a histogram may take as text, and once unpacked; a hostile
/// run log must not make us allocate more. Ours take 256 KiB.
const ENCODED_MAX_BYTES: usize = 4 << 20;
/// The cookie of the compressed V2 form, and the container's header: cookie and length.
const COMPRESSED_COOKIE: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
const CONTAINER_BYTES: usize = 8;
/// The V2 form's header: cookie, length of the counts, offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;

/// Why a text is not a histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a histogram of Prony's (base64 of the compressed V2 form): {0}")]
pub struct HdrError(String);

/// The histogram as text.
pub fn encode(histogram: &Durations) -> String {
    let mut bytes = Vec::new();
    match V2DeflateSerializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Writing to a Vec cannot fail, and the counts of a run fit the format.
        Err(_) => String::new(),
    }
}

/// The text as a histogram.
///
/// # Errors
/// When it is not base64, not the V2 form, or of other bounds than Prony's.
pub fn decode(text: &str) -> Result<Durations, HdrError> {
    if text.len() > ENCODED_MAX_BYTES {
        return Err(HdrError(format!(
            "{} bytes are more than the {ENCODED_MAX_BYTES} it may have",
            text.len()
        )));
    }
    let bytes = STANDARD.decode(text).map_err(|e| HdrError(e.to_string()))?;
    let plain = unpacked(&bytes)?;
    let read: Durations =
        Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|e| HdrError(e.to_string()))?;
    let mut histogram = empty_histogram();
    histogram.add(&read).map_err(|e| HdrError(e.to_string()))?;
    Ok(histogram)
}

/// The V2 form out of its compressed container. What its header claims is
/// looked at first: the deserializer allocates whatever that says, 4 GiB of counts included.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, HdrError> {
    let packed = bytes.strip_prefix(&COMPRESSED_COOKIE).and_then(|_| bytes.get(CONTAINER_BYTES..));
    let packed = packed.ok_or_else(|| HdrError("it does not begin as one".to_owned()))?;
    let mut plain = Vec::new();
    let most = (ENCODED_MAX_BYTES + 1) as u64;
    ZlibDecoder::new(packed).take(most).read_to_end(&mut plain).map_err(|e| HdrError(e.to_string()))?;
    let Some(header) = plain.first_chunk::<HEADER_BYTES>().filter(|_| plain.len() <= ENCODED_MAX_BYTES)
    else {
        return Err(HdrError(format!("{} bytes are not what it takes unpacked", plain.len())));
    };
    let number = |at: usize| header[at..at + 4].iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    let (counts_bytes, digits, high) = (number(4), number(12), number(24) << 32 | number(28));
    if counts_bytes != (plain.len() - HEADER_BYTES) as u64 {
        return Err(HdrError("its length is not the one it says".to_owned()));
    }
    if digits != u64::from(HISTOGRAM_DIGITS) || high > HISTOGRAM_HIGH_NS * 2 {
        return Err(HdrError("its bounds or digits are others".to_owned()));
    }
    Ok(plain)
}

/// A range of values with how many were recorded in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The range's place among a histogram's; the same place is the same range in all of Prony's.
    pub index: u32,
    /// How many values.
    pub count: u64,
}

/// Ranges of the width 1 at the bottom: the first power of two above 2 × 10³, for three digits.
const FINE: u64 = 2048;

impl Bucket {
    /// The least value of the range, and its width.
    fn low_and_width(self) -> (u64, u64) {
        let index = u64::from(self.index);
        if index < FINE {
            return (index, 1);
        }
        let half = FINE / 2;
        // A longer shift would be past the bound of an hour; [`buckets`] lets none through.
        let scale = (index / half - 1).min(50);
        ((index % half + half) << scale, 1 << scale)
    }

    /// The highest value that is equivalent to those of the range: what a percentile is quoted as.
    pub fn highest_ns(self) -> u64 {
        let (low, width) = self.low_and_width();
        low + width - 1
    }

    /// The middle of the range.
    pub fn middle_ns(self) -> u64 {
        let (low, width) = self.low_and_width();
        low + width / 2
    }
}

/// The text's buckets that hold anything, lowest first, without the counts
/// of all the others: [`decode`] fills a table of 256 KiB, which takes as long as
/// the rest of reading a second of a series together.
///
/// # Errors
/// As [`decode`].
pub fn buckets(text: &str) -> Result<Vec<Bucket>, HdrError> {
    if text.len() > ENCODED_MAX_BYTES {
        return Err(HdrError(format!("{} bytes are more than it may have", text.len())));
    }
    let bytes = STANDARD.decode(text).map_err(|e| HdrError(e.to_string()))?;
    let plain = unpacked(&bytes)?;
    let index_max = u32::try_from(empty_histogram().distinct_values()).unwrap_or(u32::MAX);
    let mut counts = &plain[HEADER_BYTES..];
    let mut found = Vec::new();
    let mut index: u32 = 0;
    while !counts.is_empty() {
        let value = varint(&mut counts).ok_or_else(|| HdrError("its counts are cut off".to_owned()))?;
        if value < 0 {
            let zeroes = u32::try_from(value.unsigned_abs()).unwrap_or(u32::MAX);
            index = index.saturating_add(zeroes);
            continue;
        }
        if value > 0 {
            if index >= index_max {
                return Err(HdrError("it has values beyond its bounds".to_owned()));
            }
            found.push(Bucket { index, count: value.unsigned_abs() });
        }
        index = index.saturating_add(1);
    }
    Ok(found)
}

/// A ZigZag LEB128 number as the V2 form has it: at most nine bytes, the ninth whole.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..=56).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 56 {
            value |= u64::from(*byte) << shift;
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_the_decoded_histogram_s() {
        let mut h = empty_histogram();
        for (k, v) in
            [0, 1, 2047, 2048, 2049, 4095, 4096, 1_000_000, 123_456_789, 3_600_000_000_000].iter().enumerate()
        {
            h.record_n(*v, (k as u64 * 7919).pow(3) + 1).unwrap();
        }
        let read = buckets(&encode(&h)).unwrap();
        let expected: Vec<(u64, u64)> =
            h.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
        let found: Vec<(u64, u64)> = read.iter().map(|b| (b.highest_ns(), b.count)).collect();
        assert_eq!(found, expected);
        assert!(read.iter().all(|b| b.middle_ns() <= b.highest_ns().max(1)));
        assert_eq!(buckets(&encode(&empty_histogram())).unwrap(), []);
    }

    #[test]
    fn hostile_texts_have_no_buckets() {
        for text in ["", "!", "AAAA", &"A".repeat(ENCODED_MAX_BYTES + 1)] {
            assert!(buckets(text).is_err());
        }
        let mut cut: &[u8] = &[0xff, 0xff];
        assert_eq!(varint(&mut cut), None);
    }

    #[test]
    fn survives_the_round_trip() {
        let mut h = empty_histogram();
        for v in [1, 1_000, 2_500_000, 3_599_000_000_000] {
            h.record(v).unwrap();
        }
        let back = decode(&encode(&h)).unwrap();
        assert_eq!(back.len(), 4);
        assert_eq!(back.value_at_quantile(0.5), h.value_at_quantile(0.5));
        assert_eq!(back.max(), h.max());
    }

    #[test]
    fn garbage_is_an_error_and_not_a_panic() {
        for text in ["", "AAAA", "not base64 ***", "HISTFAAAAAB42pNpmSzMwMDAxAABzFCaEUoz2X+AsgAA"] {
            let _ = decode(text);
        }
        assert!(decode("%%%").is_err());
    }

    #[test]
    fn a_header_that_claims_gigabytes_is_refused_before_it_gets_them() {
        // 41 bytes: 4 GiB of counts to come, and one.
        let claims = "HISTFAAAADR4AQEpANb/HISTE/////8AAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAALf+AhJ";
        let said = decode(claims).unwrap_err().to_string();
        assert!(said.contains("length is not the one it says"), "{said}");
        // Five digits would take 50 MB.
        let wide = encode(&Durations::new_with_bounds(1, HISTOGRAM_HIGH_NS, 5).unwrap());
        assert!(decode(&wide).unwrap_err().to_string().contains("digits are others"));
    }
}
