//! The search for the highest level that a noisy yes-or-no test passes: by doubling and bisection to a bracket, then a
//! staircase about the edge (Dixon & Mood 1948, *A method for obtaining and analyzing sensitivity data*, JASA 43), and
//! one descending probe. Pure: the caller makes the probes, and fits the counts ([`crate::crossing`]).

use crate::real;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchPlan {
    pub start: f64,
    /// No level below this is tried, but for the first.
    pub lowest: f64,
    pub highest: f64,
    /// The staircase goes up and down by this share.
    pub step: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Twice the level before, until one fails.
    Doubling,
    /// Half the level before, until one passes: the first one failed.
    Halving,
    /// Between the highest that passed and the lowest that failed.
    Bisection,
    /// A step above the level before where that passed, else a step below.
    UpDown,
    /// Below the edge at once after an overload: what a server that has been pushed over its edge carries.
    Descending,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Doubling => "doubling",
            Phase::Halving => "halving",
            Phase::Bisection => "bisection",
            Phase::UpDown => "up_down",
            Phase::Descending => "descending",
        }
    }

    /// Its probes' length as a share of a whole one: a bracket need not be sure, since a staircase leaves a wrong one.
    pub fn length(self) -> f64 {
        match self {
            Phase::Doubling | Phase::Halving | Phase::Bisection => 0.5,
            Phase::UpDown => 0.75,
            Phase::Descending => 1.0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    pub level: f64,
    pub phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Passed,
    Failed,
    /// The instrument could not apply it: nothing is known of the level, nor of any above.
    OutOfReach,
}

/// A level is out of reach when the instrument could not apply it so often in a row.
const ATTEMPTS: u32 = 2;
const ATTEMPTS_BELOW_A_FAILURE: u32 = 4;

const UP_DOWN: usize = 24;
/// Steps that the bracket is wide at most: a tenth, at a step of 4 %.
const BRACKET_STEPS: f64 = 2.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// About where as many probes passed as failed; before the staircase the highest level that passed.
    pub level: f64,
    /// `None` where none did below the instrument's own limit (the answer is a lower bound).
    pub failed: Option<f64>,
    /// Whether the staircase was gone to its end.
    pub complete: bool,
    /// Whether a bracket's width below the level passed at once after an overload; `None` where nothing was overloaded.
    pub recovers: Option<bool>,
}

#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    passed: Option<f64>,
    failed: Option<f64>,
    /// The instrument's own limit, where it was met.
    reach: Option<f64>,
    missed: u32,
    /// The staircase: its levels, and whether each passed.
    stairs: Vec<(f64, bool)>,
    recovers: Option<bool>,
    pending: Option<Probe>,
}

impl Search {
    pub fn new(plan: SearchPlan) -> Search {
        Search {
            plan,
            passed: None,
            failed: None,
            reach: None,
            missed: 0,
            stairs: Vec::new(),
            recovers: None,
            pending: None,
        }
    }

    /// The next probe; `None` when the search is over.
    pub fn propose(&mut self) -> Option<Probe> {
        self.pending = self.choose();
        self.pending
    }

    fn bracket(&self) -> f64 {
        1.0 + BRACKET_STEPS * self.plan.step
    }

    fn choose(&self) -> Option<Probe> {
        let probe = |level, phase| Some(Probe { level, phase });
        let ceiling = self.reach.map_or(self.plan.highest, |reach| reach.min(self.plan.highest));
        let step = 1.0 + self.plan.step;
        match (self.passed, self.failed, self.stairs.last()) {
            (None, None, _) if self.reach.is_none() => probe(self.plan.start.min(ceiling), Phase::Doubling),
            (None, ..) => {
                let lowest_tried = self.failed.into_iter().chain(self.reach).fold(f64::INFINITY, f64::min);
                let level = lowest_tried / 2.0;
                (level >= self.plan.lowest).then_some(Probe { level, phase: Phase::Halving })
            }
            (Some(passed), None, _) => {
                let next = passed * 2.0;
                if passed * step >= ceiling {
                    return None;
                }
                // Against the instrument's limit, half the way at a time.
                match (next < ceiling, self.reach) {
                    (true, _) => probe(next, Phase::Doubling),
                    (false, None) => probe(ceiling, Phase::Bisection),
                    (false, Some(_)) => probe((passed * ceiling).sqrt(), Phase::Bisection),
                }
            }
            (Some(passed), Some(failed), None) => match self.reach.filter(|reach| *reach < failed) {
                // Where the instrument's limit is below the failure, that is how far can be seen.
                Some(reach) if reach <= passed * step => None,
                Some(reach) => probe((passed * reach).sqrt(), Phase::Bisection),
                None if failed > passed * self.bracket() => probe((passed * failed).sqrt(), Phase::Bisection),
                None => probe((passed * failed).sqrt(), Phase::UpDown),
            },
            (Some(_), Some(_), Some((level, passed))) if self.stairs.len() < UP_DOWN => {
                let next = if *passed { level * step } else { level / step };
                probe(next.clamp(self.plan.lowest, self.plan.highest), Phase::UpDown)
            }
            (Some(_), Some(_), Some(_)) if self.recovers.is_none() => {
                probe(self.middle().unwrap_or(self.plan.lowest) / self.bracket(), Phase::Descending)
            }
            (Some(_), Some(_), Some(_)) => None,
        }
    }

