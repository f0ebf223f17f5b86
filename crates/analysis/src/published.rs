//! A source's figures beside ours.

use std::collections::BTreeMap;

use prony_model::Estimate;
use prony_model::published::{Published, Statistic};
use prony_model::run_log::NamedPlan;
use prony_stats::CONFIDENCE;
use prony_stats::correlation::kendall_tau_b;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cell::CandidateTrials;
use crate::conclusions::{Evidence, JudgedConclusion, judge, rows_under};
use crate::figure::Figure;
use crate::numbers::count;
use crate::row::PlanAnalysis;
pub use crate::row::PublishedFigures;

/// A source beside this run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PublishedAnalysis {
    /// What it is called.
    pub source: String,
    /// How its figures were obtained.
    pub method: String,
    /// What in its method makes its figures others than ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// What it says besides.
    pub facts: BTreeMap<String, String>,
    /// How far its order agrees with ours, per plan that has at least four rows of both.
    pub agreement: Vec<Agreement>,
    /// What its statistic is of our trials, where it says which it is; none of a plan of which it printed nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_its_statistic: Vec<ByItsStatistic>,
    /// Its conclusions, judged.
    pub conclusions: Vec<JudgedConclusion>,
    /// Its rows that are left out of agreement, with the reason; each candidate and reason once.
    pub doubts: Vec<Doubt>,
    /// Candidates of its tables that have no figure here.
    pub not_here: Vec<String>,
}

/// How far two orders agree.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Agreement {
    /// The plan.
    pub plan: String,
    /// The figure that both order by: `requests_per_s` or `p99`.
    pub figure: &'static str,
    /// Kendall's tau-b: 1 is the same order, −1 its reverse.
    pub tau_b: Estimate,
    /// Rows of the plan left out for a doubt.
    pub left_out: u32,
}

/// A candidate's trials under a plan by the source's statistic, and what that hides of them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ByItsStatistic {
    /// The plan.
    pub plan: String,
    /// The candidate's label.
    pub candidate: String,
    /// The source's: `{"best_of": 5}`, `{"median_of": 3}`, `"one_run"`.
    pub statistic: Statistic,
    /// `requests_per_s` or `p99_ns`.
    pub figure: &'static str,
    /// Of the first trials, as many as the source had.
    pub value: f64,
    /// Trials that it is of, fewer than the source's where fewer count.
    pub of: u32,
    /// The lowest of all trials that count.
    pub lowest: f64,
    /// The highest of them.
    pub highest: f64,
    /// How many count.
    pub trials: u32,
}

/// A row of the source that is not to be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Doubt {
    /// The candidate's label.
    pub candidate: String,
    /// Why.
    pub reason: String,
}

/// A figure over that of another row; `None` where either is missing, doubted or not above 0.
pub fn ratio(row: &PublishedFigures, baseline: &PublishedFigures, figure: &str) -> Option<f64> {
    let trusted = |row: &PublishedFigures| {
        row.figures.get(figure).copied().filter(|value| *value > 0.0 && row.doubt.is_none())
    };
    Some(trusted(row)? / trusted(baseline)?)
}

/// Sets the source's figures into the rows.
pub(crate) fn beside(
    published: &Published,
    named: &[NamedPlan],
    baseline: Option<&str>,
    plans: &mut [PlanAnalysis],
) {
    for plan in plans {
        let Some(named) = named.iter().find(|named| named.name == plan.name) else { continue };
        let printed = |candidate: &str| {
            let row = rows_under(published, named).find(|row| row.candidate == candidate)?;
            let (name, figures, doubt) = (row.name.clone(), row.figures.clone(), row.doubt.clone());
            Some(PublishedFigures { name, figures, ratio: None, doubt })
        };
        let base = baseline.and_then(printed);
        for row in &mut plan.rows {
            row.published = printed(&row.candidate);
            if let (Some(own), Some(base)) = (&mut row.published, &base) {
                own.ratio = ratio(own, base, "requests_per_s");
            }
        }
    }
}

