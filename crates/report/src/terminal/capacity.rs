//! A search for the highest sustainable rate, for the terminal.

use prony_model::capacity::{CapacityRecord, Probe};
use prony_model::recorded_plan::RecordedPlan;

use super::lines::{Ink, Lines, TerminalOptions};
use super::next;
use super::table::{Align, Table};
use crate::{command, format, words};

const PLOT_ROWS: usize = 8;

/// A search of a plan at an `address`: the answer, the probes by rate, a picture. `interrupted`: it was ended early.
pub fn capacity(
    found: &CapacityRecord,
    plan: &RecordedPlan,
    address: &str,
    interrupted: bool,
    options: &TerminalOptions,
) -> String {
    let mut out = Lines::new(options);
    answer(&mut out, found, interrupted);
    let lead = format!(
        "{} · {}{} · {} arrivals · {} · SLO: {}",
        plan.asked(),
        plan.connections(),
        plan.unusual(),
        plan.spacing(),
        format::count(found.probes.len() as u64, "probe", "probes"),
        found.slo
    );
    out.wrapped("", &lead, Ink::DIM);
    out.line("");
    table(&mut out, &found.probes);
    plot(&mut out, &found.probes);
    if found.recovers == Some(false) {
        let text = "right after an overload a rate a tenth lower is not sustained: the server recovers slowly, so that a \
                    spike of load has effects after its end";
        out.wrapped(" ! ", text, Ink::PLAIN);
    }
    if let Some(estimate) = &found.capacity_per_s {
        let load = RecordedPlan {
            rate_per_s: next::rounded(estimate.point * 0.8),
            duration_ns: Some(60_000_000_000),
            requests: None,
            ..plan.clone()
        };
        let url = options.target.as_deref().unwrap_or(&plan.url);
        let words = command::next(&load, address, url);
        next::push(&mut out, &[words]);
    }
    out.text
}

fn answer(out: &mut Lines, found: &CapacityRecord, interrupted: bool) {
    let interrupted = if interrupted { "  INTERRUPTED" } else { "" };
    let ink = match found.interval() {
        _ if found.void.is_some() || found.capacity_per_s.is_none() => Ink::BAD,
        Some(_) => Ink::BOLD,
        None => Ink::WARN,
    };
    out.line(&format!("{}{interrupted}", out.paint(ink, &words::capacity(found))));
}

/// Every probe, by rate: the offered rate, the completed one, and latencies.
fn table(out: &mut Lines, probes: &[Probe]) {
    use Align::{Left, Right};
    let mut table = Table::new(&[(Left, 2), (Right, 10), (Right, 10), (Right, 9), (Right, 9), (Left, 0)]);
    table.row(["", "req/s", "completed", "p50 ms", "p99 ms", " "].map(str::to_owned).to_vec());
    let mut by_rate: Vec<&Probe> = probes.iter().collect();
    by_rate.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    for probe in by_rate {
        let mark = if probe.sustained { "✓" } else { "✗" };
        let why = match (probe.sustained, probe.phase.as_str()) {
            (true, "descending") => "right after an overload".to_owned(),
            (true, _) => String::new(),
            (false, _) => format::printable(&probe.why),
        };
        table.row(vec![
            mark.to_owned(),
            format::rate(probe.rate_per_s),
            format::rate(probe.completed_per_s),
            words::milliseconds_cell(probe.p50_ns),
            words::milliseconds_cell(probe.p99_ns),
            format::truncate(&why, 34),
        ]);
    }
    out.table(&table.lines());
}

const POINTS_MIN: usize = 3;

/// p99 against the offered rate, both logarithmic; p50 where more than half of the probes have no p99.
fn plot(out: &mut Lines, probes: &[Probe]) {
    let points_of = |figure: fn(&Probe) -> Option<u64>| -> Vec<(f64, f64, bool)> {
        let probes = probes.iter().filter(|p| p.rate_per_s > 0.0);
        probes
            .filter_map(|p| Some((p.rate_per_s.ln(), (figure(p)? as f64).max(1.0).ln(), p.sustained)))
            .collect()
    };
    let (p99, p50) = (points_of(|p| p.p99_ns), points_of(|p| p.p50_ns));
    let (name, points) =
        if p99.len() >= POINTS_MIN && 2 * p99.len() >= p50.len() { ("p99", p99) } else { ("p50", p50) };
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (left, right) = ends(&mut points.iter().map(|p| p.0));
    let (bottom, top) = ends(&mut points.iter().map(|p| p.1));
    if points.len() < POINTS_MIN || right - left < 1e-9 || top - bottom < 1e-9 {
        return;
    }
    let columns = out.width.saturating_sub(14).clamp(20, 100);
    let mut grid = vec![vec![' '; columns]; PLOT_ROWS];
    let place = |value: f64, low: f64, high: f64, cells: usize| {
        let cell = ((value - low) / (high - low) * (cells - 1) as f64).round() as usize;
        cell.min(cells - 1)
    };
    for (x, y, sustained) in &points {
        let row = PLOT_ROWS - 1 - place(*y, bottom, top, PLOT_ROWS);
        grid[row][place(*x, left, right, columns)] = if *sustained { '●' } else { '×' };
    }
    out.line("");
    for (i, row) in grid.iter().enumerate() {
        let label = match i {
            0 => format::short_duration(top.exp()),
            i if i == PLOT_ROWS - 1 => format::short_duration(bottom.exp()),
            _ => String::new(),
        };
        let line: String = row.iter().collect();
        out.line(&format!(" {label:>9} │{}", line.trim_end()));
    }
    let (low, high) = (format::rate(left.exp()), format::rate(right.exp()));
    let gap = columns.saturating_sub(low.chars().count() + high.chars().count());
    out.line(&out.paint(Ink::DIM, &format!(" {name:>9} └{low}{}{high}", " ".repeat(gap))));
}

