//! What is written is read back by a reader of the format.

use super::text::grammar;
use super::*;
use crate::fixtures;

#[test]
fn a_trial_is_read_back() {
    let mut trial = fixtures::closed();
    trial.errors.insert("reset".into(), 3);
    trial.requests.completed = 397;
    trial.requests.failed = 3;
    trial.latency.response.count = 397;
    trial.latency.response.p50_ns = Some(2_000_000);
    trial.latency.response.p99_ns = None;
    trial.latency.response.mean_ns = Some(2_000_000);
    trial.target.url = "http://h/\"\\\n".into();
    let mut bytes = Vec::new();
    write(&trial, &mut bytes).unwrap();
    let read = grammar::read(&String::from_utf8(bytes).unwrap()).unwrap();
    let value = |name: &str| read.value(&format!("prony_trial_{name}"), &[]);
    assert_eq!(read.value("prony_trial_requests_total", &[("result", "completed")]), Some(397.0));
    assert_eq!(read.value("prony_trial_errors_total", &[("kind", "reset")]), Some(3.0));
    assert_eq!(read.value("prony_trial_response_seconds", &[("quantile", "0.5")]), Some(0.002));
    assert_eq!(read.value("prony_trial_response_seconds", &[("quantile", "0.99")]), None, "withheld");
    assert_eq!(value("response_seconds_count"), Some(397.0));
    assert_eq!(value("response_mean_seconds"), Some(0.002));
    assert_eq!(value("failed_ratio"), Some(0.0075));
    assert_eq!(value("server_peak_memory_bytes"), None, "no server was sampled");
    assert!((value("response_seconds_sum").unwrap() - 0.794).abs() < 1e-9);
    let url = &read.all("prony_trial_info")[0].0["url"];
    assert_eq!(url, "http://h/\"\\\n");
    assert_eq!(read.all("prony_trial_info")[0].0["judged_by"], trial.judged_by());
    assert_eq!(read.families["prony_trial_response_seconds"], "summary");
}

#[test]
fn every_figure_has_a_family_or_is_a_quantile_of_a_summary() {
    for figure in Figure::all() {
        let (unit, _) = figure.unit.base();
        let is_quantile = figure.quantile().is_some() || figure.name.starts_with("first_byte_p");
        assert_eq!(figure.metric.is_empty(), is_quantile, "{figure}");
        assert!(is_quantile || figure.metric.ends_with(unit), "{figure}");
    }
}
