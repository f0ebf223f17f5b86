//! The t test of a block's differences, where others that were measured alike say more of their spread.

use crate::interval::{Interval, mean, variance};
use crate::student::{memo, t_error, t_p_value};
use crate::{CONFIDENCE, real};

/// Figures carry rounding of some 1e-16 each: below it, logarithms have no spread, and differences nothing to test.
const ROUNDING: f64 = 1e-12;

/// A mean difference of logarithms over blocks, with what a t test needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    pub mean: f64,
    pub error: f64,
    pub degrees: f64,
    pub n: usize,
}

impl Difference {
    /// Of blocks' differences by themselves: ν = n − 1. `None` under two, or where one is not finite.
    pub fn of(differences: &[f64]) -> Option<Difference> {
        let n = differences.len();
        let error = (variance(differences)? / real(n)).sqrt();
        Some(Difference { mean: mean(differences)?, error, degrees: real(n) - 1.0, n })
    }

    /// With what others say: `prior` degrees of freedom of the variance `of_others`. Source: Smyth (2004), *Linear
    /// models and empirical Bayes methods for assessing differential expression in microarray experiments*, Stat. Appl.
    /// Genet. Mol. Biol. 3(1), for the variance; the degrees are [`prior_degrees`].
    #[must_use]
    pub fn moderated(self, prior: f64, of_others: f64) -> Difference {
        let degrees = prior + self.degrees;
        let of_mean = prior * of_others / real(self.n) + self.degrees * self.error.powi(2);
        Difference { error: (of_mean / degrees).sqrt(), degrees, ..self }
    }

    #[must_use]
    pub fn widened(self, factor: f64) -> Difference {
        Difference { error: self.error * factor, ..self }
    }

    pub fn interval(&self) -> Option<Interval> {
        self.interval_at(1.0 - CONFIDENCE)
    }

    /// The interval of the mean that is wrong with the chance `error`.
    pub fn interval_at(&self, error: f64) -> Option<Interval> {
        let half = t_error(self.degrees, error)? * self.error;
        let point = self.mean;
        Some(Interval { point, low: point - half, high: point + half, n: self.n })
    }

    /// Whether the two-sided test finds a difference, with the chance `error` where there is none.
    pub fn differs(&self, error: f64) -> bool {
        self.is_above(0.0, error / 2.0) || self.is_below(0.0, error / 2.0)
    }

    /// Whether the true mean is above the limit, by the one-sided test at `error`.
    pub fn is_above(&self, limit: f64, error: f64) -> bool {
        let beyond = self.mean - limit;
        beyond > ROUNDING && t_error(self.degrees, 2.0 * error).is_some_and(|t| beyond >= t * self.error)
    }

    pub fn is_below(&self, limit: f64, error: f64) -> bool {
        Difference { mean: -self.mean, ..*self }.is_above(-limit, error)
    }

    /// Whether the true mean is within ±`margin`, by two one-sided tests at `error`. Source: Schuirmann (1987), *A
    /// comparison of the two one-sided tests procedure and the power approach*, J. Pharmacokinetics and
    /// Biopharmaceutics 15(6).
    pub fn is_within(&self, margin: f64, error: f64) -> bool {
        self.is_below(margin, error) && self.is_above(-margin, error)
    }
}

/// The degrees of freedom that the spread of others may have in a test of ν: the most up to `most` with which it still
/// errs in no more than `share`, though all of ν's spread is its own and unbounded, at `error` (both two-sided). Then
/// P(|t_ν| > √(ν/f)·t_f(error)) = `share`, f = ν + the result. Source: ours. (Smyth's own estimate of it errs in 12 to
/// 24 % with two candidates and two to three blocks.)
pub fn prior_degrees(degrees: f64, most: f64, error: f64, share: f64) -> f64 {
    let bounded = |prior: f64| {
        let all = degrees + prior;
        let critical = t_error(all, error).map(|t| t * (degrees / all).sqrt());
        critical.and_then(|t| t_p_value(t, degrees)).is_some_and(|errs| errs <= share)
    };
    memo([degrees, most, error, share], || {
        if bounded(most) {
            return Some(most);
        }
        let (mut low, mut high) = (0.0, most);
        while high - low > 1e-6 * most {
            let middle = f64::midpoint(low, high);
            *(if bounded(middle) { &mut low } else { &mut high }) = middle;
        }
        Some(low)
    })
    .unwrap_or_default()
}

/// Pairs of k candidates, each of which is a hypothesis.
pub fn pairs(candidates: usize) -> f64 {
    real(candidates) * (real(candidates) - 1.0) / 2.0
}

