//! A connection's place in a worker, and the requests on it.

use std::collections::VecDeque;

use crate::expect::{BodyCheck, Expected};
use crate::framing::Framer;
use crate::net::{Handle, NO_HANDLE, Net};
use crate::parts::Times;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No connection.
    Unconnected,
    /// A connect is under way before the clock starts, for no request.
    Preconnecting,
    /// Requests wait for the connect.
    Connecting,
    /// Requests may be written, and are answered in their order.
    Connected,
}

pub(super) struct Slot {
    pub(super) handle: Handle,
    pub(super) state: State,
    /// Whether the connection is watched for room to write.
    pub(super) watches_writing: bool,
    /// Failures in a row of this slot's connections.
    pub(super) failures: u32,
    /// After a failure: no new request before this instant, on any of its places.
    pub(super) retry_at_ns: u64,
    /// When its connection was established; of one from before the clock, or without one, any instant before.
    pub(super) connected_ns: u64,
    /// Since when the oldest request's time has been running: from its asking
    /// for a connection, and anew from the connect's end.
    pub(super) waiting_since_ns: u64,
    /// Requests that have no answer yet, the oldest first.
    pub(super) pending: VecDeque<Times>,
    /// The last so many of them are not wholly written.
    pub(super) unsent: usize,
    /// Bytes of the first of those that are written.
    pub(super) written: usize,
    /// Whether the answer's body is the one expected, as far as it has come.
    pub(super) body: BodyCheck,
    pub(super) framer: Framer,
    /// The connection's next event is at so many bytes.
    pub(super) wakes_at: u32,
    /// Whether it is out of use: a ramp has not begun it, or it has ended and is closed.
    pub(super) rests: bool,
}

impl Slot {
    pub(super) fn new(pipeline: usize, expected: &Expected) -> Slot {
        Slot {
            handle: NO_HANDLE,
            state: State::Unconnected,
            watches_writing: false,
            failures: 0,
            retry_at_ns: 0,
            connected_ns: 0,
            waiting_since_ns: 0,
            pending: VecDeque::with_capacity(pipeline),
            unsent: 0,
            written: 0,
            body: BodyCheck::new(expected),
            framer: Framer::new(),
            wakes_at: 1,
            rests: false,
        }
    }

    /// Closes its connection, and says whether it had one.
    pub(super) fn disconnect(&mut self, net: &mut impl Net) -> bool {
        self.state = State::Unconnected;
        self.written = 0;
        let handle = std::mem::replace(&mut self.handle, NO_HANDLE);
        if handle != NO_HANDLE {
            net.close(handle);
        }
        handle != NO_HANDLE
    }

    /// Counts bytes as the oldest request's answer.
    pub(super) fn note_bytes(&mut self, count: usize) {
        if let Some(times) = self.pending.front_mut() {
            times.read_bytes = times.read_bytes.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    /// How many of its requests, the oldest ones, are at least partly written: the server may have seen
    /// them, and what comes may be their answers. (An attempt that took nothing is none.)
    pub(super) fn touched(&self) -> usize {
        self.pending.len() - self.unsent + usize::from(self.written > 0)
    }

    /// Whether the oldest request's time is over.
    pub(super) fn is_late(&self, now: u64, timeout_ns: u64) -> bool {
        now.saturating_sub(self.waiting_since_ns) >= timeout_ns
    }
}
