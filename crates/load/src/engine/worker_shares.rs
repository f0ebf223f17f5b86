//! What of a plan each worker has: connections, requests, lines of a list, single requests to be kept.

use std::sync::Arc;

use crate::pace::request_order::{Lines, RequestOrder};
use prony_model::plan::Plan;

/// What the first `workers` of all have of `total` together.
fn up_to(total: u64, workers: u32, of: u32) -> u64 {
    let share = u128::from(total) * u128::from(workers) / u128::from(of.max(1));
    u64::try_from(share).unwrap_or(total)
}

/// A worker's connections, and its requests of `-n`: as its connections are to
/// all, so that none is done long before the others. There are `of` workers in all.
pub(crate) fn shares(plan: &Plan, worker: u32, of: u32) -> (u32, u64) {
    let connections = |workers| up_to(u64::from(plan.connections), workers, of) as u32;
    let (before, after) = (connections(worker), connections(worker + 1));
    let requests = plan.stop.requests.map_or(u64::MAX, |requests| {
        up_to(requests, after, plan.connections) - up_to(requests, before, plan.connections)
    });
    (after - before, requests)
}

/// The worker's requests of the plan's list.
pub(crate) fn request_order(
    plan: &Plan,
    worker: u32,
    of: u32,
    list: Option<&Arc<Lines>>,
) -> Option<RequestOrder> {
    let connections = up_to(u64::from(plan.connections), worker, of) as u32;
    let before = plan.stop.requests.map_or(0, |requests| up_to(requests, connections, plan.connections));
    list.map(|list| RequestOrder::of(plan, worker, of, before, list))
}

/// How many single requests a worker keeps: of -n its requests' share, else an equal one.
pub(super) fn samples_share(plan: &Plan, worker: u32, of: u32) -> u64 {
    if plan.arrivals.are_open() {
        return plan.samples_max.div_ceil(u64::from(of.max(1)));
    }
    let connections = |workers| up_to(u64::from(plan.connections), workers, of) as u32;
    let kept_by = |workers| up_to(plan.samples_max, connections(workers), plan.connections);
    kept_by(worker + 1) - kept_by(worker)
}
