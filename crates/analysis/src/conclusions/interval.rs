//! An interval against a claim.

use prony_model::Estimate;
use prony_stats::CONFIDENCE;
use prony_stats::interval::{Interval, mean, mean_interval, paired_ratio_interval};

use super::Judgement;
use super::evidence::Finding;
use crate::claim::{Quantity, Relation};
use crate::figure::Figure;

/// The smallest difference that matters of a quantity, as a share of it.
pub(super) fn margin(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Trial(figure) => figure.smallest_difference,
        Quantity::Capacity => Figure::THROUGHPUT.smallest_difference,
    }
}

/// Pairs of both sides, their factors in: the claim is about their ratio to 1. `scale` turns that back
/// into the plain ratio of both figures.
pub(super) fn ratio_finding(
    pairs: &[(f64, f64)],
    relation: Relation,
    margin: f64,
    scale: f64,
    at_least: (bool, bool),
) -> Finding {
    if let Some(i) = paired_ratio_interval(pairs, CONFIDENCE) {
        let bounds = (1.0 / (1.0 + margin), 1.0 + margin);
        return Finding {
            judgement: judge_interval(relation, &i, 1.0, bounds, at_least),
            here: Some(Estimate::new(i.point * scale, i.low * scale, i.high * scale, i.n as u64)),
            why: None,
        };
    }
    // A figure of 0 has no logarithm: shares of failures, say. Their differences do.
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
    let sizes: Vec<f64> = pairs.iter().map(|(_, b)| b.abs()).collect();
    let size = mean(&sizes).unwrap_or_default();
    match mean_interval(&differences, CONFIDENCE) {
        Some(i) => Finding {
            judgement: judge_interval(relation, &i, 0.0, (-margin * size, margin * size), at_least),
            here: None,
            why: Some("a figure is 0 in some block, so it was judged by differences".to_owned()),
        },
        None => Finding::undecided("the figures of its blocks have no interval"),
    }
}

/// An interval against `even`, or for equivalence against bounds around it. A side that is only known
/// to be at least its figure cannot show that it is less, nor that both are one.
pub(super) fn judge_interval(
    relation: Relation,
    i: &Interval,
    even: f64,
    bounds: (f64, f64),
    (left_at_least, right_at_least): (bool, bool),
) -> Judgement {
    match relation {
        Relation::Less => Judgement::of(i.high < even && !left_at_least, i.low >= even && !right_at_least),
        Relation::More => Judgement::of(i.low > even && !right_at_least, i.high <= even && !left_at_least),
        Relation::Equivalent => {
            let (low, high) = bounds;
            let holds = i.low >= low && i.high <= high && !left_at_least && !right_at_least;
            let fails = (i.high < low && !left_at_least) || (i.low > high && !right_at_least);
            Judgement::of(holds, fails)
        }
    }
}
