//! The requests of a list, the slowest few.

use prony_model::trial::{TargetFigures, Trial};

use super::table::{Align, Table};
use crate::{format, words};

/// Rows at most; the others are in Markdown and JSON.
const ROWS_MAX: usize = 5;
const NAME_MIN: usize = 12;

/// The table's lines, and how many more requests there are; nothing without a list.
pub(super) fn table(trial: &Trial, width: usize) -> Vec<String> {
    let all = words::slowest_first(trial);
    if all.is_empty() {
        return Vec::new();
    }
    // What the figures leave of the line, so that a long path is cut and no figure is.
    let figures = build(trial, &all, 0).iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let mut lines = build(trial, &all, width.saturating_sub(figures + 1).max(NAME_MIN));
    let more = all.len().saturating_sub(ROWS_MAX) as u64;
    if more > 0 {
        let more = format::count(more, "more request", "more requests");
        lines.push(format!(" … {more}, none slower on average: --json has all"));
    }
    lines
}

fn build(trial: &Trial, all: &[&TargetFigures], name_width: usize) -> Vec<String> {
    let mut columns = vec![(Align::Left, 3)];
    columns.extend([(Align::Right, 7); 6]);
    let mut table = Table::new(&columns);
    let mut head = vec![format::truncate("slowest, ms", name_width)];
    head.extend(words::request_head());
    table.row(head);
    for target in all.iter().take(ROWS_MAX) {
        let mut cells = vec![format::truncate(&format::printable(&target.request), name_width)];
        cells.extend(words::request_cells(trial, target));
        table.row(cells);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use crate::fixtures;
    use crate::terminal::{TerminalOptions, trial};

    #[test]
    fn the_slowest_requests_are_shown_with_the_number_of_others() {
        let t = fixtures::listed();
        let shown = trial(&t, &TerminalOptions::default());
        insta::assert_snapshot!(shown, @r"
        13,870 req/s ±0.4 %    p50 6.98 ms    p99 9.61 ms    0 failed    VALID
        8 requests of 10 lines, shuffled · 100 connections, closed loop · 30.0 s after
        3.0 s warm-up

         ms           p50     p90     p99   p99.9     max    mean
         service     6.98    7.86    9.61    14.2    56.0    7.14  kernel clock
           95 % ±   0.028   0.059    0.18    0.68
         1st byte    6.98    7.86    9.61    14.2    56.0    7.14  part of service
         client     0.031   0.048   0.113   0.241   0.610   0.035  client's own delay
         req/s  ▇▇▇▇▇▇▇▇▇▇▇▇▇█▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇   13.6k – 14.1k per second

         slowest, ms    p50    p90    p99   mean completed failed
         GET /7        13.0   15.6   19.5   13.0    51,993      0
         GET /6        12.0   14.4   18.0   12.0    51,994      0
         GET /5        11.0   13.2   16.5   11.0    51,995      0
         GET /4        10.0   12.0   15.0   10.0    51,996      0
         GET /3        9.00   10.8   13.5   9.00    51,997  1,234
         … 3 more requests, none slower on average: --json has all

         completed 416,100   200: 416,100   failed 0   in flight at the end 100
         read 49.6 MB (1.65 MB/s), sent 16.5 MB (551 kB/s)
         client 7.9 % of one core, 5.70 µs per request
         – p99.99 needs 100 samples beyond it and has 42: use -d 75s
         – stalls beyond 56.0 ms, up to one per 10.0 s (30.0 s ÷ 3) cannot be excluded
         Next  prony load http://127.0.0.1:8080/ -c 100 -R 10000 --seed 7 -d 30s \
               --targets FILE --shuffle
               prony capacity http://127.0.0.1:8080/ -c 100 --seed 7 --slo 'p99<20ms' \
               --targets FILE --shuffle
        ");
        assert!(shown.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn a_long_path_is_cut_so_that_every_figure_has_room() {
        let mut t = fixtures::listed();
        t.targets.truncate(2);
        t.targets[0].request = format!("GET /{}\u{1b}[2J", "long/".repeat(50));
        for width in [40, 60, 80, 120] {
            let shown = trial(&t, &TerminalOptions { width, ..Default::default() });
            let row = shown.lines().find(|line| line.starts_with(" GET /long")).unwrap();
            assert!(row.contains('…') && row.ends_with("0") && !row.contains('\u{1b}'), "{row}");
            assert!(row.chars().count() <= width.max(80), "{row}");
        }
    }
}
