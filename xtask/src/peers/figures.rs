//! From runs to figures: one run's value, a tool's median over rounds, Prony's ratio to it.

use serde::Serialize;

use super::child::Cost;
use super::claims::Claim;
use crate::median::{Estimate, real};

#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) scenario: &'static str,
    pub(super) subject: &'static str,
    pub(super) round: u32,
    /// Runs of one group in one round followed each other directly; ratios are within it.
    pub(super) group: u32,
    /// The command, without its program's folder.
    pub(super) line: String,
    pub(super) seconds: u32,
    pub(super) cost: Cost,
    pub(super) served: Served,
    pub(super) claim: Claim,
    /// Whether it counts, and why not.
    pub(super) refused: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Served {
    pub(super) requests: u64,
    pub(super) bytes_written: u64,
    pub(super) connections: u64,
    /// Reads that brought something; `None` where the server does not count them.
    pub(super) reads: Option<u64>,
    /// From the read of a request to the write of its answer; `None` of the server that only counts.
    pub(super) p50_ns: Option<u64>,
    /// From the kernel's stamp of a request's arrival to the end of its answer's write; `None` without stamps.
    pub(super) residence_p50_ns: Option<u64>,
}

impl Run {
    pub(super) fn busy(&self) -> f64 {
        real(self.cpu_ns()) / real(self.cost.wall_ns.max(1))
    }

    fn cpu_ns(&self) -> u64 {
        self.cost.user_ns + self.cost.system_ns
    }

