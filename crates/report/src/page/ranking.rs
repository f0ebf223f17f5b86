//! The rankings of every figure under every plan, and the ratios between any two candidates.

use prony_analysis::experiment::ExperimentAnalysis;
use prony_analysis::figure::Figure;
use prony_analysis::figures::{self, FigureRow};
use prony_model::run_log::RunLog;
use prony_model::trial::Effect;
use schemars::JsonSchema;
use serde::Serialize;

use super::assemble::Names;
use super::data::{Chunk, Ranking, RankingRow, Short};
use super::pack;

/// A plan's ratios, the chunk `r` + plan: per figure, per row, over each baseline. `null` where there is none.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ratios {
    /// Indices of the candidates, in the order of rows and columns.
    candidates: Vec<usize>,
    /// `[figure][row][baseline]`.
    ratios: Vec<Vec<Vec<Option<Short>>>>,
}

/// The rankings, and a chunk `r` + plan of all ratios for each plan.
pub(super) fn rankings(
    log: &RunLog,
    analysis: &ExperimentAnalysis,
    names: &Names,
) -> (Vec<Ranking>, Vec<Chunk>) {
    let all = figures::rankings(log);
    let mut rankings = Vec::new();
    let mut chunks = Vec::new();
    for (plan, name) in names.plans.iter().enumerate() {
        let of_plan: Vec<&figures::Ranking> = all.iter().filter(|r| r.plan == *name).collect();
        let Some(first) = of_plan.first() else { continue };
        let candidates: Vec<usize> =
            first.rows.iter().filter_map(|row| names.candidate(&row.candidate)).collect();
        let baseline = analysis.baseline.as_deref();
        let baseline = first.rows.iter().position(|row| Some(row.candidate.as_str()) == baseline);
        for (figure, ranking) in of_plan.iter().enumerate() {
            rankings.push(Ranking { plan, figure, rows: rows(log, name, ranking, names, baseline) });
        }
        let short = |row: &FigureRow| row.ratios.iter().map(|r| r.as_ref().map(pack::short)).collect();
        let ratios = of_plan.iter().map(|r| r.rows.iter().map(short).collect()).collect();
        chunks.push(pack::chunk(format!("r{plan}"), &Ratios { candidates, ratios }));
    }
    (rankings, chunks)
}

fn rows(
    log: &RunLog,
    plan: &str,
    ranking: &figures::Ranking,
    names: &Names,
    baseline: Option<usize>,
) -> Vec<RankingRow> {
    let mut rows: Vec<RankingRow> = ranking
        .rows
        .iter()
        .filter_map(|row| {
            Some(RankingRow {
                candidate: names.candidate(&row.candidate)?,
                estimate: row.estimate.as_ref().map(pack::short),
                censored_at_ns: row.censored_at_ns,
                lower_bound: row.lower_bound,
                rank: row.rank,
                tie: row.tie,
                ratio: baseline.and_then(|b| row.ratios.get(b)?.as_ref()).map(pack::short),
                mark: mark(log, plan, &row.candidate, ranking.figure),
                trials: row.trials.iter().map(|v| pack::six_digits(*v)).collect(),
            })
        })
        .collect();
    let sign = if ranking.figure.more_is_better() { -1.0 } else { 1.0 };
    let key = |row: &RankingRow| row.estimate.as_ref().map_or(f64::INFINITY, |e| sign * e.point);
    rows.sort_by(|a, b| key(a).total_cmp(&key(b)));
    rows
}

/// What the verdicts of the trials do to a figure, at the worst.
fn mark(log: &RunLog, plan: &str, candidate: &str, figure: Figure) -> &'static str {
    let word = match figure {
        Figure::Throughput => "throughput",
        Figure::Percentile(_) => "response",
        // No verdict touches what the lab itself reads of a server.
        _ => return "",
    };
    let touches = |name: &String| {
        name == word || (word == "response" && (name == "latency" || name.starts_with("response")))
    };
    let trials = log.results.iter().filter(|r| r.planned.plan == plan && r.planned.candidate == candidate);
    let reasons = trials.filter_map(|r| r.trial.as_ref()).flat_map(|t| &t.verdict.reasons);
    match reasons.filter(|r| r.affects.iter().any(touches)).map(|r| r.effect).max() {
        Some(Effect::Invalid) => "✗",
        Some(Effect::Suspect) => "?",
        _ => "",
    }
}
