use prony_model::published::CapacityOf;
use prony_model::run_log::{Found, ShareOf};
use prony_model::trial::{Outcome, SCHEMA as TRIAL_SCHEMA};

use super::*;
use crate::figure::Figure;
use crate::testing::constant_plan;
use crate::testing::run::{Log, result};

fn ranks_of(analysis: &ExperimentAnalysis) -> Vec<(&str, Option<(u32, u32)>)> {
    analysis.plans[0].rows.iter().map(|r| (r.candidate.as_str(), r.rank())).collect()
}

#[test]
fn a_throughput_that_is_the_schedule_s_has_no_interval() {
    let mut log = Log::new(&["a"], 3).with(&[&[100], &[100], &[100]]);
    let throughput = |log: &Log| log.analyse().plans[0].rows[0].throughput().unwrap().clone();
    assert!(throughput(&log).ci_low.is_some());
    for at in 0..3 {
        log.trial(at).plan.rate_per_s = Some(100.0);
    }
    assert_eq!(throughput(&log).no_interval.as_deref(), Some(crate::experiment::CARRIED_WHOLE));
    log.trial(1).requests.never_sent = 1;
    assert!(throughput(&log).ci_low.is_some());
}

#[test]
fn throughputs_that_are_the_schedule_s_plan_no_blocks() {
    let mut log = Log::new(&["a", "b"], 2).with(&[&[100, 101], &[101, 100]]);
    let planning = |log: &Log| log.analyse().plans[0].planning.clone();
    assert!(planning(&log).is_some());
    (0..4).for_each(|at| log.trial(at).plan.rate_per_s = Some(100.0));
    assert_eq!(planning(&log), None);
    log.trial(1).requests.never_sent = 1;
    assert!(planning(&log).is_some());
}

#[test]
fn a_clear_order_has_ranks_ratios_and_a_leader() {
    let log = Log::new(&["b", "a", "base"], 4).with(&[
        &[200, 310, 100],
        &[202, 305, 101],
        &[198, 308, 99],
        &[201, 312, 100],
    ]);
    let analysis = log.analyse();
    assert_eq!(ranks_of(&analysis), [("a", Some((1, 1))), ("b", Some((2, 2))), ("base", Some((3, 3)))]);
    assert_eq!(analysis.headline, "a leads: 3.1 × base at c=50");
    let row = &analysis.plans[0].rows[0];
    let ratio = row.ratio.as_ref().unwrap();
    assert!(ratio.ci_low.unwrap() > 3.0 && ratio.ci_high.unwrap() < 3.2, "{ratio:?}");
    let rate = row.throughput().unwrap();
    assert!((rate.point - 308.7).abs() < 0.1 && rate.n == 4, "{rate:?}");
    assert_eq!(row.figures[Figure::THROUGHPUT].trials, [310.0, 305.0, 308.0, 312.0]);
    let of = |figure| row.figures[figure].estimate.as_ref().unwrap().point;
    assert!((of(Figure::CPU_PER_REQUEST) - 40_000.0).abs() < 1e-6);
    assert_eq!((of(Figure::MEMORY), row.counted, row.trials), (f64::from(13 << 20), 4, 4));
    assert!((of(Figure::STARTUP) - 3e7).abs() < 1.0);
    let json = serde_json::to_value(row).unwrap();
    assert_eq!((json["peak_memory_bytes"].as_u64(), json["rank"][1].as_u64()), (Some(13 << 20), Some(1)));
    assert_eq!(json["requests_per_s"]["point"].as_f64(), Some(rate.point));
    assert_eq!(row.completed, 12_000);
    assert_eq!(analysis.plans[0].rows[2].ratio.as_ref().unwrap().point, 1.0);
    assert_eq!((analysis.trials.planned, analysis.trials.valid), (12, 12));
    assert_eq!(analysis.elapsed_ns, Some(11 * 60_000_000_000 + 4_000_000_000));
    assert_eq!(analysis.baseline.as_deref(), Some("base"));
}

