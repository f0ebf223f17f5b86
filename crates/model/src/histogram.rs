//! The one histogram of durations: dense where it is recorded, sparse where it is kept, with one rule for buckets and
//! one for quantiles. Values are nanoseconds from 0 to an hour, at three significant decimal digits: each power of two
//! has 1024 buckets, as HdrHistogram counts, so that its formats (`hdr`) lose nothing. A quantile is the value at the
//! nearest rank, quoted as the highest of its bucket; means take the middle of each bucket.

use std::cell::RefCell;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::unpacking;

/// The longest duration, in nanoseconds: an hour. Longer ones count as this.
pub const HIGH_NS: u64 = 3_600_000_000_000;
pub(crate) const DIGITS: u8 = 3;
/// The binary digits of a bucket's number within its power of two: 1024 buckets at three decimal digits.
pub const BUCKET_BITS: u32 = 10;
const BUCKETS: usize = 33_421;
/// The most that a file's count may be: a day at the highest rate has 2^43; 200,000 trials' sum is exact in 64 bits.
pub const COUNT_MAX: u64 = 1 << 44;
/// The most bytes that a histogram's text may take, and its packed buckets; a hostile run log must not make us allocate
/// more. Ours take a tenth.
const TEXT_MAX_BYTES: usize = 2 << 20;
/// Up to so many are merged list by list: clearing and searching all buckets takes longer.
const MERGED_MAX: usize = 4;

#[inline]
pub fn bucket_of(value_ns: u64) -> u64 {
    numbered_bucket(value_ns, BUCKET_BITS)
}

/// [`bucket_of`] where powers of two are shared by 2^`bits` buckets.
#[inline]
pub fn numbered_bucket(value_ns: u64, bits: u32) -> u64 {
    let exponent = (value_ns | ((2 << bits) - 1)).ilog2() - bits;
    (u64::from(exponent) << bits) + (value_ns >> exponent)
}

/// The least value of a bucket of [`numbered_bucket`].
#[inline]
pub fn value_of_numbered(bucket: u64, bits: u32) -> u64 {
    let exponent = (bucket >> bits).saturating_sub(1);
    (bucket - (exponent << bits)) << exponent
}

pub fn lowest_ns(bucket: u64) -> u64 {
    value_of_numbered(bucket, BUCKET_BITS)
}

/// How many values a bucket has.
fn width_ns(bucket: u64) -> u64 {
    1 << (bucket >> BUCKET_BITS).saturating_sub(1)
}

pub fn highest_ns(bucket: u64) -> u64 {
    lowest_ns(bucket) + width_ns(bucket) - 1
}

pub fn middle_ns(bucket: u64) -> u64 {
    lowest_ns(bucket) + width_ns(bucket) / 2
}

/// The nearest rank, from 1, of a quantile from 0 to 1: the least k with k/n ≥ q. In floats 0.07 × 100 is more than 7.
pub fn nearest_rank(quantile: f64, n: u64) -> u64 {
    const PARTS: f64 = 1e12;
    let scaled = u128::from(n) * (quantile.clamp(0.0, 1.0) * PARTS).round() as u128;
    u64::try_from(scaled.div_ceil(PARTS as u128)).unwrap_or(n).max(1)
}

/// The bucket that has the value of this rank, from 1; `None` where there are fewer.
fn bucket_at_rank(buckets: impl Iterator<Item = (u64, u64)>, rank: u64) -> Option<u64> {
    let mut below = 0u64;
    buckets.into_iter().find_map(|(bucket, count)| {
        below = below.saturating_add(count);
        (below >= rank).then_some(bucket)
    })
}

