//! What `prony load` prints is what the target's ledger says.

use serde_json::Value;

use crate::world::{TargetProcess, World};

#[test]
fn the_json_agrees_exactly_with_the_targets_ledger() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = world.prony(&["load", &target.url(), "-c", "100", "-n", "50000", "--json", "-"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json: Value = serde_json::from_str(&said.out).expect("nothing but JSON on standard output");
    let ledger = target.ledger();
    assert_eq!(json["schema"], "prony.trial/1");
    assert_eq!(json["requests"]["completed"], 50_000);
    assert_eq!(json["run_total"]["sent"], ledger["requests_received"]);
    assert_eq!(json["run_total"]["sent"], ledger["requests_answered"]);
    assert_eq!(json["run_total"]["connections"], 100);
    assert_eq!(json["outcome"], "carried");
    assert_eq!(json["latency"]["service"]["count"], 50_000);
}

#[test]
fn the_json_of_a_timed_load_agrees_with_the_targets_ledger() {
    let world = World::new();
    let target = TargetProcess::start(&["--delay", "exp:2ms"]);
    let said = world.prony(&["load", &target.url(), "-d", "500ms", "--json", "t.json", "-q"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.out.lines().count(), 1, "quiet is one line: {}", said.out);
    let json: Value = serde_json::from_str(&world.read("t.json")).unwrap();
    // The last of them may be read after the load's end.
    let sent = json["run_total"]["sent"].as_u64().unwrap();
    target.wait_for_requests(sent);
    assert_eq!(target.ledger()["requests_received"], sent);
    assert_eq!(json["requests"]["in_flight"], 50);
    assert_eq!(json["window"]["duration_ns"], 500_000_000);
}

#[test]
fn without_a_url_an_embedded_target_is_loaded() {
    let world = World::new();
    let said = world.prony(&["load", "-n", "500"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let first = said.out.lines().next().unwrap();
    assert!(first.contains("req/s") && first.contains("0 failed"), "{first}");
}

#[test]
fn no_output_contains_secrets() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let url = target.url().replace("http://", "http://me:s3cret@");
    let line = ["load", &url, "-n", "10", "--json", "t.json", "-o", "r.jsonl", "-H", "Authorization: s3cret"];
    let said = world.prony(&line);
    assert_eq!(said.code, Some(0), "{said:?}");
    for text in [said.out, said.err, world.read("t.json"), world.read("r.jsonl")] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn loads_are_appended_to_a_run_log_and_reported() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    for _ in 0..2 {
        assert_eq!(world.prony(&["load", &target.url(), "-n", "500", "-o", "r.jsonl"]).code, Some(0));
    }
    let shown = world.prony(&["report", "r.jsonl"]);
    assert_eq!((shown.code, shown.out.matches("req/s").count() >= 2), (Some(0), true), "{shown:?}");
    let page = world.prony(&["report", "r.jsonl", "--format", "html"]);
    if prony_report::page::available().is_ok() {
        assert_eq!(page.code, Some(0), "{page:?}");
        assert!(world.read("r.html").contains("prony.page/1"));
    } else {
        assert_eq!((page.code, page.err.contains("make build")), (Some(2), true), "{page:?}");
    }
}
