//! What is measured of requests whose times are known.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a simulation")]

use prony_model::histogram::{Histogram, SparseHistogram};
use prony_model::measurement::{BIN_NS, Censored, Measurement, Parts, RequestCounts, Second};

use super::{S, healthy};

/// Requests on so many connections: when each was due, sent and answered, in seconds from the window's start on.
pub fn measured(requests: &[(f64, f64, f64)], window_ns: u64, connections: u64) -> Measurement {
    let seconds = window_ns.div_ceil(S);
    let mut m = healthy(seconds, 0);
    m.schedule_start_ns = m.window_start_ns;
    m.window_end_ns = m.window_start_ns + window_ns;
    m.bins.each.truncate(window_ns.div_ceil(BIN_NS) as usize);
    m.requests = RequestCounts::default();
    let mut by_second = vec![Vec::new(); seconds as usize];
    let (mut waits, mut lags, mut responses, mut services, mut in_service) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut busy_ns = 0;
    for (due, sent, answered) in requests {
        let [due, sent, answered] = [due, sent, answered].map(|at| (at * 1e9) as u64);
        m.requests.scheduled += 1;
        if sent >= window_ns {
            m.requests.never_sent += 1;
            waits.push(window_ns - due);
            continue;
        }
        m.requests.sent += 1;
        busy_ns += answered.min(window_ns) - sent;
        let bin = &mut m.bins.each[(sent / BIN_NS) as usize];
        bin.dispatched += 1;
        bin.connection_wait_sum_ns += sent - due;
        lags.push(sent - due);
        if answered >= window_ns {
            m.requests.in_flight += 1;
            waits.push(window_ns - due);
            in_service.push(window_ns - sent);
            continue;
        }
        m.requests.completed += 1;
        let bin = &mut m.bins.each[(answered / BIN_NS) as usize];
        bin.completed += 1;
        bin.response_sum_ns += answered - due;
        responses.push(answered - due);
        services.push(answered - sent);
        by_second[(answered / S) as usize].push(answered - due);
    }
    let of = |values: Vec<u64>| SparseHistogram::of_values(values);
    let mut on_time = Histogram::default();
    on_time.record_n(0, lags.len() as u64);
    m.latency.rest = Parts {
        lateness: on_time.to_sparse(),
        send_lag: of(lags.clone()),
        connection_wait: of(lags),
        response: Censored { completed: of(responses), waiting: of(waits), ..Censored::default() },
        service: Censored { completed: of(services), waiting: of(in_service), ..Censored::default() },
        ..Parts::default()
    };
    m.workers[0].in_flight_integral_ns = busy_ns;
    m.workers[0].connections_integral_ns = connections * window_ns;
    m.series = (0..)
        .zip(by_second)
        .map(|(second, responses)| Second {
            at_ns: second * S,
            length_ns: S.min(window_ns - second * S),
            completed: responses.len() as u64,
            failed: 0,
            connections,
            response: of(responses),
        })
        .collect();
    m
}
