//! Methods held against their definitions, written slowly and without the
//! module's own helpers: what golden.rs holds against other implementations
//! for some values is held here for any.

#![allow(clippy::unwrap_used, reason = "a method without a value is a failed test")]

use std::cell::RefCell;
use std::collections::BTreeSet;

use prony_stats::bootstrap::{Blocks, Resampling, block_bootstrap, two_level_bootstrap};
use prony_stats::{anderson_darling, batch, correlation, equivalence, hodges_lehmann, kpss, student, trend};
use proptest::prelude::*;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// With denominator n.
fn spread(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / values.len() as f64
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The value that as many are below as above; of two such, what lies half way.
fn middle(values: Vec<f64>) -> f64 {
    let values = sorted(values);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// The averages of all pairs i ≤ j.
fn averages(values: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    for (i, a) in values.iter().enumerate() {
        for b in &values[i..] {
            found.push((a + b) / 2.0);
        }
    }
    found
}

/// The exact p-value of Wilcoxon's signed ranks about `centre`, by all 2ⁿ ways to give the ranks signs. No ties.
fn wilcoxon(values: &[f64], centre: f64) -> f64 {
    let rank = |v: f64| values.iter().filter(|w| (**w - centre).abs() <= (v - centre).abs()).count();
    let above: usize = values.iter().filter(|v| **v > centre).map(|v| rank(*v)).sum();
    let n = values.len();
    let smaller = above.min(n * (n + 1) / 2 - above);
    let as_small = (0u32..1 << n)
        .filter(|signs| (0..n).filter(|i| (signs >> i) & 1 == 1).map(|i| i + 1).sum::<usize>() <= smaller)
        .count();
    (2.0 * as_small as f64 / f64::from(1u32 << n)).min(1.0)
}

/// Ranks by counting: those below, and half of the equal ones.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |v: f64| values.iter().filter(|w| **w < v).count() as f64;
    let equal = |v: f64| values.iter().filter(|w| **w == v).count() as f64;
    values.iter().map(|v| below(*v) + (equal(*v) + 1.0) / 2.0).collect()
}

/// Pearson's correlation.
fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let products: Vec<f64> = x.iter().zip(y).map(|(a, b)| (a - mean(x)) * (b - mean(y))).collect();
    mean(&products) / (spread(x) * spread(y)).sqrt()
}

/// The long-run variance as the double sum over all pairs of values, weights falling to 0 beyond `lags`.
fn long_run(values: &[f64], lags: usize) -> f64 {
    let centre = mean(values);
    let mut sum = 0.0;
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            let weight = 1.0 - i.abs_diff(j) as f64 / (lags as f64 + 1.0);
            sum += weight.max(0.0) * (a - centre) * (b - centre);
        }
    }
    sum / values.len() as f64
}

/// The slopes between all pairs of points with x = 0, 1, 2 …
fn slopes(ys: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    for (j, b) in ys.iter().enumerate() {
        for (i, a) in ys[..j].iter().enumerate() {
            found.push((b - a) / (j - i) as f64);
        }
    }
    found
}

/// Kendall's S of what is left of the points about a line of this slope: pairs that rise less those that fall.
fn kendall_score(ys: &[f64], slope: f64) -> f64 {
    slopes(ys).iter().map(|found| (found - slope).signum()).sum()
}

fn points(ys: &[f64]) -> Vec<(f64, f64)> {
    ys.iter().enumerate().map(|(i, y)| (i as f64, *y)).collect()
}

/// Anderson & Darling's integral, n ∫ (Fₙ − u)² / (u(1 − u)) du, from step to step of Fₙ: between steps the integrand
/// is c²/u + (1−c)²/(1−u) − 1. `at` gives u and 1 − u of the sorted values.
fn anderson_darling_integral(at: &[(f64, f64)]) -> f64 {
    let n = at.len() as f64;
    let mut sum = 0.0;
    for step in 0..=at.len() {
        let c = step as f64 / n;
        // What is 0·ln 0 at either end is 0.
        let of = |(u, left): (f64, f64)| {
            let low = if c > 0.0 { c * c * u.ln() } else { 0.0 };
            let high = if c < 1.0 { (1.0 - c).powi(2) * left.ln() } else { 0.0 };
            low - high - u
        };
        let from = if step == 0 { (0.0, 1.0) } else { at[step - 1] };
        let to = at.get(step).copied().unwrap_or((1.0, 0.0));
        sum += of(to) - of(from);
    }
    n * sum
}

