//! Which workers have a free connection, for those that have none: of open arrivals, each worker takes its own
//! share of the schedule to its own connections, and a request may wait for one while another worker's rests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NONE: u64 = u64::MAX;
/// Of how many other workers one looks at the state when a request has waited: of all, this would grow with their number.
const LOOKS: usize = 4;

/// One worker's, on a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Since(AtomicU64);

/// Since when each worker has had a free connection without a break.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    /// Empty where one worker is alone.
    workers: Vec<Since>,
}

impl Idle {
    pub(crate) fn new(workers: u32) -> Idle {
        let count = if workers > 1 { workers } else { 0 };
        Idle { workers: (0..count).map(|_| Since(AtomicU64::new(NONE))).collect() }
    }

    fn set(&self, worker: u32, since_ns: u64) {
        if let Some(own) = self.workers.get(worker as usize) {
            own.0.store(since_ns, Ordering::Relaxed);
        }
    }

    /// For how much of `from_ns` to `to_ns` this worker had a free connection, if it still has one.
    fn overlap(&self, worker: usize, from_ns: u64, to_ns: u64) -> u64 {
        let since_ns = self.workers[worker].0.load(Ordering::Relaxed);
        to_ns.saturating_sub(since_ns.max(from_ns))
    }
}

/// A worker's places that are free for a due request, each with since when, the one free longest first.
#[derive(Debug)]
pub(crate) struct Free {
    places: VecDeque<(u32, u64)>,
    idle: Arc<Idle>,
    worker: u32,
    /// The worker looked at last, and the one that was found free for longest.
    looked: usize,
    freest: usize,
}

impl Free {
    pub(crate) fn with_capacity(places: usize, idle: Arc<Idle>, worker: u32) -> Free {
        let at = worker as usize;
        Free { places: VecDeque::with_capacity(places), idle, worker, looked: at, freest: at }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn push_back(&mut self, place: u32, since_ns: u64) {
        if self.places.is_empty() {
            self.idle.set(self.worker, since_ns);
        }
        self.places.push_back((place, since_ns));
    }

    pub(crate) fn pop_front(&mut self) -> Option<(u32, u64)> {
        let first = self.places.pop_front();
        if self.places.is_empty() {
            self.idle.set(self.worker, NONE);
        }
        first
    }

    /// For how much of a wait, which ended when a place of this worker became free, another worker had one: at least so
    /// long. The next few workers are looked at, and the freest of the looks before.
    pub(crate) fn beside(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        let (count, own) = (self.idle.workers.len(), self.worker as usize);
        let overlap = |at: usize| if at == own { 0 } else { self.idle.overlap(at, from_ns, to_ns) };
        if count == 0 {
            return 0;
        }
        let mut longest = overlap(self.freest);
        for _ in 0..LOOKS.min(count - 1) {
            let after = |at: usize| if at + 1 < count { at + 1 } else { 0 };
            self.looked = after(self.looked);
            if self.looked == own {
                self.looked = after(own);
            }
            let found = overlap(self.looked);
            if found > longest {
                (longest, self.freest) = (found, self.looked);
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_beside_another_workers_free_connection_are_counted() {
        let idle = Arc::new(Idle::new(3));
        let mut free: Vec<Free> =
            (0..3).map(|worker| Free::with_capacity(4, Arc::clone(&idle), worker)).collect();
        assert_eq!(free[0].beside(100, 200), 0, "nobody is");
        free[1].push_back(7, 150);
        free[1].push_back(8, 180);
        assert_eq!((free[0].beside(100, 200), free[0].beside(160, 200)), (50, 40));
        assert_eq!(free[1].beside(100, 200), 0, "its own do not count");
        free[2].push_back(1, 10);
        assert_eq!(free[0].beside(100, 200), 100);
        assert_eq!((free[2].pop_front(), free[1].pop_front()), (Some((1, 10)), Some((7, 150))));
        assert_eq!(free[0].beside(100, 200), 50, "one of its two is left");
        free[1].pop_front();
        assert_eq!(free[0].beside(100, 200), 0);
    }

    #[test]
    fn of_many_workers_the_free_one_is_found_and_kept() {
        let idle = Arc::new(Idle::new(128));
        let mut free: Vec<Free> =
            (0..128).map(|worker| Free::with_capacity(4, Arc::clone(&idle), worker)).collect();
        free[100].push_back(7, 150);
        let found: Vec<u64> = (0..60).map(|_| free[3].beside(100, 200)).collect();
        // Four at a time from the fifth on: the hundredth is in the 25th look, and is looked at in each after it.
        let first = found.iter().position(|overlap| *overlap > 0).unwrap();
        assert_eq!(first, (100 - 3usize).div_ceil(LOOKS) - 1);
        assert!(found[first..].iter().all(|overlap| *overlap == 50));
        free[100].pop_front();
        assert_eq!(free[3].beside(100, 200), 0);
    }

    #[test]
    fn a_single_worker_counts_no_waits_beside_others() {
        let idle = Arc::new(Idle::new(1));
        let mut free = Free::with_capacity(1, Arc::clone(&idle), 0);
        free.push_back(0, 5);
        assert!(idle.workers.is_empty() && !free.is_empty());
        assert_eq!(free.beside(0, 10), 0);
    }
}
