//! A whole run for the terminal.

use std::collections::BTreeSet;

use prony_analysis::comparison::Comparison;
use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;

use super::lines::{Ink, Lines, TerminalOptions};
use super::published::published;
use super::table::{Align, Table};
use crate::words::{self, PublishedColumn, WITHHELD};
use crate::{document, format};

/// A label's characters at least, where columns leave it no more, and at most.
const LABEL_MIN: usize = 10;
const LABEL_MAX: usize = 40;
/// Characters of the baseline's name in the head of its ratios.
const BASELINE_WIDTH: usize = 12;

/// A run: the answer, the trials by what became of them, a ranking per plan,
/// what did not run and how to fix that, and the command that reproduces it.
/// Every line ends in a newline.
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
    }
    out.line("");
    if let Some(spread) = words::below(analysis) {
        out.wrapped(" ", &spread, Ink::PLAIN);
    }
    out.blocks(&document::details(analysis));
    out.text
}

/// Two candidates, figure by figure: the answer, a table a plan, what qualifies it.
pub fn comparison(comparison: &Comparison, options: &TerminalOptions) -> String {
    let mut out = Lines::new(options);
    out.wrapped("", &comparison.headline, Ink::BOLD);
    out.blocks(&document::comparison(comparison));
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
    let columns_to = |baseline: &str| columns(analysis, plan, beside.first(), baseline);
    // What the other columns leave to the label.
    let room = |columns: &[Column]| {
        let others: usize = columns.iter().map(|column| column.reserved).sum();
        out.width.saturating_sub(others + 1).clamp(LABEL_MIN, LABEL_MAX)
    };
    let baseline = format::printable(analysis.baseline.as_deref().unwrap_or_default());
    let mut columns = columns_to(&format::truncate(&baseline, BASELINE_WIDTH));
    let longest = plan.rows.iter().map(|row| row.candidate.chars().count()).max().unwrap_or(0);
    // A baseline's name is in its own row, too: labels cut short are worse.
    if room(&columns) < longest.min(LABEL_MAX) {
        columns = columns_to("base");
    }
    // So are labels cut short beside when a response begins, which Markdown, CSV and JSON have, too.
    if room(&columns) < longest.min(LABEL_MAX) {
        let first_byte = Figure::FIRST_BYTE_P99.terminal_column.map_or("", |(head, _)| head);
        columns.retain(|column| column.head != first_byte);
    }
    let room = room(&columns);
    columns.insert(
        2,
        Column {
            head: "server".to_owned(),
            align: Align::Left,
            least: 0,
            reserved: 0,
            cells: labels(&plan.rows, room),
        },
    );
    let mut table = Table::new(&columns.iter().map(|c| (c.align, c.least)).collect::<Vec<_>>());
    table.row(columns.iter().map(|column| column.head.clone()).collect());
    for i in 0..plan.rows.len() {
        table.row(columns.iter().map(|column| column.cells[i].clone()).collect());
    }
    out.table(&table.lines());
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

/// A column of a plan's table.
struct Column {
    head: String,
    align: Align,
    /// The least width, its gap to the left included.
    least: usize,
    /// The width that the label has to leave to it.
    reserved: usize,
    /// One for each row of the plan.
    cells: Vec<String>,
}

/// The columns that have anything in them, without the label's; `baseline` is its name in the head of its ratios.
fn columns(
    analysis: &ExperimentAnalysis,
    plan: &PlanAnalysis,
    published: Option<&PublishedColumn>,
    baseline: &str,
) -> Vec<Column> {
    use Align::{Left, Right};
    let or_withheld = |cell: Option<String>| cell.unwrap_or_else(|| WITHHELD.to_owned());
    let column = |head: &str, align, least, cell: &dyn Fn(&Row) -> Option<String>| {
        let cells = plan.rows.iter().map(|row| or_withheld(cell(row))).collect();
        Column { head: head.to_owned(), align, least, reserved: least, cells }
    };
    let mut columns = vec![
        column("rank", Left, 6, &|row| Some(words::rank(row))),
        // The figure itself has this one.
        column("", Left, 2, &|row| Some(words::row_mark(row).trim_start_matches('≥').to_owned())),
        column("req/s", Right, 10, &|row| Some(words::row_rate(row))),
        column("±", Right, 7, &|row| row.throughput().map_or(Some(String::new()), words::half_width)),
    ];
    if analysis.baseline.is_some() && plan.rows.iter().any(|row| row.ratio.is_some()) {
        let ratios = column(&format!("× {baseline}"), Right, 7, &|row| row.ratio.as_ref().map(words::ratio));
        columns.push(Column { reserved: (ratios.head.chars().count() + 1).max(8), ..ratios });
    }
    if let Some(theirs) = published {
        let longest =
            theirs.cells.iter().flatten().chain([&theirs.head]).map(|cell| cell.chars().count()).max();
        columns.push(Column {
            head: format::printable(&theirs.head),
            align: Right,
            least: 8,
            reserved: (longest.unwrap_or(0) + 1).max(8),
            cells: theirs.cells.iter().cloned().map(or_withheld).collect(),
        });
    }
    for figure in Figure::all() {
        let measured = plan.rows.iter().any(|row| row.figures[figure].estimate.is_some());
        if let Some((head, width)) =
            figure.terminal_column.filter(|_| measured || figure.quantile().is_some())
        {
            columns.push(column(head, Right, width, &|row| Some(words::row_figure(row, figure))));
        }
    }
    columns
}