/// A histogram to record in: a count for every bucket, 267 KB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    len: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice(), len: 0 }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    #[inline]
    pub fn record_n(&mut self, value_ns: u64, count: u64) {
        // The bucket of an hour is the last.
        self.counts[bucket_of(value_ns.min(HIGH_NS)) as usize] += count;
        self.len += count;
    }

    pub fn add(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(to, from)| *to += from);
        self.len += other.len;
    }

    pub fn add_sparse(&mut self, other: &SparseHistogram) {
        for (bucket, count) in other.buckets() {
            self.counts[bucket as usize] += count;
            self.len += count;
        }
    }

    pub fn clear(&mut self) {
        // What is zero is not written to: the kernel may have given no memory for it.
        self.counts.iter_mut().filter(|count| **count > 0).for_each(|count| *count = 0);
        self.len = 0;
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).zip(self.counts.iter().copied()).filter(|(_, count)| *count > 0)
    }

    /// The value of a quantile from 0 to 1; 0 without any.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        self.value_at_rank(nearest_rank(quantile, self.len))
    }

    /// The value of a rank, from 1; 0 where there are fewer.
    pub fn value_at_rank(&self, rank: u64) -> u64 {
        bucket_at_rank(self.buckets(), rank).map_or(0, highest_ns)
    }

    /// The longest, as the highest of its bucket; 0 without any.
    pub fn max(&self) -> u64 {
        self.counts.iter().rposition(|count| *count > 0).map_or(0, |bucket| highest_ns(bucket as u64))
    }

    pub fn to_sparse(&self) -> SparseHistogram {
        SparseHistogram::from_buckets(self.buckets())
    }

    /// The same, and nothing is counted any more. Where nothing was, its memory is left alone: the kernel has given none.
    pub fn take(&mut self) -> SparseHistogram {
        if self.is_empty() {
            return SparseHistogram::default();
        }
        let sparse = self.to_sparse();
        self.clear();
        sparse
    }
}

/// A histogram to be kept: only non-empty buckets, two or three bytes each, some kilobytes a second. As text it is the
/// Base64 (without padding) of the raw DEFLATE of its packed buckets (see [`pack`]).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SparseHistogram {
    packed: Vec<u8>,
    len: u64,
}

/// Appends buckets with their counts, ascending, as LEB128 pairs: buckets skipped, and the count. Two merged lists are
/// never longer than both: a common bucket is written once, and a sum takes at most a byte more than the larger.
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

/// What [`pack`] wrote. Of anything else it is some buckets or none.
pub fn unpack(packed: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let (mut rest, mut next) = (packed, 0);
    std::iter::from_fn(move || {
        let (skipped, count) = pair(&mut rest)?;
        let bucket = next + skipped;
        next = bucket + 1;
        Some((bucket, count))
    })
}

/// The next two LEB128 numbers. Nearly all take a byte each.
#[inline]
fn pair(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    if let [skipped @ ..0x80, count @ ..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Some((u64::from(*skipped), u64::from(*count)));
    }
    Some((number(bytes)?, number(bytes)?))
}

/// The next LEB128 number, of which 63 bits count.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut byte = *bytes.split_off_first()?;
    let (mut number, mut shift) = (u64::from(byte & 0x7f), 7);
    while byte >= 0x80 {
        byte = *bytes.split_off_first()?;
        number |= if shift < 63 { u64::from(byte & 0x7f) << shift } else { 0 };
        shift += 7;
    }
    Some(number)
}

pub fn merged(
    mut left: impl Iterator<Item = (u64, u64)>,
    mut right: impl Iterator<Item = (u64, u64)>,
) -> impl Iterator<Item = (u64, u64)> {
    let (mut a, mut b) = (left.next(), right.next());
    std::iter::from_fn(move || match (a, b) {
        (Some((own, count)), Some((other, more))) if own == other => {
            (a, b) = (left.next(), right.next());
            Some((own, count + more))
        }
        (Some((own, _)), Some((other, _))) if other < own => std::mem::replace(&mut b, right.next()),
        (Some(_), _) => std::mem::replace(&mut a, left.next()),
        (None, Some(_)) => std::mem::replace(&mut b, right.next()),
        (None, None) => None,
    })
}

impl SparseHistogram {
    pub fn from_buckets(buckets: impl Iterator<Item = (u64, u64)>) -> SparseHistogram {
        SparseHistogram::packing(buckets, 0)
    }

