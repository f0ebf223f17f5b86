//! Rules over blocks on simulated figures: ranks, comparisons, looks, forecasts, the gate of CI, intervals of a candidate.

use std::collections::BTreeMap;

use prony_analysis::compare::{Finding, Rule, compare};
use prony_analysis::figure::Figure;
use prony_analysis::look::Level;
use prony_analysis::ranking::Contest;

use super::chance::Chance;
use super::counted::{Bar, Counted};

/// What a block does to all candidates alike, as the standard deviation of the logarithm.
const BLOCK_NOISE: f64 = 0.05;
/// A trial's own, where a row does not name another.
const NOISE: f64 = 0.03;

/// Candidates whose figures are drawn: the logarithm of each one's level, and its own deviation.
type Field<'a> = &'a [(f64, f64)];

/// By candidate and block, logarithms of figures.
fn draw(field: Field, blocks: u32, chance: &mut Chance) -> Vec<BTreeMap<u32, f64>> {
    let mut figures = vec![BTreeMap::new(); field.len()];
    for block in 0..blocks {
        let common = BLOCK_NOISE * chance.normal();
        for ((level, noise), own) in field.iter().zip(&mut figures) {
            own.insert(block, level + common + noise * chance.normal());
        }
    }
    figures
}

/// Counts of one situation.
struct Count {
    situation: String,
    runs: u64,
    seed: u64,
}

impl Count {
    fn of(&self, what: &'static str, bar: Bar, mut happens: impl FnMut(&mut Chance) -> bool) -> Counted {
        let count = (0..self.runs).filter(|run| happens(&mut Chance::of(self.seed, *run))).count() as u64;
        Counted { situation: self.situation.clone(), what, runs: self.runs, count, bar }
    }
}

/// All rules, `runs` times each.
pub(crate) fn rules(runs: u64, base: u64) -> Vec<Counted> {
    let mut seeds = base + 30_000..;
    let mut count = |situation: String| Count { situation, runs, seed: seeds.next().unwrap_or_default() };
    let mut rows = Vec::new();
    ranks(&mut count, &mut rows);
    looks(&mut count, &mut rows);
    forecasts(&mut count, &mut rows);
    covered(&mut count, &mut rows);
    rows
}

fn places(field: Field, blocks: u32, chance: &mut Chance) -> Vec<(u32, u32)> {
    let (figures, at_least) = (draw(field, blocks, chance), vec![false; field.len()]);
    Contest { figures, at_least, level: Level::look(1) }.places()
}

fn ranks(count: &mut impl FnMut(String) -> Count, rows: &mut Vec<Counted>) {
    let family = |field: Field, blocks: u32| {
        let all = (1, field.len() as u32);
        let field = field.to_vec();
        move |chance: &mut Chance| places(&field, blocks, chance).iter().any(|place| *place != all)
    };
    for k in [2, 3, 9] {
        for blocks in [2, 3, 5] {
            let one = count(format!("ranks: {k} equal servers, {blocks} blocks, noise 3 %"));
            rows.push(one.of("some two told apart", Bar::AtMost(0.055), family(&vec![(0.0, NOISE); k], blocks)));
        }
    }
    for blocks in [2, 3, 5] {
        let mut field = vec![(0.0, 0.005); 9];
        field[0].1 = 0.30;
        let one = count(format!("ranks: 9 equal servers, noise 0.5 % and of one 30 %, {blocks} blocks"));
        rows.push(one.of("some two told apart", Bar::AtMost(0.055), family(&field, blocks)));
    }
    // The slow one's place, from the best, says from how many it was told apart.
    let one = count("ranks: one of 9 servers 10 % slower, 5 blocks, noise 3 %".to_owned());
    let mut field = vec![(0.0, NOISE); 9];
    field[0].0 = 0.9f64.ln();
    let mut found = 0;
    for run in 0..one.runs {
        found += u64::from(places(&field, 5, &mut Chance::of(one.seed, run))[0].0) - 1;
    }
    rows.push(Counted {
        situation: one.situation,
        what: "its pairs told apart",
        runs: one.runs * 8,
        count: found,
        bar: Bar::AtLeast(0.75),
    });
}

/// B beside A, as (a, b) per block.
fn pairs(difference: f64, noise: f64, blocks: u32, chance: &mut Chance) -> Vec<(f64, f64)> {
    let mut drawn = draw(&[(0.0, noise), (difference.ln_1p(), noise)], blocks, chance);
    let b = drawn.pop().unwrap_or_default();
    let a = drawn.pop().unwrap_or_default();
    a.values().zip(b.values()).map(|(a, b)| (a.exp(), b.exp())).collect()
}