    /// The geometric mean of the staircase's levels from its first turn on.
    fn middle(&self) -> Option<f64> {
        let first = self.stairs.first()?.1;
        let turn = self.stairs.iter().position(|(_, passed)| *passed != first);
        let from = &self.stairs[turn.unwrap_or(self.stairs.len() - 1)..];
        Some((from.iter().map(|(level, _)| level.ln()).sum::<f64>() / real(from.len())).exp())
    }

    /// Takes in what the probe said that [`Search::propose`] gave last; other calls change nothing.
    pub fn take(&mut self, answer: Answer) {
        let Some(Probe { level, phase }) = self.pending.take() else { return };
        let in_bracket = !matches!(phase, Phase::UpDown | Phase::Descending);
        if answer == Answer::OutOfReach {
            self.missed += 1;
            // An instrument that was disturbed for a moment is asked again; more often where a level above was applied.
            let attempts = if self.failed.is_some() { ATTEMPTS_BELOW_A_FAILURE } else { ATTEMPTS };
            if self.missed < attempts && in_bracket {
                return;
            }
        }
        self.missed = 0;
        match (phase, answer) {
            (Phase::UpDown, _) => self.stairs.push((level, answer == Answer::Passed)),
            (Phase::Descending, _) => self.recovers = Some(answer == Answer::Passed),
            (_, Answer::Passed) => self.passed = Some(self.passed.map_or(level, |p| p.max(level))),
            (_, Answer::Failed) => self.failed = Some(self.failed.map_or(level, |f| f.min(level))),
            (_, Answer::OutOfReach) => self.reach = Some(self.reach.map_or(level, |r| r.min(level))),
        }
    }

    /// What was found so far; `None` where no level passed.
    pub fn found(&self) -> Option<Found> {
        let failed = self.failed.filter(|failed| self.reach.is_none_or(|reach| *failed <= reach));
        let (level, complete) = (self.middle().or(self.passed)?, self.stairs.len() >= UP_DOWN);
        Some(Found { level, failed, complete, recovers: self.recovers })
    }

    /// How many whole probes' time is left at most of this kind of search, were all of them to be made: for forecasts.
    pub fn probes_left(&self) -> f64 {
        let halves = |ratio: f64| (ratio.ln() / self.bracket().ln()).max(1.0).log2().ceil();
        let bracketing = match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => halves(failed / passed),
            _ => 3.0 + halves(2.0),
        };
        let end = if self.recovers.is_none() { Phase::Descending.length() } else { 0.0 };
        bracketing * Phase::Bisection.length()
            + real(UP_DOWN.saturating_sub(self.stairs.len())) * Phase::UpDown.length()
            + end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::crossing::{Counted, crossing};

    const COURSE: SearchPlan = SearchPlan { start: 100.0, lowest: 0.01, highest: 1e6, step: 0.04 };

    fn search(plan: SearchPlan, mut test: impl FnMut(Probe) -> Answer) -> (Vec<Probe>, Option<Found>) {
        let mut search = Search::new(plan);
        let mut probes = Vec::new();
        while let Some(probe) = search.propose() {
            probes.push(probe);
            search.take(test(probe));
            assert!(probes.len() < 200, "{probes:?}");
        }
        (probes, search.found())
    }

    fn edge(at: f64) -> impl FnMut(Probe) -> Answer {
        move |probe| if probe.level <= at { Answer::Passed } else { Answer::Failed }
    }

