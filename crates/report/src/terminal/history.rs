//! A figure over many runs.

use prony_analysis::history::{Change, History, HistorySeries, HistoryVerdict, Point, RUNS_MIN};

use super::{Ink, TerminalOptions, push_wrapped};
use crate::format;

/// Bars of a series, the last runs.
const SPARKS: usize = 30;
/// Runs in the table of a series, the last ones.
const ROWS: usize = 12;
/// Of more series than these only changes and the level are shown.
const TABLES_MAX: usize = 3;
/// Digits of a commit.
const COMMIT: usize = 8;

/// The answer first, then each series with its changes; a table of runs where there are few series.
pub fn history(history: &History, options: &TerminalOptions) -> String {
    let (ink, width) = (options.ink(), options.width());
    let mut out = String::new();
    push_wrapped(&mut out, "", &headline(history), width, |line| ink.bold(line));
    for series in &history.series {
        out.push('\n');
        head(&mut out, history, series, width, ink);
        for change in &series.changes {
            push_change(&mut out, change, width, ink);
        }
        if history.series.len() <= TABLES_MAX {
            table(&mut out, history, series, width);
        }
    }
    if !history.left_out.is_empty() {
        out.push('\n');
    }
    for left_out in &history.left_out {
        let said = format!("{}: {}", left_out.file, left_out.why);
        push_wrapped(&mut out, " left out  ", &format::printable(&said), width, str::to_owned);
    }
    if history.series.iter().any(|series| series.verdict != HistoryVerdict::TooFew) {
        out.push('\n');
        push_wrapped(&mut out, " ", &history.method, width, |line| ink.dim(line));
    }
    out
}

fn headline(history: &History) -> String {
    let day = |at: &Option<String>| at.as_deref().map_or("", |at| at.get(..10).unwrap_or(at)).to_owned();
    let all = || history.series.iter().flat_map(|s| &s.changes);
    let worse = all().filter(|c| c.matters && !c.better).count() as u64;
    let better = all().filter(|c| c.matters && c.better).count() as u64;
    let small = all().filter(|c| !c.matters).count() as u64;
    let too_few = history.series.iter().all(|s| s.verdict == HistoryVerdict::TooFew);
    let found = match (worse, better) {
        _ if history.series.is_empty() => "nothing was measured".to_owned(),
        _ if too_few => format!("no verdict, a series needs {RUNS_MIN} runs"),
        (0, 0) if small > 0 => {
            format!(
                "{} under {}",
                format::count(small, "change", "changes"),
                format::percent(history.matters)
            )
        }
        (0, 0) => "no change found".to_owned(),
        (worse, 0) => format!("{} for the worse", format::count(worse, "change", "changes")),
        (0, better) => format!("{} for the better", format::count(better, "change", "changes")),
        (worse, better) => {
            format!("{} for the worse, {better} for the better", format::count(worse, "change", "changes"))
        }
    };
    let runs = format::count(history.runs as u64, "run log", "run logs");
    let span = match (day(&history.from), day(&history.to)) {
        (from, to) if from == to => from,
        (from, to) => format!("{from} to {to}"),
    };
    let span = if span.is_empty() { span } else { format!(", {span}") };
    let series = format::count(history.series.len() as u64, "series", "series");
    format::printable(&format!("{} of {runs}{span}: {found} ({series})", history.figure))
}

fn head(out: &mut String, history: &History, series: &HistorySeries, width: usize, ink: Ink) {
    let name = format!("{} · {} · {}", series.candidate, series.plan, series.experiment);
    let n = series.points.len();
    let said = match series.verdict {
        HistoryVerdict::Changed => format::count(series.changes.len() as u64, "change", "changes"),
        HistoryVerdict::NoChange => "no change found".to_owned(),
        HistoryVerdict::TooFew => format!("no verdict, {RUNS_MIN} exact runs are needed"),
    };
    let runs = format::count(n as u64, "run", "runs");
    out.push_str(&format!(" {}\n", ink.bold(&format::truncate(&format::printable(&name), width - 1))));
    let values: Vec<f64> = series.points[n.saturating_sub(SPARKS)..]
        .iter()
        .map(|p| p.estimate.as_ref().map_or(f64::NAN, |e| e.point))
        .collect();
    let last = series.points.iter().rev().find(|p| p.estimate.is_some()).map(|p| value(history, p));
    let last = last.map(|v| format!("   now {v}")).unwrap_or_default();
    out.push_str(&format!("   {}{last}\n", format::sparkline(&values)));
    push_wrapped(out, "   ", &format!("{runs}: {said}"), width, str::to_owned);
}

fn push_change(out: &mut String, change: &Change, width: usize, ink: Ink) {
    let signed = |ratio: f64| {
        let percent = format::percent((ratio - 1.0).abs());
        if ratio < 1.0 { format!("−{percent}") } else { format!("+{percent}") }
    };
    let ratio = &change.ratio;
    let interval = match (ratio.ci_low, ratio.ci_high) {
        (Some(low), Some(high)) => format!(" (95 %: {} to {})", signed(low), signed(high)),
        _ => String::new(),
    };
    let word = match (change.matters, change.better) {
        (false, _) => "small",
        (true, true) => "better",
        (true, false) => "WORSE",
    };
    let commits = match (&change.commit_before, &change.commit_after) {
        (Some(before), Some(after)) if before != after => format!(", {}..{}", short(before), short(after)),
        (_, Some(after)) => format!(", at {}", short(after)),
        _ => String::new(),
    };
    let text = format!("{word} since {}: {}{interval}{commits}", minute(&change.at), signed(ratio.point));
    push_wrapped(out, "   ! ", &format::printable(&text), width, |line| match word {
        "WORSE" => ink.bad(line),
        "better" => ink.good(line),
        _ => line.to_owned(),
    });
    for also in &change.also {
        push_wrapped(out, "     with it  ", &format::printable(also), width, str::to_owned);
    }
}

/// The last runs.
fn table(out: &mut String, history: &History, series: &HistorySeries, width: usize) {
    let earlier = series.points.len().saturating_sub(ROWS);
    if earlier > 0 {
        out.push_str(&format!("   … {}\n", format::count(earlier as u64, "earlier run", "earlier runs")));
    }
    for (index, point) in series.points.iter().enumerate().skip(earlier) {
        let mark = if series.changes.iter().any(|c| c.index == index) { '!' } else { ' ' };
        let pm = point.estimate.as_ref().and_then(crate::words::plus_minus).unwrap_or_default();
        let commit = point.commit.as_deref().map(short).unwrap_or_default();
        let line =
            format!("   {mark} {:<16}  {:>16} {pm:<8}  {commit}", minute(&point.at), value(history, point));
        out.push_str(&format::truncate(&format::printable(line.trim_end()), width));
        out.push('\n');
    }
}

/// `2026-03-01 10:00`.
fn minute(at: &str) -> String {
    at.get(..16).unwrap_or(at).replace('T', " ")
}

fn short(commit: &str) -> String {
    commit.chars().take(COMMIT).collect()
}

/// A point's figure with its unit: `≥ 13,870 req/s`, `–`.
fn value(history: &History, point: &Point) -> String {
    let Some(estimate) = &point.estimate else { return crate::words::WITHHELD.to_owned() };
    let bound = if point.at_least { "≥ " } else { "" };
    let figure = match history.unit {
        "ns" => format::duration(estimate.point),
        "bytes" => format::bytes(estimate.point),
        _ => format!("{} req/s", format::rate(estimate.point)),
    };
    format!("{bound}{figure}")
}
