//! The bars that Prony is held to, and whether it met them.

use serde::Serialize;

use super::figures::{Figure, Runs};
use crate::median::Estimate;

/// One bar: a figure, and what it has to be.
#[derive(Debug)]
pub(super) struct Bar {
    /// As the table says it.
    pub(super) figure: &'static str,
    pub(super) scenario: &'static str,
    /// Prony's way, and its figure.
    ours: (&'static str, Figure),
    /// The tool that it is over; `None`: the figure itself.
    over: Option<(&'static str, Figure)>,
    bound: Bound,
}

/// A bound in the figure's own unit (nanoseconds, bytes, …), or of a ratio.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// Either side of 0.
    Within(f64),
}

/// What became of a bar.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Reached {
    pub(super) figure: &'static str,
    pub(super) scenario: &'static str,
    /// `≤ 0.85 × wrk`.
    pub(super) bar: String,
    pub(super) reached: Option<Estimate>,
    /// Whether the median meets it; `None` where it was not measured.
    pub(super) met: Option<bool>,
    /// Whether the whole interval does.
    pub(super) surely: Option<bool>,
    /// Whether it is a ratio; else it is in the figure's own unit.
    pub(super) ratio: bool,
    #[serde(skip)]
    pub(super) unit: Figure,
}

const fn ratio(
    figure: &'static str,
    scenario: &'static str,
    ours: (&'static str, Figure),
    over: (&'static str, Figure),
    bound: Bound,
) -> Bar {
    Bar { figure, scenario, ours, over: Some(over), bound }
}

const fn itself(
    figure: &'static str,
    scenario: &'static str,
    ours: (&'static str, Figure),
    bound: Bound,
) -> Bar {
    Bar { figure, scenario, ours, over: None, bound }
}

const CPU: (&str, Figure) = ("prony", Figure::CpuPerRequest);
const PER_CORE: (&str, Figure) = ("prony", Figure::RequestsPerCoreSecond);
const BYTES: (&str, Figure) = ("prony", Figure::BytesPerCoreSecond);
const SERVICE: (&str, Figure) = ("prony", Figure::ServiceP50);
const SPIN_RESPONSE: (&str, Figure) = ("prony --spin", Figure::P50);

const READS: (&str, Figure) = ("prony", Figure::RequestsPerRead);
const MEMORY: (&str, Figure) = ("prony", Figure::PeakMemory);

const HTTP2_CPU: &str = "client CPU per request, HTTP/2";
const HTTP2_READS: &str = "requests per read of the server's";
const FLOOR: &str = "client CPU per request, closed, 100 connections";
const OPEN: &str = "service p50 against theirs";
const OPEN_SPIN: &str = "response p50 with --spin against theirs";
const TRUTH: &str = "service p50 against the server's own, its waking included";
const LAG: &str = "send lag p50";
const LAG_SPIN: &str = "send lag p50 with --spin";

use Bound::{AtLeast, AtMost, Within};

/// All bars. Kernel stamps are on in Prony as it comes; the floor takes none.
static BARS: &[Bar] = &[
    ratio(
        "the same without kernel stamps",
        "closed",
        ("prony --user-clock", Figure::CpuPerRequest),
        ("floor", Figure::CpuPerRequest),
        AtMost(1.10),
    ),
    ratio(FLOOR, "closed", CPU, ("floor", Figure::CpuPerRequest), AtMost(1.15)),
    ratio(FLOOR, "closed", CPU, ("wrk", Figure::CpuPerRequest), AtMost(0.85)),
    ratio(
        "requests per core-second, pipelined by 16",
        "pipelined",
        PER_CORE,
        ("wrk", Figure::RequestsPerCoreSecond),
        AtLeast(1.35),
    ),
    ratio(
        "bytes per core-second, 1 MiB bodies",
        "body-1m",
        BYTES,
        ("wrk", Figure::BytesPerCoreSecond),
        AtLeast(4.5),
    ),
    ratio(
        "bytes per core-second, 64 KiB bodies",
        "body-64k",
        BYTES,
        ("wrk", Figure::BytesPerCoreSecond),
        AtLeast(1.3),
    ),
    itself("peak memory at 8,000 connections", "memory-8000", ("prony", Figure::PeakMemory), AtMost(24e6)),
    itself(TRUTH, "open-1k", ("prony", Figure::ServiceOverResidenceP50), Within(15_000.0)),
    itself(TRUTH, "open-10k", ("prony", Figure::ServiceOverResidenceP50), Within(15_000.0)),
    ratio(OPEN, "open-1k", SERVICE, ("oha", Figure::P50), AtMost(0.7)),
    ratio(OPEN, "open-1k", SERVICE, ("zrk", Figure::P50), AtMost(0.7)),
    ratio(OPEN, "open-10k", SERVICE, ("oha", Figure::P50), AtMost(0.7)),
    ratio(OPEN, "open-10k", SERVICE, ("zrk", Figure::P50), AtMost(0.7)),
    ratio(OPEN_SPIN, "open-1k", SPIN_RESPONSE, ("oha", Figure::P50), AtMost(0.65)),
    ratio(OPEN_SPIN, "open-1k", SPIN_RESPONSE, ("zrk", Figure::P50), AtMost(0.65)),
    ratio(OPEN_SPIN, "open-10k", SPIN_RESPONSE, ("oha", Figure::P50), AtMost(0.65)),
    ratio(OPEN_SPIN, "open-10k", SPIN_RESPONSE, ("zrk", Figure::P50), AtMost(0.65)),
    itself(LAG, "open-1k", ("prony", Figure::SendLagP50), AtMost(60_000.0)),
    itself(LAG, "open-10k", ("prony", Figure::SendLagP50), AtMost(60_000.0)),
    itself(LAG_SPIN, "open-1k", ("prony --spin", Figure::SendLagP50), AtMost(1_000.0)),
    itself(LAG_SPIN, "open-10k", ("prony --spin", Figure::SendLagP50), AtMost(1_000.0)),
    ratio("client CPU per request, TLS 1.3", "tls", CPU, ("wrk", Figure::CpuPerRequest), AtMost(1.0)),
    ratio(
        "client CPU per request, connect-request-close",
        "close",
        CPU,
        ("wrk", Figure::CpuPerRequest),
        AtMost(1.0),
    ),
    ratio(HTTP2_CPU, "h2c-streams", CPU, ("h2load", Figure::CpuPerRequest), AtMost(0.50)),
    ratio(HTTP2_CPU, "h2c-streams", CPU, ("oha", Figure::CpuPerRequest), AtMost(0.20)),
    ratio(HTTP2_CPU, "h2c-streams", CPU, ("floor", Figure::CpuPerRequest), AtMost(1.35)),
    ratio(HTTP2_CPU, "h2c-streams", CPU, ("floor measuring", Figure::CpuPerRequest), AtMost(1.35)),
    ratio(HTTP2_READS, "h2c-streams", READS, ("h2load", Figure::RequestsPerRead), AtLeast(0.90)),
    ratio(HTTP2_READS, "h2c-streams", READS, ("h2load", Figure::RequestsPerRead), AtMost(1.10)),
    ratio(HTTP2_CPU, "h2c-connections", CPU, ("h2load", Figure::CpuPerRequest), AtMost(0.80)),
    ratio(HTTP2_CPU, "h2-tls", CPU, ("h2load", Figure::CpuPerRequest), AtMost(0.70)),
    ratio(
        "bytes per core-second, HTTP/2, 64 KiB bodies",
        "h2c-body-64k",
        BYTES,
        ("h2load", Figure::BytesPerCoreSecond),
        AtLeast(1.3),
    ),
    // A client that only copies and counts bytes: what is left is the kernel's.
    ratio(
        "bytes per core-second, HTTP/2, 64 KiB bodies",
        "h2c-body-64k",
        BYTES,
        ("floor", Figure::BytesPerCoreSecond),
        AtLeast(0.9),
    ),
    ratio(
        "peak memory, HTTP/2, 1,000 connections of 32 streams",
        "h2c-memory",
        MEMORY,
        ("h2load", Figure::PeakMemory),
        AtMost(0.8),
    ),
    itself(TRUTH, "h2c-open-10k", ("prony", Figure::ServiceOverResidenceP50), Within(15_000.0)),
];

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            AtMost(bound) => value <= bound,
            AtLeast(bound) => value >= bound,
            Within(bound) => value.abs() <= bound,
        }
    }
}

