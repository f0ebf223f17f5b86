use proptest::prelude::*;

use super::*;
use prony_model::histogram::bucket_of;

const S: u64 = 1_000_000_000;

fn histogram(values: &[u64]) -> SparseHistogram {
    SparseHistogram::of_values(values.iter().copied())
}

fn censored(completed: &[u64], waiting: &[u64], failed: &[u64]) -> Censored {
    Censored { completed: histogram(completed), waiting: histogram(waiting), failed: histogram(failed) }
}

fn summary_of(durations: &Censored) -> Summary {
    summarise(&durations.completed, &OrderStatistics::of(durations), Clock::User, S, None)
}

proptest! {
    #[test]
    fn histograms_and_statistics_rank_quantiles_alike(millionths in 0u32..=1_000_000, n in 1u64..1 << 40) {
        let quantile = f64::from(millionths) / 1e6;
        let rank = prony_model::histogram::nearest_rank(quantile, n);
        prop_assert_eq!(Some(rank), Quantile::new(quantile).unwrap().rank(n));
    }
}

#[test]
fn waiting_requests_are_ordered_by_their_wait_so_far() {
    let ranked = OrderStatistics::of(&censored(&[10, 20, 30], &[20, 40], &[5]));
    let order: Vec<_> = (1..=6).map(|rank| ranked.at(rank).unwrap()).collect();
    let expected = [
        Sample::Exact(10),
        Sample::Exact(20),
        Sample::LongerThan(20),
        Sample::Exact(30),
        Sample::LongerThan(40),
        Sample::LongerThan(30), // failed after 5, and longer than every answer
    ];
    assert_eq!(order, expected);
    assert_eq!((ranked.at(0), ranked.at(7), ranked.len()), (None, None, 6));
}

#[test]
fn requests_that_fail_quickly_do_not_lower_a_percentile() {
    let answers: Vec<u64> = (1..=9_000).map(|i| i * 1000).collect();
    let refusals = vec![1u64; 1_000];
    let alone = summary_of(&censored(&answers, &[], &[]));
    let refused = summary_of(&censored(&answers, &[], &refusals));
    assert!(refused.p50_ns > alone.p50_ns);
    assert_eq!(refused.p95_ns, None, "the rank of p95 is a refused request");
    assert_eq!(refused.censored_at_ns["p95_ns"], refused.max_ns.unwrap());
    assert_eq!(refused.count, 9_000);
}

#[test]
fn a_percentile_needs_a_hundred_samples_beyond_it() {
    let summary = |n: u64| summary_of(&censored(&vec![1_000; usize::try_from(n).unwrap()], &[], &[]));
    assert_eq!(summary(199).p50_ns, None);
    assert_eq!(summary(200).p50_ns, Some(1_000));
    let s = summary(150);
    assert_eq!(s.p50_ns, None);
    assert_eq!(s.needs_duration_ns["p50_ns"], 1_333_333_334, "150 a second: 200 in 4/3 s");
    assert_eq!(s.needs_duration_ns["p9999_ns"].div_ceil(S), 6_667);
    let s = summary(10_000);
    assert_eq!((s.p99_ns, s.p999_ns), (Some(1_000), None));
    assert!(!s.needs_duration_ns.contains_key("p99_ns"));
}

#[test]
fn a_percentile_of_too_few_samples_is_withheld_not_censored() {
    let s = summary_of(&censored(&[], &vec![S; 150], &[]));
    assert!(s.needs_duration_ns.contains_key("p50_ns") && s.censored_at_ns.is_empty());
    let s = summary_of(&censored(&[], &vec![S; 300], &[]));
    assert!(s.censored_at_ns["p50_ns"] > S * 999 / 1000 && s.censored_at_ns["p50_ns"] <= S);
    assert!(!s.needs_duration_ns.contains_key("p50_ns"));
}

#[test]
fn an_empty_distribution_has_an_empty_summary() {
    let s = summary_of(&censored(&[], &[], &[]));
    assert_eq!((s.count, s.mean_ns, s.min_ns, s.max_ns, s.p50_ns), (0, None, None, None, None));
    assert!(s.needs_duration_ns.is_empty() && s.censored_at_ns.is_empty() && s.ci95.is_empty());
    assert!(s.hdr.is_empty());
}

