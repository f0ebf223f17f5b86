//! From runs to figures: one run's value, a tool's median over rounds, Prony's ratio to it.

use serde::Serialize;

use super::child::Cost;
use super::claims::Claim;
use crate::median::Estimate;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) scenario: &'static str,
    pub(super) subject: &'static str,
    pub(super) round: u32,
    /// Runs of one group in one round followed each other directly; ratios are within it.
    pub(super) group: u32,
    /// The command, without its program's folder.
    pub(super) line: String,
    /// Seconds that the load was to last.
    pub(super) seconds: u32,
    pub(super) cost: Cost,
    /// The server's account of this run.
    pub(super) served: Served,
    pub(super) claim: Claim,
    /// Whether it counts, and why not.
    pub(super) refused: Option<String>,
}

/// What the server did during a run: a difference of two accounts.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Served {
    pub(super) requests: u64,
    pub(super) bytes_written: u64,
    pub(super) connections: u64,
    /// Reads that brought something; `None` where the server does not count them.
    pub(super) reads: Option<u64>,
    /// From the read of a request to the write of its answer; `None` of the server that only counts.
    pub(super) p50_ns: Option<u64>,
    /// From the kernel's stamp of a request's arrival to the end of the write of its answer; `None` where the server has no
    /// such stamps.
    pub(super) residence_p50_ns: Option<u64>,
}

impl Run {
    /// The share of its CPU that the client used.
    pub(super) fn busy(&self) -> f64 {
        real(self.cpu_ns()) / real(self.cost.wall_ns.max(1))
    }

    fn cpu_ns(&self) -> u64 {
        self.cost.user_ns + self.cost.system_ns
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// Client CPU time over requests, in nanoseconds.
    CpuPerRequest,
    /// Requests over the seconds that were asked for.
    RequestsPerSecond,
    /// Requests over seconds of client CPU.
    RequestsPerCoreSecond,
    /// Bytes that the server wrote over seconds of client CPU.
    BytesPerCoreSecond,
    /// Of the client, in bytes.
    PeakMemory,
    /// As the server accepted them.
    Connections,
    /// Requests over the server's reads: how many a client writes at once.
    RequestsPerRead,
    /// As the tool reports it, in nanoseconds; Prony's is the response's.
    P50,
    /// As `P50`.
    P75,
    /// As `P50`.
    P90,
    ServiceP50,
    SendLagP50,
    TruthP50,
    /// The tool's p50 less the server's.
    ExcessP50,
    /// Prony's service p50 less the server's p50.
    ServiceExcessP50,
    /// The server's, from the kernel's stamp of the request's arrival to the end of the write: its waking is in it.
    ResidenceP50,
    /// Prony's service p50 less that.
    ServiceOverResidenceP50,
}

impl Figure {
    pub(super) fn head(self) -> &'static str {
        match self {
            Figure::CpuPerRequest => "CPU per request",
            Figure::RequestsPerSecond => "requests/s",
            Figure::RequestsPerCoreSecond => "requests per core-second",
            Figure::BytesPerCoreSecond => "bytes per core-second",
            Figure::PeakMemory => "peak memory",
            Figure::Connections => "connections",
            Figure::RequestsPerRead => "requests per read",
            Figure::P50 => "p50",
            Figure::P75 => "p75",
            Figure::P90 => "p90",
            Figure::ServiceP50 => "service p50",
            Figure::SendLagP50 => "send lag p50",
            Figure::TruthP50 => "server's p50",
            Figure::ExcessP50 => "p50 − server's",
            Figure::ServiceExcessP50 => "service p50 − server's",
            Figure::ResidenceP50 => "server's p50 with its waking",
            Figure::ServiceOverResidenceP50 => "service p50 − that",
        }
    }

