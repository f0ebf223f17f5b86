//! What fails a build.

use super::tests::{compared, of, of_two_plans, part, run, with_p99};
use super::*;
use crate::testing::run::Log;

#[test]
fn conditions_fail_by_the_finding_or_by_the_whole_interval() {
    use super::fail_if::{failures, parse};
    let fails = |factor: f64, text: &str| {
        let (log, conditions) = (run(factor), parse(text).unwrap());
        let options = Options { declared: fail_if::figures(&conditions), ..Options::default() };
        let c = compare_candidates(part(&log, "a"), part(&log, "b"), &options).unwrap();
        failures(&conditions, &c).len()
    };
    assert_eq!(fails(0.95, "slower"), 1);
    assert_eq!(fails(1.05, "slower"), 0);
    assert_eq!(fails(1.0, "slower,inconclusive"), 0);
    assert_eq!(fails(0.95, "throughput<-3%"), 1);
    assert_eq!(fails(0.95, "throughput<-8%"), 0);
    assert_eq!(fails(0.95, "throughput<-5%"), 0, "the interval holds the limit, and passes");
    assert_eq!(fails(0.95, "throughput<-5%,inconclusive"), 1, "unless that is named");
    assert_eq!(fails(1.05, "throughput>+3%"), 1);
    let one = with_p99(Log::new(&["a", "b"], 1).with(&[&[10_000, 5_000]]).0);
    assert_eq!(failures(&parse("slower,throughput<-3%").unwrap(), &compared(&one)).len(), 0);
    let withheld = Log::new(&["a", "b"], 1).with(&[&[10_000, 5_000]]).0;
    assert_eq!(failures(&parse("inconclusive").unwrap(), &compared(&withheld)).len(), 2, "p99 is withheld");
    assert_eq!(failures(&parse("inconclusive").unwrap(), &compared(&one)).len(), 3, "all that a user feels");
}

#[test]
fn a_missing_figure_that_a_condition_names_is_not_judged() {
    use super::fail_if::{not_judged, parse};
    let said = |log: &RunLog, text: &str| not_judged(&parse(text).unwrap(), &compared(log));
    assert!(
        said(&run(0.95), "slower,inconclusive,p99>+5%,memory>+5%,throughput<-5%").is_empty(),
        "undecided is judged"
    );
    let mut withheld = run(1.0);
    for result in &mut withheld.results {
        result.trial.as_mut().unwrap().latency.response.p99_ns = None;
        result.server = None;
    }
    let why = ["--fail-if: p99 under c50: 6 of 6 trials have no p99: too few samples, give a longer -d"];
    assert_eq!(said(&withheld, "p99>+5%,p99<-50%"), why);
    assert_eq!(said(&withheld, "memory>+10%"), ["--fail-if: memory under c50: no trial has it"]);
    assert!(said(&withheld, "slower").is_empty(), "throughput and p50 are there");
    withheld.results.iter_mut().filter(|r| r.planned.candidate == "b").for_each(|result| {
        let trial = result.trial.as_mut().unwrap();
        trial.throughput.requests_per_s.point = 0.0;
        trial.latency.response.p50_ns = None;
    });
    assert_eq!(said(&withheld, "slower"), ["--fail-if: throughput under c50: B: a trial's throughput is 0"]);
    let one = with_p99(Log::new(&["a", "b"], 1).with(&[&[10_000, 5_000]]).0);
    assert_eq!(
        said(&one, "slower,p99>+5%,inconclusive"),
        ["throughput", "p99"].map(|of| format!("--fail-if: {of} under c50: one block has no interval"))
    );
}

