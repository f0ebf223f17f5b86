//! Tables for a README or a pull request, in GitHub's Markdown. Labels, messages and URLs come from outside: they are
//! shown as text, and never become a table cell, a tag, a link or a mention.

use std::fmt::Display;

use prony_analysis::bisection::BisectionReport;
use prony_analysis::comparison::Comparison;
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis};
use prony_model::slo::SloRecord;
use prony_model::trial::Trial;

use crate::document::{self, Block, Item};
use crate::format;
use crate::terminal::{Align, Ink, Table};
use crate::words;

/// Requests of a list in a table at most.
const REQUESTS_MAX: usize = 100;

/// A run: the answer, a table per plan, remarks, what did not run, how the
/// intervals were obtained and the command that reproduces it.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let (answer, rest) = answer_and_details(analysis);
    answer + &rest
}

/// [`experiment`] as two texts: the answer with its tables, and the details.
pub(crate) fn answer_and_details(analysis: &ExperimentAnalysis) -> (String, String) {
    let mut out = format!("### {}\n\n**{}**\n\n", text(&analysis.title), text(&analysis.headline));
    out.push_str(&format!(
        "{}  \n{}\n",
        text(&words::trial_counts(analysis)),
        text(&words::conditions(analysis))
    ));
    for plan in &analysis.plans {
        plan_table(&mut out, analysis, plan);
    }
    out.push_str(&blocks(&document::protocols(analysis)));
    published(&mut out, analysis);
    if let Some(duet) = &analysis.duet {
        out.push_str(&blocks(&document::comparison(duet)));
        out.push_str(&blocks(&document::not_asked(duet)));
    } else if let Some(profile) = &analysis.profile {
        out.push_str(&blocks(&document::profile(profile)));
    }
    if let Some(spread) = words::below(analysis) {
        out.push_str(&format!("\n{}\n", text(&spread)));
    }
    let rest = blocks(&document::details(analysis));
    (out, format!("{rest}\n{}\n", host_line(&analysis.host)))
}

/// A comparison as a comment on a pull request: answer, tables, what qualifies them; what nothing asked for is folded.
pub fn comparison(comparison: &Comparison, all: bool) -> String {
    let below = blocks(&document::comparison(comparison));
    let open = if all { " open" } else { "" };
    let others = words::comparison::not_asked(comparison).map_or(String::new(), |others| {
        let shown = blocks(&document::not_asked(comparison));
        format!("\n<details{open}><summary>Also measured: {}</summary>\n{shown}\n</details>\n", text(&others))
    });
    let (a, b) = words::comparison::sides(comparison);
    let answer = text(&comparison.headline);
    format!("**{answer}**\n\n### {} against {}\n{below}{others}", text(&b), text(&a))
}

/// A bisection: the answer, and what was tried.
pub fn bisection(report: &BisectionReport) -> String {
    format!("**{}**\n{}", text(&report.headline), blocks(&document::bisection(report)))
}

/// What a gate could not judge: what stands first.
pub fn not_judged(said: &[String]) -> String {
    said.iter().map(|why| format!("**NOT JUDGED** {}\n\n", text(why))).collect()
}

fn blocks(blocks: &[Block]) -> String {
    let (mut out, mut in_list) = (String::new(), false);
    for block in blocks {
        let is_item = matches!(block, Block::Item(_));
        // All but the items of a list are apart without it.
        if !(matches!(block, Block::Gap) || is_item && in_list) {
            out.push('\n');
        }
        in_list = is_item;
        match block {
            Block::Gap => {}
            Block::Text(said, Ink::DIM) => out.push_str(&format!("<sub>{}</sub>\n", text(said))),
            Block::Part(said, _) | Block::Text(said, _) => out.push_str(&format!("{}\n", text(said))),
            Block::Item(item) => push_item(&mut out, item),
            Block::Table(table) => push_table(&mut out, table),
            Block::Command(word, command) => out.push_str(&format!("{word}: {}\n", code(command))),
        }
    }
    out
}

