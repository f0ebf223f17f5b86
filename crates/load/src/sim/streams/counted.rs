//! A load over HTTP/2 whose worker's instructions `cargo xtask gate` counts, as those of `sim/tests/counted.rs`.

use std::env;
use std::time::Duration;

use prony_model::plan::Work;

use super::StreamCase;
use super::habits::Habits;

/// Ten connections of 32 streams, and a server that answers all of a write at once.
#[test]
fn streams() {
    let requests = env::var("PRONY_COUNTED").map_or(1_000, |count| count.parse().unwrap());
    let habits = Habits { lengths_per_mille: 1_000, ..Habits::ideal(100_000) };
    let mut stream = StreamCase::closed(32, habits);
    let plan = &mut stream.case.plan;
    (plan.connections, plan.work) = (10, Work::Request("GET".to_owned()));
    plan.target.path = "/0".to_owned();
    (plan.stop.duration, plan.stop.requests) = (Some(Duration::from_secs(10)), Some(requests));
    let (played, _) = stream.play();
    assert_eq!(played.measurement.unwrap().requests.completed, requests);
}
