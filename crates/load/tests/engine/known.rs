//! Known answers on real sockets, from one side: whatever the machine does meanwhile, a service time is never
//! shorter than what the target says it waited with the very same request, and a stall is never hidden.
//!
//! Each request is sent before the target reads it, and its last byte arrives after the target began to write it. So
//! no percentile of service is below that of the ledger's latency, and the ledger's is not below that of the delays.
//! There is no bound from above: how much longer it takes is the machine's to say. Exact distributions are in
//! `src/sim/tests`.

use std::io::Write;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use prony_model::histogram::{SparseHistogram, highest_ns};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_target::{Config, LatencySummary, Target};

use crate::{lying, plan, run};

const REQUESTS: u64 = 2_000;
const QUANTILES: [f64; 4] = [0.50, 0.75, 0.90, 0.99];
/// The kernel's stamps are carried from the wall clock to the monotonic one by readings some microseconds apart.
const CLOCKS_NS: u64 = 20_000;

#[test]
fn no_percentile_is_below_a_fixed_delay() {
    never_below("2ms", [2.0; 4]);
}

#[test]
fn of_two_delays_each_percentile_has_at_least_its_own() {
    // A tenth of the answers takes 23 ms: on which side of it the 90th percentile lies is the seed's to say.
    never_below("bimodal:3ms,23ms,0.1", [3.0, 3.0, 3.0, 23.0]);
}

#[test]
fn no_percentile_is_below_that_of_exponential_delays() {
    // 20 % less than the theory's −2 ms · ln(1 − q): the one thread draws the seed's delays, each time the same, and
    // that they are as theory has them is for the target's own tests.
    never_below("exp:2ms", QUANTILES.map(|q| (1.0 - q).ln() * -2.0 * 0.8));
}

/// Holds the percentiles of service against those of the delays, and against the ledger's.
fn never_below(delay: &str, least_ms: [f64; 4]) {
    for user_clock in [true, false] {
        let target = Target::start(&Config { delay: delay.parse().unwrap(), ..Config::default() }).unwrap();
        let mut p = plan(target.address());
        (p.connections, p.user_clock) = (40, user_clock);
        p.arrivals = Arrivals::Constant(Rate::per_s(10_000.0).unwrap());
        p.stop.requests = Some(REQUESTS);
        let m = run(&p).unwrap();
        let ledger = target.stop();
        assert_eq!((m.requests.completed, m.requests.failed), (REQUESTS, 0));
        assert_eq!((ledger.latency.count, ledger.residence.count), (REQUESTS, REQUESTS));
        let service = &m.latency.parts().service.completed;
        assert_eq!((service.len(), m.latency.parts().response.completed.len()), (REQUESTS, REQUESTS));
        // Instants of one clock need no room; both histograms have the same buckets.
        let room_ns = if user_clock { 0 } else { CLOCKS_NS };
        for (i, q) in QUANTILES.into_iter().enumerate() {
            let (found, waited) = (at(service, q), percentiles_ns(&ledger.latency)[i]);
            assert!(found + room_ns >= waited, "{delay} at {q}: {found} ns, the target waited {waited} ns");
            assert!(waited as f64 >= least_ms[i] * 1e6, "{delay} at {q}: the target waited {waited} ns");
            assert!(
                at(&m.latency.parts().response.completed, q) >= found,
                "{delay}: service is a part of response"
            );
        }
        let (shortest, least) = (service.min(), ledger.latency.min_ns);
        assert!(shortest + room_ns >= least, "{delay}: {shortest} ns, the target waited {least} ns");
    }
}

fn at(histogram: &SparseHistogram, q: f64) -> u64 {
    histogram.value_at_quantile(q)
}

/// The ledger's, at [`QUANTILES`].
fn percentiles_ns(summary: &LatencySummary) -> [u64; 4] {
    [summary.p50_ns, summary.p75_ns, summary.p90_ns, summary.p99_ns]
}

/// A server that answers nobody in the first 100 ms after it read its first request, and has four connections.
#[test]
fn what_was_due_in_a_stall_waited_for_its_end() {
    static END: OnceLock<Instant> = OnceLock::new();
    let stall = Duration::from_millis(100);
    let address = lying::serve(move |mut stream, _| {
        while lying::read_request(&mut stream) {
            let end = *END.get_or_init(|| Instant::now() + stall);
            thread::sleep(end.saturating_duration_since(Instant::now()));
            if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    });
    let mut p = plan(address);
    (p.connections, p.user_clock) = (4, true);
    p.arrivals = Arrivals::Constant(Rate::per_s(1000.0).unwrap());
    p.stop.requests = Some(150);
    let m = run(&p).unwrap();
    assert_eq!(m.requests.completed, 150);
    // The k-th is due k ms after the first, and the stall began after that: of the k longest responses none is
    // shorter than 101 − k ms, however late anybody was.
    let mut longest: Vec<u64> = Vec::new();
    for (bucket, count) in m.latency.parts().response.completed.buckets() {
        longest.extend((0..count).map(|_| highest_ns(bucket)));
    }
    longest.reverse();
    for (k, response_ns) in longest.iter().take(100).enumerate() {
        let least_ns = (100 - k as u64) * 1_000_000;
        assert!(*response_ns >= least_ns, "the {k}th longest: {response_ns} ns");
    }
    assert!(
        m.latency.parts().connection_wait.max() > 0,
        "those behind the first four waited for a connection"
    );
}

#[test]
fn the_parts_of_response_add_up() {
    let target = Target::start(&Config { delay: "exp:1ms".parse().unwrap(), ..Config::default() }).unwrap();
    let mut p = plan(target.address());
    (p.keepalive, p.connections) = (false, 4);
    p.arrivals = Arrivals::Constant(Rate::per_s(2000.0).unwrap());
    p.stop.requests = Some(500);
    let m = run(&p).unwrap();
    let l = m.latency.parts();
    assert_eq!(l.response.completed.len(), 500);
    // Equal for each request, so equal in the mean, but for the histograms' 0.1 %.
    let sum = l.send_lag.mean() + l.connect_wait.mean() + l.service.completed.mean();
    assert!((sum / l.response.completed.mean() - 1.0).abs() < 0.002);
    assert!(l.connect_wait.min() > 0 && l.service.completed.mean() > l.first_byte.mean() * 0.999);
}
