//! Tables for a README or a pull request, in GitHub's Markdown.
//!
//! Labels, messages and URLs come from outside: they are shown as text, and
//! never become a table cell, a tag, a link or a mention.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_model::slo::SloRecord;
use prony_model::trial::{Outcome, Trial};

use crate::format;
use crate::words::{self, WITHHELD};

mod comparison;

pub use comparison::comparison;

/// Requests of a list in a table at most.
const REQUESTS_MAX: usize = 100;

/// A run: the answer, a table per plan, remarks, what did not run, how the
/// intervals were obtained and the command that reproduces it.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let (answer, rest) = answer_and_details(analysis);
    format!("{answer}\n{rest}")
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
    published(&mut out, analysis);
    if let Some(duet) = &analysis.duet {
        out.push_str(&comparison::below(duet));
    }
    if let Some(spread) = words::spread(analysis) {
        out.push_str(&format!("\n{}\n", text(&spread)));
    }
    let mut rest = String::new();
    if !analysis.skipped.is_empty() {
        rest.push_str("Skipped:\n\n");
        for skipped in &analysis.skipped {
            let mend = skipped.mend.as_ref().map(|m| format!(" – {}", code(m))).unwrap_or_default();
            rest.push_str(&format!("- **{}**: {}{mend}\n", text(&skipped.candidate), text(&skipped.reason)));
        }
        rest.push('\n');
    }
    if !analysis.notes.is_empty() {
        rest.push_str("Notes:\n\n");
        rest.extend(analysis.notes.iter().map(|note| format!("- {}\n", text(note))));
        rest.push('\n');
    }
    rest.push_str(&format!("± {}\n\n{}\n", text(&analysis.interval_method), host_line(&analysis.host)));
    rest.push_str(&format!("\nReproduce: {}\n", code(&analysis.reproduce)));
    (out, rest)
}

/// A table of thresholds and what became of them; nothing without one.
fn thresholds(slos: &[SloRecord]) -> String {
    if slos.is_empty() {
        return String::new();
    }
    let mut out = "\n".to_owned();
    push_row(&mut out, ["threshold", "", "measured", "to decide it"].map(str::to_owned).into_iter());
    push_row(&mut out, [":---"; 4].map(str::to_owned).into_iter());
    for slo in slos {
        let to_decide = slo.to_decide.as_deref().map(text).unwrap_or_default();
        let cells = [code(&slo.slo), format!("**{}**", slo.decision), text(&slo.seen), to_decide];
        push_row(&mut out, cells.into_iter());
    }
    out
}

/// A source's claims, judged.
fn published(out: &mut String, analysis: &ExperimentAnalysis) {
    let Some(published) = &analysis.published else { return };
    out.push_str(&format!("\n#### {} claims\n\n{}\n\n", text(&published.source), text(&published.method)));
    push_row(out, ["claim", "published", "", "measured"].map(str::to_owned).into_iter());
    push_row(out, [":---", "---:", ":---", "---:"].map(str::to_owned).into_iter());
    for judged in &published.conclusions {
        let why = words::judged_why(judged).map(|why| format!(" ({why})")).unwrap_or_default();
        let claim = text(&format!("{}{why}", judged.text));
        let word = judged.judgement.word().to_owned();
        push_row(
            out,
            [claim, words::judged_published(judged), word, words::judged_measured(judged)].into_iter(),
        );
    }
    let mut notes: Vec<String> = published.agreement.iter().map(words::agreement).collect();
    notes.extend(
        published.doubts.iter().map(|doubt| format!("Doubted: {}: {}", doubt.candidate, doubt.reason)),
    );
    notes.extend(published.differences.iter().map(|why| format!("Different there: {why}")));
    notes.extend(words::facts(published).map(|facts| format!("Facts: {facts}")));
    notes.extend(words::not_measured(published).map(|missing| format!("Not measured here: {missing}")));
    if !notes.is_empty() {
        out.push('\n');
        out.extend(notes.iter().map(|note| format!("- {}\n", text(note))));
    }
}

fn host_line(host: &prony_model::host::Host) -> String {
    let parts = [host.cpu_model.as_str(), host.kernel.as_str(), host.os.as_str()];
    let mut facts: Vec<String> = parts.iter().filter(|p| !p.is_empty()).map(|p| text(p)).collect();
    facts.push(format::count(host.cpus_online.into(), "CPU", "CPUs"));
    format!("Host: {}", facts.join(", "))
}

