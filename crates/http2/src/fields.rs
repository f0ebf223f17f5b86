//! What a header field may be in HTTP/2 (RFC 9113, section 8.2), in requests, responses and trailers alike.

/// Whether a field may stand in a header section; it is no pseudo-header.
pub fn check(name: &[u8], value: &[u8]) -> Result<(), &'static str> {
    if name.is_empty() || !name.iter().all(may_be_in_a_name) {
        return Err("a header field has a name that none may have");
    }
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let breaks = value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'));
    if breaks || blank(value.first()) || blank(value.last()) {
        return Err("a header field has a value that none may have");
    }
    match name {
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
            Err("a header field is about an HTTP/1 connection")
        }
        _ => Ok(()),
    }
}

pub fn content_length(value: &[u8]) -> Option<u64> {
    // 18 digits stay below 10^18 and within u64.
    let fits = (1..=18).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    fits.then(|| value.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

fn may_be_in_a_name(byte: &u8) -> bool {
    matches!(byte, 0x21..=0x7e) && !matches!(byte, b'A'..=b'Z' | b':')
}
