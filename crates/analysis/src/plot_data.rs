//! What a trial's plots show: bounded, whatever its length, and from merged histograms: no percentile is a mean of
//! others.

use prony_model::histogram::{SparseHistogram, highest_ns, middle_ns};
use prony_model::run_log::TrialResult;
use prony_model::server::ServerSamples;
use prony_model::trial::{SeriesPoint, Trial};
use prony_stats::order::Quantile;
use schemars::JsonSchema;
use serde::Serialize;

use crate::monitor::{MonitorSeries, machines};
use crate::numbers::real;
use crate::usage::{ClientSeries, CoreSeries, client_series, core_series, thousandths};

/// Points of a series: what 900 pixels can show as lines of their own.
const POINTS_MAX: usize = 240;
const COLUMNS_MAX: usize = 60;
/// Rows of a heat map in a decade: a factor of 1.21 each.
const ROWS_A_DECADE: f64 = 12.0;
/// Bars of the distribution in a decade: a factor of 1.10 each.
const BARS_A_DECADE: f64 = 24.0;
/// Samples beyond a curve's point. Fewer than a printed percentile's 100: the eye smooths, a figure is quoted.
const BEYOND_MIN: u64 = 10;
/// A series' 99th percentile needs 100 samples, as in the record.
const P99_SAMPLES_MIN: u64 = 100;

/// Where curves have points: even steps of log 1/(1 − q), eight a decade, from the minimum to p99.9999.
pub fn quantiles() -> Vec<f64> {
    (0..=48).map(|k| ((1.0 - 10_f64.powf(-f64::from(k) / 8.0)) * 1e6).round() / 1e6).collect()
}

/// What the plots of a trial show.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlotData {
    /// Response at each of [`quantiles`], as far as it is known.
    pub response_ns: Vec<u64>,
    /// Service, likewise.
    pub service_ns: Vec<u64>,
    /// Client delay, likewise; empty where the clock is the user's.
    pub client_delay_ns: Vec<u64>,
    /// Over time.
    pub series: Series,
    /// Response by time.
    pub heat: Heat,
    /// Response, counted by range.
    pub distribution: Distribution,
    /// What the server cost over time; empty where it was not the lab's.
    pub server: ServerSeries,
    /// What the client cost over time; empty where it was not sampled.
    pub client: ClientSeries,
    /// How busy the CPUs were over time; empty where they were not sampled.
    pub cores: CoreSeries,
    /// What the machines did over time, the server's first where it is another; empty where nobody looked.
    pub monitor: Vec<MonitorSeries>,
}

/// Seconds of the window, or groups of them; all columns have one length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Series {
    /// From the window's start to the group's.
    pub at_ns: Vec<u64>,
    /// Its length.
    pub length_ns: Vec<u64>,
    /// Completed requests per second.
    pub completed_per_s: Vec<f64>,
    /// Failed requests per second.
    pub failed_per_s: Vec<f64>,
    /// Connections open at its end.
    pub connections: Vec<u64>,
    /// Median response.
    pub p50_ns: Vec<Option<u64>>,
    /// 90th percentile.
    pub p90_ns: Vec<Option<u64>>,
    /// 99th percentile, given 100 samples.
    pub p99_ns: Vec<Option<u64>>,
    /// The longest.
    pub max_ns: Vec<Option<u64>>,
}

/// Counts by time and response. Row `k` holds responses from `10^(k/12)` to `10^((k+1)/12)` ns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Heat {
    /// Rows in a decade.
    pub rows_a_decade: f64,
    /// Each column's start.
    pub at_ns: Vec<u64>,
    /// Each column's length.
    pub length_ns: Vec<u64>,
    /// Of each cell that has a count: its column.
    pub column: Vec<u32>,
    /// Its row.
    pub row: Vec<i32>,
    /// Its requests.
    pub count: Vec<u64>,
}

