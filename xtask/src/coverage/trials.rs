//! Many runs of one process, and how often its intervals held.

use prony_analysis::slo::{Decision, Slo};
use prony_analysis::testing::{closed_plan, within};
use prony_analysis::trial::judge;
use prony_model::host::Host;
use prony_model::measurement::Measurement;
use prony_model::observed::Observed;
use serde::Serialize;

use super::chance::Chance;
use super::process::{Drift, Kind};
use super::recorder::Recorder;
use crate::median::real;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) seconds: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FigureRow {
    pub(crate) process: String,
    pub(crate) seconds: u32,
    pub(crate) figure: &'static str,
    pub(crate) runs: u64,
    pub(crate) printed: u64,
    /// Of these, the share whose interval holds the truth.
    pub(crate) covered: f64,
    /// Half the median width of intervals, over the truth.
    pub(crate) half_width: f64,
    /// The median width over the oracle's: the middle 95 % of the points of all runs.
    pub(crate) over_oracle: f64,
    /// Of all runs, with an interval or without, the share in which a threshold at the truth itself is met or missed.
    pub(crate) decided: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct FlagRow {
    pub(crate) process: String,
    pub(crate) seconds: u32,
    /// What drifts, or `nothing`.
    pub(crate) drift: &'static str,
    pub(crate) runs: u64,
    pub(crate) flagged: f64,
}

struct Reading {
    point: f64,
    interval: Option<(f64, f64)>,
    /// Whether a threshold at the truth is decided by its count where there is no interval.
    by_count: bool,
}

/// Plays the case and counts: coverage of five figures, and false alarms.
pub(crate) fn coverage(case: Case, runs: u64, seed: u64) -> (Vec<FigureRow>, FlagRow) {
    let mut readings: [Vec<Reading>; 5] = Default::default();
    let plan = closed_plan();
    let truth = case.kind.truth();
    let at_truth =
        [("p50_ns", truth.p50_ns), ("p90_ns", truth.p90_ns), ("p99_ns", truth.p99_ns)].map(|(field, ns)| {
            let slo = Slo::parse(&format!("{}<{ns:.0}ns", field.trim_end_matches("_ns")));
            (field, slo.expect("a percentile below a time is a threshold"))
        });
    let mut flagged = 0;
    play(case, Drift::default(), runs, seed, |m| {
        let found = within(m, &plan);
        flagged += u64::from(!found.drifted.is_empty());
        let estimate = &found.throughput;
        let interval = estimate.ci_low.zip(estimate.ci_high);
        readings[0].push(Reading { point: estimate.point, interval, by_count: false });
        let response = &found.response;
        let points = [response.mean_ns, response.p50_ns, response.p90_ns, response.p99_ns];
        for (at, (name, point)) in ["mean_ns", "p50_ns", "p90_ns", "p99_ns"].iter().zip(points).enumerate() {
            let Some(point) = point else { continue };
            let interval = response.ci95.get(*name);
            let interval = interval.map(|(low, high)| (real(*low), high.map_or(f64::INFINITY, real)));
            let threshold = at_truth.iter().find(|(field, _)| field == name).filter(|_| interval.is_none());
            let by_count = threshold.is_some_and(|(_, slo)| {
                let observed = Observed::new(m.clone(), plan.clone());
                slo.hold(&judge(&observed, &Host::default()), None).decision != Decision::Undecided
            });
            readings[at + 1].push(Reading { point: real(point), interval, by_count });
        }
    });
    let flagged = real(flagged) / real(runs.max(1));
    let rows = ["throughput", "mean", "p50", "p90", "p99"]
        .into_iter()
        .zip([truth.per_s, truth.mean_ns, truth.p50_ns, truth.p90_ns, truth.p99_ns])
        .zip(&readings)
        .map(|((figure, truth), readings)| row(case, figure, truth, readings, runs))
        .collect();
    (rows, FlagRow { process: case.name.to_owned(), seconds: case.seconds, drift: "nothing", runs, flagged })
}

pub(crate) fn flags(case: Case, what: &'static str, drift: Drift, runs: u64, seed: u64) -> FlagRow {
    let plan = closed_plan();
    let mut flagged = 0;
    play(case, drift, runs, seed, |m| flagged += u64::from(!within(m, &plan).drifted.is_empty()));
    let flagged = real(flagged) / real(runs.max(1));
    FlagRow { process: case.name.to_owned(), seconds: case.seconds, drift: what, runs, flagged }
}

fn play(case: Case, drift: Drift, runs: u64, seed: u64, mut look: impl FnMut(&Measurement)) {
    let mut recorder = Recorder::new(u64::from(case.seconds));
    for run in 0..runs {
        recorder.clear();
        case.kind.play(f64::from(case.seconds), drift, &mut Chance::of(seed, run), &mut recorder);
        look(recorder.measured());
    }
}

fn row(case: Case, figure: &'static str, truth: f64, readings: &[Reading], runs: u64) -> FigureRow {
    let intervals: Vec<(f64, f64)> = readings.iter().filter_map(|r| r.interval).collect();
    let covered = intervals.iter().filter(|(low, high)| *low <= truth && truth <= *high).count();
    let by_count = readings.iter().filter(|r| r.by_count).count();
    let decided = intervals.len() - covered + by_count;
    let mut widths: Vec<f64> = intervals.iter().map(|(low, high)| high - low).collect();
    let mut points: Vec<f64> = readings.iter().map(|r| r.point).collect();
    let oracle = quantile(&mut points, 0.975) - quantile(&mut points, 0.025);
    let width = quantile(&mut widths, 0.5);
    FigureRow {
        process: case.name.to_owned(),
        seconds: case.seconds,
        figure,
        runs,
        printed: intervals.len() as u64,
        covered: real(covered as u64) / real(intervals.len().max(1) as u64),
        half_width: width / 2.0 / truth,
        over_oracle: if oracle > 0.0 { width / oracle } else { 0.0 },
        decided: real(decided as u64) / real(runs.max(1)),
    }
}

pub(crate) fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (q * real(values.len() as u64)) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}
