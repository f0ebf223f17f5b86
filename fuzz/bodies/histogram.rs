//! Any bytes as a histogram of a run log: one of Prony's bounds, or an error, in little memory.

use prony_model::hdr;

/// Reads the bytes as the text that stands in a run log, and as what lies under base64 and deflate.
pub fn check(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = hdr::decode(text);
    }
    let _ = hdr::decode(&base64(input));
    if let Ok(histogram) = hdr::decode(&base64(&compressed_v2(input))) {
        let again = hdr::decode(&hdr::encode(&histogram)).expect("what is written reads back");
        assert_eq!(again.len(), histogram.len());
    }
}

/// The container of the compressed V2 form: cookie, length, zlib with stored blocks (RFC 1950, 1951).
fn compressed_v2(payload: &[u8]) -> Vec<u8> {
    let mut zlib = vec![0x78, 0x01];
    let mut blocks = payload.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        zlib.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).expect("at most 65535");
        zlib.push(u8::from(blocks.peek().is_none()));
        zlib.extend(length.to_le_bytes());
        zlib.extend((!length).to_le_bytes());
        zlib.extend(block);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for byte in payload {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    zlib.extend((b << 16 | a).to_be_bytes());
    let length = u32::try_from(zlib.len()).expect("fuzz inputs are small");
    [&0x1c84_9314_u32.to_be_bytes()[..], &length.to_be_bytes(), &zlib].concat()
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize] as char;
            text.push(if i <= group.len() { digit } else { '=' });
        }
    }
    text
}
