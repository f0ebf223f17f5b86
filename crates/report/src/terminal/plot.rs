//! Latency by percentile, drawn in characters on the scale of `HdrHistogram`'s plots: each step to the right is as many
//! times rarer, and the vertical axis is logarithmic, so that the tail does not flatten the rest.

use prony_analysis::plot_data::{latency_curves, quantiles};
use prony_model::trial::Trial;

use crate::format;
use crate::words;

const ROWS: usize = 6;
const MARGIN: usize = 10;
/// Points of the curve in a decade (see [`quantiles`]).
const A_DECADE: usize = 8;
/// Fewer points than to p90 are no curve.
const POINTS_MIN: usize = A_DECADE + 1;

/// The plot's lines; none where there are too few requests for a curve.
pub(super) fn latency(trial: &Trial, width: usize) -> Vec<String> {
    let (response, service) = latency_curves(trial);
    // In a closed loop they are the same, called service.
    let both = words::headline(trial).0 == "response" && service != response;
    let curves: Vec<(&[u64], char)> =
        if both { vec![(&response, 'o'), (&service, '*')] } else { vec![(&service, '*')] };
    let points = curves.iter().map(|(curve, _)| curve.len()).max().unwrap_or(0);
    let values = curves.iter().flat_map(|(curve, _)| curve.iter().copied()).filter(|ns| *ns > 0);
    let (Some(low), Some(high)) = (values.clone().min(), values.max()) else { return Vec::new() };
    if points < POINTS_MIN {
        return Vec::new();
    }
    // Each point is drawn as wide as all fit; too narrow a terminal sees every other one.
    let room = width.saturating_sub(MARGIN + 1).max(1);
    let thin = points.div_ceil(room).max(1);
    let shown = points.div_ceil(thin);
    let wide = (room / shown).clamp(1, 4);
    let scale = Scale { low: low as f64, high: high as f64 };
    let mut grid = vec![vec![' '; shown * wide]; ROWS];
    for (curve, ink) in &curves {
        for (at, ns) in curve.iter().enumerate().step_by(thin).filter(|(_, ns)| **ns > 0) {
            let row = scale.row(*ns as f64);
            grid[row][at / thin * wide..][..wide].fill(*ink);
        }
    }
    let mut lines = vec![caption(both)];
    for (row, cells) in grid.iter().enumerate().rev() {
        let label = format::milliseconds(scale.value(row));
        let cells: String = cells.iter().collect();
        lines.push(format!(" {label:>8} │{cells}").trim_end().to_owned());
    }
    lines.extend(axis(points, thin, wide));
    lines
}

fn caption(both: bool) -> String {
    let who = if both { "o response   * service" } else { "* service" };
    format!("  ms by percentile   {who}")
}

/// Rows from the lowest value to the highest, evenly by logarithm.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Equal values fill the lowest row.
    fn row(&self, ns: f64) -> usize {
        let whole = (self.high / self.low).ln();
        let share = if whole > 0.0 { (ns / self.low).ln() / whole } else { 0.0 };
        // 0 to ROWS - 1.
        (share * (ROWS - 1) as f64).round().clamp(0.0, (ROWS - 1) as f64) as usize
    }

    fn value(&self, row: usize) -> f64 {
        self.low * (self.high / self.low).powf(row as f64 / (ROWS - 1) as f64)
    }
}

/// The line below the picture and the percentiles at each power of ten.
fn axis(points: usize, thin: usize, wide: usize) -> [String; 2] {
    const NAMES: [&str; 6] = ["0", "p90", "p99", "p99.9", "p99.99", "p99.999"];
    let columns = points.div_ceil(thin) * wide;
    let mut line: Vec<char> = vec!['─'; columns];
    let mut names = String::new();
    for (decade, name) in NAMES.iter().enumerate() {
        let at = decade * A_DECADE / thin * wide;
        if at >= columns {
            break;
        }
        line[at] = '┬';
        let gap = (MARGIN + at).saturating_sub(names.chars().count());
        // A name that would run into the one before is left out.
        if decade == 0 || gap > 0 {
            names.push_str(&" ".repeat(gap));
            names.push_str(name);
        }
    }
    let line: String = line.into_iter().collect();
    debug_assert!(points <= quantiles().len());
    [format!(" {:>8} └{line}", ""), names]
}
