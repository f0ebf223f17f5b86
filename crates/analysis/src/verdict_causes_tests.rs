//! Known causes are named where they are, and not beside.

use std::time::Duration;

use prony_model::plan::{ArrivalKind, Arrivals};
use prony_model::rate::Stage;

use super::*;
use crate::testing::with_arrivals;

/// A load whose service times and first bytes are these, one value per share of 100 requests.
fn timed(service: &[(u64, u64)], first: &[(u64, u64)]) -> Measurement {
    let of = |values: &[(u64, u64)]| {
        let each = values.iter().flat_map(|(ns, count)| (0..*count).map(|_| *ns));
        SparseHistogram::of_values(each)
    };
    let mut m = healthy(10, 10);
    m.latency.plain = SparseHistogram::default();
    m.latency.rest.service.completed = of(service);
    m.latency.rest.response.completed = of(service);
    m.latency.rest.first_byte = of(first);
    m
}

#[test]
fn responses_held_for_a_delayed_acknowledgement_are_named() {
    const MS: u64 = 1_000_000;
    let held = timed(&[(44 * MS, 100)], &[(MS, 100)]);
    let plan = closed_plan();
    let reason = reasons(&held, &plan, &Seen::default())
        .into_iter()
        .find(|r| r.code == Code::DelayedAck)
        .expect("44 ms after a first byte at 1 ms");
    assert_eq!(reason.values["delayed_share"], 1.0);
    assert!(reason.detail.contains("1.00 ms"), "{}", reason.detail);
    // The same time until the first byte, times all around, a tenth of the requests, a large response.
    assert!(!has(&timed(&[(44 * MS, 100)], &[(43 * MS, 100)]), &plan, Code::DelayedAck));
    for range in [30..60, 44..80] {
        let spread: Vec<(u64, u64)> = range.map(|ms| (ms * MS, 3)).collect();
        assert!(!has(&timed(&spread, &[(MS, 100)]), &plan, Code::DelayedAck), "not at 40 ms alone");
    }
    assert!(!has(&timed(&[(44 * MS, 10), (2 * MS, 90)], &[(MS, 100)]), &plan, Code::DelayedAck));
    let mut large = held;
    large.read_bytes = 100 * 64 * 1024;
    assert!(!has(&large, &plan, Code::DelayedAck));
}

#[test]
fn closed_connections_are_named_and_those_of_failures_are_not() {
    let plan = closed_plan();
    let mut m = healthy(10, 1000);
    m.run_total.connections = 50 + 100;
    let reason = reasons(&m, &plan, &Seen::default())
        .into_iter()
        .find(|r| r.code == Code::ConnectionsClosed)
        .expect("150 connections for 50");
    assert!((reason.values["requests_per_connection"] - 10_000.0 / 150.0).abs() < 1e-9);
    let mut failing = m.clone();
    // In the warm-up as well as in the window.
    failing.run_total.completed -= 1;
    assert!(!has(&failing, &plan, Code::ConnectionsClosed));
    let mut unasked = m.clone();
    unasked.run_total.unasked = 1;
    assert!(!has(&unasked, &plan, Code::ConnectionsClosed));
    assert!(!has(&m, &RecordedPlan { keepalive: false, ..plan.clone() }, Code::ConnectionsClosed));
    let headers = vec![("Connection".to_owned(), "close".to_owned())];
    assert!(!has(&m, &RecordedPlan { headers, ..plan.clone() }, Code::ConnectionsClosed));
    m.run_total.connections = 50 + 99;
    assert!(!has(&m, &plan, Code::ConnectionsClosed));
}

#[test]
fn stalls_at_equal_distances_are_named_with_their_period() {
    let with_stalls = |at: &[usize]| {
        let mut m = healthy(60, 1000);
        for &bin in at {
            m.bins.each[bin].completed = 0;
            m.bins.each[bin + 1].completed = 80;
        }
        m
    };
    let plan = closed_plan();
    let every_10_s = with_stalls(&[50, 152, 254, 356, 458, 560]);
    let reason = reasons(&every_10_s, &plan, &Seen::default())
        .into_iter()
        .find(|r| r.code == Code::PeriodicStalls)
        .expect("six stalls 10.2 s apart");
    assert!((reason.values["period_ns"] - 10.2e9).abs() < 1.0, "{:?}", reason.values);
    assert!((reason.values["stall_ns"] - 0.1e9).abs() < 1.0, "{:?}", reason.values);
    // Connections in step, each answered after 110 ms.
    let mut in_rounds = with_stalls(&[50, 152, 254, 356, 458, 560]);
    in_rounds.latency.plain = SparseHistogram::of_values([110_000_000; 100]);
    assert!(!has(&in_rounds, &plan, Code::PeriodicStalls));
    // Stages that ask for less at equal distances.
    let stage = Stage { duration: Duration::from_secs(60), to: 1_000_000_000 };
    let stages = with_arrivals(Arrivals::RateStages(vec![stage]));
    assert!(!has(&every_10_s, &stages, Code::PeriodicStalls));
    // And a log with gaps.
    let replay = RecordedPlan { arrivals: ArrivalKind::Replay, ..closed_plan() };
    assert!(!has(&every_10_s, &replay, Code::PeriodicStalls));
    for others in [&[50, 152, 254, 356][..], &[50, 152, 204, 356, 458, 560], &[50, 52, 54, 56, 58, 60]] {
        assert!(!has(&with_stalls(others), &plan, Code::PeriodicStalls), "{others:?}");
    }
}