/// Counts by response. Bar `k` holds responses from `10^(k/24)` to `10^((k+1)/24)` ns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Distribution {
    /// Bars in a decade.
    pub bars_a_decade: f64,
    /// Of each bar that has a count: its number.
    pub bar: Vec<i32>,
    /// Its requests.
    pub count: Vec<u64>,
}

/// What the server cost over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ServerSeries {
    /// From the window's start; the warm-up is negative.
    pub at_ns: Vec<i64>,
    /// Cores in use since the point before.
    pub cores: Vec<f64>,
    /// The most memory since the point before.
    pub memory_bytes: Vec<u64>,
    /// Instants of `pss_bytes`, which is read less often.
    pub pss_at_ns: Vec<i64>,
    /// The most memory by proportional shares since the point before; empty where it was not read.
    pub pss_bytes: Vec<u64>,
}

/// What the plots of a result's trial show; `None` where nothing was measured.
pub fn plot_data(result: &TrialResult) -> Option<PlotData> {
    let trial = result.trial.as_ref()?;
    let latency = &trial.latency;
    let (response_ns, service_ns) = latency_curves(trial);
    Some(PlotData {
        response_ns,
        service_ns,
        client_delay_ns: latency.client_delay.as_ref().map_or_else(Vec::new, |s| values(&s.hdr, 0)),
        series: series(trial),
        heat: heat(trial),
        distribution: distribution(&latency.response.hdr),
        server: result.server.as_ref().map(server_series).unwrap_or_default(),
        client: client_series(trial),
        cores: core_series(result, trial),
        monitor: machines(result, trial),
    })
}

/// Latency by percentile: response and service at each of [`quantiles`], as far as they are known.
pub fn latency_curves(trial: &Trial) -> (Vec<u64>, Vec<u64>) {
    let (requests, latency) = (&trial.requests, &trial.latency);
    let response = values(&latency.response.hdr, requests.failed + requests.never_sent);
    (response, values(&latency.service.hdr, requests.failed))
}

fn values(found: &SparseHistogram, above: u64) -> Vec<u64> {
    curve(found, above, quantiles()).map(|(_, value)| value).collect()
}

/// Values at rising quantiles of these and `above` more; it ends where one is not known or rests on too few.
pub(crate) fn curve(
    found: &SparseHistogram,
    above: u64,
    quantiles: impl IntoIterator<Item = f64>,
) -> impl Iterator<Item = (f64, u64)> {
    let answered = found.len();
    let n = answered + above;
    let mut buckets = found.buckets().peekable();
    let mut below = 0;
    quantiles.into_iter().map_while(move |q| {
        let quantile = Quantile::new(q).filter(|quantile| quantile.has_beyond(n, BEYOND_MIN))?;
        let rank = quantile.rank(n).filter(|rank| *rank <= answered)?;
        while let Some((_, count)) = buckets.next_if(|(_, count)| below + count < rank) {
            below += count;
        }
        buckets.peek().map(|(bucket, _)| (q, highest_ns(*bucket)))
    })
}

fn merged(points: &[SeriesPoint]) -> SparseHistogram {
    SparseHistogram::sum(points.iter().map(|point| &point.hdr))
}

/// A trial over time, in at most [`POINTS_MAX`] points.
pub fn series(trial: &Trial) -> Series {
    let mut out = Series::default();
    for group in trial.series.chunks(trial.series.len().div_ceil(POINTS_MAX).max(1)) {
        let length: u64 = group.iter().map(|p| p.length_ns).sum();
        let per_s = |count: u64| if length == 0 { 0.0 } else { real(count) * 1e9 / real(length) };
        let found = merged(group);
        let completed: u64 = group.iter().map(|p| p.completed).sum();
        let [first, ..] = group else { continue };
        out.at_ns.push(first.at_ns);
        out.length_ns.push(length);
        out.completed_per_s.push(per_s(completed));
        out.failed_per_s.push(per_s(group.iter().map(|p| p.failed).sum()));
        out.connections.push(group.last().map_or(0, |p| p.connections));
        let alone = group.len() == 1;
        let at = |q| (!found.is_empty()).then(|| found.value_at_quantile(q));
        out.p50_ns.push(if alone { first.p50_ns } else { at(0.5) });
        out.p90_ns.push(at(0.9));
        let p99 = if alone { first.p99_ns } else { at(0.99) };
        out.p99_ns.push(p99.filter(|_| completed >= P99_SAMPLES_MIN));
        out.max_ns.push(group.iter().filter_map(|p| p.max_ns).max());
    }
    out
}

