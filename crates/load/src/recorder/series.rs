//! The window second by second, in bounded memory (docs/decisions/0008). Where entries are too many or take too much
//! room, neighbours are merged two by two, and all are twice as long from there on.

use crate::recorder::SECOND_NS;
use crate::recorder::window_delta::WindowDelta;
use prony_model::histogram::{Histogram, SparseHistogram, merged, pack, unpack};
use prony_model::measurement::Second;

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Entries, at most.
    entries: usize,
    /// Bytes of their histograms, at most; a single entry may have more.
    bytes: usize,
}

/// Ten minutes of seconds, a day in entries of 256 s. A fast steady server's second takes 4 to 16 KiB: four minutes or
/// more; were every bucket filled, 50 entries would still fit, and trends take 20.
const LIMITS: Limits = Limits { entries: 600, bytes: 4 << 20 };

/// What a second may need, to tell how much memory a load of a given length will.
const SECOND_BYTES: u64 = 16 << 10;

#[derive(Debug)]
pub(crate) struct Series {
    limits: Limits,
    seconds: u64,
    seconds_each: u64,
    entries: Vec<Entry>,
    /// The entries' histograms one after the other, each as [`pack`] writes it.
    packed: Vec<u8>,
    scratch: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Where its histogram begins; it ends where the next one's begins.
    begins: usize,
    completed: u64,
    failed: u64,
    connections: u64,
}

impl Series {
    /// Room for a window of `duration_ns` (`None`: a count ends it), taken now: memory does not grow under load.
    pub(crate) fn with_room(duration_ns: Option<u64>) -> Series {
        let seconds = duration_ns.map_or(0, |ns| ns.div_ceil(SECOND_NS));
        let taken = usize::try_from(seconds.saturating_mul(SECOND_BYTES)).unwrap_or(usize::MAX);
        let mut series = Series::limited(LIMITS);
        // Written to, since the kernel gives no page before.
        series.packed.resize(taken.min(LIMITS.bytes), 0xff);
        series.packed.clear();
        series
    }

    fn limited(limits: Limits) -> Series {
        Series {
            limits,
            seconds: 0,
            seconds_each: 1,
            entries: Vec::with_capacity(limits.entries),
            packed: Vec::with_capacity(limits.bytes),
            scratch: Vec::new(),
        }
    }

    /// Adds the second that follows, or what is left of one at the window's end, and its completed requests' responses.
    pub(crate) fn add(&mut self, part: &WindowDelta, response: &Histogram) {
        loop {
            let at = usize::try_from(self.seconds / self.seconds_each).unwrap_or(usize::MAX);
            if at < self.limits.entries {
                if at == self.entries.len() {
                    self.entries.push(Entry { begins: self.packed.len(), ..Entry::default() });
                }
                let begins = self.entries[at].begins;
                self.scratch.clear();
                pack(merged(unpack(&self.packed[begins..]), response.buckets()), &mut self.scratch);
                if begins + self.scratch.len() <= self.limits.bytes || at == 0 {
                    self.packed.truncate(begins);
                    self.packed.extend_from_slice(&self.scratch);
                    break;
                }
            }
            self.coarsen();
        }
        self.seconds += 1;
        if let Some(entry) = self.entries.last_mut() {
            entry.completed += part.requests.completed;
            entry.failed += part.requests.failed;
            entry.connections = part.connections;
        }
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.seconds
    }

    fn range(&self, at: usize) -> (usize, usize) {
        let ends = self.entries.get(at + 1).map_or(self.packed.len(), |next| next.begins);
        (self.entries[at].begins, ends)
    }

    /// Merges neighbours, in place: two histograms merged are no longer than both.
    fn coarsen(&mut self) {
        self.seconds_each *= 2;
        let mut written = 0;
        for pair in 0..self.entries.len().div_ceil(2) {
            let (left, right) = (2 * pair, 2 * pair + 1);
            let mut entry = self.entries[left];
            self.scratch.clear();
            let (begins, ends) = self.range(left);
            if let Some(later) = self.entries.get(right) {
                entry.completed += later.completed;
                entry.failed += later.failed;
                entry.connections = later.connections;
                let (from, to) = self.range(right);
                pack(
                    merged(unpack(&self.packed[begins..ends]), unpack(&self.packed[from..to])),
                    &mut self.scratch,
                );
            } else {
                self.scratch.extend_from_slice(&self.packed[begins..ends]);
            }
            entry.begins = written;
            self.packed[written..written + self.scratch.len()].copy_from_slice(&self.scratch);
            written += self.scratch.len();
            // Its own place is read: later pairs lie behind it.
            self.entries[pair] = entry;
        }
        self.packed.truncate(written);
        self.entries.truncate(self.entries.len().div_ceil(2));
    }

