//! A request costs no allocation: what workers ask of the allocator does not grow with what they send.
//!
//! A binary of its own with one test, since the allocator is the process's and so are its counts. The
//! target's threads run in it, too; only workers are counted, by their names.
#![allow(clippy::unwrap_used, reason = "a test's helpers panic as its assertions do")]

mod sys;

use std::time::{Duration, Instant};

use prony_load::Control;
use prony_model::Plan;
use prony_model::list::{Order, TargetList};
use prony_model::plan::{Arrivals, Expect, Work};
use prony_model::rate::Rate;
use prony_target::{Config, Target};

#[global_allocator]
static ALLOCATOR: sys::Counting = sys::Counting;

/// The requests of a load that is short.
const FEW: u64 = 200;
/// What a longer one may allocate beyond it: a few blocks that its channels and tables grow by.
const MORE_MAX: u64 = 64;
/// And for each of its seconds, whose histograms are handed over.
const MORE_PER_S_MAX: u64 = 8;

/// What the workers of so many requests allocate in all, and how long they take.
fn allocated(plan: &Plan, requests: u64) -> (u64, Duration) {
    let mut plan = plan.clone();
    plan.stop.requests = Some(requests);
    let (before, begun) = (sys::allocations_of_workers(), Instant::now());
    let m = prony_load::run(&plan, &Control::new(), &mut |_| {}).unwrap();
    assert_eq!((m.requests.completed, m.requests.failed), (requests, 0), "{:?}", m.errors);
    // The workers have ended when a run has.
    (sys::allocations_of_workers() - before, begun.elapsed())
}

#[test]
fn workers_allocate_nothing_for_a_request() {
    let target = Target::start(&Config::default()).unwrap();
    let url = format!("http://{}/", target.address());
    let mut closed = Plan::closed(prony_model::Target::parse(&url).unwrap());
    closed.connections = 10;
    closed.warmup = Duration::ZERO;
    // Only what hangs takes this long.
    closed.timeout = Duration::from_secs(120);
    closed.stop.duration = None;
    let lines =
        TargetList::parse(b"/\n/json\nHEAD /\n", Some(&closed.target), "GET", Order::Shuffled).unwrap();
    let list = Work::List(lines.1);
    let body = Some(b"Hello, World!".to_vec());
    let shapes = [
        ("a closed loop", 20_000, closed.clone()),
        ("two workers", 20_000, Plan { threads: 2, ..closed.clone() }),
        ("pipelines", 20_000, Plan { pipeline: 8, ..closed.clone() }),
        (
            "a rate",
            20_000,
            Plan { arrivals: Arrivals::Constant(Rate::per_s(20_000.0).unwrap()), ..closed.clone() },
        ),
        ("a body compared", 20_000, Plan { expect: Expect { body, ..Expect::default() }, ..closed.clone() }),
        ("single requests kept", 20_000, Plan { samples_max: 1_000, ..closed.clone() }),
        ("a list", 20_000, Plan { work: list.clone(), ..closed.clone() }),
        ("a list in pipelines", 20_000, Plan { work: list, pipeline: 8, ..closed.clone() }),
        // Fewer, since each takes a port.
        ("a connection for each", 4_000, Plan { keepalive: false, ..closed }),
    ];
    for (what, many, plan) in shapes {
        let (few_allocations, _) = allocated(&plan, FEW);
        assert!(few_allocations > 0, "{what}: nothing was counted");
        let (many_allocations, took) = allocated(&plan, many);
        let most = few_allocations + MORE_MAX + MORE_PER_S_MAX * took.as_secs();
        assert!(
            many_allocations <= most,
            "{what}: {FEW} requests took {few_allocations} allocations, {many} took {many_allocations}"
        );
    }
}
