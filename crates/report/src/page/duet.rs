//! A duet's comparison: what the seconds that both had say, which no row of the ranking does.

use prony_analysis::compare::Finding;
use prony_analysis::comparison::{Comparison, FigureComparison};
use prony_analysis::figure::Figure;
use prony_model::Estimate;

use super::data::{Duet, DuetRow, DuetSide};
use super::names::Names;
use super::pack;
use crate::words::comparison as words;

/// Both candidates of a duet beside each other; `None` where the page knows one of them not.
pub(super) fn duet(comparison: &Comparison, names: &Names) -> Option<Duet> {
    let (a, b) = (names.candidate(&comparison.a.candidate)?, names.candidate(&comparison.b.candidate)?);
    let plans = comparison.plans.iter().filter_map(|plan| Some((names.plan(&plan.name)?, plan)));
    let rows = plans.clone().flat_map(|(index, plan)| {
        plan.figures.iter().filter_map(move |found| row(index, found, comparison.paired))
    });
    let unlike = comparison.not_comparable.iter().map(|why| format!("Not comparable: {why}"));
    Some(Duet {
        a,
        b,
        rows: rows.collect(),
        amounts: plans.map(|(index, plan)| (index, words::amount(plan, comparison))).collect(),
        method: comparison.method.clone(),
        legend: words::legend(comparison),
        notes: unlike.chain(comparison.notes.iter().cloned()).collect(),
        next: comparison.next.clone(),
    })
}

fn row(plan: usize, found: &FigureComparison, paired: bool) -> Option<DuetRow> {
    Some(DuetRow {
        plan,
        figure: Figure::ranked().position(|figure| figure == found.figure)?,
        a: found.a.as_ref().map(side),
        b: found.b.as_ref().map(side),
        ratio: found.ratio.as_ref().map(pack::short),
        change: words::changes(found).0,
        noise: words::noise(found),
        finding: match found.finding {
            Some(Finding::Faster) => "better",
            Some(Finding::Slower) => "worse",
            Some(Finding::Equivalent) => "equivalent",
            Some(Finding::Inconclusive) => "inconclusive",
            None => "none",
        },
        verdict: words::verdict(found, paired),
        why: found.why.clone(),
    })
}

fn side(estimate: &Estimate) -> DuetSide {
    DuetSide { estimate: pack::short(estimate), at_least: estimate.at_least }
}
