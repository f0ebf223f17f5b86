//! Requests that are resolved: completed, or failed.

use super::by_request::STATUS_MAX;
use super::latency::RequestTimes;
use super::part::bounded;
use super::window_delta::First;
use super::{Phase, Recorder};
use prony_model::measurement::ErrorKind;

impl Recorder {
    #[inline]
    pub(crate) fn answered(&mut self, status: u16) {
        if self.phase == Phase::Window {
            self.status[usize::from(status).min(STATUS_MAX - 1)] += 1;
        }
    }

    #[inline]
    fn resolve(&mut self, now_ns: u64, times: &RequestTimes) {
        self.integrate(now_ns);
        self.in_flight -= 1;
        self.resolved += 1;
        if self.phase == Phase::Window {
            self.audit.overlap_sum_ns += now_ns - times.dispatched_ns.max(self.overlap_from_ns);
        }
    }

    #[inline]
    pub(crate) fn completed(&mut self, now_ns: u64, times: &RequestTimes) {
        self.resolve(now_ns, times);
        self.run.completed += 1;
        if self.phase != Phase::Window {
            return;
        }
        self.window.completed += 1;
        if self.keeps_each {
            self.keep_each(times.last_byte_ns, times, None);
        }
        let (then_ns, last) = &self.last_completed;
        if *then_ns == now_ns && last.is_as(times) {
            self.repeated += 1;
            return;
        }
        self.enter_other(now_ns, times);
    }

    /// Enters a request that succeeded at other instants than the last one.
    #[inline(never)]
    fn enter_other(&mut self, now_ns: u64, times: &RequestTimes) {
        self.enter_repeated();
        self.enter(now_ns, times, 1);
        self.last_completed = (now_ns, *times);
    }

    pub(super) fn enter_repeated(&mut self) {
        if self.repeated > 0 {
            let (now_ns, times) = self.last_completed;
            let count = std::mem::take(&mut self.repeated);
            self.enter(now_ns, &times, count);
        }
    }

    #[inline]
    fn enter(&mut self, now_ns: u64, times: &RequestTimes, count: u64) {
        let response_ns = times.last_byte_ns - times.intended_ns;
        if let Some(bin) = self.bins.last_mut() {
            bin.completed += count;
            bin.response_sum_ns = bin.response_sum_ns.saturating_add(count.saturating_mul(response_ns));
        }
        self.parts.completed(now_ns, times, count);
    }

    pub(crate) fn failed(
        &mut self,
        now_ns: u64,
        times: &RequestTimes,
        kind: ErrorKind,
        message: impl FnOnce() -> String,
    ) {
        self.resolve(now_ns, times);
        self.failed_by_kind[kind as usize] += 1;
        if self.phase != Phase::Window {
            return;
        }
        self.window.failed += 1;
        if let Some(bin) = self.bins.last_mut() {
            bin.failed += 1;
        }
        let failures = &mut self.errors[kind as usize];
        if failures.count == 0 {
            let at_ns = now_ns - self.start_ns;
            failures.first = First { at_ns, worker: self.sink.worker, what: bounded(message()) };
        }
        failures.count += 1;
        self.parts.failed(now_ns, times);
        if self.keeps_each {
            self.keep_each(now_ns, times, Some(kind));
        }
    }

    /// What only some plans ask for of each request that ended at `end_ns`.
    #[inline(never)]
    fn keep_each(&mut self, end_ns: u64, times: &RequestTimes, failure: Option<ErrorKind>) {
        self.samples.keep(end_ns, times, failure);
        if let Some(by_request) = &mut self.by_request {
            by_request.ended(end_ns, times, failure);
        }
    }
}
