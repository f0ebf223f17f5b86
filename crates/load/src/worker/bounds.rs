//! How long a request may take, and how many a connection may carry.

use crate::codec::requests::{Place, Requests};
use crate::codec::{Cancelled, Codec};
use crate::net::Net;
use crate::recorder::Recorder;
use prony_model::measurement::ErrorKind;

use super::slot::State;
use super::{Shared, Worker};

impl<N: Net, C: Codec> Worker<N, C> {
    /// The time of a request is over, or, in a pipeline, may be.
    pub(super) fn on_deadline(&mut self, recorder: &mut Recorder, deadline: u32, now: u64) {
        let (index, place) = self.of_deadline(deadline);
        let slot = &mut self.slots[index as usize];
        let Some(times) = slot.requests.get(place) else { return self.deadlines.stop(deadline) };
        // In a pipeline, the oldest request's time began after that of one answered since.
        let since = slot.runs_since_ns(times);
        if now.saturating_sub(since) < self.shared.timeout_ns {
            return self.deadlines.start_since(deadline, since);
        }
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

    /// Whose deadline this is.
    pub(super) fn of_deadline(&self, deadline: u32) -> (u32, Place) {
        if C::Requests::IN_ORDER {
            return (deadline, Place(0));
        }
        (deadline / self.shared.pipeline, Place(deadline % self.shared.pipeline))
    }

    /// The deadline that stands for a request.
    pub(super) fn deadline_of(shared: &Shared, index: u32, place: Place) -> u32 {
        if C::Requests::IN_ORDER { index } else { index * shared.pipeline + place.0 }
    }

    /// The time of all requests on a slot begins (again) at `now`.
    pub(super) fn start_time(&mut self, index: u32, now: u64) {
        let Worker { slots, deadlines, shared, .. } = self;
        let slot = &mut slots[index as usize];
        slot.time_from_ns = now;
        if C::Requests::IN_ORDER {
            return deadlines.start(index, now);
        }
        for (place, _) in slot.requests.iter() {
            deadlines.start(Self::deadline_of(shared, index, place), now);
        }
    }

    pub(super) fn timeout_message(&self, what: &str) -> String {
        let what = match what {
            "connect" if self.shared.tls.is_some() => "connect with its TLS handshake",
            what => what,
        };
        format!("the {what} took longer than the timeout of {} ms", self.shared.timeout_ns / 1_000_000)
    }

    /// Whether a place is of no use since its connection may carry no more requests. It waits until it may.
    pub(super) fn parks(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        let parks =
            slot.state == State::Connected && slot.requests.len() >= self.codec.permits(&slot.connection);
        slot.parked += u32::from(parks);
        parks
    }

    /// Places that wait for the connection's permits may try again where there are some, or another connection is to be.
    pub(super) fn unpark(&mut self, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        if slot.parked > 0
            && (slot.state != State::Connected || slot.requests.len() < self.codec.permits(&slot.connection))
        {
            let parked = std::mem::take(&mut slot.parked) as usize;
            self.restart.extend(std::iter::repeat_n((index, now), parked));
        }
    }
}
