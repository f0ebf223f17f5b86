//! What a source printed, beside what was measured here.

use prony_analysis::conclusions::JudgedConclusion;
use prony_analysis::experiment::{ExperimentAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_analysis::published::{PublishedAnalysis, PublishedFigures};
use prony_model::Estimate;
use prony_model::published::{FIGURES, PublishedRow};
use prony_model::run_log::RunLog;
use schemars::JsonSchema;
use serde::Serialize;

use super::names::Names;
use crate::words;

/// Somebody's figure beside ours.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Published<'a> {
    /// Index of the plan.
    plan: usize,
    /// Index of the candidate.
    candidate: usize,
    /// Index of the figure.
    figure: usize,
    /// Their figure.
    value: f64,
    /// Where it was published.
    source: &'a str,
    /// Why it is doubted, if it is.
    doubt: Option<&'a str>,
}

/// A conclusion about what somebody published, judged.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Conclusion<'a> {
    judged: &'a JudgedConclusion,
    /// Whose it is, as a title: those of one stand together.
    by: String,
    /// Its figure, in words.
    there: String,
    /// Ours, in words.
    here: String,
    /// The 95 % interval of ours, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<String>,
    /// What the figures do not say: why it is undecided, where plans differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Ours plan by plan, in words.
    plans: Vec<String>,
}

/// What a source printed, beside this run; what is said of it as a whole is in the analysis.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SourceTable<'a> {
    /// How far its order agrees with ours, a sentence a plan; then our trials by its statistic, likewise.
    agreement: Vec<String>,
    /// The figures that any of its rows has, in the order of a table.
    columns: Vec<SourceColumn<'a>>,
    /// What it printed, in its order; a row that stands beside several plans is there once for each.
    rows: Vec<SourceRow<'a>>,
}

/// A figure that a source printed.
#[derive(Serialize, JsonSchema)]
struct SourceColumn<'a> {
    /// Its name in the source's file: `p99_ms`.
    name: &'a str,
    /// For people: `p99`.
    title: String,
    /// Its unit; empty: a number of something, or a share.
    unit: &'static str,
}

/// A row of a source's tables.
#[derive(Serialize, JsonSchema)]
struct SourceRow<'a> {
    printed: &'a PublishedRow,
    /// Index of the candidate, where it is of this run.
    index: Option<usize>,
    /// Index of the plan that the row stands beside; none where no plan here is that load.
    plan: Option<usize>,
    /// Its figures, in the order of the columns; none where it printed none.
    figures: Vec<Option<SourceFigure>>,
}

/// A source's figure and ours, both in the source's unit.
#[derive(Serialize, JsonSchema)]
struct SourceFigure {
    /// Theirs.
    value: f64,
    /// Ours, where the same was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    ours: Option<Estimate>,
    /// Ours is longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    ours_beyond: Option<f64>,
    /// Ours is a lower bound: print `≥`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
}

/// The figure of ours that a source's is, and our units in one of theirs. Counts and maxima grow with a load's length.
fn ours(name: &str) -> Option<(Figure, f64)> {
    Figure::all().find_map(|figure| {
        let (theirs, factor) = figure.published?;
        (theirs == name).then_some((figure, factor))
    })
}

/// The source's figures, its conclusions judged, and what is to be said of it as a whole.
pub(super) fn beside<'a>(
    log: &'a RunLog,
    analysis: &'a ExperimentAnalysis,
    names: &Names,
) -> (Vec<Published<'a>>, Vec<Conclusion<'a>>, Option<SourceTable<'a>>) {
    let Some(published) = &analysis.published else { return (Vec::new(), Vec::new(), None) };
    let conclusions = published.conclusions.iter().map(conclusion).collect();
    let printed = log.header.published.as_ref().map_or(&[][..], |p| p.rows.as_slice());
    let columns = columns(printed);
    let source = SourceTable {
        agreement: published
            .agreement
            .iter()
            .map(words::agreement)
            .chain(words::by_its_statistic(published))
            .collect(),
        rows: printed.iter().flat_map(|row| source_rows(analysis, names, &columns, row)).collect(),
        columns,
    };
    (figures(analysis, names, published), conclusions, Some(source))
}