#[test]
fn a_row_has_cpu_per_request_its_reciprocal_and_memory_growth() {
    let mut log = Log::new(&["a", "base"], 3).with(&[&[310, 100], &[305, 99], &[308, 101]]);
    for (result, extra) in log.0.results.iter_mut().zip([0, 0, 5, 5, 10, 10]) {
        let server = result.server.as_mut().unwrap();
        server.window_cpu_ns = result.trial.as_ref().unwrap().requests.completed * (40_000 + extra * 1_000);
        let rss: Vec<u64> = (0..4_u64).map(|second| (10 << 20) - second * (1_000 + extra)).collect();
        server.columns.at_ns = (0..4).map(|second| second * 1_000_000_000).collect();
        server.columns.rss_bytes = rss;
    }
    for precision in [None, Some(prony_model::run_log::PrecisionRecord { share: 0.02, blocks_min: 3 })] {
        log.0.header.precision = precision;
        let row = log.analyse().plans[0].rows[0].clone();
        let of = |figure| row.figures[figure].estimate.clone().unwrap();
        let (cpu, per_cpu) = (of(Figure::CPU_PER_REQUEST), of(Figure::REQUESTS_PER_CPU));
        assert!((per_cpu.point * cpu.point / 1e9 - 1.0).abs() < 1e-9 && per_cpu.n == 3, "{per_cpu:?}");
        assert!((per_cpu.ci_low.unwrap() * cpu.ci_high.unwrap() / 1e9 - 1.0).abs() < 1e-9, "{per_cpu:?}");
        assert!(per_cpu.ci_low.unwrap() < per_cpu.point && per_cpu.point < per_cpu.ci_high.unwrap());
        let growth = of(Figure::MEMORY_GROWTH);
        assert!((growth.point + 1_005.0).abs() < 1e-6 && growth.ci_low.unwrap() < growth.point, "{growth:?}");
    }
    let result = &log.0.results[0];
    let of = |figure: Figure| {
        figure.of_trial(result.trial.as_ref().unwrap(), result.server.as_ref()).unwrap().value
    };
    assert!((of(Figure::REQUESTS_PER_CPU) - 25_000.0).abs() < 1e-6);
    assert!(Figure::REQUESTS_PER_CPU.more_is_better);
}

#[test]
fn candidates_that_do_not_differ_share_their_ranks() {
    let log = Log::new(&["x", "y", "base"], 4).with(&[
        &[300, 305, 100],
        &[304, 299, 101],
        &[298, 301, 99],
        &[303, 302, 100],
    ]);
    let analysis = log.analyse();
    assert_eq!(
        ranks_of(&analysis).iter().map(|r| r.1).collect::<Vec<_>>(),
        [Some((1, 2)), Some((1, 2)), Some((3, 3))]
    );
    assert_eq!(analysis.headline, "y and x lead, not told apart: 3.0 × base at c=50");
}

#[test]
fn one_block_has_figures_and_no_order() {
    let analysis = Log::new(&["a", "base"], 1).with(&[&[300, 100]]).analyse();
    assert_eq!(ranks_of(&analysis), [("a", Some((1, 2))), ("base", Some((1, 2)))]);
    assert_eq!(
        analysis.headline,
        "no verdict on base and a: one trial each does not show how much trials vary; 6 blocks do"
    );
    let estimate = analysis.plans[0].rows[0].throughput().unwrap();
    assert_eq!((estimate.point, estimate.no_interval.as_deref()), (300.0, Some("one trial has no interval")));
    assert_eq!(analysis.plans[0].rows[0].ratio.as_ref().unwrap().point, 3.0);
}

#[test]
fn the_headline_of_an_empty_log_says_that_nothing_was_measured() {
    let mut log = Log::new(&["a", "base"], 2);
    let analysis = log.analyse();
    assert_eq!(analysis.headline, "nothing was measured: the run log holds no result");
    assert_eq!((analysis.trials.missing, analysis.elapsed_ns, analysis.baseline.clone()), (4, None, None));
    assert_eq!(ranks_of(&analysis), [("a", None), ("base", None)]);
    log.0.header.order.clear();
    assert_eq!(log.analyse().plans[0].rows, []);
}

#[test]
fn a_missing_candidate_has_a_row_without_figures() {
    let analysis = Log::new(&["gone", "a", "base"], 2).with(&[&[0, 300, 100], &[0, 301, 99]]).analyse();
    let rows = &analysis.plans[0].rows;
    assert_eq!(rows[2].candidate, "gone");
    assert_eq!((rows[2].rank(), rows[2].trials, rows[2].throughput()), (None, 0, None));
    assert_eq!(rows[0].rank().map(|r| r.1 <= 2), Some(true), "places are among those that have a figure");
    assert_eq!(analysis.trials.missing, 2);
}

