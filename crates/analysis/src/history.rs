//! A figure over many runs: each candidate under each plan as a series in time, by [`prony_stats::segmentation`]. A run
//! is a point: the geometric mean of its trials that count.

mod relative;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use prony_model::Estimate;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::run_log::{Header, RunLog, TrialResult};
use prony_model::target::path_of;
use prony_model::unit::Unit;
use prony_stats::CONFIDENCE;
use prony_stats::interval::geometric_mean;
use prony_stats::segmentation::{VALUES_MAX, VALUES_MIN, change_points, step};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::CandidateTrials;
use crate::comparison::RunCandidate;
use crate::earlier_runs::EarlierRuns;
use crate::figure::{Figure, OverTrials};
use crate::figures::{estimate, over_trials};
use crate::look;
use crate::numbers::{self, count, real_len};

pub const SCHEMA: &str = "prony.history/1";

/// Runs that a series needs before anything is said of its changes.
pub const RUNS_MIN: usize = VALUES_MIN;

/// The chance that a look names a change of any series without one; over the looks at up to 60 runs 5 % in all.
const SIGNIFICANCE: f64 = 0.007;

#[derive(Debug, Clone, PartialEq)]
pub struct RunFigures {
    at: Timestamp,
    /// Where another version measured it: that, and which one judges.
    versions: Option<String>,
    points: Vec<(SeriesKey, Point)>,
}

/// Whose series: experiment, plan and candidate, and whether it is of trials made one by one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SeriesKey(String, String, String, bool);

/// A figure over many runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The figure's name.
    pub figure: &'static str,
    /// The candidate whose figure of the same run each figure is divided by.
    pub relative_to: Option<String>,
    /// The unit of its values: `requests_per_s`, `ns`, `bytes`, …; `ratio` of figures relative to a candidate's.
    pub unit: Unit,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// The smallest change that matters, as a share.
    pub matters: f64,
    /// Run logs read.
    pub runs: usize,
    /// The first run's time, RFC 3339.
    pub from: Option<String>,
    /// The last one's.
    pub to: Option<String>,
    /// By experiment, plan and candidate.
    pub series: Vec<HistorySeries>,
    /// Files that could not be used, and why.
    pub left_out: Vec<LeftOut>,
    /// How changes are found: one sentence.
    pub method: String,
}

/// A file that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The file.
    pub file: String,
    /// A sentence.
    pub why: String,
}

/// What can be said of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryVerdict {
    /// Its level changed.
    Changed,
    /// No change was found.
    NoChange,
    /// Fewer than [`RUNS_MIN`] exact points.
    TooFew,
}

/// One candidate under one plan over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HistorySeries {
    /// The experiment's name, or `load`.
    pub experiment: String,
    /// The plan's name.
    pub plan: String,
    /// The candidate's label, or the URL.
    pub candidate: String,
    /// What can be said.
    pub verdict: HistoryVerdict,
    /// In order of time.
    pub points: Vec<Point>,
    /// In order of time.
    pub changes: Vec<Change>,
    /// Between changes, in order of time; empty without a verdict.
    pub levels: Vec<Level>,
}

/// What a series was between two changes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// The first of its points that took part in the tests, among the series' points.
    pub first: usize,
    /// The last of them.
    pub last: usize,
    /// The geometric mean of those points, with its interval.
    pub estimate: Estimate,
}

/// A run's figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// RFC 3339.
    pub at: String,
    /// The run log.
    pub file: String,
    /// The commit that was checked out where the run was begun.
    pub commit: Option<String>,
    /// The server's own word for its version.
    pub version: Option<String>,
    /// Prony's version.
    pub tool_version: String,
    /// The machine: its CPU, how many, its kernel.
    pub host: String,
    /// The figure; `None` where no trial that counts has it.
    pub estimate: Option<Estimate>,
    /// Whether the truth may be more: such a point is shown and takes no part in the tests.
    pub at_least: bool,
    /// Trials that count.
    pub trials: u32,
    /// The version of the candidate that the figure is relative to.
    #[serde(skip)]
    relative_version: Option<String>,
    #[serde(skip)]
    plan: RecordedPlan,
    #[serde(skip)]
    stamp: Timestamp,
}

