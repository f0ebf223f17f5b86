//! The page of a folder of run logs: a figure over time and commits, with its changes.

use prony_analysis::figure::Figure;
use prony_analysis::history::{Change, DEFAULT, History, HistorySeries, LeftOut};
use prony_model::Tool;
use prony_model::unit::Unit;
use schemars::JsonSchema;
use serde::Serialize;

use super::Page;
use super::data::{Chunk, Short};
use super::pack;
use super::shell::{App, NoPage};
use crate::words;

/// What a page of a history is made from.
pub struct HistoryFrom<'a> {
    /// A history for each figure, all of the same runs.
    pub histories: &'a [History],
    pub folder: &'a str,
    /// Where the report of a run log is, by its file; `None` where there is none to link to.
    pub href: &'a dyn Fn(&str) -> Option<String>,
    /// Where the list of runs is, where there is one.
    pub home: Option<&'a str>,
}

/// A folder of run logs.
#[derive(Serialize, JsonSchema)]
pub(super) struct HistoryData<'a> {
    folder: &'a str,
    /// Run logs read.
    runs: usize,
    from: Option<&'a str>,
    to: Option<&'a str>,
    figures: Vec<HistoryFigure<'a>>,
    /// By experiment, plan and candidate; their points are in the chunk `h` + index.
    series: Vec<SeriesHead<'a>>,
    left_out: &'a [LeftOut],
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<String>,
}

/// A figure that can be looked at.
#[derive(Serialize, JsonSchema)]
struct HistoryFigure<'a> {
    id: &'static str,
    title: &'a str,
    unit: Unit,
    more_is_better: bool,
    /// The smallest change that matters, as a share.
    matters: f64,
    /// The answer in a sentence that begins with the title.
    headline: String,
    method: &'a str,
}

/// A series without its points.
#[derive(Serialize, JsonSchema)]
struct SeriesHead<'a> {
    experiment: &'a str,
    plan: &'a str,
    candidate: &'a str,
    runs: usize,
    /// By figure, in their order.
    figures: Vec<SeriesFigure<'a>>,
}

/// What can be said of a series' figure.
#[derive(Serialize, JsonSchema)]
struct SeriesFigure<'a> {
    /// `changed`, `no_change` or `too_few`.
    verdict: prony_analysis::history::HistoryVerdict,
    /// In words.
    said: String,
    /// Its last level, else its last point.
    now: Option<Short>,
    changes: Vec<HistoryChange<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct HistoryChange<'a> {
    /// The first point after it.
    index: usize,
    at: &'a str,
    commit_before: Option<&'a str>,
    commit_after: Option<&'a str>,
    word: words::ChangeWord,
    /// `−20 %`.
    size: String,
    /// With its interval and the commits.
    said: String,
    ratio: Short,
    p: f64,
    /// What else differs between the points beside it.
    also: &'a [String],
}

/// A series' points by column: the chunk `h` + index.
#[derive(Serialize, JsonSchema)]
pub(super) struct HistoryPoints<'a> {
    at: Vec<&'a str>,
    file: Vec<&'a str>,
    href: Vec<Option<String>>,
    commit: Vec<Option<&'a str>>,
    version: Vec<Option<&'a str>>,
    tool_version: Vec<&'a str>,
    host: Vec<&'a str>,
    trials: Vec<u32>,
    /// By figure, in their order.
    figures: Vec<FigurePoints>,
}

#[derive(Serialize, JsonSchema)]
struct FigurePoints {
    estimates: Vec<Option<Short>>,
    /// Whether the truth may be more.
    at_least: Vec<bool>,
    levels: Vec<LevelRow>,
}

#[derive(Serialize, JsonSchema)]
struct LevelRow {
    first: usize,
    last: usize,
    estimate: Short,
}

/// The page; it loads nothing.
pub fn history(from: &HistoryFrom<'_>) -> Result<String, NoPage> {
    let app = App::embedded()?;
    let (data, chunks) = data(from);
    Ok(app.file("History · Prony", &data, "", &chunks))
}