    /// Of buckets that take about so many bytes.
    fn packing(buckets: impl Iterator<Item = (u64, u64)>, bytes: usize) -> SparseHistogram {
        let (mut packed, mut len) = (Vec::with_capacity(bytes), 0);
        pack(buckets.inspect(|(_, count)| len += count), &mut packed);
        // A load holds them by the thousand.
        packed.shrink_to_fit();
        SparseHistogram { packed, len }
    }

    /// From what [`pack`] wrote.
    pub fn from_packed(packed: &[u8]) -> SparseHistogram {
        SparseHistogram { packed: packed.to_vec(), len: unpack(packed).map(|(_, count)| count).sum() }
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn of_values(values_ns: impl IntoIterator<Item = u64>) -> SparseHistogram {
        let mut each: Vec<u64> = values_ns.into_iter().map(|value| bucket_of(value.min(HIGH_NS))).collect();
        each.sort_unstable();
        SparseHistogram::from_buckets(
            each.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)),
        )
    }

    pub fn add(&mut self, other: &SparseHistogram) {
        if self.is_empty() {
            self.clone_from(other);
        } else if !other.is_empty() {
            let bytes = self.packed.len() + other.packed.len();
            *self = SparseHistogram::packing(merged(self.buckets(), other.buckets()), bytes);
        }
    }

    /// Of many together: one by one they would be packed anew with each.
    pub fn sum<'a>(of: impl IntoIterator<Item = &'a SparseHistogram>) -> SparseHistogram {
        let of: Vec<&SparseHistogram> = of.into_iter().filter(|one| !one.is_empty()).collect();
        let mut sum = SparseHistogram::default();
        if of.len() <= MERGED_MAX {
            of.into_iter().for_each(|one| sum.add(one));
            return sum;
        }
        let mut sum = Histogram::default();
        of.into_iter().for_each(|one| sum.add_sparse(one));
        sum.to_sparse()
    }

    #[must_use]
    pub(crate) fn with_zeros(&self, count: u64) -> SparseHistogram {
        let zeros = [(0, count)].into_iter().filter(|_| count > 0);
        SparseHistogram::packing(merged(zeros, self.buckets()), self.packed.len() + 11)
    }

    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        unpack(&self.packed)
    }

    /// No fewer than [`SparseHistogram::buckets`] has: each takes two bytes or more.
    pub fn buckets_max(&self) -> usize {
        self.packed.len() / 2
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The value of a quantile from 0 to 1; 0 without any.
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        bucket_at_rank(self.buckets(), nearest_rank(quantile, self.len())).map_or(0, highest_ns)
    }

    /// The values of quantiles that rise, found together.
    pub fn values_at_quantiles<const N: usize>(&self, rising: [f64; N]) -> [u64; N] {
        let (mut buckets, mut below, mut value) = (self.buckets(), 0u64, 0);
        rising.map(|quantile| {
            let rank = nearest_rank(quantile, self.len());
            while below < rank {
                let Some((bucket, count)) = buckets.next() else { return 0 };
                (below, value) = (below.saturating_add(count), highest_ns(bucket));
            }
            value
        })
    }

    /// The shortest, as the least of its bucket; 0 without any.
    pub fn min(&self) -> u64 {
        self.buckets().next().map_or(0, |(bucket, _)| lowest_ns(bucket))
    }

    /// The longest, as the highest of its bucket; 0 without any.
    pub fn max(&self) -> u64 {
        self.buckets().last().map_or(0, |(bucket, _)| highest_ns(bucket))
    }

    /// The mean in nanoseconds; 0 without any.
    pub fn mean(&self) -> f64 {
        self.moments().0
    }

    /// The mean and the standard deviation in nanoseconds; 0 without any.
    pub fn moments(&self) -> (f64, f64) {
        let (mean, deviation, _) = self.moments_and_max();
        (mean, deviation)
    }

    /// The same, and [`SparseHistogram::max`], which is on their way.
    pub fn moments_and_max(&self) -> (f64, f64, u64) {
        if self.is_empty() {
            return (0.0, 0.0, 0);
        }
        let (len, mut last) = (self.len as f64, 0);
        let each = || self.buckets().map(|(bucket, count)| (bucket, middle_ns(bucket) as f64, count as f64));
        let sum: f64 =
            each().inspect(|(bucket, ..)| last = *bucket).map(|(_, value, count)| value * count).sum();
        let mean = sum / len;
        let variance = each().map(|(_, value, count)| (value - mean).powi(2) * count).sum::<f64>() / len;
        (mean, variance.sqrt(), highest_ns(last))
    }

    /// It, with its memory taken from what its text may unpack.
    pub(crate) fn taken(self) -> Result<SparseHistogram, &'static str> {
        unpacking::take(self.packed.capacity()).map(|()| self)
    }

    fn to_text(&self) -> String {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        // Writing to a Vec cannot fail.
        let _ = encoder.write_all(&self.packed);
        STANDARD_NO_PAD.encode(encoder.finish().unwrap_or_default())
    }

    fn from_text(text: &str) -> Result<SparseHistogram, &'static str> {
        if text.len() > TEXT_MAX_BYTES {
            return Err("a histogram is longer than any of Prony's");
        }
        let bytes = STANDARD_NO_PAD.decode(text).map_err(|_| "a histogram is not Base64 without padding")?;
        let packed = inflated(&bytes).ok_or("a histogram is damaged: it does not decompress")?;
        let len = sound_len(&packed).filter(|_| packed.len() <= TEXT_MAX_BYTES);
        let len = len.ok_or("a histogram is damaged: its buckets are not those of a histogram")?;
        Ok(SparseHistogram { packed, len })
    }
}

