//! Made-up runs with realistic figures, for the tests of the views.

use std::collections::BTreeMap;

use prony_analysis::experiment::{
    CurvePoint, ExperimentAnalysis, PlanAnalysis, Row, RowReason, TrialCounts, TrialSeries,
};
use prony_record::host::Host;
use prony_record::plan::PlanRecord;
use prony_record::run_log::Skipped;
use prony_record::trial::{
    Bound, Client, Clock, Effect, Latencies, Outcome, PERCENTILES, Reason, Requests, RunTotals, SeriesPoint,
    Summary, TargetRecord, Throughput, Trial, Validity, Verdict, Window,
};
use prony_record::{Estimate, Tool};

pub(crate) const S: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;

/// Noise of −1 to 1 that is the same on every run.
fn noise(seed: u64) -> f64 {
    let mut x = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 32;
    (x % 20_001) as f64 / 10_000.0 - 1.0
}

/// A reason of a verdict.
pub(crate) fn reason(code: &str, affects: &[&str], effect: Effect) -> Reason {
    Reason {
        code: code.into(),
        affects: affects.iter().map(|a| (*a).to_owned()).collect(),
        effect,
        detail: "throughput drifted −7.2 % over the window (95 %: −8.4 to −6.0 %), 5 % is allowed.".into(),
        advice: "Give it a longer warm-up: --warmup 10s.".into(),
    }
}

fn host() -> Host {
    Host {
        kernel: "Linux 6.18.0".into(),
        os: "Debian GNU/Linux 12 (bookworm)".into(),
        cpu_model: "AMD EPYC 7763 64-Core Processor".into(),
        cpus_online: 2,
        cpus_allowed: vec![0, 1],
        virtualisation: Some("kvm".into()),
        memory_bytes: 8 << 30,
        open_files_soft: 1024,
        open_files_hard: 1_048_576,
        ephemeral_port_low: 32_768,
        ephemeral_port_high: 60_999,
        somaxconn: 4096,
        ..Host::default()
    }
}

/// A summary whose percentiles are these milliseconds, p50 to p99.99; zero is withheld.
fn summary(ms: [f64; 7], max: f64, mean: f64, count: u64) -> Summary {
    let ns = |ms: f64| (ms > 0.0).then_some((ms * 1e6) as u64);
    let mut histogram = hdrhistogram::Histogram::new_with_bounds(1, 3600 * S, 3).unwrap();
    let mut before = 0.0;
    for ((_, quantile), value) in PERCENTILES.iter().zip(ms).filter(|(_, ms)| *ms > 0.0) {
        let share = ((quantile - before) * 10_000.0).round() as u64;
        histogram.record_n((value * 1e6) as u64, share.max(1)).unwrap();
        before = *quantile;
    }
    let mut s = Summary {
        clock: Clock::Kernel,
        count,
        mean_ns: Some((mean * 1e6) as u64),
        stdev_ns: ns(mean / 5.0),
        min_ns: ns(ms[0] / 3.0),
        p50_ns: None,
        p75_ns: None,
        p90_ns: None,
        p95_ns: None,
        p99_ns: None,
        p999_ns: None,
        p9999_ns: None,
        max_ns: Some((max * 1e6) as u64),
        ci95: BTreeMap::new(),
        censored_at_ns: BTreeMap::new(),
        needs_duration_ns: BTreeMap::new(),
        hdr: prony_record::hdr::encode(&histogram),
    };
    for ((field, quantile), ms) in PERCENTILES.iter().zip(ms) {
        s.set_percentile(field, ns(ms));
        if let Some(value) = ns(ms) {
            let half = (value as f64 * 0.003 * (1.0 - quantile).powf(-0.4)) as u64;
            s.ci95.insert((*field).into(), [value - half, value + half]);
        }
    }
    s
}

fn none_happened(count: u64) -> Summary {
    let mut s = summary([0.0; 7], 0.0, 0.0, count);
    for (field, _) in PERCENTILES {
        s.set_percentile(field, Some(0));
    }
    s
}

fn plan(rate: Option<f64>, connections: u32) -> PlanRecord {
    PlanRecord {
        url: "http://127.0.0.1:8080/".into(),
        method: "GET".into(),
        headers: vec![],
        body_bytes: 0,
        connections,
        threads: 1,
        arrivals: if rate.is_some() { "constant" } else { "closed" }.into(),
        rate_per_s: rate,
        duration_ns: Some(30 * S),
        requests: None,
        warmup_ns: 3 * S,
        timeout_ns: 10 * S,
        keepalive: true,
        expect_status: None,
        expect_body: false,
        cpus: vec![],
        seed: 7,
    }
}

