//! What CPUs and the client did over a trial's time, as shares of spans: a missing sample leaves the others true.

use prony_model::run_log::TrialResult;
use prony_model::trial::Trial;
use schemars::JsonSchema;
use serde::Serialize;

use crate::numbers::real;

/// Points of a series: what 900 pixels can show as lines of their own.
const POINTS_MAX: i64 = 240;
/// The client's samples are as exact as its clock: a span of two of them, at ten a second, is enough.
const CLIENT_SPAN_MIN_NS: i64 = 150_000_000;
/// The kernel counts a CPU's time in steps of 10 ms: over a quarter of a second that is 4 %.
const CORE_SPAN_MIN_NS: i64 = 250_000_000;
/// A load of fewer spans than these is cut into shorter ones.
const SPANS_MIN: i64 = 4;

/// What the client cost over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ClientSeries {
    /// The end of each span, from the window's start; the warm-up is negative.
    pub at_ns: Vec<i64>,
    /// Cores that the whole process used in it.
    pub cores: Vec<f64>,
    /// The share of it that its busiest worker ran, 0 to 1.
    pub busiest_worker: Vec<f64>,
    /// The most memory in it.
    pub memory_bytes: Vec<u64>,
}

/// How busy the used CPUs were over time, whoever used them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct CoreSeries {
    /// The end of each span, from the window's start; the warm-up is negative.
    pub at_ns: Vec<i64>,
    /// One CPU each.
    pub cpus: Vec<CoreLine>,
}

/// One CPU over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CoreLine {
    /// Its number.
    pub cpu: u32,
    /// Whose it is by pinning: `server`, `client`, `both`, or nothing.
    pub of: &'static str,
    /// The share of each span that it was busy, 0 to 1.
    pub busy: Vec<f64>,
}

/// The client's series; empty where it was not sampled.
pub(crate) fn client_series(trial: &Trial) -> ClientSeries {
    let mut out = ClientSeries::default();
    let Some(columns) = &trial.client.columns else { return out };
    for span in spans(&columns.at_ns, CLIENT_SPAN_MIN_NS) {
        let workers = columns.worker_cpu_ns.iter().map(|column| span.share_of(column));
        out.at_ns.push(span.end_ns);
        out.cores.push(thousandths(span.share_of(&columns.process_cpu_ns)));
        out.busiest_worker.push(thousandths(workers.fold(0.0, f64::max).min(1.0)));
        let within = columns.rss_bytes.get(span.from + 1..=span.to).unwrap_or_default();
        out.memory_bytes.push(within.iter().copied().max().unwrap_or(0));
    }
    out
}

