//! Synthetic measurements whose truth is known.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "made of constants, for tests")]

use std::collections::BTreeMap;

use prony_model::histogram::{Histogram, SparseHistogram};
use prony_model::host::HostWindow;
use prony_model::measurement::{
    BIN_NS, Bin, Bins, Censored, ClientCost, Latency, Measurement, Parts, ReceiveClock, RequestCounts,
    RunTotal, Second, Waits, WorkerAudit,
};
use prony_model::monitor::{CpuColumns, Monitor};
use prony_model::observed::Observed;
use prony_model::plan::{Arrivals, Plan};
use prony_model::rate::Rate;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::target::Target;

mod queue;
pub mod run;
mod within;

pub use queue::measured;

pub use within::{Within, within};

const S: u64 = 1_000_000_000;

pub fn closed_plan() -> RecordedPlan {
    RecordedPlan::of(&Plan::closed(Target::parse("http://127.0.0.1:8080/").unwrap()))
}

pub fn constant_plan(per_s: f64) -> RecordedPlan {
    with_arrivals(Arrivals::Constant(Rate::per_s(per_s).unwrap()))
}

/// Requests that arrive so, on 50 connections.
pub fn with_arrivals(arrivals: Arrivals) -> RecordedPlan {
    let closed = Plan::closed(Target::parse("http://127.0.0.1:8080/").unwrap());
    RecordedPlan::of(&Plan { arrivals, ..closed })
}

