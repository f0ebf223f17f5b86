//! What a source printed of what it concludes.

use prony_model::published::{Published, PublishedRow};
use prony_model::run_log::NamedPlan;

use crate::claim::{Claim, FigureTerm, Quantity, Side, Term};
use crate::numbers::real_len;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Printed {
    pub(super) value: f64,
    pub(super) at_least: bool,
    pub(super) doubted: bool,
}

impl Printed {
    /// This over another. Over what is at least something, no ratio is known.
    fn over(self, other: Printed) -> Option<Printed> {
        (!other.at_least && other.value > 0.0).then(|| Printed {
            value: self.value / other.value,
            at_least: self.at_least,
            doubted: self.doubted || other.doubted,
        })
    }
}

/// What the source printed of a claim under a plan: left over right, the left's figure, or a rank among its rows.
pub(super) fn printed(claim: &Claim, plan: &NamedPlan, published: &Published) -> Option<Printed> {
    match claim {
        Claim::Compared { left, right: Side::One(Term::Number(_)), .. } => {
            figure(left, plan, published).map(|(_, printed)| printed)
        }
        Claim::Compared { left, right, .. } => {
            let (_, left) = figure(left, plan, published)?;
            // All of them: the largest of some need not be the largest.
            let each = right.terms().iter().map(|term| match term {
                Term::Figure(term) => figure(term, plan, published),
                Term::Number(_) => None,
            });
            let all: Option<Vec<(f64, Printed)>> = each.collect();
            let all = all?.into_iter();
            let size = |(by, printed): &(f64, Printed)| by * printed.value;
            let of = match right {
                Side::Min(_) => all.min_by(|a, b| size(a).total_cmp(&size(b))),
                Side::One(_) | Side::Max(_) => all.max_by(|a, b| size(a).total_cmp(&size(b))),
            };
            left.over(of?.1)
        }
        Claim::Rank { candidate, .. } => rank(candidate, plan, published),
        Claim::Outcome { .. } => None,
    }
}

fn figure(term: &FigureTerm, plan: &NamedPlan, published: &Published) -> Option<(f64, Printed)> {
    let (name, unit) = match term.quantity {
        Quantity::Trial(of) => of.published?,
        Quantity::Course(of) => (of.published()?, 1.0),
        Quantity::Capacity => return None,
    };
    let connections = term.connections.unwrap_or(plan.plan.connections);
    let is_it = |row: &&PublishedRow| row.candidate == term.candidate && is_under(row, plan, connections);
    let row = published.rows.iter().find(is_it)?;
    let value = row.figure(name)? * unit;
    let at_least = name.ends_with("_at_least");
    Some((term.factor, Printed { value, at_least, doubted: row.doubt.is_some() }))
}

/// The place by throughput among all rows that the source printed of it, those in doubt among them.
fn rank(candidate: &str, plan: &NamedPlan, published: &Published) -> Option<Printed> {
    let rate = |row: &PublishedRow| row.figure("requests_per_s");
    let own = rows_under(published, plan).find(|row| row.candidate == candidate)?;
    let mine = rate(own)?;
    let before = rows_under(published, plan).filter_map(rate).filter(|rate| *rate > mine).count();
    Some(Printed { value: real_len(before + 1), at_least: false, doubted: own.doubt.is_some() })
}

fn is_under(row: &PublishedRow, plan: &NamedPlan, connections: u32) -> bool {
    plan.share.is_none()
        && plan.capacity.is_none()
        && row.connections.is_none_or(|c| c == connections)
        && row.rate_per_s == plan.plan.rate_per_s
}

pub(crate) fn rows_under<'a>(
    published: &'a Published,
    plan: &'a NamedPlan,
) -> impl Iterator<Item = &'a PublishedRow> {
    published.rows.iter().filter(|row| is_under(row, plan, plan.plan.connections))
}