fn finding(pairs: &[(f64, f64)], look: u32) -> Option<Finding> {
    compare(pairs, Rule::usual(Figure::THROUGHPUT), Level::look(look)).map(|c| c.finding)
}

fn is_winner(found: Option<Finding>) -> bool {
    matches!(found, Some(Finding::Faster | Finding::Slower))
}

fn looks(count: &mut impl FnMut(String) -> Count, rows: &mut Vec<Counted>) {
    for noise in [0.005, 0.01, 0.03, 0.10] {
        let one = count(format!(
            "equal servers, 6 blocks, and 6 more until decided, 5 looks at most, noise {} %",
            noise * 100.0
        ));
        rows.push(one.of("a winner at any look", Bar::AtMost(0.05), |chance| {
            let mut all = Vec::new();
            for look in 1..=5 {
                all.extend(pairs(0.0, noise, 6, chance));
                match finding(&all, look) {
                    Some(Finding::Inconclusive) | None => {}
                    decided => return is_winner(decided),
                }
            }
            false
        }));
    }
    let one = count("5 % slower, 12 blocks, noise 3 %, first look".to_owned());
    rows.push(one.of("found slower", Bar::AtLeast(0.85), |chance| {
        finding(&pairs(-0.05, NOISE, 12, chance), 1) == Some(Finding::Slower)
    }));
}

/// What six undecided blocks forecast, held against these and so many more, at the second look.
fn forecasts(count: &mut impl FnMut(String) -> Count, rows: &mut Vec<Counted>) {
    let rule = Rule::usual(Figure::THROUGHPUT);
    for (at, what) in ["no difference", "half of what matters", "1.5 times what matters"].into_iter().enumerate() {
        let difference = [0.0, 0.5, 1.5][at] * rule.smallest.ln_1p();
        let one = count(format!("\"N more blocks decide\" of 6 blocks, noise 3 %: {what}"));
        let (mut made, mut decided) = (0, 0);
        for run in 0..one.runs {
            let chance = &mut Chance::of(one.seed, run);
            let first = pairs(difference.exp_m1(), NOISE, 6, chance);
            let Some(found) = compare(&first, rule, Level::look(1)) else { continue };
            if found.finding != Finding::Inconclusive {
                continue;
            }
            let forecast = rule.forecast(&found.test, Level::look(1));
            let Some(more) = forecast.get(at).and_then(|f| f.more_blocks) else { continue };
            made += 1;
            let mut after = first;
            after.extend(pairs(difference.exp_m1(), NOISE, more, chance));
            decided += u64::from(!matches!(finding(&after, 2), Some(Finding::Inconclusive) | None));
        }
        let of = |bar| Counted { situation: one.situation.clone(), what: "decided by then", runs: made, count: decided, bar };
        rows.extend([of(Bar::AtLeast(0.75)), of(Bar::AtMost(0.90))]);
    }
}

/// A candidate's own interval, and a ratio's, over starts that are not normal.
fn covered(count: &mut impl FnMut(String) -> Count, rows: &mut Vec<Counted>) {
    let slow_starts = |chance: &mut Chance| {
        let slow = if chance.uniform() < 0.2 { 0.9f64.ln() } else { 0.0 };
        slow + 0.01 * chance.normal()
    };
    for (blocks, bar) in [(5, Bar::None), (6, Bar::None), (12, Bar::AtLeast(0.90))] {
        let one = count(format!("a fifth of starts 10 % slower, {blocks} blocks"));
        rows.push(one.of("the interval of its mean holds the truth", bar, |chance| {
            let pairs: Vec<(f64, f64)> = (0..blocks).map(|_| (1.0, slow_starts(chance).exp())).collect();
            let truth = (0.2 * 0.9f64.ln()).exp();
            compare(&pairs, Rule::usual(Figure::THROUGHPUT), Level::look(1))
                .is_some_and(|c| c.ratio.low <= truth && truth <= c.ratio.high)
        }));
    }
    for blocks in [3, 6, 12] {
        let one = count(format!("comparison of two, B 3 % slower, noise 3 %, {blocks} blocks"));
        rows.push(one.of("its 95 % interval holds the truth", Bar::AtLeast(0.93), |chance| {
            compare(&pairs(-0.03, NOISE, blocks, chance), Rule::usual(Figure::THROUGHPUT), Level::look(1))
                .is_some_and(|c| c.ratio.low <= 0.97 && 0.97 <= c.ratio.high)
        }));
    }
}
