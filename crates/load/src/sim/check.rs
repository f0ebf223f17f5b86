//! Compares what a worker recorded with what the network saw, figure by figure.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::recorder::by_request::are_fine;
use crate::recorder::window_delta::WindowDelta;
use prony_model::histogram::SparseHistogram;
use prony_model::measurement::{BIN_NS, Bin, ErrorKind, Tolerance};

use super::truth::{Fate, Truth, What, due_ns};
use super::world::World;

/// Differences between record and truth, as sentences.
struct Differences<'a> {
    recorder: &'a WindowDelta,
    start_ns: u64,
    end_ns: u64,
    truth: &'a Truth,
    found: Vec<String>,
}

pub(super) fn differences(recorder: &WindowDelta, world: &World) -> Vec<String> {
    let mut all = Differences::of(recorder, world);
    all.so_far();
    all.totals(world);
    all.service_in_flight();
    all.by_request(world);
    all.promptness(world);
    all.found
}

/// All differences of a window's first seconds, after which more came.
pub(super) fn differences_so_far(recorder: &WindowDelta, world: &World) -> Vec<String> {
    let mut all = Differences::of(recorder, world);
    all.so_far();
    all.found
}

impl<'a> Differences<'a> {
    fn of(recorder: &'a WindowDelta, world: &'a World) -> Differences<'a> {
        let truth = &world.truth;
        let (start_ns, end_ns) = (truth.start_ns + recorder.start_ns, truth.start_ns + recorder.end_ns);
        Differences { recorder, start_ns, end_ns, truth, found: Vec::new() }
    }

    /// What is known at any edge.
    fn so_far(&mut self) {
        self.counts();
        self.failures();
        self.bins();
        self.latencies();
        self.waits();
        self.overlap();
    }

    #[expect(clippy::needless_pass_by_value, reason = "both are made for the comparison")]
    fn same<T: PartialEq + Debug>(&mut self, what: &str, recorder: T, truth: T) {
        if recorder != truth {
            self.found.push(format!("{what}: {recorder:?} recorded, {truth:?} true"));
        }
    }

    fn in_window(&self, at_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&at_ns)
    }

    fn ended(&self) -> impl Iterator<Item = &Fate> {
        self.truth.fates.iter().filter(|fate| self.in_window(fate.at_ns))
    }

    fn completed(&self) -> impl Iterator<Item = &Fate> {
        self.ended().filter(|fate| fate.what == What::Completed)
    }

    fn failed(&self) -> impl Iterator<Item = &Fate> {
        self.ended().filter(|fate| fate.what != What::Completed)
    }

    /// Requests on a connection, or waiting for its connect, when the window closed.
    fn in_flight(&self) -> impl Iterator<Item = &Fate> {
        self.begun().filter(|fate| fate.at_ns >= self.end_ns)
    }

    fn begun(&self) -> impl Iterator<Item = &Fate> {
        self.truth.fates.iter().filter(|fate| fate.request.dispatched_ns < self.end_ns)
    }

    /// Whole requests at the server, requests begun, connections: over the run.
    fn totals(&mut self, world: &World) {
        let end = self.end_ns;
        let fates = &self.truth.fates;
        let sent = fates.iter().filter(|f| f.request.taken_ns > 0).count() as u64;
        let partly =
            fates.iter().filter(|f| (1..world.length(&f.request)).contains(&f.request.written)).count()
                as u64;
        let completed = fates.iter().filter(|f| f.at_ns < end && f.what == What::Completed).count() as u64;
        let begun = fates.len() as u64;
        self.same("sent over the run", self.recorder.run_total.sent, sent);
        self.same("sent − partly written = arrived whole", sent - partly, world.arrived_whole);
        self.same("completed over the run", self.recorder.run_total.completed, completed);
        self.same("connections over the run", self.recorder.run_total.connections, self.truth.established);
        let mut tolerated: BTreeMap<Tolerance, u64> = BTreeMap::new();
        for (_, why) in self.truth.tolerated.iter().filter(|(at_ns, _)| *at_ns < end) {
            *tolerated.entry(*why).or_default() += 1;
        }
        self.same("heads only tolerated, over the run", self.recorder.tolerated.clone(), tolerated);
        self.same("every request begun has one fate", begun, self.truth.begun);
        self.same("connections left open", 0, world.open_count());
    }

    fn due_before(&self, at_ns: u64) -> u64 {
        match &self.truth.schedule {
            Some(schedule) => schedule.due_before(at_ns.saturating_sub(self.truth.start_ns)),
            None => self.truth.fates.iter().filter(|f| f.request.dispatched_ns < at_ns).count() as u64,
        }
    }

    fn counts(&mut self) {
        let (start, end) = (self.start_ns, self.end_ns);
        let ended_before = self.truth.fates.iter().filter(|f| f.at_ns < start).count() as u64;
        let sent = self.truth.fates.iter().filter(|f| self.in_window(f.request.taken_ns)).count() as u64;
        let window = self.recorder.requests;
        self.same("carried in", window.carried_in, self.due_before(start) - ended_before);
        self.same("scheduled", window.scheduled, self.due_before(end) - self.due_before(start));
        self.same("sent", window.sent, sent);
        self.same("completed", window.completed, self.completed().count() as u64);
        self.same("failed", window.failed, self.failed().count() as u64);
        self.same("in flight", window.in_flight, self.in_flight().count() as u64);
        self.same("never sent", window.never_sent, self.due_before(end) - self.begun().count() as u64);
        let reads = || self.truth.reads.iter().filter(|r| self.in_window(r.at_ns));
        let (bytes, rejected) =
            (reads().map(|r| r.bytes as u64).sum(), reads().filter(|r| r.rejected).count());
        self.same("read bytes", self.recorder.read_bytes, bytes);
        let writes = self.truth.writes.iter().filter(|(at_ns, _)| self.in_window(*at_ns));
        self.same("sent bytes", self.recorder.sent_bytes, writes.map(|(_, bytes)| *bytes as u64).sum());
        self.same("stamps rejected", self.recorder.stamps_rejected, rejected as u64);
    }

    fn failures(&mut self) {
        let mut kinds: BTreeMap<ErrorKind, u64> = BTreeMap::new();
        let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
        for fate in self.ended() {
            if let What::Failed(kind) = fate.what {
                *kinds.entry(kind).or_default() += 1;
            }
            if let Some(status) = fate.status {
                *statuses.entry(status).or_default() += 1;
            }
        }
        let counted = self.recorder.errors.iter().map(|(kind, failures)| (*kind, failures.count)).collect();
        self.same("failures by kind", counted, kinds);
        self.same("responses by status", self.recorder.status.clone(), statuses);
        if let Some((kind, _)) =
            self.recorder.errors.iter().find(|(_, failures)| failures.first.what.is_empty())
        {
            self.found.push(format!("the first {kind} says nothing"));
        }
    }

    fn bins(&mut self) {
        let (start, end) = (self.start_ns, self.end_ns);
        let count = (end - start).div_ceil(BIN_NS).max(1) as usize;
        let mut bins = vec![Bin::default(); count];
        for fate in self.ended() {
            let bin = &mut bins[((fate.at_ns - start) / BIN_NS) as usize];
            if fate.what == What::Completed {
                bin.completed += 1;
                bin.response_sum_ns += fate.request.last_byte_ns - fate.request.intended_ns;
            } else {
                bin.failed += 1;
            }
        }
        for fate in &self.truth.fates {
            if self.in_window(fate.request.dispatched_ns) {
                let bin = &mut bins[((fate.request.dispatched_ns - start) / BIN_NS) as usize];
                bin.dispatched += 1;
                bin.connection_wait_sum_ns += fate.request.connection_wait_ns;
            }
        }
        self.same("bins", self.recorder.bins.clone(), bins);
    }

    fn histogram(&mut self, what: &str, recorder: &SparseHistogram, truth: &[u64]) {
        let truth = SparseHistogram::of_values(truth.iter().copied());
        if *recorder != truth {
            let say = |h: &SparseHistogram| (h.len(), h.min(), h.value_at_quantile(0.5), h.max());
            let (recorder, truth) = (say(recorder), say(&truth));
            self.found
                .push(format!("{what} (count, least, median, most): {recorder:?} recorded, {truth:?} true"));
        }
    }

    fn latencies(&mut self) {
        let recorder = self.recorder;
        let l = recorder.latency.parts();
        let of = |this: &Self, part: fn(&Fate) -> u64| this.completed().map(part).collect::<Vec<u64>>();
        let values = of(self, |f| f.request.last_byte_ns - f.request.intended_ns);
        self.histogram("response", &l.response.completed, &values);
        let values = of(self, |f| f.request.last_byte_ns - f.request.sent_ns);
        self.histogram("service", &l.service.completed, &values);
        let values = of(self, |f| f.request.first_byte_ns - f.request.sent_ns);
        self.histogram("first byte", &l.first_byte, &values);
        let values = of(self, |f| f.request.sent_ns - f.request.dispatched_ns);
        self.histogram("connect wait", &l.connect_wait, &values);
        let values = of(self, |f| f.request.dispatched_ns - f.request.intended_ns);
        self.histogram("send lag", &l.send_lag, &values);
        let values = of(self, |f| f.request.connection_wait_ns);
        self.histogram("connection wait", &l.connection_wait, &values);
        let values =
            of(self, |f| f.request.dispatched_ns - f.request.intended_ns - f.request.connection_wait_ns);
        self.histogram("lateness", &l.lateness, &values);
        let values = match self.truth.kernel_clock {
            true => of(self, |f| f.at_ns - f.request.last_byte_ns),
            false => Vec::new(),
        };
        self.histogram("client delay", &recorder.latency.client_delay, &values);
    }

    /// How long those had taken that failed or were not done.
    fn waits(&mut self) {
        let recorder = self.recorder;
        let (l, end) = (recorder.latency.parts(), self.end_ns);
        let values: Vec<u64> = self.failed().map(|f| f.at_ns - f.request.intended_ns).collect();
        self.histogram("response of the failed", &l.response.failed, &values);
        let sent = |f: &&Fate| f.request.sent_ns > 0;
        let values: Vec<u64> = self.failed().filter(sent).map(|f| f.at_ns - f.request.sent_ns).collect();
        self.histogram("service of the failed", &l.service.failed, &values);
        let mut values: Vec<u64> = self.in_flight().map(|f| end - f.request.intended_ns).collect();
        if let Some(schedule) = &self.truth.schedule {
            let never_sent = self.begun().count() as u64..self.due_before(end);
            values.extend(never_sent.filter_map(|i| Some(end - self.truth.start_ns - due_ns(schedule, i)?)));
        }
        self.histogram("response of those in flight and never sent", &l.response.waiting, &values);
    }

    /// When a request in flight was sent: of those that are tried again later, only at the end.
    fn service_in_flight(&mut self) {
        let (recorder, end) = (self.recorder, self.end_ns);
        let sent = self.in_flight().filter(|f| f.request.sent_ns > 0);
        let values: Vec<u64> = sent.map(|f| end - f.request.sent_ns).collect();
        self.histogram("service of those in flight", &recorder.latency.rest.service.waiting, &values);
    }

    /// What is counted for each request of the list.
    fn by_request(&mut self, world: &World) {
        let (Some(by_request), Some(list)) = (&self.recorder.by_request, &world.list) else { return };
        for (which, row) in (0..).zip(by_request) {
            let of = |f: &&Fate| f.request.which == which;
            let values: Vec<u64> =
                self.completed().filter(of).map(|f| f.request.last_byte_ns - f.request.intended_ns).collect();
            let failed = self.failed().filter(of).count() as u64;
            let in_flight = self.in_flight().filter(of).count() as u64;
            let sent = self.truth.fates.iter().filter(of).filter(|f| f.request.taken_ns > 0).count() as u64;
            let reads = self.truth.reads.iter().filter(|r| r.which == which && self.in_window(r.at_ns));
            let bytes: u64 = reads.map(|r| r.bytes as u64).sum();
            let name = &row.request;
            self.same(&format!("completed of {name}"), row.completed, values.len() as u64);
            self.same(&format!("failed of {name}"), row.failed, failed);
            self.same(&format!("sent of {name}"), row.run_sent, sent);
            self.same(&format!("bytes of {name}"), row.read_bytes, bytes);
            if self.truth.schedule.is_none() {
                self.same(&format!("in flight of {name}"), row.waiting, in_flight);
            }
            if are_fine(list.requests.len()) {
                self.histogram(&format!("response of {name}"), &row.response.completed, &values);
            }
        }
    }

    /// No timeout is early; and in a world where nothing takes time, whatever is due is begun then.
    fn promptness(&mut self, world: &World) {
        let end = self.end_ns;
        for fate in self.truth.fates.iter().filter(|fate| fate.at_ns < end) {
            if let Some(expired_ns) = fate.expired_ns.filter(|expired| *expired > fate.at_ns) {
                self.found
                    .push(format!("given up {} ns before its timeout: {fate:?}", expired_ns - fate.at_ns));
            }
        }
        if !world.nature.is_instant() {
            return;
        }
        for Fate { request: r, .. } in &self.truth.fates {
            if r.dispatched_ns != r.intended_ns + r.connection_wait_ns {
                self.found.push(format!("late for no reason: {r:?}"));
            }
        }
        for (slot, ready_ns) in self.truth.forgotten(end) {
            self.found
                .push(format!("slot {slot} could have taken a request from {ready_ns} on, before {end}"));
        }
    }

    /// The right side of Little's identity, from the truth.
    fn overlap(&mut self) {
        let (start, end) = (self.start_ns, self.end_ns);
        let overlap = |f: &Fate| f.at_ns.min(end).saturating_sub(f.request.dispatched_ns.max(start));
        let sum = self.truth.fates.iter().map(overlap).sum();
        let recorder = self.recorder.workers.values().map(|worker| worker.overlap_sum_ns).sum();
        self.same::<u64>("Σ overlap with the window", recorder, sum);
    }
}
