//! Which request expires next.
//!
//! All requests of a plan have one timeout, so those that started earlier
//! expire earlier: a doubly linked list in order of start gives the next
//! deadline in O(1) and costs a few stores per request, where a timer wheel
//! or a heap would cost more and a scan would be late.

const NONE: u32 = u32::MAX;

/// Slots in order of their start.
#[derive(Debug)]
pub(crate) struct Deadlines {
    timeout_ns: u64,
    links: Vec<Link>,
    head: u32,
    tail: u32,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    start_ns: u64,
    listed: bool,
}

impl Deadlines {
    /// For slots `0..slots`, none of them started.
    pub(crate) fn new(slots: usize, timeout_ns: u64) -> Deadlines {
        let link = Link { previous: NONE, next: NONE, start_ns: 0, listed: false };
        Deadlines { timeout_ns, links: vec![link; slots], head: NONE, tail: NONE }
    }

    /// Starts (or restarts) a slot's time. Starts must not go back in time.
    pub(crate) fn start(&mut self, slot: u32, now_ns: u64) {
        self.stop(slot);
        self.insert_after(self.tail, slot, now_ns);
    }

    /// Starts a slot's time as from an earlier instant; walks past those that started later.
    pub(crate) fn start_since(&mut self, slot: u32, since_ns: u64) {
        self.stop(slot);
        let mut previous = self.tail;
        while previous != NONE && self.links[previous as usize].start_ns > since_ns {
            previous = self.links[previous as usize].previous;
        }
        self.insert_after(previous, slot, since_ns);
    }

    fn insert_after(&mut self, previous: u32, slot: u32, start_ns: u64) {
        let next = match previous {
            NONE => std::mem::replace(&mut self.head, slot),
            previous => std::mem::replace(&mut self.links[previous as usize].next, slot),
        };
        match next {
            NONE => self.tail = slot,
            next => self.links[next as usize].previous = slot,
        }
        self.links[slot as usize] = Link { previous, next, start_ns, listed: true };
    }

    /// Ends a slot's time, if it runs.
    pub(crate) fn stop(&mut self, slot: u32) {
        let link = self.links[slot as usize];
        if !link.listed {
            return;
        }
        match link.previous {
            NONE => self.head = link.next,
            previous => self.links[previous as usize].next = link.next,
        }
        match link.next {
            NONE => self.tail = link.previous,
            next => self.links[next as usize].previous = link.previous,
        }
        self.links[slot as usize].listed = false;
    }

    /// The next deadline; `u64::MAX` when nothing runs.
    pub(crate) fn next_ns(&self) -> u64 {
        match self.head {
            NONE => u64::MAX,
            head => self.links[head as usize].start_ns.saturating_add(self.timeout_ns),
        }
    }

    /// The slot whose time is over, if one is; it stays listed until stopped.
    pub(crate) fn expired(&self, now_ns: u64) -> Option<u32> {
        (self.next_ns() <= now_ns && self.head != NONE).then_some(self.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(steps in proptest::collection::vec((0u32..8, 0u8..3, 0u64..5), 0..200)) {
            let mut list = Deadlines::new(8, 10);
            let mut model: [Option<u64>; 8] = [None; 8];
            let mut now = 0;
            for (slot, step, later) in steps {
                now += later;
                match step {
                    0 => { list.start(slot, now); model[slot as usize] = Some(now); }
                    1 => { let since = now.saturating_sub(3); list.start_since(slot, since); model[slot as usize] = Some(since); }
                    _ => { list.stop(slot); model[slot as usize] = None; }
                }
                let next = model.iter().flatten().min().map_or(u64::MAX, |start| start + 10);
                prop_assert_eq!(list.next_ns(), next);
                let expired = list.expired(now);
                prop_assert_eq!(expired.is_some(), next <= now);
                if let Some(slot) = expired { prop_assert_eq!(model[slot as usize].unwrap() + 10, next); }
            }
        }
    }
}
