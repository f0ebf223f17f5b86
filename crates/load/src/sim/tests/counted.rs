//! Loads whose worker's instructions `cargo xtask gate` counts, of this tree and of an older commit's: each of as many
//! requests as `PRONY_COUNTED` says, and all of them answered. That is all that is asserted.

use std::env;
use std::sync::Arc;

use prony_model::{plan::Arrivals, rate::Rate};

use super::super::nature::{Nature, Service, Stamps};
use super::super::{Case, START_AHEAD_NS, SimWorker};
use crate::recorder::Edges;
use crate::worker::idle::Idle;

/// A load in a world of ordinary costs, whose answers overtake each other, over so many connections.
fn case(connections: u32) -> Case {
    let mut nature = Nature::ideal(0);
    nature.service = Service::Parallel { low_ns: 20_000, high_ns: 200_000 };
    nature.stamps = Some(Stamps { missing_per_mille: 0, absurd_per_mille: 0, offset_ns: 0 });
    (nature.clock_cost_ns, nature.call_cost_ns) = (25, 500);
    let mut case = Case::closed(nature);
    case.plan.connections = connections;
    case
}

/// Runs its worker alone: what the network saw is compared with what was recorded by the other tests.
fn run(mut case: Case) {
    let requests = env::var("PRONY_COUNTED").map_or(1_000, |count| count.parse().unwrap());
    (case.plan.stop.duration, case.plan.stop.requests) = (None, Some(requests));
    let hand = SimWorker::<true>::new(&case, 0);
    let ready_ns = hand.world.borrow().now_ns;
    let start_ns = ready_ns + START_AHEAD_NS;
    let edges = Edges { start_ns, end_ns: u64::MAX };
    hand.starts(ready_ns, start_ns, None);
    let (_, parts) = case.run(hand.worker, 0, start_ns, edges);
    assert_eq!(parts.iter().map(|part| part.run_total.completed).sum::<u64>(), requests);
}

#[test]
fn closed() {
    run(case(10));
}

#[test]
fn pipelined() {
    let mut case = case(10);
    case.plan.pipeline = 16;
    run(case);
}

#[test]
fn open() {
    let mut case = case(50);
    case.plan.arrivals = Arrivals::Constant(Rate::per_s(100_000.0).unwrap());
    run(case);
}

/// Every request waits for a connection, of a worker among so many.
fn waiting(workers: u32) {
    let mut case = case(10);
    case.plan.arrivals = Arrivals::Constant(Rate::per_s(1_000_000.0).unwrap());
    case.idle = Arc::new(Idle::new(workers));
    run(case);
}

#[test]
fn waiting_of_2() {
    waiting(2);
}

#[test]
fn waiting_of_128() {
    waiting(128);
}