    pub(crate) fn finish(self, window_ns: u64) -> Vec<Second> {
        let each_ns = self.seconds_each * SECOND_NS;
        let second = |(at, entry): (usize, &Entry)| {
            let (begins, ends) = self.range(at);
            let at_ns = at as u64 * each_ns;
            Second {
                at_ns,
                length_ns: if at + 1 == self.entries.len() {
                    window_ns.saturating_sub(at_ns).min(each_ns)
                } else {
                    each_ns
                },
                completed: entry.completed,
                failed: entry.failed,
                connections: entry.connections,
                response: SparseHistogram::from_packed(&self.packed[begins..ends]),
            }
        };
        self.entries.iter().enumerate().map(second).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(series: &mut Series, second: u64, values: &[u64]) {
        let mut response = Histogram::default();
        values.iter().for_each(|value| response.record(*value));
        let mut part = WindowDelta { connections: 10 + second * 3, ..WindowDelta::default() };
        (part.requests.completed, part.requests.failed) = (values.len() as u64, second % 3);
        series.add(&part, &response);
        assert!(series.entries.len() <= series.limits.entries);
        assert!(series.packed.len() <= series.limits.bytes || series.entries.len() == 1);
    }

    proptest! {
        /// Whatever the seconds hold: nothing is lost or moved to another time, and neither entries nor bytes are more than
        /// they may be.
        #[test]
        fn any_seconds_are_kept_within_bounds(
            values in prop::collection::vec(prop::collection::vec(1u64..3_600_000_000_000, 0..12), 1..90),
            entries in 2usize..20,
            bytes in 40usize..4000,
        ) {
            let seconds = values.len() as u64;
            let mut series = Series::limited(Limits { entries, bytes });
            (0..).zip(&values).for_each(|(second, values)| add(&mut series, second, values));
            let each = series.seconds_each;
            prop_assert!(each.is_power_of_two());
            let window_ns = seconds * SECOND_NS - 300_000_000;
            let kept = series.finish(window_ns);
            prop_assert_eq!(kept.len() as u64, seconds.div_ceil(each));
            prop_assert_eq!(kept.iter().map(|s| s.length_ns).sum::<u64>(), window_ns);
            for (i, entry) in (0u64..).zip(&kept) {
                let within = i * each..((i + 1) * each).min(seconds);
                let mut all = Histogram::default();
                for index in within.clone() {
                    values[index as usize].iter().for_each(|v| all.record(*v));
                }
                prop_assert_eq!(entry.at_ns, i * each * SECOND_NS);
                prop_assert_eq!(entry.completed, all.len());
                prop_assert_eq!(entry.failed, within.clone().map(|s| s % 3).sum::<u64>());
                prop_assert_eq!(entry.connections, 10 + (within.end - 1) * 3);
                prop_assert_eq!(&entry.response, &all.to_sparse());
            }
        }
    }

    #[test]
    fn ten_minutes_are_seconds_and_a_day_is_in_bounds() {
        let values: Vec<u64> = (0..100).map(|i| 100_000 + i * 1_000).collect();
        let series = |seconds: u64| {
            let mut kept = Series::limited(LIMITS);
            (0..seconds).for_each(|second| add(&mut kept, second, &values));
            kept.finish(seconds * SECOND_NS)
        };
        let ten_minutes = series(600);
        assert_eq!((ten_minutes.len(), ten_minutes[599].length_ns), (600, SECOND_NS));
        let more = series(601);
        assert_eq!((more.len(), more[0].length_ns, more[300].length_ns), (301, 2 * SECOND_NS, SECOND_NS));
        assert_eq!(series(86_400).len(), 338);
    }

    #[test]
    fn the_series_memory_is_allocated_before_the_load() {
        let capacity = Series::with_room(Some(600 * SECOND_NS)).packed.capacity();
        assert!(capacity >= LIMITS.bytes);
        // Seconds whose every answer has a bucket of its own.
        let wide: Vec<u64> = (0..9_000).map(|i| 1_000_000 + i * 2_000).collect();
        let mut series = Series::with_room(Some(1_000 * SECOND_NS));
        (0..1_000).for_each(|second| add(&mut series, second, &wide));
        assert_eq!(series.packed.capacity(), capacity);
        assert!((50..=600).contains(&series.entries.len()), "{}", series.entries.len());
    }
}