/// DESIGN's first example: closed arrivals, valid, p99.99 withheld.
pub(crate) fn closed() -> Trial {
    let completed = 416_100;
    let mut service = summary([6.98, 7.31, 7.86, 8.4, 9.61, 14.2, 0.0], 56.0, 7.14, completed);
    service.needs_duration_ns.insert("p9999_ns".into(), 75 * S);
    let series = (0..30).map(|i| {
        let completed = (13_870.0 * (1.0 + 0.018 * noise(i))) as u64;
        SeriesPoint {
            at_ns: i * S,
            length_ns: S,
            completed,
            failed: 0,
            connections: 100,
            p50_ns: Some(6_980_000),
            p99_ns: Some((9.6e6 * (1.0 + 0.1 * noise(i + 99))) as u64),
            max_ns: Some(20 * MS),
            hdr: String::new(),
        }
    });
    Trial {
        schema: prony_record::trial::SCHEMA.into(),
        tool: Tool { name: "prony".into(), version: "0.1.0".into() },
        started_at: "2026-03-01T10:00:00.000Z".into(),
        interrupted: false,
        target: TargetRecord { url: "http://127.0.0.1:8080/".into(), address: "127.0.0.1:8080".into() },
        plan: plan(None, 100),
        host: host(),
        window: Window { warmup_ns: 3 * S, duration_ns: 30 * S },
        outcome: Outcome::Carried,
        requests: Requests {
            carried_in: 100,
            scheduled: completed,
            sent: completed,
            completed,
            failed: 0,
            in_flight: 100,
            never_sent: 0,
        },
        run_total: RunTotals { sent: 457_800, completed: 457_700, connections: 100 },
        throughput: Throughput {
            requests_per_s: Estimate::new(13_870.0, 13_814.0, 13_926.0, 20),
            bound: Bound::Exact,
            read_bytes_per_s: 1_653_000.0,
            offered_per_s: None,
        },
        latency: Latencies {
            response: service.clone(),
            first_byte: service.clone(),
            service,
            connect_wait: none_happened(completed),
            send_lag: none_happened(completed),
            connection_wait: none_happened(completed),
            client_delay: Some(summary(
                [0.031, 0.038, 0.048, 0.066, 0.113, 0.241, 0.0],
                0.61,
                0.035,
                completed,
            )),
        },
        status: BTreeMap::from([("200".into(), completed)]),
        errors: BTreeMap::new(),
        first_errors: BTreeMap::new(),
        series: series.collect(),
        client: Client {
            cpu_ns: 2_372_000_000,
            process_cpu_ns: 2_500_000_000,
            cpu_per_request_ns: Some(5_700),
            threads: 1,
            busiest_worker: 0.08,
            max_rss_bytes: 9_400_000,
            stamps_rejected: 0,
        },
        verdict: Verdict { validity: Validity::Valid, reasons: vec![] },
    }
}

/// DESIGN's second example: more is due than is carried.
pub(crate) fn overloaded() -> Trial {
    let mut t = closed();
    let completed = 596_400;
    t.plan = plan(Some(21_000.0), 500);
    t.outcome = Outcome::Overloaded;
    t.requests = Requests {
        carried_in: 0,
        scheduled: 630_000,
        sent: 596_900,
        completed,
        failed: 0,
        in_flight: 500,
        never_sent: 33_100,
    };
    t.throughput.requests_per_s = Estimate::new(19_880.0, 19_820.0, 19_940.0, 20);
    t.throughput.offered_per_s = Some(21_000.0);
    t.status = BTreeMap::from([("200".into(), completed)]);
    t.latency.response = summary([812.0, 1205.0, 1440.0, 0.0, 0.0, 0.0, 0.0], 1590.0, 801.0, completed);
    for field in ["p95_ns", "p99_ns", "p999_ns", "p9999_ns"] {
        t.latency.response.censored_at_ns.insert(field.into(), 1_530 * MS);
    }
    t.latency.service = summary([24.1, 25.9, 27.2, 28.8, 33.0, 47.1, 61.0], 70.2, 24.4, completed);
    t.latency.connection_wait = summary([788.0, 1180.0, 1412.0, 1490.0, 1540.0, 1560.0, 1565.0], 1566.0, 776.0, completed);
    t.latency.client_delay = None;
    t.verdict.reasons = vec![Reason {
        code: "overload".into(),
        affects: vec!["response".into()],
        effect: Effect::Note,
        detail: "the wait for a free connection grows 53 ms a second to the end of the window".into(),
        advice: "Ask for a rate that it carries, or give it more connections.".into(),
    }];
    t
}