/// The CPUs' series, of the server's samples where they have them, else of the client's.
pub(crate) fn core_series(result: &TrialResult, trial: &Trial) -> CoreSeries {
    let server = result.server.as_ref();
    let by_server = server.map(|s| (&s.columns.at_ns, &s.columns.cores, &s.columns.core_busy_ns));
    let by_client = trial.client.columns.as_ref().map(|c| (&c.at_ns, &c.cores, &c.core_busy_ns));
    let known = [by_server, by_client].into_iter().flatten().find(|(_, cores, _)| !cores.is_empty());
    let Some((at_ns, cores, busy_ns)) = known else { return CoreSeries::default() };
    let spans: Vec<Span> = spans(at_ns, CORE_SPAN_MIN_NS).collect();
    let servers = server.map(|s| s.cpus.as_slice()).unwrap_or_default();
    let is_elsewhere = server.is_some_and(|s| s.host.is_some());
    let of = |cpu: u32| {
        // A CPU of this number is another one on another machine.
        let client = trial.plan.cpus.contains(&cpu) && !is_elsewhere;
        match (servers.contains(&cpu), client) {
            (true, true) => "both",
            (true, false) => "server",
            (false, true) => "client",
            (false, false) => "",
        }
    };
    // A CPU cannot be busier than all the time: more than that is a step of the kernel's count.
    let busy = |column: &Vec<u64>| spans.iter().map(|s| thousandths(s.share_of(column).min(1.0))).collect();
    CoreSeries {
        at_ns: spans.iter().map(|span| span.end_ns).collect(),
        cpus: cores
            .iter()
            .zip(busy_ns)
            .map(|(cpu, column)| CoreLine { cpu: *cpu, of: of(*cpu), busy: busy(column) })
            .collect(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    from: usize,
    to: usize,
    end_ns: i64,
    length_ns: i64,
}

impl Span {
    /// A counter's growth in nanoseconds over the span; 0 where the column is too short or the counter ran back.
    fn share_of(&self, column: &[u64]) -> f64 {
        let (Some(before), Some(after)) = (column.get(self.from), column.get(self.to)) else { return 0.0 };
        real(after.saturating_sub(*before)) / real(self.length_ns.unsigned_abs())
    }
}

/// The samples in spans of at least that length, at most [`POINTS_MAX`]; what is left at the end is left out.
fn spans(at_ns: &[i64], least_ns: i64) -> impl Iterator<Item = Span> {
    let whole = match at_ns {
        [first, .., last] => last.saturating_sub(*first).max(0),
        _ => 0,
    };
    let least_ns = least_ns.min(whole / SPANS_MIN).max(whole / POINTS_MAX + 1);
    let mut from = 0;
    (1..at_ns.len()).filter_map(move |to| {
        let length_ns = at_ns[to].saturating_sub(at_ns[from]);
        if length_ns < least_ns {
            return None;
        }
        let span = Span { from, to, end_ns: at_ns[to], length_ns };
        from = to;
        Some(span)
    })
}

/// A thousandth is less than a pixel.
pub(crate) fn thousandths(share: f64) -> f64 {
    (share * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run::Log;
    use prony_model::client::ClientColumns;
    use prony_model::server::SampleColumns;

    const MS: i64 = 1_000_000;

    /// A load of ten seconds, sampled ten times a second: worker 0 runs all the time, worker 1 half of it.
    fn result() -> TrialResult {
        let mut log = Log::new(&["a"], 1).with(&[&[1_000]]).0;
        let mut result = log.results.remove(0);
        let trial = result.trial.as_mut().unwrap();
        trial.plan.cpus = vec![0];
        let at = |i: i64| (i - 10) * 100 * MS;
        let grows = |share: f64| (0..110).map(|i| (f64::from(i) * share * 1e8) as u64).collect::<Vec<u64>>();
        trial.client.columns = Some(ClientColumns {
            at_ns: (0..110).map(at).collect(),
            process_cpu_ns: grows(1.6),
            worker_cpu_ns: vec![grows(1.0), grows(0.5)],
            rss_bytes: (0..110).map(|i| if i == 50 { 9 } else { 5 }).collect(),
            cores: vec![0, 1],
            core_busy_ns: vec![grows(1.0), grows(0.25)],
        });
        result
    }

    #[test]
    fn a_steady_client_has_the_same_cores_in_every_span() {
        let result = result();
        let series = client_series(result.trial.as_ref().unwrap());
        assert!(series.at_ns.len() > 40 && series.at_ns[0] < 0, "{}", series.at_ns.len());
        assert!(series.cores.iter().all(|c| *c == 1.6), "{:?}", series.cores);
        assert!(series.busiest_worker.iter().all(|b| *b == 1.0), "{:?}", series.busiest_worker);
        assert_eq!(series.memory_bytes.iter().filter(|m| **m == 9).count(), 1, "a peak is in its span");
    }

    #[test]
    fn each_cpu_has_a_series_and_is_the_servers_or_the_clients() {
        let mut result = result();
        let trial = result.trial.clone().unwrap();
        result.server = None;
        let series = core_series(&result, &trial);
        let lines: Vec<(u32, &str, f64)> = series.cpus.iter().map(|c| (c.cpu, c.of, c.busy[3])).collect();
        assert_eq!(lines, [(0, "client", 1.0), (1, "", 0.25)]);
        // Of a server's samples, where they have CPUs.
        let mut server = self::result().server.unwrap();
        server.cpus = vec![1];
        server.columns = SampleColumns {
            at_ns: (0..20).map(|i| i * 100 * MS).collect(),
            cores: vec![1],
            core_busy_ns: vec![(0..20).map(|i| i * 90_000_000).collect()],
            ..SampleColumns::default()
        };
        result.server = Some(server);
        let series = core_series(&result, &trial);
        assert_eq!((series.cpus.len(), series.cpus[0].of), (1, "server"));
        assert!(series.cpus[0].busy.iter().all(|b| (*b - 0.9).abs() < 1e-9), "{:?}", series.cpus[0].busy);
    }

    #[test]
    fn loads_have_at_most_240_spans_and_unordered_samples_none() {
        let long: Vec<i64> = (0..100_000).map(|i| i * 100 * MS).collect();
        let n = spans(&long, CORE_SPAN_MIN_NS).count() as i64;
        assert!(n <= POINTS_MAX && n > POINTS_MAX / 2, "{n}");
        let short: Vec<i64> = (0..6).map(|i| i * 100 * MS).collect();
        assert!(spans(&short, CORE_SPAN_MIN_NS).count() >= 2);
        assert_eq!(spans(&[], 1).count() + spans(&[5], 1).count() + spans(&[9, 3, 1], 1).count(), 0);
        assert!(spans(&[i64::MIN, i64::MAX, i64::MIN], 1).count() <= 2);
        let wrong = Span { from: 0, to: 9, end_ns: 1, length_ns: 1 };
        assert_eq!(wrong.share_of(&[1, 2]), 0.0, "a column that is too short");
    }

    #[test]
    fn a_log_without_samples_has_empty_series() {
        let mut result = result();
        result.trial.as_mut().unwrap().client.columns = None;
        result.server = None;
        let trial = result.trial.clone().unwrap();
        assert_eq!(client_series(&trial), ClientSeries::default());
        assert_eq!(core_series(&result, &trial), CoreSeries::default());
    }
}
