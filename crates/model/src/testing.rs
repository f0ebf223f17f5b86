//! A trial made of known response times, for tests.

#![allow(clippy::unwrap_used, reason = "for tests")]

use std::collections::BTreeMap;

use crate::histogram::SparseHistogram;
use crate::measurement::{RequestCounts, RunTotal};
use crate::{Plan, Target};

use crate::host::Host;
use crate::recorded_plan::RecordedPlan;
use crate::trial::{
    Bound, Client, Clock, Latencies, Outcome, SCHEMA, SeriesPoint, Summary, TargetRecord, Throughput, Trial,
    Validity, Verdict, Window,
};
use crate::{Estimate, Tool};

const S: u64 = 1_000_000_000;

/// A second for each list of response times in nanoseconds, on 8 connections, from noon on, warm-up 1.5 s.
pub fn trial(seconds: &[&[u64]]) -> Trial {
    let mut all = SparseHistogram::default();
    let series: Vec<SeriesPoint> = (0..)
        .zip(seconds)
        .map(|(index, values)| {
            let response = SparseHistogram::of_values(values.iter().copied());
            all.add(&response);
            point(index * S, &response)
        })
        .collect();
    let completed = all.len();
    let target = "http://h/a?b=1".to_owned();
    Trial {
        schema: SCHEMA.to_owned(),
        tool: Tool::this(),
        judged_by: None,
        started_at: "2026-11-21T12:00:00.000Z".to_owned(),
        interrupted: false,
        plan: RecordedPlan::of(&Plan::closed(Target::parse(&target).unwrap())),
        target: TargetRecord { url: target, address: "127.0.0.1:80".to_owned() },
        host: Host::default(),
        window: Window { warmup_ns: S + S / 2, duration_ns: seconds.len() as u64 * S },
        outcome: Outcome::Carried,
        requests: RequestCounts {
            carried_in: 0,
            scheduled: completed,
            sent: completed,
            completed,
            failed: 0,
            in_flight: 0,
            never_sent: 0,
        },
        run_total: RunTotal { sent: completed, completed, connections: 8, unasked: 0, retried: 0 },
        throughput: Throughput {
            requests_per_s: Estimate::bare(0.0, 0, "a test"),
            bound: Bound::Exact,
            read_bytes_per_s: 0.0,
            decoded_bytes_per_s: None,
            sent_bytes_per_s: 0.0,
            offered_per_s: None,
        },
        latency: latencies(&all),
        status: BTreeMap::from([("200".to_owned(), completed)]),
        errors: BTreeMap::new(),
        first_errors: BTreeMap::new(),
        series,
        client: Client {
            cpu_ns: 0,
            process_cpu_ns: 0,
            cpu_per_request_ns: None,
            threads: 1,
            busiest_worker: 0.0,
            max_rss_bytes: 0,
            stamps_rejected: 0,
            waited_beside_free: 0,
            waited_beside_free_ns: 0,
            waits: String::new(),
            columns: None,
        },
        verdict: Verdict { validity: Validity::Valid, reasons: Vec::new() },
        tls: None,
        http2: None,
        fleet: None,
        server: None,
        host_window: None,
        monitor: None,
        targets: Vec::new(),
        goodput_per_s: None,
        rise: None,
        slo: Vec::new(),
    }
}

fn point(at_ns: u64, response: &SparseHistogram) -> SeriesPoint {
    let from = |least: u64, value: u64| (response.len() >= least).then_some(value);
    SeriesPoint {
        at_ns,
        length_ns: S,
        completed: response.len(),
        failed: 0,
        connections: 8,
        p50_ns: from(1, response.value_at_quantile(0.5)),
        p99_ns: from(100, response.value_at_quantile(0.99)),
        max_ns: from(1, response.max()),
        hdr: response.clone(),
    }
}

fn latencies(response: &SparseHistogram) -> Latencies {
    let other = summary(&SparseHistogram::default());
    Latencies {
        response: summary(response),
        service: other.clone(),
        first_byte: other.clone(),
        connect_wait: other.clone(),
        send_lag: other.clone(),
        connection_wait: other,
        client_delay: None,
        waiting: SparseHistogram::default(),
    }
}

fn summary(histogram: &SparseHistogram) -> Summary {
    Summary {
        clock: Clock::User,
        count: histogram.len(),
        mean_ns: None,
        stdev_ns: None,
        min_ns: None,
        p50_ns: None,
        p75_ns: None,
        p90_ns: None,
        p95_ns: None,
        p99_ns: None,
        p999_ns: None,
        p9999_ns: None,
        p99999_ns: None,
        max_ns: None,
        ci95: BTreeMap::new(),
        censored_at_ns: BTreeMap::new(),
        needs_duration_ns: BTreeMap::new(),
        unbounded: BTreeMap::new(),
        hdr: histogram.clone(),
    }
}
