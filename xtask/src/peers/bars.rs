//! The bars that Prony is held to, and whether it met them.

use serde::Serialize;

use super::figures::{Figure, Runs};
use crate::median::Estimate;

/// A figure, and what it has to be, in each of some scenarios and over each of some tools.
#[derive(Debug)]
pub(super) struct Bar {
    figure: &'static str,
    scenarios: &'static [&'static str],
    ours: (&'static str, Figure),
    /// The tools that it is over, and theirs; none: the figure itself.
    over: Option<(&'static [&'static str], Figure)>,
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
    pub(super) ratio: bool,
    #[serde(skip)]
    pub(super) unit: Figure,
}

const fn bar(
    figure: &'static str,
    scenarios: &'static [&'static str],
    ours: (&'static str, Figure),
    over: Option<(&'static [&'static str], Figure)>,
    bound: Bound,
) -> Bar {
    Bar { figure, scenarios, ours, over, bound }
}

const fn prony(figure: Figure) -> (&'static str, Figure) {
    ("prony", figure)
}

const fn spin(figure: Figure) -> (&'static str, Figure) {
    ("prony --spin", figure)
}

use Bound::{AtLeast, AtMost, Within};

const CPU: Figure = Figure::CPU_PER_REQUEST;
const USER_CLOCK: (&str, Figure) = ("prony --user-clock", CPU);
const PER_CORE: Figure = Figure::REQUESTS_PER_CORE_SECOND;
const BYTES: Figure = Figure::BYTES_PER_CORE_SECOND;
const READS: Figure = Figure::REQUESTS_PER_READ;
const MEMORY: Figure = Figure::PEAK_MEMORY;
const P50: Figure = Figure::P50;
const SERVICE: Figure = Figure::SERVICE_P50;
const OVER_RESIDENCE: Figure = Figure::SERVICE_OVER_RESIDENCE_P50;
const LAG: Figure = Figure::SEND_LAG_P50;

const OPEN: &[&str] = &["open-1k", "open-10k"];
const WRK: &[&str] = &["wrk"];
const H2LOAD: &[&str] = &["h2load"];
const HTTP2_CPU: &str = "client CPU per request, HTTP/2";
const HTTP2_READS: &str = "requests per read of the server's";
const HTTP2_BYTES: &str = "bytes per core-second, HTTP/2, 64 KiB bodies";
const FLOOR: &str = "client CPU per request, closed, 100 connections";
const TRUTH: &str = "service p50 against the server's own, its waking included";

