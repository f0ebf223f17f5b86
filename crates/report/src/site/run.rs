//! The page of a run, and what the other pages need of it.

use std::collections::BTreeMap;
use std::path::Path;

use prony_analysis::analyse;
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::history::RunFigures;
use prony_model::Estimate;
use prony_model::run_log::RunLog;
use prony_model::trial::Trial;
use serde::Serialize;

use super::{Write, experiment_page, figures, server_page};
use crate::document::{self, Block};
use crate::export::csv;
use crate::html::{self, Head};
use crate::page::live::{RunEntry, entry_of};
use crate::page::shell::escape;
use crate::{json, runs, words};

pub(super) struct Run {
    pub(super) entry: RunEntry,
    pub(super) name: String,
    pub(super) experiment: String,
    pub(super) measured: Vec<Measured>,
    pub(super) figures: Vec<RunFigures>,
}

#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) run: String,
    pub(super) created_at: String,
    pub(super) experiment: String,
    pub(super) plan: String,
    pub(super) candidate: String,
    /// The best and the worst place that it may hold by throughput.
    pub(super) rank: Option<(u32, u32)>,
    pub(super) counted: u32,
    pub(super) trials: u32,
    pub(super) figures: BTreeMap<&'static str, Estimate>,
    /// As they are shown: rank, throughput, its interval, and the site's other figures.
    #[serde(skip)]
    pub(super) cells: Vec<String>,
}

/// Writes a run's page and data. The inner error is why the log has none.
pub(super) fn write(
    log: &RunLog,
    name: &str,
    path: &Path,
    write: Write<'_>,
) -> Result<Result<Run, String>, String> {
    let file = path.display().to_string();
    let figures = match runs::figures_of(log, &file, &figures(), None) {
        Ok(figures) => figures,
        Err(why) => return Ok(Err(why)),
    };
    let analysis = analyse(log);
    let mut entry = entry_of(&analysis, !log.header.one_by_one, &file);
    entry.href = format!("runs/{name}.html");
    let (body, json, csv) = if log.header.one_by_one { single(log, &mut entry) } else { whole(&analysis) };
    let experiment = log.header.name.clone();
    let about = format!(
        "<p class=\"dim\">{} · experiment {}</p>\n",
        escape(&words::minute(&entry.created_at)),
        html::link(&format!("../{}", experiment_page(&experiment)), &experiment)
    );
    let data = format!(
        "<h2>Data</h2>\n<p>{}, {}; the run log is <code>{}</code>.</p>\n",
        html::link(&format!("../data/runs/{name}.json"), "JSON"),
        html::link(&format!("../data/runs/{name}.csv"), "CSV"),
        escape(&path.file_name().unwrap_or_default().to_string_lossy()),
    );
    let description = if entry.headline.is_empty() { &entry.trials } else { &entry.headline };
    let head = Head { title: &entry.title, description, root: "../" };
    write(&entry.href, &html::page(&head, &format!("{about}{body}{data}")))?;
    write(&format!("data/runs/{name}.json"), &json)?;
    write(&format!("data/runs/{name}.csv"), &csv)?;
    let of_plan = |plan: &PlanAnalysis| -> Vec<Measured> {
        plan.rows.iter().map(|row| measured(row, plan, &experiment, name, &entry.created_at)).collect()
    };
    let measured = analysis.plans.iter().flat_map(of_plan).collect();
    Ok(Ok(Run { entry, name: name.to_owned(), experiment, measured, figures }))
}

fn servers(label: &str) -> Option<String> {
    Some(format!("../{}", server_page(label)))
}

fn whole(analysis: &ExperimentAnalysis) -> (String, String, String) {
    let (answer, details) = document::run(analysis);
    let body = html::blocks(&answer, &servers) + "<h2>Conditions</h2>\n" + &html::blocks(&details, &servers);
    (body, json::pretty(analysis), csv::experiment(analysis))
}

/// The same of single loads and searches. Where there is one, the page is about it.
fn single(log: &RunLog, entry: &mut RunEntry) -> (String, String, String) {
    let mut trials: Vec<(String, Trial)> = Vec::new();
    for result in &log.results {
        trials.extend(result.trial.clone().map(|trial| (result.planned.name(), trial)));
    }
    if let [(_, one)] = trials.as_slice() {
        entry.title = format!("{}: {}", one.target.url, words::plan_line(one));
        entry.headline = match log.results.iter().find_map(|result| result.capacity.as_ref()) {
            Some(found) => words::capacity(found),
            None => words::trial_line(one),
        };
    }
    let title = Block::Title(entry.title.clone());
    let body =
        html::blocks(&std::iter::once(title).chain(document::trials(log)).collect::<Vec<_>>(), &servers);
    let all: Vec<&Trial> = trials.iter().map(|(_, trial)| trial).collect();
    (body, json::pretty(&all), csv::trials(&trials))
}

fn measured(row: &Row, plan: &PlanAnalysis, experiment: &str, run: &str, created_at: &str) -> Measured {
    let estimate =
        |figure: prony_analysis::figure::Figure| Some((figure.field, row.figures[figure].estimate.clone()?));
    let pm = row.throughput().and_then(words::plus_minus).unwrap_or_default();
    let others = figures().into_iter().skip(1).map(|figure| words::row_figure(row, figure));
    Measured {
        run: run.to_owned(),
        created_at: created_at.to_owned(),
        experiment: experiment.to_owned(),
        plan: plan.name.clone(),
        candidate: row.candidate.clone(),
        rank: row.rank(),
        counted: row.counted,
        trials: row.trials,
        figures: figures().into_iter().filter_map(estimate).collect(),
        cells: [words::rank(row), words::row_rate(row), pm].into_iter().chain(others).collect(),
    }
}
