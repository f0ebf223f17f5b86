//! From a due request to its bytes in the socket.

use crate::codec::Codec;
use crate::codec::requests::Requests;
use crate::net::{Connecting, Interest, Net, would_block};
use crate::recorder::Recorder;
use crate::recorder::latency::RequestTimes;
use prony_model::measurement::ErrorKind;

use super::events::stream_error_kind;
use super::slot::State;
use super::{Worker, connect_error_kind};

/// How long a body is held back for the server's 100: what curl waits.
const CONTINUE_NS: u64 = 1_000_000_000;

impl<N: Net, C: Codec> Worker<N, C> {
    pub(super) fn begin(
        &mut self,
        recorder: &mut Recorder,
        index: u32,
        intended_ns: u64,
        connection_wait_ns: u64,
        now: u64,
    ) {
        if C::MULTIPLEXED && connection_wait_ns > 0 {
            let stands = self.slots[index as usize].state == State::Connected;
            recorder.waited_for_place(connection_wait_ns, stands);
        }
        let slot = &mut self.slots[index as usize];
        let mut connection_wait_ns = connection_wait_ns;
        let request = self.request_order.as_mut().map_or(if C::PLAIN { 0 } else { slot.address }, |order| {
            let dry_until_ns = self.codec.prepare(order, 1);
            if !C::PLAIN && dry_until_ns > intended_ns {
                // Until then it is the client that was late, with or without a free connection.
                connection_wait_ns = (intended_ns + connection_wait_ns).saturating_sub(dry_until_ns);
            }
            order.take()
        });
        recorder.dispatched(now, connection_wait_ns);
        self.net.begun(u64::from(index));
        let times = RequestTimes::asked(intended_ns, now, connection_wait_ns, request);
        let place = slot.requests.add(times);
        slot.submit(&mut self.codec, place, request);
        let state = slot.state;
        self.deadlines.start(index, now);
        match state {
            State::Unconnected => self.connect(recorder, index, now),
            State::Connected if self.corked != Some(index) => self.flush(recorder, index, now),
            State::Connected | State::Connecting | State::Preconnecting => {}
        }
    }

    /// Has the next requests ready before they are due, where they are not the same each time.
    pub(super) fn prepare_requests(&mut self) {
        if let Some(order) = &self.request_order {
            self.codec.prepare(order, usize::MAX);
        }
    }

    pub(super) fn connect(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        self.codec.open(&mut slot.connection);
        match self.net.connect(u64::from(index), slot.address) {
            Ok((handle, connecting)) => {
                slot.handle = handle;
                slot.wakes_at = 1;
                slot.state = State::Connecting;
                recorder.connection_opened(now);
                if connecting == Connecting::Done {
                    let stamp = self.fresh_stamp(recorder);
                    if !recorder.over() {
                        self.connection_stands(recorder, index, stamp);
                    }
                }
            }
            Err(e) => self.fail(recorder, index, now, connect_error_kind(&e), || e.to_string()),
        }
    }

    pub(super) fn established(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let handle = self.slots[index as usize].handle;
        match self.net.watch(handle, Interest::Read, u64::from(index)) {
            Ok(()) => self.connection_stands(recorder, index, now),
            Err(e) => self.fail(recorder, index, now, ErrorKind::ConnectFailed, || e.to_string()),
        }
    }

    /// A connection is there and watched for answers: its requests' time to be answered begins.
    fn connection_stands(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        recorder.connection_established();
        let slot = &mut self.slots[index as usize];
        slot.time_from_ns = now;
        slot.requests.open();
        slot.state = State::Connected;
        slot.watches_writing = false;
        self.flush(recorder, index, now);
    }

    /// Writes what the codec has to say, in one call; what does not fit waits for room.
    pub(super) fn flush(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let Worker { net, codec, slots, .. } = self;
        let slot = &mut slots[index as usize];
        if !codec.has_output(&mut slot.connection) {
            return self.note_flow_blocked(recorder, index, now);
        }
        let (begins, bytes) = codec.output(&mut slot.connection);
        if let Some(times) = begins.and_then(|place| slot.requests.get_mut(place)) {
            // Just before its first write, whatever comes of that.
            times.sent_ns = now;
        }
        match net.send(slot.handle, bytes) {
            Ok(count) => {
                recorder.wrote(count);
                let requests = &mut slot.requests;
                codec.wrote(&mut slot.connection, count, |place| {
                    if let Some(times) = requests.get_mut(place) {
                        times.sent_ns = now;
                        recorder.sent(times.request);
                    }
                });
            }
            Err(e) if would_block(&e) => {}
            Err(e) => {
                return self
                    .fail(recorder, index, now, stream_error_kind(&e), || format!("while sending: {e}"));
            }
        }
        let holds = !C::PLAIN && codec.holds_body(&slot.connection);
        if codec.has_output(&mut slot.connection) != slot.watches_writing {
            self.watch_for_room(recorder, index, now);
        }
        self.note_flow_blocked(recorder, index, now);
        if holds {
            self.hold(index, now);
        }
    }

    /// The head is written, and the body waits for the server's 100 or its time.
    #[cold]
    fn hold(&mut self, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        if !self.codec.has_output(&mut slot.connection) {
            self.deadlines.look_by(index, now + CONTINUE_NS);
        }
    }

    /// A body that has been held back for long enough goes out (RFC 9110, 10.1.1: a server may not know of the header).
    #[cold]
    pub(super) fn release_in_time(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        let Some(sent_ns) = slot.requests.first().and_then(|place| Some(slot.requests.get(place)?.sent_ns))
        else {
            return;
        };
        if slot.state != State::Connected || self.codec.has_output(&mut slot.connection) {
            return;
        }
        if sent_ns + CONTINUE_NS > now {
            return self.deadlines.look_by(index, sent_ns + CONTINUE_NS);
        }
        self.codec.release_body(&mut slot.connection);
        self.flush(recorder, index, now);
    }

    /// Takes note of how many of the slot's requests wait for the peer's leave to send more of their bodies.
    pub(super) fn note_flow_blocked(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        if !C::MULTIPLEXED {
            return;
        }
        let slot = &mut self.slots[index as usize];
        let held = if slot.state == State::Connected { self.codec.flow_blocked(&slot.connection) } else { 0 };
        if held != slot.flow_blocked {
            recorder.held.change(now, slot.flow_blocked, held);
            slot.flow_blocked = held;
        }
    }

    /// Writes what the protocol has to say; what does not fit goes with the next request, which finds errors, too.
    pub(super) fn write_idle(&mut self, index: u32) {
        let Worker { net, codec, slots, .. } = self;
        let slot = &mut slots[index as usize];
        if codec.has_output(&mut slot.connection) {
            let (_, bytes) = codec.output(&mut slot.connection);
            if let Ok(count) = net.send(slot.handle, bytes) {
                codec.wrote(&mut slot.connection, count, |_| {});
            }
        }
    }

    /// Watches the connection for room to write while something is unsent, and no longer.
    fn watch_for_room(&mut self, recorder: &mut Recorder, index: u32, now: u64) {
        let slot = &mut self.slots[index as usize];
        slot.watches_writing = self.codec.has_output(&mut slot.connection);
        let interest = if slot.watches_writing { Interest::ReadWrite } else { Interest::Read };
        if let Err(e) = self.net.watch(slot.handle, interest, u64::from(index)) {
            self.fail(recorder, index, now, ErrorKind::Reset, || e.to_string());
        }
    }
}
