//! A whole run for the terminal.

use std::collections::BTreeSet;

use prony_analysis::bisection::BisectionReport;
use prony_analysis::comparison::Comparison;
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;

use super::lines::{Ink, Lines, TerminalOptions};
use super::published::published;
use crate::document::{self, Column, SERVER};
use crate::{format, words};

/// A label's characters at least, where columns leave it no more, and at most.
const LABEL_MIN: usize = 10;
const LABEL_MAX: usize = 40;
const BASELINE_WIDTH: usize = 12;

/// A run: the answer, the trials, a ranking per plan, what did not run and how to fix that, and the reproducing
/// command.
pub fn experiment(analysis: &ExperimentAnalysis, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    out.wrapped("", &analysis.headline, Ink::BOLD);
    out.wrapped("", &words::trial_counts(analysis), Ink::PLAIN);
    out.wrapped("", &words::conditions(analysis), Ink::DIM);
    analysis.plans.iter().for_each(|plan| plan_table(&mut out, analysis, plan));
    out.blocks(&document::protocols(analysis));
    published(&mut out, analysis);
    if let Some(duet) = &analysis.duet {
        out.blocks(&document::comparison(duet));
        out.blocks(&document::not_asked(duet));
    } else if let Some(profile) = &analysis.profile {
        out.blocks(&document::profile(profile));
    }
    out.line("");
    if let Some(spread) = words::below(analysis) {
        out.wrapped(" ", &spread, Ink::PLAIN);
    }
    out.blocks(&document::details(analysis));
    out.text
}

/// Two candidates, figure by figure: the answer, a table a plan, what qualifies it, and with `all` what nothing asked for.
pub fn comparison(comparison: &Comparison, all: bool, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    out.wrapped("", &comparison.headline, Ink::BOLD);
    out.blocks(&document::comparison(comparison));
    if all {
        out.blocks(&document::not_asked(comparison));
    } else if let Some(others) = words::comparison::not_asked(comparison) {
        out.wrapped("", &format!("Also measured: {others} (--all shows them)"), Ink::DIM);
    }
    out.text
}

pub fn bisection(report: &BisectionReport, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    out.wrapped("", &report.headline, Ink::BOLD);
    out.blocks(&document::bisection(report));
    out.text
}

fn plan_table(out: &mut Lines, analysis: &ExperimentAnalysis, plan: &PlanAnalysis) {
    out.line("");
    out.wrapped(&format!(" {}  ", format::printable(&plan.name)), &plan.describe, Ink::PLAIN);
    if let Some(workers) = words::workers(plan) {
        out.wrapped(" workers: ", &workers, Ink::DIM);
    }
    let theirs = words::published_columns(analysis, plan);
    // One of them has room beside ours.
    let (beside, below) = theirs.split_at(theirs.len().min(1));
    let columns_to = |baseline: Option<&str>| document::columns(plan, beside, baseline, false);
    // What the other columns leave to the label.
    let room = |columns: &[Column]| {
        let others = columns.iter().filter(|column| column.head != SERVER).map(Column::width);
        out.width.saturating_sub(others.sum::<usize>() + 1).clamp(LABEL_MIN, LABEL_MAX)
    };
    let baseline =
        analysis.baseline.as_deref().map(|name| format::truncate(&format::printable(name), BASELINE_WIDTH));
    let mut columns = columns_to(baseline.as_deref());
    let longest = plan.rows.iter().map(|row| row.candidate.chars().count()).max().unwrap_or(0);
    // A baseline's name is in its own row, too: labels cut short are worse.
    if room(&columns) < longest.min(LABEL_MAX) {
        columns = columns_to(baseline.as_deref().map(|_| "base"));
    }
    // So are labels cut short beside when a response begins, which Markdown, CSV and JSON have, too.
    if room(&columns) < longest.min(LABEL_MAX) {
        let first_byte = Figure::FIRST_BYTE_P99.terminal_column.map_or("", |(head, _)| head);
        columns.retain(|column| column.head != first_byte);
    }
    let room = room(&columns);
    for column in columns.iter_mut().filter(|column| column.head == SERVER) {
        column.cells = labels(&plan.rows, room);
    }
    out.blocks(&[document::table(&columns)]);
    for column in below {
        let figures: Vec<String> = plan
            .rows
            .iter()
            .zip(&column.cells)
            .filter_map(|(row, cell)| Some(format!("{} {}", row.candidate, cell.as_ref()?)))
            .collect();
        let lead = format!(" {}  ", format::printable(&column.head));
        out.wrapped(&lead, &figures.join(", "), Ink::PLAIN);
    }
    out.blocks(&document::plan_notes(plan));
}

/// The rows' labels within so many characters, or within as many as tell them apart.
fn labels(rows: &[Row], room: usize) -> Vec<String> {
    let whole: Vec<String> = rows.iter().map(|row| format::printable(&row.candidate)).collect();
    let within =
        |width| -> Vec<String> { whole.iter().map(|label| format::truncate_middle(label, width)).collect() };
    let distinct = |labels: &Vec<String>| labels.iter().collect::<BTreeSet<_>>().len() == labels.len();
    (room..LABEL_MAX).map(within).find(distinct).unwrap_or_else(|| within(LABEL_MAX))
}
