//! A figure over many runs.

use prony_analysis::history::{Change, History, HistorySeries, HistoryVerdict, Point};

use super::{Ink, TerminalOptions, push_wrapped};
use crate::format;
use crate::words::{self, ChangeWord};

/// Bars of a series, the last runs.
const SPARKS: usize = 30;
/// Runs in the table of a series, the last ones.
const ROWS: usize = 12;
/// Of more series than these only changes and the level are shown.
const TABLES_MAX: usize = 3;

/// The answer first, then each series with its changes; a table of runs where there are few series.
pub fn history(history: &History, options: &TerminalOptions) -> String {
    let (ink, width) = (options.ink(), options.width());
    let mut out = String::new();
    push_wrapped(&mut out, "", &words::history_headline(history), width, |line| ink.bold(line));
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
        let text = format!("{}: {}", left_out.file, left_out.why);
        push_wrapped(&mut out, " left out  ", &format::printable(&text), width, str::to_owned);
    }
    if history.series.iter().any(|series| series.verdict != HistoryVerdict::TooFew) {
        out.push('\n');
        push_wrapped(&mut out, " ", &history.method, width, |line| ink.dim(line));
    }
    out
}

fn head(out: &mut String, history: &History, series: &HistorySeries, width: usize, ink: Ink) {
    let name = format!("{} · {} · {}", series.candidate, series.plan, series.experiment);
    let n = series.points.len();
    let verdict = words::series_verdict(series);
    let runs = format::count(n as u64, "run", "runs");
    out.push_str(&format!(" {}\n", ink.bold(&format::truncate(&format::printable(&name), width - 1))));
    let values: Vec<f64> = series.points[n.saturating_sub(SPARKS)..]
        .iter()
        .map(|p| p.estimate.as_ref().map_or(f64::NAN, |e| e.point))
        .collect();
    let last = series.points.iter().rev().find(|p| p.estimate.is_some()).map(|p| value(history, p));
    let last = last.map(|v| format!("   now {v}")).unwrap_or_default();
    out.push_str(&format!("   {}{last}\n", format::sparkline(&values)));
    push_wrapped(out, "   ", &format!("{runs}: {verdict}"), width, str::to_owned);
}

fn push_change(out: &mut String, change: &Change, width: usize, ink: Ink) {
    let (word, tone): (&str, fn(Ink, &str) -> String) = match words::change_word(change) {
        ChangeWord::Worse => ("WORSE", Ink::bad),
        ChangeWord::Better => ("better", Ink::good),
        ChangeWord::Small => ("small", |_, line| line.to_owned()),
    };
    let text = format!("{word} {}", words::change(change));
    push_wrapped(out, "   ! ", &format::printable(&text), width, |line| tone(ink, line));
    for also in &change.also {
        push_wrapped(out, "     also changed  ", &format::printable(also), width, str::to_owned);
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
        let pm = point.estimate.as_ref().and_then(words::plus_minus).unwrap_or_default();
        let commit = point.commit.as_deref().map(words::short_commit).unwrap_or_default();
        let line = format!(
            "   {mark} {:<16}  {:>16} {pm:<8}  {commit}",
            words::minute(&point.at),
            value(history, point)
        );
        out.push_str(&format::truncate(&format::printable(line.trim_end()), width));
        out.push('\n');
    }
}

/// A point's figure with its unit: `≥ 13,870 req/s`, `–`.
fn value(history: &History, point: &Point) -> String {
    let Some(estimate) = &point.estimate else { return words::WITHHELD.to_owned() };
    let bound = if point.at_least { "≥ " } else { "" };
    let figure = match history.unit {
        "ns" => format::duration(estimate.point),
        "bytes" => format::bytes(estimate.point),
        _ => format!("{} req/s", format::rate(estimate.point)),
    };
    format!("{bound}{figure}")
}
