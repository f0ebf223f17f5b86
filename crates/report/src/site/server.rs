//! The page of a server: all its runs, with all its settings.

use prony_analysis::history::History;

use super::run::Measured;
use super::{Write, experiment_page, figures, page_name, server_page};
use crate::document::plots;
use crate::export::csv;
use crate::html::{self, Head};
use crate::page::shell::escape;
use crate::terminal::Align::{Left, Right};
use crate::{format, json, words};

/// Rows of the table at most, the newest; the data have all.
const ROWS_MAX: usize = 500;
/// Plots at most.
const PLOTS_MAX: usize = 24;

pub(super) fn write(
    server: &str,
    measured: &[&Measured],
    histories: &[History],
    write: Write<'_>,
) -> Result<(), String> {
    let data = format!("data/servers/{}", page_name(server));
    let body = format!(
        "<h1>{}</h1>\n{}{}<h2>Data</h2>\n<p>{}, {}</p>\n",
        escape(server),
        table(server, measured),
        history(server, histories),
        html::link(&format!("../{data}.json"), "JSON"),
        html::link(&format!("../{data}.csv"), "CSV"),
    );
    let description = format!(
        "{server}: its throughput, response times and costs in {}",
        format::count(measured.len() as u64, "measurement", "measurements")
    );
    let head = Head { title: server, description: &description, root: "../" };
    write(&server_page(server), &html::page(&head, &body))?;
    write(&format!("{data}.json"), &json::pretty(&measured))?;
    write(&format!("{data}.csv"), &lines(measured))
}

fn table(server: &str, measured: &[&Measured]) -> String {
    let mut columns = vec![("server", Left), ("run", Left), ("experiment", Left), ("plan", Left)];
    columns.extend([("rank", Left), ("req/s", Right), ("±95 %", Right)]);
    columns.extend(figures().into_iter().skip(1).map(|figure| (figure.head, Right)));
    columns.push(("trials", Right));
    let rows = measured.iter().take(ROWS_MAX).map(|one| {
        let mut cells = vec![
            escape(&one.candidate),
            html::link(&format!("../runs/{}.html", one.run), &words::minute(&one.created_at)),
            html::link(&format!("../{}", experiment_page(&one.experiment)), &one.experiment),
            escape(&one.plan),
        ];
        cells.extend(one.cells.iter().map(|cell| escape(cell)));
        cells.push(format!("{}/{}", one.counted, one.trials));
        cells
    });
    let all = measured.len();
    let shown = if all > ROWS_MAX {
        format!(", the newest {ROWS_MAX} of {}", format::thousands(all as u64))
    } else {
        String::new()
    };
    html::table(&format!("{server} in all its runs{shown}"), &columns, 0, rows)
}

fn history(server: &str, histories: &[History]) -> String {
    let Some(history) = histories.first() else { return String::new() };
    let own = history.series.iter().filter(|series| words::parts(&series.candidate).0 == server);
    let plots = own.filter_map(|series| {
        let mut plot = plots::of_history(history, series)?;
        plot.title = format!("{}, {}", plot.title, series.experiment);
        Some(html::figure(&plot))
    });
    let plots: String = plots.take(PLOTS_MAX).collect();
    if plots.is_empty() { plots } else { format!("<h2>Over time</h2>\n<div class=\"plots\">{plots}</div>\n") }
}

fn lines(measured: &[&Measured]) -> String {
    let head = [
        "run",
        "created_at",
        "experiment",
        "plan",
        "candidate",
        "rank_best",
        "rank_worst",
        "counted",
        "trials",
    ];
    let ends = |field: &str| [field.to_owned(), format!("{field}_ci_low"), format!("{field}_ci_high")];
    let figures = figures();
    let fields = figures.iter().flat_map(|figure| ends(figure.field));
    let mut out = csv::line(head.map(str::to_owned).into_iter().chain(fields));
    for one in measured {
        let mut cells =
            vec![one.run.clone(), one.created_at.clone(), one.experiment.clone(), one.plan.clone()];
        cells.extend([
            one.candidate.clone(),
            csv::optional(one.rank.map(|rank| rank.0)),
            csv::optional(one.rank.map(|rank| rank.1)),
            one.counted.to_string(),
            one.trials.to_string(),
        ]);
        for figure in &figures {
            let found = one.figures.get(figure.field);
            cells.push(csv::optional(found.map(|estimate| estimate.point)));
            cells.push(csv::optional(found.and_then(|estimate| estimate.ci_low)));
            cells.push(csv::optional(found.and_then(|estimate| estimate.ci_high)));
        }
        out.push_str(&csv::line(cells));
    }
    out
}
