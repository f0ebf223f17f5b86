//! What a worker's recorder asks of it at an edge of the window.

use std::collections::{BTreeMap, VecDeque};

use crate::codec::Codec;
use crate::codec::requests::Requests;
use crate::control::Control;
use crate::net::Net;
use crate::pace::request_order::RequestOrder;
use crate::recorder::latency::RequestTimes;
use crate::recorder::{AtEdge, Carried};
use crate::values::Rendered;
use prony_model::measurement::{TlsUse, Tolerance};

use super::slot::Slot;
use super::source::Source;

/// The most waits of never-sent requests entered one by one; more are grouped under each first member's wait.
const WAITS_ENTERED_MAX: u64 = 1_000_000;

pub(super) struct Around<'a, N, C: Codec> {
    pub(super) net: &'a mut N,
    pub(super) codec: &'a C,
    pub(super) slots: &'a [Slot<C>],
    pub(super) connections: u32,
    pub(super) moved: &'a VecDeque<(u32, RequestTimes, Rendered)>,
    pub(super) source: &'a Source,
    pub(super) request_order: Option<&'a RequestOrder>,
    pub(super) control: &'a Control,
    pub(super) start_ns: u64,
}

impl<N: Net, C: Codec> AtEdge for Around<'_, N, C> {
    fn cpu_ns(&mut self) -> u64 {
        self.net.cpu_ns()
    }

    fn unresolved(&self) -> impl Iterator<Item = &RequestTimes> {
        let on_slots = self.slots.iter().flat_map(|slot| slot.requests.iter().map(|(_, times)| times));
        on_slots.chain(self.moved.iter().map(|(_, times, _)| times))
    }

    fn due_before(&self, at_ns: u64) -> Option<u64> {
        match self.source {
            Source::Closed { .. } | Source::Ramped { .. } => None,
            Source::Open(schedule) => Some(schedule.due_by(at_ns.saturating_sub(self.start_ns))),
        }
    }

    fn never_sent(&self, at_ns: u64) -> impl Iterator<Item = (u64, u64, Option<u32>)> {
        let schedule = if let Source::Open(schedule) = self.source { Some(schedule) } else { None };
        let due = self.due_before(at_ns).unwrap_or(0);
        let mut left = schedule.map_or(0, |schedule| due.saturating_sub(schedule.taken()));
        let mut step = (left / WAITS_ENTERED_MAX).max(1);
        let mut request_order = self.request_order.cloned();
        if let Some(request_order) = request_order.as_ref().filter(|_| step > 1) {
            step = request_order.coprime(step);
        }
        let mut rest = schedule.filter(|_| left > 0).cloned();
        std::iter::from_fn(move || {
            let rest = rest.as_mut().filter(|_| left > 0)?;
            let due = self.start_ns + rest.next_ns()?;
            let group = step.min(left);
            left -= group;
            rest.skip(group);
            let request = request_order.as_mut().map(|request_order| {
                let request = request_order.peek();
                request_order.skip(group);
                request
            });
            Some((at_ns.saturating_sub(due), group, request))
        })
    }

    fn tolerated(&self) -> &BTreeMap<Tolerance, u64> {
        self.codec.tolerated()
    }

    fn carried(&self) -> impl Iterator<Item = Option<Carried>> {
        self.slots.iter().take(self.connections as usize).map(|slot| slot.carried(self.codec))
    }

    fn lowest_stream_limit(&self) -> Option<u64> {
        self.codec.lowest_stream_limit()
    }

    fn lease_ns(&self) -> u64 {
        self.control.lease_ns()
    }

    fn tls(&self) -> Option<(TlsUse, u64)> {
        self.net.tls()
    }
}
