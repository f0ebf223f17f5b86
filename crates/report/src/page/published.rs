//! What a source printed, beside what was measured here.

use prony_analysis::conclusions::{JudgedConclusion, Judgement};
use prony_analysis::experiment::{ExperimentAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::published::{PublishedAnalysis, PublishedFigures};
use prony_model::Estimate;
use prony_model::published::{FIGURES, PublishedRow};
use prony_model::run_log::RunLog;

use super::data::{
    Conclusion, ConclusionUnder, Published, SourceColumn, SourceFigure, SourceRow, SourceTable,
};
use super::names::Names;
use super::pack;
use crate::{format, words};

/// The figure of ours that a source's is, and how many of our units are one of theirs. Counts and maxima grow with the
/// length of a load, so that ours stand beside none of them.
fn ours(name: &str) -> Option<(Figure, f64)> {
    Figure::all().find_map(|figure| {
        let (theirs, factor) = figure.published?;
        (theirs == name).then_some((figure, factor))
    })
}

/// The source's figures, its conclusions judged, and what is to be said of it as a whole.
pub(super) fn beside(
    log: &RunLog,
    analysis: &ExperimentAnalysis,
    names: &Names,
) -> (Vec<Published>, Vec<Conclusion>, Option<SourceTable>) {
    let Some(published) = &analysis.published else { return (Vec::new(), Vec::new(), None) };
    let conclusions = published.conclusions.iter().map(|judged| conclusion(judged, &published.source));
    (
        figures(analysis, names, &published.source),
        conclusions.collect(),
        Some(source(log, analysis, published, names)),
    )
}

fn figures(analysis: &ExperimentAnalysis, names: &Names, source: &str) -> Vec<Published> {
    let mut out = Vec::new();
    for (plan, rows) in analysis.plans.iter().map(|p| &p.rows).enumerate() {
        for row in rows {
            let (Some(published), Some(candidate)) = (&row.published, names.candidate(&row.candidate)) else {
                continue;
            };
            for (figure, ours) in Figure::ranked().enumerate() {
                let Some((theirs, factor)) = ours.published else { continue };
                let Some(value) = published.figures.get(theirs) else { continue };
                out.push(Published {
                    plan,
                    candidate,
                    figure,
                    value: pack::six_digits(value * factor),
                    source: format::printable(source),
                    doubt: published.doubt.clone(),
                });
            }
        }
    }
    out
}

fn conclusion(judged: &JudgedConclusion, source: &str) -> Conclusion {
    let there = words::judged_published(judged);
    let under = |plan: &prony_analysis::conclusions::JudgedPlan| ConclusionUnder {
        plan: plan.plan.clone(),
        verdict: verdict(plan.judgement),
        here: plan.here.as_ref().map_or_else(String::new, |e| words::judged_value(judged, e.point)),
        why: plan.why.clone(),
    };
    Conclusion {
        claim: judged.text.clone(),
        by: judged.by.to_string(),
        there: there.trim_matches(['(', ')']).to_owned(),
        here: words::judged_measured(judged),
        verdict: verdict(judged.judgement),
        source: source.to_owned(),
        rule: judged.claim.clone(),
        interval: words::judged_interval(judged),
        why: words::judged_why(judged),
        plans: if judged.plans.len() > 1 { judged.plans.iter().map(under).collect() } else { Vec::new() },
    }
}

fn verdict(judgement: Judgement) -> String {
    judgement.word().to_lowercase()
}

fn source(
    log: &RunLog,
    analysis: &ExperimentAnalysis,
    published: &PublishedAnalysis,
    names: &Names,
) -> SourceTable {
    let printed = log.header.published.as_ref().map_or(&[][..], |p| p.rows.as_slice());
    let columns = columns(printed);
    SourceTable {
        name: published.source.clone(),
        method: published.method.clone(),
        agreement: published.agreement.iter().map(words::agreement).collect(),
        differences: published.differences.iter().map(|why| format::printable(why)).collect(),
        doubts: published.doubts.iter().map(|d| (d.candidate.clone(), d.reason.clone())).collect(),
        not_here: published.not_here.clone(),
        rows: printed.iter().flat_map(|row| source_rows(analysis, names, &columns, row)).collect(),
        columns,
        facts: published.facts.iter().map(|(key, text)| (words::code(key), text.clone())).collect(),
    }
}

/// The figures that any row has: those that are known in their order, then the others by name.
fn columns(rows: &[PublishedRow]) -> Vec<SourceColumn> {
    let has = |name: &str| rows.iter().any(|row| row.figures.contains_key(name));
    let known = FIGURES.iter().filter(|(name, ..)| has(name)).map(|(name, title, unit)| SourceColumn {
        name: (*name).to_owned(),
        title: (*title).to_owned(),
        unit,
    });
    let mut others: Vec<&String> = rows.iter().flat_map(|row| row.figures.keys()).collect();
    others.retain(|name| FIGURES.iter().all(|(known, ..)| known != name));
    others.sort();
    others.dedup();
    let other = |name: &String| SourceColumn { name: name.clone(), title: words::code(name), unit: "" };
    known.chain(others.into_iter().map(other)).collect()
}

/// A row once for each plan that it stands beside, or once beside none.
fn source_rows(
    analysis: &ExperimentAnalysis,
    names: &Names,
    columns: &[SourceColumn],
    row: &PublishedRow,
) -> Vec<SourceRow> {
    let is_it =
        |of: &PublishedFigures| of.name == row.name && of.figures == row.figures && of.doubt == row.doubt;
    let beside = analysis.plans.iter().filter_map(|plan| {
        let ours = plan.rows.iter().find(|ours| ours.candidate == row.candidate)?;
        ours.published.as_ref().is_some_and(is_it).then_some((plan.name.as_str(), ours))
    });
    let beside: Vec<(&str, &Row)> = beside.collect();
    let of = |ours: Option<(&str, &Row)>| SourceRow {
        name: row.name.clone(),
        candidate: row.candidate.clone(),
        index: names.candidate(&row.candidate),
        plan: ours.and_then(|(plan, _)| names.plan(plan)),
        connections: row.connections,
        rate_per_s: row.rate_per_s,
        workers: row.workers,
        figures: columns
            .iter()
            .map(|column| source_figure(row, ours.map(|(_, ours)| ours), &column.name))
            .collect(),
        remarks: row.remarks.iter().map(|(key, text)| (words::code(key), text.clone())).collect(),
        doubt: row.doubt.clone(),
    };
    if beside.is_empty() { vec![of(None)] } else { beside.into_iter().map(|ours| of(Some(ours))).collect() }
}

fn source_figure(row: &PublishedRow, beside: Option<&Row>, name: &str) -> Option<SourceFigure> {
    let value = pack::six_digits(row.figure(name)?);
    let (Some(ours), Some((figure, factor))) = (beside, ours(name)) else {
        return Some(SourceFigure { value, ours: None, ours_beyond: None, at_least: false });
    };
    let found = &ours.figures[figure];
    let in_theirs = |e: &Estimate| Estimate {
        point: e.point / factor,
        ci_low: e.ci_low.map(|v| v / factor),
        ci_high: e.ci_high.map(|v| v / factor),
        ..e.clone()
    };
    Some(SourceFigure {
        value,
        ours: found.estimate.as_ref().map(|e| pack::short(&in_theirs(e))),
        #[expect(clippy::cast_precision_loss, reason = "a wait is below 2^53 ns")]
        ours_beyond: found.censored_at_ns.map(|ns| pack::six_digits(ns as f64 / factor)),
        at_least: found.lower_bound,
    })
}
