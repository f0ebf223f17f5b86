//! Opening a worker's connections before the clock starts (docs/decisions/0001).

use std::io;

use crate::codec::Codec;
use crate::net::{Connecting, Interest, Net, would_block};
use crate::tls;
use prony_model::measurement::ErrorKind;

use super::events::was_retried;
use super::slot::State;
use super::{TICK_NS, Worker, connect_error_kind};

/// Connects under way at once before the clock: below every accept queue's customary length (128 and up).
const PRECONNECTS_AT_ONCE: usize = 100;
#[derive(Debug)]
pub(crate) struct Preconnected {
    pub(crate) established: u32,
    pub(crate) first_failure: Option<(ErrorKind, String)>,
}

impl<N: Net, C: Codec> Worker<N, C> {
    /// Opens every connection before the clock, a bounded number at once; none begins after one timeout, each has its
    /// own. One that failed, or had no turn, stays closed; a request will try again and count.
    pub(crate) fn preconnect(&mut self) -> io::Result<Preconnected> {
        let mut result = Preconnected { established: 0, first_failure: None };
        let mut next = 0;
        let mut pending = 0usize;
        let give_up_ns = self.net.now_ns().saturating_add(self.shared.timeout_ns);
        while (next < self.connections as usize || pending > 0) && !self.shared.control.stop_asked() {
            let mut now = self.net.now_ns();
            if now >= give_up_ns {
                next = self.connections as usize;
            }
            while next < self.connections as usize && pending < PRECONNECTS_AT_ONCE {
                self.codec.open(&mut self.slots[next].connection);
                match self.net.connect(next as u64, self.slots[next].address) {
                    Ok((handle, Connecting::Done)) => {
                        self.slots[next].handle = handle;
                        self.slots[next].state = State::Connected;
                        self.slots[next].time_from_ns = now;
                        self.write_idle(next as u32);
                        result.established += 1;
                    }
                    Ok((handle, Connecting::Pending)) => {
                        self.slots[next].handle = handle;
                        self.slots[next].state = State::Preconnecting;
                        self.slots[next].time_from_ns = now;
                        self.deadlines.start(next as u32, now);
                        pending += 1;
                    }
                    Err(e) => note_first(&mut result, connect_error_kind(&e), e.to_string()),
                }
                next += 1;
            }
            let until = self.deadlines.next_ns().min(now + TICK_NS);
            let events = if pending > 0 { self.net.wait(now, until)? } else { 0 };
            now = self.net.now_ns();
            for event in 0..events {
                let token = self.net.token(event);
                if let Some(talks) = self.closing.on_event(token, &mut self.net, &mut self.buffer) {
                    self.before.unasked += u64::from(talks);
                    continue;
                }
                let slot = token as usize;
                if self.slots[slot].state == State::Preconnecting {
                    if self.finish_preconnect(slot, now, &mut result) {
                        pending -= 1;
                    }
                } else if self.slots[slot].state == State::Connected {
                    self.idle_before_start(slot, now, &mut result);
                }
            }
            while let Some(slot) = self.deadlines.take(now) {
                let slot = &mut self.slots[slot as usize];
                if slot.state == State::Preconnecting {
                    pending -= 1;
                    slot.disconnect(&mut self.net);
                    note_first(&mut result, ErrorKind::ConnectTimeout, self.timeout_message("connect"));
                }
            }
        }
        self.before.connections += u64::from(result.established);
        Ok(result)
    }

    fn finish_preconnect(&mut self, index: usize, now: u64, result: &mut Preconnected) -> bool {
        let slot = &mut self.slots[index];
        let connected = self
            .net
            .connect_result(slot.handle)
            .and_then(|()| self.net.settle(slot.handle))
            .and_then(|()| self.net.watch(slot.handle, Interest::Read, index as u64));
        match connected {
            Err(e) if would_block(&e) => return false,
            Ok(()) => {
                let took_ns = now.saturating_sub(slot.time_from_ns);
                self.before.retried += u64::from(was_retried(&self.net, slot.handle, took_ns));
                slot.state = State::Connected;
                slot.time_from_ns = now;
                self.write_idle(index as u32);
                result.established += 1;
            }
            Err(e) => {
                slot.disconnect(&mut self.net);
                note_first(result, connect_error_kind(&e), e.to_string());
            }
        }
        true
    }

    /// A connection became readable before its use: the protocol or TLS spoke (session tickets), or the server closed
    /// it, found out at its use; or TLS failed after all (TLS 1.3 refused the client's certificate): it never was one.
    fn idle_before_start(&mut self, index: usize, now: u64, result: &mut Preconnected) {
        let Err(over) = self.read_idle(index as u32) else { return self.write_idle(index as u32) };
        self.before.unasked += u64::from(over.unasked);
        if let Some(e) = over.why.filter(tls::failure::is_tls) {
            result.established -= 1;
            note_first(result, ErrorKind::Tls, e.to_string());
        }
        self.send_goaway(index as u32, now);
        self.slots[index].disconnect(&mut self.net);
    }
}

fn note_first(result: &mut Preconnected, kind: ErrorKind, message: String) {
    result.first_failure.get_or_insert((kind, message));
}
