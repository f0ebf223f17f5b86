//! Run logs of this format stay readable, and what they are judged to say changes only on purpose.
//!
//! `PRONY_PIN=1 cargo test -p prony-analysis --test pinned` writes the judgements anew: the difference is then the
//! change's, for its commit to explain.

#![allow(clippy::unwrap_used, reason = "a test's helpers")]

use std::path::{Path, PathBuf};

use prony_analysis::run_log::{self, judge_result};
use prony_model::run_log::{RawResult, TrialResult};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pinned")
}

/// As text, but for the version that judged.
fn pretty(results: &[TrialResult]) -> String {
    let mut results = results.to_vec();
    results.iter_mut().filter_map(|result| result.trial.as_mut()).for_each(|trial| trial.judged_by = None);
    serde_json::to_string_pretty(&results).unwrap() + "\n"
}

#[test]
fn pinned_logs_have_pinned_judgements() {
    let mut read = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let log = entry.unwrap().path();
        if log.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        read += 1;
        let judged = pretty(&run_log::read(&log).unwrap().results);
        let pinned = log.with_extension("json");
        if std::env::var_os("PRONY_PIN").is_some() {
            std::fs::write(&pinned, &judged).unwrap();
        }
        let expected = std::fs::read_to_string(&pinned).unwrap_or_default();
        let differs = judged.lines().zip(expected.lines()).find(|(now, then)| now != then);
        assert_eq!((differs, judged.len()), (None, expected.len()), "{}", log.display());
    }
    assert!(read >= 1, "there is a pinned log");
}

#[test]
fn what_is_judged_is_the_same_before_and_after_writing() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let log = entry.unwrap().path();
        let Some(text) =
            log.extension().filter(|e| *e == "jsonl").map(|_| std::fs::read_to_string(&log).unwrap())
        else {
            continue;
        };
        let host = run_log::read(&log).unwrap().header.host;
        for line in text.lines().filter(|line| line.contains("\"type\":\"result\"")) {
            let raw: RawResult = serde_json::from_str(line).unwrap();
            let again: RawResult = serde_json::from_str(&serde_json::to_string(&raw).unwrap()).unwrap();
            assert_eq!(raw, again);
            let [one, two] = [raw, again].map(|raw| pretty(&[judge_result(&host, raw).unwrap()]));
            assert_eq!(one, two);
        }
    }
}
