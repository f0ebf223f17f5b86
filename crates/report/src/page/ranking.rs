//! The rankings of every figure under every plan, and the ratios between any two candidates.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_model::run_log::RunLog;
use prony_model::trial::Effect;
use schemars::JsonSchema;
use serde::Serialize;

use super::data::{Chunk, Ranking, RankingRow, Short};
use super::names::Names;
use super::pack;

/// A plan's ratios, the chunk `r` + plan: per figure, per row, over each baseline. `null` where there is none.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ratios {
    /// Indices of the candidates, in the order of rows and columns.
    candidates: Vec<usize>,
    /// `[figure][row][baseline]`.
    ratios: Vec<Vec<Vec<Option<Short>>>>,
}

/// The figures that are shown of candidates: those that they are ranked by and, behind them, the other columns of views of
/// which something is known.
pub(super) fn figures(analysis: &ExperimentAnalysis) -> Vec<Figure> {
    let rows = || analysis.plans.iter().flat_map(|plan| &plan.rows);
    let is_known = |figure: &Figure| rows().any(|row| row.figures[*figure].estimate.is_some());
    let others = Figure::all().filter(|figure| !figure.ranked && figure.is_column()).filter(is_known);
    // Of a run without a threshold on response times there is no goodput.
    let ranked = Figure::ranked().filter(|figure| *figure != Figure::GOODPUT || is_known(figure));
    ranked.chain(others).collect()
}

/// The rankings, and a chunk `r` + plan of all ratios for each plan.
pub(super) fn rankings(
    log: &RunLog,
    analysis: &ExperimentAnalysis,
    names: &Names,
) -> (Vec<Ranking>, Vec<Chunk>) {
    let mut rankings = Vec::new();
    let mut chunks = Vec::new();
    let figures = figures(analysis);
    for (index, plan) in analysis.plans.iter().enumerate() {
        let candidates = plan.rows.iter().filter_map(|row| names.candidate(&row.candidate)).collect();
        let baseline = plan.rows.iter().position(|row| Some(&row.candidate) == analysis.baseline.as_ref());
        for (i, &figure) in figures.iter().enumerate() {
            rankings.push(Ranking { plan: index, figure: i, rows: rows(log, plan, figure, names, baseline) });
        }
        let none = vec![None; plan.rows.len()];
        let short = |row: &Row, figure: Figure| match row.figures[figure].ratios.as_slice() {
            [] => none.clone(),
            ratios => ratios.iter().map(|ratio| ratio.as_ref().map(pack::short)).collect(),
        };
        let of = |figure| plan.rows.iter().map(|row| short(row, figure)).collect();
        let ratios = figures.iter().copied().map(of).collect();
        chunks.push(pack::chunk(format!("r{index}"), &Ratios { candidates, ratios }));
    }
    (rankings, chunks)
}

fn rows(
    log: &RunLog,
    plan: &PlanAnalysis,
    figure: Figure,
    names: &Names,
    baseline: Option<usize>,
) -> Vec<RankingRow> {
    let row = |row: &Row| {
        let found = &row.figures[figure];
        Some(RankingRow {
            candidate: names.candidate(&row.candidate)?,
            estimate: found.estimate.as_ref().map(pack::short),
            censored_at_ns: found.censored_at_ns,
            lower_bound: found.lower_bound,
            rank: found.rank,
            tie: found.tie,
            ratio: baseline.and_then(|b| found.ratios.get(b)?.as_ref()).map(pack::short),
            mark: mark(log, &plan.name, &row.candidate, figure),
            trials: found.trials.iter().map(|v| pack::six_digits(*v)).collect(),
        })
    };
    let mut rows: Vec<RankingRow> = plan.rows.iter().filter_map(row).collect();
    let sign = if figure.more_is_better { -1.0 } else { 1.0 };
    let key = |row: &RankingRow| row.estimate.as_ref().map_or(f64::INFINITY, |e| sign * e.point);
    rows.sort_by(|a, b| key(a).total_cmp(&key(b)));
    rows
}

/// What the verdicts of the trials do to a figure, at the worst.
fn mark(log: &RunLog, plan: &str, candidate: &str, figure: Figure) -> &'static str {
    let word = figure.affected_as;
    if word.is_empty() {
        return "";
    }
    let trials = log.results.iter().filter(|r| r.planned.plan == plan && r.planned.candidate == candidate);
    let reasons = trials.filter_map(|r| r.trial.as_ref()).flat_map(|t| &t.verdict.reasons);
    match reasons.filter(|r| r.touches(word)).map(|r| r.effect).max() {
        Some(Effect::Invalid) => "✗",
        Some(Effect::Suspect) => "?",
        _ => "",
    }
}
