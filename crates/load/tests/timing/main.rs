//! Tests whose truth is a duration. They are a binary of their own because
//! Cargo runs one binary after the other, and take turns within it: nothing
//! of ours competes with them. Where they may, they go first on a machine that
//! somebody else keeps busy.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test's helpers panic as its assertions do")]

mod known;
mod queue;
mod truth;

use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};
use std::time::Duration;

use prony_load::{Control, LoadError, Measurement, Plan, Target};

static TURN: Mutex<()> = Mutex::new(());
static AHEAD: Once = Once::new();

/// Asks for the real-time class for all threads of this process, and those they start: somebody's build is no part of
/// these truths. Only root gets it; without it, three tries have to do.
fn go_first() {
    let pid = std::process::id().to_string();
    let mut chrt = Command::new("chrt");
    chrt.args(["--all-tasks", "--rr", "--pid", "1", &pid]).stderr(Stdio::null());
    let _granted = chrt.status();
}

/// Gives a test its turn and three tries.
#[track_caller]
fn attempts(test: impl Fn() -> Result<(), String>) {
    AHEAD.call_once(go_first);
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