#[test]
fn a_gate_counts_every_figure_that_it_may_name_in_every_plan() {
    use super::fail_if::{failures, figures, parse};
    let log = of_two_plans(6);
    let hypotheses = |text: &str| {
        let conditions = parse(text).unwrap();
        let options = Options { declared: figures(&conditions), ..Options::default() };
        compare_candidates(part(&log, "a"), part(&log, "b"), &options).unwrap().hypotheses
    };
    assert_eq!(["slower", "p99>5%", "startup>5%"].map(hypotheses), [10, 10, 12]);
    // Slower at p = 0.026 by itself: of three figures that is no finding, and no failure (one-sided 0.013 of 0.0117).
    let rates: Vec<Vec<u64>> =
        [1.05, 1.0, 1.06, 1.01, 1.055, 1.02].map(|r: f64| vec![100_000, (100_000.0 / r) as u64]).to_vec();
    let rows: Vec<&[u64]> = rates.iter().map(Vec::as_slice).collect();
    let c = compared(&with_p99(Log::new(&["a", "b"], 6).with(&rows).0));
    let throughput = of(&c, "throughput");
    assert_eq!((throughput.finding, throughput.stands), (Some(Finding::Slower), false));
    assert_eq!(failures(&parse("slower,throughput<-1%").unwrap(), &c), [""; 0]);
    assert!(
        c.headline.starts_with("inconclusive between b and a: by itself throughput −3"),
        "{}",
        c.headline
    );
    assert!(c.headline.ends_with("but one of 5 may differ so by chance"), "{}", c.headline);
    assert_eq!(c.answer().verdict, "inconclusive");
}

/// Six blocks in which b's CPU time per request is so many times a's, within these of a block.
fn with_cpu(factor: f64, wobble: [f64; 6]) -> RunLog {
    let mut log = run(1.0);
    for result in log.results.iter_mut().filter(|r| r.planned.candidate == "b") {
        let own = wobble[result.planned.block as usize];
        let server = result.server.as_mut().unwrap();
        server.window_cpu_ns = (server.window_cpu_ns as f64 * factor * own) as u64;
    }
    log
}

#[test]
fn a_build_that_costs_more_is_not_equivalent_but_worse() {
    use super::fail_if::{failures, parse};
    let c = compared(&with_cpu(1.68, [1.02, 0.98, 1.01, 0.99, 1.015, 0.985]));
    assert!(
        c.headline.starts_with("b costs more than a: CPU per request +68 % (95 %: +65 to +71 %)")
            && c.headline.ends_with("; no slower"),
        "{}",
        c.headline
    );
    let answer = c.answer();
    assert_eq!((answer.verdict, answer.figure), ("costs_more", Some(Figure::CPU_PER_REQUEST)));
    let fails = |c: &Comparison, text: &str| failures(&parse(text).unwrap(), c);
    assert_eq!(fails(&c, "slower,inconclusive"), [""; 0]);
    assert_eq!(fails(&c, "worse"), ["cpu under c50 is higher"]);
    let less = compared(&with_cpu(0.6, [1.0; 6]));
    assert!(less.headline.starts_with("b costs less than a: CPU per request −40 %"), "{}", less.headline);
    assert_eq!((less.answer().verdict, fails(&less, "worse").len()), ("costs_less", 0));
    // Beside a difference of speed it stands second.
    let mut both = with_cpu(1.68, [1.0; 6]);
    for result in both.results.iter_mut().filter(|r| r.planned.candidate == "b") {
        result.trial.as_mut().unwrap().latency.response.p99_ns = Some(3_000_000);
    }
    let both = compared(&both);
    assert!(both.headline.starts_with("b is slower than a: p99 +50 %"), "{}", both.headline);
    assert!(both.headline.contains("; costs more: CPU per request +68 %"), "{}", both.headline);
    assert_eq!(fails(&both, "worse"), ["p99 under c50 is slower", "cpu under c50 is higher"]);
    // What is undecided is said, with what would tell.
    let open = compared(&with_cpu(1.0, [1.1, 0.92, 1.08, 0.9, 1.05, 0.95]));
    assert!(open.headline.starts_with("b is no slower than a: throughput within 2 %, p50 within 5 % and p99 within 5 %; undecided in CPU per request; "), "{}", open.headline);
    assert!(open.headline.ends_with(" more blocks decide in 4 of 5 such runs"), "{}", open.headline);
    assert_eq!((open.answer().verdict, open.next.is_some()), ("inconclusive", true));
    assert_eq!(fails(&open, "slower,inconclusive"), [""; 0]);
    assert_eq!(fails(&open, "worse,inconclusive"), ["cpu under c50 is undecided"]);
}

