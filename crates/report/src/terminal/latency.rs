//! A trial's percentiles as a table, and which are withheld.

use prony_model::trial::{Summary, Trial};

use super::table::{Align, Table};
use crate::format;
use crate::words;

pub(super) fn table(trial: &Trial, width: usize) -> Vec<String> {
    let mut shown = words::shown_percentiles(trial, |figure| figure.in_trial);
    let rows = rows(trial);
    // What no row has stands below the table, with the length that it needs; the headline's own are always there.
    let is_had = |field: &str| rows.iter().any(|row| row.summary.percentile(field).is_some());
    shown.retain(|field| ["p50_ns", "p99_ns"].contains(field) || is_had(field));
    let build = |column: usize, notes: bool| {
        let mut columns = vec![(Align::Left, 9)];
        columns.extend(vec![(Align::Right, column); shown.len() + 2]);
        columns.push((Align::Left, 0));
        let mut table = Table::new(&columns);
        let mut head = vec!["ms".to_owned()];
        head.extend(shown.iter().map(|field| words::percentile(field).to_owned()));
        head.extend(["max".to_owned(), "mean".to_owned()]);
        table.row(head);
        for (i, row) in rows.iter().enumerate() {
            let mut cells = cells(row, &shown, notes);
            let mark =
                if i == 0 { words::headline_mark(trial) } else { words::figure_mark(trial, row.field) };
            cells[0].push_str(mark);
            table.row(cells);
            if let (0, Some(widths)) = (i, half_widths(row.summary, &shown)) {
                table.row(widths);
            }
        }
        table.lines()
    };
    let fits = |lines: &Vec<String>| lines.iter().all(|line| line.chars().count() <= width);
    // Long figures leave no room for the notes at the right; the figures matter more.
    [(8, true), (7, true), (8, false)]
        .into_iter()
        .map(|(column, notes)| build(column, notes))
        .find(fits)
        .unwrap_or_else(|| build(7, false))
}

struct TableRow<'a> {
    label: &'static str,
    field: &'static str,
    summary: &'a Summary,
    note: String,
}

/// The rows: waits that never happened have none.
fn rows(trial: &Trial) -> Vec<TableRow<'_>> {
    let latency = &trial.latency;
    let happened = |summary: &Summary| summary.max_ns.unwrap_or(0) > 0 || summary.p50_ns.unwrap_or(0) > 0;
    let (name, head) = words::headline(trial);
    let clock = words::clock(head.clock).to_owned();
    let mut rows = vec![TableRow { label: name, field: name, summary: head, note: clock }];
    let mut add = |label, field, summary, note: &str| {
        rows.push(TableRow { label, field, summary, note: note.to_owned() });
    };
    if name == "response" {
        add("service", "service", &latency.service, "");
        if trial.plan.rate_per_s.is_some() || trial.plan.replay.is_some() {
            add("wait", "connection_wait", &latency.connection_wait, "for a connection");
        }
        if happened(&latency.connect_wait) {
            add("connect", "connect_wait", &latency.connect_wait, "");
        }
    }
    if happened(&latency.first_byte) {
        add("1st byte", "service", &latency.first_byte, "part of service");
    }
    if let Some(delay) = &latency.client_delay {
        add("client", "client_delay", delay, "client's own delay");
    }
    rows
}

fn cells(row: &TableRow<'_>, shown: &[&str], notes: bool) -> Vec<String> {
    let mut cells = vec![row.label.to_owned()];
    cells.extend(shown.iter().map(|field| words::percentile_cell(row.summary, field)));
    cells.extend([row.summary.max_ns, row.summary.mean_ns].map(words::milliseconds_cell));
    if notes {
        cells.push(format!(" {}", row.note));
    }
    cells
}

/// Half the width of each percentile's 95 % interval, and of the mean's; `None` when there is none.
fn half_widths(summary: &Summary, shown: &[&str]) -> Option<Vec<String>> {
    if summary.ci95.is_empty() {
        return None;
    }
    let half = |value: Option<u64>, field: &str| match (value, summary.ci95.get(field)) {
        (Some(_), Some((low, Some(high)))) => {
            format::milliseconds_half_width(high.saturating_sub(*low) as f64 / 2.0)
        }
        (Some(_), Some((_, None))) => "∞".to_owned(),
        _ => String::new(),
    };
    let mut cells = vec!["  95 % ±".to_owned()];
    cells.extend(shown.iter().map(|field| half(summary.percentile(field), field)));
    if summary.ci95.contains_key("mean_ns") {
        cells.extend([String::new(), half(summary.mean_ns, "mean_ns")]);
    }
    Some(cells)
}

/// Which figures' intervals have no upper end, where they begin, and why.
pub(super) fn unbounded(trial: &Trial) -> Option<String> {
    let (_, summary) = words::headline(trial);
    let shown = words::shown_percentiles(trial, |figure| figure.in_trial).into_iter().chain(["mean_ns"]);
    let open =
        shown.filter_map(|field| Some((field, summary.ci95.get(field)?.0, summary.unbounded.get(field)?)));
    let open: Vec<(&str, u64, &String)> = open.collect();
    let each = open.iter().map(|(field, low, _)| {
        let name = if *field == "mean_ns" { "the mean" } else { words::percentile(field) };
        format!("{name} (from {})", format::duration(*low as f64))
    });
    let why = open.first()?.2;
    Some(format!("no upper end for {}: {why}", each.collect::<Vec<_>>().join(", ")))
}

/// Which percentiles are withheld, and the `-d` that each needs; stages have no `-d`, but a length.
pub(super) fn withheld(trial: &Trial) -> Option<String> {
    let (_, summary) = words::headline(trial);
    let longer = |needs_ns: u64| match trial.plan.stages.as_slice() {
        [] if trial.plan.replay.is_some() => {
            format!("replay a longer part of the log, {}", format::flag_seconds(needs_ns))
        }
        [] => format!("use -d {}", format::flag_seconds(needs_ns)),
        _ => {
            let whole_ns = needs_ns.saturating_add(trial.window.warmup_ns);
            format!("use longer stages, {} in total", format::flag_seconds(whole_ns))
        }
    };
    let missing: Vec<(&str, u64)> = words::shown_percentiles(trial, |figure| figure.in_trial)
        .into_iter()
        .filter(|field| summary.percentile(field).is_none())
        .filter_map(|field| Some((field, *summary.needs_duration_ns.get(field)?)))
        .collect();
    match missing.as_slice() {
        [] => None,
        [(field, needs)] => {
            let name = words::percentile(field);
            let flag = longer(*needs);
            Some(match samples_beyond(summary, field) {
                Some(n) => format!("{name} needs 100 samples beyond it and has {n}: {flag}"),
                None => format!("{name} has too few samples beyond it: {flag}"),
            })
        }
        many => {
            let each: Vec<String> = many
                .iter()
                .map(|(field, needs)| format!("{} ({})", words::percentile(field), longer(*needs)))
                .collect();
            Some(format!("fewer than 100 samples beyond {}", each.join(", ")))
        }
    }
}

/// How many of a summary's requests lie beyond a percentile.
fn samples_beyond(summary: &Summary, field: &str) -> Option<u64> {
    let (_, quantile) = prony_model::trial::PERCENTILES.iter().find(|(name, _)| *name == field)?;
    // A count times a share of it: never negative, never above the count.
    Some((summary.count as f64 * (1.0 - quantile)).round() as u64)
}
