//! The source's tables with ours beside them, as Markdown.

use prony_analysis::figure::Figure;
use prony_model::published::FIGURES;
use serde_json::Value;

use super::Replication;
use super::page::{cell, escaped, estimate, list, number, words};
use crate::page;

/// Figures of a table: each takes two columns, the source's and ours.
const COLUMNS: usize = 4;
/// Shown of every plan, whether the source printed it or not.
const OWN: [&str; 2] = ["requests_per_s", "p99_ms"];
/// What a plan's ratios are of: the first that the source printed under it, or else under any; of a search the rate.
const RATIOS: [&str; 4] = ["requests_per_s", "p99_ms", "p50_ms", "mean_ms"];

struct Column {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Its field here, and how many of ours are one of theirs; none of what is no figure over trials, since counts and
    /// maxima grow with a load's length.
    ours: Option<(&'static str, f64)>,
}

impl Column {
    fn is_ours(&self) -> bool {
        self.ours.is_some() || self.key == "peak_requests_per_s"
    }

    fn head(&self) -> String {
        format!("{} {}", self.title, self.unit).trim_end().to_owned()
    }
}

fn columns() -> Vec<Column> {
    let own = |key| {
        Figure::all().find_map(|figure| {
            let (theirs, per) = figure.published?;
            (theirs == key).then_some((figure.field, per))
        })
    };
    let column = |(key, title, unit): &(&'static str, &'static str, &'static str)| Column {
        key,
        title,
        unit,
        ours: own(*key),
    };
    FIGURES.iter().map(column).collect()
}

/// Of each plan, all that the source printed under it and what was measured here.
pub(super) fn tables(run: &Replication) -> String {
    let mut text = "\n## Its figures and ours\n\nEvery figure that it printed, and ours with their 95 % intervals, \
                    where it is one over trials: counts and maxima grow with the length of a load. `?` marks a figure \
                    of the source that is in doubt.\n"
        .to_owned();
    let all = list(&run.header["published"]["rows"]);
    for plan in list(&run.analysis["plans"]) {
        let mut rows = list(&plan["rows"]);
        let is_printed = |key: &str| rows.iter().any(|row| printed(row, key).is_some());
        let is_of_source = |key: &&str| all.iter().any(|row| row["figures"][key].is_number());
        let elsewhere =
            || RATIOS.into_iter().find(is_of_source).filter(|_| planned(run, &plan)["capacity"].is_null());
        let ratio = RATIOS.into_iter().find(|key| is_printed(key)).or_else(elsewhere).unwrap_or(RATIOS[0]);
        let shown = |column: Column| {
            let there = is_printed(column.key);
            (there || OWN.contains(&column.key)).then_some((column, there))
        };
        let columns: Vec<(Column, bool)> = columns().into_iter().filter_map(shown).collect();
        let first = columns.iter().find(|(_, there)| *there).map_or(OWN[0], |(column, _)| column.key);
        rows.sort_by(|a, b| {
            let figure = |row: &Value| printed(row, first).unwrap_or(f64::NEG_INFINITY);
            figure(b).total_cmp(&figure(a))
        });
        let cores = Cores::of(run);
        text.push_str(&format!(
            "\n### {}: {}{}\n",
            words(&plan["name"]),
            describe(&plan),
            workers(run, &plan)
        ));
        for (part, columns) in columns.chunks(COLUMNS).enumerate() {
            text.push_str(&table(run, &rows, columns, (part == 0).then_some(ratio), &cores));
        }
        text.push_str(&cores.said());
    }
    text
}

/// The plan of this name as the run log's header has it.
fn planned(run: &Replication, plan: &Value) -> Value {
    list(&run.header["plans"]).into_iter().find(|one| one["name"] == plan["name"]).unwrap_or_default()
}

fn printed(row: &Value, key: &str) -> Option<f64> {
    row["published"]["figures"][key].as_f64()
}

/// `: php-pm 8, workerman 4, the others 1`, under a plan with the source's workers.
fn workers(run: &Replication, plan: &Value) -> String {
    if planned(run, plan)["workers"] != "source" {
        return String::new();
    }
    let mut known: Vec<String> = list(&run.header["published"]["rows"])
        .iter()
        .filter_map(|row| Some(format!("{} {}", words(&row["candidate"]), row["workers"].as_u64()?)))
        .collect();
    known.sort();
    known.dedup();
    format!(
        " ({}; it names no number of the others, which have as many as the run's other plans)",
        known.join(", ")
    )
}

/// The servers' cores here and there, where the source says how many they had.
struct Cores {
    here: usize,
    there: Option<u64>,
    cpus: u64,
}

impl Cores {
    fn of(run: &Replication) -> Cores {
        let there =
            run.header["published"]["facts"]["server_cores"].as_str().and_then(|text| text.parse().ok());
        let cpus = run.analysis["host"]["cpus_online"].as_u64().unwrap_or(0);
        Cores { here: list(&run.analysis["server_cpus"]).len(), there, cpus }
    }

