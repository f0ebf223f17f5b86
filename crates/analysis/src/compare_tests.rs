use proptest::prelude::*;

use super::*;

pub(super) fn throughput() -> Rule {
    Rule::usual(Figure::THROUGHPUT)
}

pub(super) fn latency() -> Rule {
    Rule::usual(Figure::P99)
}

fn compared(ratios: &[f64], rule: Rule) -> RatioComparison {
    let pairs: Vec<(f64, f64)> = ratios.iter().map(|r| (1000.0, 1000.0 * r)).collect();
    compare(&pairs, rule, Level::look(1)).unwrap()
}

#[test]
fn pairs_are_found_faster_slower_equivalent_or_inconclusive() {
    let clear = compared(&[1.05, 1.06, 1.055, 1.05, 1.06, 1.05], throughput());
    assert_eq!(clear.finding, Finding::Faster);
    assert!(clear.ratio.low > 1.04 && clear.ratio.high < 1.07 && clear.ratio.n == 6, "{clear:?}");
    assert_eq!(compared(&[0.95, 0.94, 0.96, 0.95], throughput()).finding, Finding::Slower);
    assert_eq!(
        compared(&[1.002, 0.999, 1.001, 1.0, 0.998, 1.001], throughput()).finding,
        Finding::Equivalent
    );
    let unsure = compared(&[1.05, 0.97, 1.06, 0.99], throughput());
    assert_eq!(unsure.finding, Finding::Inconclusive);
}

#[test]
fn a_lower_response_is_faster() {
    assert_eq!(compared(&[0.8, 0.81, 0.79, 0.8], latency()).finding, Finding::Faster);
    assert_eq!(compared(&[1.2, 1.21, 1.19, 1.2], latency()).finding, Finding::Slower);
}

#[test]
fn a_certain_difference_under_the_margin_is_equivalent() {
    // 1 % for certain, where 2 % matters: the interval excludes 1.
    let c = compared(&[1.010, 1.011, 1.010, 1.009, 1.010, 1.0105], throughput());
    assert!(c.ratio.low > 1.0);
    assert_eq!(c.finding, Finding::Equivalent);
}

#[test]
fn pairing_cancels_differences_between_blocks() {
    let pairs: Vec<(f64, f64)> =
        [(100.0, 1.049), (300.0, 1.051), (50.0, 1.05)].iter().map(|(a, r)| (*a, a * r)).collect();
    assert_eq!(compare(&pairs, throughput(), Level::look(1)).unwrap().finding, Finding::Faster);
}

#[test]
fn any_found_difference_has_a_direction_unless_surely_small() {
    // 1.5 % for certain but for noise: 2 % are not excluded, and 0 is.
    let unclear = [1.015, 1.005, 1.025, 1.010, 1.020, 1.015];
    assert_eq!(compared(&unclear, throughput()).finding, Finding::Faster);
    assert_eq!(compared(&unclear, Rule { smallest: 0.05, ..throughput() }).finding, Finding::Equivalent);
}

#[test]
fn each_look_needs_more_and_so_does_one_of_many_hypotheses() {
    let pairs = [1.05, 1.0, 1.06, 1.01, 1.055, 1.02].map(|r| (1000.0, 1000.0 * r));
    let at = |look| compare(&pairs, throughput(), Level::look(look)).unwrap();
    assert_eq!([1, 2].map(|look| at(look).finding), [Finding::Faster, Finding::Inconclusive]);
    assert_eq!(at(1).ratio, at(2).ratio, "the interval is the 95 % one");
    let test = at(1).test;
    assert_eq!(throughput().finding(&test, 0.035, 3), Finding::Inconclusive);
    let precise = compare(&pairs, throughput(), Level { widened: true, ..Level::look(1) }).unwrap();
    assert_eq!(precise.finding, Finding::Inconclusive);
    assert!((precise.test.error / test.error - 4.0 / 3.0).abs() < 1e-9, "1 + 2/6 times as wide");
}

