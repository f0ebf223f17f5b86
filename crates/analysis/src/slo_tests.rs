//! Thresholds held against trials of known truth.

use super::*;
use crate::testing::{closed_plan, healthy};
use crate::trial::judge;
use prony_model::histogram::SparseHistogram;
use prony_model::host::Host;
use prony_model::observed::Observed;
use prony_model::recorded_plan::RecordedStage;
use prony_model::trial::Bound;

fn trial() -> Trial {
    judge(&Observed::new(healthy(10, 2000), closed_plan()), &Host::default())
}

fn decision(slo: &str, trial: &Trial) -> Decision {
    Slo::parse(slo).unwrap().hold(trial, None).decision
}

#[test]
fn thresholds_are_met_or_missed_by_interval() {
    use Decision::{Met, Missed, Undecided};
    // 20,000 answers of 1 ms, give or take 0.2.
    let trial = trial();
    let p99 = trial.latency.response.p99_ns.unwrap() as f64 / 1e6;
    for (slo, expected) in [
        ("p50<1.1ms", Met),
        ("p50 < 900us", Missed),
        ("p99<2ms", Met),
        ("p99<=1s", Met),
        ("service.p99<2ms", Met),
        ("mean<1.2ms", Met),
        ("max<1ms", Missed),
        ("errors<0.1%", Met),
        ("errors<0.001%", Undecided),
        ("throughput>1900", Met),
        ("throughput>3k/s", Missed),
    ] {
        assert_eq!(decision(slo, &trial), expected, "{slo}");
    }
    assert_eq!(decision(&format!("p99<{p99:.4}ms"), &trial), Undecided);
}

#[test]
fn a_mean_is_met_or_missed_by_its_interval() {
    let mut trial = trial();
    trial.latency.response.ci95.insert("mean_ns".to_owned(), (900_000, Some(1_100_000)));
    let found = ["mean<1.2ms", "mean<1.05ms", "mean<850us"].map(|slo| decision(slo, &trial));
    assert_eq!(found, [Decision::Met, Decision::Undecided, Decision::Missed]);
    let held = Slo::parse("mean<1.05ms").unwrap().hold(&trial, None);
    assert!(held.seen.ends_with("(95 %: 0.90 ms to 1.10 ms)") && held.to_decide.is_some(), "{held:?}");
    trial.latency.response.ci95.insert("mean_ns".to_owned(), (900_000, None));
    let found = ["mean<1.2ms", "mean<850us"].map(|slo| decision(slo, &trial));
    assert_eq!(found, [Decision::Undecided, Decision::Missed], "without an upper end none is met");
    trial.latency.response.ci95.clear();
    assert_eq!(decision("mean<1.2ms", &trial), Decision::Undecided, "no interval says nothing");
}

#[test]
fn a_withheld_percentile_is_missed_by_requests_above_the_limit() {
    // Forty answers of about 1 ms: two above the limit are already more than a p99 below it lets happen.
    let trial = judge(&Observed::new(healthy(1, 40), closed_plan()), &Host::default());
    assert_eq!(trial.latency.response.p99_ns, None);
    let held = |slo: &str| Slo::parse(slo).unwrap().hold(&trial, None);
    let (missed, open) = (held("p99<1ns"), held("p99<1s"));
    assert_eq!((missed.decision, missed.point_within), (Decision::Missed, Some(false)));
    assert_eq!((open.decision, open.point_within), (Decision::Undecided, Some(true)));
}

#[test]
fn only_a_threshold_without_its_figure_is_not_judged() {
    let few = judge(&Observed::new(healthy(1, 40), closed_plan()), &Host::default());
    let of = |slo: &str, trial: &Trial| Slo::parse(slo).unwrap().hold(trial, None).not_judged;
    for (slo, expected) in [
        ("p99<1s", true),
        ("p999<1s", true),
        ("memory<1GB", true),
        ("p99<1ns", false), // missed by its count
        ("max<1s", false),
        ("errors<0.001%", false),
    ] {
        assert_eq!(of(slo, &few), expected, "{slo}");
    }
    let trial = trial();
    let p99 = trial.latency.response.p99_ns.unwrap() as f64 / 1e6;
    assert!(!of(&format!("p99<{p99:.4}ms"), &trial), "undecided");
    let mut silent = few;
    silent.requests.completed = 0;
    (silent.latency.response.mean_ns, silent.latency.response.max_ns) = (None, None);
    assert!(of("mean<1s", &silent) && of("max<1s", &silent) && of("errors<1%", &silent));
    hold_all(&[Slo::parse("p99<1s").unwrap()], &mut silent, None);
    assert_eq!(
        silent.slo[0].not_judged().unwrap().split(" to decide it").next(),
        Some("p99<1s: withheld, too few samples;")
    );
}

