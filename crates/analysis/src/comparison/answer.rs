//! A comparison's answer in a word, with the change that decides it: for programs.

use prony_model::Estimate;

use super::fail_if::{COSTS, SPEED};
use super::{Comparison, FigureComparison};
use crate::compare::Finding;
use crate::figure::Figure;

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `slower`, `faster`, `mixed` (worse in one figure and better in another), where speed says none of these `costs_more`
    /// or `costs_less` (CPU per request, memory), `equivalent` in all of them, or `inconclusive`.
    pub verdict: &'static str,
    /// The figure that decides it, with the largest change of this verdict; of `mixed` the largest for the worse.
    pub figure: Option<Figure>,
    /// B over A in it.
    pub ratio: Option<Estimate>,
}

impl Comparison {
    /// What a server costs, for the first line. Of one whose speed is unknown (all requests failed) a low cost says
    /// nothing.
    pub(super) fn costs(&self) -> &'static [Figure] {
        let is_judged = |figures: &[FigureComparison]| {
            figures.iter().any(|f| SPEED.contains(&f.figure) && f.finding.is_some())
        };
        if self.plans.iter().all(|plan| is_judged(&plan.figures)) { &COSTS } else { &[] }
    }

    /// The answer in a word. It is that of [`Comparison::headline`].
    pub fn answer(&self) -> Answer {
        let costs = self.costs();
        let all = [&SPEED[..], costs].concat();
        let of = |figures: &[Figure]| -> Vec<&FigureComparison> {
            let found = self.plans.iter().flat_map(|p| &p.figures);
            found.filter(|f| figures.contains(&f.figure)).collect()
        };
        let is = |figures: &[Figure], finding: Finding| {
            of(figures).iter().any(|f| f.stands && f.finding == Some(finding))
        };
        let differs = |figures| (is(figures, Finding::Slower), is(figures, Finding::Faster));
        let open = of(&all).iter().any(|f| f.finding.is_some() && !f.stands);
        let (verdict, finding, among) = match (differs(&SPEED), differs(costs)) {
            ((true, true), _) => ("mixed", Finding::Slower, &SPEED[..]),
            ((true, false), _) => ("slower", Finding::Slower, &SPEED[..]),
            ((false, true), _) => ("faster", Finding::Faster, &SPEED[..]),
            (_, (true, true)) => ("mixed", Finding::Slower, costs),
            (_, (true, false)) => ("costs_more", Finding::Slower, costs),
            (_, (false, true)) => ("costs_less", Finding::Faster, costs),
            _ if !open && is(&SPEED, Finding::Equivalent) => ("equivalent", Finding::Equivalent, &all[..]),
            _ => ("inconclusive", Finding::Inconclusive, &all[..]),
        };
        let change = |f: &&FigureComparison| f.ratio.as_ref().map_or(0.0, |ratio| ratio.point.ln().abs());
        let decides = of(among)
            .into_iter()
            .filter(|f| f.finding == Some(finding) && (f.stands || finding == Finding::Inconclusive))
            .max_by(|a, b| change(a).total_cmp(&change(b)));
        Answer { verdict, figure: decides.map(|f| f.figure), ratio: decides.and_then(|f| f.ratio.clone()) }
    }
}
