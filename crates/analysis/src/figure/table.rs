//! The one table of figures, from which all views take them. A new figure is one entry at its end.

use prony_model::trial::Bound;
use prony_model::unit::Unit;

use super::{Entry, FigureValue, OverTrials, memory_growth};
use crate::numbers::real;

/// The smallest difference of throughput that matters, unless told otherwise.
const THROUGHPUT_DIFFERENCE: f64 = 0.02;

/// The smallest difference of a response time that matters, unless told otherwise.
const LATENCY_DIFFERENCE: f64 = 0.05;

const RESPONSE: Entry = Entry {
    name: "",
    field: "",
    title: "",
    explain: "",
    head: "",
    terminal_column: None,
    in_trial: false,
    in_markdown: false,
    unit: Unit::Milliseconds,
    more_is_better: false,
    better_and_worse: ["FASTER", "SLOWER"],
    smallest_difference: LATENCY_DIFFERENCE,
    over_trials: OverTrials::GeometricMean,
    ranked: false,
    in_history: true,
    affected_as: "response",
    metric: "",
    published: None,
    of_trial: |_, _| None,
};

const OF_SERVER: Entry = Entry { affected_as: "", better_and_worse: ["LESS", "MORE"], ..RESPONSE };

/// What the rates of bytes have in common: they follow the throughput.
const OF_BYTES: Entry = Entry {
    unit: Unit::MegabytesPerS,
    more_is_better: true,
    better_and_worse: ["MORE", "LESS"],
    smallest_difference: THROUGHPUT_DIFFERENCE,
    in_history: false,
    affected_as: "throughput",
    ..RESPONSE
};