#[test]
fn invalid_trials_do_not_count_and_suspect_ones_do() {
    let mut log = Log::new(&["a", "base"], 4).with(&[&[900, 100], &[300, 101], &[301, 99], &[302, 100]]);
    let reason = prony_model::code::Code::Arithmetic.reason("1 + 1 = 3".to_owned());
    log.trial(0).verdict.reasons.push(reason);
    log.trial(0).verdict.validity = Validity::Invalid;
    log.trial(2).verdict.validity = Validity::Suspect;
    log.trial(4).interrupted = true;
    log.0.results[7].trial = None;
    log.0.results[7].failure = Some("The server died.".to_owned());
    let analysis = log.analyse();
    let counts = analysis.trials;
    assert_eq!((counts.valid, counts.suspect, counts.void, counts.missing), (4, 1, 3, 0));
    let row = &analysis.plans[0].rows[0];
    assert_eq!((row.trials, row.counted), (4, 2));
    assert_eq!(row.figures[Figure::THROUGHPUT].trials, [300.0, 302.0]);
    assert!(row.reasons.iter().any(|r| r.code == prony_model::code::Code::Arithmetic && r.trials == 1));
    assert_eq!(row.series.len(), 4);
    assert_eq!(row.series[0].validity, "invalid");
    assert_eq!(analysis.notes, ["not measured: base under c50 in block 4: The server died."]);
}

#[test]
fn after_a_resume_the_last_result_counts() {
    let mut log =
        Log::new(&["a", "base"], 2).with(&[&[900, 100], &[300, 101]]).event("interrupted").event("resumed");
    let again = log.0.results[0].planned.clone();
    log.0.results.push(result(again, 301));
    let analysis = log.analyse();
    assert_eq!(analysis.plans[0].rows[0].figures[Figure::THROUGHPUT].trials, [301.0, 300.0]);
    assert_eq!(analysis.trials.planned, 4);
    assert!(!analysis.interrupted);
    assert_eq!(analysis.notes, ["interrupted: a detail", "resumed: a detail"]);
    assert!(log.event("interrupted").analyse().interrupted);
}

#[test]
fn a_cut_off_line_and_unfinished_trials_are_noted() {
    let mut log = Log::new(&["a", "base"], 2).with(&[&[300, 100], &[0, 0]]);
    log.0.truncated = true;
    log.0.unfinished = vec![log.0.header.order[2].clone()];
    let notes = log.analyse().notes;
    assert!(notes[0].contains("cut off"), "{notes:?}");
    assert_eq!(notes[1], "begun, and without a result: a under c50 in block 2");
}

#[test]
fn lower_bounds_are_counted_and_in_the_headline() {
    let mut log = Log::new(&["a", "base"], 3).with(&[&[300, 100], &[301, 101], &[302, 99]]);
    log.trial(0).throughput.bound = prony_model::trial::Bound::Lower;
    let analysis = log.analyse();
    assert_eq!(analysis.trials.lower_bound, 1);
    assert!(analysis.plans[0].rows[0].lower_bound());
    assert_eq!(analysis.headline, "a leads: at least 3.0 × base at c=50");
}

#[test]
fn a_percentile_over_trials_is_that_of_all_their_requests() {
    use prony_model::histogram::SparseHistogram;
    let mut log = Log::new(&["a"], 3).with(&[&[300], &[301], &[302]]);
    let p99 = |log: &Log| {
        let row = log.analyse().plans[0].rows[0].clone();
        (row.figures[Figure::P99].estimate.clone(), row.figures[Figure::P99].censored_at_ns)
    };
    assert_eq!(p99(&log), (None, None), "9,000 answers: 90 beyond");
    for i in 0..3 {
        log.trial(i).latency.response.hdr = SparseHistogram::of_values(vec![4_000_000; 4_000]);
    }
    let found = p99(&log).0.unwrap();
    assert!((found.point - 4e6).abs() < 4e3 && found.ci_high.is_some(), "{found:?}");
    // Two in a hundred of all waited for more than 32 ms when a window closed.
    log.trial(1).latency.waiting = SparseHistogram::of_values(vec![32_000_000; 300]);
    assert!(matches!(p99(&log), (None, Some(31_900_000..=32_000_000))), "{:?}", p99(&log));
    log.trial(1).latency.waiting = SparseHistogram::default();
    log.trial(0).outcome = Outcome::Overloaded;
    assert!(p99(&log).0.unwrap().no_interval.unwrap().starts_with("overloaded"));
    assert_eq!(log.analyse().plans[0].rows[0].overloaded, 1);
}

