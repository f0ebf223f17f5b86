//! Rows of simulated runs: what happened in how many of them, held against what is promised of it.

use std::ops::Range;

use serde::Serialize;

use super::chance::Chance;
use super::on_all_cores;
use crate::median::{at_most, real};

/// What is promised of a share of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
    /// Shown, and promised nothing of.
    None,
}

/// Of no run at all.
pub(crate) const NEVER: Bar = Bar::AtMost(0.0);

pub(crate) struct Row {
    pub(crate) situation: String,
    pub(crate) counts: Vec<(&'static str, Bar)>,
    /// Whether a run takes so long that a tenth of them is played.
    pub(crate) long: bool,
    /// Makes what plays some runs, one after the other.
    pub(crate) player: Box<dyn Fn() -> Player + Sync>,
}

pub(crate) type Player = Box<dyn FnMut(&mut Chance, &mut Tally)>;

impl Row {
    pub(crate) fn new(
        situation: impl Into<String>,
        counts: &[(&'static str, Bar)],
        player: impl Fn() -> Player + Sync + 'static,
    ) -> Row {
        Row { situation: situation.into(), counts: counts.to_vec(), long: false, player: Box::new(player) }
    }

    /// Of runs that take long.
    pub(crate) fn long(self) -> Row {
        Row { long: true, ..self }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Vec<(u64, u64)>);

impl Tally {
    /// One more in which the `at`th could happen, and whether it did.
    pub(crate) fn count(&mut self, at: usize, happened: bool) {
        self.add(at, u64::from(happened), 1);
    }

    pub(crate) fn add(&mut self, at: usize, count: u64, of: u64) {
        if self.0.len() <= at {
            self.0.resize(at + 1, (0, 0));
        }
        self.0[at].0 += count;
        self.0[at].1 += of;
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Counted {
    pub(crate) situation: String,
    pub(crate) what: &'static str,
    /// The runs in which it could have happened.
    pub(crate) runs: u64,
    pub(crate) count: u64,
    pub(crate) bar: Bar,
}

/// A count misses its bar where it would be so far off in under 1 % of cases at exactly the bar.
pub(crate) const BEYOND_CHANCE: f64 = 0.01;

/// Runs are played in so many parts, so that all cores have some.
const PARTS: u64 = 8;

/// Plays each row, `runs` times or a tenth of that. A row's seed is `base` and its place among all, so that rows
/// without `word` may be left out.
pub(crate) fn play(rows: &[Row], runs: u64, base: u64, word: &str) -> Vec<Counted> {
    let chosen = rows.iter().enumerate().filter(|(_, row)| row.situation.contains(word));
    let parts: Vec<(usize, Range<u64>)> = chosen
        .flat_map(|(at, row)| {
            let runs = if row.long { runs.div_ceil(10) } else { runs };
            (0..PARTS).map(move |part| (at, part * runs / PARTS..(part + 1) * runs / PARTS))
        })
        .collect();
    let tallies = on_all_cores(&parts, |(at, runs)| {
        let (mut tally, mut player) = (Tally::default(), (rows[*at].player)());
        runs.clone().for_each(|run| player(&mut Chance::of(base + *at as u64, run), &mut tally));
        tally
    });
    let mut counted: Vec<Counted> = Vec::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.situation.contains(word)) {
        counted.extend(row.counts.iter().enumerate().map(|(i, (what, bar))| {
            let own = parts.iter().zip(&tallies).filter(|((of, _), _)| *of == at);
            let (count, runs) = own
                .filter_map(|(_, tally)| tally.0.get(i))
                .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            Counted { situation: row.situation.clone(), what, runs, count, bar: *bar }
        }));
    }
    counted
}

impl Counted {
    pub(crate) fn share(&self) -> f64 {
        real(self.count) / real(self.runs.max(1))
    }

    pub(crate) fn named(&self) -> String {
        format!("{}: {}: {:.1} % of {}", self.situation, self.what, self.share() * 100.0, self.runs)
    }

    /// Whether the bar is missed by more than chance explains. A row that counted no run at all has shown nothing.
    pub(crate) fn is_missed(&self) -> bool {
        self.is_missed_at(BEYOND_CHANCE)
    }

    /// The same with another share of cases.
    pub(crate) fn is_missed_at(&self, beyond: f64) -> bool {
        let at_most = |k: u64, p: f64| at_most(k, self.runs, p);
        match self.bar {
            Bar::None => false,
            _ if self.runs == 0 => true,
            Bar::AtLeast(p) => at_most(self.count, p) < beyond,
            Bar::AtMost(p) => self.count > 0 && 1.0 - at_most(self.count - 1, p) < beyond,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_misses_its_bar_only_beyond_chance() {
        let of = |count, runs, bar| Counted { situation: String::new(), what: "", runs, count, bar };
        // Of 20,000 at 5 %: 1,000 ± 31, and 1 % beyond 1,072.
        assert!(!of(1_070, 20_000, Bar::AtMost(0.05)).is_missed());
        assert!(of(1_076, 20_000, Bar::AtMost(0.05)).is_missed());
        assert!(!of(18_600, 20_000, Bar::AtLeast(0.93)).is_missed());
        assert!(of(18_500, 20_000, Bar::AtLeast(0.93)).is_missed());
        assert!(of(1, 20_000, NEVER).is_missed() && !of(0, 20_000, NEVER).is_missed());
        assert!(
            !of(0, 20_000, Bar::AtMost(0.05)).is_missed() && of(0, 20_000, Bar::AtLeast(0.05)).is_missed()
        );
        assert!(of(0, 0, Bar::AtMost(0.05)).is_missed() && !of(0, 0, Bar::None).is_missed());
        assert!((at_most(2, 10, 0.5) - 56.0 / 1024.0).abs() < 1e-12);
    }

    #[test]
    fn runs_are_played_once_each_however_they_are_divided() {
        let row = || {
            Row::new("heads", &[("heads", Bar::None), ("tails", Bar::None)], || {
                Box::new(|chance, tally| {
                    let heads = chance.uniform() < 0.3;
                    tally.count(0, heads);
                    tally.count(1, !heads);
                })
            })
        };
        let counted = play(&[row(), row().long()], 1_003, 7, "");
        let runs: Vec<u64> = counted.iter().map(|one| one.runs).collect();
        assert_eq!(runs, [1_003, 1_003, 101, 101]);
        assert_eq!(counted[0].count + counted[1].count, 1_003);
        let alone = (0..1_003).filter(|run| Chance::of(7, *run).uniform() < 0.3).count();
        assert_eq!(counted[0].count, alone as u64);
        assert_eq!(play(&[row()], 10, 7, "nothing"), []);
    }
}
