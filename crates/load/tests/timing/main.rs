//! Tests whose truth is a duration. They are a binary of their own because
//! Cargo runs one binary after the other, and take turns within it: nothing
//! of ours competes with them.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test's helpers panic as its assertions do")]

mod queue;
mod truth;

use std::sync::Mutex;
use std::time::Duration;

use prony_load::{Control, LoadError, Measurement, Plan, Target};

static TURN: Mutex<()> = Mutex::new(());

/// Gives a test its turn and three tries.
#[track_caller]
fn attempts(test: impl Fn() -> Result<(), String>) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let failures: Vec<String> = (0..3).map_while(|_| test().err()).collect();
    assert!(failures.len() < 3, "{failures:#?}");
}

/// A closed plan of one connection against an address, without warm-up, for 200 requests.
fn plan(address: std::net::SocketAddr) -> Plan {
    let mut plan = Plan::closed(Target::parse(&format!("http://{address}/")).unwrap());
    plan.connections = 1;
    plan.warmup = Duration::ZERO;
    plan.stop.duration = None;
    plan.stop.requests = Some(200);
    plan
}

/// Runs a plan; whatever happens to its requests, the books must balance.
fn run(plan: &Plan) -> Result<Measurement, LoadError> {
    let measurement = prony_load::run(plan, &Control::new(), &mut |_| {})?;
    assert_eq!(measurement.broken_identities, Vec::<String>::new());
    Ok(measurement)
}
