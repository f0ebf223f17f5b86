//! How long a request may take, and how many a connection may carry.

use crate::codec::requests::RequestPlace;
use crate::codec::{Cancelled, Codec};
use crate::net::Net;
use crate::recorder::Recorder;
use prony_model::measurement::ErrorKind;

use super::Worker;
use super::slot::State;

impl<N: Net, C: Codec> Worker<N, C> {
    /// The time of a slot's oldest request, or of a body that is held back, is over, or will be.
    pub(super) fn on_deadline(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        if self.codec.holds_body(&self.slots[index as usize].connection) {
            self.release_in_time(recorder, index, now);
        }
        while let Some((place, since_ns)) = self.slots[index as usize].oldest() {
            if now.saturating_sub(since_ns) < self.shared.timeout_ns {
                return self.deadlines.start(index, since_ns);
            }
            self.time_is_over(recorder, index, place, now);
        }
    }

    fn time_is_over(&mut self, recorder: &mut Recorder, index: u32, place: RequestPlace, now: u64) {
        let slot = &mut self.slots[index as usize];
        if slot.state == State::Connecting {
            let message = self.timeout_message("connect");
            return self.fail(recorder, index, now, ErrorKind::ConnectTimeout, || message);
        }
        let cancelled = self.codec.cancel(&mut slot.connection, place);
        let message = self.timeout_message("request");
        match cancelled {
            Cancelled::Connection => self.fail(recorder, index, now, ErrorKind::RequestTimeout, || message),
            Cancelled::Request => {
                self.fail_one(recorder, index, place, now, ErrorKind::RequestTimeout, || message);
                self.flush(recorder, index, now);
                self.close_if_drained(recorder, index, now);
            }
        }
    }

    pub(super) fn timeout_message(&self, what: &str) -> String {
        let what = match what {
            "connect" if self.net.tls().is_some() => "connect with its TLS handshake",
            what => what,
        };
        format!("the {what} took longer than the timeout of {} ms", self.shared.timeout_ns / 1_000_000)
    }

    /// Whether a place is of no use since its connection may carry no more requests. It waits until it may.
    #[inline]
    pub(super) fn wait_for_stream(&mut self, recorder: &mut Recorder, index: u32, now: u64) -> bool {
        // While answers are taken the connection stays where it is: they are the slot's.
        if C::DRAINS && !C::PLAIN && self.corked != Some(index) {
            self.drain_if_spent(recorder, index, now);
        }
        let slot = &mut self.slots[index as usize];
        let waits = match slot.state {
            State::Connected => slot.is_full(&self.codec),
            // One that is being opened has the requests that it may carry.
            _ => C::DRAINS && !C::PLAIN && slot.left == 0,
        };
        slot.waiting_for_stream += u32::from(waits);
        waits
    }

    /// Places that wait until the connection may carry more may try again where there are some, or another connection is to be.
    pub(super) fn restart_waiting(&mut self, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        if slot.waiting_for_stream > 0 && (slot.state != State::Connected || !slot.is_full(&self.codec)) {
            let waiting_for_stream = std::mem::take(&mut slot.waiting_for_stream) as usize;
            self.restart.extend(std::iter::repeat_n((index, now), waiting_for_stream));
        }
    }
}
