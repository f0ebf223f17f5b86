//! Loads that begin at the same instant.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::sys;

/// The clock starts this long after the last load is ready: a busy machine takes milliseconds to wake the others.
const START_AHEAD_NS: u64 = 20_000_000;

const LOOK_AGAIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct StartBarrier {
    loads: u32,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived: u32,
    start_ns: Option<u64>,
    /// One of them ended without arriving.
    left: bool,
}

/// Whoever holds it is expected at the barrier; when it is dropped, nobody waits for it any more.
#[derive(Debug)]
pub(crate) struct Participant<'a>(&'a StartBarrier);

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        self.0.state().left = true;
        self.0.moved.notify_all();
    }
}

impl StartBarrier {
    pub(crate) fn new(loads: u32) -> StartBarrier {
        StartBarrier { loads, state: Mutex::default(), moved: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn arrived(&self) -> u32 {
        self.state().arrived
    }

    /// Lets those go that wait, at this instant, whoever else is missing.
    pub(crate) fn start_at(&self, at_ns: u64) {
        self.state().start_ns.get_or_insert(at_ns);
        self.moved.notify_all();
    }

    pub(crate) fn expect(&self) -> Participant<'_> {
        Participant(self)
    }

    /// Waits for the others; the first instant of all on the workers' clock. `None` where one left, or `stopped`.
    pub(crate) fn pass(&self, stopped: &dyn Fn() -> bool) -> Option<u64> {
        let mut state = self.state();
        state.arrived += 1;
        if state.arrived == self.loads && !state.left {
            state.start_ns = Some(sys::now_ns() + START_AHEAD_NS);
            self.moved.notify_all();
        }
        loop {
            if state.start_ns.is_some() {
                return state.start_ns;
            }
            if state.left || stopped() {
                return None;
            }
            let woken = self.moved.wait_timeout(state, LOOK_AGAIN);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_begin_at_the_same_instant() {
        let barrier = StartBarrier::new(3);
        let before = sys::now_ns();
        let starts = std::thread::scope(|scope| {
            let one = || {
                let _expected = barrier.expect();
                barrier.pass(&|| false)
            };
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(starts[0].is_some_and(|start| start > before), "{starts:?}");
        assert!(starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    }

    #[test]
    fn nobody_waits_for_one_that_left_or_when_stopped() {
        let barrier = StartBarrier::new(2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| barrier.pass(&|| false));
            drop(barrier.expect());
            assert_eq!(waits.join().unwrap(), None);
        });
        assert_eq!(barrier.pass(&|| false), None, "it is too late for the second, too");
        assert_eq!(StartBarrier::new(2).pass(&|| true), None);
    }
}