/// How probable more than t is, under Student's distribution.
fn t_above(t: f64, degrees: f64) -> f64 {
    let both = student::t_p_value(t, degrees).unwrap();
    if t > 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
}

proptest! {
    #[test]
    fn anderson_darling_is_its_integral(values in prop::collection::vec(0.01f64..10.0, 8..40)) {
        let values = sorted(values);
        let centre = mean(&values);
        let exponential: Vec<(f64, f64)> =
            values.iter().map(|v| (1.0 - (-v / centre).exp(), (-v / centre).exp())).collect();
        let slow = anderson_darling_integral(&exponential);
        let found = anderson_darling::exponential(&values).unwrap().statistic;
        prop_assert!((found - slow).abs() < 1e-6 * slow.max(1.0), "{}, slowly {}", found, slow);

        let n = values.len() as f64;
        let sd = (spread(&values) * n / (n - 1.0)).sqrt();
        prop_assume!(sd > 1e-3);
        let normal: Vec<(f64, f64)> = values
            .iter()
            .map(|v| {
                let tail = student::normal_p_value((v - centre) / sd) / 2.0;
                if *v < centre { (tail, 1.0 - tail) } else { (1.0 - tail, tail) }
            })
            .collect();
        let slow = anderson_darling_integral(&normal);
        let found = anderson_darling::normal(&values).unwrap().statistic;
        prop_assert!((found - slow).abs() < 1e-6 * slow.max(1.0), "{}, slowly {}", found, slow);
    }

    #[test]
    fn equivalence_is_the_larger_of_two_one_sided_tests(
        values in prop::collection::vec(-1.0f64..1.0, 2..20), margin in 0.05f64..2.0,
    ) {
        let n = values.len() as f64;
        let error = (spread(&values) / (n - 1.0)).sqrt();
        prop_assume!(error > 1e-6);
        let not_under = t_above((mean(&values) + margin) / error, n - 1.0);
        let not_over = t_above((margin - mean(&values)) / error, n - 1.0);
        let found = equivalence::equivalence_p_value(&values, margin).unwrap();
        prop_assert!((found - not_under.max(not_over)).abs() < 1e-9);
    }

    /// A variance that is w times as large is a factor √w on the normal quantile: Sen's interval of another confidence.
    #[test]
    fn dependent_slopes_are_sens_at_the_confidence_that_the_effective_size_makes_of_it(
        ys in prop::collection::vec(-100.0f64..100.0, 5..40),
    ) {
        let plain = trend::theil_sen(&points(&ys), 0.95).unwrap();
        let left: Vec<f64> = ys.iter().enumerate().map(|(i, y)| y - plain.point * i as f64).collect();
        let weight = ys.len() as f64 / batch::effective_size(&left).unwrap();
        let confidence = 1.0 - student::normal_p_value(student::normal_two_sided(0.95) * weight.sqrt());
        let found = trend::theil_sen_dependent(&points(&ys), 0.95).unwrap();
        prop_assert_eq!(found, trend::theil_sen(&points(&ys), confidence).unwrap());
    }

    #[test]
    fn hodges_lehmann_is_the_middle_of_all_averages(values in prop::collection::vec(-100.0f64..100.0, 1..30)) {
        let slow = middle(averages(&values));
        prop_assert!((hodges_lehmann::centre(&values).unwrap() - slow).abs() < 1e-9);
        if let Ok(i) = hodges_lehmann::hodges_lehmann(&values, 0.95) {
            prop_assert!((i.point - slow).abs() < 1e-9);
        }
    }

    /// The interval holds just the centres that Wilcoxon's test does not reject.
    #[test]
    fn its_interval_is_the_centres_that_are_not_rejected(values in prop::collection::btree_set(-1000i32..1000, 6..10)) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let i = hodges_lehmann::hodges_lehmann(&values, 0.95).unwrap();
        let averages = sorted(averages(&values));
        let mut centres: Vec<f64> = averages.windows(2).filter(|w| w[0] < w[1]).map(|w| (w[0] + w[1]) / 2.0).collect();
        centres.extend([averages[0] - 1.0, averages[averages.len() - 1] + 1.0]);
        for centre in centres {
            let p = wilcoxon(&values, centre);
            prop_assert_eq!(p > 0.05, i.low < centre && centre < i.high, "{}: p {}", centre, p);
            let moved: Vec<f64> = values.iter().map(|v| v - centre).collect();
            prop_assert!((hodges_lehmann::signed_rank_p_value(&moved).unwrap() - p).abs() < 1e-9);
        }
    }

    #[test]
    fn kpss_is_its_partial_sums_over_the_double_sum(
        values in prop::collection::vec(-10.0f64..10.0, 10..40), lags in 0usize..9,
    ) {
        let slow_variance = long_run(&values, lags);
        prop_assume!(slow_variance > 1e-3);
        let centre = mean(&values);
        let n = values.len() as f64;
        let squares: f64 = (1..=values.len())
            .map(|t| values[..t].iter().map(|v| v - centre).sum::<f64>().powi(2))
            .sum();
        let slow = squares / (n * n * slow_variance);
        let found = kpss::kpss(&values, lags).unwrap();
        prop_assert!((found.statistic - slow).abs() <= 1e-6 * slow.max(1.0), "{:?}, slowly {}", found, slow);
        // Less than the printed table's first value is 10 %, more than its last 1 %.
        prop_assert_eq!(found.p == 0.10, found.statistic <= 0.347);
        prop_assert_eq!(found.p == 0.01, found.statistic >= 0.739);
    }

    #[test]
    fn spearman_is_pearsons_correlation_of_the_ranks(pairs in prop::collection::vec((0i32..9, 0i32..9), 4..25)) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(a, b)| (f64::from(*a), f64::from(*b))).unzip();
        let Ok(rho) = correlation::spearman(&x, &y) else {
            // Nothing but a list of equals has none.
            prop_assert!(spread(&x) == 0.0 || spread(&y) == 0.0);
            return Ok(());
        };
        prop_assert!((rho.coefficient - pearson(&ranks(&x), &ranks(&y))).abs() < 1e-9);
        prop_assert_eq!(rho.n, x.len());
    }

    #[test]
    fn without_ties_spearman_is_by_the_squares_of_rank_differences(
        values in prop::collection::btree_set(-1000i32..1000, 5..25), lag in 0usize..2, turn in 1usize..25,
    ) {
        // Some order of distinct values: every `turn`-th of them at a time.
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let mixed: Vec<f64> = (0..turn).flat_map(|from| values.iter().copied().skip(from).step_by(turn)).collect();
        let (x, y) = (&mixed[..mixed.len() - lag], &mixed[lag..]);
        let squares: f64 = ranks(x).iter().zip(ranks(y)).map(|(a, b)| (a - b).powi(2)).sum();
        let n = x.len() as f64;
        let slow = 1.0 - 6.0 * squares / (n * (n * n - 1.0));
        prop_assert!((correlation::serial_spearman(&mixed, lag).unwrap().coefficient - slow).abs() < 1e-9);
    }

    #[test]
    fn theil_sen_is_the_middle_of_all_slopes(ys in prop::collection::vec(-100.0f64..100.0, 4..40)) {
        let slope = trend::theil_sen(&points(&ys), 0.95).unwrap();
        prop_assert!((slope.point - middle(slopes(&ys))).abs() < 1e-9);
    }

    /// Every slope outside is rejected by Kendall's test, and none inside is, by more than the rounding of ranks.
    #[test]
    fn its_interval_is_the_slopes_that_kendalls_test_does_not_reject(
        ys in prop::collection::vec(-100.0f64..100.0, 4..25),
    ) {
        let n = ys.len() as f64;
        prop_assume!(sorted(ys.clone()).windows(2).all(|w| w[0] < w[1]));
        let critical = 1.959_963_984_540_054 * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        let found = trend::theil_sen(&points(&ys), 0.95).unwrap();
        let slopes = sorted(slopes(&ys));
        let mut between: Vec<f64> =
            slopes.windows(2).filter(|w| w[1] - w[0] > 1e-9).map(|w| (w[0] + w[1]) / 2.0).collect();
        between.extend([slopes[0] - 1.0, slopes[slopes.len() - 1] + 1.0]);
        for slope in between {
            let score = kendall_score(&ys, slope).abs();
            if found.low < slope && slope < found.high {
                prop_assert!(score <= critical + 1.0 + 1e-9, "{}: {} over {}", slope, score, critical);
            } else {
                // Where not even all pairs are enough to reject, the interval is that of all slopes.
                let all = slopes.len() as f64;
                prop_assert!(score > critical || score == all, "{}: {} under {}", slope, score, critical);
            }
        }
    }

    /// Of a series of its own places: each drawn block is of neighbours, and only circular ones go round.
    #[test]
    fn blocks_are_of_neighbours(
        (n, block) in (2usize..30).prop_flat_map(|n| (Just(n), 1..=n)), circular in any::<bool>(), seed in any::<u64>(),
    ) {
        let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let kind = if circular { Blocks::Circular } else { Blocks::Moving };
        let how = Resampling { block, replicates: 20, seed, confidence: 0.9 };
        let result = block_bootstrap(&values, kind, how, |drawn| {
            assert_eq!(drawn.len(), n);
            for whole in drawn.chunks(block) {
                for pair in whole.windows(2) {
                    let next = pair[0] as usize + 1;
                    assert_eq!(pair[1] as usize, if circular { next % n } else { next }, "{drawn:?}");
                }
            }
            Some(drawn[0])
        });
        prop_assert!(result.is_ok());
    }

    /// Of runs of (run, place): a drawn run is as long as it was, of blocks of its own neighbours.
    #[test]
    fn runs_are_drawn_whole_and_their_pieces_in_blocks(
        lengths in prop::collection::vec(1usize..9, 2..7), block in 1usize..12, seed in any::<u64>(),
    ) {
        let runs: Vec<Vec<(usize, usize)>> =
            lengths.iter().enumerate().map(|(run, length)| (0..*length).map(|i| (run, i)).collect()).collect();
        let how = Resampling { block, replicates: 20, seed, confidence: 0.9 };
        let result = two_level_bootstrap(&runs, how, |drawn| {
            let mut left = drawn;
            for _ in 0..runs.len() {
                let run = left[0].0;
                let length = lengths[run];
                let (pieces, rest) = left.split_at(length);
                assert!(pieces.iter().all(|piece| piece.0 == run), "{drawn:?}");
                for whole in pieces.chunks(block.min(length)) {
                    assert!(whole.windows(2).all(|pair| pair[1].1 == (pair[0].1 + 1) % length), "{drawn:?}");
                }
                left = rest;
            }
            assert!(left.is_empty(), "{drawn:?}");
            Some(1.0)
        });
        prop_assert_eq!(result, Ok((1.0, 1.0)));
    }

    /// At most 2.5 % of what was found lie beyond an end, and one more would be more than that.
    #[test]
    fn the_ends_are_quantiles_of_what_was_drawn(
        values in prop::collection::vec(-5.0f64..5.0, 2..20), seed in any::<u64>(),
    ) {
        let found = RefCell::new(Vec::new());
        let how = Resampling { block: 1, replicates: 200, seed, confidence: 0.95 };
        let (low, high) = block_bootstrap(&values, Blocks::Circular, how, |drawn| {
            found.borrow_mut().push(mean(drawn));
            Some(mean(drawn))
        })
        .unwrap();
        let found = found.into_inner();
        let below = found.iter().filter(|v| **v < low).count();
        let above = found.iter().filter(|v| **v > high).count();
        let at_most = found.iter().filter(|v| **v <= low).count();
        let at_least = found.iter().filter(|v| **v >= high).count();
        prop_assert_eq!(found.len(), 200);
        prop_assert!(below <= 5 && at_most > 5, "{} of {:?}", low, found);
        prop_assert!(above <= 5 && at_least > 5, "{} of {:?}", high, found);
    }
}

