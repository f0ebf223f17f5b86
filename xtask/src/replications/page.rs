//! What a run of a replication says beside its source, as Markdown.

use serde_json::Value;

use super::Replication;

/// A figure that sources print: its name there, its title, its name here, and how many of ours are one of theirs.
const FIGURES: &[(&str, &str, &str, f64)] = &[
    ("requests_per_s", "req/s", "requests_per_s", 1.0),
    ("p50_ms", "p50 ms", "p50_ns", 1e6),
    ("p99_ms", "p99 ms", "p99_ns", 1e6),
    ("p999_ms", "p99.9 ms", "p999_ns", 1e6),
    ("mean_ms", "mean ms", "mean_ns", 1e6),
    ("stdev_ms", "deviation ms", "stdev_ns", 1e6),
    ("peak_requests_per_s", "req/s at its peak", "", 1.0),
    ("failed_share_at_least", "share failed", "failed_share", 1.0),
];

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
        let columns: Vec<_> = FIGURES
            .iter()
            .filter(|column| rows.iter().any(|row| printed(row, column.0).is_some()))
            .take(4)
            .collect();
        let Some(first) = columns.first() else { continue };
        rows.sort_by(|a, b| {
            let figure = |row: &Value| printed(row, first.0).unwrap_or(f64::NEG_INFINITY);
            figure(b).total_cmp(&figure(a))
        });
        text.push_str(&format!(
            "\n### {}: {}\n\n| server | its name there |",
            words(&plan["name"]),
            describe(&plan)
        ));
        for (_, title, ..) in &columns {
            text.push_str(&format!(" {title} there | here |"));
        }
        text.push_str(" × there | × here | |\n|:--|:--|");
        text.push_str(&"--:|".repeat(2 * columns.len() + 2));
        text.push_str(":--|\n");
        for row in &rows {
            let doubt = if row["published"]["doubt"].is_string() { " ?" } else { "" };
            text.push_str(&format!("| {} | {} |", cell(&row["candidate"]), cell(&row["published"]["name"])));
            for (key, _, field, per) in &columns {
                let there = printed(row, key).map_or("–".to_owned(), |v| number(v) + doubt);
                text.push_str(&format!(" {there} | {} |", ours(row, field, *per)));
            }
            let there = row["published"]["ratio"].as_f64().map_or("–".to_owned(), |v| number(v) + doubt);
            let here = estimate(&row["ratio"], 1.0).unwrap_or_else(|| "–".to_owned());
            text.push_str(&format!(" {there} | {here} | {} |\n", outcomes(row)));
        }
    }
    text
}

fn describe(plan: &Value) -> String {
    escaped(words(&plan["describe"]))
}

/// Our figure; without a name, the highest second of a trial, on average.
fn ours(row: &Value, field: &str, per: f64) -> String {
    if field.is_empty() {
        let highest = list(&row["series"]).iter().map(highest_second).collect::<Vec<_>>();
        let mean = highest.iter().sum::<f64>() / highest.len() as f64;
        return if mean.is_finite() { number(mean) } else { "–".to_owned() };
    }
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
    let printed = |(key, title, ..): &(&str, &str, &str, f64)| {
        row["figures"][*key].as_f64().map(|figure| format!("{} {title}", number(figure)))
    };
    let figures = FIGURES.iter().filter_map(printed).take(4).collect::<Vec<_>>().join(", ");
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
