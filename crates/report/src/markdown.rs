//! Tables for a README or a pull request, in GitHub's Markdown. Labels, messages and URLs come from outside: they are
//! shown as text, and never become a table cell, a tag, a link or a mention.

use std::fmt::Display;

use prony_analysis::analyse;
use prony_analysis::bisection::BisectionReport;
use prony_analysis::comparison::Comparison;
use prony_analysis::experiment::ExperimentAnalysis;
use prony_model::run_log::RunLog;
use prony_model::trial::Trial;

use crate::document::{self, Block, Item};
use crate::svg::{self, Plot};
use crate::terminal::{Align, Ink, Table};
use crate::{format, words};

/// A run: the answer, a table per plan, remarks, what did not run, how the
/// intervals were obtained and the command that reproduces it.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let (answer, rest) = answer_and_details(analysis);
    answer + &rest
}

/// [`experiment`] as two texts: the answer with its tables, and the details.
pub(crate) fn answer_and_details(analysis: &ExperimentAnalysis) -> (String, String) {
    let (answer, details) = document::run(analysis);
    (blocks(&answer).trim_start().to_owned(), blocks(&details))
}

/// Trials and searches of single loads, or an experiment, with pictures: `![…](NAME-1.svg)`, and those files by their names.
pub fn with_plots(log: &RunLog, name: &str) -> (String, Vec<(String, String)>) {
    let shown = if log.header.one_by_one {
        document::trials(log)
    } else {
        let (answer, details) = document::run(&analyse(log));
        answer.into_iter().chain(details).collect()
    };
    let mut files = Vec::new();
    let text = rendered(&shown, &mut |plot| {
        let file = format!("{name}-{}.svg", files.len() + 1);
        let shown = format!("![{}]({file})\n", text(&plot.title));
        files.push((file, svg::standalone(plot)));
        shown
    });
    (text.trim_start().to_owned(), files)
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

pub fn bisection(report: &BisectionReport) -> String {
    format!("**{}**\n{}", text(&report.headline), blocks(&document::bisection(report)))
}

/// What a gate could not judge: what stands first.
pub fn not_judged(said: &[String]) -> String {
    said.iter().map(|why| format!("**NOT JUDGED** {}\n\n", text(why))).collect()
}

fn blocks(blocks: &[Block]) -> String {
    rendered(blocks, &mut |_| String::new())
}

/// Blocks with what `draw` makes of each plot, which may be nothing.
fn rendered(blocks: &[Block], draw: &mut dyn FnMut(&Plot) -> String) -> String {
    let (mut out, mut in_list) = (String::new(), false);
    for block in blocks {
        let drawn = if let Block::Plot(plot) = block { draw(plot) } else { String::new() };
        if matches!(block, Block::Plot(_)) && drawn.is_empty() {
            continue;
        }
        let is_item = matches!(block, Block::Item(_));
        // All but the items of a list are apart without it.
        if !(matches!(block, Block::Gap) || is_item && in_list) {
            out.push('\n');
        }
        in_list = is_item;
        match block {
            Block::Gap => {}
            Block::Title(title) => out.push_str(&format!("### {}\n", text(title))),
            Block::Section(title) => out.push_str(&format!("#### {}\n", text(title))),
            Block::Answer(answer, rest) if rest.is_empty() => {
                out.push_str(&format!("**{}**\n", text(answer)));
            }
            Block::Answer(answer, rest) => out.push_str(&format!("**{}** – {}\n", text(answer), text(rest))),
            Block::Lines(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| text(line)).collect();
                out.push_str(&format!("{}\n", lines.join("  \n")));
            }
            Block::Plot(_) => out.push_str(&drawn),
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
    let kind = item.kind();
    let of = item.of.as_ref().map_or(String::new(), |of| format!("**{}**: ", text(of)));
    let fix = item.fix.as_ref().map_or(String::new(), |fix| format!(" – {}", code(fix)));
    let strong = if item.ink == Ink::BAD { "**" } else { "" };
    out.push_str(&format!("- {kind}{of}{strong}{}{strong}{fix}\n", text(&item.text)));
}

fn push_table(out: &mut String, table: &Table) {
    for (at, (row, ink)) in table.rows.iter().enumerate() {
        let is_code = |column: usize| at > 0 && table.columns[column].0 == Align::Code;
        let cell = |(column, cell): (usize, &String)| if is_code(column) { code(cell) } else { text(cell) };
        let mut cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        if let (Ink::GOOD | Ink::BAD, Some(last)) = (*ink, cells.last_mut()) {
            *last = format!("**{last}**");
        }
        match at {
            0 => push_head(out, cells, |column| table.columns[column].0 != Align::Right),
            _ => push_row(out, cells),
        }
    }
}

/// Trials and searches of single loads, each under its name, with what failed.
pub fn trials(log: &RunLog) -> String {
    blocks(&document::trials(log)).trim_start().to_owned()
}

/// One trial: its first line, its percentiles, and its verdict's reasons.
pub fn trial(trial: &Trial) -> String {
    blocks(&document::trial(trial)).trim_start().to_owned()
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