/// Nearly everything failed.
pub(crate) fn broken() -> Trial {
    let mut t = closed();
    t.outcome = Outcome::Broken;
    t.requests.completed = 940;
    t.requests.failed = 51_200;
    t.requests.scheduled = 52_140;
    t.throughput.requests_per_s = Estimate::bare(31.3, 20, "most requests failed");
    t.throughput.read_bytes_per_s = 3_900.0;
    t.status = BTreeMap::from([("200".into(), 940), ("502".into(), 48_000)]);
    t.errors = BTreeMap::from([("unexpected_status".into(), 48_000), ("reset".into(), 3_200)]);
    t.first_errors = BTreeMap::from([
        ("unexpected_status".into(), "502 Bad Gateway\x1b[2J".into()),
        ("reset".into(), "Connection reset by peer (os error 104)".into()),
    ]);
    let field = |t: &mut Summary| (0..7).for_each(|i| t.set_percentile(PERCENTILES[i].0, None));
    for s in [&mut t.latency.response, &mut t.latency.service] {
        field(s);
        s.ci95.clear();
        s.needs_duration_ns.clear();
        s.censored_at_ns = BTreeMap::from([("p50_ns".into(), 2 * S), ("p99_ns".into(), 2 * S)]);
    }
    t.latency.client_delay = None;
    for (i, point) in t.series.iter_mut().enumerate() {
        point.completed = if i < 2 { 470 } else { 0 };
        point.failed = 1_700;
    }
    t.verdict.reasons = vec![Reason {
        code: "errors".into(),
        affects: vec!["throughput".into(), "response".into()],
        effect: Effect::Note,
        detail: "98 % of the requests failed; over 50 % is broken.".into(),
        advice: "See what one request is told.".into(),
    }];
    t
}

/// A short trial by a busy client: a lower bound, a suspect response, a withheld p99, interrupted.
pub(crate) fn doubtful() -> Trial {
    let mut t = closed();
    t.interrupted = true;
    t.window.duration_ns = 4_200_000_000;
    t.series.truncate(5);
    t.series[4].length_ns = 200_000_000;
    t.throughput.bound = Bound::Lower;
    let service = &mut t.latency.service;
    for (field, needs) in [("p99_ns", 12), ("p999_ns", 120), ("p9999_ns", 1200)] {
        service.set_percentile(field, None);
        service.needs_duration_ns.insert(field.into(), needs * S);
    }
    let mut bound = reason("client_saturated", &["throughput"], Effect::LowerBound);
    bound.detail = "a worker was outside epoll_wait for 97 % of the window; 90 % is the limit.".into();
    bound.advice = "Give the client more threads: -t 2.".into();
    t.verdict = Verdict {
        validity: Validity::Suspect,
        reasons: vec![bound, reason("not_steady", &["service", "throughput"], Effect::Suspect)],
    };
    t
}

/// label, title, language, kind, req/s, relative half width, p50 ms, tail, CPU µs, MB, startup ms.
type Candidate = (&'static str, &'static str, &'static str, &'static str, f64, f64, f64, f64, f64, f64, f64);

const CANDIDATES: [Candidate; 9] = [
    ("hyper", "hyper", "Rust", "web-server", 81_240.0, 0.009, 0.58, 1.7, 11.2, 8.1, 12.0),
    ("go-net-http", "Go net/http", "Go", "web-server", 52_310.0, 0.013, 0.82, 2.9, 18.4, 21.4, 18.0),
    ("bjoern-bottle", "bjoern + Bottle", "Python", "extension", 17_020.0, 0.021, 2.88, 1.3, 57.1, 34.9, 190.0),
    ("node-http", "Node.js http", "JavaScript", "event-loop", 16_790.0, 0.024, 2.75, 2.2, 58.9, 78.3, 95.0),
    ("nginx-fpm", "nginx + PHP-FPM", "PHP", "process-manager", 8_628.0, 0.012, 5.71, 1.6, 114.0, 58.2, 140.0),
    ("caddy-fpm", "Caddy + PHP-FPM", "PHP", "process-manager", 6_104.0, 0.019, 7.92, 2.1, 161.0, 92.5, 210.0),
    ("apache-fpm", "Apache + PHP-FPM", "PHP", "process-manager", 5_980.0, 0.028, 8.05, 2.6, 166.0, 88.0, 260.0),
    ("php-server", "PHP's own server", "PHP", "built-in", 5_322.0, 0.017, 9.28, 1.2, 187.0, 29.7, 60.0),
    ("gunicorn", "Gunicorn", "Python", "app-server", 1_412.0, 0.034, 34.9, 1.5, 706.0, 46.3, 420.0),
];