#[test]
fn slower_is_corrected_for_three_figures_and_worse_for_five() {
    use super::fail_if::{failures, figures, parse};
    let count = |text: &str| figures(&parse(text).unwrap()).len();
    assert_eq!(["slower", "worse", "slower,worse", "p99>5%"].map(count), [3, 5, 5, 1]);
    // Slower at a one-sided p between a fifth and a third of 3.5 %: found among three, not among five.
    let rates: Vec<Vec<u64>> =
        [1.05, 1.004, 1.06, 1.012, 1.055, 1.022].map(|r: f64| vec![100_000, (100_000.0 / r) as u64]).to_vec();
    let rows: Vec<&[u64]> = rates.iter().map(Vec::as_slice).collect();
    let c = compared(&with_p99(Log::new(&["a", "b"], 6).with(&rows).0));
    let p = of(&c, "throughput").test.unwrap();
    let below = |share: f64| p.is_below(0.0, 0.035 / share);
    assert_eq!((below(3.0), below(5.0)), (true, false), "{p:?}");
    assert_eq!(failures(&parse("slower").unwrap(), &c), ["throughput under c50 is slower"]);
    assert_eq!(failures(&parse("worse").unwrap(), &c), [""; 0]);
}

#[test]
fn worse_needs_what_a_server_costs() {
    use super::fail_if::{not_judged, parse};
    let mut log = run(1.0);
    log.results.iter_mut().for_each(|result| result.server = None);
    let c = compared(&log);
    assert_eq!(c.hypotheses, 3, "of servers that nobody looked at");
    assert_eq!(
        not_judged(&parse("worse").unwrap(), &c),
        ["cpu", "memory"].map(|of| format!("--fail-if: {of} under c50: no trial has it"))
    );
    assert!(
        c.headline
            .starts_with("b and a are equivalent: throughput within 2 %, p50 within 5 % and p99 within"),
        "{}",
        c.headline
    );
}

#[test]
fn a_server_that_died_fails_every_gate() {
    use super::fail_if::{failures, parse};
    let crashed = |candidate: &str, factor: f64| {
        let mut log = run(factor);
        let of = |r: &&mut prony_model::run_log::TrialResult| r.planned.candidate == candidate;
        let trial = log.results.iter_mut().find(of).unwrap().trial.as_mut().unwrap();
        trial.verdict.reasons.push(prony_model::code::Code::ServerDied.reason("signal 11".to_owned()));
        trial.verdict.validity = prony_model::trial::Validity::Invalid;
        compared(&log)
    };
    let found = |candidate: &str, factor: f64| of(&crashed(candidate, factor), "throughput").finding;
    assert_eq!(
        [0.9, 1.0, 1.1].map(|factor| found("b", factor)),
        [Finding::Slower, Finding::Inconclusive, Finding::Inconclusive].map(Some)
    );
    assert_eq!(
        [0.9, 1.0, 1.1].map(|factor| found("a", factor)),
        [Finding::Inconclusive, Finding::Inconclusive, Finding::Faster].map(Some)
    );
    assert_eq!(of(&crashed("b", 1.0), "p99").finding, Some(Finding::Inconclusive));
    let c = crashed("b", 1.1);
    assert_eq!(
        (c.plans[0].blocks, c.plans[0].b_died.unwrap().to_string()),
        (5, "died in 1 of 6 starts".to_owned())
    );
    assert!((of(&c, "throughput").ratio.unwrap().point - 1.1).abs() < 0.01, "of the surviving blocks");
    assert_eq!(failures(&parse("cpu>50%").unwrap(), &c), ["b died in 1 of 6 starts under c50"]);
    assert_eq!(failures(&[], &c), [""; 0]);
    assert_eq!(
        failures(&parse("cpu>50%").unwrap(), &crashed("a", 1.1)),
        [""; 0],
        "the change is to be judged"
    );
    let note = c.notes.iter().find(|note| note.contains("died")).unwrap();
    assert!(note.starts_with("B, b, died in 1 of 6 starts under c50"), "{note}");
}

#[test]
fn a_build_whose_speed_nothing_tells_of_is_not_called_cheaper() {
    let mut c = compared(&with_cpu(0.5, [1.0; 6]));
    assert_eq!(c.answer().verdict, "costs_less");
    // As where all of its requests failed.
    for figure in c.plans.iter_mut().flat_map(|plan| &mut plan.figures) {
        if fail_if::SPEED.contains(&figure.figure) {
            (figure.finding, figure.stands) = (None, false);
            figure.why = Some("a trial's throughput is 0".to_owned());
        }
    }
    assert_eq!((c.answer().verdict, c.answer().figure), ("inconclusive", None));
    let said = sentences::headline(&c);
    assert_eq!(said, "no verdict on a and b: a trial's throughput is 0");
}
