//! A whole run for the terminal.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_model::trial::Effect;

use super::comparison;
use super::published::published;
use super::table::{Align, Table};
use super::{TerminalOptions, push_table, push_wrapped};
use crate::format;
use crate::words::{self, PublishedColumn, WITHHELD};

/// A label's characters at least, where columns leave it no more, and at most.
const LABEL_MIN: usize = 10;
const LABEL_MAX: usize = 40;
/// Characters of the baseline's name in the head of its ratios.
const BASELINE_WIDTH: usize = 12;

/// A run: the answer, the trials by what became of them, a ranking per plan,
/// what did not run and how to fix that, and the command that reproduces it.
/// Every line ends in a newline.
pub fn experiment(analysis: &ExperimentAnalysis, options: &TerminalOptions) -> String {
    let ink = options.ink();
    let width = options.width();
    let mut out = String::new();
    push_wrapped(&mut out, "", &format::printable(&analysis.headline), width, |line| ink.bold(line));
    push_wrapped(&mut out, "", &words::trial_counts(analysis), width, str::to_owned);
    push_wrapped(&mut out, "", &words::conditions(analysis), width, |line| ink.dim(line));
    for plan in &analysis.plans {
        plan_table(&mut out, analysis, plan, options);
    }
    published(&mut out, analysis, options);
    if let Some(duet) = &analysis.duet {
        out.push_str(&comparison::below(duet, options));
    }
    out.push('\n');
    if let Some(spread) = words::spread(analysis) {
        push_wrapped(&mut out, " ", &spread, width, str::to_owned);
    }
    for skipped in &analysis.skipped {
        let lead = format!(" skipped  {}  ", format::truncate(&format::printable(&skipped.candidate), 24));
        push_wrapped(&mut out, &lead, &format::printable(&skipped.reason), width, str::to_owned);
        if let Some(mend) = &skipped.mend {
            // On a line of its own, whole, so that it can be copied.
            out.push_str(&format!("          {}\n", ink.bold(&format::printable(mend))));
        }
    }
    for note in &analysis.notes {
        push_wrapped(&mut out, " note  ", &format::printable(note), width, str::to_owned);
    }
    push_wrapped(&mut out, " ± ", &format::printable(&analysis.interval_method), width, |line| {
        ink.dim(line)
    });
    out.push_str(&format!(" Reproduce  {}\n", ink.bold(&format::printable(&analysis.reproduce))));
    out
}

fn plan_table(
    out: &mut String,
    analysis: &ExperimentAnalysis,
    plan: &PlanAnalysis,
    options: &TerminalOptions,
) {
    let ink = options.ink();
    let name = format::printable(&plan.name);
    let lead = format!(" {name}  ");
    out.push('\n');
    push_wrapped(out, &lead, &format::printable(&plan.describe), options.width(), str::to_owned);
    if let Some(workers) = words::workers(plan) {
        push_wrapped(out, " workers: ", &workers, options.width(), |line| ink.dim(line));
    }
    let theirs = words::published_columns(analysis, plan);
    // One of them has room beside ours.
    let (beside, below) = theirs.split_at(theirs.len().min(1));
    let columns = Columns::of(analysis, plan, beside.first(), options.width());
    let room = columns.room(options.width());
    let mut table = columns.table();
    for (i, row) in plan.rows.iter().enumerate() {
        table.row(columns.cells(i, row, room));
    }
    push_table(out, &table.lines(), ink);
    for column in below {
        let figures: Vec<String> = plan
            .rows
            .iter()
            .zip(&column.cells)
            .filter_map(|(row, cell)| Some(format!("{} {}", row.candidate, cell.as_ref()?)))
            .collect();
        let lead = format!(" {}  ", format::printable(&column.head));
        push_wrapped(out, &lead, &format::printable(&figures.join(", ")), options.width(), str::to_owned);
    }
    for (mark, text) in words::shared_remarks(&plan.rows) {
        push_wrapped(out, &format!(" {mark} "), &text, options.width(), str::to_owned);
    }
    for row in &plan.rows {
        let remarks = words::own_remarks(row, &plan.rows);
        if !remarks.is_empty() {
            let label = format::truncate(&format::printable(&row.candidate), room);
            let text = format!("{label}: {}", remarks.join("; "));
            let mark = match words::row_mark(row) {
                "" => words::effect_mark(Effect::Note),
                mark => mark,
            };
            push_wrapped(out, &format!(" {mark} "), &text, options.width(), str::to_owned);
        }
    }
}

