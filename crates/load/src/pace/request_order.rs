//! Which line of a list a request takes, pure: a function of the plan and the request's number.

use std::sync::Arc;

use prony_model::list::Order;
use prony_model::plan::Plan;
pub(crate) use prony_model::values::mixed;

/// How often [`permuted`] may swap a place. A place that was never offered a swap stays where it was: one in 2³².
const SWAPS: u64 = 32;
/// 2⁶⁴ over the golden ratio, odd: the increment of SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Rounds between workers of a closed load without a count, so that none walk the same ones: over a day at 90,000/s.
const ROUNDS_APART: u64 = 1 << 32;

/// The line (from 0) of request `number` (from 0), of `lines` (1 to 2³²): in turn, or shuffled, where each round is a
/// permutation drawn from the seed. So every line is sent equally often; independent draws would add binomial noise of
/// the mix to every figure, and leave rare lines out of short loads.
pub(crate) fn line_of(order: Order, seed: u64, lines: u64, number: u64) -> u64 {
    let (round, place) = (number / lines, number % lines);
    match order {
        Order::InTurn => place,
        Order::Shuffled => permuted(mixed(seed ^ mixed(round.wrapping_add(GOLDEN))), lines, place),
    }
}

/// Where `place` is in the permutation of 0..`count` that `key` names: the swap-or-not shuffle (Hoang, Morris, Rogaway,
/// *An Enciphering Scheme Based on a Card Shuffle*, CRYPTO 2012). It stores nothing: a million lines begin at once.
fn permuted(key: u64, count: u64, place: u64) -> u64 {
    let mut place = place;
    for swap in 0..SWAPS {
        let word = mixed(key.wrapping_add(swap.wrapping_mul(GOLDEN)));
        // Uniform in 0..count but for count / 2³².
        let sum = ((word >> 32) * count) >> 32;
        let partner = if sum >= place { sum - place } else { sum + count - place };
        // Both of a pair see the same coin.
        if mixed(word ^ place.max(partner)) & 1 == 1 {
            place = partner;
        }
    }
    place
}

/// Which of a load's requests are one origin's: the same ones of each round of the list.
#[derive(Debug)]
pub(crate) struct Places {
    of_round: Vec<u32>,
    round: u64,
}

impl Places {
    /// How many of the load's first `count` requests are its own.
    pub(crate) fn among(&self, count: u64) -> u64 {
        let rest = self.of_round.partition_point(|place| u64::from(*place) < count % self.round);
        count / self.round * self.of_round.len() as u64 + rest as u64
    }

    /// The number among all of the load's of its own request of this number.
    pub(crate) fn number(&self, own: u64) -> Option<u64> {
        let count = self.of_round.len() as u64;
        let before = (own / count).checked_mul(self.round)?;
        before.checked_add(self.of_round[(own % count) as usize].into())
    }
}

/// The lines of a plan's list that go to one origin, and their order, read-only.
#[derive(Debug)]
pub(crate) struct Lines {
    requests: Vec<u32>,
    /// How many lines they are; of a list that stays in its file `requests` may have one for all.
    count: u64,
    /// How many requests its list has; 0 without one, or where it stays in its file.
    different: usize,
    order: Order,
    seed: u64,
    /// `None` where all lines go to it.
    pub(crate) places: Option<Arc<Places>>,
}

impl Lines {
    /// Of each origin; none where all requests are the same. Without a list it is one line. Which requests of a round are whose is by the order of its first round, and
    /// an origin's lines are shuffled among its own requests, so that none looks for them while it loads.
    pub(crate) fn of_each(plan: &Plan) -> Vec<Lines> {
        let Some(list) = plan.work.list() else {
            let one = Lines {
                requests: vec![0],
                count: 1,
                different: 0,
                order: Order::InTurn,
                seed: 0,
                places: None,
            };
            return if plan.values.is_empty() { Vec::new() } else { vec![one] };
        };
        let different = if list.long().is_some() { 0 } else { list.requests.len() };
        let (order, round) = (list.order, list.count());
        let lines = |requests, count, seed, places| Lines { requests, count, different, order, seed, places };
        let origins = plan.origins().len();
        if origins == 1 {
            return vec![lines(list.lines.clone(), round, plan.seed, None)];
        }
        let origin_of = |line: usize| list.requests[list.lines[line] as usize].origin as usize;
        let mut each = vec![(Vec::new(), Vec::new()); origins];
        for place in 0..list.lines.len() {
            each[origin_of(place)].0.push(list.lines[place]);
            let line = line_of(order, plan.seed, round, place as u64) as usize;
            each[origin_of(line)].1.push(place as u32);
        }
        let of_one = |(origin, (requests, of_round)): (u64, (Vec<u32>, Vec<u32>))| {
            let count = requests.len() as u64;
            lines(requests, count, plan.seed ^ mixed(origin + 1), Some(Arc::new(Places { of_round, round })))
        };
        (0..).zip(each).map(of_one).collect()
    }

