//! The window second by second, in bounded memory (docs/decisions/0008).
//!
//! Entries are a second long until there are too many of them, or their
//! histograms take too much room; then neighbours are merged two by two, and
//! entries are twice as long from there on: all of one length at any time.

use std::collections::VecDeque;

use crate::control::LastSecond;
use crate::recorder::live_summary::LiveSummary;
use crate::recorder::{Lags, SecondPart};
use prony_model::histogram::{Histogram, SparseHistogram, merged, pack, unpack};
use prony_model::measurement::Second;

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Entries, at most.
    entries: usize,
    /// Bytes of their histograms, at most; a single entry may have more.
    bytes: usize,
}

/// Ten minutes of seconds, and a day in entries of 256 s. A second of a fast and steady server
/// takes 4 to 16 KiB, so that the bytes hold four minutes or more of seconds; were every bucket
/// of a histogram filled, they would still hold 50 entries, and trends take 20.
const LIMITS: Limits = Limits { entries: 600, bytes: 4 << 20 };

/// Seconds that are kept by themselves: workers are seldom more than one apart.
const RECENT_MAX: usize = 4;

/// What a second may need, to tell how much memory a load of a given length will.
const SECOND_BYTES: u64 = 16 << 10;

/// The seconds of the window, as far as workers have finished them.
#[derive(Debug)]
pub(crate) struct Series {
    limits: Limits,
    /// An entry's length: a power of two.
    seconds_each: u64,
    entries: Vec<Entry>,
    /// The entries' histograms one after the other, each as [`pack`] writes it.
    packed: Vec<u8>,
    scratch: Vec<u8>,
    /// The newest seconds by themselves, for who watches.
    recent: VecDeque<Recent>,
    unpacked: Histogram,
    /// All of the window so far, for who watches.
    so_far: Histogram,
    failed_so_far: u64,
}

/// A second, as far as workers have finished it.
#[derive(Debug, Default)]
struct Recent {
    index: u64,
    /// How many workers' parts it has.
    parts: usize,
    completed: u64,
    failed: u64,
    connections: u64,
    response: SparseHistogram,
    lags: Lags,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Where its histogram begins; it ends where the next one's begins.
    begins: usize,
    completed: u64,
    failed: u64,
    /// The last second that any worker has finished of it, and the connections at its end.
    last: u64,
    connections: u64,
}

