//! Histograms as text: base64 of the compressed V2 form, which every HdrHistogram implementation reads.

use std::io::Read;

use crate::histogram::{COUNT_MAX, DIGITS, HIGH_NS, SparseHistogram, bucket_of, highest_ns};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// The most bytes of a histogram as text, and unpacked: a hostile log must not make us allocate more. Ours: 256 KiB.
const ENCODED_MAX_BYTES: usize = 4 << 20;
/// The cookie of the compressed V2 form, and the container's header: cookie and length.
const COMPRESSED_COOKIE: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// The cookie of the V2 form within it.
const COOKIE: u64 = 0x1c84_9313;
const CONTAINER_BYTES: usize = 8;
/// The V2 form's header: cookie, length of the counts, offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;
/// The most bytes that a count takes in the V2 form (ZigZag LEB128-64b9B).
const NUMBER_BYTES: usize = 9;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a histogram of Prony's (base64 of the compressed V2 form): {0}")]
pub struct HdrError(String);

pub fn to_hdr(histogram: &SparseHistogram) -> Histogram<u64> {
    // The bounds are constants that the constructor accepts; a failure would be a fault of this line.
    #[expect(clippy::unwrap_used, reason = "constant arguments, covered by a test")]
    let mut hdr = Histogram::new_with_bounds(1, HIGH_NS, DIGITS).unwrap();
    for (bucket, count) in histogram.buckets() {
        hdr.saturating_record_n(highest_ns(bucket), count);
    }
    hdr
}

pub fn encode(histogram: &SparseHistogram) -> String {
    let mut bytes = Vec::new();
    match V2DeflateSerializer::new().serialize(&to_hdr(histogram), &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Writing to a Vec cannot fail, and the counts of a run fit the format.
        Err(_) => String::new(),
    }
}

pub fn decode(text: &str) -> Result<SparseHistogram, HdrError> {
    if text.len() > ENCODED_MAX_BYTES {
        return Err(HdrError(format!(
            "{} bytes are more than the {ENCODED_MAX_BYTES} it may have",
            text.len()
        )));
    }
    let bytes = STANDARD.decode(text).map_err(|e| HdrError(e.to_string()))?;
    let plain = unpacked(&bytes)?;
    let read: Histogram<u64> =
        Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|e| HdrError(e.to_string()))?;
    if read.max() > highest_ns(bucket_of(HIGH_NS)) || read.len() > COUNT_MAX {
        return Err(HdrError("it has values beyond its bounds".to_owned()));
    }
    Ok(SparseHistogram::from_buckets(
        read.iter_recorded().map(|v| (bucket_of(v.value_iterated_to()), v.count_at_value())),
    ))
}

/// The V2 form out of its container. The header's claim is looked at first: the deserializer allocates it, even 4 GiB.
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
    // Another cookie is another form, a compressed one among them.
    if number(0) != COOKIE {
        return Err(HdrError("what it unpacks to does not begin as one".to_owned()));
    }
    let low = number(16) << 32 | number(20);
    if digits != u64::from(DIGITS) || low != 1 || high > HIGH_NS * 2 {
        return Err(HdrError("its bounds or digits are others".to_owned()));
    }
    // So many bytes in a row are part of a number beyond every count; one of them is `i64::MIN`, which the
    // deserializer negates: with overflow checks a panic.
    if plain[HEADER_BYTES..].windows(NUMBER_BYTES).any(|bytes| bytes == [0xff; NUMBER_BYTES]) {
        return Err(HdrError("a count is beyond what a histogram holds".to_owned()));
    }
    Ok(plain)
}

/// [`SparseHistogram`] as JSON has it where others read it: see [`encode`].
pub(crate) mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::SparseHistogram;

    pub(crate) fn serialize<S: Serializer>(
        histogram: &SparseHistogram,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::encode(histogram))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SparseHistogram, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let read = super::decode(&text).map_err(serde::de::Error::custom)?;
        read.taken().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_reads_back_from_its_encoding() {
        let histogram = SparseHistogram::of_values([0, 1, 1_000, 2_500_000, 3_599_000_000_000, HIGH_NS]);
        assert_eq!(decode(&encode(&histogram)), Ok(histogram));
    }

    #[test]
    fn malformed_text_is_an_error() {
        for text in ["", "AAAA", "not base64 ***", "HISTFAAAAAB42pNpmSzMwMDAxAABzFCaEUoz2X+AsgAA"] {
            let _ = decode(text);
        }
        assert!(decode("%%%").is_err());
    }

    #[test]
    fn a_header_that_claims_gigabytes_is_refused_beforehand() {
        // 41 bytes: 4 GiB of counts to come, and one.
        let claims = "HISTFAAAADR4AQEpANb/HISTE/////8AAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAALf+AhJ";
        let said = decode(claims).unwrap_err().to_string();
        assert!(said.contains("length is not the one it says"), "{said}");
        // Five digits would take 50 MB.
        let mut bytes = Vec::new();
        let wide = Histogram::<u64>::new_with_bounds(1, HIGH_NS, 5).unwrap();
        V2DeflateSerializer::new().serialize(&wide, &mut bytes).unwrap();
        assert!(decode(&STANDARD.encode(bytes)).unwrap_err().to_string().contains("digits are others"));
    }

    /// The compressed container of a V2 form, as text.
    fn packed(plain: &[u8]) -> String {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, plain).unwrap();
        let packed = packed.finish().unwrap();
        let length = u32::try_from(packed.len()).unwrap().to_be_bytes();
        STANDARD.encode([&COMPRESSED_COOKIE[..], &length, &packed].concat())
    }

    #[test]
    fn a_compressed_form_within_the_compressed_form_is_refused() {
        let bytes = STANDARD.decode(encode(&SparseHistogram::of_values([1, 2]))).unwrap();
        let mut plain = unpacked(&bytes).unwrap();
        // Its own header would be believed, whatever length that claims.
        plain[..4].copy_from_slice(&COMPRESSED_COOKIE);
        let said = decode(&packed(&plain)).unwrap_err().to_string();
        assert!(said.contains("what it unpacks to does not begin as one"), "{said}");
    }

    #[test]
    fn a_count_that_cannot_be_negated_is_refused() {
        let bytes = STANDARD.decode(encode(&SparseHistogram::of_values([1, 2]))).unwrap();
        let mut plain = unpacked(&bytes).unwrap();
        plain.truncate(HEADER_BYTES);
        plain.extend([0xff; NUMBER_BYTES]);
        plain[4..8].copy_from_slice(&u32::try_from(NUMBER_BYTES).unwrap().to_be_bytes());
        let said = decode(&packed(&plain)).unwrap_err().to_string();
        assert!(said.contains("a count is beyond what a histogram holds"), "{said}");
    }
}
