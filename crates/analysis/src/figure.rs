//! What can be asked of one trial: a figure by its name, so that claims and comparisons mean the same
//! by the same word.

use std::fmt;

use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Outcome, Trial};
use prony_stats::trend::{POINTS_MAX, theil_sen};

use crate::compare::{LATENCY_DIFFERENCE, THROUGHPUT_DIFFERENCE};
use crate::numbers::real;

/// A figure of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Completed requests per second.
    Throughput,
    /// A percentile of response, in nanoseconds.
    Percentile(Percentile),
    /// The mean of response, in nanoseconds.
    Mean,
    /// The standard deviation of response, in nanoseconds.
    Stdev,
    /// Server CPU time per completed request, in nanoseconds.
    CpuPerRequest,
    /// Completed requests per second of the server's CPU time: the reciprocal of the former.
    RequestsPerCpu,
    /// Peak memory of the server's processes, in bytes.
    Memory,
    /// Slope of the server's memory over the window, in bytes per second.
    MemoryGrowth,
    /// From process start to first right answer, in nanoseconds.
    Startup,
    /// Failed requests over those that ended.
    FailedShare,
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

/// Every figure by its name in claims.
pub const FIGURES: [(&str, Figure); 16] = [
    ("throughput", Figure::Throughput),
    ("p50", Figure::Percentile(Percentile::P50)),
    ("p75", Figure::Percentile(Percentile::P75)),
    ("p90", Figure::Percentile(Percentile::P90)),
    ("p95", Figure::Percentile(Percentile::P95)),
    ("p99", Figure::Percentile(Percentile::P99)),
    ("p999", Figure::Percentile(Percentile::P999)),
    ("p9999", Figure::Percentile(Percentile::P9999)),
    ("mean", Figure::Mean),
    ("stdev", Figure::Stdev),
    ("cpu", Figure::CpuPerRequest),
    ("requests_per_cpu_s", Figure::RequestsPerCpu),
    ("memory", Figure::Memory),
    ("memory_growth", Figure::MemoryGrowth),
    ("startup", Figure::Startup),
    ("failed_share", Figure::FailedShare),
];

/// The figures that candidates are ranked and compared by, in the order of a view.
pub const COMPARED: [Figure; 6] = [
    Figure::Throughput,
    Figure::Percentile(Percentile::P50),
    Figure::Percentile(Percentile::P99),
    Figure::CpuPerRequest,
    Figure::Memory,
    Figure::Startup,
];

impl Figure {
    /// Whether more is better.
    pub fn more_is_better(self) -> bool {
        matches!(self, Figure::Throughput | Figure::RequestsPerCpu)
    }

    /// The smallest difference that matters unless somebody says otherwise, as a share: within it, two are one.
    pub fn smallest_difference(self) -> f64 {
        if self == Figure::Throughput { THROUGHPUT_DIFFERENCE } else { LATENCY_DIFFERENCE }
    }

    /// The figure of a name.
    pub fn named(name: &str) -> Option<Figure> {
        FIGURES.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FIGURES.iter().find(|(_, figure)| *figure == self).map_or("", |(name, _)| *name)
    }

    /// Whether it is a time of responses, which an overload makes grow with the window's length.
    pub(crate) fn is_response_time(self) -> bool {
        matches!(self, Figure::Percentile(_) | Figure::Mean | Figure::Stdev)
    }

    /// The figure of a trial, and whether it is only known to be at least that: a throughput that the
    /// client limited, a percentile that falls among requests unanswered, a response under overload.
    /// `None` where the trial does not have it.
    pub fn of(self, trial: &Trial, server: Option<&ServerSamples>) -> Option<Known> {
        let exact = |value: f64| Known { value, at_least: false };
        let known = match self {
            Figure::Throughput => Known {
                value: trial.throughput.requests_per_s.point,
                at_least: trial.throughput.bound == Bound::Lower,
            },
            Figure::Percentile(percentile) => {
                let response = &trial.latency.response;
                match response.percentile(percentile.field()) {
                    Some(value) => exact(real(value)),
                    None => {
                        let than = response.censored_at_ns.get(percentile.field())?;
                        Known { value: real(*than), at_least: true }
                    }
                }
            }
            Figure::Mean => exact(real(trial.latency.response.mean_ns?)),
            Figure::Stdev => exact(real(trial.latency.response.stdev_ns?)),
            Figure::CpuPerRequest => {
                let completed = trial.requests.completed;
                exact(real(server?.window_cpu_ns) / real((completed > 0).then_some(completed)?))
            }
            Figure::RequestsPerCpu => {
                let cpu_ns = server?.window_cpu_ns;
                exact(real(trial.requests.completed) / real((cpu_ns > 0).then_some(cpu_ns)?) * 1e9)
            }
            Figure::Memory => exact(real(server?.peak_memory_bytes)),
            Figure::MemoryGrowth => exact(memory_growth(server?)?),
            Figure::Startup => exact(real(server?.startup_ns)),
            Figure::FailedShare => {
                let (failed, completed) = (real(trial.requests.failed), real(trial.requests.completed));
                let ended = failed + completed;
                exact(if ended > 0.0 { failed / ended } else { 0.0 })
            }
        };
        let grows = self.is_response_time() && trial.outcome == Outcome::Overloaded;
        Some(Known { at_least: known.at_least || grows, ..known })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
