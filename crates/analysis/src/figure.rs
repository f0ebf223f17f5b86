//! The one table of figures: what each is called, how it is taken of a trial and over trials, in which direction it is
//! better, which difference matters, and where it is shown.
//!
//! Rankings, comparisons, claims, histories, tables, the page, CSV and JSON go through this table. A new figure is one
//! entry at the end of [`FIGURES`].

use std::fmt;
use std::ops::Deref;

use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Outcome, Trial};
use prony_stats::trend::{POINTS_MAX, theil_sen};

use crate::compare::{LATENCY_DIFFERENCE, THROUGHPUT_DIFFERENCE};
use crate::numbers::real;

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
    /// The percentile of response that it is.
    pub percentile: Option<Percentile>,
    /// The same figure of a published source, and how many of our units are one of theirs.
    pub published: Option<(&'static str, f64)>,
    of: fn(&Trial, Option<&ServerSamples>) -> Option<Known>,
}

/// The unit of a figure's values and the one that people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Requests per second.
    RequestsPerS,
    /// Requests per second of the server's CPU time.
    RequestsPerCpuS,
    /// Nanoseconds, read as milliseconds.
    Milliseconds,
    /// Nanoseconds, read as microseconds.
    Microseconds,
    /// Bytes, read as megabytes (10⁶).
    Megabytes,
    /// Bytes per second, read as megabytes per second.
    MegabytesPerS,
    /// A share from 0 to 1, read as percent.
    Share,
}

impl Unit {
    /// The unit of the values, as JSON names it.
    pub fn stored(self) -> &'static str {
        match self {
            Unit::RequestsPerS => "requests_per_s",
            Unit::RequestsPerCpuS => "requests_per_cpu_s",
            Unit::Milliseconds | Unit::Microseconds => "ns",
            Unit::Megabytes => "bytes",
            Unit::MegabytesPerS => "bytes_per_s",
            Unit::Share => "share",
        }
    }

    /// The unit that people read.
    pub fn shown(self) -> &'static str {
        match self {
            Unit::RequestsPerS => "req/s",
            Unit::RequestsPerCpuS => "req/CPU s",
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
            Unit::Megabytes => "MB",
            Unit::MegabytesPerS => "MB/s",
            Unit::Share => "",
        }
    }
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

/// A percentile that a trial records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Percentile {
    P50,
    P75,
    P90,
    P95,
    P99,
    P999,
    P9999,
}

impl Percentile {
    /// The field of a summary.
    pub fn field(self) -> &'static str {
        match self {
            Percentile::P50 => "p50_ns",
            Percentile::P75 => "p75_ns",
            Percentile::P90 => "p90_ns",
            Percentile::P95 => "p95_ns",
            Percentile::P99 => "p99_ns",
            Percentile::P999 => "p999_ns",
            Percentile::P9999 => "p9999_ns",
        }
    }

    /// 0.99 for p99.
    pub fn fraction(self) -> f64 {
        let field = self.field();
        prony_model::trial::PERCENTILES.iter().find(|(name, _)| *name == field).map_or(0.5, |(_, q)| *q)
    }
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
    percentile: None,
    published: None,
    of: |_, _| None,
};

/// What most figures of a server have in common.
const OF_SERVER: Entry = Entry { affected_as: "", better_and_worse: ["LESS", "MORE"], ..RESPONSE };

