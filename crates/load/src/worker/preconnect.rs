//! Opening a worker's connections before the clock starts (docs/decisions/0001).

use std::io;

use crate::measurement::ErrorKind;
use crate::net::{Connecting, Interest, NO_HANDLE, Net};

use super::{State, TICK_NS, Worker, connect_error_kind};

/// Connects under way at once before the clock starts: below every
/// accept queue's customary length (128 and up), so that none overflows.
const PRECONNECTS_AT_ONCE: usize = 100;
/// How the connects before the clock went.
#[derive(Debug)]
pub(crate) struct Preconnected {
    pub(crate) established: u32,
    pub(crate) first_failure: Option<(ErrorKind, String)>,
}

impl<N: Net> Worker<N> {
    /// Opens every connection before the clock starts, a bounded number at a
    /// time and within one timeout in all. A failed one, or one whose turn did
    /// not come, stays closed; a request will try again and count.
    pub(crate) fn preconnect(&mut self) -> io::Result<Preconnected> {
        let mut result = Preconnected { established: 0, first_failure: None };
        let mut next = 0;
        let mut pending = 0usize;
        let give_up_ns = self.net.now_ns().saturating_add(self.shared.timeout_ns);
        while (next < self.slots.len() || pending > 0) && !self.shared.control.stop_asked() {
            let mut now = self.net.now_ns();
            if now >= give_up_ns {
                next = self.slots.len();
            }
            while next < self.slots.len() && pending < PRECONNECTS_AT_ONCE {
                match self.net.connect(next as u64) {
                    Ok((handle, Connecting::Done)) => {
                        self.slots[next].handle = handle;
                        self.slots[next].state = State::Idle;
                        result.established += 1;
                    }
                    Ok((handle, Connecting::Pending)) => {
                        self.slots[next].handle = handle;
                        self.slots[next].state = State::Preconnecting;
                        self.deadlines.start(next as u32, now);
                        pending += 1;
                    }
                    Err(e) => note_first(&mut result, connect_error_kind(&e), e.to_string()),
                }
                next += 1;
            }
            let until = self.deadlines.next_ns().min(now + TICK_NS);
            let events = if pending > 0 { self.net.wait(now, until)? } else { 0 };
            for event in 0..events {
                let slot = self.net.token(event) as usize;
                if self.slots[slot].state == State::Preconnecting {
                    pending -= 1;
                    self.finish_preconnect(slot, &mut result);
                }
                // Anything else is an idle connection that the server closed: found out when it is used.
                else if self.slots[slot].state == State::Idle {
                    self.net.close(self.slots[slot].handle);
                    self.slots[slot].handle = NO_HANDLE;
                    self.slots[slot].state = State::Unconnected;
                }
            }
            now = self.net.now_ns();
            while let Some(slot) = self.deadlines.expired(now) {
                self.deadlines.stop(slot);
                pending -= 1;
                let slot = &mut self.slots[slot as usize];
                self.net.close(slot.handle);
                slot.handle = NO_HANDLE;
                slot.state = State::Unconnected;
                note_first(&mut result, ErrorKind::ConnectTimeout, self.timeout_message("connect"));
            }
        }
        self.preconnected = u64::from(result.established);
        Ok(result)
    }

    fn finish_preconnect(&mut self, index: usize, result: &mut Preconnected) {
        self.deadlines.stop(index as u32);
        let slot = &mut self.slots[index];
        let connected = self.net.connect_result(slot.handle);
        match connected.and_then(|()| self.net.watch(slot.handle, Interest::Read, index as u64)) {
            Ok(()) => {
                slot.state = State::Idle;
                result.established += 1;
            }
            Err(e) => {
                self.net.close(slot.handle);
                slot.handle = NO_HANDLE;
                slot.state = State::Unconnected;
                note_first(result, connect_error_kind(&e), e.to_string());
            }
        }
    }
}

fn note_first(result: &mut Preconnected, kind: ErrorKind, message: String) {
    result.first_failure.get_or_insert((kind, message));
}
