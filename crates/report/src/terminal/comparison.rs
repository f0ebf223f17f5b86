//! Two candidates side by side, for the terminal.

use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison, PlanComparison};

use super::table::{Align, Table};
use super::{Ink, TerminalOptions, push_table, push_wrapped};
use crate::format;
use crate::words::comparison as words;

/// A comparison: the answer in the first line, a table per plan, what qualifies it, what to do next.
pub fn comparison(comparison: &Comparison, options: &TerminalOptions) -> String {
    let (ink, width) = (options.ink(), options.width());
    let mut out = String::new();
    push_wrapped(&mut out, "", &format::printable(&comparison.headline), width, |line| ink.bold(line));
    out.push_str(&below(comparison, options));
    out
}

/// All of a comparison but its first line.
pub(super) fn below(comparison: &Comparison, options: &TerminalOptions) -> String {
    let (ink, width) = (options.ink(), options.width());
    let mut out = String::new();
    for plan in &comparison.plans {
        out.push('\n');
        let amount = words::amount(plan, comparison);
        let head = format!("{}: {} · {amount}", plan.name, plan.describe);
        push_wrapped(&mut out, " ", &format::printable(&head), width, |line| ink.dim(line));
        table(&mut out, plan, comparison, ink);
        for found in &plan.figures {
            if let Some(why) = &found.why {
                let why = format!("{}: {}", found.figure, format::printable(why));
                push_wrapped(&mut out, " – ", &why, width, str::to_owned);
            }
        }
    }
    out.push('\n');
    for difference in &comparison.not_comparable {
        let text = format!("NOT COMPARABLE, compared because of --force: {}", format::printable(difference));
        push_wrapped(&mut out, " ✗ ", &text, width, |line| ink.bad(line));
    }
    for note in &comparison.notes {
        push_wrapped(&mut out, " · ", &format::printable(note), width, |line| ink.warn(line));
    }
    push_wrapped(&mut out, " ", &comparison.method, width, |line| ink.dim(line));
    push_wrapped(&mut out, " ", words::legend(comparison), width, |line| ink.dim(line));
    if let Some(next) = &comparison.next {
        out.push_str(&format!(" Next  {}\n", ink.bold(&format::printable(next))));
    }
    out
}

fn table(out: &mut String, plan: &PlanComparison, comparison: &Comparison, ink: Ink) {
    let (a, b) = words::sides(comparison);
    let name = |label: &str| format::truncate(&format::printable(label), 16);
    let right = (Align::Right, 8);
    let columns = [(Align::Left, 12), right, right, right, right, right, (Align::Left, 12)];
    let mut table = Table::new(&columns);
    table.row(vec![
        String::new(),
        name(&a),
        name(&b),
        "change".into(),
        "95 %".into(),
        "A/A".into(),
        String::new(),
    ]);
    for found in &plan.figures {
        let verdict = words::verdict(found, comparison.paired);
        table.row(words::cells(found).into_iter().chain([verdict]).collect());
    }
    let mut lines = table.lines();
    for (line, found) in lines.iter_mut().skip(1).zip(&plan.figures) {
        *line = painted(line, found, comparison.paired, ink);
    }
    push_table(out, &lines, ink);
}

/// The line with its verdict coloured; the verdict is the line's last cell.
fn painted(line: &str, found: &FigureComparison, paired: bool, ink: Ink) -> String {
    let verdict = words::verdict(found, paired);
    let Some(rest) = line.strip_suffix(&verdict) else { return line.to_owned() };
    let verdict = match found.finding {
        Some(Finding::Faster) => ink.good(&verdict),
        Some(Finding::Slower) => ink.bad(&verdict),
        Some(Finding::Equivalent) => verdict,
        Some(Finding::Inconclusive) | None => ink.warn(&verdict),
    };
    format!("{rest}{verdict}")
}