#[test]
fn requests_without_an_answer_are_above_every_limit() {
    let mut trial = judge(&Observed::new(healthy(1, 40), closed_plan()), &Host::default());
    // As many wait for ever: no percentile, no mean and no maximum of all of them is known to be low.
    trial.requests.in_flight = 40;
    trial.latency.response.p50_ns = None;
    for slo in ["p50<1s", "p90<1s", "mean<1s", "max<1s"] {
        assert_eq!(decision(slo, &trial), Decision::Undecided, "{slo}");
    }
    assert_eq!(decision("mean<1us", &trial), Decision::Missed);
    trial.requests.in_flight = 0;
    assert_eq!(decision("mean<1s", &trial), Decision::Met);
    trial.requests.failed = 1;
    assert_eq!(decision("mean<1s", &trial), Decision::Undecided, "a failed request is in no mean");
    trial.requests.failed = 0;
    trial.requests.completed = 1;
    assert_eq!(decision("mean<1s", &trial), Decision::Undecided, "one answer has no mean");
}

#[test]
fn failures_are_above_the_limit_and_a_lower_bound_not_missed() {
    let mut trial = trial();
    trial.requests.failed = 1_000;
    trial.series.iter_mut().for_each(|entry| entry.failed = 100);
    assert_eq!(decision("errors<1%", &trial), Decision::Missed);
    assert_eq!(decision("max<1s", &trial), Decision::Missed);
    trial.throughput.bound = Bound::Lower;
    assert_eq!(decision("throughput>3k", &trial), Decision::Undecided);
    trial.latency.response.p99_ns = None;
    trial.latency.response.ci95.remove("p99_ns");
    // Withheld, and a twentieth failed: the count of misses decides all the same.
    assert_eq!(decision("p99<1s", &trial), Decision::Missed);
    trial.requests.failed = 0;
    trial.series.iter_mut().for_each(|entry| entry.failed = 0);
    assert_eq!(decision("p99<1s", &trial), Decision::Met);
    trial.latency.response.censored_at_ns.insert("p99_ns".to_owned(), 2_000_000_000);
    assert_eq!(decision("p99<1s", &trial), Decision::Missed);
    assert_eq!(decision("p99<3s", &trial), Decision::Undecided);
}

/// Ten seconds of 2,000 answers each, a share of which takes 2 ms and the others 1, by the second.
fn two_times(slow: [u64; 10]) -> Trial {
    let mut m = healthy(10, 0);
    for (second, slow) in m.series.iter_mut().zip(slow) {
        let times = (0..2_000).map(|i| if i < slow { 2_000_000 } else { 1_000_000 + i });
        second.response = SparseHistogram::of_values(times);
        second.completed = 2_000;
        m.latency.plain.add(&second.response);
    }
    m.requests.completed = 20_000;
    judge(&Observed::new(m, closed_plan()), &Host::default())
}

