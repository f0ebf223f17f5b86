//! Which trial comes when: randomised complete blocks.
//!
//! Every block holds every candidate under every plan once, so that a machine that grows warm or busy touches all alike
//! (Box, Hunter & Hunter, *Statistics for Experimenters*, ch. 3–4). The order is a function of the seed and the block's
//! number alone: the same for ever, and for the first blocks however many follow.

use std::time::Duration;

use prony_model::duet::{DuetPlace, DuetSide};
use prony_model::run_log::{Control, PlannedTrial};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What starting a server takes, for the forecast: what most of the catalogue needs.
pub(crate) const STARTUP_FORECAST: Duration = Duration::from_millis(500);
pub(crate) const STOP_FORECAST: Duration = Duration::from_millis(300);

type Loaded = (String, Option<Control>);

pub(crate) fn order(loaded: &[Loaded], plans: &[String], blocks: u32, seed: u64) -> Vec<PlannedTrial> {
    let mut order = Vec::with_capacity(loaded.len() * plans.len() * blocks as usize);
    for block in 0..blocks {
        let mut pairs: Vec<(&Loaded, &String)> =
            plans.iter().flat_map(|plan| loaded.iter().map(move |who| (who, plan))).collect();
        shuffle(&mut pairs, &mut block_stream(seed, block));
        for ((candidate, control), plan) in pairs {
            let index = u32::try_from(order.len()).unwrap_or(u32::MAX);
            let (candidate, plan, control) = (candidate.clone(), plan.clone(), *control);
            order.push(PlannedTrial { index, block, candidate, plan, duet: None, repeat: 0, control });
        }
    }
    order
}

/// As [`order`], one phase of plans after the other, each in all of its blocks: plans of a later phase
/// need what an earlier one finds. Without a second phase it is [`order`] to the trial.
pub(crate) fn order_in_phases(
    loaded: &[Loaded],
    phases: &[Vec<String>],
    blocks: u32,
    seed: u64,
) -> Vec<PlannedTrial> {
    let mut all: Vec<PlannedTrial> = Vec::new();
    for (phase, plans) in (0_u64..).zip(phases) {
        // Every phase has a shuffle of its own.
        all.extend(order(loaded, plans, blocks, seed.wrapping_add(phase << 32)));
    }
    for (index, trial) in (0..).zip(&mut all) {
        trial.index = index;
    }
    all
}

/// Every trial of a duet, in pairs that run at once, the left one first: of each plan and block a half
/// and another with places changed. Who begins on the left is the block's draw of [`order`].
pub(crate) fn order_of_duets(
    candidates: &[Loaded],
    plans: &[String],
    blocks: u32,
    seed: u64,
) -> Vec<PlannedTrial> {
    let mut all = Vec::with_capacity(2 * candidates.len() * plans.len() * blocks as usize);
    let singly = order(candidates, plans, blocks, seed);
    for (at, first) in singly.iter().enumerate() {
        let mut rest = singly[at + 1..].iter().take_while(|other| other.block == first.block);
        // The later one of a pair has been taken with the earlier one.
        let Some(second) = rest.find(|other| other.plan == first.plan) else { continue };
        for (half, left, right) in [(0, first, second), (1, second, first)] {
            for (side, planned) in [(DuetSide::Left, left), (DuetSide::Right, right)] {
                let index = u32::try_from(all.len()).unwrap_or(u32::MAX);
                all.push(PlannedTrial { index, duet: Some(DuetPlace { half, side }), ..planned.clone() });
            }
        }
    }
    all
}

/// ChaCha8 keyed by the seed, on the block's own stream. The key is written out
/// here and not left to `seed_from_u64`, whose expansion is the library's to change.
fn block_stream(seed: u64, block: u32) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut stream = ChaCha8Rng::from_seed(key);
    stream.set_stream(u64::from(block));
    stream
}

/// Fisher and Yates' shuffle (Knuth, TAOCP 2, algorithm 3.4.2 P), written out
/// so that no library's version can change an order that was published.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random));
    }
}

