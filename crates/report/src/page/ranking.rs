//! Each figure of each plan: candidates by place, with their ratios to any of them.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::figures::CandidateFigure;
use prony_model::Estimate;
use prony_model::run_log::RunLog;
use prony_model::trial::Effect;
use schemars::JsonSchema;
use serde::Serialize;

use super::data::Chunk;
use super::names::Names;
use super::pack;

/// A figure under a plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Ranking<'a> {
    /// Index of the plan.
    plan: usize,
    /// Index of the figure.
    figure: usize,
    /// Best first; those without a figure last.
    rows: Vec<RankingRow<'a>>,
}

/// A candidate's figure under a plan.
#[derive(Serialize, JsonSchema)]
struct RankingRow<'a> {
    /// Index of the candidate.
    candidate: usize,
    #[serde(flatten)]
    found: &'a CandidateFigure,
    /// To the experiment's baseline; to the others in the chunk `r` + plan.
    ratio: Option<&'a Estimate>,
    /// The worst that a verdict does to this figure: ``, `?` (suspect) or `✗` (invalid).
    mark: &'static str,
}

/// The ratios of a plan, by figure, row and baseline: the chunk `r` + plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ratios<'a> {
    /// Index of the candidate of each row, and of each baseline.
    candidates: Vec<usize>,
    /// By figure, then row, then baseline; a figure without any has empty rows.
    ratios: Vec<Vec<&'a [Option<Estimate>]>>,
}

/// The figures that are shown: those to rank by and, behind them, other columns of views of which something is known.
pub(super) fn figures(analysis: &ExperimentAnalysis) -> Vec<Figure> {
    let rows = || analysis.plans.iter().flat_map(|plan| &plan.rows);
    let is_known = |figure: &Figure| rows().any(|row| row.figures[*figure].estimate.is_some());
    let others = Figure::all().filter(|figure| !figure.ranked && figure.is_column()).filter(is_known);
    // Of a run without a threshold on response times there is no goodput.
    let ranked = Figure::ranked().filter(|figure| *figure != Figure::GOODPUT || is_known(figure));
    ranked.chain(others).collect()
}

/// The rankings, and a chunk `r` + plan of all ratios for each plan.
pub(super) fn rankings<'a>(
    log: &RunLog,
    analysis: &'a ExperimentAnalysis,
    figures: &[Figure],
    names: &Names,
) -> (Vec<Ranking<'a>>, Vec<Chunk>) {
    let (mut rankings, mut chunks) = (Vec::new(), Vec::new());
    for (index, plan) in analysis.plans.iter().enumerate() {
        let baseline = plan.rows.iter().position(|row| Some(&row.candidate) == analysis.baseline.as_ref());
        let ranking = |(i, figure): (usize, &Figure)| Ranking {
            plan: index,
            figure: i,
            rows: rows(log, plan, *figure, names, baseline),
        };
        rankings.extend(figures.iter().enumerate().map(ranking));
        let of = |figure: &Figure| plan.rows.iter().map(|row| &row.figures[*figure].ratios[..]).collect();
        let ratios = Ratios {
            candidates: plan.rows.iter().filter_map(|row| names.candidate(&row.candidate)).collect(),
            ratios: figures.iter().map(of).collect(),
        };
        chunks.push(pack::chunk(format!("r{index}"), &ratios));
    }
    (rankings, chunks)
}

fn rows<'a>(
    log: &RunLog,
    plan: &'a PlanAnalysis,
    figure: Figure,
    names: &Names,
    baseline: Option<usize>,
) -> Vec<RankingRow<'a>> {
    let row = |row: &'a Row| {
        let found = &row.figures[figure];
        Some(RankingRow {
            candidate: names.candidate(&row.candidate)?,
            found,
            ratio: baseline.and_then(|b| found.ratios.get(b)?.as_ref()),
            mark: mark(log, &plan.name, &row.candidate, figure),
        })
    };
    let mut rows: Vec<RankingRow<'_>> = plan.rows.iter().filter_map(row).collect();
    let sign = if figure.more_is_better { -1.0 } else { 1.0 };
    let key = |row: &RankingRow<'_>| row.found.estimate.as_ref().map_or(f64::INFINITY, |e| sign * e.point);
    rows.sort_by(|a, b| key(a).total_cmp(&key(b)));
    rows
}

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
