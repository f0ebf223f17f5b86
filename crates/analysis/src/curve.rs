//! What a ranking's plots show: the latency curve of all trials together, each one over time.

use prony_model::histogram::SparseHistogram;
use prony_model::server::{SampleColumns, ServerSamples};
use prony_model::trial::{SeriesPoint, Trial};
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::real;
use crate::plot_data::curve;

/// A point of a latency-by-percentile curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CurvePoint {
    /// 0 to 1.
    pub quantile: f64,
    /// Nanoseconds.
    pub value_ns: u64,
}

/// A trial over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrialSeries {
    /// Its block.
    pub block: u32,
    /// Its validity, as in JSON.
    pub validity: String,
    /// From the window's start, per point.
    pub at_ns: Vec<u64>,
    /// Completed requests per second, per point.
    pub requests_per_s: Vec<f64>,
    /// 99th percentile of response, per point, where it has one.
    pub p99_ns: Vec<Option<u64>>,
    /// Server CPU in cores in use, per server sample: (from window start in ns, cores).
    pub server_cores: Vec<(i64, f64)>,
    /// Server memory in bytes, per server sample.
    pub server_memory_bytes: Vec<(i64, u64)>,
}

const QUANTILES: [f64; 24] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995,
    0.9975, 0.999, 0.9995, 0.9998, 0.9999,
];

/// Response by quantile, trials `merged`. What failed or was never sent stands above all answers, where the curve ends;
/// the few in flight at the end (at most one a connection) are left out: their waits so far are not in the record.
pub(crate) fn latency_curve(merged: &SparseHistogram, trials: &[&Trial]) -> Vec<CurvePoint> {
    let unanswered = trials.iter().map(|trial| trial.requests.failed + trial.requests.never_sent).sum();
    let points = curve(merged, unanswered, QUANTILES);
    points.map(|(quantile, value_ns)| CurvePoint { quantile, value_ns }).collect()
}

pub(crate) fn series(block: u32, trial: &Trial, server: Option<&ServerSamples>) -> TrialSeries {
    let rate = |p: &SeriesPoint| {
        if p.length_ns == 0 { 0.0 } else { real(p.completed) * 1e9 / real(p.length_ns) }
    };
    let columns = server.map(|server| &server.columns);
    TrialSeries {
        block,
        validity: trial.verdict.validity.to_string(),
        at_ns: trial.series.iter().map(|p| p.at_ns).collect(),
        requests_per_s: trial.series.iter().map(rate).collect(),
        p99_ns: trial.series.iter().map(|p| p.p99_ns).collect(),
        server_cores: columns.map(cores).unwrap_or_default(),
        server_memory_bytes: columns
            .map(|c| c.at_ns.iter().copied().zip(c.rss_bytes.iter().copied()).collect())
            .unwrap_or_default(),
    }
}

/// Cores in use between each sample and the one before it, stamped with the later one.
fn cores(columns: &SampleColumns) -> Vec<(i64, f64)> {
    let pairs = columns.at_ns.windows(2).zip(columns.cpu_ns.windows(2));
    pairs
        .filter(|(at, _)| at[1] > at[0])
        // A tree's CPU time can seem to fall when a process leaves between two readings.
        .map(|(at, cpu)| (at[1], real(cpu[1].saturating_sub(cpu[0])) / real(at[1].abs_diff(at[0]))))
        .collect()
}
