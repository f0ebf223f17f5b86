//! The one table of figures: what each is called, how it is taken of a trial and over trials, in which direction it is
//! better, which difference matters, and where it is shown.
//!
//! Rankings, comparisons, claims, histories, tables, the page, CSV and JSON go through this table. A new figure is one
//! entry at the end of [`FIGURES`].

use std::fmt;
use std::ops::Deref;

use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Outcome, PERCENTILES, Trial};
use prony_stats::CONFIDENCE;
use prony_stats::trend::{POINTS_MAX, theil_sen};

use crate::numbers::real;

mod unit;

pub use unit::Unit;

/// The smallest difference of throughput that matters, unless told otherwise.
const THROUGHPUT_DIFFERENCE: f64 = 0.02;

/// The smallest difference of a response time that matters, unless told otherwise.
const LATENCY_DIFFERENCE: f64 = 0.05;

/// What is known of a figure.
#[derive(Debug)]
pub struct Entry {
    /// Its name in claims, conditions of `--fail-if` and `history --figure`.
    pub name: &'static str,
    /// Its field in a row of `prony.analysis/1` and its column in CSV.
    pub field: &'static str,
    /// Its title on the page.
    pub title: &'static str,
    /// One sentence that says what it is.
    pub explain: &'static str,
    /// Its name with its unit, above a column of a comparison and of a Markdown table.
    pub head: &'static str,
    /// The head of its column in the terminal's ranking and that column's width, where it has one.
    pub terminal_column: Option<(&'static str, usize)>,
    /// Whether a Markdown table has a column of it.
    pub in_markdown: bool,
    /// Its unit.
    pub unit: Unit,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What a comparison says of a better and of a worse one.
    pub better_and_worse: [&'static str; 2],
    /// The smallest difference that matters unless somebody says otherwise, as a share: within it, two are equivalent.
    pub smallest_difference: f64,
    /// One figure of several trials.
    pub over_trials: OverTrials,
    /// Whether candidates are ranked and compared by it.
    pub ranked: bool,
    /// Whether `prony history` follows it: it is above 0, and no other figure's reciprocal.
    pub in_history: bool,
    /// What verdicts that affect it call it: `throughput`, `response`; empty where none does.
    pub affected_as: &'static str,
    /// Its family in OpenMetrics after `prony_trial_`, with its base unit; empty of what is a quantile of a summary there.
    pub metric: &'static str,
    /// The same figure of a published source, and how many of our units are one of theirs.
    pub published: Option<(&'static str, f64)>,
    of_trial: fn(&Trial, Option<&ServerSamples>) -> Option<FigureValue>,
}

/// How trials' values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverTrials {
    /// The geometric mean, with Student's interval on logarithms.
    GeometricMean,
    /// The mean, with Student's interval: of figures that may be 0 or below.
    Mean,
    /// The highest, without an interval: what a server needs is what it needed once.
    Highest,
}

/// What most response times have in common.
const RESPONSE: Entry = Entry {
    name: "",
    field: "",
    title: "",
    explain: "",
    head: "",
    terminal_column: None,
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

/// What most figures of a server have in common.
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
    Entry { name, field, title, head, explain, published, ..RESPONSE }
}

/// Every figure, in the order of a view.
pub static FIGURES: [Entry; 22] = [
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
    percentile(["p75", "p75_ns", "p75", "p75 ms"], Some(("p75_ms", 1e6))),
    percentile(["p90", "p90_ns", "p90", "p90 ms"], Some(("p90_ms", 1e6))),
    percentile(["p95", "p95_ns", "p95", "p95 ms"], None),
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
];

/// A figure: an entry of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figure(usize);

impl Figure {
    /// Completed requests per second.
    pub const THROUGHPUT: Figure = Figure::known("throughput");
    /// The median of response.
    pub const P50: Figure = Figure::known("p50");
    /// The mean of response.
    pub(crate) const MEAN: Figure = Figure::known("mean");
    /// Failed requests as a share of those that ended.
    pub(crate) const FAILED_SHARE: Figure = Figure::known("failed_share");
    /// The 99th percentile of response.
    pub const P99: Figure = Figure::known("p99");
    /// The 99th percentile from a request's sending to its response's first byte.
    pub const FIRST_BYTE_P99: Figure = Figure::known("first_byte_p99");
    /// Server CPU time per completed request.
    pub const CPU_PER_REQUEST: Figure = Figure::known("cpu");
    /// Completed requests per second of the server's CPU time.
    pub const REQUESTS_PER_CPU: Figure = Figure::known("requests_per_cpu_s");
    /// Peak memory of the server's processes.
    pub const MEMORY: Figure = Figure::known("memory");
    /// Slope of the server's memory over the window.
    pub const MEMORY_GROWTH: Figure = Figure::known("memory_growth");
    /// From process start to first right answer.
    pub const STARTUP: Figure = Figure::known("startup");

    /// The figure of a name that the table has; else it does not compile.
    const fn known(name: &str) -> Figure {
        let mut i = 0;
        while !same(FIGURES[i].name, name) {
            i += 1;
        }
        Figure(i)
    }

    /// Every figure, in the order of a view.
    pub fn all() -> impl Iterator<Item = Figure> {
        (0..FIGURES.len()).map(Figure)
    }

    /// Its place in [`FIGURES`].
    pub(crate) fn index(self) -> usize {
        self.0
    }

    /// Those that candidates are ranked and compared by.
    pub fn ranked() -> impl Iterator<Item = Figure> {
        Figure::all().filter(|figure| figure.ranked)
    }

    /// Whether a view has a column of it.
    pub fn is_column(self) -> bool {
        self.in_markdown || self.terminal_column.is_some()
    }

    /// The figure of a name.
    pub fn named(name: &str) -> Option<Figure> {
        Figure::all().find(|figure| figure.name == name)
    }

    /// The quantile of response times that it is: 0.99 of p99; `None` of what is no percentile.
    pub fn quantile(self) -> Option<f64> {
        PERCENTILES.iter().find(|(field, _)| *field == self.field).map(|(_, quantile)| *quantile)
    }

    /// The figure of a trial, and whether it is only known to be at least that: a throughput that the
    /// client limited, a percentile that falls among requests unanswered, a response under overload.
    /// `None` where the trial does not have it.
    pub fn of_trial(self, trial: &Trial, server: Option<&ServerSamples>) -> Option<FigureValue> {
        let known = match self.quantile() {
            Some(_) => percentile_of(trial, self.field)?,
            None => (self.of_trial)(trial, server)?,
        };
        // A response under overload grows with the window's length.
        let grows = self.affected_as == "response" && trial.outcome == Outcome::Overloaded;
        Some(FigureValue { at_least: known.at_least || grows, ..known })
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl Deref for Figure {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &FIGURES[self.0]
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A figure of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FigureValue {
    /// In the figure's unit.
    pub value: f64,
    /// Whether the truth may be more.
    pub at_least: bool,
}

/// What an entry's function returns.
fn exact(value: f64) -> Option<FigureValue> {
    Some(FigureValue { value, at_least: false })
}

/// A percentile of response by its field, or what it is longer than.
fn percentile_of(trial: &Trial, field: &str) -> Option<FigureValue> {
    let response = &trial.latency.response;
    let at_least = |than: &u64| FigureValue { value: real(*than), at_least: true };
    match response.percentile(field) {
        Some(value) => exact(real(value)),
        None => response.censored_at_ns.get(field).map(at_least),
    }
}

/// The Theil–Sen slope of resident memory over the window's samples, in bytes per second: a garbage
/// collector's saw teeth do not bend it as they would a least-squares line.
pub(crate) fn memory_growth(server: &ServerSamples) -> Option<f64> {
    let samples = server.columns.at_ns.iter().zip(&server.columns.rss_bytes);
    let in_window: Vec<(f64, f64)> =
        samples.filter_map(|(at, rss)| Some((real(u64::try_from(*at).ok()?) / 1e9, real(*rss)))).collect();
    let step = in_window.len().div_ceil(POINTS_MAX).max(1);
    let thinned: Vec<(f64, f64)> = in_window.into_iter().step_by(step).collect();
    theil_sen(&thinned, CONFIDENCE).map(|slope| slope.point)
}
