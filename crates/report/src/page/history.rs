//! The page of a folder of run logs: a figure over time and commits, with its changes.

use prony_analysis::figure::Figure;
use prony_analysis::history::{Change, DEFAULT, History, HistorySeries, LeftOut, Level, Point};
use prony_model::unit::Unit;
use prony_model::{Estimate, Tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::Page;
use super::data::Chunk;
use super::pack;
use super::shell::{App, NoPage};
use crate::words;

pub struct HistoryFrom<'a> {
    pub histories: &'a [History],
    pub folder: &'a str,
    /// Where the report of a run log is, by its file; `None` where there is none to link to.
    pub href: &'a dyn Fn(&str) -> Option<String>,
    /// The way to the list of runs at the root of its site, where it is a page of one.
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
    home: Option<&'a str>,
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
    now: Option<&'a Estimate>,
    changes: Vec<HistoryChange<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct HistoryChange<'a> {
    #[serde(flatten)]
    change: &'a Change,
    word: words::ChangeWord,
    /// `−20 %`.
    size: String,
    /// With its interval and the commits.
    said: String,
}

/// A series' points: the chunk `h` + index.
#[derive(Serialize, JsonSchema)]
pub(super) struct HistoryPoints<'a> {
    /// Each run, with the first figure.
    runs: Vec<HistoryRun<'a>>,
    /// By figure, in their order.
    figures: Vec<FigurePoints<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct HistoryRun<'a> {
    /// Where its report is.
    href: Option<String>,
    #[serde(flatten)]
    point: &'a Point,
}

#[derive(Serialize, JsonSchema)]
struct FigurePoints<'a> {
    estimates: Vec<Option<&'a Estimate>>,
    /// Whether the truth may be more.
    at_least: Vec<bool>,
    levels: &'a [Level],
}

pub fn history(from: &HistoryFrom<'_>) -> Result<String, NoPage> {
    let app = App::embedded()?;
    let (data, chunks) = data(from);
    Ok(app.file("History · Prony", &data, from.home, &chunks))
}

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
        home: from.home,
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
            now: level.or(last),
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
    let (word, size, said) = (words::change_word(change), words::change_size(change), words::change(change));
    HistoryChange { change, word, size, said }
}

fn points<'a>(
    series: &'a HistorySeries,
    histories: &'a [History],
    href: &dyn Fn(&str) -> Option<String>,
) -> HistoryPoints<'a> {
    let of_figure = |s: &'a HistorySeries| FigurePoints {
        estimates: s.points.iter().map(|p| p.estimate.as_ref()).collect(),
        at_least: s.points.iter().map(|p| p.at_least).collect(),
        levels: &s.levels,
    };
    HistoryPoints {
        runs: series.points.iter().map(|point| HistoryRun { href: href(&point.file), point }).collect(),
        figures: histories.iter().filter_map(|h| same(series, h)).map(of_figure).collect(),
    }
}
