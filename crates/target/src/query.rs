//! A query's parameters, and numbers: digits and nothing else.

/// Digits and nothing else; `from_str` alone would take a `+`.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The first value of this name, as it stands there.
pub(crate) fn text<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

pub(crate) fn parameter(query: &str, name: &str) -> Option<u64> {
    number(text(query, name)?.as_bytes())
}
