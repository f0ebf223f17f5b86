//! `prony capacity --fleet`: a search whose probes are a fleet's loads.

use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::fleet::agents_of;
use crate::needs::has_nats_server;
use crate::world::{TargetProcess, World, send, wait_until};

/// A search by two agents, with its result in t.json.
fn search(world: &World, target: &TargetProcess, probe: &str) -> Command {
    let url = target.url();
    let line = [
        "capacity",
        &url,
        "--fleet",
        "local:2",
        "-d",
        probe,
        "--resolution",
        "50%",
        "--json",
        "t.json",
        "-q",
    ];
    let mut command = world.command(&line);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_capacity_is_found_by_a_fleet() {
    if !has_nats_server("the capacity of a fleet") {
        return;
    }
    let world = World::new();
    let target = TargetProcess::start(&["--capacity", "400/s"]);
    let code = search(&world, &target, "1s").status().unwrap().code();
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    // A machine that is busy with others may sustain no rate, and says so; more than the target serves is never sustained.
    assert!(json["probes"].as_array().is_some_and(|probes| !probes.is_empty()), "{json}");
    assert!(json["capacity_per_s"]["point"].as_f64().is_none_or(|point| point <= 440.0), "{json}");
    let confirmed = &json["confirmation"]["fleet"]["agents"];
    assert!(confirmed.as_array().is_none_or(|agents| agents.len() == 2), "{confirmed}");
    assert_eq!(code, Some(if json["capacity_per_s"].is_null() { 3 } else { 0 }), "{json}");
}

#[test]
fn a_search_that_loses_an_agent_goes_on_with_another() {
    if !has_nats_server("a search that loses an agent") {
        return;
    }
    let world = World::new();
    let target = TargetProcess::start(&["--capacity", "400/s"]);
    let mut search = search(&world, &target, "2s").spawn().unwrap();
    target.wait_for_requests(10);
    let before = agents_of(&search);
    assert_eq!(before.len(), 2);
    send(before[0], Signal::SIGKILL);
    wait_until("another agent is in its place", || {
        let now = agents_of(&search);
        now.len() == 2 && !now.contains(&before[0]) && now.contains(&before[1])
    });
    let code = search.wait().unwrap().code();
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    // Every probe that is kept was applied by both: none is cut.
    let probes = json["probes"].as_array().unwrap();
    assert!(!probes.is_empty() && !json.to_string().contains("agent_lost"), "{json}");
    assert_eq!(code, Some(if json["capacity_per_s"].is_null() { 3 } else { 0 }), "{json}");
}
