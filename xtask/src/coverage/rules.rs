//! Rules over blocks on drawn figures: ranks, comparisons, looks, forecasts.

use std::collections::BTreeMap;

use prony_analysis::compare::{Finding, Rule, compare};
use prony_analysis::figure::Figure;
use prony_analysis::look::Level;
use prony_analysis::ranking::Contest;
use prony_stats::levels::two_levels;

use super::chance::Chance;
use super::counted::{Bar, Row, Tally};

/// What a block does to all candidates alike, as the standard deviation of the logarithm.
pub(crate) const BLOCK_NOISE: f64 = 0.05;
/// A trial's own, where a row does not name another.
pub(crate) const NOISE: f64 = 0.03;

/// Candidates whose figures are drawn: the logarithm of each one's level, and its own deviation.
type Field<'a> = &'a [(f64, f64)];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = ranks();
    rows.extend(looks());
    rows.extend(forecasts());
    rows.extend(comparisons());
    rows.extend(starts());
    rows
}

/// A row of which each run is drawn and counted without anything kept.
fn row(
    situation: impl Into<String>,
    counts: &[(&'static str, Bar)],
    play: impl Fn(&mut Chance, &mut Tally) + Clone + Sync + 'static,
) -> Row {
    Row::new(situation, counts, move || Box::new(play.clone()))
}

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

fn places(field: Field, blocks: u32, chance: &mut Chance) -> Vec<(u32, u32)> {
    let (figures, at_least) = (draw(field, blocks, chance), vec![false; field.len()]);
    Contest { figures, at_least, level: Level::look(1) }.places()
}

fn ranks() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut equal = |situation: String, field: Vec<(f64, f64)>, blocks: u32| {
        rows.push(row(situation, &[("some two ranked apart", Bar::AtMost(0.055))], move |chance, tally| {
            let places = places(&field, blocks, chance);
            tally.count(0, places.iter().any(|(best, worst)| *best > 1 || (*worst as usize) < field.len()));
        }));
    };
    for blocks in [2, 3, 5] {
        for k in [2, 3, 9] {
            equal(format!("ranks: {k} equal servers, {blocks} blocks"), vec![(0.0, NOISE); k], blocks);
        }
        let mut field = vec![(0.0, 0.005); 9];
        field[0].1 = 0.30;
        equal(format!("ranks: 9 equal servers, noise 0.5 % and of one 30 %, {blocks} blocks"), field, blocks);
    }
    let counts = [("its eight pairs ranked apart", Bar::AtLeast(0.75))];
    rows.push(row("ranks: one of 9 servers 10 % slower, 5 blocks", &counts, |chance, tally| {
        let mut field = vec![(0.0, NOISE); 9];
        field[0].0 = 0.9f64.ln();
        // The slow one's place, from the best, says from how many it was told apart.
        tally.add(0, u64::from(places(&field, 5, chance)[0].0) - 1, 8);
    }));
    rows
}

/// B beside A, as (a, b) per block.
fn pairs(difference: f64, noise: f64, blocks: u32, chance: &mut Chance) -> Vec<(f64, f64)> {
    let drawn = draw(&[(0.0, noise), (difference.ln_1p(), noise)], blocks, chance);
    drawn[0].values().zip(drawn[1].values()).map(|(a, b)| (a.exp(), b.exp())).collect()
}

fn finding(pairs: &[(f64, f64)], look: u32) -> Option<Finding> {
    compare(pairs, Rule::usual(Figure::THROUGHPUT), Level::look(look)).map(|c| c.finding)
}

pub(crate) fn is_winner(found: Option<Finding>) -> bool {
    matches!(found, Some(Finding::Faster | Finding::Slower))
}

fn looks() -> Vec<Row> {
    let equal = |noise: f64| {
        let situation = format!(
            "one log gone on with until decided: equal servers, 6 blocks a look, 5 looks at most, noise {} %",
            noise * 100.0
        );
        row(situation, &[("a winner at any look", Bar::AtMost(0.05))], move |chance, tally| {
            let (mut all, mut found) = (Vec::new(), None);
            for look in 1..=5 {
                all.extend(pairs(0.0, noise, 6, chance));
                found = finding(&all, look);
                if found != Some(Finding::Inconclusive) {
                    break;
                }
            }
            tally.count(0, is_winner(found));
        })
    };
    [0.005, 0.01, 0.03, 0.10].map(equal).into_iter().collect()
}

/// What six undecided blocks forecast, held against these and so many more, at the second look.
fn forecasts() -> Vec<Row> {
    let forecast = |(at, what): (usize, &str)| {
        let situation = format!("“N more blocks decide”, of 6 undecided blocks, at N: {what}");
        let counts = [("decided", Bar::AtLeast(0.75)), ("decided", Bar::AtMost(0.90))];
        row(situation, &counts, move |chance, tally| {
            let rule = Rule::usual(Figure::THROUGHPUT);
            let difference = ([0.0, 0.5, 1.5][at] * rule.smallest.ln_1p()).exp_m1();
            let mut all = pairs(difference, NOISE, 6, chance);
            let found = compare(&all, rule, Level::look(1));
            let Some(found) = found.filter(|found| found.finding == Finding::Inconclusive) else { return };
            let forecast = rule.forecast(&found.test, Level::look(1));
            let Some(more) = forecast.get(at).and_then(|f| f.more_blocks) else { return };
            all.extend(pairs(difference, NOISE, more, chance));
            let decided = !matches!(finding(&all, 2), Some(Finding::Inconclusive) | None);
            (0..2).for_each(|i| tally.count(i, decided));
        })
    };
    let all = ["truly equal", "half of what matters apart", "1.5 times what matters apart"];
    all.into_iter().enumerate().map(forecast).collect()
}

fn comparisons() -> Vec<Row> {
    let mut rows = Vec::new();
    for blocks in [3, 6, 12] {
        let counts = [("the interval holds the truth", Bar::AtLeast(0.93))];
        rows.push(row(format!("comparison: 3 % slower, {blocks} blocks"), &counts, move |chance, tally| {
            let found = compare(
                &pairs(-0.03, NOISE, blocks, chance),
                Rule::usual(Figure::THROUGHPUT),
                Level::look(1),
            );
            tally.count(0, found.is_some_and(|c| c.ratio.low <= 0.97 && 0.97 <= c.ratio.high));
        }));
    }
    // What was found of these at 697f7046 (docs/benchmarks/coverage-2026-11-23.md).
    for (blocks, before) in [(6, 0.579), (8, 0.751), (12, 0.931)] {
        let counts = [("found slower, as often as by 697f7046", Bar::AtLeast(before))];
        rows.push(row(format!("comparison: 5 % slower, {blocks} blocks"), &counts, move |chance, tally| {
            tally.count(0, finding(&pairs(-0.05, NOISE, blocks, chance), 1) == Some(Finding::Slower));
        }));
    }
    let counts = [("found slower", Bar::AtLeast(0.85))];
    rows.push(row("comparison: 5 % slower, 12 blocks, first of several looks", &counts, |chance, tally| {
        tally.count(0, finding(&pairs(-0.05, NOISE, 12, chance), 1) == Some(Finding::Slower));
    }));
    rows
}

fn starts() -> Vec<Row> {
    let levels = |slow: f64| {
        move |chance: &mut Chance| {
            let level = if chance.uniform() < slow { 0.9f64.ln() } else { 0.0 };
            level + 0.01 * chance.normal()
        }
    };
    let mut rows = Vec::new();
    for (blocks, bar) in [(5, Bar::None), (6, Bar::None), (12, Bar::AtLeast(0.90))] {
        let counts = [("the interval of its mean holds the truth", bar)];
        rows.push(row(
            format!("a fifth of starts 10 % slower, {blocks} blocks"),
            &counts,
            move |chance, tally| {
                let pairs: Vec<(f64, f64)> = (0..blocks).map(|_| (1.0, levels(0.2)(chance).exp())).collect();
                let truth = (0.2 * 0.9f64.ln()).exp();
                let found = compare(&pairs, Rule::usual(Figure::THROUGHPUT), Level::look(1));
                tally.count(0, found.is_some_and(|c| c.ratio.low <= truth && truth <= c.ratio.high));
            },
        ));
    }
    for (slow, what, bar) in [
        (0.0, "starts of one level", Bar::AtMost(0.05)),
        (0.2, "a fifth of starts 10 % slower", Bar::None),
        (0.5, "half of the starts 10 % slower", Bar::AtLeast(0.90)),
    ] {
        for blocks in [6, 12] {
            let bar = if slow > 0.0 && blocks < 12 { Bar::None } else { bar };
            let counts = [("said to look two-level", bar)];
            rows.push(row(
                format!("{what}, {blocks} blocks, looked at for levels"),
                &counts,
                move |chance, tally| {
                    let logs: Vec<f64> = (0..blocks).map(|_| levels(slow)(chance)).collect();
                    tally.count(0, two_levels(&logs).is_some());
                },
            ));
        }
    }
    rows
}
