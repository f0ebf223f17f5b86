//! A figure over many runs.

use prony_analysis::history::{Change, History, HistorySeries, HistoryVerdict};

use super::lines::{Ink, Lines, TerminalOptions};
use crate::format;
use crate::words::{self, ChangeWord};

const SPARKS: usize = 30;
const ROWS: usize = 12;
/// Of more series than these only changes and the level are shown.
const TABLES_MAX: usize = 3;
/// The answer first, then each series with its changes; a table of runs where there are few series.
pub fn history(history: &History, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    out.wrapped("", &words::history_headline(history, history.figure), Ink::BOLD);
    for series in &history.series {
        out.line("");
        head(&mut out, history, series);
        series.changes.iter().for_each(|change| push_change(&mut out, change));
        if history.series.len() <= TABLES_MAX {
            table(&mut out, history, series);
        }
    }
    if !history.left_out.is_empty() {
        out.line("");
    }
    for left_out in &history.left_out {
        out.wrapped(" left out  ", &format!("{}: {}", left_out.file, left_out.why), Ink::PLAIN);
    }
    if history.series.iter().any(|series| series.verdict != HistoryVerdict::TooFew) {
        out.line("");
        out.wrapped(" ", &history.method, Ink::DIM);
    }
    out.text
}

fn head(out: &mut Lines, history: &History, series: &HistorySeries) {
    let name = format!("{} · {} · {}", series.candidate, series.plan, series.experiment);
    let n = series.points.len();
    let verdict = words::series_verdict(series);
    let runs = format::count(n as u64, "run", "runs");
    let name = format::truncate(&format::printable(&name), out.width - 1);
    out.line(&format!(" {}", out.paint(Ink::BOLD, &name)));
    let values: Vec<f64> = series.points[n.saturating_sub(SPARKS)..]
        .iter()
        .map(|p| p.estimate.as_ref().map_or(f64::NAN, |e| e.point))
        .collect();
    let last = series.points.iter().rev().find(|p| p.estimate.is_some()).map(|p| words::point(history, p));
    let last = last.map(|v| format!("   now {v}")).unwrap_or_default();
    out.line(&format!("   {}{last}", format::sparkline(&values)));
    out.wrapped("   ", &format!("{runs}: {verdict}"), Ink::PLAIN);
}

fn push_change(out: &mut Lines, change: &Change) {
    let (word, ink) = match words::change_word(change) {
        ChangeWord::Worse => ("WORSE", Ink::BAD),
        ChangeWord::Better => ("better", Ink::GOOD),
        ChangeWord::Small => ("small", Ink::PLAIN),
    };
    out.wrapped("   ! ", &format!("{word} {}", words::change(change)), ink);
    change.also.iter().for_each(|also| out.wrapped("     also changed  ", also, Ink::PLAIN));
}

fn table(out: &mut Lines, history: &History, series: &HistorySeries) {
    let earlier = series.points.len().saturating_sub(ROWS);
    if earlier > 0 {
        out.line(&format!("   … {}", format::count(earlier as u64, "earlier run", "earlier runs")));
    }
    for (index, point) in series.points.iter().enumerate().skip(earlier) {
        let mark = if series.changes.iter().any(|c| c.index == index) { '!' } else { ' ' };
        let pm = point.estimate.as_ref().and_then(words::plus_minus).unwrap_or_default();
        let commit = point.commit.as_deref().map(words::short_commit).unwrap_or_default();
        let (at, value) = (words::minute(&point.at), words::point(history, point));
        let line = format!("   {mark} {at:<16}  {value:>16} {pm:<8}  {commit}");
        out.line(&format::truncate(&format::printable(line.trim_end()), out.width));
    }
}
