//! FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): tells whether two things are the same, in every version alike, which
//! std's hashers do not promise. It is no defence against somebody who makes a collision.

pub(crate) const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// The hash of these bytes; of none, the offset basis.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    fnv1a_behind(OFFSET_BASIS, bytes)
}

/// The hash of these bytes behind those of a hash.
pub(crate) fn fnv1a_behind(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// The hash of these parts and of their lengths: two that are cut elsewhere have another.
pub fn hash_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let with_length =
        |part: &'a [u8]| (part.len() as u64).to_le_bytes().into_iter().chain(part.iter().copied());
    fnv1a(parts.into_iter().flat_map(with_length))
}

/// Short, so that many share it: a longer one would let somebody confirm a guess of a secret in what was hashed.
pub(crate) fn folded(hash: u64) -> u32 {
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the draft's appendix.
    #[test]
    fn hashes_are_those_of_the_drafts_appendix() {
        assert_eq!(fnv1a([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_f739_67e8);
        assert_ne!(hash_of([&b"ab"[..], b"c"]), hash_of([&b"a"[..], b"bc"]));
    }
}