    proptest! {
        #[test]
        fn an_edge_is_found_within_a_step(at in 0.1_f64..900_000.0) {
            let (probes, found) = search(COURSE, edge(at));
            let found = found.unwrap();
            prop_assert!((found.level / at).ln().abs() < 1.04_f64.ln(), "{:?}", found);
            prop_assert!(found.complete && found.failed.unwrap() > at);
            prop_assert_eq!(found.recovers, Some(true));
            let stairs: Vec<f64> =
                probes.iter().filter(|p| p.phase == Phase::UpDown).map(|p| p.level).collect();
            prop_assert_eq!(stairs.len(), UP_DOWN);
            prop_assert!(stairs.windows(2).all(|of| ((of[1] / of[0]).ln().abs() - 1.04_f64.ln()).abs() < 1e-9));
            prop_assert_eq!(probes.last().map(|p| p.phase), Some(Phase::Descending));
            prop_assert!(probes.len() < 60);
        }

        /// Whatever a test answers, the search ends, and what it says was tried.
        #[test]
        fn a_search_ends_whatever_the_probes_answer(seed in proptest::collection::vec(0..3_u8, 200)) {
            let mut said = seed.into_iter();
            let (_, found) = search(COURSE, |_| match said.next() {
                Some(0) => Answer::Passed,
                Some(1) => Answer::OutOfReach,
                _ => Answer::Failed,
            });
            if let Some(found) = found {
                prop_assert!(found.level > 0.0 && found.level <= COURSE.highest);
                prop_assert!(found.failed.is_none_or(f64::is_finite));
            }
        }
    }

    #[test]
    fn without_a_failure_the_highest_level_is_a_lower_bound() {
        let (probes, found) = search(SearchPlan { highest: 1_000.0, ..COURSE }, |_| Answer::Passed);
        let bound = Found { level: 1_000.0, failed: None, complete: false, recovers: None };
        assert_eq!(found, Some(bound));
        let levels: Vec<f64> = probes.iter().map(|p| p.level).collect();
        assert_eq!(levels, [100.0, 200.0, 400.0, 800.0, 1_000.0]);
    }

    /// The instrument cannot apply what lies between the last level that passes and the first that fails.
    #[test]
    fn a_reach_below_the_edge_ends_the_search_with_a_bound() {
        for (reach, edge) in [(3_000.0, f64::INFINITY), (2_000.0, 3_000.0), (1_000.0, 1_300.0)] {
            let (probes, found) = search(COURSE, |probe| match probe.level {
                level if level > edge => Answer::Failed,
                level if level > reach => Answer::OutOfReach,
                _ => Answer::Passed,
            });
            let found = found.unwrap();
            assert!(found.level <= reach && found.level > reach / 1.05, "{found:?}");
            assert!(found.failed.is_none() && probes.len() < 60, "{found:?}");
        }
    }

    #[test]
    fn a_level_out_of_reach_once_is_tried_again() {
        let mut told = 0;
        let (_, found) = search(COURSE, |probe| {
            told += 1;
            match probe.level {
                _ if told % 3 == 0 => Answer::OutOfReach,
                level if level <= 1_000.0 => Answer::Passed,
                _ => Answer::Failed,
            }
        });
        let found = found.unwrap();
        assert!(found.complete && found.level > 900.0, "{found:?}");
    }

    /// A disturbance made a bracket far below the edge: the staircase leaves it.
    #[test]
    fn a_wrong_bracket_is_left() {
        let mut disturbed = 3;
        let (_, found) = search(COURSE, |probe| {
            disturbed -= i32::from(probe.level > 500.0 && disturbed > 0);
            let level = if disturbed > 0 { 500.0 } else { 1_000.0 };
            if probe.level <= level { Answer::Passed } else { Answer::Failed }
        });
        assert!((found.unwrap().level / 1_000.0).ln().abs() < 0.04, "{found:?}");
    }

    #[test]
    fn a_search_in_which_nothing_passes_finds_nothing() {
        let (probes, found) = search(COURSE, |_| Answer::Failed);
        assert_eq!(found, None);
        assert!(probes.len() < 20);
    }

    #[test]
    fn a_descending_probe_that_fails_means_no_recovery() {
        let (_, found) = search(COURSE, |probe| match probe.phase {
            Phase::Descending => Answer::Failed,
            _ if probe.level <= 500.0 => Answer::Passed,
            _ => Answer::Failed,
        });
        assert_eq!(found.unwrap().recovers, Some(false));
    }

