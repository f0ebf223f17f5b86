//! What a read's bytes mean for requests: answers, and what follows from them.

use crate::codec::requests::{RequestPlace, Requests};
use crate::codec::{Codec, Step, What};
use crate::expect::Expected;
use crate::net::Net;
use crate::recorder::Recorder;
use crate::recorder::latency::RequestTimes;
use prony_http2::Coding;
use prony_model::measurement::ErrorKind;

use super::Worker;
use super::events::{DISCARD_MIN_BYTES, Read};
use super::slot::State;
use super::source::Source;

impl<N: Net, C: Codec> Worker<N, C> {
    /// Takes what was read at `now`, step by step: the rest of an answer, or several. Gives the instant to go on with,
    /// later than `now` where it opened a connection, and the slot that the connection stands at by then.
    pub(super) fn take_answers(
        &mut self,
        recorder: &mut Recorder,
        mut index: u32,
        read_ns: u64,
        read: &Read,
    ) -> (u32, u64) {
        let mut at = 0;
        loop {
            // A request that an earlier step made room for may have opened another slot's connection since.
            let now = if C::DRAINS { read_ns.max(recorder.stamp_ns()) } else { read_ns };
            if C::MULTIPLEXED && !read.discarded {
                at = self.take_answers_fast(recorder, index, now, read, at);
                if self.is_taken(index, read, at) {
                    return (index, now);
                }
            }
            let Worker { codec, slots, buffer, shared, .. } = self;
            let slot = &mut slots[index as usize];
            // Asked here and not in the codec's step, whose every way out costs a pipelined response 12 instructions.
            if !codec.awaits_response(&slot.connection) {
                self.fail_early_response(recorder, index, now, read, at);
                return (index, now);
            }
            let begins = !codec.in_progress(&slot.connection);
            let step = if read.discarded {
                codec.skip(&mut slot.connection, read.count)
            } else {
                let requests = &mut slot.requests;
                let input = &buffer[at..read.count];
                codec.take(&mut slot.connection, input, &mut |place, bytes: &[u8]| {
                    if shared.expect.checks_body() {
                        let request = requests.get(place).map_or(0, |times| times.request);
                        requests.body(place).take(shared.expect.of_request(request), bytes);
                    }
                })
            };
            let from = at;
            at += step.used;
            let asked = step.place.and_then(|place| Some((place, slot.requests.get_mut(place)?)));
            let Some((place, times)) = asked else {
                let goes_on = self.take_step_of_none(recorder, &mut index, now, &step);
                if !goes_on || self.is_taken(index, read, at) {
                    return (index, now);
                }
                continue;
            };
            note_arrival(recorder, times, now, read, step.only_head);
            if !matches!(step.what, What::Broken(..)) {
                times.note_bytes(step.used);
            }
            let goes_on = match step.what {
                What::Whole { reusable, .. } => {
                    let took_ns = now.saturating_sub(times.dispatched_ns.max(slot.time_from_ns));
                    reusable && !(took_ns >= shared.timeout_ns && C::IN_ORDER)
                }
                what => !matches!(what, What::Broken(..)),
            };
            if self.counts_each {
                // What follows an answer that ends the connection, or is too late, counts as its own.
                recorder.read_of(times.request, if goes_on { step.used } else { read.count - from });
            }
            if !goes_on {
                let answered = matches!(step.what, What::Whole { .. }) && at < read.count;
                recorder.run.unasked += u64::from(answered && !codec.awaits_response(&slot.connection));
            }
            let later = self.take_step(recorder, index, place, now, &step, begins);
            if !goes_on || self.is_taken(index, read, at) || recorder.over() {
                return (index, later);
            }
        }
    }

    #[inline(always)]
    fn is_taken(&self, index: u32, read: &Read, at: usize) -> bool {
        at == read.count && !self.codec.has_buffered_events(&self.slots[index as usize].connection)
    }

    /// Takes a step of no request's. Whether the connection goes on; at another slot, where it takes no more requests.
    fn take_step_of_none(&mut self, recorder: &mut Recorder, index: &mut u32, now: u64, step: &Step) -> bool {
        if step.used > 0 {
            recorder.read_of_none(step.used);
        }
        match step.what {
            What::Draining => {
                *index = self.drain(recorder, *index, now);
                self.corked = Some(*index);
            }
            What::Broken(kind, reason) => {
                let sent = self.send_goaway(*index, now);
                recorder.wrote(sent);
                self.fail(recorder, *index, now, kind, || reason.to_owned());
                return false;
            }
            What::Part | What::Whole { .. } | What::Failed(..) | What::Moved => {}
        }
        true
    }