/// Kernel stamps are on in Prony as it comes; the floor takes none.
#[rustfmt::skip]
static BARS: &[Bar] = &[
    bar("the same without kernel stamps", &["closed"], USER_CLOCK, Some((&["floor"], CPU)), AtMost(1.10)),
    bar(FLOOR, &["closed"], prony(CPU), Some((&["floor"], CPU)), AtMost(1.15)),
    bar(FLOOR, &["closed"], prony(CPU), Some((WRK, CPU)), AtMost(0.85)),
    bar("requests per core-second, pipelined by 16", &["pipelined"], prony(PER_CORE), Some((WRK, PER_CORE)), AtLeast(1.35)),
    bar("bytes per core-second, 1 MiB bodies", &["body-1m"], prony(BYTES), Some((WRK, BYTES)), AtLeast(4.5)),
    bar("bytes per core-second, 64 KiB bodies", &["body-64k"], prony(BYTES), Some((WRK, BYTES)), AtLeast(1.3)),
    bar("peak memory at 8,000 connections", &["memory-8000"], prony(MEMORY), None, AtMost(24e6)),
    bar(TRUTH, OPEN, prony(OVER_RESIDENCE), None, Within(15_000.0)),
    bar("service p50 against theirs", OPEN, prony(SERVICE), Some((&["oha", "zrk"], P50)), AtMost(0.7)),
    bar("response p50 with --spin against theirs", OPEN, spin(P50), Some((&["oha", "zrk"], P50)), AtMost(0.65)),
    bar("send lag p50", OPEN, prony(LAG), None, AtMost(60_000.0)),
    bar("send lag p50 with --spin", OPEN, spin(LAG), None, AtMost(1_000.0)),
    bar("client CPU per request, TLS 1.3", &["tls"], prony(CPU), Some((WRK, CPU)), AtMost(1.0)),
    bar("client CPU per request, connect-request-close", &["close"], prony(CPU), Some((WRK, CPU)), AtMost(1.0)),
    bar(HTTP2_CPU, &["h2c-streams"], prony(CPU), Some((H2LOAD, CPU)), AtMost(0.50)),
    bar(HTTP2_CPU, &["h2c-streams"], prony(CPU), Some((&["oha"], CPU)), AtMost(0.20)),
    bar(HTTP2_CPU, &["h2c-streams"], prony(CPU), Some((&["floor", "floor measuring"], CPU)), AtMost(1.35)),
    bar(HTTP2_READS, &["h2c-streams"], prony(READS), Some((H2LOAD, READS)), AtLeast(0.90)),
    bar(HTTP2_READS, &["h2c-streams"], prony(READS), Some((H2LOAD, READS)), AtMost(1.10)),
    bar(HTTP2_CPU, &["h2c-connections"], prony(CPU), Some((H2LOAD, CPU)), AtMost(0.80)),
    bar(HTTP2_CPU, &["h2-tls"], prony(CPU), Some((H2LOAD, CPU)), AtMost(0.70)),
    bar(HTTP2_BYTES, &["h2c-body-64k"], prony(BYTES), Some((H2LOAD, BYTES)), AtLeast(1.3)),
    // A client that only copies and counts bytes: what is left is the kernel's.
    bar(HTTP2_BYTES, &["h2c-body-64k"], prony(BYTES), Some((&["floor"], BYTES)), AtLeast(0.9)),
    bar("peak memory, HTTP/2, 1,000 connections of 32 streams", &["h2c-memory"], prony(MEMORY), Some((H2LOAD, MEMORY)), AtMost(0.8)),
    bar(TRUTH, &["h2c-open-10k"], prony(OVER_RESIDENCE), None, Within(15_000.0)),
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

pub(super) fn reached(runs: Runs<'_>, scenarios: &[&str]) -> Vec<Reached> {
    let mut all = Vec::new();
    for bar in BARS {
        for scenario in bar.scenarios.iter().filter(|scenario| scenarios.contains(scenario)) {
            match bar.over {
                Some((tools, theirs)) => {
                    all.extend(tools.iter().map(|tool| bar.reached(runs, scenario, Some((*tool, theirs)))));
                }
                None => all.push(bar.reached(runs, scenario, None)),
            }
        }
    }
    all
}

impl Bar {
    fn reached(
        &self,
        runs: Runs<'_>,
        scenario: &'static str,
        over: Option<(&'static str, Figure)>,
    ) -> Reached {
        let reached = match over {
            Some(theirs) => runs.ratio(scenario, self.ours, theirs),
            None => runs.median(scenario, self.ours.0, self.ours.1),
        };
        let interval_holds = |e: &Estimate| {
            let (low, high) = e.interval?;
            Some(self.bound.holds(low) && self.bound.holds(high))
        };
        let (sign, bound) = match self.bound {
            AtMost(bound) => ("≤", bound),
            AtLeast(bound) => ("≥", bound),
            Within(bound) => ("±", bound),
        };
        Reached {
            figure: self.figure,
            scenario,
            bar: match over {
                Some((tool, _)) => format!("{sign} {bound:.2} × {tool}"),
                None => format!("{sign} {}", (self.ours.1.shown)(bound)),
            },
            met: reached.map(|e| self.bound.holds(e.median)),
            surely: reached.as_ref().and_then(interval_holds),
            reached,
            ratio: over.is_some(),
            unit: self.ours.1,
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
            for scenario in bar.scenarios {
                let scenario = SCENARIOS.iter().find(|s| s.name == *scenario).expect(scenario);
                assert!(scenario.ours.contains(&bar.ours.0), "{bar:?}");
                for theirs in bar.over.iter().flat_map(|(tools, _)| *tools) {
                    assert!(scenario.near.contains(theirs), "{bar:?}");
                }
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