/// A whole number in `0..bound`, each equally likely: draws in the last,
/// incomplete stretch of the 64-bit range are drawn again.
fn below(bound: u64, random: &mut ChaCha8Rng) -> usize {
    let whole = u64::MAX - u64::MAX % bound;
    loop {
        let draw = random.next_u64();
        if draw < whole {
            return (draw % bound) as usize;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forecast {
    pub trials: u32,
    pub block: Duration,
    pub total: Duration,
    /// Blocks that end within the budget, at least one; all of them without a budget.
    pub blocks_in_budget: u32,
}

/// Forecasts a duet: two loads at once, their servers started in turn. `plans`: each plan's warm-up and window.
pub(crate) fn forecast_duets(plans: &[Duration], blocks: u32, budget: Option<Duration>) -> Forecast {
    // Four trials a block and plan, in two halves: each takes half of its load's time.
    let halves: Vec<Duration> = plans.iter().flat_map(|load| [*load / 2; 4]).collect();
    forecast(&halves, blocks, budget)
}

/// Forecasts a run: [`STARTUP_FORECAST`] and [`STOP_FORECAST`] besides a block's `trials`, each warm-up and window.
pub(crate) fn forecast(trials: &[Duration], blocks: u32, budget: Option<Duration>) -> Forecast {
    let overhead = STARTUP_FORECAST + STOP_FORECAST;
    let block: Duration = trials.iter().map(|load| *load + overhead).sum();
    let trials = u32::try_from(trials.len()).unwrap_or(u32::MAX);
    let blocks_in_budget = match budget {
        Some(budget) if !block.is_zero() => {
            let fit = budget.as_nanos() / block.as_nanos();
            u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, blocks.max(1))
        }
        _ => blocks,
    };
    Forecast {
        trials: trials.saturating_mul(blocks),
        block,
        total: block.saturating_mul(blocks),
        blocks_in_budget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(candidates: &[&str]) -> Vec<Loaded> {
        names(candidates).into_iter().map(|candidate| (candidate, None)).collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    fn brief(order: &[PlannedTrial]) -> String {
        let trials: Vec<String> =
            order.iter().map(|t| format!("{}{}{}", t.block, t.candidate, t.plan)).collect();
        trials.join(" ")
    }

    /// This order is published in every run log of this seed: it must never change.
    /// The expected text is from a second implementation, in Python, from the specification of ChaCha.
    #[test]
    fn the_order_of_trials_for_a_seed_never_changes() {
        let order = order(&all(&["a", "b", "c"]), &names(&["x", "y"]), 3, 7);
        assert_eq!(brief(&order), "0cy 0bx 0ax 0by 0cx 0ay 1cx 1ay 1cy 1bx 1by 1ax 2ay 2ax 2bx 2cx 2by 2cy");
    }

    #[test]
    fn a_block_holds_every_pair_once_and_indices_count_up() {
        let order = order(&all(&["a", "b", "c", "d"]), &names(&["x", "y", "z"]), 20, 1);
        assert_eq!(order.len(), 240);
        assert!(order.iter().enumerate().all(|(i, t)| t.index as usize == i));
        for block in order.chunks(12) {
            assert!(block.iter().all(|t| t.block == block[0].block));
            let mut pairs: Vec<_> = block.iter().map(|t| (&t.candidate, &t.plan)).collect();
            pairs.sort();
            pairs.dedup();
            assert_eq!(pairs.len(), 12);
        }
    }

    #[test]
    fn a_twin_takes_each_place_about_as_often_as_its_candidate() {
        let loaded = [all(&["a", "b"]), vec![("a".to_owned(), Some(Control::Twin))]].concat();
        let order = order(&loaded, &names(&["x"]), 3000, 3);
        assert_eq!(order.len(), 9000);
        let who: Vec<String> = order.iter().map(PlannedTrial::who).collect();
        for name in ["a", "b", "twin of a"] {
            assert!(who.chunks(3).all(|block| block.iter().filter(|who| *who == name).count() == 1));
            for place in 0..3 {
                let there = who.chunks(3).filter(|block| block[place] == name).count();
                // 1000 expected, standard deviation 26: seven of them on each side.
                assert!((820..1180).contains(&there), "{name} at {place}: {there}");
            }
        }
    }

    #[test]
    fn more_blocks_do_not_change_the_first() {
        let (candidates, plans) = (all(&["a", "b", "c"]), names(&["x"]));
        let few = order(&candidates, &plans, 2, 9);
        let many = order(&candidates, &plans, 50, 9);
        assert_eq!(few[..], many[..few.len()]);
        assert_ne!(brief(&many), brief(&order(&candidates, &plans, 50, 10)), "another seed, another order");
    }

    #[test]
    fn all_blocks_of_a_phase_come_before_the_next_phase() {
        let (candidates, phases) = (all(&["a", "b"]), [names(&["knee"]), names(&["x", "y"])]);
        let two = order_in_phases(&candidates, &phases, 2, 7);
        assert_eq!(two.len(), 12);
        assert!(two.iter().enumerate().all(|(i, t)| t.index as usize == i));
        assert!(two[..4].iter().all(|t| t.plan == "knee") && two[4..].iter().all(|t| t.plan != "knee"));
        assert_eq!(order_in_phases(&candidates, &phases[1..], 2, 7), order(&candidates, &phases[1], 2, 7));
    }

    #[test]
    fn the_candidates_of_a_duet_swap_sides_between_its_halves() {
        let order = order_of_duets(&all(&["a", "b"]), &names(&["x", "y"]), 50, 7);
        assert_eq!(order.len(), 400);
        assert!(order.iter().enumerate().all(|(i, t)| t.index as usize == i));
        let mut begins_left = 0;
        for (number, quadruple) in order.chunks(4).enumerate() {
            let [first, second, third, fourth] = quadruple else { panic!("{quadruple:?}") };
            assert!(quadruple.iter().all(|t| t.block as usize == number / 2 && t.plan == first.plan));
            assert_ne!(first.candidate, second.candidate);
            assert_eq!((&third.candidate, &fourth.candidate), (&second.candidate, &first.candidate));
            let places: Vec<_> = quadruple.iter().map(|t| t.duet.unwrap()).collect();
            assert!(places.iter().enumerate().all(|(i, p)| p.half as usize == i / 2));
            assert!(places.iter().enumerate().all(|(i, p)| (p.side == DuetSide::Left) == (i % 2 == 0)));
            begins_left += usize::from(first.candidate == "a");
        }
        // 50 expected of 100, standard deviation 5.
        assert!((20..=80).contains(&begins_left), "{begins_left}");
        let plans: Vec<_> = order.chunks(8).map(|block| (&block[0].plan, &block[4].plan)).collect();
        assert!(plans.iter().all(|(first, second)| first != second));
    }

    #[test]
    fn each_candidate_has_each_position_of_a_block_equally_often() {
        let order = order(&all(&["a", "b", "c", "d"]), &names(&["x"]), 4000, 3);
        for place in 0..4 {
            let first = order.chunks(4).filter(|block| block[place].candidate == "a").count();
            // 1000 expected, standard deviation 27: seven of them on each side.
            assert!((810..1190).contains(&first), "place {place}: {first}");
        }
    }

    #[test]
    fn the_forecast_is_the_sum_of_loads_and_overheads() {
        let second = Duration::from_secs(1);
        let three = [[second * 4, second * 9]; 3].concat();
        let f = forecast(&three, 5, Some(second * 100));
        assert_eq!(f.trials, 30);
        assert_eq!(f.block, Duration::from_millis(3 * (4800 + 9800)));
        assert_eq!(f.total, f.block * 5);
        assert_eq!(f.blocks_in_budget, 2);
        let duets = forecast_duets(&[second * 4], 5, None);
        assert_eq!((duets.trials, duets.block), (20, Duration::from_millis(2 * 4000 + 4 * 800)));
        assert_eq!(forecast(&[second; 3], 5, Some(second)).blocks_in_budget, 1, "one block is always begun");
        assert_eq!(forecast(&[second; 3], 5, None).blocks_in_budget, 5);
    }
}
