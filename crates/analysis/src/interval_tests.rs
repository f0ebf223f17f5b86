use super::*;
use crate::summary::summarise;
use crate::testing::healthy;
use prony_model::histogram::SparseHistogram;
use prony_model::trial::Clock;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

/// Ten seconds whose fifths have bins of so many answers, of these times in nanoseconds.
fn fifths(answers: [u64; 5], times_ns: [u64; 5]) -> Measurement {
    let mut m = healthy(10, 1_000);
    for (at, bin) in m.bins.each.iter_mut().enumerate() {
        bin.completed = answers[at / 20];
        bin.response_sum_ns = bin.completed * times_ns[at / 20];
    }
    m.requests.completed = answers.iter().sum::<u64>() * 20;
    m
}

/// Ten seconds whose answers take these times in turn by the second, 2,000 each.
fn seconds(times_ns: [u64; 10]) -> Measurement {
    let mut m = healthy(10, 0);
    for (second, time_ns) in m.series.iter_mut().zip(times_ns) {
        second.response = SparseHistogram::of_values([time_ns; 2_000]);
        m.latency.plain.add(&second.response);
    }
    m
}

fn percentiles(m: &Measurement) -> PercentileIntervals {
    WindowParts::of(m).percentiles(&OrderStatistics::of(&m.latency.parts().response)).unwrap()
}

#[test]
fn the_interval_is_students_of_five_parts() {
    let half = |answers| WindowParts::of(&fifths(answers, [1_000_000; 5])).throughput(1_000.0).unwrap();
    assert_eq!(half([100; 5]), 0.0);
    // Deviations of ±1 % and 0: t(0.975; 4) of √(4 · 0.01²/4/5) times 1,000.
    assert!((half([99, 101, 100, 99, 101]) - 2.776_445 * 10.0 / 5f64.sqrt()).abs() < 1e-3);
}

#[test]
fn a_rate_is_never_withheld_for_the_width_of_its_interval() {
    // Three seconds that carry 2,000, 100 and 100 a second.
    let mut m = healthy(3, 1_000);
    for (at, bin) in m.bins.each.iter_mut().enumerate() {
        bin.completed = if at < 10 { 200 } else { 10 };
    }
    assert!(WindowParts::of(&m).throughput(733.3).unwrap() > 733.3);
}

#[test]
fn the_means_interval_has_no_upper_end_where_parts_differ_much() {
    let of = |times_ns| {
        let m = fifths([100; 5], times_ns);
        let mut summary = Summary {
            mean_ns: Some(1_000_000),
            ..summarise(&m.latency.plain, &OrderStatistics::default(), Clock::User, 10 * S, None)
        };
        WindowParts::of(&m).add_mean(&mut summary);
        (summary.ci95[MEAN], summary.unbounded.contains_key(MEAN))
    };
    assert_eq!(of([1_000_000; 5]), ((1_000_000, Some(1_000_000)), false));
    let ((low, high), _) = of([990_000, 1_010_000, 1_000_000, 1_010_000, 990_000]);
    let high = high.unwrap();
    let (above, below) = (1e6 / low as f64 - 1.0, 1.0 - 1e6 / high as f64);
    assert!((above - below).abs() < 1e-5 && (0.01..0.1).contains(&above), "{low} {high}");
    let ((low, high), why) = of([40_000_000, 10_000, 10_000, 10_000, 10_000]);
    assert!(low < 1_000_000 && high.is_none() && why, "{low} {high:?}");
}

#[test]
fn a_percentile_has_an_interval_with_a_second_beyond_it() {
    let known = |m| percentiles(&m);
    let ten = known(healthy(10, 20_000));
    assert_eq!(ten.half.keys().copied().collect::<Vec<_>>(), ["p50_ns", "p75_ns", "p90_ns"]);
    assert_eq!((ten.needs_ns["p95_ns"], ten.needs_ns["p99_ns"]), (20 * S, 100 * S));
    assert!(known(healthy(100, 200)).half.contains_key("p99_ns"));
}

#[test]
fn seconds_that_differ_widen_a_percentiles_interval() {
    let alike = percentiles(&seconds([1_000_000; 10]));
    let unlike = percentiles(&seconds([
        950_000, 1_050_000, 990_000, 970_000, 1_030_000, 1_000_000, 960_000, 1_040_000, 980_000, 1_020_000,
    ]));
    assert!(alike.half["p50_ns"] < 1e-12 && unlike.half["p50_ns"] > 0.01, "{unlike:?}");
}

#[test]
fn a_part_without_an_answer_is_a_rate_of_zero() {
    let mut m = seconds([1_000_000; 10]);
    for second in &mut m.series[4..6] {
        m.latency.rest.response.failed.add(&SparseHistogram::of_values([1_000; 2_000]));
        second.response = SparseHistogram::default();
        second.failed = 2_000;
    }
    // One of five parts at 0.
    let half = percentiles(&m).half["p50_ns"];
    assert!((half - 2.776_445 * (1.0f64 / 4.0 / 5.0).sqrt()).abs() < 1e-3, "{half}");
}

#[test]
fn windows_of_three_or_four_seconds_have_as_many_parts() {
    let of = |n| WindowParts::of(&healthy(n, 1_000));
    assert_eq!((of(2).response.len(), of(3).response.len(), of(7).response.len()), (0, 3, 5));
    let two = healthy(2, 1_000);
    assert_eq!(of(2).percentiles(&OrderStatistics::of(&two.latency.parts().response)), None);
    let mut m = healthy(1, 1_000);
    m.bins.each.truncate(4);
    m.window_end_ns = m.window_start_ns + 400_000_000;
    assert!(WindowParts::of(&m).throughput(1_000.0).unwrap_err().contains("500ms"));
    let mut m = healthy(10, 1_000);
    m.window_end_ns += S;
    assert!(WindowParts::of(&m).throughput(1_000.0).unwrap_err().contains("older version"));
}

proptest! {
    #[test]
    fn any_window_has_finite_interval_ends(
        answers in prop::array::uniform5(0u64..300),
        times_ns in prop::array::uniform5(1u64..1_000_000_000),
    ) {
        let parts = WindowParts::of(&fifths(answers, times_ns));
        let per_s = answers.iter().sum::<u64>() as f64 * 2.0;
        if let Ok(half) = parts.throughput(per_s) {
            prop_assert!(half.is_finite() && half >= 0.0);
        }
    }
}
