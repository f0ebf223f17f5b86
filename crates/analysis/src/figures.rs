//! Every figure of a run ranked as throughput is: estimates over trials, ranks
//! with their ties, and ratios between any two candidates.
//!
//! A reader chooses the figure and the baseline on the page; what they may
//! choose is computed here, by the same methods as [`crate::experiment`].

use prony_model::Estimate;
use prony_model::run_log::RunLog;

use crate::analyse::{Results, candidates, plan_names};
use crate::figure::{COMPARED, Figure};
use crate::precision::widen_all;
use crate::ranking::{Contestant, ranks};
use crate::row::{Cell, estimate, percentile};

/// A trial's figure; `None` where it has none, a percentile that is censored among them.
fn of(figure: Figure, cell: &Cell<'_>) -> Option<f64> {
    let known = cell.figure(figure)?;
    if let Figure::Percentile(percentile) = figure {
        cell.trial.latency.response.percentile(percentile.field())?;
    }
    Some(known.value).filter(|v| v.is_finite())
}

/// One figure under one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The plan's name.
    pub plan: String,
    /// The figure.
    pub figure: Figure,
    /// Candidates in the experiment's order.
    pub rows: Vec<FigureRow>,
}

/// One candidate's figure under one plan.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureRow {
    /// The candidate's label.
    pub candidate: String,
    /// The geometric mean over its trials that count, with its interval; of peak memory the highest, without one.
    pub estimate: Option<Estimate>,
    /// For a percentile that is censored in a trial: it is longer than this.
    pub censored_at_ns: Option<u64>,
    /// Whether it is a lower bound.
    pub lower_bound: bool,
    /// The best and the worst place it may hold.
    pub rank: Option<(u32, u32)>,
    /// Its group of ties, from 1: the rank intervals of different groups do not overlap.
    pub tie: Option<u32>,
    /// Each counted trial's figure, in block order.
    pub trials: Vec<f64>,
    /// Over each candidate of the rows, in their order: the ratio, paired within blocks.
    pub ratios: Vec<Option<Estimate>>,
}

/// All figures under all plans.
pub fn rankings(log: &RunLog) -> Vec<Ranking> {
    let results = log.last_results();
    let mut all = Vec::new();
    for plan in plan_names(log, &results) {
        let cells: Vec<(String, Vec<Cell<'_>>)> = candidates(log, &results, &plan)
            .into_iter()
            .map(|candidate| {
                let cells = counted(&results, &plan, &candidate.label);
                (candidate.label, cells)
            })
            .collect();
        all.extend(COMPARED.map(|figure| Ranking {
            plan: plan.clone(),
            figure,
            rows: figure_rows(figure, &cells, log.header.precision.is_some()),
        }));
    }
    all
}

/// A figure of one candidate under one plan, ranked by or not: the estimate over its trials that count, and else
/// what a percentile is longer than.
pub fn estimate_of(
    log: &RunLog,
    plan: &str,
    candidate: &str,
    figure: Figure,
) -> (Option<Estimate>, Option<u64>) {
    let results = log.last_results();
    let (mut estimate, censored_at_ns) = figures_estimate(figure, &counted(&results, plan, candidate));
    if log.header.precision.is_some() {
        widen_all([&mut estimate]);
    }
    (estimate, censored_at_ns)
}

/// The trials that count of a candidate under a plan, in block order.
fn counted<'a>(results: &Results<'a>, plan: &str, candidate: &str) -> Vec<Cell<'a>> {
    let own = results.values().filter(|r| r.planned.plan == plan && r.planned.candidate == candidate);
    let mut cells: Vec<Cell<'a>> = own.filter_map(|r| Cell::of(r)).filter(Cell::counts).collect();
    cells.sort_by_key(|cell| (cell.planned.block, cell.planned.index));
    cells
}