/// Every bar of the scenarios that were asked for.
pub(super) fn reached(runs: Runs<'_>, scenarios: &[&str]) -> Vec<Reached> {
    BARS.iter().filter(|bar| scenarios.contains(&bar.scenario)).map(|bar| bar.reached(runs)).collect()
}

impl Bar {
    fn reached(&self, runs: Runs<'_>) -> Reached {
        let reached = match self.over {
            Some(theirs) => runs.ratio(self.scenario, self.ours, theirs),
            None => runs.median(self.scenario, self.ours.0, self.ours.1),
        };
        let interval_holds = |e: &Estimate| {
            let (low, high) = e.interval?;
            Some(self.bound.holds(low) && self.bound.holds(high))
        };
        Reached {
            figure: self.figure,
            scenario: self.scenario,
            bar: self.words(),
            met: reached.map(|e| self.bound.holds(e.median)),
            surely: reached.as_ref().and_then(interval_holds),
            reached,
            ratio: self.over.is_some(),
            unit: self.ours.1,
        }
    }

    fn words(&self) -> String {
        let (sign, bound) = match self.bound {
            AtMost(bound) => ("≤", bound),
            AtLeast(bound) => ("≥", bound),
            Within(bound) => ("±", bound),
        };
        match self.over {
            Some((theirs, _)) => format!("{sign} {bound:.2} × {theirs}"),
            None => format!("{sign} {}", super::table::quantity(self.ours.1, bound)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::tests::run;
    use crate::peers::scenarios::SCENARIOS;

    #[test]
    fn every_bar_is_of_subjects_that_its_scenario_has() {
        for bar in BARS {
            let scenario = SCENARIOS.iter().find(|s| s.name == bar.scenario).expect(bar.scenario);
            assert!(scenario.ours.iter().any(|s| s.label == bar.ours.0), "{bar:?}");
            if let Some((theirs, _)) = bar.over {
                assert!(scenario.near.iter().any(|s| s.label == theirs), "{bar:?}");
            }
        }
    }

    #[test]
    fn a_limit_is_met_missed_or_not_measured() {
        let mut runs = Vec::new();
        for round in 0..9 {
            runs.push(run("prony --user-clock", round, 1_080, 1));
            runs.push(run("floor", round, 1_000, 1));
        }
        let said = reached(Runs(&runs), &["closed"]);
        let of = |bar: &str| said.iter().find(|r| r.bar == bar).unwrap();
        assert_eq!((of("≤ 1.10 × floor").met, of("≤ 1.10 × floor").surely), (Some(true), Some(true)));
        assert_eq!(of("≤ 0.85 × wrk").met, None);
        let slow: Vec<_> = runs.iter().map(|r| run(r.subject, r.round, 1_200, 1)).collect();
        assert_eq!(reached(Runs(&slow[..2]), &["closed"])[0].met, Some(true), "equal is 1.00");
    }
}
