use std::collections::BTreeMap;

use prony_model::published::{At, AtRate, CapacityOf, PublishedRow};
use prony_model::run_log::{ShareOf, Skipped};

use super::*;
use crate::analyse;
use crate::testing::run::Log;

fn concluded(claim: &str, at: At) -> Published {
    let conclusion = Conclusion { claim: claim.to_owned(), at, ..Conclusion::default() };
    Published { source: "S, 2020".to_owned(), conclusions: vec![conclusion], ..Published::default() }
}

fn judged_of(log: &mut Log, published: Published) -> JudgedConclusion {
    log.0.header.published = Some(published);
    analyse(&log.0).published.unwrap().conclusions.remove(0)
}

fn said(log: &mut Log, claim: &str) -> Judgement {
    judged_of(log, concluded(claim, At::default())).judgement
}

/// a is at 200, b at 100, c at 101, each give or take 1 %, in four blocks.
fn three() -> Log {
    Log::new(&["a", "b", "c"], 4).with(&[
        &[2000, 1000, 1010],
        &[2020, 990, 1025],
        &[1990, 1005, 1000],
        &[2010, 1010, 1005],
    ])
}

#[test]
fn a_claim_holds_fails_or_is_undecided_by_its_interval() {
    use Judgement::{Fails, Holds, Undecided};
    let mut log = three();
    for (claim, judgement) in [
        ("throughput(a) > 1.9 * throughput(b)", Holds),
        ("throughput(a) > 2.1 * throughput(b)", Fails),
        ("throughput(a) > 2.0 * throughput(b)", Undecided),
        ("throughput(b) < 0.6 * throughput(a)", Holds),
        ("throughput(b) < 0.4 * throughput(a)", Fails),
        ("throughput(a) ~ throughput(b)", Fails),
        ("throughput(b) ~ throughput(b)", Holds),
        ("throughput(b) ~ throughput(c)", Undecided),
        // A claim of a size: half of a, not less than it by whatever size.
        ("throughput(b) ~ 0.5 * throughput(a) within 5%", Holds),
        ("throughput(b) ~ 0.77 * throughput(a) within 5%", Fails),
        ("throughput(b) ~ 0.77 * throughput(a) within 60%", Holds),
        ("throughput(a) > max(throughput(b), throughput(c))", Holds),
        ("throughput(b) > min(throughput(a), throughput(c))", Undecided),
        ("throughput(b) < max(throughput(a), throughput(c))", Holds),
        ("throughput(b) > max(throughput(a), throughput(c))", Fails),
        ("failed_share(a) > 0.5", Fails),
        ("failed_share(a) < 0.5", Holds),
        ("throughput(a) > 1500", Holds),
        ("throughput(a) ~ 2005", Holds),
        ("rank(a) <= 1", Holds),
        ("rank(b) <= 1", Fails),
        ("rank(b) <= 2", Undecided),
        ("outcome(a) = carried", Holds),
        ("outcome(a) = broken", Fails),
    ] {
        assert_eq!(said(&mut log, claim), judgement, "{claim}");
    }
}

#[test]
fn an_outcome_says_what_the_trials_were() {
    let mut log = three();
    let mut judged = |claim: &str| judged_of(&mut log, concluded(claim, At::default())).why;
    assert_eq!(judged("outcome(a) = broken").as_deref(), Some("carried in 4 of 4 trials"));
    assert_eq!(judged("outcome(a) = carried").as_deref(), Some("carried in 4 of 4 trials"));
    log.trial(0).outcome = prony_model::trial::Outcome::Broken;
    let judged = judged_of(&mut log, concluded("outcome(a) = broken", At::default()));
    assert_eq!(judged.why.as_deref(), Some("carried in 3 and broken in 1 of 4 trials"));
    assert_eq!(judged.judgement, Judgement::Undecided);
}

#[test]
fn windows_under_a_minute_decide_nothing_about_growing_memory() {
    let mut log = three();
    for result in &mut log.0.results {
        let server = result.server.as_mut().unwrap();
        server.columns.at_ns = (0..4).map(|second| second * 1_000_000_000).collect();
        server.columns.rss_bytes = (0..4).map(|second| (10 << 20) + (second << 20)).collect();
    }
    for (claim, long) in
        [("memory_growth(a) > 0", Judgement::Holds), ("memory_growth(a) < 0", Judgement::Fails)]
    {
        for (seconds, judgement) in [(60, long), (59, Judgement::Undecided)] {
            for at in 0..log.0.results.len() {
                log.trial(at).window.duration_ns = seconds * 1_000_000_000;
            }
            assert_eq!(said(&mut log, claim), judgement, "{claim} in {seconds} s");
        }
    }
}