/// Nine candidates, one plan, five blocks: the quick start's shape.
pub(crate) fn experiment() -> ExperimentAnalysis {
    let ranks = [(1, 1), (2, 2), (3, 4), (3, 4), (5, 5), (6, 7), (6, 7), (8, 8), (9, 9)];
    let rows = CANDIDATES.iter().zip(ranks).enumerate().map(|(i, (c, rank))| row(i as u64, c, rank));
    let mut rows: Vec<Row> = rows.collect();
    rows[0].lower_bound = true;
    rows[0].reasons = vec![RowReason {
        code: "client_saturated".into(),
        trials: 5,
        detail: "a worker was outside epoll_wait for 98 % of the window".into(),
        advice: "Give the client more cores.".into(),
    }];
    rows[6].counted = 4;
    rows[6].per_trial_requests_per_s.pop();
    rows[6].series[2].validity = "invalid".into();
    rows[6].reasons = vec![RowReason {
        code: "host_noisy".into(),
        trials: 1,
        detail: "the hypervisor took 3.1 % of a core; 1 % is the limit".into(),
        advice: "Run it again when the machine is quiet.".into(),
    }];
    rows[7].failed = 312;
    rows[8].p99_ns = None;
    rows[8].p99_censored_at_ns = None;
    ExperimentAnalysis {
        schema: "prony.analysis/1",
        name: "quickstart".into(),
        title: "Which of these servers is fastest here?".into(),
        headline: "hyper leads: at least 9.4 × nginx-fpm at 50 connections".into(),
        created_at: "2026-03-01T10:00:00.000Z".into(),
        elapsed_ns: Some(222 * S),
        seed: 1,
        host: host(),
        server_cpus: vec![1],
        client_cpus: vec![0],
        baseline: Some("nginx-fpm".into()),
        blocks_planned: 5,
        trials: TrialCounts { planned: 45, valid: 39, lower_bound: 5, suspect: 0, void: 1, missing: 0 },
        interrupted: false,
        interval_method: "95 % intervals by Student's t on the log figures of the trials, each on a fresh server; \
                          ratios are paired within blocks."
            .into(),
        plans: vec![PlanAnalysis {
            name: "c50".into(),
            describe: "50 connections, closed loop, GET /".into(),
            rows,
        }],
        skipped: vec![Skipped {
            candidate: "nginx-unit".into(),
            reason: "there is no package of it for Debian 12.".into(),
            mend: Some("prony servers install nginx-unit".into()),
        }],
        reproduce: "prony bench quickstart --seed 1".into(),
        notes: vec!["The run was interrupted once and resumed.".into()],
    }
}

fn row(i: u64, c: &Candidate, rank: (u32, u32)) -> Row {
    let (label, title, language, kind, rate, half, p50, tail, cpu, memory, startup) = *c;
    let near = |point: f64, half: f64| Estimate::new(point, point * (1.0 - half), point * (1.0 + half), 5);
    let per_trial = (0..5).map(|b| rate * (1.0 + half * 0.8 * noise(i * 31 + b))).collect();
    Row {
        candidate: label.into(),
        title: title.into(),
        language: Some(language.into()),
        kind: Some(kind.into()),
        version: Some(format!("{}.{}.1", i + 1, 24 - i)),
        workers: Some(1),
        keepalive: label != "php-server",
        rank: Some(rank),
        requests_per_s: Some(near(rate, half)),
        lower_bound: false,
        ratio: Some(if label == "nginx-fpm" { Estimate::bare(1.0, 5, "the baseline") } else { near(rate / 8_628.0, half * 1.3) }),
        p50_ns: Some(near(p50 * 1e6, half)),
        p99_ns: Some(near(p50 * tail * 1e6, half * 2.0)),
        p99_censored_at_ns: None,
        cpu_per_request_ns: Some(near(cpu * 1e3, half)),
        peak_memory_bytes: Some((memory * 1e6) as u64),
        startup_ns: Some(near(startup * 1e6, 0.08)),
        failed: 0,
        completed: (rate * 60.0) as u64,
        trials: 5,
        counted: 5,
        overloaded: 0,
        broken: 0,
        reasons: vec![],
        latency_curve: curve(p50 * 1e6, tail),
        series: (0..5).map(|block| series(i, u32::try_from(block).unwrap(), rate, p50 * tail, memory)).collect(),
        per_trial_requests_per_s: per_trial,
    }
}

