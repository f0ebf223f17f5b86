//! The ranking as a table that the script can sort.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_record::Estimate;

use super::svg::{color, escape};
use crate::format;
use crate::words::{self, WITHHELD};

/// A cell of a figure: what it sorts by (`None` sorts last), its markup.
struct Cell {
    sort: Option<String>,
    markup: String,
}

impl Cell {
    fn figure(sort: Option<f64>, markup: String) -> Cell {
        Cell { sort: sort.filter(|v| v.is_finite()).map(|v| v.to_string()), markup }
    }

    /// An estimate with its interval under it, or the reason why there is none.
    fn estimate(estimate: Option<&Estimate>, prefix: &str, show: impl Fn(f64) -> String) -> Cell {
        let Some(e) = estimate else { return Cell::figure(None, WITHHELD.to_owned()) };
        let under = match (e.ci_low, e.ci_high) {
            (Some(low), Some(high)) => format!("{} – {}", show(low), show(high)),
            _ => e.no_interval.as_deref().map(escape).unwrap_or_default(),
        };
        Cell::figure(Some(e.point), format!("<b>{prefix}{}</b><small>{under}</small>", show(e.point)))
    }

    fn render(&self) -> String {
        let sort = self.sort.as_deref().map(|s| format!(" data-sort=\"{}\"", escape(s))).unwrap_or_default();
        format!("<td class=\"num\"{sort}>{}</td>", self.markup)
    }
}

/// A plan's ranking.
pub(super) fn ranking(analysis: &ExperimentAnalysis, plan: &PlanAnalysis, colors: &[usize]) -> String {
    let baseline = analysis.baseline.as_deref().filter(|_| plan.rows.iter().any(|r| r.ratio.is_some()));
    let ratio = baseline.map(|b| format!("Ratio<small>× {}</small>", escape(&format::truncate(b, 16))));
    let mut heads = vec!["Rank", "Server", "Throughput<small>requests/s</small>"];
    heads.extend(ratio.as_deref());
    heads.extend([
        "p50<small>ms</small>",
        "p99<small>ms</small>",
        "CPU<small>µs/req</small>",
        "Memory<small>peak MB</small>",
        "Start-up<small>ms</small>",
        "Failed",
        "Trials<small>counted</small>",
    ]);
    let head: Vec<String> = heads.iter().map(|h| format!("<th scope=\"col\">{h}</th>")).collect();
    let mut body = String::new();
    for (row, k) in plan.rows.iter().zip(colors) {
        let cells: Vec<String> = cells(row, baseline.is_some()).iter().map(Cell::render).collect();
        let name = server(row, *k);
        let sort = escape(&row.candidate);
        // The server is the row's head; the rank stands before it.
        body.push_str(&format!(
            "<tr>{}<th scope=\"row\" data-sort=\"{sort}\">{name}</th>{}</tr>\n",
            cells[0],
            cells[1..].concat()
        ));
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Ranking, {name}\"><table class=\"sortable\">\
         <caption>Ranking: figures with their 95 % intervals</caption>\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>",
        name = escape(&plan.name),
        head = head.concat(),
    )
}

/// The label, and under it what it is.
fn server(row: &Row, k: usize) -> String {
    let mut about: Vec<String> = [Some(&row.title), row.version.as_ref(), row.language.as_ref()]
        .into_iter()
        .flatten()
        .filter(|t| !t.is_empty() && **t != row.candidate)
        .map(|t| escape(t))
        .collect();
    if let Some(workers) = row.workers {
        about.push(format::count(workers.into(), "worker", "workers").replace(' ', "&nbsp;"));
    }
    if !row.keepalive {
        about.push("no&nbsp;keep&#8209;alive".to_owned());
    }
    let mark = match words::row_mark(row) {
        "" => String::new(),
        mark => format!("&nbsp;<abbr title=\"see the remarks\">{mark}</abbr>"),
    };
    format!(
        "<span class=\"chip {}\" aria-hidden=\"true\"></span>{}{mark}<small>{}</small>",
        color(k),
        escape(&row.candidate),
        about.join(" · ")
    )
}