#[cfg(test)]
mod tests {
    use prony_model::Estimate;
    use prony_model::trial::Bound;

    use super::*;

    fn probe(rate_per_s: f64, p50_ns: u64, p99_ns: Option<u64>) -> Probe {
        Probe {
            rate_per_s,
            completed_per_s: rate_per_s,
            sustained: true,
            why: "sustained".to_owned(),
            undecided: None,
            not_judged: Vec::new(),
            phase: "doubling".to_owned(),
            duration_ns: 3_000_000_000,
            p50_ns: Some(p50_ns),
            p99_ns,
            failed_share: 0.0,
            beyond_share: None,
        }
    }

    /// The rate with its interval, of one start; without one the reason, and never an older log's bracket as one.
    #[test]
    fn a_capacity_has_its_interval_or_says_why_not() {
        let trial = crate::fixtures::closed();
        let shown = |rate: Estimate, phase: &str, bound| {
            let found = CapacityRecord {
                slo: "p99<50ms".to_owned(),
                capacity_per_s: Some(rate),
                bound,
                confirmed: None,
                recovers: Some(true),
                probes: vec![Probe { phase: phase.to_owned(), ..probe(900.0, 1_000, None) }],
                void: None,
            };
            let shown =
                capacity(&found, &trial.plan, &trial.target.address, false, &TerminalOptions::default());
            shown.lines().next().unwrap_or_default().to_owned()
        };
        let rate = Estimate::new(900.0, 880.0, 925.0, 24);
        let of = |rate: &Estimate, phase| shown(rate.clone(), phase, Bound::Exact);
        assert_eq!(of(&rate, "up_down"), "about 900 req/s (95 %: 880 to 925), of one start");
        assert_eq!(of(&rate, "confirmation"), "about 900 req/s, without an interval, of one start");
        let bare = Estimate::bare(900.0, 24, "the reason");
        assert_eq!(of(&bare, "up_down"), "about 900 req/s, without an interval, of one start: the reason");
        let bound = shown(bare, "doubling", Bound::Lower);
        assert_eq!(bound, "≥ 900 req/s sustained: the client was the limit, not the server");
    }

    #[test]
    fn what_a_connection_carries_at_once_is_said() {
        let trial = crate::fixtures::closed();
        let found = CapacityRecord {
            slo: "p99<50ms".to_owned(),
            capacity_per_s: None,
            bound: Bound::Exact,
            confirmed: None,
            recovers: None,
            probes: vec![probe(900.0, 1_000, None)],
            void: None,
        };
        let plan = RecordedPlan { protocol: prony_model::plan::ProtocolId::H2, pipeline: 8, ..trial.plan };
        let shown = capacity(&found, &plan, &trial.target.address, false, &TerminalOptions::default());
        assert!(shown.contains("100 connections, HTTP/2 with 8 streams each · constant arrivals"), "{shown}");
    }

    #[test]
    fn a_plot_shows_a_single_percentile() {
        let plotted = |probes: &[Probe]| {
            let mut out = Lines::new(&TerminalOptions::default());
            plot(&mut out, probes);
            out.text
        };
        let mut probes: Vec<Probe> = (1..=4).map(|n| probe(100.0 * f64::from(n), 1_000, None)).collect();
        probes.push(probe(500.0, 2_000, Some(9_000_000)));
        let out = plotted(&probes);
        assert!(out.contains("p50 └100") && out.contains("2 µs") && !out.contains("9 ms"), "{out}");
        probes.iter_mut().for_each(|p| p.p99_ns = Some(7 * p.p50_ns.unwrap()));
        let out = plotted(&probes);
        assert!(out.contains("p99 └100") && out.contains("14 µs"), "{out}");
    }
}
