//! The fuzz target over views (fuzz/), some seconds of it on the stable compiler.
#![allow(unreachable_pub, clippy::expect_used, reason = "bodies that the fuzzer's binaries share")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;
#[path = "../../../fuzz/bodies/views.rs"]
mod views;

#[test]
fn every_view_shows_whatever_can_be_read() {
    mutate::play("views", 300, views::check);
}

#[test]
fn the_logs_that_are_changed_are_read_whole() {
    let read = |which: usize| {
        let text: String = views::honest(which).iter().map(|line| format!("{line}\n")).collect();
        prony_analysis::run_log::read_from(text.as_bytes(), "run.jsonl".as_ref()).unwrap()
    };
    assert_eq!([0, 1, 2].map(|which| read(which).results.len()), [1, 4, 7]);
    let experiment = read(2);
    assert!(experiment.results.iter().all(|result| result.trial.is_some()));
    let analysis = prony_analysis::analyse(&experiment);
    assert_eq!(analysis.plans[0].rows.len(), 2, "two candidates are ranked");
    assert!(analysis.published.is_some() && experiment.results[6].capacity.is_some());
}
