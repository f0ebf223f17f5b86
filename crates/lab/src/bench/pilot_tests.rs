//! What `-d auto` asks of candidates before a run: real, small servers, whose rates are made up.

use std::sync::atomic::{AtomicU64, Ordering};

use prony_analysis::testing::healthy;
use prony_load::Interrupt;

use super::tests::{SERVE, assert_nothing_left, setup};
use super::*;

#[test]
fn a_pilot_gives_the_slowest_candidates_rate_and_keeps_nothing() {
    let root = tempfile::tempdir().unwrap();
    let nobody = ("none", "exit 3 # {port}");
    let setup = setup(root.path(), &[("a", SERVE), ("b", SERVE), nobody], 9);
    let loads = AtomicU64::new(0);
    let loader = |_: &Plan, _: &prony_load::Control, _: &mut dyn FnMut(&Snapshot)| {
        Ok(healthy(1, [4_000, 9_000][loads.fetch_add(1, Ordering::Relaxed) as usize]))
    };
    let (rate, ended) = pilot(&setup, Loads::new(&loader), &Interrupt::new()).unwrap();
    assert!((rate - 4_000.0).abs() < 1.0, "{rate}");
    assert_eq!(ended, [""; 0], "nothing was left to end");
    assert_eq!(loads.into_inner(), 2, "one load each, of those that start");
    assert!(!setup.log.exists());
    assert_nothing_left(root.path());
}

#[test]
fn a_pilot_without_any_candidate_says_why() {
    let root = tempfile::tempdir().unwrap();
    let setup = setup(root.path(), &[("none", "exit 3 # {port}")], 2);
    let why = pilot(&setup, Loads::new(&prony_load::run), &Interrupt::new()).unwrap_err().to_string();
    assert!(why.contains("exit code 3"), "{why}");
}