#[test]
fn forecast_blocks_grow_with_noise_to_a_thousand_at_most() {
    let needed = |noise: f64, ratio: f64| -> Vec<Option<u32>> {
        let swing: [f64; 4] = [noise, -noise, 0.8 * noise, -0.8 * noise];
        let test = compared(&swing.map(|s| ratio * s.exp()), throughput()).test;
        throughput().forecast(&test, Level::look(1)).iter().map(|f| f.more_blocks).collect()
    };
    let (little, more) = (needed(0.03, 1.03), needed(0.06, 1.03));
    assert!(
        little.iter().zip(&more).all(|(little, more)| *little > Some(4) && *more > little.map(|n| 2 * n))
    );
    assert!(little[1] > little[0] && little[0] > little[2], "{little:?}");
    assert_eq!(little, needed(0.03, 1.0));
    assert_eq!(needed(0.9, 1.03), [None; 3]);
}

#[test]
fn one_block_or_a_figure_of_zero_is_not_compared() {
    assert_eq!(compare(&[(1.0, 2.0)], throughput(), Level::look(1)), None);
    assert_eq!(compare(&[(1.0, 2.0), (0.0, 1.0)], throughput(), Level::look(1)), None);
}

#[test]
fn pairs_without_spread_have_a_certain_finding() {
    assert_eq!(compared(&[1.0; 3], throughput()).finding, Finding::Equivalent);
    assert_eq!(compared(&[1.02; 3], throughput()).finding, Finding::Faster);
    assert_eq!(compared(&[0.5; 2], throughput()).finding, Finding::Slower);
}

proptest! {
    #[test]
    fn exchanging_both_sides_reverses_the_finding(pairs in prop::collection::vec((50.0f64..60.0, 50.0f64..60.0), 2..12)) {
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let of = |pairs: &[(f64, f64)]| compare(pairs, throughput(), Level::look(1)).unwrap();
        let (one, other) = (of(&pairs), of(&swapped));
        let mirrored = match one.finding {
            Finding::Faster => Finding::Slower,
            Finding::Slower => Finding::Faster,
            same => same,
        };
        prop_assert_eq!(other.finding, mirrored);
        prop_assert!((one.ratio.point * other.ratio.point - 1.0).abs() < 1e-9);
    }

    #[test]
    fn any_pairs_have_a_ratio_that_is_a_number_or_none(pairs in prop::collection::vec((any::<f64>(), any::<f64>()), 0..6), smallest in any::<f64>()) {
        let found = compare(&pairs, Rule { smallest, more_is_better: false }, Level::look(1));
        prop_assert!(found.is_none_or(|c| !c.ratio.point.is_nan()));
    }
}

#[test]
fn a_run_is_held_against_earlier_ones_by_prediction_interval() {
    // Logarithms −0.02, −0.01, 0, 0.01, 0.02: s² = 0.001/4; t(0.975; 4) = 2.776445, √(1 + 1/5).
    let earlier = [-0.02f64, -0.01, 0.0, 0.01, 0.02].map(f64::exp);
    let found = compare_with_runs(&earlier, 0.1f64.exp(), throughput()).unwrap();
    let half = 2.776_445 * 0.000_25f64.sqrt() * 1.2f64.sqrt();
    assert!((found.ratio.point.ln() - 0.1).abs() < 1e-12, "{found:?}");
    assert!((found.ratio.high.ln() - 0.1 - half).abs() < 1e-6 && found.ratio.n == 5, "{found:?}");
    assert_eq!(found.finding, Finding::Faster);
    assert_eq!(compare_with_runs(&earlier, 1.03, throughput()).unwrap().finding, Finding::Inconclusive);
    assert_eq!(compare_with_runs(&earlier[..4], 1.1, throughput()), None, "four runs do not say");
    assert_eq!(compare_with_runs(&earlier, 0.0, throughput()), None);
}

#[test]
fn one_more_equal_run_is_a_winner_in_five_percent_at_most() {
    let mut noise = crate::testing::noise(29);
    let wrong = (0..4_000).filter(|_| {
        let mut run = || (0.02 * noise.next().unwrap()).exp();
        let earlier: Vec<f64> = (0..5).map(|_| run()).collect();
        let found = compare_with_runs(&earlier, run(), throughput()).unwrap().finding;
        matches!(found, Finding::Faster | Finding::Slower)
    });
    let wrong = wrong.count();
    // 200, and three standard deviations of a count of it.
    assert!(wrong <= 241, "{wrong} of 4,000");
}