fn figure_rows(figure: Figure, cells: &[(String, Vec<Cell<'_>>)], widened: bool) -> Vec<FigureRow> {
    let contestants: Vec<Option<Contestant>> = cells.iter().map(|(_, c)| contestant(figure, c)).collect();
    let present: Vec<Contestant> = contestants
        .iter()
        .flatten()
        .map(|c| if figure.more_is_better() { c.clone() } else { inverse(c) })
        .collect();
    let mut places = ranks(&present.iter().collect::<Vec<_>>()).into_iter();
    let mut rows: Vec<FigureRow> = cells
        .iter()
        .zip(&contestants)
        .map(|((label, cells), own)| {
            let (estimate, censored_at_ns) = figures_estimate(figure, cells);
            FigureRow {
                candidate: label.clone(),
                rank: own.as_ref().and_then(|_| places.next()),
                tie: None,
                lower_bound: figure == Figure::Throughput && cells.iter().any(Cell::is_lower_bound),
                trials: cells.iter().filter_map(|c| of(figure, c)).collect(),
                ratios: contestants.iter().map(|base| own.as_ref()?.ratio_to(base.as_ref()?)).collect(),
                estimate,
                censored_at_ns,
            }
        })
        .collect();
    for (i, row) in rows.iter_mut().enumerate() {
        if row.ratios[i].is_some() {
            row.ratios[i] = Some(Estimate::bare(1.0, row.trials.len() as u64, "it is the baseline"));
        }
    }
    if widened {
        for row in &mut rows {
            widen_all([&mut row.estimate]);
            widen_all(&mut row.ratios);
        }
    }
    group_ties(&mut rows);
    rows
}

/// The estimate, or what a percentile is longer than. Only where every trial
/// that counts has the figure: a mean over those that happened to have it would favour them.
fn figures_estimate(figure: Figure, cells: &[Cell<'_>]) -> (Option<Estimate>, Option<u64>) {
    if let Figure::Percentile(of) = figure {
        return percentile(cells, of.field());
    }
    let values: Vec<f64> = cells.iter().filter_map(|c| of(figure, c)).collect();
    if figure == Figure::Memory {
        // What a server needs is what it needed once; every view says the same.
        let most = values.iter().copied().reduce(f64::max);
        let count = values.len() as u64;
        return (most.map(|most| Estimate::bare(most, count, "it is the highest of the trials")), None);
    }
    (estimate(&values), None)
}

/// What competes: nothing where a trial that counts lacks the figure, or where it may not be compared.
fn contestant(figure: Figure, cells: &[Cell<'_>]) -> Option<Contestant> {
    if matches!(figure, Figure::Percentile(_)) {
        // Censored, withheld, or grown with the window's length in an overload.
        let (estimate, _) = figures_estimate(figure, cells);
        let overloaded = estimate?.no_interval.is_some_and(|why| why.starts_with("overloaded"));
        if overloaded {
            return None;
        }
    }
    let by_block: Vec<(u32, f64)> =
        cells.iter().filter_map(|c| Some((c.planned.block, of(figure, c)?))).collect();
    let lower = figure == Figure::Throughput && cells.iter().any(Cell::is_lower_bound);
    Contestant::of(&by_block, lower)
}

/// The same order upside down, for figures of which less is better.
fn inverse(contestant: &Contestant) -> Contestant {
    let blocks = contestant.blocks.iter().map(|(block, value)| (*block, 1.0 / value)).collect();
    Contestant { blocks, lower_bound: false }
}

/// Rank intervals that overlap, directly or over others, are one group.
fn group_ties(rows: &mut [FigureRow]) {
    let mut order: Vec<usize> = (0..rows.len()).filter(|i| rows[*i].rank.is_some()).collect();
    order.sort_by_key(|i| rows[*i].rank);
    let (mut group, mut reaches) = (0, 0);
    for i in order {
        let (low, high) = rows[i].rank.unwrap_or_default();
        if low > reaches {
            group += 1;
        }
        reaches = reaches.max(high);
        rows[i].tie = Some(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: (u32, u32)) -> FigureRow {
        FigureRow {
            candidate: String::new(),
            estimate: None,
            censored_at_ns: None,
            lower_bound: false,
            rank: Some(rank),
            tie: None,
            trials: vec![],
            ratios: vec![],
        }
    }

    #[test]
    fn ties_are_rank_intervals_that_overlap() {
        let mut rows: Vec<FigureRow> = [(3, 4), (1, 2), (5, 5), (1, 2), (4, 4)].map(row).into();
        group_ties(&mut rows);
        assert_eq!(rows.iter().map(|r| r.tie.unwrap()).collect::<Vec<_>>(), [2, 1, 3, 1, 2]);
    }

    #[test]
    fn less_is_better_turns_the_order_round() {
        let of = |v: f64| Contestant::of(&[(0, v), (1, v * 1.001), (2, v * 0.999)], false).unwrap();
        let (quick, slow) = (of(1.0), of(2.0));
        assert_eq!(ranks(&[&inverse(&quick), &inverse(&slow)]), [(1, 1), (2, 2)]);
        assert_eq!(ranks(&[&quick, &slow]), [(2, 2), (1, 1)]);
    }
}