#[test]
fn readings_and_questions_come_after_the_source_s_own_words() {
    let of = |text: &str, by| Conclusion {
        text: text.to_owned(),
        claim: "rank(a) <= 1".to_owned(),
        by,
        ..Conclusion::default()
    };
    let why = Some("a use, and no figure".to_owned());
    let unjudged =
        Conclusion { claim: String::new(), unjudged: why.clone(), ..of("a is for games", By::Source) };
    let conclusions = vec![of("q", By::Question), of("r", By::Reading), of("s", By::Source), unjudged];
    let mut log = three();
    log.0.header.published = Some(Published { conclusions, ..Published::default() });
    let judged = analyse(&log.0).published.unwrap().conclusions;
    let shown: Vec<(&str, Judgement)> = judged.iter().map(|one| (one.text.as_str(), one.judgement)).collect();
    use Judgement::{Holds, Unjudged};
    assert_eq!(shown, [("s", Holds), ("a is for games", Unjudged), ("r", Holds), ("q", Holds)]);
    assert_eq!(judged[1].why, why);
}

#[test]
fn a_source_s_figures_and_ratios_are_in_the_rows() {
    let row = |candidate: &str, rate: f64| PublishedRow {
        candidate: candidate.to_owned(),
        connections: Some(50),
        figures: BTreeMap::from([("requests_per_s".to_owned(), rate)]),
        ..PublishedRow::default()
    };
    let mut published = concluded("throughput(a) > 1.2 * throughput(b)", At::default());
    published.rows = vec![row("a", 300.0), row("b", 200.0), row("c", 100.0), row("d", 1.0)];
    let judged = judged_of(&mut three(), published.clone());
    assert_eq!((judged.published, judged.is_ratio), (Some(1.5), true));
    let here = judged.here.unwrap();
    assert!((here.point - 2.002).abs() < 0.01 && here.ci_low.unwrap() > 1.9, "{here:?}");
    // The baseline is c: its ratio in the source is to its own row.
    let mut log = three();
    published.rows[0].doubt = Some("ports".to_owned());
    log.0.header.published = Some(published);
    let analysis = analyse(&log.0);
    let there: BTreeMap<&str, Option<f64>> = analysis.plans[0]
        .rows
        .iter()
        .map(|row| (row.candidate.as_str(), row.published.as_ref().and_then(|p| p.ratio)))
        .collect();
    assert_eq!(there, BTreeMap::from([("a", None), ("b", Some(2.0)), ("c", Some(1.0))]));
    let published = analysis.published.unwrap();
    assert_eq!((published.doubts.len(), published.not_here.as_slice()), (1, &["d".to_owned()][..]));
    assert!(published.agreement.is_empty(), "two rows say nothing of an order");
}

#[test]
fn agreement_is_kendalls_tau_of_both_orders() {
    let rates: &[&[u64]] = &[&[50, 40, 30, 20, 10], &[51, 41, 31, 21, 11]];
    let mut log = Log::new(&["a", "b", "c", "d", "e"], 2).with(rates);
    let rows = |theirs: [f64; 5]| {
        let pairs = ["a", "b", "c", "d", "e"].into_iter().zip(theirs);
        let row = |(candidate, rate): (&str, f64)| PublishedRow {
            candidate: candidate.to_owned(),
            figures: BTreeMap::from([("requests_per_s".to_owned(), rate)]),
            ..PublishedRow::default()
        };
        Published { rows: pairs.map(row).collect(), ..Published::default() }
    };
    for (theirs, tau) in [([9.0, 8.0, 7.0, 6.0, 5.0], 1.0), ([1.0, 2.0, 3.0, 4.0, 5.0], -1.0)] {
        log.0.header.published = Some(rows(theirs));
        let agreement = analyse(&log.0).published.unwrap().agreement.remove(0);
        assert_eq!((agreement.tau_b.point, agreement.tau_b.n, agreement.figure), (tau, 5, "requests_per_s"));
    }
}

#[test]
fn a_claim_on_a_candidate_that_did_not_run_is_undecided() {
    let mut log = three();
    log.0.header.skipped.push(Skipped {
        candidate: "d".to_owned(),
        reason: "it is not installed.".to_owned(),
        mend: None,
    });
    let why = |log: &mut Log, claim: &str| judged_of(log, concluded(claim, At::default())).why.unwrap();
    assert_eq!(why(&mut log, "throughput(d) > throughput(a)"), "d was skipped: it is not installed.");
    assert!(why(&mut log, "throughput(x) > 5").contains("not among the candidates"));
    assert!(why(&mut log, "throughput(a @ 7) > throughput(a @ 8)").contains("no plan has 7 connections"));
    assert!(why(&mut log, "capacity(a) > capacity(b)").contains("no plan of this run"));
    let at = At { connections: vec![3], ..At::default() };
    let judged = judged_of(&mut log, concluded("throughput(a) > throughput(b)", at));
    assert_eq!((judged.judgement, judged.plans.len()), (Judgement::Undecided, 0));
    let mut once = Log::new(&["a", "b"], 1).with(&[&[2000, 1000]]);
    assert_eq!(said(&mut once, "throughput(a) > throughput(b)"), Judgement::Undecided);
    assert_eq!(said(&mut once, "outcome(a) = carried"), Judgement::Undecided);
    // A log written by hand.
    assert!(why(&mut log, "a is best").contains("not a claim"));
}

