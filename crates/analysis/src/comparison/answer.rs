//! A comparison's answer in a word, with the change that decides it: for programs.

use prony_model::Estimate;

use super::fail_if::SPEED;
use super::{Comparison, FigureComparison};
use crate::compare::Finding;
use crate::figure::Figure;

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `slower`, `faster`, `mixed` (slower in one figure and faster in another), `equivalent` or `inconclusive`.
    pub verdict: &'static str,
    /// The figure that decides it: of throughput, p50 and p99 under all plans that with the largest change of this verdict,
    /// of `mixed` the largest for the worse.
    pub figure: Option<Figure>,
    /// B over A in it.
    pub ratio: Option<Estimate>,
}

impl Comparison {
    /// The answer in a word. It is that of [`Comparison::headline`].
    pub fn answer(&self) -> Answer {
        let speed = || self.plans.iter().flat_map(|p| &p.figures).filter(|f| SPEED.contains(&f.figure));
        let is = |finding: Finding| speed().any(|f| f.stands && f.finding == Some(finding));
        let open = speed().any(|f| f.finding.is_some() && !f.stands);
        let (verdict, of) = match (is(Finding::Slower), is(Finding::Faster), open) {
            (true, true, _) => ("mixed", Finding::Slower),
            (true, false, _) => ("slower", Finding::Slower),
            (false, true, _) => ("faster", Finding::Faster),
            (false, false, false) if is(Finding::Equivalent) => ("equivalent", Finding::Equivalent),
            (false, false, _) => ("inconclusive", Finding::Inconclusive),
        };
        let change = |f: &&FigureComparison| f.ratio.as_ref().map_or(0.0, |ratio| ratio.point.ln().abs());
        let decides = speed()
            .filter(|f| f.finding == Some(of) && (f.stands || open))
            .max_by(|a, b| change(a).total_cmp(&change(b)));
        Answer { verdict, figure: decides.map(|f| f.figure), ratio: decides.and_then(|f| f.ratio.clone()) }
    }
}
