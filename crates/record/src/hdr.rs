//! Histograms as text: base64 of the compressed V2 form, which every
//! HdrHistogram implementation reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use prony_load::measurement::{Durations, HISTOGRAM_DIGITS, HISTOGRAM_HIGH_NS, empty_histogram};

/// The most bytes a histogram may take once unpacked; a hostile run log must
/// not make us allocate more. Ours take 256 KiB.
const ENCODED_MAX_BYTES: usize = 4 << 20;

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
    let read: Durations =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| HdrError(e.to_string()))?;
    if read.sigfig() != HISTOGRAM_DIGITS || read.high() > HISTOGRAM_HIGH_NS * 2 {
        return Err(HdrError("its bounds or digits are others".to_owned()));
    }
    let mut histogram = empty_histogram();
    histogram.add(&read).map_err(|e| HdrError(e.to_string()))?;
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
