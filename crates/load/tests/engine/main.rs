//! The engine against servers whose truth is known: Prony's own reference
//! server, and servers that lie in ways of which the test knows.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "a test's helpers panic as its assertions do")]

mod any_bytes;
mod connections;
mod counts;
mod failures;
mod http2;
mod known;
mod long;
mod lying;
mod origins;
mod samples;
mod shapes;
mod targets;
mod tls;
mod tls_server;
mod unasked;

use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{Control, LoadError, Snapshot};
use prony_model::{Measurement, Plan, Target};
use prony_target::Ledger;

/// Only what hangs takes this long: no machine is so slow.
const HANGS: Duration = Duration::from_secs(120);

/// A closed plan of one connection against an address, without warm-up, for 200 requests, none of which
/// times out.
fn plan(address: SocketAddr) -> Plan {
    let mut plan = Plan::closed(Target::parse(&format!("http://{address}/")).unwrap());
    plan.connections = 1;
    plan.warmup = Duration::ZERO;
    plan.stop.duration = None;
    plan.stop.requests = Some(200);
    plan.timeout = HANGS;
    plan
}

/// Runs a plan; whatever happens to its requests, its counts must balance.
fn run(plan: &Plan) -> Result<Measurement, LoadError> {
    let measurement = prony_load::run(plan, &Control::new(), &mut |_| {})?;
    assert_eq!(measurement.broken_identities, Vec::<String>::new());
    Ok(measurement)
}

/// Runs a plan until who watches it has seen enough, however long that takes on this machine.
fn run_until(plan: &Plan, enough: impl Fn(&Snapshot) -> bool) -> Measurement {
    let mut plan = plan.clone();
    (plan.stop.requests, plan.stop.duration) = (None, Some(HANGS));
    let control = Control::new();
    let stop = |snapshot: &Snapshot| {
        if enough(snapshot) {
            control.stop();
        }
    };
    let m = prony_load::run(&plan, &control, &mut |snapshot| stop(snapshot)).unwrap();
    assert!(m.interrupted, "after {HANGS:?} it was not enough: {:?} {:?}", m.requests, m.errors);
    assert_eq!(m.broken_identities, Vec::<String>::new());
    m
}

/// The account of a target that has read all that so many connections brought, and seen their ends: what a load
/// sent last may still lie in the kernel when the load is over.
fn settled(target: prony_target::Target, connections: u64) -> Ledger {
    let begun = Instant::now();
    loop {
        let ledger = target.ledger();
        if ledger.connections_accepted >= connections && ledger.connections_open == 0 {
            return target.stop();
        }
        assert!(
            begun.elapsed() < HANGS,
            "{connections} connections were opened, and not all have ended: {ledger:?}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

/// An address that refuses: its port is held on another address of the loopback, so that nobody is given it.
fn refusing() -> (SocketAddr, TcpListener) {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    (SocketAddr::from(([127, 0, 0, 77], held.local_addr().unwrap().port())), held)
}