/// Rows of a source by requests per second; `?` behind a label is a doubt.
fn rows(of: &[(&str, f64)]) -> Vec<PublishedRow> {
    let row = |(label, rate): &(&str, f64)| PublishedRow {
        candidate: label.trim_end_matches('?').to_owned(),
        connections: Some(50),
        figures: BTreeMap::from([("requests_per_s".to_owned(), *rate)]),
        doubt: label.ends_with('?').then(|| "ports".to_owned()),
        ..PublishedRow::default()
    };
    of.iter().map(row).collect()
}

#[test]
fn a_rank_allows_that_unmeasured_candidates_are_better() {
    use Judgement::{Fails, Holds, Undecided};
    let judged = |claim: &str, of: &[(&str, f64)]| {
        let published = Published { rows: rows(of), ..concluded(claim, At::default()) };
        judged_of(&mut three(), published)
    };
    // d and e did not run: a may be first, second or third of the source's four.
    let skipped = &[("a", 9.0), ("b", 8.0), ("d", 7.0), ("e?", 6.0)];
    for (claim, judgement) in [
        ("rank(a) <= 3", Holds),
        ("rank(a) <= 2", Undecided),
        ("rank(a) <= 1", Undecided),
        ("rank(b) <= 1", Fails),
    ] {
        assert_eq!(judged(claim, skipped).judgement, judgement, "{claim}");
    }
    let one = judged("rank(a) <= 1", skipped);
    let why = one.why.unwrap();
    assert!(why.contains("2 of the others have no rank here"), "{why}");
    assert_eq!(
        (one.published, one.figure.as_deref(), one.published_doubted),
        (Some(1.0), Some("rank"), false)
    );
    // a is ahead here, and no rival of a source that does not have it.
    let without_a = &[("b", 9.0), ("x", 9.5), ("c", 8.0)];
    assert_eq!(judged("rank(b) <= 3", without_a).judgement, Holds);
    assert_eq!(judged("rank(b) <= 2", without_a).judgement, Undecided);
    assert_eq!(judged("rank(b) <= 2", &[("b", 9.0), ("c", 8.0)]).judgement, Holds);
    assert_eq!(judged("rank(b) <= 2", without_a).published, Some(2.0));
    // Where it printed nobody, all that ran are rivals.
    assert_eq!(judged("rank(b) <= 1", &[]).judgement, Fails);
}

#[test]
fn a_conclusion_has_the_sources_figure_ratio_or_rank() {
    let there = |claim: &str, rows: Vec<PublishedRow>| {
        let judged = judged_of(&mut three(), Published { rows, ..concluded(claim, At::default()) });
        let here = judged.here.map(|e| (e.point * 100.0).round() / 100.0);
        (judged.published, judged.published_at_least, judged.published_doubted, here)
    };
    let three = || rows(&[("a", 300.0), ("b", 100.0), ("c", 50.0)]);
    // Over the largest, b there; here that is c, by a hair.
    let (published, .., here) = there("throughput(a) > max(throughput(b), throughput(c))", three());
    assert_eq!((published, here), (Some(3.0), Some(1.99)));
    let (published, ..) = there("throughput(a) > min(throughput(b), 4 * throughput(c))", three());
    assert_eq!(published, Some(3.0));
    let (published, ..) = there("throughput(a) > min(throughput(b), throughput(c))", three());
    assert_eq!(published, Some(6.0));
    // The largest of two of which one is not printed is not known.
    let two = rows(&[("a", 300.0), ("b", 100.0)]);
    assert_eq!(there("throughput(a) > max(throughput(b), throughput(c))", two).0, None);
    let doubted = rows(&[("a", 300.0), ("b?", 100.0)]);
    assert_eq!(there("throughput(a) > throughput(b)", doubted), (Some(3.0), false, true, Some(2.0)));
    let mut failing = rows(&[("a?", 300.0)]);
    failing[0].figures = BTreeMap::from([("failed_share_at_least".to_owned(), 0.8)]);
    assert_eq!(there("failed_share(a) > 0.8", failing), (Some(0.8), true, true, Some(0.0)));
}

