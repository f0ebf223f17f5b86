//! Ranks with ties, the common ground of the rank methods.

use crate::real;

/// The ranks (from 1) of values, ties sharing the mean of theirs, and the
/// sizes of the groups of ties (1 for a value of its own).
///
/// Source: Kendall (1945), *The treatment of ties in ranking problems*,
/// Biometrika 33(3). Values must be finite.
pub(crate) fn midranks(values: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut groups = Vec::new();
    let mut before = 0;
    // `==` and not `total_cmp`: 0 and −0 are equal.
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = real(before) + (real(group.len()) + 1.0) / 2.0;
        for index in group {
            ranks[*index] = shared;
        }
        before += group.len();
        groups.push(group.len());
    }
    (ranks, groups)
}

/// `Σ t³ − t` over groups of ties.
pub(crate) fn tie_cubes(groups: &[usize]) -> f64 {
    groups.iter().map(|t| real(*t).powi(3) - real(*t)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_midrank_is_the_number_below_and_half_of_its_equals(values in prop::collection::vec(-4i32..4, 0..30)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let (ranks, groups) = midranks(&values);
            for (v, rank) in values.iter().zip(&ranks) {
                let below = values.iter().filter(|w| *w < v).count() as f64;
                let equal = values.iter().filter(|w| *w == v).count() as f64;
                prop_assert_eq!(*rank, below + (equal + 1.0) / 2.0);
            }
            prop_assert_eq!(groups.iter().sum::<usize>(), values.len());
        }
    }
}
