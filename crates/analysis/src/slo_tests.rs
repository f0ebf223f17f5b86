//! Thresholds held against trials of known truth.

use super::*;
use crate::testing::{closed_plan, healthy};
use crate::trial::judge;
use prony_model::host::Host;
use prony_model::observed::Observed;
use prony_model::plan_record::StageRecord;
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
    trial.latency.response.ci95.insert("mean_ns".to_owned(), [900_000, 1_100_000]);
    let found = ["mean<1.2ms", "mean<1.05ms", "mean<850us"].map(|slo| decision(slo, &trial));
    assert_eq!(found, [Decision::Met, Decision::Undecided, Decision::Missed]);
    let held = Slo::parse("mean<1.05ms").unwrap().hold(&trial, None);
    assert!(held.seen.ends_with("(95 %: 0.90 ms to 1.10 ms)") && held.to_decide.is_some(), "{held:?}");
    trial.latency.response.ci95.clear();
    assert_eq!(decision("mean<1.2ms", &trial), Decision::Undecided, "no interval says nothing");
}

#[test]
fn a_withheld_percentile_is_missed_by_the_requests_above_the_limit() {
    // Forty answers of about 1 ms: two above the limit are already more than a p99 below it lets happen.
    let trial = judge(&Observed::new(healthy(1, 40), closed_plan()), &Host::default());
    assert_eq!(trial.latency.response.p99_ns, None);
    let held = |slo: &str| Slo::parse(slo).unwrap().hold(&trial, None);
    let (missed, open) = (held("p99<1ns"), held("p99<1s"));
    assert_eq!((missed.decision, missed.point_within), (Decision::Missed, Some(false)));
    assert_eq!((open.decision, open.point_within), (Decision::Undecided, Some(true)));
}

#[test]
fn a_threshold_without_its_figure_is_not_judged_and_one_whose_interval_holds_the_limit_is() {
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
fn failures_count_as_above_the_limit_and_a_lower_bound_is_not_missed() {
    let mut trial = trial();
    trial.requests.failed = 1_000;
    assert_eq!(decision("errors<1%", &trial), Decision::Missed);
    assert_eq!(decision("max<1s", &trial), Decision::Missed);
    trial.throughput.bound = Bound::Lower;
    assert_eq!(decision("throughput>3k", &trial), Decision::Undecided);
    trial.latency.response.p99_ns = None;
    trial.latency.response.ci95.remove("p99_ns");
    // Withheld, and a twentieth failed: the count of misses decides all the same.
    assert_eq!(decision("p99<1s", &trial), Decision::Missed);
    trial.requests.failed = 0;
    assert_eq!(decision("p99<1s", &trial), Decision::Met);
    trial.latency.response.censored_at_ns.insert("p99_ns".to_owned(), 2_000_000_000);
    assert_eq!(decision("p99<1s", &trial), Decision::Missed);
    assert_eq!(decision("p99<3s", &trial), Decision::Undecided);
}

#[test]
fn a_percentile_without_an_interval_is_decided_by_counts_over_their_design_effect() {
    // 20,000 answers of 1 ms, give or take 0.2, of which 49 % are over it; 1 % take over 1.46 ms.
    let mut trial = trial();
    let p99 = trial.latency.response.p99_ns.unwrap();
    let (near, far) = (format!("p99<{}ns", p99 + p99 / 100), "p99<1.6ms");
    trial.latency.response.ci95.clear();
    let mut decisions = |effect: Option<f64>| {
        trial.latency.response.design_effect.clear();
        trial.latency.response.design_effect.extend(effect.map(|effect| ("p99_ns".to_owned(), effect)));
        [decision(&near, &trial), decision(far, &trial), decision("p99<1.2ms", &trial)]
    };
    let (met, open, missed) = (Decision::Met, Decision::Undecided, Decision::Missed);
    assert_eq!(decisions(Some(1.0)), [met, met, missed]);
    // As many as 1,000, a hundred, and five.
    assert_eq!(decisions(Some(20.0)), [open, met, missed]);
    assert_eq!(decisions(Some(200.0)), [open, open, missed]);
    assert_eq!(decisions(Some(4_000.0)), [open; 3]);
    // Where nothing is known of that, only what is far off.
    assert_eq!(decisions(None), [open; 3]);
    assert_eq!(decision("p99<3.2ms", &trial), met);
    assert_eq!(decision("p99<0.5ms", &trial), missed);
    let held = Slo::parse(far).unwrap().hold(&trial, None);
    assert_eq!(held.to_decide.unwrap(), "-d 100s");
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
    let stage = StageRecord { duration_ns: 10_000_000_000, to_rate_per_s: Some(2e3), to_connections: None };
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
    assert_eq!(held.to_decide.unwrap(), "370000 requests or more");
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
fn a_figure_of_the_server_is_undecided_without_its_samples_and_no_threshold_of_a_search() {
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
