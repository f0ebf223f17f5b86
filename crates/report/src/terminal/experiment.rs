//! A whole run for the terminal.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_record::trial::Effect;

use super::comparison;
use super::published::published;
use super::table::{Align, Table};
use super::{TerminalOptions, push_wrapped};
use crate::format;
use crate::words::{self, WITHHELD};

/// A run: the answer, the trials by what became of them, a ranking per plan,
/// what did not run and how to mend it, and the line that reproduces it all.
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
    let has = Has::of(analysis, plan);
    // What the other columns leave to the label: 80 columns hold all of them and 20 characters of it.
    let room = options.width().saturating_sub(has.width() + 1).clamp(10, 40);
    let mut table =
        has.table(analysis.baseline.as_deref(), analysis.published.as_ref().map(|p| p.source.as_str()));
    for row in &plan.rows {
        table.row(has.cells(row, room));
    }
    for (i, line) in table.lines().iter().enumerate() {
        out.push_str(&if i == 0 { ink.dim(line) } else { line.clone() });
        out.push('\n');
    }
    for row in &plan.rows {
        let remarks = words::row_remarks(row);
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

/// Which columns have anything in them.
#[derive(Debug, Clone, Copy)]
struct Has {
    ratio: bool,
    /// The source's ratio to the same baseline.
    there: bool,
    cpu: bool,
    memory: bool,
}

impl Has {
    fn of(analysis: &ExperimentAnalysis, plan: &PlanAnalysis) -> Has {
        Has {
            ratio: analysis.baseline.is_some() && plan.rows.iter().any(|r| r.ratio.is_some()),
            there: plan.rows.iter().any(|r| words::there(r).is_some()),
            cpu: plan.rows.iter().any(|r| r.cpu_per_request_ns.is_some()),
            memory: plan.rows.iter().any(|r| r.peak_memory_bytes.is_some()),
        }
    }

    /// The columns without the label: rank, mark, req/s, ±, × baseline, p99, CPU, memory.
    fn width(self) -> usize {
        6 + 2
            + 10
            + 7
            + if self.ratio { 15 } else { 0 }
            + if self.there { 8 } else { 0 }
            + 8
            + if self.cpu { 7 } else { 0 }
            + if self.memory { 6 } else { 0 }
    }

    fn table(self, baseline: Option<&str>, source: Option<&str>) -> Table {
        use Align::{Left, Right};
        let mut columns = vec![(Left, 6), (Left, 2), (Left, 0), (Right, 10), (Right, 7)];
        let mut head = ["rank", "", "server", "req/s", "±"].map(str::to_owned).to_vec();
        if self.ratio {
            columns.push((Right, 7));
            head.push(format!(
                "× {}",
                format::truncate(&format::printable(baseline.unwrap_or_default()), 12)
            ));
        }
        if self.there {
            columns.push((Right, 8));
            head.push(words::source_tag(source.unwrap_or_default()));
        }
        columns.push((Right, 8));
        head.push("p99 ms".to_owned());
        if self.cpu {
            columns.push((Right, 7));
            head.push("µs/req".to_owned());
        }
        if self.memory {
            columns.push((Right, 6));
            head.push("MB".to_owned());
        }
        let mut table = Table::new(&columns);
        table.row(head);
        table
    }

    fn cells(self, row: &Row, room: usize) -> Vec<String> {
        let pm = |e: &Option<prony_record::Estimate>| {
            let half = e.as_ref().and_then(words::half_width);
            half.unwrap_or_else(|| if e.is_some() { WITHHELD.to_owned() } else { String::new() })
        };
        let figure = |figure: Option<String>| figure.unwrap_or_else(|| WITHHELD.to_owned());
        let label = format::truncate(&format::printable(&row.candidate), room);
        // The figure itself has this one.
        let mark = words::row_mark(row).trim_start_matches('≥');
        let mut cells = vec![words::rank(row), mark.to_owned(), label];
        cells.extend([words::row_rate(row), pm(&row.requests_per_s)]);
        if self.ratio {
            cells.push(figure(row.ratio.as_ref().map(words::ratio)));
        }
        if self.there {
            cells.push(words::there(row).unwrap_or_else(|| WITHHELD.to_owned()));
        }
        cells.push(words::row_p99(row));
        if self.cpu {
            cells
                .push(figure(row.cpu_per_request_ns.as_ref().map(|e| format::significant(e.point / 1e3, 3))));
        }
        if self.memory {
            cells.push(figure(row.peak_memory_bytes.map(|b| format::significant(b as f64 / 1e6, 3))));
        }
        cells
    }
}
