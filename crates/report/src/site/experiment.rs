//! The page of an experiment: its runs over time, each candidate under each plan.

use std::collections::{BTreeMap, BTreeSet};

use prony_analysis::history::{History, HistorySeries, LeftOut, Point};

use super::run::Run;
use super::{Write, experiment_page, page_name, server_page};
use crate::document::plots;
use crate::export::csv;
use crate::html::{self, Head};
use crate::page::shell::escape;
use crate::terminal::Align::{Left, Right};
use crate::words::{self, ChangeWord};
use crate::{format, json};

/// Runs of a table at most, the newest; the data have all.
const ROWS_MAX: usize = 50;

pub(super) fn write(name: &str, runs: &[Run], histories: &[History], write: Write<'_>) -> Result<(), String> {
    let own: Vec<&Run> = runs.iter().filter(|run| run.experiment == name).collect();
    let histories: Vec<History> = histories.iter().map(|history| of(name, history, own.len())).collect();
    let Some((throughput, others)) = histories.split_first() else { return Ok(()) };
    let headline = words::history_headline(throughput, throughput.figure);
    let title = own.first().map_or(name, |run| run.entry.title.as_str());
    let data = format!("data/experiments/{}", page_name(name));
    let mut body = format!(
        "<h1>{}</h1>\n<p class=\"dim\">Experiment {}</p>\n<p class=\"answer\"><strong>{}</strong></p>\n{}",
        escape(title),
        escape(name),
        escape(&headline),
        runs_of(name, &own)
    );
    let by_file: BTreeMap<&str, &Run> = own.iter().map(|run| (run.entry.file.as_str(), *run)).collect();
    let plans: BTreeSet<&str> = throughput.series.iter().map(|series| series.plan.as_str()).collect();
    for plan in plans {
        body.push_str(&of_plan(plan, throughput, others, &by_file));
    }
    body.push_str(&format!(
        "<h2>Method and data</h2>\n<p class=\"dim\">{}</p>\n<p>{}, {}</p>\n",
        escape(&throughput.method),
        html::link(&format!("../{data}.json"), "JSON"),
        html::link(&format!("../{data}.csv"), "CSV"),
    ));
    let head = Head { title, description: &headline, root: "../" };
    write(&experiment_page(name), &html::page(&head, &body))?;
    write(&format!("{data}.json"), &json::pretty(&histories))?;
    write(&format!("{data}.csv"), &lines(&histories))
}

fn of(name: &str, history: &History, runs: usize) -> History {
    let is_own = |series: &&HistorySeries| series.experiment.trim_end_matches(" --duet") == name;
    let series: Vec<HistorySeries> = history.series.iter().filter(is_own).cloned().collect();
    let mut times: Vec<&String> = series.iter().flat_map(|s| &s.points).map(|point| &point.at).collect();
    times.sort();
    let (from, to) = (times.first().map(|at| (*at).clone()), times.last().map(|at| (*at).clone()));
    let left_out: Vec<LeftOut> = Vec::new();
    // But for the series, which are many.
    let History { schema, figure, unit, more_is_better, matters, .. } = *history;
    let method = history.method.clone();
    History {
        schema,
        figure,
        relative_to: None,
        unit,
        more_is_better,
        matters,
        runs,
        from,
        to,
        series,
        left_out,
        method,
    }
}

fn runs_of(name: &str, own: &[&Run]) -> String {
    let rows = own.iter().map(|run| {
        let entry = &run.entry;
        vec![
            html::link(&format!("../{}", entry.href), &words::minute(&entry.created_at)),
            escape(&entry.headline),
            escape(&entry.trials),
        ]
    });
    html::table(&format!("Runs of {name}"), &[("run", Left), ("answer", Left), ("trials", Left)], 0, rows)
}