    /// Uniform numbers of a seed (xorshift64*).
    struct Chance(u64);

    impl Chance {
        fn exponential(&mut self, per_s: f64) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let uniform = (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64;
            -(1.0 - uniform).ln() / per_s
        }
    }

    /// M/M/1, of 1,000 served a second, which begins empty: the requests of so many seconds, and those that took longer.
    fn queue(chance: &mut Chance, rate: f64, seconds: f64, limit_s: f64) -> Counted {
        let (mut due, mut free, mut counted) = (0.0, 0.0_f64, Counted { rate, beyond: 0.0, of: 0.0 });
        loop {
            due += chance.exponential(rate);
            if due >= seconds {
                return counted;
            }
            free = free.max(due) + chance.exponential(1_000.0);
            counted.of += 1.0;
            counted.beyond += f64::from(u8::from(free - due > limit_s));
        }
    }

    /// 100 searches for the rate at which 95 % take less than a limit: at 80 % of what the queue serves.
    #[test]
    fn a_capacity_s_interval_holds_the_truth_of_a_queue() {
        const ALLOWED: f64 = 0.05;
        let truth = 800.0;
        let limit_s = -ALLOWED.ln() / (1_000.0 - truth);
        let (mut printed, mut holds, mut widths, mut probes_time) = (0, 0, Vec::new(), 0.0);
        for seed in 1..=100_u64 {
            let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            let mut stairs = Vec::new();
            let (_, found) = search(COURSE, |probe| {
                probes_time += probe.phase.length();
                let seen = queue(&mut chance, probe.level, 4.0 * probe.phase.length(), limit_s);
                stairs.extend((probe.phase == Phase::UpDown).then_some(seen));
                if seen.beyond <= ALLOWED * seen.of { Answer::Passed } else { Answer::Failed }
            });
            assert!(found.unwrap().complete);
            let Some(found) = crossing(&stairs, ALLOWED) else { continue };
            let [low, high] = found.ci95;
            assert!(low < found.rate && found.rate < high);
            printed += 1;
            holds += u32::from(low <= truth && truth <= high);
            widths.push((high - low) / 2.0 / found.rate);
        }
        widths.sort_by(f64::total_cmp);
        assert!(printed >= 80 && 10 * holds >= 9 * printed, "{holds} of {printed}");
        assert!(widths[widths.len() / 2] <= 0.04, "{widths:?}");
        // The search before had 5 probes of doubling, 7 of bisection to 1 %, 3 of a confirmation and one descending.
        assert!(probes_time / 100.0 <= 1.5 * 16.0, "{probes_time}");
    }

    #[test]
    fn shares_that_tell_no_rate_have_no_crossing() {
        let load = |rate, beyond| Counted { rate, beyond, of: 1_000.0 };
        assert_eq!(crossing(&[load(900.0, 5.0), load(1_000.0, 10.0)], 0.01), None, "no degree of freedom");
        // A step: nothing below a rate, and everything beyond it at that rate alone.
        let step: Vec<Counted> = (0..24).map(|n| load([100.0, 104.0][n % 2], [0.0, 40.0][n % 2])).collect();
        assert_eq!(crossing(&step, 0.01), None);
        let flat: Vec<Counted> = (0..24).map(|n| load(100.0 + f64::from(n), f64::from(8 + n % 5))).collect();
        assert_eq!(crossing(&flat, 0.01), None, "it does not grow");
        let far: Vec<Counted> = (0..24).map(|n| load(100.0 + f64::from(n), f64::from(100 + n))).collect();
        assert_eq!(crossing(&far, 0.01), None, "beyond what was loaded");
        assert_eq!(crossing(&[load(f64::NAN, 0.0); 24], 0.01), None);
    }

    /// share = (rate / 1,000)^10, without noise: the fit is that line.
    #[test]
    fn a_share_that_grows_by_a_power_is_fitted_by_it() {
        let loads: Vec<Counted> = (0..24)
            .map(|n| 600.0 * 1.01_f64.powi(n))
            .map(|rate| Counted { rate, beyond: 1e5 * (rate / 1_000.0).powi(10), of: 1e5 })
            .collect();
        let found = crossing(&loads, 0.01).unwrap();
        assert!((found.rate / 1_000.0 * 0.01_f64.powf(-0.1) - 1.0).abs() < 1e-6, "{found:?}");
    }
}