fn push_item(out: &mut String, item: &Item) {
    let kind = match item.lead.chars().next() {
        Some(first) if item.is_word() => {
            format!("{}{}: ", first.to_uppercase(), &item.lead[first.len_utf8()..])
        }
        Some('±') => "± ".to_owned(),
        _ => String::new(),
    };
    let of = item.of.as_ref().map_or(String::new(), |of| format!("**{}**: ", text(of)));
    let fix = item.fix.as_ref().map_or(String::new(), |fix| format!(" – {}", code(fix)));
    let strong = if item.ink == Ink::BAD { "**" } else { "" };
    out.push_str(&format!("- {kind}{of}{strong}{}{strong}{fix}\n", text(&item.text)));
}

fn push_table(out: &mut String, table: &Table) {
    for (at, (row, ink)) in table.rows.iter().enumerate() {
        let mut cells: Vec<String> = row.iter().map(|cell| text(cell)).collect();
        if let (Ink::GOOD | Ink::BAD, Some(last)) = (*ink, cells.last_mut()) {
            *last = format!("**{last}**");
        }
        match at {
            0 => push_head(out, cells, |column| table.columns[column].0 == Align::Left),
            _ => push_row(out, cells),
        }
    }
}

fn thresholds(slos: &[SloRecord]) -> String {
    if slos.is_empty() {
        return String::new();
    }
    let mut out = "\n".to_owned();
    push_head(&mut out, ["threshold", "", "measured", "to decide it"], |_| true);
    for slo in slos {
        let to_decide = slo.to_decide.as_deref().map(text).unwrap_or_default();
        push_row(&mut out, [code(&slo.slo), format!("**{}**", slo.decision), text(&slo.seen), to_decide]);
    }
    out
}

fn published(out: &mut String, analysis: &ExperimentAnalysis) {
    let Some(published) = &analysis.published else { return };
    out.push_str(&format!("\n#### {} claims\n", text(&published.source)));
    for (at, judged) in published.conclusions.iter().enumerate() {
        if at == 0 || published.conclusions[at - 1].by != judged.by {
            out.push_str(&format!("\n**{}**\n\n", judged.by));
            push_head(out, ["claim", "published", "", "measured"], |column| column % 2 == 0);
        }
        let why = words::judged_why(judged).map(|why| format!(" ({why})")).unwrap_or_default();
        let claim = text(&format!("{}{why}", judged.text));
        let word = words::loud(judged.judgement);
        push_row(out, [claim, words::judged_published(judged), word, words::judged_measured(judged)]);
    }
    out.push_str(&blocks(&document::source_notes(published)));
}

fn host_line(host: &prony_model::host::Host) -> String {
    let parts = [host.cpu_model.as_str(), host.kernel.as_str(), host.os.as_str()];
    let mut facts: Vec<String> = parts.iter().filter(|p| !p.is_empty()).map(|p| text(p)).collect();
    facts.push(format::count(host.cpus_online.into(), "CPU", "CPUs"));
    format!("Host: {}", facts.join(", "))
}

fn plan_table(out: &mut String, analysis: &ExperimentAnalysis, plan: &PlanAnalysis) {
    out.push_str(&format!("\n#### {}: {}\n", text(&plan.name), text(&plan.describe)));
    if let Some(workers) = words::workers(plan) {
        out.push_str(&format!("\nWorkers: {}\n", text(&workers)));
    }
    let theirs = words::published_columns(analysis, plan);
    let columns = document::columns(plan, &theirs, analysis.baseline.as_deref(), true);
    out.push_str(&blocks(&[document::table(&columns)]));
    out.push_str(&blocks(&document::plan_notes(plan)));
}