fn figures<'a>(
    analysis: &'a ExperimentAnalysis,
    names: &Names,
    source: &'a PublishedAnalysis,
) -> Vec<Published<'a>> {
    let rows =
        analysis.plans.iter().enumerate().flat_map(|(at, plan)| plan.rows.iter().map(move |row| (at, row)));
    let known = rows
        .filter_map(|(plan, row)| Some((plan, names.candidate(&row.candidate)?, row.published.as_ref()?)));
    let each = |(plan, candidate, theirs): (usize, usize, &'a PublishedFigures)| {
        Figure::ranked().enumerate().filter_map(move |(figure, ours)| {
            let (name, factor) = ours.published?;
            let value = theirs.figures.get(name)? * factor;
            let (source, doubt) = (source.source.as_str(), theirs.doubt.as_deref());
            Some(Published { plan, candidate, figure, value, source, doubt })
        })
    };
    known.flat_map(each).collect()
}

fn conclusion(judged: &JudgedConclusion) -> Conclusion<'_> {
    let value = |here: &Option<Estimate>| {
        here.as_ref().map_or_else(String::new, |e| words::judged_value(judged, e.point))
    };
    Conclusion {
        judged,
        by: judged.by.to_string(),
        there: words::judged_published(judged).trim_matches(['(', ')']).to_owned(),
        here: words::judged_measured(judged),
        interval: words::judged_interval(judged),
        why: words::judged_why(judged),
        plans: judged.plans.iter().map(|plan| value(&plan.here)).collect(),
    }
}

/// The figures that any row has: those that are known in their order, then the others by name.
fn columns(rows: &[PublishedRow]) -> Vec<SourceColumn<'_>> {
    let has = |name: &str| rows.iter().any(|row| row.figures.contains_key(name));
    let mut others: Vec<&str> = rows.iter().flat_map(|row| row.figures.keys()).map(String::as_str).collect();
    others.retain(|name| FIGURES.iter().all(|(known, ..)| known != name));
    others.sort_unstable();
    others.dedup();
    let known = FIGURES.iter().filter(|(name, ..)| has(name));
    let known = known.map(|(name, title, unit)| SourceColumn { name, title: (*title).to_owned(), unit });
    known
        .chain(others.into_iter().map(|name| SourceColumn { name, title: words::code(name), unit: "" }))
        .collect()
}

/// A row once for each plan that it stands beside, or once beside none.
fn source_rows<'a>(
    analysis: &ExperimentAnalysis,
    names: &Names,
    columns: &[SourceColumn<'_>],
    row: &'a PublishedRow,
) -> Vec<SourceRow<'a>> {
    let is_it =
        |of: &PublishedFigures| of.name == row.name && of.figures == row.figures && of.doubt == row.doubt;
    let beside = analysis.plans.iter().filter_map(|plan| {
        let ours = plan.rows.iter().find(|ours| ours.candidate == row.candidate)?;
        ours.published.as_ref().is_some_and(is_it).then_some((plan.name.as_str(), ours))
    });
    let beside: Vec<(&str, &Row)> = beside.collect();
    let of = |ours: Option<(&str, &Row)>| SourceRow {
        printed: row,
        index: names.candidate(&row.candidate),
        plan: ours.and_then(|(plan, _)| names.plan(plan)),
        figures: columns
            .iter()
            .map(|column| source_figure(row, ours.map(|(_, ours)| ours), column.name))
            .collect(),
    };
    if beside.is_empty() { vec![of(None)] } else { beside.into_iter().map(|ours| of(Some(ours))).collect() }
}

fn source_figure(row: &PublishedRow, beside: Option<&Row>, name: &str) -> Option<SourceFigure> {
    let value = row.figure(name)?;
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
        ours: found.estimate.as_ref().map(in_theirs),
        ours_beyond: found.censored_at_ns.map(|ns| ns as f64 / factor),
        at_least: found.lower_bound,
    })
}
