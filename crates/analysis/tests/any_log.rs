//! The fuzz target over run logs (fuzz/), a second of it on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/bodies/run_log.rs"]
mod run_log;

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