    /// The source's number, where ours is another.
    fn missing(&self) -> Option<u64> {
        self.there.filter(|there| *there != self.here as u64)
    }

    fn said(&self) -> String {
        let Some(there) = self.missing() else { return String::new() };
        format!(
            "\nWith {there} cores for the server, as in the source, it was not run: this machine has {} CPUs, and the client \
             needs one. `--server-cores {there}` runs it on a machine with more.\n",
            self.cpus
        )
    }
}

/// Some columns of a plan's table; the first part has the ratios of a figure, and what became of trials, too.
fn table(
    run: &Replication,
    rows: &[Value],
    columns: &[(Column, bool)],
    ratio: Option<&str>,
    cores: &Cores,
) -> String {
    let mut head = vec!["server".to_owned(), "source's name".to_owned()];
    let of_cores = |column: &Column| cores.missing().filter(|_| column.key == OWN[0]);
    for (column, there) in columns {
        let title = column.head();
        let [cores_there, cores_here] = match of_cores(column) {
            Some(there) => [format!(", {there} cores"), format!(", {} core", cores.here)],
            None => [String::new(), String::new()],
        };
        match (*there, column.is_ours()) {
            (true, true) => {
                head.extend([format!("{title}, source{cores_there}"), format!("measured{cores_here}")]);
            }
            (true, false) => head.push(format!("{title}, source")),
            (false, _) => head.push(format!("{title}, measured{cores_here}")),
        }
        head.extend(of_cores(column).map(|there| format!("measured, {there} cores")));
    }
    let right = head.len() - 2;
    if let Some(key) = ratio {
        head.push(format!("× of {}, source", title(key)));
        head.extend((key == OWN[0]).then(|| "×, measured".to_owned()));
        head.push(String::new());
    }
    let rules = [
        vec![":--"; 2],
        vec!["--:"; right],
        match ratio {
            Some(key) if key == OWN[0] => vec!["--:", "--:", ":--"],
            Some(_) => vec!["--:", ":--"],
            None => Vec::new(),
        },
    ];
    let base = rows.iter().find(|row| row["candidate"] == run.analysis["baseline"]);
    let rows = rows.iter().map(|row| {
        let mut cells = vec![cell(&row["candidate"]), cell(&row["published"]["name"])];
        for (column, there) in columns {
            let theirs = printed(row, column.key).map(|value| number(value) + doubt(row));
            cells.extend(there.then(|| theirs.unwrap_or_else(none)));
            cells.extend(column.is_ours().then(|| ours(row, column)));
            cells.extend(of_cores(column).map(|_| none()));
        }
        if let Some(key) = ratio {
            cells.push(ratio_there(row, base, key));
            // Of times a run has no interval for such a ratio, but in a conclusion about it.
            cells.extend((key == OWN[0]).then(|| estimate(&row["ratio"], 1.0).unwrap_or_else(none)));
            cells.push(outcomes(row));
        }
        cells
    });
    format!("\n{}", page::table(head.join(" | ").trim_end(), &rules.concat().join("|"), rows))
}

pub(super) fn none() -> String {
    page::NONE.to_owned()
}

fn doubt(row: &Value) -> &'static str {
    if row["published"]["doubt"].is_string() { " ?" } else { "" }
}

fn title(key: &str) -> &'static str {
    columns().into_iter().find(|column| column.key == key).map_or("", |column| column.title)
}