/// A change of level.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The first point after it, among the series' points.
    pub index: usize,
    /// That point's time.
    pub at: String,
    /// The commit of the last point before.
    pub commit_before: Option<String>,
    /// The commit of the first point after.
    pub commit_after: Option<String>,
    /// The level after over the level before.
    pub ratio: Estimate,
    /// Whether it is for the better.
    pub better: bool,
    /// Whether it is at least as large as [`History::matters`].
    pub matters: bool,
    /// The p-value, for all cuts of the series together.
    pub p: f64,
    /// What else differs between the points beside it: `version 1.24 → 1.25`.
    pub also: Vec<String>,
}

pub fn figure(name: &str) -> Result<Figure, String> {
    figures().find(|figure| figure.name == name).ok_or_else(|| {
        let names: Vec<&str> = figures().map(|figure| figure.name).collect();
        format!("{name:?} is not a figure of a history, which are {}.", names.join(", "))
    })
}

/// What a run log says of the figure; of its ratio to that of the candidate `relative_to`, where one is named.
pub fn figures_of(
    log: &RunLog,
    file: &str,
    figure: Figure,
    relative_to: Option<&str>,
) -> Result<RunFigures, String> {
    let at = time(&log.header.created_at)?;
    if let Some(name) = relative_to {
        relative::check(log, name)?;
    }
    let mut cells: BTreeMap<(SeriesKey, u32), Vec<&TrialResult>> = BTreeMap::new();
    for result in &log.results {
        let p = &result.planned;
        // Beside a busy neighbour a server is not what it is alone: a series of its own.
        let beside = if p.duet.is_some() { " --duet" } else { "" };
        let single = log.header.one_by_one;
        let key =
            SeriesKey(format!("{}{beside}", log.header.name), p.plan.clone(), p.candidate.clone(), single);
        // Of an experiment all trials are one run; of `prony load` each is.
        let run = if single { p.index } else { 0 };
        cells.entry((key, run)).or_default().push(result);
    }
    let mut points = Vec::new();
    for ((key, run), results) in &cells {
        let Some(mut point) = point(&log.header, key, results, file, figure)? else { continue };
        if let Some(name) = relative_to {
            if key.2 == name {
                continue;
            }
            let other = SeriesKey(key.0.clone(), key.1.clone(), name.to_owned(), key.3);
            let others = cells.get(&(other, *run)).map_or(&[][..], Vec::as_slice);
            relative::divide(&mut point, results, others, figure);
            point.relative_version = version(&log.header, name);
        }
        points.push((key.clone(), point));
    }
    Ok(RunFigures { at, versions: log.header.tool.judged_by_another(), points })
}

fn version(header: &Header, candidate: &str) -> Option<String> {
    header.candidates.iter().find(|c| c.label == candidate)?.facts.version.clone()
}

fn time(text: &str) -> Result<Timestamp, String> {
    let shown: String = text.chars().take(40).collect();
    text.parse().map_err(|_| format!("it says that it was made at {shown:?}, which is not a time"))
}

fn point(
    header: &Header,
    key: &SeriesKey,
    results: &[&TrialResult],
    file: &str,
    figure: Figure,
) -> Result<Option<Point>, String> {
    let counted = CandidateTrials::from_results(results.iter().copied()).counted;
    let Some(first) = counted.first() else { return Ok(None) };
    let single = header.one_by_one;
    let at = if single { &first.trial.started_at } else { &header.created_at };
    let known: Vec<_> = counted.iter().map(|c| c.figure(figure)).collect();
    let values: Option<Vec<f64>> = known.iter().map(|k| k.map(|k| k.value).filter(|v| *v > 0.0)).collect();
    // A run of `prony load` may be appended to weeks later: the header's commit is its first trial's.
    let commit = header.commit.clone().filter(|_| !single || first.planned.index == 0);
    let host = &header.host;
    Ok(Some(Point {
        at: at.clone(),
        file: file.to_owned(),
        commit,
        version: version(header, &key.2),
        tool_version: first.trial.tool.version.clone(),
        host: [Some(host), header.server_host.as_ref().map(|server| &server.host)]
            .into_iter()
            .flatten()
            .map(|host| format!("{}, {} CPUs, {}", host.cpu_model, host.cpus_online, host.kernel))
            .collect::<Vec<_>>()
            .join("; servers on "),
        // A trial without the figure would leave an average over those that happen to have it.
        estimate: values.as_deref().and_then(|values| match figure.over_trials {
            OverTrials::GeometricMean => estimate(values, look::Level::look(1)),
            OverTrials::Highest | OverTrials::Mean => {
                over_trials(figure, &counted, look::Level::look(1)).estimate
            }
        }),
        at_least: known.iter().flatten().any(|k| k.at_least),
        trials: count(counted.len()),
        relative_version: None,
        plan: first.trial.plan.clone(),
        stamp: time(at)?,
    }))
}

