//! Two candidates side by side, for the terminal.

use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison, PlanComparison};

use super::lines::{Ink, Lines, TerminalOptions};
use super::table::{Align, Table};
use crate::format;
use crate::words::comparison as words;

/// A comparison: the answer in the first line, a table per plan, what qualifies it, what to do next.
pub fn comparison(comparison: &Comparison, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    out.wrapped("", &comparison.headline, Ink::BOLD);
    below(&mut out, comparison);
    out.text
}

/// All of a comparison but its first line.
pub(super) fn below(out: &mut Lines, comparison: &Comparison) {
    for plan in &comparison.plans {
        out.line("");
        let amount = words::amount(plan, comparison);
        out.wrapped(" ", &format!("{}: {} · {amount}", plan.name, plan.describe), Ink::DIM);
        table(out, plan, comparison);
        if let Some(tail) = words::tail(plan) {
            out.wrapped(" Tail  ", &tail, Ink::PLAIN);
        }
        for found in &plan.figures {
            if let Some(why) = &found.why {
                out.wrapped(" – ", &format!("{}: {why}", found.figure), Ink::PLAIN);
            }
        }
    }
    out.line("");
    for difference in &comparison.not_comparable {
        let text = format!("NOT COMPARABLE, compared because of --force: {difference}");
        out.wrapped(" ✗ ", &text, Ink::BAD);
    }
    comparison.notes.iter().for_each(|note| out.wrapped(" · ", note, Ink::WARN));
    out.wrapped(" ", &comparison.method, Ink::DIM);
    out.wrapped(" ", words::legend(comparison), Ink::DIM);
    if let Some(next) = &comparison.next {
        out.line(&format!(" Next  {}", out.paint(Ink::BOLD, &format::printable(next))));
    }
}

fn table(out: &mut Lines, plan: &PlanComparison, comparison: &Comparison) {
    let (a, b) = words::sides(comparison);
    let name = |label: &str| format::truncate_middle(&format::printable(label), 16);
    let right = (Align::Right, 8);
    let columns = [(Align::Left, 12), right, right, right, right, right, (Align::Left, 12)];
    let mut table = Table::new(&columns);
    table.row(["", &name(&a), &name(&b), "change", "95 %", "A/A", ""].map(str::to_owned).to_vec());
    for found in &plan.figures {
        let verdict = words::verdict(found, comparison.paired);
        table.row(words::cells(found).into_iter().chain([verdict]).collect());
    }
    let mut lines = table.lines();
    for (line, found) in lines.iter_mut().skip(1).zip(&plan.figures) {
        *line = painted(out, line, found, comparison.paired);
    }
    out.table(&lines);
}

/// The line with its verdict coloured; the verdict is the line's last cell.
fn painted(out: &Lines, line: &str, found: &FigureComparison, paired: bool) -> String {
    let verdict = words::verdict(found, paired);
    let Some(rest) = line.strip_suffix(&verdict) else { return line.to_owned() };
    let ink = match found.finding {
        Some(Finding::Faster) => Ink::GOOD,
        Some(Finding::Slower) => Ink::BAD,
        Some(Finding::Equivalent) => Ink::PLAIN,
        Some(Finding::Inconclusive) | None => Ink::WARN,
    };
    format!("{rest}{}", out.paint(ink, &verdict))
}