fn plan_table(out: &mut String, analysis: &ExperimentAnalysis, plan: &PlanAnalysis) {
    let baseline = analysis.baseline.as_deref().map(|b| format!("× {}", text(b)));
    out.push_str(&format!("\n#### {}: {}\n\n", text(&plan.name), text(&plan.describe)));
    if let Some(workers) = words::workers(plan) {
        out.push_str(&format!("Workers: {}\n\n", text(&workers)));
    }
    let mut head = vec!["rank", "server", "req/s", "95 %"];
    head.extend(baseline.as_deref());
    let there = words::published_columns(analysis, plan);
    let theirs: Vec<String> = there.iter().map(|column| text(&column.head)).collect();
    head.extend(theirs.iter().map(String::as_str));
    head.extend(figures().map(|figure| figure.head));
    head.extend(["failed", "trials"]);
    push_row(out, head.iter().map(|h| (*h).to_owned()));
    // Texts to the left, figures to the right.
    push_row(out, (0..head.len()).map(|i| if i == 1 { ":---".to_owned() } else { "---:".to_owned() }));
    for (i, row) in plan.rows.iter().enumerate() {
        let theirs = there.iter().map(|column| column.cells.get(i).cloned().flatten()).collect();
        push_row(out, cells(row, baseline.is_some(), theirs).into_iter());
    }
    let shared =
        words::shared_remarks(&plan.rows).into_iter().map(|(_, remark)| format!("- {}\n", text(&remark)));
    let own = plan.rows.iter().map(|row| (row, words::own_remarks(row, &plan.rows)));
    let own = own
        .filter(|(_, remarks)| !remarks.is_empty())
        .map(|(row, remarks)| format!("- **{}**: {}\n", text(&row.candidate), text(&remarks.join("; "))));
    let remarks: Vec<String> = shared.chain(own).collect();
    if !remarks.is_empty() {
        out.push('\n');
        out.extend(remarks);
    }
}

/// The figures that have a column.
fn figures() -> impl Iterator<Item = Figure> {
    Figure::all().filter(|figure| figure.in_markdown)
}

fn cells(row: &Row, ratio: bool, theirs: Vec<Option<String>>) -> Vec<String> {
    let or_withheld = |figure: Option<String>| figure.unwrap_or_else(|| WITHHELD.to_owned());
    let pm = or_withheld(row.throughput().and_then(words::plus_minus));
    let mut cells = vec![words::rank(row), text(&row.candidate), words::row_rate(row), pm];
    if ratio {
        let ratio = row.ratio.as_ref().map(|e| format!("{}{}", words::ratio(e), words::spaced_plus_minus(e)));
        cells.push(or_withheld(ratio));
    }
    cells.extend(theirs.into_iter().map(or_withheld));
    cells.extend(figures().map(|figure| text(&words::row_figure(row, figure))));
    cells.push(format::thousands(row.failed));
    cells.push(format!("{}/{}", row.counted, row.trials));
    cells
}

/// One trial: its first line, its percentiles, and its verdict's reasons.
pub fn trial(trial: &Trial) -> String {
    let lead = text(&words::lead(trial, true).join(", "));
    let failed = format::thousands(trial.requests.failed);
    let mut state = words::validity(trial.verdict.validity).to_owned();
    if trial.outcome != Outcome::Carried {
        state = format!("{}, {state}", words::outcome(trial.outcome));
    }
    if trial.interrupted {
        state.push_str(", INTERRUPTED");
    }
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
        format!("- **{}**: {}{advice}\n", text(&words::code(&reason.code)), text(&reason.detail))
    }));
    if !items.is_empty() {
        out.push('\n');
        out.extend(items);
    }
    out.push_str(&thresholds(&trial.slo));
    out
}

fn percentiles(out: &mut String, trial: &Trial) {
    let fields = words::shown_percentiles(trial, &prony_model::trial::PERCENTILES.map(|(field, _)| field));
    let names = fields.iter().map(|field| words::percentile(field));
    push_head(out, ["ms".to_owned()].into_iter().chain(names).chain(["max".to_owned()]));
    let latency = &trial.latency;
    let named = [("response", Some(&latency.response)), ("service", Some(&latency.service))];
    let client = [("client delay", latency.client_delay.as_ref())];
    for (name, summary) in named.into_iter().chain(client) {
        let Some(summary) = summary else { continue };
        let mut cells = vec![format!("{name}{}", words::figure_mark(trial, name))];
        cells.extend(fields.iter().map(|field| text(&words::percentile_cell(summary, field))));
        cells.push(words::milliseconds_cell(summary.max_ns));
        push_row(out, cells.into_iter());
    }
}

/// The requests of a list, the slowest first.
fn by_request(out: &mut String, trial: &Trial) {
    let all = words::slowest_first(trial);
    if all.is_empty() {
        return;
    }
    out.push('\n');
    push_head(out, ["request, ms".to_owned()].into_iter().chain(words::request_head()));
    for target in all.iter().take(REQUESTS_MAX) {
        let cells = std::iter::once(target.request.clone()).chain(words::request_cells(trial, target));
        push_row(out, cells.map(|cell| text(&cell)));
    }
    let more = all.len().saturating_sub(REQUESTS_MAX) as u64;
    if more > 0 {
        out.push_str(&format!("\n… {}\n", format::count(more, "more request", "more requests")));
    }
}

/// A table's head: the first column is text, the others are figures.
fn push_head(out: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    let columns = cells.len();
    push_row(out, cells.into_iter());
    push_row(out, (0..columns).map(|i| if i == 0 { ":---".to_owned() } else { "---:".to_owned() }));
}

fn push_row(out: &mut String, cells: impl Iterator<Item = String>) {
    out.push('|');
    for cell in cells {
        out.push_str(&format!(" {cell} |"));
    }
    out.push('\n');
}

/// A text from outside as Markdown that shows exactly it. `@name` would call
/// somebody and `http://` become a link on GitHub, whatever is escaped around
/// them; an empty comment and a backslash keep them apart.
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