/// A percentile of response: its name, field, title and head, and what a source calls it.
const fn percentile(
    [name, field, title, head]: [&'static str; 4],
    published: Option<(&'static str, f64)>,
) -> Entry {
    let explain = "This percentile of response time, failed and waiting requests included.";
    Entry { name, field, title, head, explain, published, in_trial: true, ..RESPONSE }
}

pub(crate) static FIGURES: &[Entry] = &[
    Entry {
        name: "throughput",
        field: "requests_per_s",
        title: "Throughput",
        explain: "Completed requests per second of the window.",
        head: "req/s",
        unit: Unit::RequestsPerS,
        more_is_better: true,
        smallest_difference: THROUGHPUT_DIFFERENCE,
        ranked: true,
        affected_as: "throughput",
        published: Some(("requests_per_s", 1.0)),
        metric: "throughput_requests_per_second",
        of_trial: |trial, _| {
            let value = trial.throughput.requests_per_s.point;
            Some(FigureValue { value, at_least: trial.throughput.bound == Bound::Lower })
        },
        ..RESPONSE
    },
    Entry {
        in_markdown: true,
        ranked: true,
        explain: "Median response time, failed and waiting requests included.",
        ..percentile(["p50", "p50_ns", "p50", "p50 ms"], Some(("p50_ms", 1e6)))
    },
    Entry { in_trial: false, ..percentile(["p75", "p75_ns", "p75", "p75 ms"], Some(("p75_ms", 1e6))) },
    percentile(["p90", "p90_ns", "p90", "p90 ms"], Some(("p90_ms", 1e6))),
    Entry { in_trial: false, ..percentile(["p95", "p95_ns", "p95", "p95 ms"], None) },
    Entry {
        terminal_column: Some(("p99 ms", 8)),
        in_markdown: true,
        ranked: true,
        explain: "99th percentile of response time, failed and waiting requests included.",
        ..percentile(["p99", "p99_ns", "p99", "p99 ms"], Some(("p99_ms", 1e6)))
    },
    percentile(["p999", "p999_ns", "p99.9", "p99.9 ms"], Some(("p999_ms", 1e6))),
    percentile(["p9999", "p9999_ns", "p99.99", "p99.99 ms"], Some(("p9999_ms", 1e6))),
    percentile(["p99999", "p99999_ns", "p99.999", "p99.999 ms"], Some(("p99999_ms", 1e6))),
    Entry {
        name: "mean",
        field: "mean_ns",
        title: "Mean",
        explain: "Mean response time.",
        head: "mean ms",
        published: Some(("mean_ms", 1e6)),
        metric: "response_mean_seconds",
        of_trial: |trial, _| exact(real(trial.latency.response.mean_ns?)),
        ..RESPONSE
    },
    Entry {
        name: "stdev",
        field: "stdev_ns",
        title: "Standard deviation",
        explain: "Standard deviation of response time.",
        head: "stdev ms",
        in_history: false,
        published: Some(("stdev_ms", 1e6)),
        metric: "response_stdev_seconds",
        of_trial: |trial, _| exact(real(trial.latency.response.stdev_ns?)),
        ..RESPONSE
    },
    Entry {
        name: "cpu",
        field: "cpu_per_request_ns",
        title: "CPU per request",
        explain: "CPU time of the server's processes per completed request.",
        head: "CPU µs/req",
        terminal_column: Some(("µs/req", 7)),
        in_markdown: true,
        unit: Unit::Microseconds,
        ranked: true,
        metric: "server_cpu_per_request_seconds",
        of_trial: |trial, server| {
            let completed = trial.requests.completed;
            exact(real(server?.window_cpu_ns) / real((completed > 0).then_some(completed)?))
        },
        ..OF_SERVER
    },
    Entry {
        name: "requests_per_cpu_s",
        field: "requests_per_cpu_s",
        title: "Requests per CPU second",
        explain: "Completed requests per second of the server's CPU time: the reciprocal of CPU per request.",
        head: "req/CPU s",
        unit: Unit::RequestsPerCpuS,
        more_is_better: true,
        in_history: false,
        metric: "server_requests_per_cpu_second",
        of_trial: |trial, server| {
            let (completed, cpu_ns) = (trial.requests.completed, server?.window_cpu_ns);
            exact(real((completed > 0).then_some(completed)?) / real((cpu_ns > 0).then_some(cpu_ns)?) * 1e9)
        },
        ..OF_SERVER
    },
    Entry {
        name: "memory",
        field: "peak_memory_bytes",
        title: "Peak memory",
        explain: "The most memory of the server's processes in any trial.",
        head: "peak MB",
        terminal_column: Some(("MB", 6)),
        in_markdown: true,
        unit: Unit::Megabytes,
        over_trials: OverTrials::Highest,
        ranked: true,
        metric: "server_peak_memory_bytes",
        of_trial: |_, server| exact(real(server?.peak_memory_bytes)),
        ..OF_SERVER
    },
    Entry {
        name: "memory_growth",
        field: "memory_growth_bytes_per_s",
        title: "Memory growth",
        explain: "Slope of the server's memory over the window; below 0 it shrinks.",
        head: "growth MB/s",
        unit: Unit::MegabytesPerS,
        over_trials: OverTrials::Mean,
        in_history: false,
        metric: "server_memory_growth_bytes_per_second",
        of_trial: |_, server| exact(memory_growth(server?)?),
        ..OF_SERVER
    },
    Entry {
        name: "startup",
        field: "startup_ns",
        title: "Start-up",
        explain: "From the start of the process to its first valid response.",
        head: "start-up ms",
        better_and_worse: ["FASTER", "SLOWER"],
        ranked: true,
        metric: "server_startup_seconds",
        of_trial: |_, server| exact(real(server.map(|s| s.startup_ns).filter(|ns| *ns > 0)?)),
        ..OF_SERVER
    },
    Entry {
        name: "failed_share",
        field: "failed_share",
        title: "Failed",
        explain: "Failed requests as a share of those that ended.",
        head: "failed",
        unit: Unit::Share,
        in_history: false,
        published: Some(("failed_share_at_least", 1.0)),
        metric: "failed_ratio",
        of_trial: |trial, _| {
            let (failed, completed) = (real(trial.requests.failed), real(trial.requests.completed));
            let ended = failed + completed;
            exact(if ended > 0.0 { failed / ended } else { 0.0 })
        },
        ..OF_SERVER
    },
    Entry {
        name: "first_byte_p50",
        field: "first_byte_p50_ns",
        title: "First byte, p50",
        explain: "Median time from when a request was sent to its response's first byte; completed requests.",
        head: "first byte p50 ms",
        in_markdown: true,
        affected_as: "service",
        of_trial: |trial, _| exact(real(trial.latency.first_byte.p50_ns?)),
        ..RESPONSE
    },
    Entry {
        name: "first_byte_p99",
        field: "first_byte_p99_ns",
        title: "First byte, p99",
        explain: "99th percentile of the time from when a request was sent to its response's first byte; completed requests.",
        head: "first byte p99 ms",
        terminal_column: Some(("1st byte p99", 13)),
        in_markdown: true,
        affected_as: "service",
        of_trial: |trial, _| exact(real(trial.latency.first_byte.p99_ns?)),
        ..RESPONSE
    },
    Entry {
        name: "read",
        field: "read_bytes_per_s",
        title: "Bytes read",
        explain: "Response bytes, heads included, that the client read per second of the window.",
        head: "read MB/s",
        metric: "read_bytes_per_second",
        published: Some(("transfer_mib_per_s", 1_048_576.0)),
        of_trial: |trial, _| exact(trial.throughput.read_bytes_per_s),
        ..OF_BYTES
    },
    Entry {
        name: "sent",
        field: "sent_bytes_per_s",
        title: "Bytes sent",
        explain: "Request bytes, heads included, that the client sent per second of the window.",
        head: "sent MB/s",
        metric: "sent_bytes_per_second",
        of_trial: |trial, _| exact(trial.throughput.sent_bytes_per_s),
        ..OF_BYTES
    },
    Entry {
        name: "interrupts",
        field: "interrupts_per_request_ns",
        title: "Interrupts per request",
        explain: "Interrupt and soft interrupt time of the server's whole host per completed request, where that is another \
                  machine: in no process's CPU time.",
        head: "irq µs/req",
        terminal_column: Some(("irq µs", 7)),
        unit: Unit::Microseconds,
        over_trials: OverTrials::Mean,
        in_history: false,
        metric: "server_host_interrupts_per_request_seconds",
        of_trial: |trial, server| {
            let (completed, host) = (trial.requests.completed, server?.host.as_ref()?);
            let interrupts_ns = host.irq_ns?.saturating_add(host.softirq_ns?);
            exact(real(interrupts_ns) / real((completed > 0).then_some(completed)?))
        },
        ..OF_SERVER
    },
    Entry {
        name: "goodput",
        field: "goodput_per_s",
        title: "Goodput",
        explain: "Completed requests per second of the window that meet every response time given with --slo.",
        head: "good req/s",
        terminal_column: Some(("good/s", 9)),
        unit: Unit::RequestsPerS,
        more_is_better: true,
        smallest_difference: THROUGHPUT_DIFFERENCE,
        ranked: true,
        affected_as: "throughput",
        metric: "goodput_requests_per_second",
        of_trial: |trial, _| {
            let at_least = trial.throughput.bound == Bound::Lower;
            Some(FigureValue { value: trial.goodput_per_s?, at_least })
        },
        ..RESPONSE
    },
];

fn exact(value: f64) -> Option<FigureValue> {
    Some(FigureValue { value, at_least: false })
}
