//! Histograms as their filled buckets alone, packed into bytes.

use crate::measurement::{Durations, empty_histogram};

/// A histogram of [`Durations`] that holds only the buckets with something in
/// them, two or three bytes each: a second of a run takes a few kilobytes so,
/// where a whole histogram takes 270.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SparseDurations {
    packed: Vec<u8>,
}

/// The binary digits of a bucket's number within its power of two: at three
/// decimal digits 1024 buckets share each.
pub const BUCKET_BITS: u32 = 10;

/// The number of a value's bucket, counted as HdrHistogram counts.
#[inline]
pub fn bucket_of(value_ns: u64) -> u64 {
    numbered_bucket(value_ns, BUCKET_BITS)
}

/// The least value of a bucket.
fn value_of(bucket: u64) -> u64 {
    value_of_numbered(bucket, BUCKET_BITS)
}

/// [`bucket_of`] where powers of two are shared by 2^`bits` buckets.
#[inline]
pub fn numbered_bucket(value_ns: u64, bits: u32) -> u64 {
    let exponent = (value_ns | ((2 << bits) - 1)).ilog2() - bits;
    (u64::from(exponent) << bits) + (value_ns >> exponent)
}

/// [`value_of`] of those.
#[inline]
pub fn value_of_numbered(bucket: u64, bits: u32) -> u64 {
    let exponent = (bucket >> bits).saturating_sub(1);
    (bucket - (exponent << bits)) << exponent
}

/// A histogram's filled buckets with their counts, ascending.
pub fn filled(histogram: &Durations) -> impl Iterator<Item = (u64, u64)> {
    histogram.iter_recorded().map(|v| (bucket_of(v.value_iterated_to()), v.count_at_value()))
}

/// Appends buckets with their counts, ascending, as pairs of LEB128 numbers: buckets skipped
/// since the one before, and the count. Two lists merged are never longer than both together: a
/// bucket of both is written once, and a sum takes at most a byte more than the larger count.
pub fn pack(buckets: impl Iterator<Item = (u64, u64)>, into: &mut Vec<u8>) {
    let mut next = 0;
    for (bucket, count) in buckets {
        for mut number in [bucket - next, count] {
            while number >= 0x80 {
                into.push((number & 0x7f) as u8 | 0x80);
                number >>= 7;
            }
            into.push(number as u8);
        }
        next = bucket + 1;
    }
}

/// What [`pack`] wrote.
pub fn unpack(packed: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let (mut bytes, mut next) = (packed.iter(), 0);
    let mut number = move || {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = *bytes.next()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    };
    std::iter::from_fn(move || {
        let (bucket, count) = (next + number()?, number()?);
        next = bucket + 1;
        Some((bucket, count))
    })
}

/// Two ascending lists of buckets as one.
pub fn merged(
    left: impl Iterator<Item = (u64, u64)>,
    right: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = (u64, u64)> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek().copied(), right.peek().copied()) {
        (Some((a, count)), Some((b, more))) if a == b => {
            left.next();
            right.next();
            Some((a, count + more))
        }
        (Some((a, _)), Some((b, _))) if a < b => left.next(),
        (_, Some(_)) => right.next(),
        (_, None) => left.next(),
    })
}

impl SparseDurations {
    /// The sparse form.
    pub fn of(histogram: &Durations) -> SparseDurations {
        SparseDurations::packed(filled(histogram))
    }

    /// From buckets with their counts, ascending.
    pub fn packed(buckets: impl Iterator<Item = (u64, u64)>) -> SparseDurations {
        let mut packed = Vec::new();
        pack(buckets, &mut packed);
        // A run holds them by the thousand.
        packed.shrink_to_fit();
        SparseDurations { packed }
    }

    /// From what [`pack`] wrote.
    pub fn from_packed(packed: &[u8]) -> SparseDurations {
        SparseDurations { packed: packed.to_vec() }
    }

    /// Adds a histogram's counts to these; `scratch` is overwritten.
    pub fn merge(&mut self, histogram: &Durations, scratch: &mut Vec<u8>) {
        scratch.clear();
        pack(merged(unpack(&self.packed), filled(histogram)), scratch);
        self.packed.clear();
        self.packed.extend_from_slice(scratch);
    }

    /// Nothing recorded, in the same memory.
    pub fn emptied(mut self) -> SparseDurations {
        self.packed.clear();
        self
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// The histogram of the default bounds with the same counts.
    pub fn to_histogram(&self) -> Durations {
        let mut histogram = empty_histogram();
        self.add_to(&mut histogram);
        histogram
    }

    /// Adds its counts to a histogram.
    pub fn add_to(&self, histogram: &mut Durations) {
        for (bucket, count) in unpack(&self.packed) {
            histogram.saturating_record_n(value_of(bucket), count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::HISTOGRAM_HIGH_NS;

    #[test]
    fn the_sparse_form_loses_nothing() {
        let (mut one, mut two) = (empty_histogram(), empty_histogram());
        for value in [0, 1, 999, 1_000_000, 1_000_100, HISTOGRAM_HIGH_NS] {
            one.record(value).unwrap();
            two.record_n(value / 2, 3).unwrap();
        }
        assert_eq!(SparseDurations::of(&one).to_histogram(), one);
        let mut both = Vec::new();
        pack(merged(filled(&one), filled(&two)), &mut both);
        one.add(&two).unwrap();
        assert_eq!(SparseDurations::from_packed(&both).to_histogram(), one);
        assert!(SparseDurations::default().is_empty() && !SparseDurations::of(&one).is_empty());
    }

    #[test]
    fn a_bucket_is_numbered_as_the_histogram_has_it() {
        let mut histogram = empty_histogram();
        for value in (0..42).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (3 << bits) / 2]) {
            assert!(histogram.equivalent(value, value_of(bucket_of(value))), "{value}");
            assert_eq!(bucket_of(value_of(bucket_of(value))), bucket_of(value), "{value}");
            histogram.saturating_record(value);
        }
        // Every bucket of four powers of two, once: two bytes each, where a pair of numbers takes sixteen.
        histogram.reset();
        (0..4 * 1024).for_each(|i| histogram.record(value_of(20 * 1024 + i)).unwrap());
        let sparse = SparseDurations::of(&histogram);
        assert_eq!((sparse.to_histogram(), sparse.packed.len()), (histogram, 2 * 4 * 1024 + 2));
    }
}
