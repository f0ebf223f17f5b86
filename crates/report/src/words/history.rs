//! Texts about the changes in a history that are the same in every view.

use prony_analysis::history::{Change, History, HistorySeries, HistoryVerdict, Point, RUNS_MIN};
use schemars::JsonSchema;
use serde::Serialize;

use super::comparison::change as signed;
use crate::format;

const COMMIT: usize = 8;

/// A change in a word.
#[derive(Serialize, JsonSchema)]
pub(crate) enum ChangeWord {
    #[serde(rename = "WORSE")]
    Worse,
    #[serde(rename = "better")]
    Better,
    /// It does not matter.
    #[serde(rename = "small")]
    Small,
}

pub(crate) fn change_word(change: &Change) -> ChangeWord {
    match (change.matters, change.better) {
        (false, _) => ChangeWord::Small,
        (true, true) => ChangeWord::Better,
        (true, false) => ChangeWord::Worse,
    }
}

/// `since 2026-03-07 10:00: −20 % (95 %: −21 % to −19 %), 00000005..00000006`.
pub(crate) fn change(change: &Change) -> String {
    let commits = match (&change.commit_before, &change.commit_after) {
        (Some(before), Some(after)) if before != after => {
            format!(", {}..{}", short_commit(before), short_commit(after))
        }
        (_, Some(after)) => format!(", at {}", short_commit(after)),
        _ => String::new(),
    };
    let interval = match (change.ratio.ci_low, change.ratio.ci_high) {
        (Some(low), Some(high)) => format!(" (95 %: {} to {})", signed(low), signed(high)),
        _ => String::new(),
    };
    format!("since {}: {}{interval}{commits}", minute(&change.at), change_size(change))
}

/// `−20 %`.
pub(crate) fn change_size(change: &Change) -> String {
    signed(change.ratio.point)
}

/// The verdict on a series: `2 changes`, `no change found`, …
pub(crate) fn series_verdict(series: &HistorySeries) -> String {
    match series.verdict {
        HistoryVerdict::Changed => format::count(series.changes.len() as u64, "change", "changes"),
        HistoryVerdict::NoChange => "no change found".to_owned(),
        HistoryVerdict::TooFew => format!("no verdict, needs {RUNS_MIN} runs with an exact figure"),
    }
}

/// The answer in a sentence, about a figure of this name: `throughput of 12 run logs, 2026-03-01 to 2026-03-12: 1 change for the worse (2 series)`.
pub(crate) fn history_headline(history: &History, figure: &str) -> String {
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
    let relative =
        history.relative_to.as_ref().map(|name| format!(" relative to {name}")).unwrap_or_default();
    format::printable(&format!("{figure}{relative} of {runs}{span}: {found} ({series})"))
}

/// A point's figure with its unit: `≥ 13,870 req/s`, `–`.
pub(crate) fn point(history: &History, point: &Point) -> String {
    let Some(estimate) = &point.estimate else { return super::WITHHELD.to_owned() };
    let bound = if point.at_least { "≥ " } else { "" };
    format!("{bound}{}", super::with_unit(history.unit, estimate.point))
}

/// Seconds since 1970 of a time as RFC 3339 has it.
pub(crate) fn seconds_of(at: &str) -> Option<f64> {
    Some(at.parse::<jiff::Timestamp>().ok()?.as_second() as f64)
}

/// `2026-03-01`, of seconds since 1970.
pub(crate) fn day(seconds: f64) -> Option<String> {
    let at = jiff::Timestamp::from_second(seconds as i64).ok()?;
    Some(at.to_string().get(..10)?.to_owned())
}

/// `2026-03-01 10:00`.
pub(crate) fn minute(at: &str) -> String {
    at.get(..16).unwrap_or(at).replace('T', " ")
}

pub(crate) fn short_commit(commit: &str) -> String {
    commit.chars().take(COMMIT).collect()
}