    /// Takes a request's step, which its answer begins with or not. Gives the instant to go on with.
    #[inline(always)]
    fn take_step(
        &mut self,
        recorder: &mut Recorder,
        index: u32,
        place: RequestPlace,
        now: u64,
        step: &Step,
        begins: bool,
    ) -> u64 {
        match step.what {
            What::Part => {
                let connection = &self.slots[index as usize].connection;
                self.reads_short = self.drops_bodies && self.codec.body_left(connection) >= DISCARD_MIN_BYTES;
            }
            What::Whole { status, reusable } => {
                self.reads_short &= !begins;
                return self.answered(recorder, index, place, now, status, reusable);
            }
            What::Failed(kind, reason) => {
                self.fail_one(recorder, index, place, now, kind, || reason.to_owned());
            }
            What::Moved => self.move_on(recorder, index, place, now),
            What::Draining => {}
            What::Broken(kind, reason) => self.fail(recorder, index, now, kind, || reason.to_owned()),
        }
        now
    }

    /// The bytes from `at` came before any of the next request was written.
    #[cold]
    fn fail_early_response(&mut self, recorder: &mut Recorder, index: u32, now: u64, read: &Read, at: usize) {
        let requests = &mut self.slots[index as usize].requests;
        if let Some(times) = requests.first().and_then(|place| requests.get_mut(place)) {
            note_arrival(recorder, times, now, read, false);
            if self.counts_each {
                recorder.read_of(times.request, read.count - at);
            }
        }
        let why = "the server sent a response that no request asked for";
        self.fail(recorder, index, now, ErrorKind::Protocol, || why.to_owned());
    }

    /// Takes whole answers like those before while they come, and begins a closed loop's next request for each: as
    /// [`Worker::take_answers`], but for what cannot change in between. Gives how much of the read is taken.
    fn take_answers_fast(
        &mut self,
        recorder: &mut Recorder,
        index: u32,
        now: u64,
        read: &Read,
        mut at: usize,
    ) -> usize {
        let is_home = self.home(index) == index;
        let Worker {
            net, codec, slots, source, deadlines, buffer, shared, request_order, counts_each, ..
        } = self;
        let (Source::Closed { left }, Some(expect)) = (source, shared.expect.common()) else { return at };
        let slot = &mut slots[index as usize];
        let goes_on = is_home && slot.state == State::Connected && slot.retry_at_ns <= now;
        let waits = slot.requests.len() > codec.stream_limit(&slot.connection);
        if !goes_on || waits || recorder.over() || !deadlines.is_in_time(index, now) {
            return at;
        }
        let (before, counts_each) = (at, *counts_each);
        // As many as there are requests left, of the load's and of the connection's.
        let most = if C::PLAIN { *left } else { (*left).min(slot.left) };
        let mut begun = 0;
        while begun < most
            && let Some(answer) = codec.take_fast(&mut slot.connection, &buffer[at..read.count])
        {
            at += answer.used;
            if expect.checks_body() {
                slot.requests.body(answer.place).compare(expect, answer.bytes);
            }
            let Some(times) = slot.requests.get_mut(answer.place) else {
                recorder.read_of_none(answer.used);
                continue;
            };
            note_arrival(recorder, times, now, read, answer.only_head);
            times.note_bytes(answer.used);
            if counts_each {
                recorder.read_of(times.request, answer.used);
            }
            enter(recorder, expect, &mut slot.requests, answer.place, now, answer.status);
            begun += 1;
            recorder.dispatched(now, 0);
            net.begun(u64::from(index));
            let request = request_order.as_mut().map_or(if C::PLAIN { 0 } else { slot.address }, |order| {
                codec.prepare(order, 1);
                order.take()
            });
            if let Some(times) = slot.requests.get_mut(answer.place) {
                *times = RequestTimes::asked(now, now, 0, request);
            }
            codec.submit(&mut slot.connection, answer.place, request, !C::PLAIN && begun == slot.left);
        }
        *left -= begun;
        if !C::PLAIN {
            slot.left -= begun;
        }
        if at > before {
            deadlines.start(index, now);
            slot.failures = 0;
            self.last_resolved_ns = now;
        }
        at
    }