    fn of_number(&self, number: u64) -> u32 {
        self.requests[line_of(self.order, self.seed, self.requests.len() as u64, number) as usize]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct RequestOrder {
    lines: Arc<Lines>,
    number: u64,
    step: u64,
}

impl RequestOrder {
    /// Of `worker` (from 0) of those of the lines' origin: at a rate w, w + W, …; closed with a count, those after the `before` of earlier workers, 0
    /// to n − 1 in all; without one each worker goes round from an offset of its own.
    pub(crate) fn of(
        plan: &Plan,
        worker: u64,
        workers: u64,
        before: u64,
        lines: &Arc<Lines>,
    ) -> RequestOrder {
        let workers = workers.max(1);
        let (number, step) = if plan.arrivals.are_open() {
            (worker, workers)
        } else if plan.stop.requests.is_some() {
            (before, 1)
        } else {
            let count = lines.count;
            (worker.wrapping_mul(ROUNDS_APART).wrapping_mul(count) + worker * count / workers, 1)
        };
        RequestOrder { lines: Arc::clone(lines), number, step }
    }

    pub(crate) fn different(&self) -> usize {
        self.lines.different
    }

    pub(crate) fn peek(&self) -> u32 {
        self.lines.of_number(self.number)
    }

    /// The request that is so many behind the next one, and its number among all of the load's.
    pub(crate) fn at(&self, behind: u64) -> (u32, u64) {
        let number = self.number.wrapping_add(self.step.wrapping_mul(behind));
        let of_all = self.lines.places.as_ref().map_or(Some(number), |places| places.number(number));
        (self.lines.of_number(number), of_all.unwrap_or(number))
    }

    #[inline(never)]
    pub(crate) fn take(&mut self) -> u32 {
        let request = self.peek();
        self.skip(1);
        request
    }

    pub(crate) fn skip(&mut self, count: u64) {
        self.number = self.number.wrapping_add(self.step.wrapping_mul(count));
    }

    /// The least number from `count` on coprime with the list's length: of requests so far apart, no line is left out.
    pub(crate) fn coprime(&self, count: u64) -> u64 {
        let lines = self.lines.count;
        let shares = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a > 1
        };
        (count.max(1)..).find(|n| !shares(*n, lines)).unwrap_or(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round(order: Order, seed: u64, lines: u64, round: u64) -> Vec<u64> {
        (round * lines..(round + 1) * lines).map(|number| line_of(order, seed, lines, number)).collect()
    }

    proptest! {
        #[test]
        fn a_round_is_every_line_once(seed: u64, lines in 1u64..400, at in 0u64..1_000_000) {
            for order in [Order::InTurn, Order::Shuffled] {
                let mut all = round(order, seed, lines, at);
                prop_assert_eq!(&all, &round(order, seed, lines, at));
                all.sort_unstable();
                prop_assert_eq!(all, (0..lines).collect::<Vec<_>>());
            }
        }

        #[test]
        fn in_turn_is_the_file_again_and_again(seed: u64, lines in 1u64..1_000_000, number: u64) {
            prop_assert_eq!(line_of(Order::InTurn, seed, lines, number), number % lines);
        }

        #[test]
        fn a_long_round_misses_none(seed: u64, lines in 10_000u64..20_000) {
            let mut seen = vec![false; lines as usize];
            round(Order::Shuffled, seed, lines, 3).into_iter().for_each(|line| seen[line as usize] = true);
            prop_assert!(seen.into_iter().all(|seen| seen));
        }
    }

    #[test]
    fn every_order_of_few_lines_is_as_likely() {
        // 24 orders of four lines in 24,000 rounds: 1,000 each, ±5 standard deviations.
        let mut seen = std::collections::BTreeMap::new();
        for at in 0..24_000 {
            *seen.entry(round(Order::Shuffled, 1, 4, at)).or_insert(0u64) += 1;
        }
        assert_eq!(seen.len(), 24);
        assert!(seen.values().all(|count| (845..1155).contains(count)), "{seen:?}");
    }

    #[test]
    fn lines_of_a_long_list_go_anywhere() {
        // The place of line 0 over 10,000 rounds, in tenths of the list: 1,000 each, ±5 standard deviations.
        let mut tenths = [0; 10];
        for at in 0..10_000 {
            let line = line_of(Order::Shuffled, 7, 1_000, at * 1_000);
            tenths[line as usize / 100] += 1;
        }
        assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
    }

    #[test]
    fn another_seed_or_round_is_another_order() {
        let of = |seed, at| round(Order::Shuffled, seed, 50, at);
        assert_ne!(of(1, 0), of(2, 0));
        assert_ne!(of(1, 0), of(1, 1));
        // For ever: a recorded seed must mean the same order in every version.
        assert_eq!(round(Order::Shuffled, 1, 8, 0), SEED_1);
    }

    const SEED_1: [u64; 8] = [4, 1, 3, 6, 5, 0, 2, 7];
}
