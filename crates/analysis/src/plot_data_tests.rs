use prony_model::histogram::Histogram;
use prony_model::server::SampleColumns;

use super::*;

const S: u64 = 1_000_000_000;

fn histogram(values: impl IntoIterator<Item = (u64, u64)>) -> SparseHistogram {
    let mut h = Histogram::default();
    for (value, count) in values {
        h.record_n(value, count);
    }
    h.to_sparse()
}

#[test]
fn a_curve_has_quantiles_up_to_the_last_with_ten_values_beyond() {
    let found = &histogram((1..=1000).map(|v| (v * 1000, 1)));
    let curve = values(found, 0);
    // 10 of 1,000 are beyond p99, k = 16; the next is p99.25.
    assert_eq!(curve.len(), 17);
    let p90 = curve[8];
    assert!((899_000..=901_000).contains(&p90), "{p90}");
    assert_eq!(curve[0] / 1000, 1);
}

#[test]
fn a_curve_ends_where_requests_without_an_answer_begin() {
    let found = &histogram([(1_000, 500)]);
    // Half of 1,000 have no answer: the median is known, more is not.
    let known = values(found, 500).len();
    assert!((2..=3).contains(&known), "{known}: q = 0, 0.25 and 0.44 are below one half");
    assert!(values(&SparseHistogram::default(), 100).is_empty());
}

fn second(at: u64, values: &[(u64, u64)]) -> SeriesPoint {
    SeriesPoint {
        at_ns: at * S,
        length_ns: S,
        completed: values.iter().map(|v| v.1).sum(),
        failed: 1,
        connections: at,
        p50_ns: Some(1),
        p99_ns: Some(2),
        max_ns: values.iter().map(|v| v.0).max(),
        hdr: histogram(values.iter().copied()),
    }
}

#[test]
fn seconds_are_merged_by_their_histograms() {
    let points = [second(0, &[(1_000, 90)]), second(1, &[(1_000, 9), (9_000_000, 1)])];
    let found = merged(&points);
    assert_eq!(found.buckets().map(|(_, count)| count).collect::<Vec<_>>(), [99, 1]);
    assert_eq!(found.value_at_quantile(0.99), 1_000);
    assert!(found.value_at_quantile(1.0) >= 9_000_000);
}

#[test]
fn logarithmic_ranges_keep_every_count() {
    let found = &histogram([(1, 1), (999, 2), (1_000, 3), (1_001, 4), (10_050_000, 5)]);
    let ranges = by_range(found, 12.0);
    assert_eq!(ranges.iter().map(|r| r.1).sum::<u64>(), 15);
    assert_eq!(ranges.first().unwrap().0, 0);
    assert_eq!(ranges.last().unwrap().0, 84, "10 ms is ten million ns, seven decades of twelve");
}

fn sampled(columns: SampleColumns) -> ServerSamples {
    ServerSamples {
        cpu_method: "schedstat".into(),
        memory_method: "rss".into(),
        cpus: vec![],
        startup_ns: 1,
        window_cpu_ns: 1,
        peak_memory_bytes: 1,
        processes: 1,
        threads: 1,
        columns,
        peak_pss_bytes: None,
        host: None,
        services: Vec::new(),
    }
}

#[test]
fn samples_a_moment_apart_make_no_spike() {
    // A tenth of a second each, half a core; one is read a moment after the fourth, when a whole tick of
    // the clock was added, and one at the window's end.
    let samples = sampled(SampleColumns {
        at_ns: vec![0, 100_000_000, 200_000_000, 300_000_000, 301_000_000, 400_000_000, 400_100_000],
        cpu_ns: vec![0, 50_000_000, 100_000_000, 150_000_000, 160_000_000, 200_000_000, 200_000_000],
        rss_bytes: vec![1, 1, 1, 1, 9, 1, 1],
        ..SampleColumns::default()
    });
    let series = server_series(&samples);
    assert_eq!(series.at_ns, [100_000_000, 200_000_000, 300_000_000, 400_000_000]);
    assert_eq!(series.cores, [0.5; 4]);
    assert_eq!(series.memory_bytes, [1, 1, 1, 9], "a peak is kept");
}

#[test]
fn a_long_series_has_at_most_240_points_and_keeps_its_peaks() {
    let n = 10_000_i64;
    let series = server_series(&sampled(SampleColumns {
        at_ns: (0..n).map(|i| i * 100_000_000).collect(),
        cpu_ns: (0..n).map(|i| i as u64 * 50_000_000).collect(),
        rss_bytes: (0..n).map(|i| if i == 5_000 { 99 } else { 1 }).collect(),
        pss_at_ns: (0..1_000).collect(),
        pss_bytes: (0..1_000).map(|i| if i == 500 { 77 } else { 1 }).collect(),
        ..SampleColumns::default()
    }));
    assert!(series.at_ns.len() <= POINTS_MAX && series.at_ns.len() > POINTS_MAX / 2);
    assert!(series.cores.iter().all(|c| (*c - 0.5).abs() < 1e-9));
    assert_eq!(series.memory_bytes.iter().max(), Some(&99), "a peak is not averaged away");
    assert!(series.pss_at_ns.len() <= POINTS_MAX && series.pss_at_ns.len() == series.pss_bytes.len());
    assert_eq!(series.pss_bytes.iter().max(), Some(&77));
}
