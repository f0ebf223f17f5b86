//! What is drawn of a plan, a trial and a history.

use prony_analysis::experiment::{PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::history::{History, HistorySeries, Point};
use prony_analysis::plot_data::{self, latency_curves, quantiles};
use prony_model::Estimate;
use prony_model::trial::Trial;
use prony_model::unit::Unit;

use crate::svg::{Bar, Chart, DOTS_MAX, Drawn, LINES_MAX, Line, Plot, Scale};
use crate::{format, words};

/// Candidates with a bar at most.
const BARS_MAX: usize = 60;
/// Points of a curve at least: fewer are told by the table.
const POINTS_MIN: usize = 3;

/// Throughput with its intervals, the tails, and the trials over time, as far as there is something to draw.
pub(crate) fn of_plan(plan: &PlanAnalysis) -> Vec<Plot> {
    [intervals(plan), tails(plan), courses(plan)].into_iter().flatten().collect()
}

fn intervals(plan: &PlanAnalysis) -> Option<Plot> {
    let bar = |row: &Row| {
        let estimate = row.throughput()?;
        let pm = words::spaced_plus_minus(estimate);
        Some(Bar {
            label: row.candidate.clone(),
            shown: format!("{}{pm}", words::row_rate(row)),
            point: estimate.point,
            interval: estimate.ci_low.zip(estimate.ci_high),
        })
    };
    let bars: Vec<Bar> = plan.rows.iter().filter_map(bar).take(BARS_MAX).collect();
    let said: Vec<String> = bars.iter().map(|bar| format!("{} {}", bar.label, bar.shown)).collect();
    (bars.len() > 1).then(|| Plot {
        title: format!("Throughput in requests per second with 95 % intervals: {}", plan.name),
        said: said.join("; "),
        drawn: Drawn::Bars(bars),
    })
}

fn first(plan: &PlanAnalysis) -> impl Iterator<Item = (usize, &Row)> {
    plan.rows.iter().filter(|row| row.counted > 0).take(LINES_MAX).enumerate()
}

fn of(plan: &PlanAnalysis) -> String {
    let all = plan.rows.iter().filter(|row| row.counted > 0).count();
    if all > LINES_MAX { format!(", the first {LINES_MAX} of {all}") } else { String::new() }
}

fn tails(plan: &PlanAnalysis) -> Option<Plot> {
    let line = |(style, row): (usize, &Row)| Line {
        points: row.latency_curve.iter().map(|p| (p.quantile, p.value_ns as f64)).collect(),
        ..Line::new(&row.candidate, style)
    };
    let lines: Vec<Line> = first(plan).map(line).filter(|line| line.points.len() >= POINTS_MIN).collect();
    let cell = |row: &Row, figure| words::row_figure(row, figure);
    let said = first(plan).map(|(_, row)| {
        format!("{}: p50 {} ms, p99 {} ms", row.candidate, cell(row, Figure::P50), cell(row, Figure::P99))
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let title = format!("Response time by percentile: {}{}", plan.name, of(plan));
    chart(title, said, (Scale::Percentile, Scale::Duration), lines)
}

fn courses(plan: &PlanAnalysis) -> Option<Plot> {
    let lines: Vec<Line> = first(plan)
        .flat_map(|(style, row)| {
            let named = row.series.iter().enumerate();
            named.map(move |(at, trial)| Line {
                // All trials of a candidate are of one kind, which the legend has once.
                points: seconds(&trial.at_ns).zip(trial.requests_per_s.iter().copied()).collect(),
                ..Line::new(if at == 0 { &row.candidate } else { "" }, style)
            })
        })
        .collect();
    let long = lines.iter().any(|line| line.points.len() >= POINTS_MIN);
    let title = format!("Completed requests per second over each trial: {}{}", plan.name, of(plan));
    chart(
        title,
        "a line per trial".to_owned(),
        (Scale::Seconds, Scale::Figure(Unit::RequestsPerS, true)),
        lines,
    )
    .filter(|_| long)
}

fn seconds(at_ns: &[u64]) -> impl Iterator<Item = f64> {
    at_ns.iter().map(|ns| *ns as f64 / 1e9)
}

fn chart(title: String, said: String, (x, y): (Scale, Scale), lines: Vec<Line>) -> Option<Plot> {
    let drawn = Drawn::Chart(Chart { x, y, lines, marks: Vec::new() });
    Some(Plot { title, said, drawn }).filter(|plot| !plot.is_empty())
}

/// Response time by percentile, and the load over time.
pub(crate) fn of_trial(trial: &Trial) -> Vec<Plot> {
    let (response, service) = latency_curves(trial);
    // In a closed loop they are the same, called service.
    let both = words::headline(trial).0 == "response" && service != response;
    let curve = |name: &str, style, curve: &[u64]| Line {
        points: quantiles().into_iter().zip(curve.iter().map(|ns| *ns as f64)).collect(),
        ..Line::new(name, style)
    };
    let mut curves = vec![curve("service", 0, &service)];
    if both {
        curves.push(curve("response", 1, &response));
    }
    curves.retain(|line| line.points.len() >= POINTS_MIN);
    let said = words::lead(trial, true).join(", ");
    let tail = "Response time by percentile".to_owned();
    let tail = chart(tail, said.clone(), (Scale::Percentile, Scale::Duration), curves);
    let series = plot_data::series(trial);
    if series.at_ns.len() < POINTS_MIN {
        return tail.into_iter().collect();
    }
    let per_s = |name: &str, style, values: &[f64]| Line {
        points: seconds(&series.at_ns).zip(values.iter().copied()).collect(),
        ..Line::new(name, style)
    };
    let mut rates = vec![per_s("completed", 0, &series.completed_per_s)];
    if trial.requests.failed > 0 {
        rates.push(per_s("failed", 1, &series.failed_per_s));
    }
    let times = |name: &str, style, values: &[Option<u64>]| Line {
        points: seconds(&series.at_ns).zip(values).filter_map(|(at, ns)| Some((at, (*ns)? as f64))).collect(),
        ..Line::new(name, style)
    };
    let times = vec![
        times("p50", 0, &series.p50_ns),
        times("p99", 1, &series.p99_ns),
        times("max", 2, &series.max_ns),
    ];
    let scale = Scale::Figure(Unit::RequestsPerS, true);
    let rate =
        chart("Requests per second over time".to_owned(), said.clone(), (Scale::Seconds, scale), rates);
    let time = chart("Response time over time".to_owned(), said, (Scale::Seconds, Scale::Duration), times);
    [tail, rate, time].into_iter().flatten().collect()
}

fn of_point(point: &Point) -> Option<(f64, &Estimate)> {
    Some((words::seconds_of(&point.at)?, point.estimate.as_ref()?))
}

/// A figure's series over its runs, with its levels; `None` below two points.
pub(crate) fn of_history(history: &History, series: &HistorySeries) -> Option<Plot> {
    let points: Vec<(f64, f64)> =
        series.points.iter().filter_map(of_point).map(|(at, estimate)| (at, estimate.point)).collect();
    if points.len() < 2 {
        return None;
    }
    // So many have no room for intervals beside each other.
    let is_crowded = points.len() > DOTS_MAX;
    let placed = series.points.iter().filter_map(of_point).filter(|_| !is_crowded);
    let whiskers = placed.filter_map(|(at, e)| Some((at, e.ci_low?, e.ci_high?))).collect();
    let mut lines = vec![Line { points, whiskers, dots: true, ..Line::new("runs", 0) }];
    for (nth, level) in series.levels.iter().enumerate() {
        let end = |at: usize| Some((words::seconds_of(&series.points.get(at)?.at)?, level.estimate.point));
        let name = if nth == 0 { "level" } else { "" };
        let points = [end(level.first), end(level.last)].into_iter().flatten().collect();
        lines.push(Line { points, ..Line::new(name, 1) });
    }
    let marks = series.changes.iter().filter_map(|change| words::seconds_of(&change.at)).collect();
    let runs = format::count(series.points.len() as u64, "run", "runs");
    let changes = series.changes.iter().map(words::change);
    let said: Vec<String> =
        [format!("{runs}: {}", words::series_verdict(series))].into_iter().chain(changes).collect();
    let drawn = Drawn::Chart(Chart { x: Scale::Time, y: Scale::Figure(history.unit, false), lines, marks });
    let without = if is_crowded { ", without intervals" } else { "" };
    let title = format!("{} of {} over its runs{without}: {}", history.figure, series.candidate, series.plan);
    Some(Plot { title, said: said.join("; "), drawn }).filter(|plot| !plot.is_empty())
}
