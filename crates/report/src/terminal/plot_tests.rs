//! The plot of percentiles below a trial.

use super::*;

/// The fixture's load with a tail: a 20th of the requests ten times as long, a 500th a hundred times.
fn with_a_tail() -> prony_model::Trial {
    let mut t = fixtures::closed();
    let times = |i: u64| match i {
        _ if i.is_multiple_of(500) => 100,
        _ if i.is_multiple_of(20) => 10,
        _ => 1,
    };
    let values = (0..100_000_u64).map(|i| (1_000_000 + i * 10) * times(i));
    t.latency.service.hdr = SparseHistogram::of_values(values);
    t.latency.response.hdr = t.latency.service.hdr.clone();
    t
}

#[test]
fn a_trial_with_its_percentiles_drawn() {
    let options = TerminalOptions { plot: true, ..plain() };
    let shown = trial(&with_a_tail(), &options);
    let from = shown.lines().skip_while(|line| !line.contains("by percentile"));
    insta::assert_snapshot!(from.take(9).collect::<Vec<_>>().join("\n"), @r"
    ms by percentile   * service
        195 │                                              ********************
       67.8 │                                            **
       23.6 │                          ******************
       8.24 │                      ****
       2.87 │        **************
       1.00 │********
            └┬───────────────┬───────────────┬───────────────┬───────────────┬─
            0               p90             p99             p99.9           p99.99
    ");
    assert!(widest(&shown) <= 80);
}

#[test]
fn the_plot_shows_both_times_with_fewer_points_if_narrow() {
    let mut t = fixtures::overloaded();
    t.latency.service.hdr = with_a_tail().latency.service.hdr;
    t.latency.response.hdr = SparseHistogram::of_values((0..100_000).map(|i| 50_000_000 + i * 10_000));
    (t.requests.failed, t.requests.never_sent) = (0, 0);
    let options = TerminalOptions { plot: true, width: 40, ..plain() };
    let shown = trial(&t, &options);
    let from = shown.lines().skip_while(|line| !line.contains("by percentile"));
    insta::assert_snapshot!(from.take(9).collect::<Vec<_>>().join("\n"), @r"
    ms by percentile   o response   * service
      1,050 │  ooooooooooooooo
        261 │ o          *****
       65.0 │o          *
       16.2 │      *****
       4.02 │
       1.00 │******
            └┬───┬───┬───┬───┬
            0   p90 p99 p99.9
    ");
}

#[test]
fn too_few_requests_have_no_curve() {
    let mut t = fixtures::closed();
    t.latency.service.hdr = SparseHistogram::of_values((1..=50).map(|i| i * 1_000));
    let options = TerminalOptions { plot: true, ..plain() };
    assert!(!trial(&t, &options).contains("by percentile"));
    t.latency.service.hdr = SparseHistogram::default();
    assert!(!trial(&t, &options).contains("by percentile"));
}
