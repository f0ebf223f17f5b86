//! How long it takes to decide a true difference of 3 %, beside "30 s, the best of five" of each.

use prony_analysis::compare::{Finding, Rule, compare};
use prony_analysis::figure::Figure;
use prony_analysis::look::Level;
use serde::Serialize;

use super::chance::Chance;
use super::trials::quantile;
use crate::median::real;

const DIFFERENCE: f64 = -0.03;
/// What a habit measures: five loads of 30 s of each.
pub(crate) const HABIT_S: f64 = 2.0 * 5.0 * 30.0;
const WINDOWS_S: [f64; 5] = [1.0, 2.0, 5.0, 10.0, 30.0];
pub(crate) const BLOCKS_MAX: usize = 40;
/// Start, check and stop of a server in a trial, as `--dry-run` forecasts them (`lab::bench`).
const BESIDE_S: f64 = 0.8;

/// A machine's noise, on logarithms of throughput.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    /// From one start of a server to the next.
    pub(crate) starts: f64,
    /// From one second of a trial to the next: of a window of w seconds √w times less.
    pub(crate) seconds: f64,
    /// From one block to the next, in both alike.
    pub(crate) blocks: f64,
}

/// A quiet machine; what issue 5 takes for one; one whose minutes are not alike.
pub(crate) const MACHINES: [Machine; 3] = [
    Machine { name: "quiet", starts: 0.005, seconds: 0.01, blocks: 0.01 },
    Machine { name: "usual", starts: 0.01, seconds: 0.03, blocks: 0.03 },
    Machine { name: "noisy", starts: 0.03, seconds: 0.05, blocks: 0.08 },
];

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SecondsRow {
    pub(crate) machine: String,
    pub(crate) window_s: f64,
    /// The fewest blocks that find it in 80 % of runs; `None` where [`BLOCKS_MAX`] do not.
    pub(crate) blocks: Option<usize>,
    /// How often these find it.
    pub(crate) found: f64,
    /// How often they name a winner between equals.
    pub(crate) wrong: f64,
    /// Windows, warm-ups, starts and stops of both.
    pub(crate) all_s: f64,
    /// The habit's 300 s over these.
    pub(crate) fewer: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct HabitRow {
    pub(crate) machine: String,
    /// How often the best of five of the faster one is better: it always names one.
    pub(crate) right: f64,
    /// The median of what it says the difference is, as a share off the true one.
    pub(crate) off: f64,
}

pub(crate) fn seconds(runs: u64, seed: u64) -> (Vec<SecondsRow>, Vec<HabitRow>) {
    let rows = MACHINES.iter().zip(seed..).flat_map(|(machine, seed)| {
        WINDOWS_S.iter().map(move |window| row(*machine, *window, runs, seed * 100))
    });
    let habits = MACHINES.iter().zip(seed..).map(|(machine, seed)| habit(*machine, runs, seed * 100 + 99));
    (rows.collect(), habits.collect())
}

fn row(machine: Machine, window_s: f64, runs: u64, seed: u64) -> SecondsRow {
    let share = |blocks: usize, difference: f64, seed: u64| {
        let found = |run: &u64| {
            let mut chance = Chance::of(seed, *run);
            let finding = settle(machine, window_s, blocks, difference, &mut chance);
            matches!(finding, Some(Finding::Slower))
                || (difference == 0.0 && finding == Some(Finding::Faster))
        };
        real((0..runs).filter(found).count() as u64) / real(runs.max(1))
    };
    let blocks = (2..=BLOCKS_MAX).find(|blocks| share(*blocks, DIFFERENCE, seed) >= super::FOUND_MIN);
    let used = blocks.unwrap_or(BLOCKS_MAX);
    let trial_s = window_s + (window_s / 10.0).min(3.0) + BESIDE_S;
    let all_s = 2.0 * used as f64 * trial_s;
    SecondsRow {
        machine: machine.name.to_owned(),
        window_s,
        blocks,
        // On other seeds than those that chose the number.
        found: share(used, DIFFERENCE, seed + 1),
        wrong: share(used, 0.0, seed + 2),
        all_s,
        fewer: HABIT_S / all_s,
    }
}

fn figure(machine: Machine, window_s: f64, level: f64, chance: &mut Chance) -> f64 {
    let noise = machine.starts * chance.normal() + machine.seconds / window_s.sqrt() * chance.normal();
    1000.0 * level * noise.exp()
}

fn settle(
    machine: Machine,
    window_s: f64,
    blocks: usize,
    difference: f64,
    chance: &mut Chance,
) -> Option<Finding> {
    let mut pairs = Vec::with_capacity(blocks);
    for _ in 0..blocks {
        let block = (machine.blocks * chance.normal()).exp();
        let a = figure(machine, window_s, block, chance);
        pairs.push((a, figure(machine, window_s, block * (1.0 + difference), chance)));
    }
    compare(&pairs, Rule::usual(Figure::THROUGHPUT), Level::look(1)).map(|c| c.finding)
}

/// All five of one, then all five of the other: each five share what a block has.
fn habit(machine: Machine, runs: u64, seed: u64) -> HabitRow {
    let mut off = Vec::new();
    for run in 0..runs {
        let mut chance = Chance::of(seed, run);
        let mut best = |level: f64| {
            let block = (machine.blocks * chance.normal()).exp();
            // One server process for all five, as the habit has it.
            let start = (machine.starts * chance.normal()).exp();
            let still = Machine { starts: 0.0, ..machine };
            (0..5).map(|_| figure(still, 30.0, level * block * start, &mut chance)).fold(0.0, f64::max)
        };
        let (a, b) = (best(1.0), best(1.0 + DIFFERENCE));
        off.push(b / a - 1.0);
    }
    let right = real(off.iter().filter(|d| **d < 0.0).count() as u64) / real(runs.max(1));
    let mut errors: Vec<f64> = off.iter().map(|d| (d - DIFFERENCE).abs()).collect();
    let median = quantile(&mut errors, 0.5);
    HabitRow { machine: machine.name.to_owned(), right, off: median }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_short_windows_decide_sooner_and_are_seldom_wrong() {
        let (rows, habits) = seconds(200, 1);
        for row in &rows {
            // 200 runs know a share to ±5 %.
            assert!(row.blocks.is_none() || row.found >= 0.70, "{row:?}");
            assert!(row.wrong <= 0.10, "{row:?}");
        }
        let best = |machine: &str| {
            let of = rows.iter().filter(|row| row.machine == machine && row.blocks.is_some());
            of.map(|row| row.fewer).fold(0.0, f64::max)
        };
        assert!(best("quiet") > best("usual") && best("usual") > best("noisy"), "{rows:?}");
        assert!(best("quiet") > 5.0, "{rows:?}");
        // Minutes that are not alike make the habit say anything.
        assert!(habits[2].right < habits[0].right && habits[2].off > 0.03, "{habits:?}");
    }
}
