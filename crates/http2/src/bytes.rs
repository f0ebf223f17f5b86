//! Whether bytes are the same, as is asked of each response.

/// Where musl compares byte by byte (a third of a pipelined request's instructions over HTTP/1.1,
/// docs/benchmarks/gate-builds-2026-11-25.md) the comparison is our own. glibc has nothing to gain.
#[inline]
#[must_use]
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    if cfg!(target_env = "musl") { by_chunks(a, b) } else { a == b }
}

/// 16 bytes at a time, in any alignment; the last ones overlap those before them, as in shorter ones do 8 or 4.
#[inline]
fn by_chunks(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if a.len() < 16 {
        return ends::<8>(a, b).or_else(|| ends::<4>(a, b)).unwrap_or_else(|| a.iter().eq(b));
    }
    let (all, _) = a.as_chunks::<16>();
    let (others, _) = b.as_chunks::<16>();
    let same = |(a, b): (&[u8; 16], &[u8; 16])| u128::from_ne_bytes(*a) == u128::from_ne_bytes(*b);
    all.iter().zip(others).all(same) && a.last_chunk().zip(b.last_chunk()).is_some_and(same)
}

/// Whether the first N bytes and the last are the same; `None` where there are fewer.
#[inline]
fn ends<const N: usize>(a: &[u8], b: &[u8]) -> Option<bool> {
    let first = a.first_chunk::<N>()? == b.first_chunk()?;
    Some(first && a.last_chunk::<N>()? == b.last_chunk()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_equal_where_each_is_and_so_are_their_counts() {
        let bytes: Vec<u8> = (0..=99).collect();
        for length in 0..bytes.len() {
            let one = &bytes[..length];
            let copy = one.to_vec(); // at another address
            assert!(by_chunks(one, &copy) && equal(one, &copy), "{length}");
            assert!(!by_chunks(one, &bytes[..=length]) && !by_chunks(&bytes[..=length], one), "{length}");
            for at in 0..length {
                let mut other = one.to_vec();
                other[at] ^= 0x80;
                assert!(
                    !by_chunks(one, &other) && !equal(one, &other),
                    "{length} bytes, another one at {at}"
                );
            }
        }
    }
}