    /// This figure of a run; `None` where the run has none.
    pub(super) fn of(self, run: &Run) -> Option<f64> {
        let (claim, served) = (&run.claim, &run.served);
        let cpu_s = real(run.cpu_ns()) / 1e9;
        let over_cpu = |count: u64| (cpu_s > 0.0).then(|| real(count) / cpu_s);
        let less_truth = |ns: Option<u64>| Some(real(ns?) - real(served.p50_ns?));
        match self {
            Figure::CpuPerRequest => {
                (served.requests > 0).then(|| real(run.cpu_ns()) / real(served.requests))
            }
            Figure::RequestsPerSecond => Some(real(served.requests) / f64::from(run.seconds)),
            Figure::RequestsPerCoreSecond => over_cpu(served.requests),
            Figure::BytesPerCoreSecond => over_cpu(served.bytes_written),
            Figure::PeakMemory => Some(real(run.cost.peak_rss_bytes)),
            Figure::Connections => Some(real(served.connections)),
            Figure::RequestsPerRead => {
                Some(real(served.requests) / real(served.reads.filter(|reads| *reads > 0)?))
            }
            Figure::P50 => claim.p50_ns.map(real),
            Figure::P75 => claim.p75_ns.map(real),
            Figure::P90 => claim.p90_ns.map(real),
            Figure::ServiceP50 => claim.service_p50_ns.map(real),
            Figure::SendLagP50 => claim.send_lag_p50_ns.map(real),
            Figure::TruthP50 => served.p50_ns.map(real),
            Figure::ExcessP50 => less_truth(claim.p50_ns),
            Figure::ServiceExcessP50 => less_truth(claim.service_p50_ns),
            Figure::ResidenceP50 => served.residence_p50_ns.map(real),
            Figure::ServiceOverResidenceP50 => {
                Some(real(claim.service_p50_ns?) - real(served.residence_p50_ns?))
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of runs of seconds, far below 2^53")]
fn real(count: u64) -> f64 {
    count as f64
}

/// A set of runs, asked for figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a>(pub(super) &'a [Run]);

impl<'a> Runs<'a> {
    /// The runs of a subject that count.
    pub(super) fn counted(self, scenario: &str, subject: &str) -> impl Iterator<Item = &'a Run> {
        self.0.iter().filter(move |r| r.scenario == scenario && r.subject == subject && r.refused.is_none())
    }

    /// The median of a subject's figure over the runs that count.
    pub(super) fn median(self, scenario: &str, subject: &str, figure: Figure) -> Option<Estimate> {
        Estimate::of(self.counted(scenario, subject).filter_map(|run| figure.of(run)).collect())
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
            let (above, below) = (ours.1.of(our)?, theirs.1.of(their)?);
            (below > 0.0).then(|| above / below)
        });
        Estimate::of(ratios.collect())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run of which only what is given is known.
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
        let cpu = Figure::CpuPerRequest;
        let ratio = Runs(&runs).ratio("closed", ("prony", cpu), ("wrk", cpu)).unwrap();
        assert_eq!((ratio.median, ratio.interval, ratio.n), (0.5, Some((0.5, 0.5)), 9));
    }

    #[test]
    fn a_run_without_requests_or_claims_has_no_figure() {
        let nothing = run("prony", 0, 1_000, 0);
        assert_eq!(Figure::CpuPerRequest.of(&nothing), None);
        assert_eq!(Figure::ExcessP50.of(&nothing), None);
        assert_eq!(Figure::RequestsPerCoreSecond.of(&run("prony", 0, 0, 5)), None);
    }

    #[test]
    fn differences_are_from_the_servers_own_median() {
        let mut open = run("prony", 0, 1, 1);
        open.served.p50_ns = Some(2_000);
        open.served.residence_p50_ns = Some(15_000);
        open.claim = Claim { p50_ns: Some(30_000), service_p50_ns: Some(12_000), ..Claim::default() };
        assert_eq!(Figure::ExcessP50.of(&open), Some(28_000.0));
        assert_eq!(Figure::ServiceExcessP50.of(&open), Some(10_000.0));
        // Below it too: what a client's kernel stamps is out before the server's write returns.
        assert_eq!(Figure::ServiceOverResidenceP50.of(&open), Some(-3_000.0));
        open.served.residence_p50_ns = None;
        assert_eq!(Figure::ServiceOverResidenceP50.of(&open), None);
    }
}
