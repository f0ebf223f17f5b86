//! The engine against servers whose truth is known: Prony's own reference
//! server, and servers that lie in ways of which the test knows.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test's helpers panic as its assertions do")]

mod any_bytes;
mod counts;
mod failures;
mod lying;
mod samples;
mod shapes;
mod targets;
mod tls;
mod tls_server;

use std::time::Duration;

use prony_load::{Control, LoadError, Measurement, Plan, Target};

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
