//! What options and lists have in common: files that they name, and a hash that is written out.

/// Reads a file that an option names, at most so many bytes: the option, the path, the limit. `-` is standard input.
/// The error is the end of a sentence.
pub type ReadFile<'a> = &'a dyn Fn(&str, u64) -> Result<Vec<u8>, String>;

pub(crate) fn sha256(hex: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = hex.chars().map_while(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = pair[0] << 4 | pair.get(1)?;
    }
    (digits.len() == 64 && hex.len() == 64).then_some(hash)
}