fn cells(row: &Row, ratio: bool) -> Vec<Cell> {
    let ms = |ns: f64| format::milliseconds(ns);
    let bound = if row.lower_bound { "≥ " } else { "" };
    let rank = row.rank.map(|(best, worst)| f64::from(best) + f64::from(worst) / 1e3);
    let mut cells = vec![
        Cell::figure(rank, words::rank(row)),
        Cell::estimate(row.requests_per_s.as_ref(), bound, format::rate),
    ];
    if ratio {
        cells.push(match &row.ratio {
            Some(e) if words::ratio(e) == "1" => Cell::figure(Some(1.0), "<b>1</b>".to_owned()),
            other => Cell::estimate(other.as_ref(), "", |v| format::significant(v, 3)),
        });
    }
    cells.push(Cell::estimate(row.p50_ns.as_ref(), "", ms));
    cells.push(match (&row.p99_ns, row.p99_censored_at_ns) {
        (None, Some(at)) => Cell::figure(Some(at as f64), escape(&words::row_p99(row))),
        (other, _) => Cell::estimate(other.as_ref(), "", ms),
    });
    cells.push(Cell::estimate(row.cpu_per_request_ns.as_ref(), "", |ns| format::significant(ns / 1e3, 3)));
    let memory = row.peak_memory_bytes.map(|b| b as f64 / 1e6);
    cells.push(Cell::figure(
        memory,
        memory.map_or_else(|| WITHHELD.to_owned(), |mb| format::significant(mb, 3)),
    ));
    cells.push(Cell::estimate(row.startup_ns.as_ref(), "", |ns| format::significant(ns / 1e6, 3)));
    cells.push(Cell::figure(Some(row.failed as f64), format::thousands(row.failed)));
    cells.push(Cell::figure(Some(f64::from(row.counted)), format!("{} of {}", row.counted, row.trials)));
    cells
}

/// What else must be known of the candidates, below their ranking.
pub(super) fn remarks(plan: &PlanAnalysis, colors: &[usize]) -> String {
    let mut items = String::new();
    for (row, k) in plan.rows.iter().zip(colors) {
        let remarks = words::row_remarks(row);
        if remarks.is_empty() {
            continue;
        }
        items.push_str(&format!(
            "<li><b>{} <span class=\"chip {}\" aria-hidden=\"true\"></span>{}</b> {}</li>",
            words::row_mark(row),
            color(*k),
            escape(&row.candidate),
            escape(&remarks.join("; "))
        ));
    }
    if items.is_empty() {
        items
    } else {
        format!("<ul class=\"remarks\" aria-label=\"Remarks\">{items}</ul>\n")
    }
}

/// Each counted trial's requests per second: the replication itself.
pub(super) fn raw(plan: &PlanAnalysis) -> String {
    let most = plan.rows.iter().map(|r| r.per_trial_requests_per_s.len()).max().unwrap_or(0);
    let head: Vec<String> = (1..=most).map(|i| format!("<th scope=\"col\">{i}</th>")).collect();
    let mut body = String::new();
    for row in &plan.rows {
        let cells: Vec<String> = (0..most)
            .map(|i| {
                let figure =
                    row.per_trial_requests_per_s.get(i).map(|v| format::rate(*v)).unwrap_or_default();
                format!("<td class=\"num\">{figure}</td>")
            })
            .collect();
        body.push_str(&format!(
            "<tr><th scope=\"row\">{}</th>{}</tr>\n",
            escape(&row.candidate),
            cells.concat()
        ));
    }
    format!(
        "<details class=\"raw\"><summary>Raw figures: requests per second of each counted trial</summary>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Raw figures\"><table>\
         <thead><tr><th scope=\"col\">Counted trial</th>{}</tr></thead>\n<tbody>\n{body}</tbody></table></div></details>",
        head.concat()
    )
}