/// The mean of resampled means is the mean of all blocks' means, and their variance that of one block over the number
/// drawn: both by going through all blocks that there are.
#[test]
fn resampled_means_have_the_mean_and_variance_of_all_blocks() {
    let values: Vec<f64> = (0..24).map(|i| f64::from(i * i % 23) + f64::from(i % 4)).collect();
    for (kind, starts, block) in [
        (Blocks::Circular, 24, 1),
        (Blocks::Circular, 24, 4),
        (Blocks::Moving, 21, 4),
        (Blocks::Moving, 17, 8),
    ] {
        let blocks: Vec<f64> = (0..starts)
            .map(|start| (start..start + block).map(|i| values[i % 24]).sum::<f64>() / block as f64)
            .collect();
        let variance = spread(&blocks) * block as f64 / 24.0;
        let found = RefCell::new(Vec::new());
        let how = Resampling { block, replicates: 20_000, seed: 8, confidence: 0.95 };
        block_bootstrap(&values, kind, how, |drawn| {
            found.borrow_mut().push(mean(drawn));
            Some(0.0)
        })
        .unwrap();
        let found = found.into_inner();
        let error = (variance / found.len() as f64).sqrt();
        assert!((mean(&found) - mean(&blocks)).abs() < 5.0 * error, "{kind:?} {block}");
        assert!((spread(&found) / variance - 1.0).abs() < 0.06, "{kind:?} {block}");
        if kind == Blocks::Circular {
            assert!((mean(&blocks) - mean(&values)).abs() < 1e-9, "all are drawn alike");
        }
    }
}