/// Raw DEFLATE unpacked; `None` where it is damaged, cut off, or far beyond [`TEXT_MAX_BYTES`]. A log has thousands: what
/// unpacking takes, 40 KB and the longest text, is made once a thread. Told to finish at once, it unpacks where the bytes
/// are to be, and not into a window of its own first.
fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    thread_local!(static STATE: RefCell<(Decompress, Vec<u8>)> = RefCell::new((Decompress::new(false), Vec::new())));
    STATE.with_borrow_mut(|(state, out)| {
        let mut room = 4 * bytes.len() + 64;
        loop {
            out.resize(out.len().max(room), 0);
            state.reset(false);
            if state.decompress(bytes, out, FlushDecompress::Finish).ok()? == Status::StreamEnd {
                return out.get(..usize::try_from(state.total_out()).ok()?).map(<[u8]>::to_vec);
            }
            // Without room for all it has failed, and begins anew.
            if out.len() > TEXT_MAX_BYTES {
                return None;
            }
            room = 2 * out.len();
        }
    })
}

/// The sum of the counts of packed buckets, where they are what [`pack`] could have written: whole numbers, buckets within
/// bounds, no empty bucket, and a sum within [`COUNT_MAX`], so that sums of several are exact wherever they are taken.
fn sound_len(packed: &[u8]) -> Option<u64> {
    let (mut rest, mut next, mut len) = (packed, 0u64, 0u64);
    while !rest.is_empty() {
        let (skipped, count) = pair(&mut rest)?;
        next = next.saturating_add(skipped).saturating_add(1);
        len = len.saturating_add(count);
        if next > BUCKETS as u64 || count == 0 || len > COUNT_MAX {
            return None;
        }
    }
    Some(len)
}

impl Serialize for SparseHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_text())
    }
}

impl<'de> Deserialize<'de> for SparseHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SparseHistogram, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        SparseHistogram::from_text(&text).and_then(SparseHistogram::taken).map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for SparseHistogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SparseHistogram".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Base64 (no padding) of the raw DEFLATE of LEB128 pairs: buckets skipped, count."
        })
    }
}

#[cfg(test)]
mod tests;