/// The source's figure over that of its row of the baseline; none where either is in doubt.
fn ratio_there(row: &Value, base: Option<&Value>, key: &str) -> String {
    let trusted = |row: &Value| printed(row, key).filter(|value| *value > 0.0 && doubt(row).is_empty());
    let ratio = trusted(row).zip(base.and_then(trusted)).map(|(own, base)| number(own / base));
    ratio.unwrap_or_else(none)
}

fn describe(plan: &Value) -> String {
    escaped(words(&plan["describe"]))
}

/// Our figure, where a row has it; beside a source's peak, the highest second of a trial, on average.
fn ours(row: &Value, column: &Column) -> String {
    let Some((field, per)) = column.ours else {
        let highest = list(&row["series"]).iter().map(highest_second).collect::<Vec<_>>();
        let mean = highest.iter().sum::<f64>() / highest.len() as f64;
        let is_peak = column.key == "peak_requests_per_s" && mean.is_finite();
        return if is_peak { number(mean) } else { none() };
    };
    let least = if field == "requests_per_s" && row["lower_bound"] == true { "≥ " } else { "" };
    let censored = row[field.replace("_ns", "_censored_at_ns")].as_f64().filter(|_| field.ends_with("_ns"));
    match (estimate(&row[field], per), censored) {
        (Some(figure), _) => format!("{least}{figure}"),
        (None, Some(at)) => format!("> {}", number(at / per)),
        (None, None) => none(),
    }
}

fn highest_second(series: &Value) -> f64 {
    list(&series["requests_per_s"]).iter().filter_map(Value::as_f64).fold(0.0, f64::max)
}

fn outcomes(row: &Value) -> String {
    let count = |key: &str| row[key].as_u64().unwrap_or_default();
    let said = |key: &str| match count(key) {
        0 => None,
        some => Some(format!("{key} in {some} of {}", count("trials"))),
    };
    let mut parts: Vec<String> = ["overloaded", "broken"].into_iter().filter_map(said).collect();
    if count("counted") < count("trials") {
        parts.push(format!("{} of {} trials count", count("counted"), count("trials")));
    }
    parts.join(", ")
}

/// The source's rows that no plan of this run repeats, with all of their figures and the reason.
pub(super) fn not_measured(run: &Replication) -> String {
    let plans = list(&run.analysis["plans"]);
    let measured: Vec<Value> =
        plans.iter().flat_map(|plan| list(&plan["rows"])).map(|row| row["published"].clone()).collect();
    let is_measured = |row: &Value| {
        measured.iter().any(|one| one["name"] == row["name"] && one["figures"] == row["figures"])
    };
    let mut rows = list(&run.header["published"]["rows"]);
    rows.retain(|row| !is_measured(row));
    if rows.is_empty() {
        return String::new();
    }
    let mut columns = columns();
    columns.retain(|column| rows.iter().any(|row| row["figures"][column.key].is_number()));
    let skipped = list(&run.analysis["skipped"]);
    let rows = rows.iter().map(|row| {
        let why = skipped.iter().find(|one| one["candidate"] == row["candidate"]);
        let why = why.map_or("no plan of this run repeats it".to_owned(), |one| cell(&one["reason"]));
        let doubt = if row["doubt"].is_string() { " ?" } else { "" };
        let figure = |column: &Column| {
            page::or_none(row["figures"][column.key].as_f64(), |value| number(value) + doubt)
        };
        let figures = columns.iter().map(figure).collect();
        [vec![cell(&row["name"]), load(row)], figures, vec![why]].concat()
    });
    let heads = columns.iter().map(Column::head).collect();
    let heads =
        [vec!["in the source".to_owned(), "load".to_owned()], heads, vec!["why not measured".to_owned()]]
            .concat();
    let rules = [vec![":--"; 2], vec!["--:"; columns.len()], vec![":--"]].concat().join("|");
    format!(
        "\n### In the source, not measured in this run\n\n{}",
        page::table(&heads.join(" | "), &rules, rows)
    )
}

/// `c=100, 5,000/s`.
fn load(row: &Value) -> String {
    let connections = row["connections"].as_f64().map(|v| format!("c={}", number(v)));
    let rate = row["rate_per_s"].as_f64().map(|v| format!("{}/s", number(v)));
    [connections, rate].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