#[test]
fn the_curve_rises_and_ends_where_requests_have_no_answer() {
    let mut log = Log::new(&["a"], 3).with(&[&[300], &[301], &[302]]);
    let curve = log.analyse().plans[0].rows[0].latency_curve.clone();
    assert!(curve.windows(2).all(|w| w[0].value_ns <= w[1].value_ns && w[0].quantile < w[1].quantile));
    assert_eq!(
        (curve[0].quantile, curve.last().unwrap().quantile),
        (0.0, 0.9975),
        "9,000 answers: ten beyond 99.89 %"
    );
    log.trial(0).latency.response.hdr = Default::default();
    log.trial(1).requests.failed = 30_000;
    let analysis = log.analyse();
    let curve = &analysis.plans[0].rows[0].latency_curve;
    assert_eq!(curve.last().unwrap().quantile, 0.1, "of 36,000 only 6,000 were answered: {curve:?}");
}

#[test]
fn server_samples_become_cores() {
    let analysis = Log::new(&["a"], 1).with(&[&[300]]).analyse();
    let series = &analysis.plans[0].rows[0].series[0];
    assert_eq!(series.server_cores, [(0, 0.5), (1_000, 1.0)]);
    assert_eq!(series.server_memory_bytes, [(-1_000, 1), (0, 2), (1_000, 3)]);
    assert_eq!(series.requests_per_s, [1000.0; 3]);
    assert_eq!(analysis.headline, "a carries 300 req/s at c=50");
}

#[test]
fn the_headline_at_a_constant_rate_names_who_carries_it() {
    let mut log = Log::new(&["a", "b", "base"], 2).with(&[&[2000, 1900, 2000], &[2000, 1890, 2000]]);
    log.0.header.plans[0].plan = constant_plan(2000.0);
    assert_eq!(log.analyse().headline, "all 3 candidates carry the 2,000 req/s");
    log.trial(1).outcome = Outcome::Overloaded;
    assert_eq!(log.analyse().headline, "2 of 3 candidates carry the 2,000 req/s; not b");
}

#[test]
fn a_stand_in_for_a_rate_that_a_run_finds_is_in_no_headline() {
    let mut log = Log::new(&["a", "b"], 2).with(&[&[2000, 1000], &[2010, 1001]]);
    // As an older log has it.
    log.0.header.plans[0].plan = constant_plan(1.0);
    log.0.header.plans[0].capacity = Some("default".to_owned());
    assert!(log.analyse().headline.starts_with("a leads: 2.0 × b"), "{}", log.analyse().headline);
    let of = CapacityOf { candidate: "b".to_owned(), plan: "knee".to_owned() };
    (log.0.header.plans[0].capacity, log.0.header.plans[0].share) = (None, Some(ShareOf { share: 0.5, of }));
    assert_eq!(log.analyse().headline, "both candidates carry 50 % of the capacity of b (knee)");
    log.trial(0).outcome = Outcome::Overloaded;
    assert_eq!(log.analyse().headline, "1 of 2 candidates carry 50 % of the capacity of b (knee); not a");
}

#[test]
fn a_search_is_the_headline_before_a_rate_that_all_carry() {
    let rates: [&[u64]; 4] = [&[9000, 3000], &[9010, 3001], &[8990, 2999], &[9005, 3000]];
    let searched = Log::new(&["a", "base"], 4).with(&rates).0;
    let even: [&[u64]; 4] = [&[2000, 2000]; 4];
    let mut log = Log::new(&["a", "base"], 4).with(&even);
    log.0.header.plans[0].plan = constant_plan(2000.0);
    let mut knee = searched.header.plans[0].clone();
    (knee.name, knee.capacity) = ("knee".to_owned(), Some("p99<50ms".to_owned()));
    log.0.header.plans.push(knee);
    for mut result in searched.results {
        result.planned.plan = "knee".to_owned();
        result.planned.index += 8;
        log.0.header.order.push(result.planned.clone());
        log.0.results.push(result);
    }
    assert_eq!(log.analyse().headline, "a leads: 3.0 × base with p99<50ms at c=50");
    // A closed loop says itself who leads.
    log.0.header.plans[0].plan = searched.header.plans[0].plan.clone();
    assert_eq!(log.analyse().headline, "a and base are not told apart at c=50");
    // Nor are those alike of whom one does not carry the rate.
    log.0.header.plans[0].plan = constant_plan(2000.0);
    log.trial(1).outcome = Outcome::Overloaded;
    assert_eq!(log.analyse().headline, "1 of 2 candidates carry the 2,000 req/s; not base");
}