fn range_of(ns: u64, a_decade: f64) -> i32 {
    (real(ns.max(1)).log10() * a_decade).floor() as i32
}

fn by_range(found: &SparseHistogram, a_decade: f64) -> Vec<(i32, u64)> {
    let mut out: Vec<(i32, u64)> = Vec::new();
    for (bucket, count) in found.buckets() {
        let range = range_of(middle_ns(bucket), a_decade);
        match out.last_mut() {
            Some((last, sum)) if *last == range => *sum += count,
            _ => out.push((range, count)),
        }
    }
    out
}

fn heat(trial: &Trial) -> Heat {
    let mut out = Heat { rows_a_decade: ROWS_A_DECADE, ..Heat::default() };
    let groups = trial.series.chunks(trial.series.len().div_ceil(COLUMNS_MAX).max(1));
    for (column, group) in (0..).zip(groups) {
        out.at_ns.push(group.first().map_or(0, |p| p.at_ns));
        out.length_ns.push(group.iter().map(|p| p.length_ns).sum());
        for (row, count) in by_range(&merged(group), ROWS_A_DECADE) {
            out.column.push(column);
            out.row.push(row);
            out.count.push(count);
        }
    }
    out
}

fn distribution(found: &SparseHistogram) -> Distribution {
    let (bar, count) = by_range(found, BARS_A_DECADE).into_iter().unzip();
    Distribution { bars_a_decade: BARS_A_DECADE, bar, count }
}

fn server_series(server: &ServerSamples) -> ServerSeries {
    let columns = &server.columns;
    let samples: Vec<(i64, u64, u64)> = columns
        .at_ns
        .iter()
        .zip(&columns.cpu_ns)
        .zip(&columns.rss_bytes)
        .map(|((at, cpu), rss)| (*at, *cpu, *rss))
        .collect();
    let mut out = ServerSeries::default();
    let shares: Vec<(i64, u64)> =
        columns.pss_at_ns.iter().copied().zip(columns.pss_bytes.iter().copied()).collect();
    for group in shares.chunks(shares.len().div_ceil(POINTS_MAX).max(1)) {
        let [.., last] = group else { continue };
        out.pss_at_ns.push(last.0);
        out.pss_bytes.push(group.iter().map(|s| s.1).max().unwrap_or(last.1));
    }
    let Some(mut before) = samples.first().copied() else { return out };
    let together = samples.len().div_ceil(POINTS_MAX);
    let whole = samples.last().map_or(0, |last| last.0.saturating_sub(before.0));
    let usual = whole / i64::try_from((samples.len() - 1).div_ceil(together).max(1)).unwrap_or(i64::MAX);
    let mut left_over = 0;
    for group in samples[1..].chunks(together) {
        let [.., last] = group else { continue };
        let time = last.0.saturating_sub(before.0);
        // The window's end is a sample, too, and may follow the one before at once: such a moment's CPU
        // time is a step of the clock or nothing, and goes to the next sample, if there is one.
        let peak = group.iter().map(|s| s.2).max().unwrap_or(last.2).max(left_over);
        if time <= usual / 4 {
            left_over = peak;
            continue;
        }
        left_over = 0;
        // A tree's CPU time can seem to fall when a process leaves between two readings.
        let cores = real(last.1.saturating_sub(before.1)) / real(time.unsigned_abs());
        out.at_ns.push(last.0);
        out.cores.push(thousandths(cores));
        out.memory_bytes.push(peak);
        before = *last;
    }
    out
}

#[cfg(test)]
#[path = "plot_data_tests.rs"]
mod tests;