    /// A request's answer is whole, its last byte read at `now`. Gives the instant to go on with.
    pub(super) fn answered(
        &mut self,
        recorder: &mut Recorder,
        index: u32,
        place: RequestPlace,
        now: u64,
        status: u16,
        reusable: bool,
    ) -> u64 {
        let slot = &mut self.slots[index as usize];
        let Some(times) = slot.requests.get(place) else { return now };
        // The loop may have been kept from seeing in time that the time was over.
        if now.saturating_sub(slot.runs_since_ns(times)) >= self.shared.timeout_ns {
            let message = self.timeout_message("request");
            if C::IN_ORDER {
                self.fail(recorder, index, now, ErrorKind::RequestTimeout, || message);
            } else {
                self.fail_one(recorder, index, place, now, ErrorKind::RequestTimeout, || message);
            }
            return now;
        }
        let expect = self.shared.expect.of_request(times.request);
        let response_ns = times.last_byte_ns - times.intended_ns;
        slot.requests.tally(response_ns);
        let is_decoded = C::PLAIN || !self.shared.expect.decodes() || {
            let coding = self.codec.coding(&slot.connection, place);
            decode(recorder, expect, &mut slot.requests, place, coding, (now, status))
        };
        if is_decoded {
            enter(recorder, expect, &mut slot.requests, place, now, status);
        }
        slot.requests.remove(place);
        slot.failures = 0;
        self.last_resolved_ns = now;
        let was_last = !C::PLAIN && slot.left == 0;
        let later = if reusable && (C::DRAINS || !was_last) {
            now
        } else {
            if !was_last {
                self.note_end(recorder, index, now);
            }
            self.let_go(recorder, index, now)
        };
        self.on_free(recorder, index, now, later);
        later
    }
}

/// Bytes of a request's answer were read at `now`.
#[inline(always)]
fn note_arrival(recorder: &mut Recorder, times: &mut RequestTimes, now: u64, read: &Read, only_head: bool) {
    // No byte arrived before those that were read before it.
    let earliest = times.sent_ns.max(times.last_byte_ns);
    times.last_byte_ns = recorder.arrival(now, earliest, read.stamp_ns);
    let first = times.first_byte_ns == 0;
    if first {
        times.first_byte_ns = times.last_byte_ns;
    }
    times.head_alone |= first && only_head;
}

/// Decodes the body of the request at this place for its check, or enters it as failed.
#[cold]
fn decode(
    recorder: &mut Recorder,
    expect: &Expected,
    requests: &mut impl Requests,
    place: RequestPlace,
    coding: Coding,
    (now, status): (u64, u16),
) -> bool {
    if !expect.accepts_status(status) {
        // Its status fails it, whatever its body.
        requests.body(place).reset();
        return true;
    }
    let decoded = requests.body(place).decode(expect, coding);
    let why = match decoded {
        Ok(bytes) => {
            recorder.decoded(bytes);
            return true;
        }
        Err(why) => why,
    };
    recorder.answered(status);
    if let Some(times) = requests.get_mut(place) {
        times.status = status;
        recorder.failed(now, times, ErrorKind::BodyMismatch, || why);
    }
    false
}

/// Enters the request at this place, whose answer is whole, as succeeded or failed.
#[inline(always)]
fn enter(
    recorder: &mut Recorder,
    expect: &Expected,
    requests: &mut impl Requests,
    place: RequestPlace,
    now: u64,
    status: u16,
) {
    recorder.answered(status);
    let body = if expect.checks_body() { requests.body(place).finish(expect) } else { Ok(()) };
    let Some(times) = requests.get_mut(place) else { return };
    times.status = status;
    if !expect.accepts_status(status) {
        recorder.failed(now, times, ErrorKind::UnexpectedStatus, || format!("status {status}"));
    } else if let Err(length) = body {
        let times = *times;
        recorder.failed(now, &times, ErrorKind::BodyMismatch, || requests.body(place).why(length));
    } else {
        recorder.completed(now, times);
    }
}