/// The columns that have anything in them.
#[derive(Debug, Clone)]
struct Columns<'a> {
    /// The head of the ratios to the baseline.
    ratio: Option<String>,
    /// What the source printed.
    published: Option<&'a PublishedColumn>,
    /// Further figures with their columns' heads and widths.
    figures: Vec<(Figure, (&'static str, usize))>,
}

impl<'a> Columns<'a> {
    fn of(
        analysis: &ExperimentAnalysis,
        plan: &PlanAnalysis,
        published: Option<&'a PublishedColumn>,
        width: usize,
    ) -> Columns<'a> {
        let baseline = analysis.baseline.as_deref().filter(|_| plan.rows.iter().any(|r| r.ratio.is_some()));
        let head = |baseline| format!("× {}", format::truncate(&format::printable(baseline), BASELINE_WIDTH));
        let mut columns = Columns {
            ratio: baseline.map(head),
            published,
            figures: Figure::all()
                .filter(|figure| {
                    figure.quantile().is_some()
                        || plan.rows.iter().any(|r| r.figures[*figure].estimate.is_some())
                })
                .filter_map(|figure| Some((figure, figure.terminal_column?)))
                .collect(),
        };
        // A baseline's name is in its own row, too: labels cut short are worse.
        let longest = plan.rows.iter().map(|row| row.candidate.chars().count()).max().unwrap_or(0);
        if columns.ratio.is_some() && columns.room(width) < longest.min(LABEL_MAX) {
            columns.ratio = Some("× base".to_owned());
        }
        columns
    }

    /// What the other columns leave to the label.
    fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.width() + 1).clamp(LABEL_MIN, LABEL_MAX)
    }

    /// The columns without the label: rank, mark, req/s, ±, × baseline, the source's, further figures.
    fn width(&self) -> usize {
        6 + 2
            + 10
            + 7
            + self.ratio.as_ref().map_or(0, |head| (head.chars().count() + 1).max(8))
            + self.published.map_or(0, |column| published_width(column).max(8))
            + self.figures.iter().map(|(_, (_, width))| width).sum::<usize>()
    }

    fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut columns = vec![(Left, 6), (Left, 2), (Left, 0), (Right, 10), (Right, 7)];
        let mut head = ["rank", "", "server", "req/s", "±"].map(str::to_owned).to_vec();
        if let Some(ratio) = &self.ratio {
            columns.push((Right, 7));
            head.push(ratio.clone());
        }
        if let Some(column) = self.published {
            columns.push((Right, 8));
            head.push(format::printable(&column.head));
        }
        for (_, (name, width)) in &self.figures {
            columns.push((Right, *width));
            head.push((*name).to_owned());
        }
        let mut table = Table::new(&columns);
        table.row(head);
        table
    }

    /// The cells of the plan's i-th row.
    fn cells(&self, i: usize, row: &Row, room: usize) -> Vec<String> {
        let pm = row
            .throughput()
            .map_or_else(String::new, |e| words::half_width(e).unwrap_or_else(|| WITHHELD.to_owned()));
        let figure = |figure: Option<String>| figure.unwrap_or_else(|| WITHHELD.to_owned());
        let label = format::truncate(&format::printable(&row.candidate), room);
        // The figure itself has this one.
        let mark = words::row_mark(row).trim_start_matches('≥');
        let mut cells = vec![words::rank(row), mark.to_owned(), label];
        cells.extend([words::row_rate(row), pm]);
        if self.ratio.is_some() {
            cells.push(figure(row.ratio.as_ref().map(words::ratio)));
        }
        if let Some(column) = self.published {
            cells.push(figure(column.cells.get(i).cloned().flatten()));
        }
        cells.extend(self.figures.iter().map(|(figure, _)| words::row_figure(row, *figure)));
        cells
    }
}

fn published_width(column: &PublishedColumn) -> usize {
    let cells = column.cells.iter().flatten().map(|cell| cell.chars().count());
    cells.chain([column.head.chars().count()]).max().unwrap_or(0) + 1
}
