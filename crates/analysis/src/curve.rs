//! Pictures of trials: the latency curve of all together, each one over time.

use prony_model::histogram::Histogram;
use prony_model::server::ServerSamples;
use prony_model::trial::Trial;
use prony_stats::order::Quantile;

use crate::experiment::{CurvePoint, TrialSeries};

/// Where the curve has points.
const QUANTILES: [f64; 24] = [
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995,
    0.9975, 0.999, 0.9995, 0.9998, 0.9999,
];

/// A point of a picture needs this many samples beyond it. Fewer than a
/// printed percentile's 100: the eye smooths, a figure is quoted.
const BEYOND_MIN: u64 = 10;

/// Response time by quantile, trials merged. Requests that failed or were never sent stand
/// above all answers, and the curve ends where they begin. The few in flight
/// at the end (at most one a connection) are left out: their waits so far are
/// not in the record.
pub(crate) fn latency_curve(trials: &[&Trial]) -> Vec<CurvePoint> {
    let mut merged = Histogram::default();
    let mut unanswered = 0;
    for trial in trials {
        merged.add_sparse(&trial.latency.response.hdr);
        unanswered += trial.requests.failed + trial.requests.never_sent;
    }
    let n = merged.len() + unanswered;
    let point = |q: f64| {
        let quantile = Quantile::new(q).filter(|quantile| quantile.has_beyond(n, BEYOND_MIN))?;
        let rank = quantile.rank(n)?;
        if rank > merged.len() {
            return None;
        }
        // The rank among all, as a quantile of the answers; half a rank less keeps clear of rounding.
        #[expect(clippy::cast_precision_loss, reason = "counts of a run, far below 2^53")]
        let among_answers = (rank as f64 - 0.5) / merged.len() as f64;
        Some(CurvePoint { quantile: q, value_ns: merged.value_at_quantile(among_answers) })
    };
    QUANTILES.into_iter().filter_map(point).collect()
}

/// A trial over time, with its server's samples.
pub(crate) fn series(block: u32, trial: &Trial, server: Option<&ServerSamples>) -> TrialSeries {
    #[expect(clippy::cast_precision_loss, reason = "counts within a second")]
    let rate = |completed: u64, length_ns: u64| {
        if length_ns == 0 { 0.0 } else { completed as f64 * 1e9 / length_ns as f64 }
    };
    TrialSeries {
        block,
        validity: trial.verdict.validity.to_string(),
        at_ns: trial.series.iter().map(|p| p.at_ns).collect(),
        requests_per_s: trial.series.iter().map(|p| rate(p.completed, p.length_ns)).collect(),
        p99_ns: trial.series.iter().map(|p| p.p99_ns).collect(),
        server_cores: server.map(cores).unwrap_or_default(),
        server_memory_bytes: server
            .map(|s| s.columns.at_ns.iter().copied().zip(s.columns.rss_bytes.iter().copied()).collect())
            .unwrap_or_default(),
    }
}

/// Cores in use between each sample and the one before it, stamped with the later one.
#[expect(clippy::cast_precision_loss, reason = "differences of samples a tenth of a second apart")]
fn cores(server: &ServerSamples) -> Vec<(i64, f64)> {
    let samples: Vec<(i64, u64)> =
        server.columns.at_ns.iter().copied().zip(server.columns.cpu_ns.iter().copied()).collect();
    samples
        .windows(2)
        .filter(|pair| pair[1].0 > pair[0].0)
        .map(|pair| {
            let time = pair[1].0.abs_diff(pair[0].0) as f64;
            // A tree's CPU time can seem to fall when a process leaves between two readings.
            (pair[1].0, pair[1].1.saturating_sub(pair[0].1) as f64 / time)
        })
        .collect()
}
