//! A centre that one outlier does not move: Hodges–Lehmann.

use crate::trend::median;
use crate::usable;

/// The most values: 200 have 20,100 averages of pairs.
pub const VALUES_MAX: usize = 200;

/// The Hodges–Lehmann estimate of the centre of values (log ratios of blocks, say): the median of the averages of all
/// pairs, each value with itself included. `None` of no value, over [`VALUES_MAX`], or when one is not finite. Source:
/// Hodges & Lehmann (1963), *Estimates of location based on rank tests*, Ann. Math. Statist. 34(2); Hollander, Wolfe &
/// Chicken (2014), *Nonparametric Statistical Methods*, 3.2.
pub fn centre(values: &[f64]) -> Option<f64> {
    if !usable(values, 1) || values.len() > VALUES_MAX {
        return None;
    }
    let pairs = values.iter().enumerate().flat_map(|(i, a)| values[i..].iter().map(move |b| (*a, *b)));
    let averages: Vec<f64> = pairs.map(|(a, b)| f64::midpoint(a, b)).collect();
    median(&averages).filter(|centre| centre.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_centre_is_the_median_of_all_averages() {
        assert_eq!(centre(&[3.0]), Some(3.0));
        // Averages 1, 1.5, 2, 5.5, 6 and 10.
        assert_eq!(centre(&[10.0, 1.0, 2.0]), Some(3.75));
        assert_eq!((centre(&[]), centre(&[f64::NAN]), centre(&[0.0; 201])), (None, None, None));
    }

    #[test]
    fn an_outlier_moves_the_centre_little() {
        let tame = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.0];
        let mut wild = tame;
        wild[0] = 1e6;
        let moved = centre(&wild).unwrap() - centre(&tame).unwrap();
        assert!((0.0..0.05).contains(&moved), "{moved}");
    }

    proptest! {
        #[test]
        fn any_values_have_a_centre_among_them_or_none(values in prop::collection::vec(any::<f64>(), 0..12)) {
            if let Some(centre) = centre(&values) {
                prop_assert!(values.iter().any(|v| *v <= centre) && values.iter().any(|v| *v >= centre));
            }
        }
    }
}