/// Everything about a source but the figures in the rows.
pub(crate) fn analyse(published: &Published, evidence: &Evidence<'_>) -> PublishedAnalysis {
    let plans = evidence.plans;
    let measured = |candidate: &str| {
        plans.iter().flat_map(|p| &p.rows).any(|row| row.candidate == candidate && row.counted > 0)
    };
    let mut not_here: Vec<String> =
        published.rows.iter().map(|row| row.candidate.clone()).filter(|c| !measured(c)).collect();
    not_here.sort();
    not_here.dedup();
    let mut doubts: Vec<Doubt> = Vec::new();
    for row in &published.rows {
        let doubt = row.doubt.clone().map(|reason| Doubt { candidate: row.candidate.clone(), reason });
        doubts.extend(doubt.filter(|doubt| !doubts.contains(doubt)));
    }
    PublishedAnalysis {
        source: published.source.clone(),
        method: published.method.clone(),
        differences: published.differences.clone(),
        facts: published.facts.clone(),
        agreement: plans.iter().filter_map(agreement).collect(),
        by_its_statistic: published.statistic.map_or_else(Vec::new, |of| by_its_statistic(of, evidence)),
        conclusions: judge(published, evidence),
        doubts,
        not_here,
    }
}

/// Of each row that the source printed: its throughput, or its p99 where it printed only times.
fn by_its_statistic(statistic: Statistic, evidence: &Evidence<'_>) -> Vec<ByItsStatistic> {
    let mut all = Vec::new();
    for plan in evidence.plans {
        for row in &plan.rows {
            let Some(theirs) = &row.published else { continue };
            let Some((figure, field)) = [(Figure::THROUGHPUT, "requests_per_s"), (Figure::P99, "p99_ms")]
                .into_iter()
                .find(|(_, f)| theirs.figures.contains_key(*f))
                .map(|(figure, _)| (figure, figure.field))
            else {
                continue;
            };
            let cells = CandidateTrials::of(evidence.results, &plan.name, &row.candidate).counted;
            let values: Vec<f64> = cells.iter().filter_map(|c| Some(c.uncensored(figure)?.value)).collect();
            let Some(value) = statistic.of(&values, figure.more_is_better) else { continue };
            all.push(ByItsStatistic {
                plan: plan.name.clone(),
                candidate: row.candidate.clone(),
                statistic,
                figure: field,
                value,
                of: statistic.runs().min(count(values.len())),
                lowest: values.iter().copied().fold(f64::INFINITY, f64::min),
                highest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                trials: count(values.len()),
            });
        }
    }
    all
}

/// Both orders of a plan: by throughput, or by p99 where the source has only times.
fn agreement(plan: &PlanAnalysis) -> Option<Agreement> {
    let rows: Vec<_> = plan.rows.iter().filter_map(|row| Some((row, row.published.as_ref()?))).collect();
    let left_out = rows.iter().filter(|(_, theirs)| theirs.doubt.is_some()).count();
    let trusted = || rows.iter().filter(|(_, theirs)| theirs.doubt.is_none());
    let rates: Vec<(f64, f64)> = trusted()
        .filter_map(|(row, theirs)| Some((row.throughput()?.point, *theirs.figures.get("requests_per_s")?)))
        .collect();
    let times: Vec<(f64, f64)> = trusted()
        .filter_map(|(row, theirs)| {
            Some((row.figures[Figure::P99].estimate.as_ref()?.point, *theirs.figures.get("p99_ms")?))
        })
        .collect();
    let (figure, pairs) = if rates.len() >= times.len() { ("requests_per_s", rates) } else { ("p99", times) };
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let tau = kendall_tau_b(&ours, &theirs, CONFIDENCE)?;
    let (point, n) = (tau.coefficient, tau.n as u64);
    let tau_b = match tau.interval {
        Some((low, high)) => Estimate::new(point, low, high, n),
        None => Estimate::bare(point, n, "so few rows give no interval"),
    };
    Some(Agreement { plan: plan.name.clone(), figure, tau_b, left_out: count(left_out) })
}
