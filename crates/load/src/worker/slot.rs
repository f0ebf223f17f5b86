//! A connection's place in a worker, and the requests on it.

use crate::codec::Codec;
use crate::codec::requests::{RequestPlace, Requests};
use crate::expect::Expectations;
use crate::net::{Handle, NO_HANDLE, Net};
use crate::recorder::Carried;
use crate::recorder::latency::RequestTimes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unconnected,
    /// A connect is under way before the clock starts, for no request.
    Preconnecting,
    Connecting,
    Connected,
}

pub(super) struct Slot<C: Codec> {
    pub(super) handle: Handle,
    pub(super) state: State,
    pub(super) watches_writing: bool,
    pub(super) failures: u32,
    /// After a failure: no new request before this instant, on any of its places.
    pub(super) retry_at_ns: u64,
    /// The time of no request on it runs from before this: the connection was established then, or begun for requests
    /// that another one had not carried. Where it is from before the clock, or there is none, any instant before.
    pub(super) time_from_ns: u64,
    /// How many of its requests wait for the peer's leave to send more of their bodies.
    pub(super) flow_blocked: usize,
    pub(super) requests: C::Requests,
    pub(super) connection: C::Connection,
    /// Its places that wait until the connection may carry more requests.
    pub(super) waiting_for_stream: u32,
    /// The connection's next event is at so many bytes.
    pub(super) wakes_at: u32,
    /// Whether it is out of use: a ramp has not begun it, or it has ended and is closed.
    pub(super) rests: bool,
    /// The number of the address that its connections go to, where a load's have several; else 0.
    pub(super) address: u32,
    /// How many more requests its connection, or the next one, takes: 0 once it has its last.
    pub(super) left: u64,
    /// How many a connection takes that is opened anew; `u64::MAX`: any number.
    pub(super) life: u64,
}

impl<C: Codec> Slot<C> {
    pub(super) fn new(
        connection: C::Connection,
        pipeline: usize,
        expected: &Expectations,
        (first_life, life): (u64, u64),
    ) -> Slot<C> {
        Slot {
            handle: NO_HANDLE,
            state: State::Unconnected,
            watches_writing: false,
            failures: 0,
            retry_at_ns: 0,
            time_from_ns: 0,
            flow_blocked: 0,
            requests: C::Requests::with_room(pipeline, expected),
            connection,
            waiting_for_stream: 0,
            wakes_at: 1,
            rests: false,
            address: 0,
            left: first_life,
            life,
        }
    }

    /// Closes its connection, unless somebody has taken it over, and says whether it had one.
    pub(super) fn disconnect(&mut self, net: &mut impl Net) -> bool {
        let had_one = std::mem::replace(&mut self.state, State::Unconnected) != State::Unconnected;
        let handle = self.let_go();
        if handle != NO_HANDLE {
            net.close(handle);
        }
        had_one
    }

    /// Gives its connection away, where it has one: the next begins its own life.
    pub(super) fn let_go(&mut self) -> Handle {
        self.left = self.life;
        self.state = State::Unconnected;
        std::mem::replace(&mut self.handle, NO_HANDLE)
    }

    /// Whether its connection may carry no more requests now.
    #[inline(always)]
    pub(super) fn is_full(&self, codec: &C) -> bool {
        C::DRAINS && !C::PLAIN && self.left == 0
            || self.requests.len() >= codec.stream_limit(&self.connection)
    }

    /// Whether its connection takes no more requests.
    pub(super) fn is_spent(&self, codec: &C) -> bool {
        self.left == 0 || codec.is_spent(&self.connection)
    }

    /// Its connection takes a request on.
    #[inline(always)]
    pub(super) fn submit(&mut self, codec: &mut C, place: RequestPlace, request: u32) {
        let is_last = !C::PLAIN && {
            self.left -= 1;
            self.left == 0
        };
        codec.submit(&mut self.connection, place, request, is_last);
    }

    /// What its connection has carried so far, where it has one.
    pub(super) fn carried(&self, codec: &C) -> Option<Carried> {
        let (answered, response_sum_ns) = match self.requests.tallied() {
            Some((answered, sum_ns)) => (answered, Some(sum_ns)),
            None => (codec.given(&self.connection), None),
        };
        let carried = Carried { since_ns: self.time_from_ns, answered, response_sum_ns };
        (self.state == State::Connected).then_some(carried)
    }

    /// The request whose time has been running longest, and since when.
    pub(super) fn oldest(&self) -> Option<(RequestPlace, u64)> {
        let running = self.requests.iter().map(|(place, times)| (place, self.runs_since_ns(times)));
        running.min_by_key(|(_, since_ns)| *since_ns)
    }

    /// Since when a request's time has been running: from its asking for a connection, and anew from the connect's end.
    pub(super) fn runs_since_ns(&self, times: &RequestTimes) -> u64 {
        times.dispatched_ns.max(self.time_from_ns)
    }
}
