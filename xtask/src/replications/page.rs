//! What a run of a replication says beside its source, as Markdown.

use prony_analysis::figure::Figure;
use prony_model::published::FIGURES;
use serde_json::Value;

use super::Replication;

/// Columns of a table: each takes two, the source's and ours.
const COLUMNS: usize = 4;
/// Of a plan that the source does not have.
const OWN: [&str; 2] = ["requests_per_s", "p99_ms"];

/// A figure that sources print.
struct Column {
    /// Its name there.
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    /// Its field here, and how many of ours are one of theirs; none of what is no figure over trials.
    ours: Option<(&'static str, f64)>,
}

/// Every figure that a source may print.
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

/// What stands between a page's marks.
pub(super) fn figures(run: &Replication) -> String {
    let published = &run.analysis["published"];
    let parts = [about(run), conclusions(published), tables(run), not_measured(run), method(published)];
    parts.concat()
}

/// A run's line in the list of example reports.
pub(super) fn line(run: &Replication) -> String {
    let analysis = &run.analysis;
    let name = &run.name;
    format!(
        "| [{name}]({name}.html) | [{}](../replications/{name}.md) | {} | {} | {} |",
        cell(&analysis["published"]["source"]),
        date(analysis),
        trials(analysis),
        cell(&analysis["headline"]),
    )
}

fn about(run: &Replication) -> String {
    let (analysis, host) = (&run.analysis, &run.analysis["host"]);
    format!(
        "## The run\n\n{}, with Prony {}: {}, {}, {}, {} CPUs; the server on CPU {}, the client on CPU {}. \
         {}. [The whole report](../gallery/{}.html): save it and open it in a browser.\n\n```sh\n{}\n```\n\n",
        date(analysis),
        words(&run.header["tool"]["version"]),
        words(&host["cpu_model"]),
        words(&host["os"]),
        words(&host["kernel"]),
        host["cpus_online"],
        numbers(&analysis["server_cpus"]),
        numbers(&analysis["client_cpus"]),
        trials(analysis),
        run.name,
        words(&analysis["reproduce"]),
    )
}

fn conclusions(published: &Value) -> String {
    let mut text = format!(
        "## What it concluded\n\nThe conclusions of {}, each as a claim, and what became of it here. A claim \
         holds only where the whole 95 % interval is on its side, under each plan that it is about.\n\n\
         | conclusion | claim | there | here | judgement |\n|:--|:--|--:|:--|:--|\n",
        cell(&published["source"])
    );
    for one in list(&published["conclusions"]) {
        let unit = if one["is_ratio"] == true { " ×" } else { "" };
        let least = if one["published_at_least"] == true { "≥ " } else { "" };
        let doubt = if one["published_doubted"] == true { " ?" } else { "" };
        let there = one["published"]
            .as_f64()
            .map_or("–".to_owned(), |v| format!("{least}{}{unit}{doubt}", number(v)));
        let plans = list(&one["plans"]);
        let several = plans.len() > 1;
        let here = plans.iter().map(|plan| judged(plan, several, unit)).collect::<Vec<_>>().join("<br>");
        let here = if plans.is_empty() { cell(&one["why"]) } else { here };
        let judgement = words(&one["judgement"]).to_uppercase();
        text.push_str(&format!(
            "| {} | `{}` | {there} | {here} | **{judgement}** |\n",
            cell(&one["text"]),
            words(&one["claim"]).replace('|', "\\|")
        ));
    }
    text.push('\n');
    for one in list(&published["agreement"]) {
        let tau = &one["tau_b"];
        text.push_str(&format!(
            "- The order of both under {}: Kendall's tau-b {}.\n",
            words(&one["plan"]),
            estimate(tau, 1.0).unwrap_or_default()
        ));
    }
    text
}

/// A claim under one plan: the figure, or why there is none.
fn judged(plan: &Value, several: bool, unit: &str) -> String {
    let (name, judgement) = (words(&plan["plan"]), words(&plan["judgement"]));
    let figure = estimate(&plan["here"], 1.0).map(|figure| figure + unit);
    let why = plan["why"].as_str().map(|why| escaped(why).trim_end_matches('.').to_owned());
    let said = [figure, why].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let said = if said.is_empty() { judgement.to_owned() } else { said };
    if several { format!("{name}: {said}, {judgement}") } else { said }
}

fn tables(run: &Replication) -> String {
    let mut text =
        "\n## Its figures and ours\n\nOurs with their 95 % intervals. `?` marks a figure of the source \
                    that is in doubt.\n"
            .to_owned();
    for plan in list(&run.analysis["plans"]) {
        let mut rows = list(&plan["rows"]);
        let printed = |row: &Value, key: &str| row["published"]["figures"][key].as_f64();
        let is_printed = |column: &Column| rows.iter().any(|row| printed(row, column.key).is_some());
        let mut columns = columns();
        let own = !columns.iter().any(is_printed);
        columns.retain(|column| if own { OWN.contains(&column.key) } else { is_printed(column) });
        let first = columns[0].key;
        rows.sort_by(|a, b| {
            let figure = |row: &Value| printed(row, first).unwrap_or(f64::NEG_INFINITY);
            figure(b).total_cmp(&figure(a))
        });
        text.push_str(&format!("\n### {}: {}\n", words(&plan["name"]), describe(&plan)));
        for (part, columns) in columns.chunks(COLUMNS).enumerate() {
            text.push_str(&table(&rows, columns, part == 0));
        }
    }
    text
}

/// Some columns of a plan's table; the first part has the ratios and what became of trials, too.
fn table(rows: &[Value], columns: &[Column], is_first: bool) -> String {
    let mut text = "\n| server | its name there |".to_owned();
    for Column { title, unit, .. } in columns {
        let space = if unit.is_empty() { "" } else { " " };
        text.push_str(&format!(" {title}{space}{unit} there | here |"));
    }
    text.push_str(if is_first { " × there | × here | |\n|:--|:--|" } else { "\n|:--|:--|" });
    text.push_str(&"--:|".repeat(2 * columns.len() + if is_first { 2 } else { 0 }));
    text.push_str(if is_first { ":--|\n" } else { "\n" });
    for row in rows {
        let doubt = if row["published"]["doubt"].is_string() { " ?" } else { "" };
        let known = |value: &Value| value.as_f64().map_or("–".to_owned(), |v| number(v) + doubt);
        text.push_str(&format!("| {} | {} |", cell(&row["candidate"]), cell(&row["published"]["name"])));
        for column in columns {
            let there = known(&row["published"]["figures"][column.key]);
            text.push_str(&format!(" {there} | {} |", ours(row, column)));
        }
        if is_first {
            let (there, here) = (known(&row["published"]["ratio"]), estimate(&row["ratio"], 1.0));
            let here = here.unwrap_or_else(|| "–".to_owned());
            text.push_str(&format!(" {there} | {here} | {} |", outcomes(row)));
        }
        text.push('\n');
    }
    text
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
        return if is_peak { number(mean) } else { "–".to_owned() };
    };
    let least = if field == "requests_per_s" && row["lower_bound"] == true { "≥ " } else { "" };
    let censored = row[field.replace("_ns", "_censored_at_ns")].as_f64().filter(|_| field.ends_with("_ns"));
    match (estimate(&row[field], per), censored) {
        (Some(figure), _) => format!("{least}{figure}"),
        (None, Some(at)) => format!("> {}", number(at / per)),
        (None, None) => "–".to_owned(),
    }
}