/// A percentile of response: its name, field, title and head, and what a source calls it.
const fn percentile(
    [name, field, title, head]: [&'static str; 4],
    percentile: Percentile,
    published: Option<&'static str>,
) -> Entry {
    let published = match published {
        Some(name) => Some((name, 1e6)),
        None => None,
    };
    Entry {
        name,
        field,
        title,
        head,
        explain: "This percentile of response time, failed and waiting requests included.",
        percentile: Some(percentile),
        published,
        ..RESPONSE
    }
}

/// Every figure, in the order of a view.
pub static FIGURES: [Entry; 16] = [
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
        of: |trial, _| {
            let value = trial.throughput.requests_per_s.point;
            Some(Known { value, at_least: trial.throughput.bound == Bound::Lower })
        },
        ..RESPONSE
    },
    Entry {
        in_markdown: true,
        ranked: true,
        explain: "Median response time, failed and waiting requests included.",
        ..percentile(["p50", "p50_ns", "p50", "p50 ms"], Percentile::P50, Some("p50_ms"))
    },
    percentile(["p75", "p75_ns", "p75", "p75 ms"], Percentile::P75, Some("p75_ms")),
    percentile(["p90", "p90_ns", "p90", "p90 ms"], Percentile::P90, Some("p90_ms")),
    percentile(["p95", "p95_ns", "p95", "p95 ms"], Percentile::P95, None),
    Entry {
        terminal_column: Some(("p99 ms", 8)),
        in_markdown: true,
        ranked: true,
        explain: "99th percentile of response time, failed and waiting requests included.",
        ..percentile(["p99", "p99_ns", "p99", "p99 ms"], Percentile::P99, Some("p99_ms"))
    },
    percentile(["p999", "p999_ns", "p99.9", "p99.9 ms"], Percentile::P999, Some("p999_ms")),
    percentile(["p9999", "p9999_ns", "p99.99", "p99.99 ms"], Percentile::P9999, Some("p9999_ms")),
    Entry {
        name: "mean",
        field: "mean_ns",
        title: "Mean",
        explain: "Mean response time.",
        head: "mean ms",
        published: Some(("mean_ms", 1e6)),
        of: |trial, _| exact(real(trial.latency.response.mean_ns?)),
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
        of: |trial, _| exact(real(trial.latency.response.stdev_ns?)),
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
        of: |trial, server| {
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
        of: |trial, server| {
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
        of: |_, server| exact(real(server?.peak_memory_bytes)),
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
        of: |_, server| exact(memory_growth(server?)?),
        ..OF_SERVER
    },
    Entry {
        name: "startup",
        field: "startup_ns",
        title: "Start-up",
        explain: "From the start of the process to its first right answer.",
        head: "start-up ms",
        better_and_worse: ["FASTER", "SLOWER"],
        ranked: true,
        of: |_, server| exact(real(server?.startup_ns)),
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
        of: |trial, _| {
            let (failed, completed) = (real(trial.requests.failed), real(trial.requests.completed));
            let ended = failed + completed;
            exact(if ended > 0.0 { failed / ended } else { 0.0 })
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
    /// The 99th percentile of response.
    pub const P99: Figure = Figure::known("p99");
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

    /// The figure of a name.
    pub fn named(name: &str) -> Option<Figure> {
        Figure::all().find(|figure| figure.name == name)
    }

    /// The figure of a trial, and whether it is only known to be at least that: a throughput that the
    /// client limited, a percentile that falls among requests unanswered, a response under overload.
    /// `None` where the trial does not have it.
    pub fn of(self, trial: &Trial, server: Option<&ServerSamples>) -> Option<Known> {
        let known = match self.percentile {
            Some(percentile) => response(trial, percentile)?,
            None => (self.of)(trial, server)?,
        };
        // A response under overload grows with the window's length.
        let grows = self.affected_as == "response" && trial.outcome == Outcome::Overloaded;
        Some(Known { at_least: known.at_least || grows, ..known })
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
pub struct Known {
    /// In the figure's unit.
    pub value: f64,
    /// Whether the truth may be more.
    pub at_least: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "what an entry's function returns")]
fn exact(value: f64) -> Option<Known> {
    Some(Known { value, at_least: false })
}

/// A percentile of response, or what it is longer than.
fn response(trial: &Trial, percentile: Percentile) -> Option<Known> {
    let response = &trial.latency.response;
    match response.percentile(percentile.field()) {
        Some(value) => exact(real(value)),
        None => {
            let than = response.censored_at_ns.get(percentile.field())?;
            Some(Known { value: real(*than), at_least: true })
        }
    }
}

/// The Theil–Sen slope of resident memory over the window's samples, in bytes per second: a garbage
/// collector's saw teeth do not bend it as they would a least-squares line.
pub(crate) fn memory_growth(server: &ServerSamples) -> Option<f64> {
    let samples: Vec<(f64, f64)> = server
        .columns
        .at_ns
        .iter()
        .zip(&server.columns.rss_bytes)
        .filter(|(at, _)| **at >= 0)
        .map(|(at, rss)| (seconds(*at), real(*rss)))
        .collect();
    let step = samples.len().div_ceil(POINTS_MAX).max(1);
    let thinned: Vec<(f64, f64)> = samples.into_iter().step_by(step).collect();
    theil_sen(&thinned, prony_stats::CONFIDENCE).map(|slope| slope.point)
}

#[expect(clippy::cast_precision_loss, reason = "a window of a day is 8.64e13 ns, exact in an f64")]
fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