/// One trial: its first line, its percentiles, and its verdict's reasons.
pub fn trial(trial: &Trial) -> String {
    let lead = text(&words::lead(trial, true).join(", "));
    let failed = format::thousands(trial.requests.failed);
    let state = words::state(trial).join(", ");
    let mut out = format!("**{lead}, {failed} failed** – {state}\n\n{}\n\n", text(&words::plan_line(trial)));
    percentiles(&mut out, trial);
    by_request(&mut out, trial);
    let mut items: Vec<String> = trial
        .errors
        .iter()
        .map(|(kind, count)| {
            let first = trial.first_errors.get(kind).map(|m| format!(": {}", text(m))).unwrap_or_default();
            format!("- {} × {}{first}\n", format::thousands(*count), text(&words::code(kind)))
        })
        .collect();
    items.extend(trial.verdict.reasons.iter().map(|reason| {
        let advice =
            if reason.advice.is_empty() { String::new() } else { format!(" → {}", text(&reason.advice)) };
        format!("- **{}**: {}{advice}\n", text(&reason.code.words()), text(&reason.detail))
    }));
    if !items.is_empty() {
        out.push('\n');
        out.extend(items);
    }
    out.push_str(&thresholds(&trial.slo));
    out
}

fn percentiles(out: &mut String, trial: &Trial) {
    let fields = words::shown_percentiles(trial, |_| true);
    let names = fields.iter().map(|field| words::percentile(field).to_owned());
    let head = ["ms".to_owned()].into_iter().chain(names).chain(["max".to_owned()]);
    push_head(out, head, |column| column == 0);
    let latency = &trial.latency;
    let named = [
        ("response", "response", Some(&latency.response)),
        ("service", "service", Some(&latency.service)),
        ("first byte", "service", Some(&latency.first_byte)),
        ("client delay", "client delay", latency.client_delay.as_ref()),
    ];
    for (name, affected_as, summary) in named {
        let Some(summary) = summary else { continue };
        let mut cells = vec![format!("{name}{}", words::figure_mark(trial, affected_as))];
        cells.extend(fields.iter().map(|field| text(&words::percentile_cell(summary, field))));
        cells.push(words::milliseconds_cell(summary.max_ns));
        push_row(out, cells);
    }
}

fn by_request(out: &mut String, trial: &Trial) {
    let all = words::slowest_first(trial);
    if all.is_empty() {
        return;
    }
    out.push('\n');
    let head = ["request, ms".to_owned()].into_iter().chain(words::request_head());
    push_head(out, head, |column| column == 0);
    for target in all.iter().take(REQUESTS_MAX) {
        let cells = std::iter::once(target.request.clone()).chain(words::request_cells(trial, target));
        push_row(out, cells.map(|cell| text(&cell)));
    }
    let more = all.len().saturating_sub(REQUESTS_MAX) as u64;
    if more > 0 {
        out.push_str(&format!("\n… {}\n", format::count(more, "more request", "more requests")));
    }
}

/// A table's head, over columns of text, which are aligned to the left, and of figures, to the right.
fn push_head<T: Display>(
    out: &mut String,
    cells: impl IntoIterator<Item = T>,
    is_text: impl Fn(usize) -> bool,
) {
    let cells: Vec<T> = cells.into_iter().collect();
    push_row(out, &cells);
    push_row(out, (0..cells.len()).map(|column| if is_text(column) { ":---" } else { "---:" }));
}

fn push_row<T: Display>(out: &mut String, cells: impl IntoIterator<Item = T>) {
    let cells: String = cells.into_iter().map(|cell| format!(" {cell} |")).collect();
    out.push_str(&format!("|{cells}\n"));
}

/// A text from outside as Markdown that shows exactly it: comments and backslashes keep `@name` and `http://` apart.
pub(crate) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in format::printable(raw.trim()).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("@<!-- -->"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.replace("://", "\\://").replace("www.", "www\\.")
}

/// A command as code: fenced by more backticks than it holds. For use outside tables.
fn code(raw: &str) -> String {
    let shown = format::printable(raw);
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if shown.starts_with('`') || shown.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{shown}{pad}{fence}")
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