/// Standard normal values of a seed, without end.
pub fn noise(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D;
    let mut uniform = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..10 {
        uniform();
    }
    std::iter::repeat_with(move || {
        let radius = (-2.0 * (1.0 - uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform()).cos()
    })
}

/// Whole seconds in which all went well: 50 connections closed, every answer after 1 ms, give or take 0.2.
pub fn healthy(seconds: u64, per_s: u64) -> Measurement {
    let window_ns = seconds * S;
    let completed = seconds * per_s;
    let mut series = Vec::new();
    let mut all = SparseHistogram::default();
    for i in 0..seconds {
        let noise = noise(i).take(usize::try_from(per_s).unwrap());
        let response = SparseHistogram::of_values(noise.map(|noise| (1e6 + 2e5 * noise).max(1e5) as u64));
        all.add(&response);
        series.push(Second {
            at_ns: i * S,
            length_ns: S,
            completed: per_s,
            failed: 0,
            connections: 50,
            response,
        });
    }
    let bins = (0..seconds * 10).map(|i| {
        let completed = (i % 10 + 1) * per_s / 10 - (i % 10) * per_s / 10;
        let response_sum_ns = completed * 1_000_000;
        Bin { completed, response_sum_ns, failed: 0, dispatched: completed, connection_wait_sum_ns: 0 }
    });
    Measurement {
        started_at_ns: 1_750_000_000_000_000_000,
        address: "127.0.0.1:8080".to_owned(),
        schedule_start_ns: 4 * S,
        window_start_ns: 5 * S,
        window_end_ns: 5 * S + window_ns,
        interrupted: false,
        ended_by_count: false,
        requests: RequestCounts {
            carried_in: 0,
            scheduled: completed,
            sent: completed,
            completed,
            ..Default::default()
        },
        run_total: RunTotal { sent: completed, completed, connections: 50, unasked: 0, retried: 0 },
        read_bytes: completed * 150,
        decoded_bytes: 0,
        sent_bytes: completed * 50,
        status: BTreeMap::from([(200, completed)]),
        errors: BTreeMap::new(),
        latency: Latency { plain: all, ..Latency::default() },
        series,
        bins: Bins::of(&bins.collect::<Vec<_>>()),
        client: ClientCost {
            cpu_ns: completed * 5_000,
            process_cpu_ns: completed * 6_000,
            threads: 1,
            max_rss_bytes: 9 << 20,
            stamps_rejected: 0,
            waits: Waits::default(),
        },
        clock: ReceiveClock::User,
        workers: vec![WorkerAudit {
            busy_ns: window_ns / 5,
            in_flight_integral_ns: completed * 1_000_000,
            overlap_sum_ns: completed * 1_000_000,
            connections_integral_ns: 50 * window_ns,
            waited_beside_free: 0,
            waited_beside_free_ns: 0,
            longest_gap_ns: 100_000,
            gaps_over_1ms_sum_ns: 0,
        }],
        broken_identities: Vec::new(),
        samples: Vec::new(),
        samples_dropped: 0,
        request_bytes: 38,
        tls: None,
        http2: None,
        fleet: None,
        tolerated: Default::default(),
        by_request: Vec::new(),
        by_connection: Default::default(),
        listed: Vec::new(),
    }
}

/// Ten seconds carried at this rate without failure or noise; `response_ns` is the median, the only percentile known.
pub fn carried(plan: RecordedPlan, per_s: f64, response_ns: Option<u64>) -> Observed {
    let mut m = healthy(10, (per_s as u64).min(20_000));
    m.requests.completed = (per_s * 10.0).round() as u64;
    m.requests.scheduled = m.requests.completed;
    (m.requests.sent, m.run_total.sent) = (m.requests.completed, m.requests.completed);
    if let Some(response_ns) = response_ns {
        m.latency = Latency { plain: SparseHistogram::of_values([response_ns; 300]), ..Latency::default() };
        m.series.iter_mut().for_each(|s| s.response = SparseHistogram::of_values([response_ns; 30]));
    }
    Observed { host_window: Some(HostWindow::default()), ..Observed::new(m, plan) }
}

/// Constant arrivals before one line whose head is taken at a constant rate, but for stalls: (start, length) from the
/// window's start.
#[derive(Debug, Clone)]
pub struct Line {
    pub rate_per_s: u64,
    /// Requests the line's head takes.
    pub served_per_s: u64,
    pub stalls: Vec<(u64, u64)>,
    pub window_ns: u64,
}

impl Default for Line {
    fn default() -> Line {
        Line { rate_per_s: 2000, served_per_s: 4000, stalls: Vec::new(), window_ns: 10 * S }
    }
}

impl Line {
    pub fn measure(&self) -> Measurement {
        let mut m = healthy(self.window_ns.div_ceil(S), 0);
        m.schedule_start_ns = m.window_start_ns;
        m.window_end_ns = m.window_start_ns + self.window_ns;
        m.bins.each.truncate(usize::try_from(self.window_ns.div_ceil(BIN_NS)).unwrap());
        m.requests = RequestCounts::default();
        let (mut waiting, mut response, mut line) = <(Histogram, Histogram, Histogram)>::default();
        let mut free_at = 0;
        for k in 0.. {
            let due = k * S / self.rate_per_s;
            if due >= self.window_ns {
                break;
            }
            m.requests.scheduled += 1;
            let mut at = due.max(free_at);
            for (start, length) in &self.stalls {
                if (*start..start + length).contains(&at) {
                    at = start + length;
                }
            }
            free_at = at + S / self.served_per_s;
            if at >= self.window_ns {
                m.requests.never_sent += 1;
                waiting.record(self.window_ns - due);
                continue;
            }
            let bin = &mut m.bins.each[usize::try_from(at / BIN_NS).unwrap()];
            bin.dispatched += 1;
            bin.connection_wait_sum_ns += at - due;
            bin.completed += 1;
            m.requests.sent += 1;
            m.requests.completed += 1;
            response.record(at - due + 1_000_000);
            line.record(at - due);
        }
        let of = |completed: SparseHistogram| Censored { completed, ..Censored::default() };
        let each = |value: u64| {
            let mut histogram = Histogram::default();
            histogram.record_n(value, m.requests.completed);
            histogram.to_sparse()
        };
        m.latency.rest = Parts {
            response: Censored { waiting: waiting.to_sparse(), ..of(response.to_sparse()) },
            service: of(each(1_000_000)),
            first_byte: each(1_000_000),
            connect_wait: each(0),
            send_lag: line.to_sparse(),
            connection_wait: line.to_sparse(),
            lateness: each(0),
        };
        m.workers[0].in_flight_integral_ns = 50 * self.window_ns;
        m
    }
}

/// A machine from one second to another of the window, whose CPUs all do the same: 30 % busy.
pub fn monitor(from_s: i64, to_s: i64, cpus: u32) -> Monitor {
    let at_ms: Vec<i64> = (from_s + 1..=to_s).map(|s| s * 1_000).collect();
    let of_all = |value: u64| vec![value; at_ms.len()];
    let spans = || std::iter::repeat_n([20, 6, 69, 0, 0, 4, 1], at_ms.len());
    Monitor {
        from_ms: from_s * 1_000,
        cpus: (0..cpus).map(|cpu| CpuColumns::of(Some(cpu), spans())).collect(),
        memory_used_bytes: of_all(3_000_000_000),
        memory_buffers_bytes: of_all(100_000_000),
        memory_cached_bytes: of_all(2_000_000_000),
        memory_free_bytes: of_all(900_000_000),
        received_bytes: of_all(1_000),
        sent_bytes: of_all(2_000),
        loopback_bytes: of_all(5_000),
        at_ms: at_ms.clone(),
    }
}