/// [`prior_degrees`] of a pair of k candidates over ν + 1 blocks, all pairs tested at `error` together.
pub fn prior_of_pair(candidates: usize, degrees: f64, error: f64) -> f64 {
    prior_degrees(degrees, (real(candidates) - 2.0) * degrees, error / pairs(candidates), error)
}

/// Each with what the other plans say of the spread: two-sided tests at `error` each, of which one whose own spread is
/// unbounded errs in no more than `share`. A plan without one stays so.
pub fn over_plans(plans: &[Option<Difference>], error: f64, share: f64) -> Vec<Option<Difference>> {
    let moderated = |(at, own): (usize, &Option<Difference>)| {
        let own = (*own)?;
        let others = plans.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<Difference> = others.filter_map(|(_, other)| *other).collect();
        let most: f64 = others.iter().map(|d| d.degrees).sum();
        let squares: f64 = others.iter().map(|d| d.degrees * real(d.n) * d.error.powi(2)).sum();
        let prior = if most > 0.0 { prior_degrees(own.degrees, most, error, share) } else { 0.0 };
        Some(if prior > 0.0 { own.moderated(prior, squares / most) } else { own })
    };
    plans.iter().enumerate().map(moderated).collect()
}

/// All pairs of candidates, each tested by itself with what the others say of the spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// By block, the logarithms of all candidates: the blocks that all have.
    complete: Vec<Vec<f64>>,
    candidates: usize,
    /// The residual sum of squares of the two-way table.
    residual: f64,
}

impl Pairs {
    /// Of so many candidates, from the blocks that all of them have: no value of these is missing or not finite.
    pub fn new(candidates: usize, complete: Vec<Vec<f64>>) -> Pairs {
        let rows: Vec<f64> = complete.iter().filter_map(|block| mean(block)).collect();
        let columns =
            (0..candidates).map(|c| complete.iter().map(|block| block[c]).sum::<f64>() / real(rows.len()));
        let columns: Vec<f64> = columns.collect();
        let all = mean(&rows).unwrap_or_default();
        let left = |block: &[f64], row: f64| -> f64 {
            block.iter().zip(&columns).map(|(value, column)| (value - row - column + all).powi(2)).sum()
        };
        let residual = complete.iter().zip(&rows).map(|(block, row)| left(block, *row)).sum();
        Pairs { complete, candidates, residual }
    }

    /// The standard deviation of a pair's differences, of all candidates together; `None` under two blocks or candidates.
    pub fn spread(&self) -> Option<f64> {
        let degrees = self.degrees();
        (degrees > 0.0).then(|| (2.0 * self.residual / degrees).sqrt())
    }

    /// The degrees of freedom of [`Pairs::spread`]; 0 without one.
    pub fn degrees(&self) -> f64 {
        (real(self.complete.len()) - 1.0).max(0.0) * (real(self.candidates) - 1.0).max(0.0)
    }