/// Of runs of one length: what they differ by counts in full, what is inside them by its share.
#[test]
fn two_levels_add_the_variance_of_runs_and_of_their_blocks() {
    let runs: Vec<Vec<f64>> = (0..6u32)
        .map(|run| (0..8u32).map(|i| f64::from(run * run % 5) + f64::from((i * i + run) % 7) / 2.0).collect())
        .collect();
    let levels: Vec<f64> = runs.iter().map(|run| mean(run)).collect();
    for block in [1, 2, 8] {
        let inside: Vec<f64> = runs
            .iter()
            .map(|run| {
                let blocks: Vec<f64> = (0..8)
                    .map(|start| (start..start + block).map(|i| run[i % 8]).sum::<f64>() / block as f64)
                    .collect();
                spread(&blocks) * block as f64 / 8.0
            })
            .collect();
        let variance = (spread(&levels) + mean(&inside)) / 6.0;
        let found = RefCell::new(Vec::new());
        let how = Resampling { block, replicates: 20_000, seed: 9, confidence: 0.95 };
        two_level_bootstrap(&runs, how, |drawn| {
            let drawn: Vec<f64> = drawn.iter().map(|v| **v).collect();
            found.borrow_mut().push(mean(&drawn));
            Some(0.0)
        })
        .unwrap();
        let found = found.into_inner();
        let error = (variance / found.len() as f64).sqrt();
        assert!((mean(&found) - mean(&levels)).abs() < 5.0 * error, "{block}");
        assert!((spread(&found) / variance - 1.0).abs() < 0.06, "{block}");
    }
}

