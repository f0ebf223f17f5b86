//! The fuzz target over run logs (fuzz/), a second of it on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/bodies/run_log.rs"]
mod run_log;

use serde_json::{Value, json};

#[test]
fn any_bytes_are_a_run_log_or_a_sentence() {
    mutate::play("run_log", 10_000, run_log::check);
}

#[test]
fn the_seeds_are_what_they_should_be() {
    let read = |seed: &str| {
        let path = format!("{}/../../fuzz/seeds/run_log/{seed}.jsonl", env!("CARGO_MANIFEST_DIR"));
        prony_analysis::run_log::read(path.as_ref()).unwrap()
    };
    let log = read("whole");
    assert_eq!((log.results.len(), log.events.len(), log.truncated), (1, 1, false));
    assert!(log.results[0].trial.is_some());
    assert!(read("cut").truncated && read("cut").unfinished.len() == 1);
}

#[test]
fn what_no_load_of_pronys_can_have_is_refused() {
    let log = include_str!("pinned/loads.jsonl");
    let (header, results) = log.split_once('\n').unwrap();
    let honest: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    let read = |path: &str, value: Value| {
        let mut result = honest.clone();
        let mut at = &mut result;
        for key in path.split('/') {
            at = &mut at[key];
        }
        *at = value;
        let text = format!("{header}\n{result}\n");
        prony_analysis::run_log::read_from(text.as_bytes(), "run.jsonl".as_ref()).map_err(|e| e.to_string())
    };
    assert!(read("block", 1.into()).is_ok());
    let worker = honest["observed"]["measurement"]["workers"][0].clone();
    let stage = json!({ "duration_ns": 90_000_000_000_000u64, "to_rate_per_s": 1.0, "to_connections": null });
    for (path, value, words) in [
        ("observed/measurement/requests/failed", json!(1u64 << 45), "no load can have"),
        ("observed/measurement/window_end_ns", json!(1u64 << 54), "no load can have"),
        ("observed/measurement/bins/completed", json!(vec![1; 10_000]), "bins"),
        ("observed/measurement/workers", Value::Array(vec![worker; 257]), "workers"),
        ("observed/server/columns/rss_bytes", json!([1u64 << 54]), "no load can have"),
        ("observed/server/columns/at_ns", json!([i64::MIN]), "no load can have"),
        ("observed/plan/stages", json!([stage]), "over a day"),
        ("observed/slo", json!([format!("p99<{}ms", "1".repeat(2_000))]), "bytes in a threshold"),
        ("block", json!(u32::MAX), "no run has a trial"),
        ("candidate", json!("a".repeat(1 << 18)), "the name of a candidate"),
    ] {
        let said = read(path, value).unwrap_err();
        assert!(said.contains("run.jsonl:2") && said.contains(words), "{path}: {said}");
    }
}