#[test]
fn a_candidate_that_carried_nothing_is_last_and_unranked() {
    let mut log = Log::new(&["dead", "a", "base"], 2).with(&[&[1, 300, 100], &[1, 301, 99]]);
    for i in [0, 3] {
        log.trial(i).throughput.requests_per_s.point = 0.0;
        log.trial(i).outcome = Outcome::Broken;
    }
    let analysis = log.analyse();
    let row = &analysis.plans[0].rows[2];
    assert_eq!((row.candidate.as_str(), row.rank(), row.broken), ("dead", None, 2));
    assert_eq!(row.throughput().unwrap().point, 0.0);
}

#[test]
fn trials_beyond_the_order_have_a_plan_and_a_row_of_their_own() {
    let mut log = Log::new(&["a"], 1).with(&[&[300]]);
    let planned = PlannedTrial {
        index: 9,
        block: 1,
        candidate: "http://h/".to_owned(),
        plan: "load".to_owned(),
        duet: None,
        repeat: 0,
        control: None,
    };
    log.0.results.push(result(planned, 500));
    let analysis = log.analyse();
    assert_eq!((analysis.trials.planned, analysis.trials.valid), (2, 2));
    assert_eq!(analysis.plans[1].name, "load");
    assert_eq!(analysis.plans[1].rows[0].candidate, "http://h/");
    assert_eq!(TRIAL_SCHEMA, "prony.trial/1");
}

#[test]
fn candidates_that_share_a_reason_share_a_note() {
    let mut log = Log::new(&["a", "b", "c"], 1);
    let event = |candidate: &str, detail: &str| Event {
        at: String::new(),
        what: "start_failed".to_owned(),
        detail: detail.to_owned(),
        found: Some(Found { candidate: candidate.to_owned(), sleep: None }),
    };
    log.0.events =
        vec![event("a", "given up: no"), event("c", "given up: never"), event("b", "given up: no")];
    for planned in log.0.header.order.clone() {
        let failure = Some(format!("{} ended with exit code 3.", planned.candidate));
        log.0.results.push(TrialResult { planned, trial: None, server: None, failure, capacity: None });
    }
    let notes = log.analyse().notes;
    assert_eq!(notes[..2], ["start failed: a and b: given up: no", "start failed: c: given up: never"]);
    assert!(notes.len() == 3 && notes[2].ends_with(": ended with exit code 3."), "{notes:?}");
}

#[test]
fn only_a_candidate_whose_server_died_is_not_ranked() {
    let mut log =
        Log::new(&["a", "b", "base"], 3).with(&[&[300, 200, 100], &[301, 202, 101], &[299, 201, 99]]);
    let trial = log.trial(0);
    trial.verdict.reasons.push(prony_model::code::Code::ServerDied.reason("signal 11".to_owned()));
    trial.verdict.validity = Validity::Invalid;
    let analysis = log.analyse();
    assert_eq!(ranks_of(&analysis), [("a", None), ("b", Some((1, 1))), ("base", Some((2, 2)))]);
    let row = &analysis.plans[0].rows[0];
    assert_eq!(row.died.unwrap().to_string(), "died in 1 of 3 starts");
    assert!(row.ratio.as_ref().unwrap().no_interval.as_ref().unwrap().contains("died"));
    assert!(analysis.headline.starts_with("b leads"), "{}", analysis.headline);
}

#[test]
fn equals_are_not_told_apart_and_it_is_said_what_may_be_missed() {
    let log = Log::new(&["a", "base"], 4).with(&[&[300, 304], &[303, 299], &[301, 302], &[299, 300]]);
    let headline = log.analyse().headline;
    assert_eq!(headline, "a and base are equivalent: throughput within 2 %, p50 within 5 % and 2 more");
    let log = Log::new(&["a", "b", "c"], 4);
    let log = log.with(&[&[300, 304, 301], &[303, 299, 302], &[301, 302, 300], &[299, 300, 303]]);
    let headline = log.analyse().headline;
    assert!(headline.contains("are not told apart at c=50 by 4 blocks; differences under "), "{headline}");
    assert!(headline.ends_with(" % may be missed"), "{headline}");
}