/// The history of these runs; `relative_to` is what [`figures_of`] was given for them.
pub fn history(
    mut runs: Vec<RunFigures>,
    figure: Figure,
    relative_to: Option<&str>,
    left_out: Vec<LeftOut>,
) -> History {
    runs.sort_by_key(|run| run.at);
    let run_count = runs.len();
    let versions: BTreeSet<String> = runs.iter().filter_map(|run| run.versions.clone()).collect();
    let versions: String = versions.iter().map(|versions| format!(" Some runs: {versions}.")).collect();
    let mut by_key: BTreeMap<SeriesKey, Vec<Point>> = BTreeMap::new();
    for (key, point) in runs.into_iter().flat_map(|run| run.points) {
        by_key.entry(key).or_default().push(point);
    }
    let mut stamps: Vec<(Timestamp, String)> =
        by_key.values().flatten().map(|p| (p.stamp, p.at.clone())).collect();
    stamps.sort();
    let tested = by_key.values().filter(|points| exact(points).len() >= RUNS_MIN).count();
    let significance = SIGNIFICANCE / real_len(tested.max(1));
    let series = by_key.into_iter().map(|(key, points)| series(key, points, significance, figure)).collect();
    History {
        schema: SCHEMA,
        figure: figure.name,
        relative_to: relative_to.map(str::to_owned),
        unit: relative_to.map_or(figure.unit, |_| Unit::Ratio),
        more_is_better: figure.more_is_better,
        matters: figure.smallest_difference,
        runs: run_count,
        from: stamps.first().map(|(_, at)| at.clone()),
        to: stamps.last().map(|(_, at)| at.clone()),
        series,
        left_out,
        method: format!(
            "Steps of log figures, looked for after each run by pooled t for neighbours that correlate by 0.3; at most \
             5 % chance (8 % where they do) that any of {tested} series without a change has one named over up to 60 \
             runs. Intervals of sizes are of cuts chosen by the same runs.{versions}"
        ),
    }
}

/// The points that are tested, the last ones where there are too many: place and logarithm of the figure.
fn exact(points: &[Point]) -> Vec<(usize, f64)> {
    let usable = |p: &Point| p.estimate.as_ref().map(|e| e.point.ln()).filter(|_| !p.at_least);
    let all: Vec<(usize, f64)> =
        points.iter().enumerate().filter_map(|(at, p)| Some((at, usable(p)?))).collect();
    all[all.len().saturating_sub(VALUES_MAX)..].to_vec()
}

fn series(key: SeriesKey, mut points: Vec<Point>, significance: f64, figure: Figure) -> HistorySeries {
    points.sort_by_key(|p| p.stamp);
    let exact = exact(&points);
    let values: Vec<f64> = exact.iter().map(|(_, v)| *v).collect();
    let found = change_points(&values, significance);
    let verdict = match found.as_deref() {
        None => HistoryVerdict::TooFew,
        Some([]) => HistoryVerdict::NoChange,
        Some(_) => HistoryVerdict::Changed,
    };
    let found = found.unwrap_or_default();
    let ends: Vec<usize> = [0].into_iter().chain(found.iter().map(|c| c.at)).chain([values.len()]).collect();
    let changes = found.iter().zip(ends.windows(3)).filter_map(|(change, around)| {
        let size = step(&values[around[0]..around[1]], &values[around[1]..around[2]], CONFIDENCE)?;
        let (before, after) = (&points[exact[change.at - 1].0], &points[exact[change.at].0]);
        Some(Change {
            index: exact[change.at].0,
            at: after.at.clone(),
            commit_before: before.commit.clone(),
            commit_after: after.commit.clone(),
            ratio: numbers::estimate(size.exp()),
            better: (size.exp().point > 1.0) == figure.more_is_better,
            matters: size.point.abs() >= (1.0 + figure.smallest_difference).ln(),
            p: change.p,
            also: also(before, after),
        })
    });
    let changes = changes.collect();
    let levels = if verdict == HistoryVerdict::TooFew { Vec::new() } else { levels(&exact, &ends) };
    let SeriesKey(experiment, plan, candidate, _) = key;
    HistorySeries { experiment, plan, candidate, verdict, points, changes, levels }
}