fn of_plan(plan: &str, throughput: &History, others: &[History], by_file: &BTreeMap<&str, &Run>) -> String {
    let series: Vec<&HistorySeries> = throughput.series.iter().filter(|s| s.plan == plan).collect();
    let mut out = format!("<h2>{}</h2>\n", escape(plan));
    let rows = series.iter().map(|series| {
        let last = series.points.iter().rev().find(|point| point.estimate.is_some());
        let pm = last.and_then(|point| words::plus_minus(point.estimate.as_ref()?)).unwrap_or_default();
        let now = last.map_or(words::WITHHELD.to_owned(), |point| words::point(throughput, point));
        vec![
            html::link(&format!("../{}", server_page(&series.candidate)), &series.candidate),
            series.points.len().to_string(),
            escape(&now),
            escape(&pm),
            escape(&words::series_verdict(series)),
        ]
    });
    let columns = [("server", Left), ("runs", Right), ("last", Right), ("±95 %", Right), ("changes", Left)];
    out.push_str(&html::table(&format!("Throughput under {plan}"), &columns, 0, rows));
    let changes: String = std::iter::once(throughput)
        .chain(others)
        .flat_map(|history| history.series.iter().filter(|s| s.plan == plan).map(move |s| (history, s)))
        .flat_map(|(history, s)| s.changes.iter().map(move |change| (history, s, change)))
        .map(|(history, series, change)| {
            let (word, class) = match words::change_word(change) {
                ChangeWord::Worse => ("WORSE", "bad"),
                ChangeWord::Better => ("better", "good"),
                ChangeWord::Small => ("small", "dim"),
            };
            let also = change.also.iter().map(|also| format!("; also changed: {}", escape(also)));
            let said = format!("{}, {}: {}", history.figure, series.candidate, words::change(change));
            format!(
                "<li><span class=\"{class}\">{word}</span> {}{}</li>\n",
                escape(&said),
                also.collect::<String>()
            )
        })
        .collect();
    if !changes.is_empty() {
        out.push_str(&format!("<ul>\n{changes}</ul>\n"));
    }
    let plots = series.iter().filter_map(|series| plots::of_history(throughput, series));
    let plots: String = plots.map(|plot| html::figure(&plot)).collect();
    if !plots.is_empty() {
        out.push_str(&format!("<div class=\"plots\">{plots}</div>\n"));
        out.push_str(&by_run(plan, throughput, &series, by_file));
    }
    out
}

fn by_run(
    plan: &str,
    history: &History,
    series: &[&HistorySeries],
    by_file: &BTreeMap<&str, &Run>,
) -> String {
    let mut rows: BTreeMap<(&str, &str), Vec<Option<&Point>>> = BTreeMap::new();
    for (column, one) in series.iter().enumerate() {
        for point in &one.points {
            let row = rows.entry((&point.at, &point.file)).or_insert_with(|| vec![None; series.len()]);
            row[column] = Some(point);
        }
    }
    let columns = std::iter::once(("run", Left)).chain(series.iter().map(|s| (s.candidate.as_str(), Right)));
    let columns: Vec<_> = columns.collect();
    let all = rows.len();
    let shown = if all > ROWS_MAX {
        format!(", the newest {ROWS_MAX} of {}", format::thousands(all as u64))
    } else {
        String::new()
    };
    let rows = rows.iter().rev().take(ROWS_MAX).map(|((at, file), points)| {
        let at = words::minute(at);
        let run = by_file
            .get(file)
            .map_or_else(|| escape(&at), |run| html::link(&format!("../{}", run.entry.href), &at));
        let cell = |point: &Option<&Point>| {
            let Some(point) = point else { return words::WITHHELD.to_owned() };
            let pm = point.estimate.as_ref().map(words::spaced_plus_minus).unwrap_or_default();
            escape(&format!("{}{pm}", words::point(history, point)))
        };
        std::iter::once(run).chain(points.iter().map(cell)).collect()
    });
    html::table(&format!("Throughput of each run under {plan}{shown}"), &columns, 0, rows)
}

fn lines(histories: &[History]) -> String {
    let head = [
        "figure",
        "unit",
        "plan",
        "candidate",
        "at",
        "file",
        "commit",
        "version",
        "value",
        "ci_low",
        "ci_high",
        "at_least",
        "trials",
    ];
    let mut out = csv::line(head);
    for history in histories {
        for series in &history.series {
            for point in &series.points {
                let estimate = point.estimate.as_ref();
                out.push_str(&csv::line([
                    history.figure.to_owned(),
                    history.unit.stored().to_owned(),
                    series.plan.clone(),
                    series.candidate.clone(),
                    point.at.clone(),
                    point.file.clone(),
                    csv::optional(point.commit.as_ref()),
                    csv::optional(point.version.as_ref()),
                    csv::optional(estimate.map(|estimate| estimate.point)),
                    csv::optional(estimate.and_then(|estimate| estimate.ci_low)),
                    csv::optional(estimate.and_then(|estimate| estimate.ci_high)),
                    point.at_least.to_string(),
                    point.trials.to_string(),
                ]));
            }
        }
    }
    out
}