fn highest_second(series: &Value) -> f64 {
    list(&series["requests_per_s"]).iter().filter_map(Value::as_f64).fold(0.0, f64::max)
}

/// What became of the trials, where not all carried the load.
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

/// The source's rows that no plan of this run repeats, with the reason; those of one server are one line.
fn not_measured(run: &Replication) -> String {
    let plans = list(&run.analysis["plans"]);
    let measured: Vec<Value> =
        plans.iter().flat_map(|plan| list(&plan["rows"])).map(|row| row["published"].clone()).collect();
    let mut lines: Vec<(Value, String)> = Vec::new();
    for row in list(&run.header["published"]["rows"]) {
        if measured.iter().any(|one| one["name"] == row["name"] && one["figures"] == row["figures"]) {
            continue;
        }
        match lines.iter_mut().find(|(first, _)| first["name"] == row["name"]) {
            Some((_, said)) => said.push_str(&format!("; {}", printed_at(&row))),
            None => lines.push((row.clone(), printed_at(&row))),
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let skipped = list(&run.analysis["skipped"]);
    let mut text = "\n### Printed there, not measured in this run\n\n\
                    | in the source | figures there | why not here |\n|:--|:--|:--|\n"
        .to_owned();
    for (row, said) in lines {
        let why = skipped.iter().find(|one| one["candidate"] == row["candidate"]);
        let why = why.map_or("no plan of this run repeats it".to_owned(), |one| cell(&one["reason"]));
        text.push_str(&format!("| {} | {said} | {why} |\n", cell(&row["name"])));
    }
    text
}

/// `c=100: 9,120 req/s, 31 p99 ms`.
fn printed_at(row: &Value) -> String {
    let connections = row["connections"].as_f64().map(|v| format!("c={}", number(v)));
    let rate = row["rate_per_s"].as_f64().map(|v| format!("{}/s", number(v)));
    let load = [connections, rate].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let printed = |column: Column| {
        let figure = row["figures"][column.key].as_f64()?;
        Some(format!("{} {} {}", column.title, number(figure), column.unit).trim_end().to_owned())
    };
    let figures = columns().into_iter().filter_map(printed).collect::<Vec<_>>().join(", ");
    let doubt = if row["doubt"].is_string() { " ?" } else { "" };
    let colon = if load.is_empty() { "" } else { ": " };
    format!("{load}{colon}{figures}{doubt}")
}

/// How the source measured, and what of that makes its figures others than ours.
fn method(published: &Value) -> String {
    let mut text = format!(
        "\n## What in its method makes its figures others than ours\n\nIts method: {}.\n\n",
        cell(&published["method"])
    );
    for one in list(&published["differences"]) {
        text.push_str(&format!("- {}\n", cell(&one)));
    }
    let doubts = list(&published["doubts"]);
    if !doubts.is_empty() {
        text.push_str("\nDoubted, and left out of orders and ratios:\n\n");
    }
    for one in doubts {
        text.push_str(&format!("- {}: {}\n", cell(&one["candidate"]), cell(&one["reason"])));
    }
    text
}

fn trials(analysis: &Value) -> String {
    let trials = &analysis["trials"];
    let count = |key: &str| trials[key].as_u64().unwrap_or_default();
    let of = |key: &str, what: &str| match count(key) {
        0 => String::new(),
        some => format!(", {some} {what}"),
    };
    let stopped = if analysis["interrupted"] == true { ", interrupted" } else { "" };
    format!(
        "{} trials planned{}{}{}{}{stopped}",
        count("planned"),
        of("suspect", "suspect"),
        of("lower_bound", "lower bounds"),
        of("void", "invalid"),
        of("missing", "missing")
    )
}

fn date(analysis: &Value) -> String {
    words(&analysis["created_at"]).chars().take(10).collect()
}

/// `1.86 (1.70 to 2.05)`.
fn estimate(value: &Value, per: f64) -> Option<String> {
    let of = |key: &str| value[key].as_f64().map(|v| number(v / per));
    let point = of("point")?;
    Some(match (of("ci_low"), of("ci_high")) {
        (Some(low), Some(high)) => format!("{point} ({low} to {high})"),
        _ => point,
    })
}

/// Three digits, or all of those before the point, in groups of three.
fn number(value: f64) -> String {
    let size = value.abs();
    if size < 1000.0 {
        let before = if size > 0.0 { size.log10().floor() } else { 0.0 };
        let text = format!("{value:.*}", (2.0 - before).clamp(0.0, 6.0) as usize);
        let short = text.contains('.').then(|| text.trim_end_matches('0').trim_end_matches('.'));
        return short.unwrap_or(&text).replace('-', "−");
    }
    let digits = format!("{size:.0}");
    let mut text = if value < 0.0 { "−".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn numbers(value: &Value) -> String {
    list(value).iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Somebody's words in a table.
fn cell(value: &Value) -> String {
    escaped(words(value))
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