/// The page's data as JSON, and its chunks.
pub(super) fn data(from: &HistoryFrom<'_>) -> (String, Vec<Chunk>) {
    let histories = from.histories;
    let first = histories.first();
    let all: &[HistorySeries] = first.map(|h| h.series.as_slice()).unwrap_or_default();
    let history = HistoryData {
        folder: from.folder,
        runs: first.map_or(0, |h| h.runs),
        from: first.and_then(|h| h.from.as_deref()),
        to: first.and_then(|h| h.to.as_deref()),
        figures: histories.iter().map(figure).collect(),
        series: all.iter().map(|series| series_head(series, histories)).collect(),
        left_out: first.map(|h| h.left_out.as_slice()).unwrap_or_default(),
        home: from.home.map(str::to_owned),
    };
    let chunks = all.iter().enumerate();
    let chunks =
        chunks.map(|(i, s)| pack::chunk(format!("h{i}"), &points(s, histories, from.href))).collect();
    (Page::History { tool: Tool::this(), history }.json(), chunks)
}

fn figure(history: &History) -> HistoryFigure<'_> {
    let figure = Figure::named(history.figure).unwrap_or(DEFAULT);
    HistoryFigure {
        id: figure.name,
        title: figure.title,
        unit: history.unit,
        more_is_better: history.more_is_better,
        matters: history.matters,
        headline: words::history_headline(history, figure.title),
        method: &history.method,
    }
}

/// The same series of another figure.
fn same<'a>(series: &HistorySeries, history: &'a History) -> Option<&'a HistorySeries> {
    let is_it = |s: &&HistorySeries| {
        s.experiment == series.experiment && s.plan == series.plan && s.candidate == series.candidate
    };
    history.series.iter().find(is_it)
}

fn series_head<'a>(series: &'a HistorySeries, histories: &'a [History]) -> SeriesHead<'a> {
    let of_figure = |s: &'a HistorySeries| {
        let level = s.levels.last().map(|l| &l.estimate);
        let last = s.points.iter().rev().find_map(|p| p.estimate.as_ref());
        SeriesFigure {
            verdict: s.verdict,
            said: words::series_verdict(s),
            now: level.or(last).map(pack::short),
            changes: s.changes.iter().map(change).collect(),
        }
    };
    SeriesHead {
        experiment: &series.experiment,
        plan: &series.plan,
        candidate: &series.candidate,
        runs: series.points.len(),
        figures: histories.iter().filter_map(|h| same(series, h)).map(of_figure).collect(),
    }
}

fn change(change: &Change) -> HistoryChange<'_> {
    HistoryChange {
        index: change.index,
        at: &change.at,
        commit_before: change.commit_before.as_deref(),
        commit_after: change.commit_after.as_deref(),
        word: words::change_word(change),
        size: words::change_size(change),
        said: words::change(change),
        ratio: pack::short(&change.ratio),
        p: pack::six_digits(change.p),
        also: &change.also,
    }
}

fn points<'a>(
    series: &'a HistorySeries,
    histories: &[History],
    href: &dyn Fn(&str) -> Option<String>,
) -> HistoryPoints<'a> {
    let all = &series.points;
    let of_figure = |s: &HistorySeries| FigurePoints {
        estimates: s.points.iter().map(|p| p.estimate.as_ref().map(pack::short)).collect(),
        at_least: s.points.iter().map(|p| p.at_least).collect(),
        levels: s
            .levels
            .iter()
            .map(|l| LevelRow { first: l.first, last: l.last, estimate: pack::short(&l.estimate) })
            .collect(),
    };
    HistoryPoints {
        at: all.iter().map(|p| p.at.as_str()).collect(),
        file: all.iter().map(|p| p.file.as_str()).collect(),
        href: all.iter().map(|p| href(&p.file)).collect(),
        commit: all.iter().map(|p| p.commit.as_deref()).collect(),
        version: all.iter().map(|p| p.version.as_deref()).collect(),
        tool_version: all.iter().map(|p| p.tool_version.as_str()).collect(),
        host: all.iter().map(|p| p.host.as_str()).collect(),
        trials: all.iter().map(|p| p.trials).collect(),
        figures: histories.iter().filter_map(|h| same(series, h)).map(of_figure).collect(),
    }
}
