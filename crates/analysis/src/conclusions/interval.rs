//! A test against a claim.

use prony_model::Estimate;
use prony_stats::Interval;
use prony_stats::interval::mean;
use prony_stats::moderated::Difference;

use super::Judgement;
use super::evidence::Finding;
use crate::cell::Bounds;
use crate::claim::{Quantity, Relation};
use crate::compare::log_ratios;
use crate::figure::Figure;
use crate::look::Level;

/// The smallest difference that matters of a quantity, as a share of it.
pub(super) fn margin(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Trial(figure) => figure.smallest_difference,
        Quantity::Capacity | Quantity::Course(_) => Figure::THROUGHPUT.smallest_difference,
    }
}

pub(super) struct Asked {
    pub(super) relation: Relation,
    /// The smallest difference that matters, as a share.
    pub(super) margin: f64,
    /// Of the left side and the right.
    pub(super) bounds: (Bounds, Bounds),
    pub(super) level: Level,
}

impl Asked {
    /// Pairs of both sides, factors in, against a ratio of 1. `shown` is what 1 is shown as; `number`: the right side
    /// is one.
    pub(super) fn finding(&self, pairs: &[(f64, f64)], shown: f64, number: Option<f64>) -> Finding {
        let turned: Vec<(f64, f64)> = pairs.iter().map(|(left, right)| (*right, *left)).collect();
        if let Some(test) = log_ratios(&turned).and_then(|logs| self.level.test(&logs)) {
            let here = test.interval().map(Interval::exp);
            return Finding {
                judgement: self.judge(&test, self.margin.ln_1p()),
                here: here.map(|i| Estimate::new(i.point * shown, i.low * shown, i.high * shown, i.n as u64)),
                why: None,
            };
        }
        // A figure of 0 has no logarithm: shares of failures, say. Their differences do.
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
        let sizes: Vec<f64> = pairs.iter().map(|(_, b)| b.abs()).collect();
        let Some(test) = self.level.test(&differences) else {
            return Finding::undecided("the figures of its blocks have no interval");
        };
        let of_number = |by: f64| {
            let i = test.interval()?;
            Some(Estimate::new(i.point + by, i.low + by, i.high + by, i.n as u64))
        };
        Finding {
            judgement: self.judge(&test, self.margin * mean(&sizes).unwrap_or_default()),
            here: number.and_then(of_number),
            why: Some("a figure is 0 in some block, so it was judged by differences".to_owned()),
        }
    }

    /// Left less right by the claim. What may be less than its figure cannot show that it is more.
    fn judge(&self, test: &Difference, margin: f64) -> Judgement {
        let (left, right) = self.bounds;
        let error = self.level.error;
        let is_more = |limit: f64| test.is_above(limit, error / 2.0) && left.is_surely_more(right);
        let is_less = |limit: f64| test.is_below(limit, error / 2.0) && right.is_surely_more(left);
        let exact = left.is_exact() && right.is_exact();
        match self.relation {
            Relation::Less => Judgement::of(is_less(0.0), is_more(0.0)),
            Relation::More => Judgement::of(is_more(0.0), is_less(0.0)),
            Relation::Equivalent => {
                Judgement::of(exact && test.is_within(margin, error), is_more(margin) || is_less(-margin))
            }
        }
    }
}