#[test]
fn a_percentile_without_interval_is_judged_by_the_share_beyond() {
    use Decision::{Met, Missed, Undecided};
    let found = |slow| decision("p99<1.5ms", &two_times(slow));
    // 0.5 % and 2 % in each second alike, against the 1 % that p99 allows.
    assert_eq!((found([10; 10]), found([40; 10])), (Met, Missed));
    assert_eq!(found([18; 10]), Undecided, "0.9 % of 20,000");
    // As many in one second of ten: the others might have had as many.
    assert_eq!(found([100, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Undecided);
    assert_eq!(found([400, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Undecided);
    let held = Slo::parse("p99<1.5ms").unwrap().hold(&two_times([18; 10]), None);
    assert_eq!(held.to_decide.unwrap(), "-d 100s");
}

#[test]
fn of_a_window_whose_level_moves_a_calm_tail_is_not_met() {
    // The median doubles and comes back from part to part; no answer is beyond 5 ms.
    let mut trial = two_times([0; 10]);
    assert_eq!(decision("p99<5ms", &trial), Decision::Met);
    for (at, entry) in trial.series.iter_mut().enumerate() {
        let time = if at / 2 % 2 == 0 { 1_000_000 } else { 3_000_000 };
        entry.hdr = SparseHistogram::of_values(vec![time; 2_000]);
    }
    assert_eq!(decision("p99<5ms", &trial), Decision::Undecided);
}

#[test]
fn requests_still_waiting_beyond_the_limit_count_against_it() {
    let mut trial = two_times([0; 10]);
    trial.latency.waiting = SparseHistogram::of_values(vec![9_000_000; 1_000]);
    assert_eq!(decision("p99<10ms", &trial), Decision::Met);
    assert_ne!(decision("p99<5ms", &trial), Decision::Met);
}

#[test]
fn goodput_meets_every_response_time_and_says_even_arrivals() {
    let mut trial = two_times([500; 10]);
    let held = |slos: &[&str], trial: &mut Trial| {
        trial.slo.clear();
        hold_all(&slos.iter().map(|slo| Slo::parse(slo).unwrap()).collect::<Vec<_>>(), trial, None);
        trial.goodput_per_s
    };
    assert_eq!(held(&["p99<1.5ms", "p50<5ms"], &mut trial), Some(1_500.0));
    assert_eq!(held(&["max<5ms"], &mut trial), Some(2_000.0));
    assert!(!trial.slo[0].seen.contains("even"));
    assert_eq!(held(&["errors<1%", "service.p99<1ms"], &mut trial), None);
    trial.plan = crate::testing::constant_plan(2_000.0);
    held(&["p99<1.5ms", "errors<1%"], &mut trial);
    assert!(trial.slo[0].seen.ends_with("arrivals are even, which users' are not (--arrivals poisson)"));
    assert!(!trial.slo[1].seen.contains("even"), "{:?}", trial.slo[1]);
}

#[test]
fn failures_in_bursts_decide_less_than_independent_ones() {
    // 150 of 20,000 failed, 0.75 %: in each second alike, or in one of ten.
    let spread = |failed: [u64; 10]| {
        let mut trial = trial();
        trial.requests.failed = failed.iter().sum();
        for (entry, failed) in trial.series.iter_mut().zip(failed) {
            entry.failed = failed;
        }
        decision("errors<1%", &trial)
    };
    assert_eq!(spread([15; 10]), Decision::Met);
    assert_eq!(spread([150, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Decision::Undecided);
}

#[test]
fn with_stages_the_advice_is_a_load_at_one_rate() {
    let mut trial = trial();
    let stage = RecordedStage { duration_ns: 10_000_000_000, to_rate_per_s: Some(2e3), to_connections: None };
    trial.plan.stages = vec![stage];
    trial.latency.response.ci95.clear();
    trial.throughput.requests_per_s.ci_low = None;
    for slo in ["mean<1.2ms", "throughput>1900"] {
        let held = Slo::parse(slo).unwrap().hold(&trial, None);
        assert!(held.to_decide.unwrap().contains("in stages it has no interval"), "{slo}");
    }
}

#[test]
fn an_undecided_threshold_says_what_would_decide_it() {
    let held = Slo::parse("errors<0.001%").unwrap().hold(&trial(), None);
    assert_eq!(held.to_decide.unwrap(), "400000 requests or more");
    assert_eq!(held.seen, "0 of 20000 failed (0.000 %)");
}

#[test]
fn a_text_that_is_no_threshold_is_refused_with_the_reason() {
    for (text, words) in [
        ("", "neither < nor >"),
        ("p99", "neither < nor >"),
        ("p99>5ms", "upper limit"),
        ("p98<5ms", "not one of throughput, p50"),
        ("memory>1GB", "upper limit"),
        ("memory<1", "not a size"),
        ("service.mean<1ms", "not one of"),
        ("p99<5", "not a time"),
        ("p99<5 parsecs", "not a time"),
        ("errors<200%", "not a percentage"),
        ("errors>1%", "upper limit"),
        ("throughput<5k", "lower limit"),
        ("throughput>fast", "not a number"),
    ] {
        let said = Slo::parse(text).unwrap_err().to_string();
        assert!(said.contains(words), "{text:?}: {said}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = Slo::parse(&text);
    }
}

#[test]
fn every_figure_of_the_table_can_be_a_threshold() {
    for figure in Figure::all() {
        let limit = match figure.unit {
            Unit::Milliseconds | Unit::Microseconds => "5ms",
            Unit::RequestsPerS | Unit::RequestsPerCpuS | Unit::Ratio | Unit::Count => "5k",
            Unit::Megabytes => "200MB",
            Unit::MegabytesPerS => "1MB/s",
            Unit::Share => "1%",
        };
        let text = format!("{figure}{}{limit}", if figure.more_is_better { '>' } else { '<' });
        Slo::parse(&text).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn a_figure_of_the_server_is_undecided_without_its_samples() {
    let held = Slo::parse("memory<200MB").unwrap().hold(&trial(), None);
    assert_eq!((held.decision, held.seen.as_str()), (Decision::Undecided, "not measured"));
    assert!(held.to_decide.unwrap().contains("prony bench"));
    let said = Slo::parse_for_a_search("memory<200MB").unwrap_err().to_string();
    assert!(said.contains("a search decides by one probe"), "{said}");
    for of_a_load in ["p99<5ms", "service.p99<5ms", "max<1s", "mean<5ms", "errors<1%", "throughput>1k"] {
        Slo::parse_for_a_search(of_a_load).unwrap();
    }
}

#[test]
fn the_longest_and_the_highest_are_decided_as_they_are() {
    let server =
        ServerSamples { peak_memory_bytes: 53_100_000, startup_ns: 40_000_000, ..ServerSamples::default() };
    let held = |slo: &str| {
        let held = Slo::parse(slo).unwrap().hold(&trial(), Some(&server));
        (held.decision, held.seen)
    };
    assert_eq!(held("memory<60MB"), (Decision::Met, "53.1 MB".to_owned()));
    assert_eq!(held("memory<50MB"), (Decision::Missed, "53.1 MB".to_owned()));
    assert_eq!(
        held("startup<1s"),
        (Decision::Undecided, "40.0 ms".to_owned()),
        "one start says nothing of others"
    );
}