/// Every place, and every run, is drawn as often as any other.
#[test]
fn each_is_drawn_alike() {
    let values: Vec<f64> = (0..10).map(f64::from).collect();
    let how = Resampling { block: 3, replicates: 5_000, seed: 10, confidence: 0.9 };
    let counts = RefCell::new([0u32; 10]);
    block_bootstrap(&values, Blocks::Circular, how, |drawn| {
        for value in drawn {
            counts.borrow_mut()[*value as usize] += 1;
        }
        Some(0.0)
    })
    .unwrap();
    // Of 50,000 a place has 5,000, with a standard deviation of some 60.
    for count in counts.into_inner() {
        assert!(count.abs_diff(5_000) < 400, "{count}");
    }
    let runs: Vec<Vec<usize>> = (0..5).map(|run| vec![run; 2]).collect();
    let seen = RefCell::new(BTreeSet::new());
    let counts = RefCell::new([0u32; 5]);
    two_level_bootstrap(&runs, how, |drawn| {
        for run in drawn {
            counts.borrow_mut()[**run] += 1;
        }
        seen.borrow_mut().insert(drawn.iter().map(|run| **run).collect::<Vec<usize>>());
        Some(0.0)
    })
    .unwrap();
    // Of 25,000 runs of two pieces each has 10,000 pieces, with a standard deviation of some 126.
    for count in counts.into_inner() {
        assert!(count.abs_diff(10_000) < 700, "{count}");
    }
    assert!(seen.into_inner().len() > 2_000, "of 5⁵ ways to draw five runs");
}