#[test]
fn a_claim_of_less_is_undecided_for_a_lower_bound() {
    let mut log = three();
    for at in 0..log.0.results.len() {
        if log.0.results[at].planned.candidate == "b" {
            log.trial(at).throughput.bound = prony_model::trial::Bound::Lower;
        }
    }
    assert_eq!(said(&mut log, "throughput(b) < 0.6 * throughput(a)"), Judgement::Undecided);
    assert_eq!(said(&mut log, "throughput(a) > 1.9 * throughput(b)"), Judgement::Undecided);
    assert_eq!(said(&mut log, "throughput(b) > 0.4 * throughput(a)"), Judgement::Holds);
}

#[test]
fn plans_are_found_by_rate_and_by_share_of_a_knee() {
    let mut log = three();
    let of = CapacityOf { candidate: "a".to_owned(), plan: "knee".to_owned() };
    log.0.header.plans[0].share = Some(ShareOf { share: 1.05, of: of.clone() });
    let mut judged = |rates| {
        let at = At { rates, ..At::default() };
        judged_of(&mut log, concluded("throughput(a) > throughput(b)", at)).plans.len()
    };
    assert_eq!(judged(vec![AtRate::Share { share: 1.05, of: of.clone() }]), 1);
    assert_eq!(judged(vec![AtRate::Share { share: 0.5, of }]), 0);
    assert_eq!(judged(vec![AtRate::PerS(5000.0)]), 0);
}

#[test]
fn a_claim_is_about_the_plans_of_its_candidates() {
    let mut log = three();
    let other = prony_model::run_log::NamedPlan { name: "other".to_owned(), ..log.0.header.plans[0].clone() };
    log.0.header.plans.push(other);
    let mut plans = |claim: &str| judged_of(&mut log, concluded(claim, At::default())).plans.len();
    assert_eq!(plans("throughput(a) > throughput(b)"), 1);
    // Who took part in none is missing from each.
    assert_eq!(plans("throughput(a) > throughput(nobody)"), 2);
}

#[test]
fn the_course_of_a_ramp_is_judged_by_its_tenths() {
    let mut log = three();
    for at in 0..log.0.results.len() {
        let trial = log.trial(at);
        let point = trial.series[0].clone();
        let second = |i: u64| prony_model::trial::SeriesPoint {
            at_ns: i * 1_000_000_000,
            length_ns: 1_000_000_000,
            completed: if i < 6 { 1_000 } else { 100 },
            failed: if i < 6 { 0 } else { 900 },
            ..point.clone()
        };
        trial.series = (0..10).map(second).collect();
        let stage = |to| prony_model::recorded_plan::RecordedStage {
            duration_ns: 10_000_000_000,
            to_rate_per_s: None,
            to_connections: Some(to),
        };
        (trial.plan.warmup_ns, trial.plan.stages) = (0, vec![stage(1_000)]);
    }
    for (claim, judgement) in [
        ("end_throughput(a) < 0.8 * peak_throughput(a)", Judgement::Holds),
        ("end_throughput(a) < 0.05 * peak_throughput(a)", Judgement::Fails),
        ("failing_from(a) < 800", Judgement::Holds),
        ("failing_from(a) < 600", Judgement::Fails),
    ] {
        assert_eq!(said(&mut log, claim), judgement, "{claim}");
    }
    let judged = judged_of(&mut log, concluded("failing_from(a) < 800", At::default()));
    assert_eq!((judged.figure.as_deref(), judged.here.unwrap().point.round()), (Some("failing_from"), 700.0));
}

#[test]
fn the_sources_statistic_of_ours_has_what_it_hides_beside_it() {
    use prony_model::published::Statistic;
    let of = |statistic| {
        let mut log = three();
        let rows = rows(&[("a", 300.0)]);
        log.0.header.published =
            Some(Published { rows, statistic: Some(statistic), ..concluded("rank(a) <= 1", At::default()) });
        let mut found = analyse(&log.0).published.unwrap().by_its_statistic;
        assert_eq!((found.len(), found[0].candidate.as_str()), (1, "a"));
        let own = found.remove(0);
        assert_eq!((own.figure, own.trials), ("requests_per_s", 4));
        let rounded = |value: f64| value.round() as u64;
        (rounded(own.value), own.of, rounded(own.lowest), rounded(own.highest))
    };
    let whole = of(Statistic::BestOf(5));
    let (low, high) = (whole.2, whole.3);
    assert_eq!(whole, (high, 4, low, high));
    let (median, runs, ..) = of(Statistic::MedianOf(3));
    assert!(low < median && median < high && runs == 3);
    assert_eq!(of(Statistic::OneRun).1, 1);
}