    fn over_cpu(&self, count: u64) -> Option<f64> {
        (self.cpu_ns() > 0).then(|| real(count) / (real(self.cpu_ns()) / 1e9))
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Figure {
    pub(super) head: &'static str,
    pub(super) shown: fn(f64) -> String,
    pub(super) of: fn(&Run) -> Option<f64>,
}

const fn figure(head: &'static str, shown: fn(f64) -> String, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { head, shown, of }
}

impl Figure {
    pub(super) const CPU_PER_REQUEST: Figure = figure("CPU per request", micros, |run| {
        (run.served.requests > 0).then(|| real(run.cpu_ns()) / real(run.served.requests))
    });
    pub(super) const REQUESTS_PER_SECOND: Figure =
        figure("requests/s", thousands, |run| Some(real(run.served.requests) / f64::from(run.seconds)));
    pub(super) const REQUESTS_PER_CORE_SECOND: Figure =
        figure("requests per core-second", thousands, |run| run.over_cpu(run.served.requests));
    /// Bytes that the server wrote over seconds of client CPU.
    pub(super) const BYTES_PER_CORE_SECOND: Figure = figure(
        "bytes per core-second",
        |value| format!("{:.2} GB", value / 1e9),
        |run| run.over_cpu(run.served.bytes_written),
    );
    pub(super) const PEAK_MEMORY: Figure = figure(
        "peak memory",
        |value| format!("{:.1} MB", value / 1e6),
        |run| Some(real(run.cost.peak_rss_bytes)),
    );
    pub(super) const CONNECTIONS: Figure =
        figure("connections", |value| format!("{value:.0}"), |run| Some(real(run.served.connections)));
    /// Requests over the server's reads: how many a client writes at once.
    pub(super) const REQUESTS_PER_READ: Figure = figure(
        "requests per read",
        |value| format!("{value:.1}"),
        |run| Some(real(run.served.requests) / real(run.served.reads.filter(|reads| *reads > 0)?)),
    );
    /// As the tool reports it; Prony's is the response's. So are the next two.
    pub(super) const P50: Figure = figure("p50", time, |run| run.claim.p50_ns.map(real));
    pub(super) const P75: Figure = figure("p75", time, |run| run.claim.p75_ns.map(real));
    pub(super) const P90: Figure = figure("p90", time, |run| run.claim.p90_ns.map(real));
    pub(super) const SERVICE_P50: Figure =
        figure("service p50", time, |run| run.claim.service_p50_ns.map(real));
    pub(super) const SEND_LAG_P50: Figure =
        figure("send lag p50", time, |run| run.claim.send_lag_p50_ns.map(real));
    pub(super) const TRUTH_P50: Figure = figure("server's p50", time, |run| run.served.p50_ns.map(real));
    pub(super) const EXCESS_P50: Figure =
        figure("p50 − server's", time, |run| less(run.claim.p50_ns, run.served.p50_ns));
    pub(super) const SERVICE_EXCESS_P50: Figure =
        figure("service p50 − server's", time, |run| less(run.claim.service_p50_ns, run.served.p50_ns));
    /// The server's, from the kernel's stamp of the request's arrival to the end of the write: its waking is in it.
    pub(super) const RESIDENCE_P50: Figure =
        figure("server's p50 with its waking", time, |run| run.served.residence_p50_ns.map(real));
    pub(super) const SERVICE_OVER_RESIDENCE_P50: Figure = figure("service p50 − that", time, |run| {
        less(run.claim.service_p50_ns, run.served.residence_p50_ns)
    });
}

fn less(ns: Option<u64>, of_server_ns: Option<u64>) -> Option<f64> {
    Some(real(ns?) - real(of_server_ns?))
}

fn micros(ns: f64) -> String {
    format!("{:.2} µs", ns / 1e3)
}

fn thousands(value: f64) -> String {
    format!("{:.1}k", value / 1e3)
}

fn time(ns: f64) -> String {
    if ns.abs() < 1e6 { format!("{:.1} µs", ns / 1e3) } else { format!("{:.2} ms", ns / 1e6) }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a>(pub(super) &'a [Run]);

impl<'a> Runs<'a> {
    pub(super) fn counted(self, scenario: &str, subject: &str) -> impl Iterator<Item = &'a Run> {
        self.0.iter().filter(move |r| r.scenario == scenario && r.subject == subject && r.refused.is_none())
    }

    pub(super) fn median(self, scenario: &str, subject: &str, figure: Figure) -> Option<Estimate> {
        Estimate::of(self.counted(scenario, subject).filter_map(figure.of).collect())
    }

    /// The median over rounds of one subject's figure over another's, each ratio of runs that followed each other.
    pub(super) fn ratio(
        self,
        scenario: &str,
        ours: (&str, Figure),
        theirs: (&str, Figure),
    ) -> Option<Estimate> {
        let ratios = self.counted(scenario, theirs.0).filter_map(|their| {
            let beside = |our: &&Run| (our.round, our.group) == (their.round, their.group);
            let our = self.counted(scenario, ours.0).find(beside)?;
            let (above, below) = ((ours.1.of)(our)?, (theirs.1.of)(their)?);
            (below > 0.0).then(|| above / below)
        });
        Estimate::of(ratios.collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn run(subject: &'static str, round: u32, cpu_ns: u64, requests: u64) -> Run {
        Run {
            scenario: "closed",
            subject,
            round,
            group: 0,
            line: String::new(),
            seconds: 2,
            cost: Cost { user_ns: cpu_ns, wall_ns: 2_000_000_000, ..Cost::default() },
            served: Served { requests, ..Served::default() },
            claim: Claim::default(),
            refused: None,
        }
    }

    #[test]
    fn ratios_are_of_neighbours_and_of_runs_that_count() {
        // Each round is twice as slow for both as the one before: the ratio stays 1/2.
        let mut runs = Vec::new();
        for round in 0..9 {
            let slow = 1 << round;
            runs.push(run("prony", round, 1_000 * slow, 1));
            runs.push(run("wrk", round, 2_000 * slow, 1));
        }
        // A round without a count, which would be the worst of all.
        runs.push(Run { refused: Some("idle".to_owned()), ..run("wrk", 9, 1, 1) });
        runs.push(run("prony", 9, 1_000_000, 1));
        let cpu = Figure::CPU_PER_REQUEST;
        let ratio = Runs(&runs).ratio("closed", ("prony", cpu), ("wrk", cpu)).unwrap();
        assert_eq!((ratio.median, ratio.interval, ratio.n), (0.5, Some((0.5, 0.5)), 9));
    }

    #[test]
    fn a_run_without_requests_or_claims_has_no_figure() {
        let nothing = run("prony", 0, 1_000, 0);
        assert_eq!((Figure::CPU_PER_REQUEST.of)(&nothing), None);
        assert_eq!((Figure::EXCESS_P50.of)(&nothing), None);
        assert_eq!((Figure::REQUESTS_PER_CORE_SECOND.of)(&run("prony", 0, 0, 5)), None);
    }

    #[test]
    fn differences_are_from_the_servers_own_median() {
        let mut open = run("prony", 0, 1, 1);
        open.served.p50_ns = Some(2_000);
        open.served.residence_p50_ns = Some(15_000);
        open.claim = Claim { p50_ns: Some(30_000), service_p50_ns: Some(12_000), ..Claim::default() };
        assert_eq!((Figure::EXCESS_P50.of)(&open), Some(28_000.0));
        assert_eq!((Figure::SERVICE_EXCESS_P50.of)(&open), Some(10_000.0));
        // Below it too: what a client's kernel stamps is out before the server's write returns.
        assert_eq!((Figure::SERVICE_OVER_RESIDENCE_P50.of)(&open), Some(-3_000.0));
        open.served.residence_p50_ns = None;
        assert_eq!((Figure::SERVICE_OVER_RESIDENCE_P50.of)(&open), None);
    }
}