    /// By the differences in all blocks that both have; all pairs are tested at `error` together. `None` as of
    /// [`Difference::of`].
    pub fn test(&self, (a, b): (usize, usize), differences: &[f64], error: f64) -> Option<Difference> {
        let own = Difference::of(differences)?;
        let common: Vec<f64> = self.complete.iter().map(|block| block[a] - block[b]).collect();
        let (Some(variance), true) = (variance(&common), self.candidates > 2) else { return Some(own) };
        let degrees = real(common.len()) - 1.0;
        let of_others = 2.0 * (self.residual - degrees * variance / 2.0).max(0.0)
            / ((real(self.candidates) - 2.0) * degrees);
        let most = (real(self.candidates) - 2.0) * degrees;
        let prior = prior_degrees(own.degrees, most, error / pairs(self.candidates), error);
        Some(own.moderated(prior, of_others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::Stream;
    use proptest::prelude::*;

    #[test]
    fn the_prior_degrees_are_those_of_the_specification() {
        for (k, n, d0) in [(2, 5.0, 0.0), (3, 5.0, 1.75), (9, 2.0, 1.25), (9, 3.0, 2.75), (9, 5.0, 5.95)] {
            let found = prior_of_pair(k, n - 1.0, 0.05);
            assert!((found - d0).abs() < 0.05, "({k}, {n}): {found}");
        }
    }

    #[test]
    fn the_moderated_variance_is_the_one_by_hand() {
        // v = 0.04 of 4 blocks and 0.01 of others at 3 degrees: (3·0.01 + 3·0.04)/6 = 0.025.
        let own = Difference { mean: 0.1, error: 0.1, degrees: 3.0, n: 4 };
        let moderated = own.moderated(3.0, 0.01);
        assert!((moderated.error - (0.025f64 / 4.0).sqrt()).abs() < 1e-12 && moderated.degrees == 6.0);
        assert_eq!(own.moderated(0.0, 9.0), own);
    }

    #[test]
    fn what_others_say_of_a_pair_does_not_have_the_pair_in_it() {
        // Candidates 0 and 1 swing against each other; 2 and 3 do not.
        let blocks: Vec<Vec<f64>> = [1.0, -1.0, 0.5, -0.5].iter().map(|s| vec![*s, -s, 0.0, 0.0]).collect();
        let all = Pairs::new(4, blocks.clone());
        let of = |a: usize, b: usize| {
            let own: Vec<f64> = blocks.iter().map(|block| block[a] - block[b]).collect();
            (all.test((a, b), &own, 0.05).unwrap(), Difference::of(&own).unwrap())
        };
        // 0 − 1 has all of the table's residual: others add nothing but degrees.
        let (pair, own) = of(0, 1);
        assert!((pair.error - own.error * (3.0 / pair.degrees).sqrt()).abs() < 1e-9, "{pair:?} {own:?}");
        // 2 − 3 has none of it, and gets the others'.
        let (pair, own) = of(2, 3);
        assert!(own.error == 0.0 && pair.error > 0.01);
        // Pooled, over 9 degrees: 2·5/9.
        assert!((all.spread().unwrap() - (10.0f64 / 9.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_wild_one_among_equals_errs_no_more_often_than_asked() {
        let mut stream = Stream(5);
        let wrong = (0..2000).filter(|_| {
            let blocks: Vec<Vec<f64>> = (0..3)
                .map(|_| (0..9).map(|c| stream.normal() * if c == 0 { 100.0 } else { 0.01 }).collect())
                .collect();
            let all = Pairs::new(9, blocks.clone());
            (1..9).any(|b| {
                let own: Vec<f64> = blocks.iter().map(|block| block[0] - block[b]).collect();
                all.test((0, b), &own, 0.05).unwrap().differs(0.05 / pairs(9))
            })
        });
        // 5 % and three standard errors.
        assert!(wrong.count() < 130);
    }

    #[test]
    fn a_plan_gets_the_mean_variance_of_the_others() {
        let of = |error: f64| Some(Difference { mean: 0.1, error, degrees: 5.0, n: 6 });
        assert_eq!(over_plans(&[of(0.1), None], 0.01, 0.05), [of(0.1), None]);
        let found = over_plans(&[of(0.1), of(0.2), of(0.3), None], 0.01, 0.05);
        let first = found[0].unwrap();
        let prior = prior_degrees(5.0, 10.0, 0.01, 0.05);
        assert!(prior > 1.0 && (first.degrees - 5.0 - prior).abs() < 1e-9);
        // Variances of 0.06, 0.24 and 0.54: the others' mean is 0.39.
        let expected = (prior * 0.39 + 5.0 * 0.06) / (5.0 + prior);
        assert!((first.error.powi(2) * 6.0 - expected).abs() < 1e-9, "{first:?}");
    }

    #[test]
    fn equal_values_are_certain() {
        let same = |value: f64| Difference::of(&[value; 3]).unwrap();
        assert!(same(0.01).is_within(0.02, 0.05) && same(0.01).differs(1e-9));
        assert!(!same(0.02).is_within(0.02, 0.05) && !same(0.0).differs(0.05));
        assert_eq!(Difference::of(&[0.1]), None);
        assert_eq!(Difference::of(&[0.1, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn tests_and_intervals_agree(values in prop::collection::vec(-1.0f64..1.0, 2..12), margin in 0.05f64..2.0) {
            let own = Difference::of(&values).unwrap();
            let (wide, narrow) = (own.interval().unwrap(), own.interval_at(0.1).unwrap());
            prop_assume!([wide.low, wide.high, margin - narrow.high, margin + narrow.low].iter().all(|x| x.abs() > 1e-6));
            prop_assert_eq!(own.differs(0.05), wide.low > 0.0 || wide.high < 0.0);
            prop_assert_eq!(own.is_within(margin, 0.05), narrow.low > -margin && narrow.high < margin);
        }

        #[test]
        fn any_table_has_tests_that_are_numbers_or_none(rows in prop::collection::vec(prop::collection::vec(-1e9f64..1e9, 4), 0..5)) {
            let all = Pairs::new(4, rows.clone());
            let own: Vec<f64> = rows.iter().map(|block| block[0] - block[1]).collect();
            prop_assert!(all.test((0, 1), &own, 0.05).is_none_or(|test| test.error >= 0.0 && test.degrees >= 1.0));
        }
    }
}