#[test]
fn a_percentile_has_an_interval_or_says_which_window_gives_one() {
    let answers: Vec<u64> = (1..=10_000).map(|i| i * 1000).collect();
    let durations = censored(&answers, &[], &[]);
    let known = PercentileIntervals {
        half: [("p50_ns", 0.25), ("p99_ns", 0.25)].into(),
        needs_ns: [("p90_ns", 7 * S)].into(),
    };
    let of = |durations: &Censored| {
        summarise(&durations.completed, &OrderStatistics::of(durations), Clock::User, S, Some(&known))
    };
    let s = of(&durations);
    let p50 = s.p50_ns.unwrap() as f64;
    assert_eq!(s.ci95["p50_ns"], ((p50 / 1.25) as u64, Some((p50 / 0.75).ceil() as u64)));
    assert!(!s.ci95.contains_key("p90_ns") && s.ci95.contains_key("p99_ns"));
    assert_eq!((s.needs_duration_ns["p90_ns"], s.unbounded.len()), (7 * S, 0));
    // The upper end of p99 is beyond all answers: those without one may be longer.
    let s = of(&censored(&answers, &[], &[5]));
    assert!(s.ci95["p50_ns"].1.is_some() && s.p99_ns.is_some() && s.ci95["p99_ns"].1.is_none());
    assert!(s.unbounded["p99_ns"].contains("without a response"), "{:?}", s.unbounded);
}

#[test]
fn failed_requests_are_ordered_above_all_answers() {
    let ranked = OrderStatistics::of_completed(&histogram(&[10, 20, 20, 30])).with_failed(2);
    assert_eq!(
        (ranked.len(), ranked.at(4), ranked.at(6)),
        (6, Some(Sample::Exact(30)), Some(Sample::LongerThan(30)))
    );
    assert_eq!(OrderStatistics::default().with_failed(0).len(), 0);
}

/// The definition, slowly: one entry a request, sorted.
fn slow_order(durations: &Censored) -> Vec<Sample> {
    let bucket = |v: u64| lowest_ns(bucket_of(v));
    let values = |h: &SparseHistogram| -> Vec<u64> {
        let each = |(bucket, count)| std::iter::repeat_n(highest_ns(bucket), usize::try_from(count).unwrap());
        h.buckets().flat_map(each).collect()
    };
    let longest = values(&durations.completed).into_iter().max().unwrap_or(0);
    let mut entries: Vec<(u8, u64, u8, Sample)> = Vec::new();
    for v in values(&durations.completed) {
        entries.push((0, bucket(v), 0, Sample::Exact(highest_ns(bucket_of(v)))));
    }
    for v in values(&durations.waiting) {
        entries.push((0, bucket(v), 1, Sample::LongerThan(bucket(v))));
    }
    for v in values(&durations.failed) {
        entries.push((1, bucket(v), 0, Sample::LongerThan(bucket(v).max(longest))));
    }
    entries.sort_by_key(|e| (e.0, e.1, e.2));
    entries.into_iter().map(|e| e.3).collect()
}

proptest! {
    #[test]
    fn the_order_is_that_of_its_slow_definition(
        completed in prop::collection::vec(1u64..5_000_000, 0..80),
        waiting in prop::collection::vec(1u64..5_000_000, 0..40),
        failed in prop::collection::vec(1u64..5_000_000, 0..40),
    ) {
        let durations = censored(&completed, &waiting, &failed);
        let ranked = OrderStatistics::of(&durations);
        let slow = slow_order(&durations);
        prop_assert_eq!(ranked.len(), slow.len() as u64);
        for (i, place) in slow.iter().enumerate() {
            prop_assert_eq!(ranked.at(i as u64 + 1), Some(*place));
        }
    }

    #[test]
    fn quantiles_of_answers_alone_are_the_histograms(
        completed in prop::collection::vec(1u64..5_000_000_000, 1..300),
    ) {
        let h = histogram(&completed);
        for (_, quantile) in PERCENTILES {
            let place = OrderStatistics::of_completed(&h).quantile(Quantile::new(quantile).unwrap());
            prop_assert_eq!(place, Some(Sample::Exact(h.value_at_quantile(quantile))));
        }
    }
}
