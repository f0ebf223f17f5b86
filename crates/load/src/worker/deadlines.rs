//! When a connection is to be looked at for requests whose time is over. Nearly all requests end long before: so an end
//! takes nothing here, a beginning a comparison. The look comes when the oldest request's time would be over, as of the
//! last look, and mostly finds a younger one, which says when to look again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Deadlines {
    timeout_ns: u64,
    due_ns: Vec<u64>,
    /// The same, the earliest first. What `due_ns` does not have (any more) is passed over.
    looks: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Deadlines {
    /// For slots `0..slots`, none of them with a request.
    pub(crate) fn new(slots: usize, timeout_ns: u64) -> Deadlines {
        // Twice: an earlier look stands beside the later one that it replaces.
        let looks = BinaryHeap::with_capacity(2 * slots);
        Deadlines { timeout_ns, due_ns: vec![NONE; slots], looks }
    }

    /// The time of a request on this slot runs from then on: the slot is looked at when it is over, or before.
    #[inline]
    pub(crate) fn start(&mut self, slot: u32, since_ns: u64) {
        self.look_by(slot, since_ns.saturating_add(self.timeout_ns));
    }

    /// The slot is looked at by then, whatever its requests' time.
    #[inline]
    pub(crate) fn look_by(&mut self, slot: u32, at_ns: u64) {
        if at_ns < self.due_ns[slot as usize] {
            self.look(slot, at_ns);
        }
    }

    #[cold]
    fn look(&mut self, slot: u32, at_ns: u64) {
        let Deadlines { due_ns, looks, .. } = self;
        due_ns[slot as usize] = at_ns;
        if looks.len() == looks.capacity() {
            looks.retain(|Reverse((at_ns, slot))| due_ns[*slot as usize] == *at_ns);
        }
        looks.push(Reverse((at_ns, slot)));
    }

    /// Whether the time of none of a slot's requests is over, for all that is known without a look at it.
    pub(crate) fn is_in_time(&self, slot: u32, now_ns: u64) -> bool {
        now_ns < self.due_ns[slot as usize]
    }

    /// The next look; `u64::MAX` where none is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.looks.peek().map_or(NONE, |Reverse((at_ns, _))| *at_ns)
    }

    /// A slot that is to be looked at by now, if one is. It is looked at once for each time that is given.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<u32> {
        while self.next_ns() <= now_ns {
            let Reverse((at_ns, slot)) = self.looks.pop()?;
            let due_ns = &mut self.due_ns[slot as usize];
            if *due_ns == at_ns {
                *due_ns = NONE;
                return Some(slot);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMEOUT_NS: u64 = 10;

    proptest! {
        /// Requests on eight slots, each with since when its time runs: all that is over is found at its instant.
        #[test]
        fn a_request_is_looked_at_when_its_time_is_over(
            steps in proptest::collection::vec((0u32..8, 0u8..4, 0u64..5), 0..300),
        ) {
            let mut deadlines = Deadlines::new(8, TIMEOUT_NS);
            let room = deadlines.looks.capacity();
            let mut slots: [Vec<u64>; 8] = Default::default();
            let mut now = 0;
            for (slot, step, later) in steps {
                for _ in 0..later {
                    now += 1;
                    while let Some(slot) = deadlines.take(now) {
                        let running = &mut slots[slot as usize];
                        running.retain(|since| now - since < TIMEOUT_NS);
                        if let Some(oldest) = running.iter().min() {
                            deadlines.start(slot, *oldest);
                        }
                    }
                    let over = |since: &u64| now - since >= TIMEOUT_NS;
                    prop_assert!(!slots.iter().flatten().any(over), "{:?} at {}", slots, now);
                    prop_assert!(deadlines.next_ns() > now);
                }
                let since = now.saturating_sub(if step == 1 { 3 } else { 0 });
                if step < 3 {
                    slots[slot as usize].push(since);
                    deadlines.start(slot, since);
                } else {
                    slots[slot as usize].pop();
                }
            }
            prop_assert_eq!(deadlines.looks.capacity(), room);
        }
    }

    #[test]
    fn what_never_ends_is_never_looked_at() {
        let mut deadlines = Deadlines::new(1, u64::MAX);
        deadlines.start(0, 5);
        assert_eq!((deadlines.next_ns(), deadlines.take(u64::MAX - 1)), (u64::MAX, None));
    }
}