impl Series {
    /// Room for a window of `duration_ns`; `None` where only a count ends it. What such a window
    /// may need is taken from the system here, before the clock starts, so that memory does not grow under load.
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
            seconds_each: 1,
            entries: Vec::with_capacity(limits.entries),
            packed: Vec::with_capacity(limits.bytes),
            scratch: Vec::new(),
            recent: VecDeque::with_capacity(RECENT_MAX),
            unpacked: Histogram::default(),
            so_far: Histogram::default(),
            failed_so_far: 0,
        }
    }

    /// Adds one worker's part; `give_back` takes its histogram, emptied.
    pub(crate) fn add(&mut self, part: SecondPart, give_back: impl FnOnce(usize, Histogram)) {
        self.add_recent(&part);
        self.so_far.add(&part.response);
        self.failed_so_far += part.failed;
        let at = loop {
            let at = usize::try_from(part.index / self.seconds_each).unwrap_or(usize::MAX);
            if at >= self.limits.entries {
                self.coarsen();
                continue;
            }
            while self.entries.len() <= at {
                self.entries.push(Entry { begins: self.packed.len(), ..Entry::default() });
            }
            let (begins, ends) = self.range(at);
            self.scratch.clear();
            pack(merged(unpack(&self.packed[begins..ends]), part.response.buckets()), &mut self.scratch);
            let bytes = self.packed.len() - (ends - begins) + self.scratch.len();
            if bytes <= self.limits.bytes || self.entries.len() == 1 {
                self.packed.splice(begins..ends, self.scratch.iter().copied());
                let (before, after) = (ends - begins, self.scratch.len());
                for later in &mut self.entries[at + 1..] {
                    later.begins = later.begins - before + after;
                }
                break at;
            }
            self.coarsen();
        };
        let entry = &mut self.entries[at];
        entry.completed += part.completed;
        entry.failed += part.failed;
        // Workers finish a second one after the other; a second of the entry before its last no longer counts.
        if part.index > entry.last {
            (entry.last, entry.connections) = (part.index, 0);
        }
        if part.index == entry.last {
            entry.connections += part.connections;
        }
        let mut emptied = part.response;
        emptied.clear();
        give_back(part.place, emptied);
    }

    fn add_recent(&mut self, part: &SecondPart) {
        let newest = self.recent.back().map(|second| second.index);
        if newest.is_none_or(|newest| newest < part.index) {
            // Every second takes the memory of one that is forgotten: a heap that is given and takes back
            // some kilobytes of another length each second grows by its holes.
            let forgotten = if self.recent.len() == RECENT_MAX { self.recent.pop_front() } else { None };
            let response = forgotten.map(|second| second.response.emptied()).unwrap_or_default();
            self.recent.push_back(Recent { index: part.index, response, ..Recent::default() });
        }
        // One that is older than all of these is seen by nobody.
        let Some(second) = self.recent.iter_mut().find(|second| second.index == part.index) else { return };
        second.parts += 1;
        second.completed += part.completed;
        second.failed += part.failed;
        second.connections += part.connections;
        second.response.merge(&part.response, &mut self.scratch);
        second.lags.merge(&part.lags);
    }

    /// The finished seconds together; of several workers, those of each. It reads the whole histogram.
    pub(crate) fn so_far(&self) -> LiveSummary {
        LiveSummary::of(&self.so_far, self.failed_so_far)
    }

    /// The last second that so many workers have finished, unless it is the
    /// one that `known` is of. Its histogram is unpacked once a second, in the observer's thread.
    pub(crate) fn last_second(&mut self, workers: usize, known: Option<LastSecond>) -> Option<LastSecond> {
        let Some(second) = self.recent.iter().rfind(|second| second.parts >= workers) else { return known };
        let at_ns = second.index * SECOND_NS;
        if known.is_some_and(|known| known.at_ns == at_ns) {
            return known;
        }
        let response = &mut self.unpacked;
        response.clear();
        response.add_sparse(&second.response);
        let given = |least: u64, value: u64| (response.len() >= least).then_some(value);
        Some(LastSecond {
            at_ns,
            completed: second.completed,
            failed: second.failed,
            connections: second.connections,
            p50_ns: given(1, response.value_at_quantile(0.5)),
            p99_ns: given(100, response.value_at_quantile(0.99)),
            max_ns: given(1, response.max()),
            lateness_mean_ns: second.lags.lateness_sum_ns.checked_div(second.completed).unwrap_or(0),
            lateness_max_ns: second.lags.lateness_max_ns,
            connection_wait_mean_ns: second
                .lags
                .connection_wait_sum_ns
                .checked_div(second.completed)
                .unwrap_or(0),
        })
    }

    /// Where an entry's histogram begins and ends.
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
                (entry.last, entry.connections) = (later.last, later.connections);
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

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries of a window of this length.
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
    use crate::recorder::live_summary::LivePercentile;
    use proptest::prelude::*;

    fn part(worker: usize, index: u64, values: &[u64]) -> SecondPart {
        let mut response = Histogram::default();
        values.iter().for_each(|value| response.record(*value));
        let (completed, connections) = (values.len() as u64, 10 + index * 3 + worker as u64);
        let mut lags = Lags::default();
        values.iter().for_each(|_| lags.add(index + 30, 20, 1));
        SecondPart { place: worker, index, completed, failed: index % 3, connections, response, lags }
    }

    fn added(limits: Limits, parts: impl Iterator<Item = SecondPart>) -> Series {
        let mut series = Series::limited(limits);
        for part in parts {
            series.add(part, |_, emptied| assert!(emptied.is_empty()));
            assert!(series.entries.len() <= limits.entries);
            assert!(series.packed.len() <= limits.bytes || series.entries.len() == 1);
        }
        series
    }

    proptest! {
        /// Whatever the seconds hold and in whatever order workers finish them: nothing is lost
        /// or moved to another time, and neither entries nor bytes are more than they may be.
        #[test]
        fn any_seconds_are_kept_within_bounds(
            values in prop::collection::vec(prop::collection::vec(1u64..3_600_000_000_000, 0..12), 1..90),
            workers in 1usize..4,
            behind in 0u64..7,
            entries in 2usize..20,
            bytes in 40usize..4000,
        ) {
            let seconds = values.len() as u64;
            // The last worker is some seconds behind the others.
            let order = (0..seconds + behind).flat_map(|now| (0..workers).filter_map(move |worker| {
                let index = if worker + 1 == workers { now.checked_sub(behind)? } else { now };
                (index < seconds).then_some((worker, index))
            }));
            let series = added(
                Limits { entries, bytes },
                order.map(|(worker, index)| part(worker, index, &values[index as usize])),
            );
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
                    values[index as usize].iter().for_each(|v| all.record_n(*v, workers as u64));
                }
                prop_assert_eq!(entry.at_ns, i * each * SECOND_NS);
                prop_assert_eq!(entry.completed, all.len());
                prop_assert_eq!(entry.failed, within.clone().map(|s| s % 3 * workers as u64).sum::<u64>());
                let last = within.end - 1;
                prop_assert_eq!(entry.connections, (0..workers as u64).map(|w| 10 + last * 3 + w).sum::<u64>());
                prop_assert_eq!(&entry.response, &all.to_sparse());
            }
        }
    }

    #[test]
    fn the_last_second_of_all_workers_is_given_by_itself_however_long_the_load() {
        let limits = Limits { entries: 4, bytes: 4 << 10 };
        let mut series = Series::limited(limits);
        assert_eq!(series.last_second(2, None), None);
        let mut known = None;
        for index in 0..40 {
            series.add(part(0, index, &[1_000 + index]), |_, _| {});
            // The second worker has not finished it: the one before is the last.
            known = series.last_second(2, known);
            assert_eq!(known.map(|k| k.at_ns), index.checked_sub(1).map(|i| i * SECOND_NS));
            series.add(part(1, index, &[2_000; 3]), |_, _| {});
            known = series.last_second(2, known);
            let last = known.unwrap();
            assert_eq!((last.at_ns, last.completed, last.failed), (index * SECOND_NS, 4, 2 * (index % 3)));
            assert_eq!((last.connections, last.max_ns), (21 + 6 * index, Some(2_000)));
            assert_eq!((last.lateness_mean_ns, last.lateness_max_ns), (index + 10, index + 10));
            assert_eq!(last.connection_wait_mean_ns, 20);
            let so_far = series.so_far();
            assert_eq!((so_far.completed, so_far.max_ns), (4 * (index + 1), Some(2_000)));
        }
        // A worker that falls behind by more than is kept leaves the figures where they are.
        for index in 40..60 {
            series.add(part(0, index, &[5]), |_, _| {});
            known = series.last_second(2, known);
            assert_eq!(known.unwrap().at_ns, 39 * SECOND_NS);
        }
        // Of those who are behind, what the others have finished counts: 180, and 99 failed.
        assert_eq!((series.so_far().completed, series.so_far().p50), (180, LivePercentile::At(2_000)));
        assert!(series.recent.len() <= RECENT_MAX && series.entries.len() <= limits.entries);
    }

    #[test]
    fn ten_minutes_are_seconds_and_a_day_is_in_bounds() {
        let values: Vec<u64> = (0..100).map(|i| 100_000 + i * 1_000).collect();
        let series = |seconds: u64| {
            let kept = added(LIMITS, (0..seconds).map(|index| part(0, index, &values)));
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
        for index in 0..1_000 {
            series.add(part(0, index, &wide), |_, _| {});
        }
        assert_eq!(series.packed.capacity(), capacity);
        assert!((50..=600).contains(&series.entries.len()), "{}", series.entries.len());
    }
}
