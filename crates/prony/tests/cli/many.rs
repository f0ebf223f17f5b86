//! Ten thousand connections within twenty thousand files, on however few processors.

use serde_json::Value;

use crate::world::{TargetProcess, World};

const CONNECTIONS: u64 = 10_000;
const FILES: u64 = 20_000;
/// The engine's own are about 15 MB; a development build and its libraries come on top.
const MEMORY_MAX_BYTES: u64 = 96 << 20;

#[test]
fn ten_thousand_connections_need_at_most_twice_as_many_files() {
    let world = World::new();
    if world.shell(&format!("ulimit -Hn {FILES}")).code != Some(0) {
        return eprintln!("not tested: this user may not have {FILES} open files");
    }
    let target = TargetProcess::start(&["-t", "1"]);
    let requests = 3 * CONNECTIONS;
    let said = world.shell(&format!(
        "ulimit -Hn {FILES} && ulimit -n {FILES} && exec prony load {} -c {CONNECTIONS} -n {requests} --timeout 600s \
         --json -",
        target.url()
    ));
    assert_eq!(said.code, Some(0), "{said:?}");
    let trial: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(trial["requests"]["completed"], requests, "{}", trial["first_errors"]);
    assert_eq!(trial["requests"]["failed"], 0);
    assert_eq!(trial["run_total"]["connections"], CONNECTIONS);
    let ledger = target.ledger();
    assert_eq!(ledger["requests_received"], requests);
    let memory = trial["client"]["max_rss_bytes"].as_u64().unwrap();
    eprintln!("{CONNECTIONS} connections: {:.1} MB", memory as f64 / 1e6);
    assert!(memory < MEMORY_MAX_BYTES, "{memory}");
    // What the host did meanwhile is recorded beside it.
    assert_eq!(trial["host_window"]["target_is_local"], true, "{}", trial["host_window"]);
    assert_eq!(trial["client"]["waits"], "epoll_pwait2");
}