/// A curve with a knee towards p99.9, as servers have.
fn curve(p50_ns: f64, tail: f64) -> Vec<CurvePoint> {
    let quantiles = (0..=64).map(|k| 1.0 - 10_f64.powf(-f64::from(k) / 16.0));
    let points = quantiles.map(|quantile: f64| {
        let decades = -(1.0 - quantile).log10();
        let body = 0.62 + 0.38 * (quantile / 0.5).min(1.0);
        let growth = 1.0 + (tail - 1.0) * (decades / 2.0).powf(1.8) + 0.05 * (decades - 2.6).max(0.0).powi(3) * tail * 9.0;
        CurvePoint { quantile, value_ns: (p50_ns * body * growth) as u64 }
    });
    points.collect()
}

fn series(i: u64, block: u32, rate: f64, p99_ms: f64, memory_mb: f64) -> TrialSeries {
    let seed = i * 1_000 + u64::from(block) * 100;
    let seconds = 0..12_u64;
    let samples = || (-10..120_i64).map(|k| (k * 100_000_000, seed.wrapping_add_signed(k + 50)));
    TrialSeries {
        block,
        validity: "valid".into(),
        at_ns: seconds.clone().map(|s| s * S).collect(),
        requests_per_s: seconds.clone().map(|s| rate * (1.0 + 0.02 * noise(seed + s))).collect(),
        p99_ns: seconds
            .map(|s| (s != 5 || i != 8).then_some((p99_ms * 1e6 * (1.0 + 0.12 * noise(seed + s + 50))) as u64))
            .collect(),
        server_cores: samples().map(|(at, n)| (at, (0.97 + 0.03 * noise(n)).min(1.0))).collect(),
        server_memory_bytes: samples()
            .map(|(at, n)| (at, (memory_mb * 1e6 * (0.93 + 0.05 * (at as f64 / 12e9).max(0.0) + 0.004 * noise(n))) as u64))
            .collect(),
    }
}

/// Labels and messages that try to break out of their place; a row without figures; a censored p99.
pub(crate) fn hostile() -> ExperimentAnalysis {
    let mut a = experiment();
    a.title = "</title><script>alert(1)</script>".into();
    a.headline = "a|b `c` <img src=x onerror=alert(1)> @everyone".into();
    a.trials = TrialCounts { planned: 20, valid: 10, lower_bound: 0, suspect: 4, void: 5, missing: 1 };
    a.interrupted = true;
    a.server_cpus = vec![];
    a.client_cpus = vec![];
    let plan = &mut a.plans[0];
    plan.name = "c\"50' onload=x".into();
    plan.rows.truncate(4);
    plan.rows[1].candidate = "<b onmouseover=\"x\">|`\n</script>\u{2028}\u{1b}[31m".into();
    plan.rows[1].p99_ns = None;
    plan.rows[1].p99_censored_at_ns = Some(2 * S);
    plan.rows[2].overloaded = 3;
    let broken = &mut plan.rows[3];
    broken.rank = None;
    broken.requests_per_s = None;
    broken.ratio = None;
    broken.p50_ns = None;
    broken.p99_ns = None;
    broken.cpu_per_request_ns = None;
    broken.latency_curve.clear();
    broken.per_trial_requests_per_s.clear();
    broken.counted = 0;
    broken.broken = 5;
    broken.failed = 90_000;
    broken.completed = 10;
    broken.reasons = vec![RowReason {
        code: "server_died".into(),
        trials: 5,
        detail: "it ended with <signal 11> after 2 s".into(),
        advice: "See its log.".into(),
    }];
    a
}
