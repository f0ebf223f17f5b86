//! Delays of known distributions, and the parts that a response is made of.

use std::time::Duration;

use prony_model::histogram::{SparseHistogram, highest_ns};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;

use super::super::Case;
use super::super::answer::Deed;
use super::super::nature::{ConnectFate, Delays, Nature, Service, Stamps};
use super::{MS, all_are, histogram, open};

const REQUESTS: u64 = 4_000;
const QUANTILES: [f64; 4] = [0.50, 0.75, 0.90, 0.99];

/// What a load of 2,000/s over connections to spare measures of each of these delays: exactly them, read by the
/// client's clock or stamped by the kernel. The percentiles at [`QUANTILES`].
#[track_caller]
fn measured(delays: Delays) -> [u64; 4] {
    let truth = histogram((0..REQUESTS).map(|k| delays.of(k)));
    for stamps in [None, Some(Stamps { missing_per_mille: 0, absurd_per_mille: 0, offset_ns: 0 })] {
        let nature = Nature { service: Service::Known(delays), stamps, ..Nature::ideal(0) };
        let mut case = open(nature, 2000.0, 100);
        (case.plan.stop.duration, case.plan.stop.requests) = (None, Some(REQUESTS));
        let played = case.play();
        let m = played.sound();
        assert_eq!((m.requests.completed, m.requests.failed), (REQUESTS, 0));
        let l = m.latency.parts();
        for part in [&l.service.completed, &l.response.completed, &l.first_byte] {
            assert!(*part == truth);
        }
        all_are(&l.send_lag, 0, REQUESTS);
    }
    QUANTILES.map(|q| truth.value_at_quantile(q))
}

/// A duration as a histogram tells it.
fn told(ns: u64) -> u64 {
    histogram([ns]).value_at_quantile(1.0)
}

#[test]
fn a_fixed_delay_is_every_percentile() {
    let delays = Delays::Bimodal { usual_ns: 2 * MS, rare_ns: 2 * MS, every: 2 };
    assert_eq!(measured(delays), [told(2 * MS); 4]);
}

#[test]
fn of_two_delays_each_percentile_has_its_own() {
    // A tenth takes 23 ms: the 90th percentile is the last that does not.
    let delays = Delays::Bimodal { usual_ns: 3 * MS, rare_ns: 23 * MS, every: 10 };
    assert_eq!(measured(delays), [3, 3, 3, 23].map(|ms| told(ms * MS)));
}

#[test]
fn exponential_delays_have_the_percentiles_of_theory() {
    let delays = Delays::Exponential { mean_ns: 2 * MS, count: REQUESTS, step: 1_237 };
    for (q, found) in QUANTILES.into_iter().zip(measured(delays)) {
        let theory_ns = (1.0 - q).ln() * -2e6;
        // Of the 40 beyond the 99th percentile the first is an 80th of 2 ms past it; histograms tell 0.1 % apart.
        assert!((found as f64 / theory_ns - 1.0).abs() < 0.004, "{q}: {found} and {theory_ns}");
    }
}

/// Of durations so short that each has a bucket of its own.
fn sum_ns(histogram: &SparseHistogram) -> u64 {
    assert!(histogram.max() < 2_048, "{}", histogram.max());
    histogram.buckets().map(|(bucket, count)| highest_ns(bucket) * count).sum()
}

#[test]
fn the_parts_of_response_add_up_to_the_nanosecond() {
    // Each request connects and is answered within hundreds of nanoseconds, and at times neither of the two
    // connections is free when one is due.
    let mut nature = Nature::ideal(0);
    nature.service = Service::Parallel { low_ns: 100, high_ns: 700 };
    (nature.connects, nature.connect_ns) = (vec![(ConnectFate::Later, 1)], 500);
    nature.deeds = vec![(Deed::SaysClose, 1)];
    (nature.pieces_per_mille, nature.piece_gap_ns) = (500, 20);
    let mut case = Case::closed(nature);
    (case.plan.connections, case.plan.keepalive) = (2, false);
    case.plan.arrivals = Arrivals::Constant(Rate::per_s(2_500_000.0).unwrap());
    case.plan.stop.duration = Some(Duration::from_millis(1));
    let played = case.play();
    let l = played.sound().latency.parts();
    let parts = [&l.send_lag, &l.connect_wait, &l.service.completed].map(sum_ns);
    assert!(parts.iter().all(|sum| *sum > 0), "{parts:?}");
    assert_eq!(parts.iter().sum::<u64>(), sum_ns(&l.response.completed));
    assert_eq!(sum_ns(&l.send_lag), sum_ns(&l.connection_wait) + sum_ns(&l.lateness));
    assert!(sum_ns(&l.first_byte) < parts[2]);
}
