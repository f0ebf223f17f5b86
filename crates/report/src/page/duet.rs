//! Two that ran at once, in places that they changed: every figure of both.

use prony_analysis::comparison::{Comparison, FigureComparison};
use schemars::JsonSchema;
use serde::Serialize;

use super::names::Names;
use crate::words::comparison as words;

/// The analysis' comparison of a duet, with what it is in words.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Duet<'a> {
    /// Index of the candidate that is compared with.
    a: usize,
    /// Index of the one that is compared.
    b: usize,
    /// Every figure under every plan.
    rows: Vec<DuetRow<'a>>,
    /// Index of a plan, and what was measured of it: `6 blocks of one run, both at once, …`.
    amounts: Vec<(usize, String)>,
    /// What the table's words mean.
    legend: &'static str,
}

/// A figure of both under a plan.
#[derive(Serialize, JsonSchema)]
struct DuetRow<'a> {
    /// Index of the plan.
    plan: usize,
    found: &'a FigureComparison,
    /// The ratio as a change: `−5.0 %`.
    change: String,
    /// What two equals would show: `±0.9 %`.
    noise: String,
    /// The finding in words: `FASTER`, `inconclusive: about 12 more blocks`.
    verdict: String,
}

/// `None` where the page knows no such candidates.
pub(super) fn duet<'a>(comparison: &'a Comparison, names: &Names) -> Option<Duet<'a>> {
    let (a, b) = (names.candidate(&comparison.a.candidate)?, names.candidate(&comparison.b.candidate)?);
    let plans = comparison.plans.iter().filter_map(|plan| Some((names.plan(&plan.name)?, plan)));
    let row = |plan, found: &'a FigureComparison| DuetRow {
        plan,
        found,
        change: words::changes(found).0,
        noise: words::noise(found),
        verdict: words::verdict(found, comparison.paired),
    };
    let rows =
        plans.clone().flat_map(|(index, plan)| plan.figures.iter().map(move |found| row(index, found)));
    Some(Duet {
        a,
        b,
        rows: rows.collect(),
        amounts: plans.map(|(index, plan)| (index, words::amount(plan, comparison))).collect(),
        legend: words::legend(comparison),
    })
}
