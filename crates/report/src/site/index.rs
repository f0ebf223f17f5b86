//! The list of what the site has.

use std::collections::BTreeMap;

use prony_analysis::history::LeftOut;

use super::run::{Measured, Run};
use super::{Write, experiment_page, server_page};
use crate::export::csv;
use crate::html::{self, Head};
use crate::page::live::RunEntry;
use crate::page::shell::escape;
use crate::terminal::Align::{Left, Right};
use crate::{format, json, words};

pub(super) fn write(
    runs: &[Run],
    servers: &BTreeMap<&str, Vec<&Measured>>,
    left_out: &[LeftOut],
    write: Write<'_>,
) -> Result<(), String> {
    let mut experiments: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in runs {
        experiments.entry(&run.experiment).or_default().push(run);
    }
    let count = |n: usize, one, several| format::count(n as u64, one, several);
    let said = format!(
        "{} of {}, {}",
        count(runs.len(), "run", "runs"),
        count(experiments.len(), "experiment", "experiments"),
        count(servers.len(), "server", "servers")
    );
    let mut body = format!("<h1>HTTP servers, measured</h1>\n<p class=\"answer\">{said}</p>\n");
    body.push_str(&left_out_of(left_out));
    body.push_str("<h2 id=\"experiments\">Experiments</h2>\n");
    body.push_str(&experiments_of(&experiments));
    body.push_str("<h2 id=\"servers\">Servers</h2>\n");
    body.push_str(&servers_of(servers));
    body.push_str("<h2 id=\"runs\">Runs</h2>\n");
    body.push_str(&runs_of(runs));
    body.push_str(
        "<h2>Data</h2>\n<p><a href=\"data/runs.json\">JSON</a>, <a href=\"data/runs.csv\">CSV</a></p>\n",
    );
    let description = format!("{said}, each with throughput, response times, costs and 95 % intervals");
    let head = Head { title: "HTTP servers, measured", description: &description, root: "" };
    write("index.html", &html::page(&head, &body))?;
    let failed = |LeftOut { file, why }: &LeftOut| RunEntry {
        file: file.clone(),
        failure: Some(why.clone()),
        ..RunEntry::default()
    };
    let all: Vec<RunEntry> =
        runs.iter().map(|run| run.entry.clone()).chain(left_out.iter().map(failed)).collect();
    write("data/runs.json", &json::pretty(&all))?;
    write("data/runs.csv", &lines(&all))
}

fn left_out_of(left_out: &[LeftOut]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let rows = left_out.iter().map(|left| vec![escape(&left.file), escape(&left.why)]);
    let title = format!("Left out: {}", format::count(left_out.len() as u64, "file", "files"));
    html::table(&title, &[("file", Left), ("why", Left)], 0, rows)
}

fn experiments_of(experiments: &BTreeMap<&str, Vec<&Run>>) -> String {
    let rows = experiments.iter().filter_map(|(name, runs)| {
        let last = &runs.first()?.entry;
        Some(vec![
            html::link(&experiment_page(name), name),
            escape(&last.title),
            runs.len().to_string(),
            html::link(&last.href, &words::minute(&last.created_at)),
            escape(&last.headline),
        ])
    });
    let columns =
        [("experiment", Left), ("about", Left), ("runs", Right), ("last run", Left), ("its answer", Left)];
    html::table("Experiments", &columns, 0, rows)
}

fn servers_of(servers: &BTreeMap<&str, Vec<&Measured>>) -> String {
    let rows = servers.iter().filter_map(|(server, all)| {
        let last = all.first()?;
        let mut runs: Vec<&str> = all.iter().map(|one| one.run.as_str()).collect();
        runs.dedup();
        Some(vec![
            html::link(&server_page(server), server),
            runs.len().to_string(),
            html::link(&format!("runs/{}.html", last.run), &words::minute(&last.created_at)),
        ])
    });
    html::table("Servers", &[("server", Left), ("runs", Right), ("last run", Left)], 0, rows)
}

fn runs_of(runs: &[Run]) -> String {
    let rows = runs.iter().map(|run| {
        let entry = &run.entry;
        vec![
            html::link(&entry.href, &words::minute(&entry.created_at)),
            html::link(&experiment_page(&run.experiment), &run.experiment),
            escape(&entry.title),
            escape(&entry.headline),
            escape(&entry.trials),
        ]
    });
    let columns = [("run", Left), ("experiment", Left), ("about", Left), ("answer", Left), ("trials", Left)];
    html::table("Runs, the newest first", &columns, 0, rows)
}

fn lines(all: &[RunEntry]) -> String {
    let mut out = csv::line(["href", "file", "created_at", "title", "headline", "trials", "failure"]);
    for entry in all {
        let failure = csv::optional(entry.failure.as_ref());
        let fields =
            [&entry.href, &entry.file, &entry.created_at, &entry.title, &entry.headline, &entry.trials];
        out.push_str(&csv::line(fields.into_iter().chain([&failure])));
    }
    out
}
