//! What follows benchmarks from commit to commit: Bencher, and the action github-action-benchmark. A benchmark is a
//! candidate under a plan. A figure that is withheld or known only as a bound, and a response that grew with the window in
//! an overload, are left out: neither format could say so.

use std::collections::BTreeMap;

use prony_analysis::analyse;
use prony_analysis::experiment::Row;
use prony_analysis::figure::Figure;
use prony_model::run_log::RunLog;
use prony_model::unit::Unit;
use prony_model::{Estimate, Trial};
use serde_json::{Map, json};

use crate::json::pretty;

/// The figures with Bencher's measures; its own are `throughput`, operations per second, and `latency`, nanoseconds.
const FIGURES: [(Figure, &str); 4] = [
    (Figure::THROUGHPUT, "throughput"),
    (Figure::P50, "latency"),
    (Figure::P99, "latency-p99"),
    (Figure::CPU_PER_REQUEST, "cpu-per-request"),
];
/// The longest name of a benchmark at Bencher, in characters.
const NAME_MAX: usize = 1024;

type Known = (Figure, &'static str, Estimate);

/// Bencher Metric Format; `None` where no figure is known.
pub fn bmf(log: &RunLog) -> Option<String> {
    let mut all = Map::new();
    for (name, known) in benchmarks(log) {
        for (_, measure, Estimate { point, ci_low, ci_high, .. }) in known {
            let metric = &mut all.entry(&name).or_insert_with(|| json!({}))[measure];
            metric["value"] = point.into();
            for (end, value) in [("lower_value", ci_low), ("upper_value", ci_high)] {
                if let Some(value) = value.filter(|value| value.is_finite()) {
                    metric[end] = value.into();
                }
            }
        }
    }
    (!all.is_empty()).then(|| pretty(&all))
}

/// What github-action-benchmark takes for `customBiggerIsBetter`, or for `customSmallerIsBetter`: a file has one direction.
/// `None` where no such figure is known.
pub fn gab(log: &RunLog, bigger_is_better: bool) -> Option<String> {
    let mut all = Vec::new();
    for (name, known) in benchmarks(log) {
        for (figure, _, Estimate { point, ci_low, ci_high, .. }) in known {
            if figure.more_is_better != bigger_is_better {
                continue;
            }
            let (unit, one) = match figure.unit {
                Unit::Milliseconds => ("ms", 1e6),
                Unit::Microseconds => ("µs", 1e3),
                other => (other.shown(), 1.0),
            };
            let name = format!("{name} · {}", figure.title);
            let mut entry = json!({ "name": name, "unit": unit, "value": point / one });
            if let (Some(low), Some(high)) = (ci_low, ci_high) {
                entry["range"] = format!("± {:.6}", (high - low) / 2.0 / one).into();
            }
            all.push(entry);
        }
    }
    (!all.is_empty()).then(|| pretty(&all))
}

/// By name, which is the same in each run of an experiment, or of a load.
fn benchmarks(log: &RunLog) -> BTreeMap<String, Vec<Known>> {
    let mut all = BTreeMap::new();
    for plan in analyse(log).plans {
        for row in &plan.rows {
            let alone = alone(log, &plan.name, row);
            let known = |(figure, measure)| Some((figure, measure, known(figure, row, alone)?));
            let known: Vec<Known> = FIGURES.into_iter().filter_map(known).collect();
            if !known.is_empty() {
                let name = format!("{} · {}", row.candidate, plan.name);
                all.insert(name.chars().take(NAME_MAX).collect(), known);
            }
        }
    }
    all
}

fn known(figure: Figure, row: &Row, alone: Option<&Trial>) -> Option<Estimate> {
    let own = &row.figures[figure];
    let grew = figure.quantile().is_some() && row.overloaded > 0;
    let estimate = own.estimate.clone().filter(|known| known.point.is_finite());
    let estimate = estimate.filter(|known| !(own.lower_bound || known.at_least || grew))?;
    let Some(trial) = alone else { return Some(estimate) };
    let Estimate { ci_low, ci_high, .. } = trial.throughput.requests_per_s;
    let (ci_low, ci_high) = match trial.latency.response.ci95.get(figure.field) {
        _ if figure == Figure::THROUGHPUT => (ci_low, ci_high),
        ends => (ends.map(|(low, _)| *low as f64), ends.and_then(|(_, high)| Some((*high)? as f64))),
    };
    Some(Estimate { ci_low, ci_high, ..estimate })
}

/// The one load of a row, whose intervals are those within it.
fn alone<'a>(log: &'a RunLog, plan: &str, row: &Row) -> Option<&'a Trial> {
    let mut own = log.last_results().into_values().filter(|result| {
        result.capacity.is_none() && result.planned.plan == plan && result.planned.candidate == row.candidate
    });
    let is_one = log.header.one_by_one && row.counted == 1;
    is_one.then(|| own.find_map(|result| result.trial.as_ref().filter(|trial| trial.counts()))).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fixtures;

    fn read(text: Option<String>) -> Value {
        serde_json::from_str(&text.unwrap()).unwrap()
    }

    #[test]
    fn a_benchmark_has_measures_with_intervals() {
        let log = fixtures::run();
        let all = read(bmf(&log));
        assert_eq!(all.as_object().unwrap().len(), 6);
        let own = &all["node-http · c50"];
        let analysis = analyse(&log);
        let row = analysis.plans[0].rows.iter().find(|row| row.candidate == "node-http").unwrap();
        for (figure, measure) in FIGURES {
            let estimate = row.figures[figure].estimate.as_ref().unwrap();
            assert_eq!(own[measure]["value"].as_f64(), Some(estimate.point), "{figure}");
            assert_eq!(own[measure]["lower_value"].as_f64(), estimate.ci_low, "{figure}");
            assert_eq!(own[measure]["upper_value"].as_f64(), estimate.ci_high, "{figure}");
            assert!(estimate.ci_low.is_some(), "{figure}");
        }
    }

    #[test]
    fn a_single_load_has_the_intervals_within_it() {
        let mut log = fixtures::run();
        log.header.one_by_one = true;
        log.results.truncate(1);
        log.results[0].server = None;
        let trial = log.results[0].trial.clone().unwrap();
        let all = read(bmf(&log));
        let own = &all["nginx-fpm · c50"];
        let throughput = &trial.throughput.requests_per_s;
        assert_eq!(own["throughput"]["lower_value"].as_f64(), throughput.ci_low);
        assert_eq!(own["throughput"]["upper_value"].as_f64(), throughput.ci_high);
        let ends = trial.latency.response.ci95.get("p50_ns").copied();
        assert_eq!(own["latency"]["lower_value"].as_f64(), ends.map(|ends| ends.0 as f64));
        assert_eq!(own.get("cpu-per-request"), None, "nobody sampled the server");
    }

    #[test]
    fn bounds_and_overloads_are_left_out() {
        use prony_model::trial::{Bound, Outcome};

        let mut log = fixtures::run();
        for trial in log.results.iter_mut().filter_map(|result| result.trial.as_mut()) {
            trial.throughput.bound = Bound::Lower;
            trial.outcome = Outcome::Overloaded;
        }
        let all = read(bmf(&log));
        for (name, measures) in all.as_object().unwrap() {
            let measures: Vec<&String> = measures.as_object().unwrap().keys().collect();
            assert_eq!(measures, ["cpu-per-request"], "{name}");
        }
        assert_eq!(gab(&log, true), None);
        log.results.clear();
        assert_eq!((bmf(&log), gab(&log, false)), (None, None));
    }

    /// What src/extract.ts and src/extractRangeInfo.ts of benchmark-action/github-action-benchmark (v1.20) ask of a file
    /// for a custom tool: an array with entries, of each `name`, `unit` and `value`; of `range` a number behind `±`.
    #[test]
    fn each_direction_has_a_file_of_its_own() {
        let log = fixtures::run();
        for (bigger, titles) in [(true, &["Throughput"][..]), (false, &["p50", "p99", "CPU per request"])] {
            let all = read(gab(&log, bigger));
            let all = all.as_array().unwrap();
            assert_eq!(all.len(), 6 * titles.len());
            for entry in all {
                let name = entry["name"].as_str().unwrap();
                assert!(titles.iter().any(|title| name.ends_with(&format!(" · {title}"))), "{name}");
                assert!(entry["value"].as_f64().unwrap() > 0.0 && entry["unit"].is_string(), "{entry}");
                let range = entry["range"].as_str().unwrap().strip_prefix("± ").unwrap();
                assert!(range.len() > 1 && range.parse::<f64>().unwrap() >= 0.0, "{entry}");
            }
        }
        let bmf = read(bmf(&log));
        let all = read(gab(&log, false));
        let entries = all.as_array().unwrap();
        let p99 = entries.iter().find(|entry| entry["name"] == "hyper:b+c · c100 · p99").unwrap();
        let ns = bmf["hyper:b+c · c100"]["latency-p99"]["value"].as_f64().unwrap();
        assert_eq!((p99["unit"].as_str(), p99["value"].as_f64()), (Some("ms"), Some(ns / 1e6)));
    }
}
