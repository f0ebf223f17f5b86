//! Ranks that admit what is not known: intervals, from pairwise comparisons.

/// The best and the worst place (from 1) from the pairs (better, worse) that are surely so: `1 + surely better ones`
/// and `count − surely worse ones`. Source: Mogstad, Romano, Shaikh & Wilhelm (2024), *Inference for ranks with
/// applications to mobility across neighbourhoods and academic achievement across countries*, Rev. Econ. Studies 91(1):
/// where all pairs are tested together at an error, the intervals cover all true ranks at once with the rest.
pub fn rank_intervals(count: usize, sure: &[(usize, usize)]) -> Vec<(u32, u32)> {
    let last = u32::try_from(count).unwrap_or(u32::MAX);
    let mut places = vec![(1u32, last); count];
    for &(better, worse) in sure.iter().filter(|(better, worse)| *better < count && *worse < count) {
        places[worse].0 += 1;
        places[better].1 -= 1;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_order_has_single_ranks_and_a_tie_shares_them() {
        assert_eq!(rank_intervals(3, &[(0, 1), (0, 2), (1, 2)]), [(1, 1), (2, 2), (3, 3)]);
        assert_eq!(rank_intervals(3, &[(0, 2), (1, 2)]), [(1, 2), (1, 2), (3, 3)]);
        assert_eq!(rank_intervals(3, &[]), [(1, 3); 3]);
        assert_eq!(rank_intervals(2, &[(0, 7)]), [(1, 2); 2], "nobody by that number");
    }
}
