//! What a run of a replication says beside its source, as Markdown.

use prony_model::published::{By, Statistic};
use serde_json::Value;

use super::Replication;
use super::tables::{none, not_measured, tables};
use crate::page::or_none;

/// `plots`: a line of Markdown for each.
pub(super) fn figures(run: &Replication, plots: &[String]) -> String {
    let published = &run.analysis["published"];
    let (conclusions, versions) = (conclusions(published), versions(&run.header));
    let parts = [
        about(run),
        conclusions,
        tables(run),
        drawn(plots),
        by_its_statistic(published),
        not_measured(run),
        versions,
        method(published, &run.header),
    ];
    parts.concat()
}

pub(super) fn line(run: &Replication) -> String {
    let analysis = &run.analysis;
    let name = &run.name;
    format!(
        "| [{name}](site/runs/{name}.html) | [{}](../replications/{name}.md) | {} | {} | {} |",
        cell(&analysis["published"]["source"]),
        date(analysis),
        trials(analysis),
        cell(&analysis["headline"]),
    )
}

fn about(run: &Replication) -> String {
    let (analysis, host) = (&run.analysis, &run.analysis["host"]);
    format!(
        "## The run\n\nRun of {}, with Prony {}, judged by {}: {}, {}, {}, {} CPUs; the server on CPU {}, the client on CPU {}. \
         {}. [The whole report](../gallery/site/runs/{}.html).\n\n```sh\n{}\n```\n\n",
        date(analysis),
        words(&run.header["tool"]["version"]),
        run.judged_by,
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

fn drawn(plots: &[String]) -> String {
    if plots.is_empty() { String::new() } else { format!("\n## Plots\n\n{}\n", plots.join("\n\n")) }
}

fn conclusions(published: &Value) -> String {
    let mut text = format!(
        "## Conclusions\n\nWhat is concluded of {}, in its own words or by us as it is headed, each as a claim, and what \
         became of it. A claim holds only where its test finds it (docs/statistics.md), under each plan that \
         it is about. Where the words have no number, the number in the claim is ours.\n",
        cell(&published["source"])
    );
    let mut above = By::Source;
    for (at, one) in list(&published["conclusions"]).into_iter().enumerate() {
        let by = serde_json::from_value::<By>(one["by"].clone()).unwrap_or_default();
        if at == 0 || by != above {
            text.push_str(&format!(
                "\n**{by}**\n\n| conclusion | claim | source | measured | judgement |\n|:--|:--|--:|:--|:--|\n"
            ));
        }
        above = by;
        let unit = if one["is_ratio"] == true { " ×" } else { "" };
        let least = if one["published_at_least"] == true { "≥ " } else { "" };
        let doubt = if one["published_doubted"] == true { " ?" } else { "" };
        let there = or_none(one["published"].as_f64(), |v| format!("{least}{}{unit}{doubt}", number(v)));
        let plans = list(&one["plans"]);
        let several = plans.len() > 1;
        let here = plans.iter().map(|plan| judged(plan, several, unit)).collect::<Vec<_>>().join("<br>");
        let here = if plans.is_empty() { cell(&one["why"]) } else { here };
        let judgement = words(&one["judgement"]).to_uppercase();
        let claim = match words(&one["claim"]) {
            "" => none(),
            claim => format!("`{}`", claim.replace('|', "\\|")),
        };
        let text_of = cell(&one["text"]);
        text.push_str(&format!("| {text_of} | {claim} | {there} | {here} | **{judgement}** |\n"));
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

/// Each server as it was measured, by what it says of itself.
fn versions(header: &Value) -> String {
    let mut text = "\n## Versions that were measured\n\n| server | version |\n|:--|:--|\n".to_owned();
    for one in list(&header["candidates"]) {
        let version = one["version"].as_str().map_or_else(none, escaped);
        text.push_str(&format!("| {} | {version} |\n", cell(&one["label"])));
    }
    text
}

/// Our trials by its statistic, and what that would have hidden.
fn by_its_statistic(published: &Value) -> String {
    let rows = list(&published["by_its_statistic"]);
    let Some(first) = rows.first() else { return String::new() };
    let statistic = serde_json::from_value::<Statistic>(first["statistic"].clone());
    let statistic = statistic.map_or_else(|_| none(), |statistic| statistic.to_string());
    let mut text = format!(
        "\n## Our trials by its statistic\n\nIts figures are each the {statistic}. Ours by the same, beside all trials that count: \
         the range is what it hides.\n\n| plan | server | {statistic} | lowest | highest | trials |\n|:--|:--|--:|--:|--:|--:|\n"
    );
    for row in &rows {
        let (per, unit) = if row["figure"] == "p99_ns" { (1e6, "ms") } else { (1.0, "req/s") };
        let shown = |key: &str| or_none(row[key].as_f64(), |value| format!("{} {unit}", number(value / per)));
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            cell(&row["plan"]),
            cell(&row["candidate"]),
            shown("value"),
            shown("lowest"),
            shown("highest"),
            row["trials"]
        ));
    }
    text
}

/// How the source measured, and what of that makes its figures others than ours.
fn method(published: &Value, header: &Value) -> String {
    let facts = &header["published"]["facts"];
    let cited = match facts["author"].as_str() {
        Some(author) => format!(
            "The source: {}, *{}*, {}: {}. ",
            escaped(author),
            cell(&facts["title"]),
            cell(&facts["year"]),
            cell(&facts["place"])
        ),
        None => String::new(),
    };
    let mut text = format!(
        "\n## What in its method makes its figures others than ours\n\n{cited}Its method: {}.\n\n",
        cell(&published["method"])
    );
    for one in list(&published["differences"]) {
        text.push_str(&format!("- {}\n", cell(&one)));
    }
    text.push_str(&remarks(header));
    let doubts = list(&published["doubts"]);
    if !doubts.is_empty() {
        text.push_str("\nDoubted, and left out of orders and ratios:\n\n");
    }
    for one in doubts {
        text.push_str(&format!("- {}: {}\n", cell(&one["candidate"]), cell(&one["reason"])));
    }
    text
}

/// What the source says besides its figures: of the whole, then of single rows.
fn remarks(header: &Value) -> String {
    let said = |of: &Value| -> Vec<String> {
        let pairs = of.as_object().into_iter().flatten();
        let said = |key: &str, text: String| match key.strip_suffix("_s") {
            Some(key) => format!("{key}: {text} s"),
            None => format!("{}: {text}", key.replace('_', " ")),
        };
        pairs.map(|(key, text)| said(key, cell(text))).collect()
    };
    let mut lines = said(&header["published"]["facts"]);
    for row in list(&header["published"]["rows"]) {
        let remarks = said(&row["remarks"]);
        if !remarks.is_empty() {
            lines.push(format!("{} ({})", cell(&row["name"]), remarks.join("; ")));
        }
    }
    lines.dedup();
    if lines.is_empty() {
        return String::new();
    }
    format!("\nWhat it says besides its figures:\n\n- {}\n", lines.join("\n- "))
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
pub(super) fn estimate(value: &Value, per: f64) -> Option<String> {
    let of = |key: &str| value[key].as_f64().map(|v| number(v / per));
    let point = of("point")?;
    Some(match (of("ci_low"), of("ci_high")) {
        (Some(low), Some(high)) => format!("{point} ({low} to {high})"),
        _ => point,
    })
}

/// Three digits, or all of those before the point, in groups of three.
pub(super) fn number(value: f64) -> String {
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

pub(super) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

pub(super) fn words(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn cell(value: &Value) -> String {
    escaped(words(value))
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