/// The level of each part of the points that were tested; `ends` are the parts' ends, 0 and their number among them.
fn levels(exact: &[(usize, f64)], ends: &[usize]) -> Vec<Level> {
    let level = |ends: &[usize]| {
        let part = exact.get(*ends.first()?..*ends.last()?)?;
        let values: Vec<f64> = part.iter().map(|(_, log)| log.exp()).collect();
        Some(Level {
            first: part.first()?.0,
            last: part.last()?.0,
            estimate: estimate(&values, look::Level::look(1))?,
        })
    };
    ends.windows(2).filter_map(level).collect()
}

fn also(before: &Point, after: &Point) -> Vec<String> {
    let mut said = Vec::new();
    let versions = [
        ("version", &before.version, &after.version),
        ("version of the other", &before.relative_version, &after.relative_version),
    ];
    for (what, a, b) in versions {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            said.push(format!("{what} {a} → {b}"));
        }
    }
    let [plan_before, plan_after] = [before, after]
        .map(|Point { plan, .. }| format!("{}, {}, {}", plan.load(), plan.asked(), plan.until()));
    let pairs = [
        ("prony", &before.tool_version, &after.tool_version),
        ("host", &before.host, &after.host),
        ("plan", &plan_before, &plan_after),
    ];
    said.extend(pairs.iter().filter(|(_, a, b)| a != b).map(|(what, a, b)| format!("{what} {a} → {b}")));
    said
}

/// Takes in a run made before B's: A's candidate in an experiment of the same name and plan, Prony version and machine.
pub fn take_earlier(
    runs: &mut EarlierRuns,
    run: &RunLog,
    a: RunCandidate<'_>,
    b: &RunLog,
) -> Result<(), String> {
    let made = time(&run.header.created_at)?;
    if made >= time(&b.header.created_at)? {
        return Ok(());
    }
    // Where a plan is aimed but for the path, and its seed, may differ from run to run.
    let kind = |(key, p): &(SeriesKey, Point)| {
        let plan = RecordedPlan { url: path_of(&p.plan.url).to_owned(), seed: 0, ..p.plan.clone() };
        (key.clone(), plan, p.host.clone(), p.tool_version.clone())
    };
    for figure in Figure::ranked() {
        let of_a = figures_of(a.log, "", figure, None)?.points;
        let of_a: Vec<_> = of_a.iter().filter(|(key, _)| key.2 == a.candidate).map(kind).collect();
        // Of repeated loads of one server, each a point of a history, all are one run.
        let mut by_plan: BTreeMap<String, Option<Vec<f64>>> = BTreeMap::new();
        for found in figures_of(run, "", figure, None)?.points {
            if of_a.contains(&kind(&found)) {
                let (key, point) = found;
                let exact = point.estimate.filter(|_| !point.at_least);
                let all = by_plan.entry(key.1).or_insert_with(|| Some(Vec::new()));
                *all = all.take().zip(exact).map(|(all, one)| [all, vec![one.point]].concat());
            }
        }
        for (plan, all) in by_plan {
            if let Some(mean) = all.as_deref().and_then(geometric_mean) {
                runs.add(&plan, figure, made, mean);
            }
        }
    }
    Ok(())
}

pub fn figures() -> impl Iterator<Item = Figure> {
    Figure::all().filter(|figure| figure.in_history)
}

/// The figure that is shown unless another is asked for.
pub const DEFAULT: Figure = Figure::THROUGHPUT;
