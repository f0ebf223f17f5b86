//! The search for the highest level that a noisy yes-or-no test passes: by
//! doubling, bisection, confirmation and one descending probe.
//!
//! Pure: the caller makes the probes. A level is a rate, in whatever unit.

/// How a search goes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchPlan {
    /// The first level that is tried.
    pub start: f64,
    /// No level below this is tried, but for the first.
    pub lowest: f64,
    /// No level above this is tried.
    pub highest: f64,
    /// The search ends when the lowest level that failed is within this share of the highest that passed.
    pub resolution: f64,
    /// How many confirmations may fail, each of which takes the answer one resolution down.
    pub retreats: u32,
}

/// Which part of the search a probe belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Twice the level before, until one fails.
    Doubling,
    /// Half the level before, until one passes: the first one failed.
    Halving,
    /// Between the highest that passed and the lowest that failed.
    Bisection,
    /// The answer once more, for longer.
    Confirmation,
    /// The answer at once after an overload: what a server that has been pushed over its edge carries.
    Descending,
}

impl Phase {
    /// The word for it in records.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Doubling => "doubling",
            Phase::Halving => "halving",
            Phase::Bisection => "bisection",
            Phase::Confirmation => "confirmation",
            Phase::Descending => "descending",
        }
    }
}

/// What is to be tried next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// The level.
    pub level: f64,
    /// Why.
    pub phase: Phase,
}

/// What a probe said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The level is sustained.
    Passed,
    /// It is not.
    Failed,
    /// The instrument could not apply it: nothing is known of the level, nor of any above.
    OutOfReach,
}

/// A level is out of reach when the instrument could not apply it so often in a row.
const ATTEMPTS: u32 = 2;
const ATTEMPTS_BELOW_A_FAILURE: u32 = 4;

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The highest level that passed, or one resolution below the last confirmation that failed.
    pub level: f64,
    /// Whether a confirmation passed at the level; else as many failed as may, or the search was ended before one.
    pub upheld: bool,
    /// The lowest level that failed; `None` where none did below the instrument's own limit (the answer is a
    /// lower bound).
    pub failed: Option<f64>,
    /// Whether the level passed at once after an overload; `None` where nothing was overloaded.
    pub recovers: Option<bool>,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    passed: Option<f64>,
    failed: Option<f64>,
    /// The instrument's own limit, where it was met.
    reach: Option<f64>,
    /// No more confirmations: one passed, or as many failed as may.
    confirmed: bool,
    /// How often the level that is tried was out of reach in a row.
    missed: u32,
    /// One passed.
    upheld: bool,
    retreats: u32,
    recovers: Option<bool>,
    pending: Option<Probe>,
}

impl Search {
    /// Begins.
    pub fn new(plan: SearchPlan) -> Search {
        Search {
            plan,
            passed: None,
            failed: None,
            reach: None,
            confirmed: false,
            missed: 0,
            upheld: false,
            retreats: 0,
            recovers: None,
            pending: None,
        }
    }

    /// The next probe; `None` when the search is over.
    pub fn propose(&mut self) -> Option<Probe> {
        self.pending = self.choose();
        self.pending
    }

    fn choose(&self) -> Option<Probe> {
        let probe = |level, phase| Some(Probe { level, phase });
        let ceiling = self.reach.map_or(self.plan.highest, |reach| reach.min(self.plan.highest));
        match (self.passed, self.failed) {
            (None, None) if self.reach.is_none() => probe(self.plan.start.min(ceiling), Phase::Doubling),
            (None, _) => {
                let lowest_tried = self.failed.into_iter().chain(self.reach).fold(f64::INFINITY, f64::min);
                let level = lowest_tried / 2.0;
                (level >= self.plan.lowest).then_some(Probe { level, phase: Phase::Halving })
            }
            (Some(passed), None) => {
                let next = passed * 2.0;
                if passed * (1.0 + self.plan.resolution) < ceiling {
                    // Against the instrument's limit, half the way at a time.
                    let phase = if next < ceiling { Phase::Doubling } else { Phase::Bisection };
                    let level = if next < ceiling || self.reach.is_none() {
                        next.min(ceiling)
                    } else {
                        (passed * ceiling).sqrt()
                    };
                    return probe(level, phase);
                }
                if self.confirmed { None } else { probe(passed, Phase::Confirmation) }
            }
            (Some(passed), Some(failed)) => {
                // Where the instrument's limit is below the failure, that is how far can be seen.
                let edge = self.reach.map_or(failed, |reach| reach.min(failed));
                if edge > passed * (1.0 + self.plan.resolution) {
                    return probe((passed * edge).sqrt(), Phase::Bisection);
                }
                if !self.confirmed {
                    return probe(passed, Phase::Confirmation);
                }
                if self.recovers.is_none() { probe(passed, Phase::Descending) } else { None }
            }
        }
    }

    /// Takes in what the probe said that [`Search::propose`] gave last; other calls change nothing.
    pub fn take(&mut self, answer: Answer) {
        let Some(Probe { level, phase }) = self.pending.take() else { return };
        if answer == Answer::OutOfReach {
            self.missed += 1;
            // An instrument that was disturbed for a moment is asked again; more often where a level above was applied.
            let attempts = if self.failed.is_some() { ATTEMPTS_BELOW_A_FAILURE } else { ATTEMPTS };
            if self.missed < attempts && phase != Phase::Descending {
                return;
            }
        }
        self.missed = 0;
        match (phase, answer) {
            (Phase::Confirmation, Answer::Passed) => {
                self.confirmed = true;
                self.upheld = true;
            }
            (Phase::Confirmation, answer) => {
                // After so many retreats the edge is too unsteady to be told better: the last one stands.
                self.confirmed = self.retreats >= self.plan.retreats;
                self.retreats += 1;
                self.passed = Some(level / (1.0 + self.plan.resolution));
                let edge = if answer == Answer::Failed { &mut self.failed } else { &mut self.reach };
                *edge = Some(edge.map_or(level, |known| known.min(level)));
            }
            (Phase::Descending, Answer::Passed) => self.recovers = Some(true),
            (Phase::Descending, _) => self.recovers = Some(false),
            (_, Answer::Passed) => self.passed = Some(self.passed.map_or(level, |p| p.max(level))),
            (_, Answer::Failed) => self.failed = Some(self.failed.map_or(level, |f| f.min(level))),
            (_, Answer::OutOfReach) => self.reach = Some(self.reach.map_or(level, |r| r.min(level))),
        }
    }

    /// What was found so far; `None` where no level passed.
    pub fn found(&self) -> Option<Found> {
        let failed = self.failed.filter(|failed| self.reach.is_none_or(|reach| *failed <= reach));
        Some(Found { level: self.passed?, upheld: self.upheld, failed, recovers: self.recovers })
    }

    /// How many probes are left at most of this kind of search, were all of them to be made: for forecasts.
    pub fn probes_left(&self) -> u32 {
        let between = |low: f64, high: f64| {
            let halves = ((high / low).ln() / self.plan.resolution.ln_1p()).max(1.0).log2().ceil();
            halves.max(0.0) as u32
        };
        let end = u32::from(!self.confirmed) + u32::from(self.recovers.is_none());
        match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => between(passed, failed) + end,
            _ => 3 + between(1.0, 2.0) + end,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COURSE: SearchPlan =
        SearchPlan { start: 100.0, lowest: 0.01, highest: 1e6, resolution: 0.01, retreats: 3 };

    /// Runs a search against a known edge; levels and what was found.
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
        fn an_edge_is_found_within_the_resolution(at in 0.1_f64..900_000.0) {
            let (probes, found) = search(COURSE, edge(at));
            let found = found.unwrap();
            prop_assert!(found.level <= at && found.failed.unwrap() > at);
            prop_assert!(found.failed.unwrap() <= found.level * 1.01 * (1.0 + 1e-9));
            prop_assert_eq!(found.recovers, Some(true));
            prop_assert!(probes.len() < 40);
            let last: Vec<Phase> = probes.iter().rev().take(2).map(|p| p.phase).collect();
            prop_assert_eq!(last, vec![Phase::Descending, Phase::Confirmation]);
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
        assert_eq!(found, Some(Found { level: 1_000.0, upheld: true, failed: None, recovers: None }));
        let levels: Vec<f64> = probes.iter().map(|p| p.level).collect();
        assert_eq!(levels, [100.0, 200.0, 400.0, 800.0, 1_000.0, 1_000.0]);
        assert_eq!(probes.last().map(|p| p.phase), Some(Phase::Confirmation));
    }

    #[test]
    fn a_level_out_of_reach_is_not_a_failure() {
        let reach = 3_000.0;
        let (_, found) =
            search(COURSE, |p| if p.level > reach { Answer::OutOfReach } else { Answer::Passed });
        let found = found.unwrap();
        assert!(found.failed.is_none() && found.level <= reach && found.level > reach / 1.02, "{found:?}");
    }

    /// The instrument cannot apply what lies between the last level that passes and the first that fails.
    #[test]
    fn a_reach_below_the_edge_ends_the_search_with_a_bound() {
        for (reach, edge) in [(2_000.0, 3_000.0), (1_000.0, 1_005.0), (1_590.0, 1_601.0)] {
            let (_, found) = search(COURSE, |probe| match probe.level {
                level if level > edge => Answer::Failed,
                level if level > reach => Answer::OutOfReach,
                _ => Answer::Passed,
            });
            let found = found.unwrap();
            assert!(found.level <= reach && found.level > reach / 1.02, "{found:?}");
            assert!(found.failed.is_none_or(|failed| failed <= reach * 1.02), "{found:?}");
        }
        // A confirmation that the instrument cannot apply, each time.
        let (probes, found) = search(COURSE, |probe| match probe.phase {
            Phase::Confirmation => Answer::OutOfReach,
            _ if probe.level <= 1_000.0 => Answer::Passed,
            _ => Answer::Failed,
        });
        assert!(probes.len() < 60, "{probes:?}");
        assert!(!found.unwrap().upheld);
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
        assert!(found.level > 990.0 && found.failed.is_some_and(|failed| failed > 1_000.0), "{found:?}");
    }

    #[test]
    fn a_level_that_no_confirmation_upholds_is_not_upheld() {
        let (_, found) = search(COURSE, |probe| match probe.phase {
            Phase::Confirmation => Answer::Failed,
            _ if probe.level <= 1_000.0 => Answer::Passed,
            _ => Answer::Failed,
        });
        let found = found.unwrap();
        assert!(!found.upheld && found.failed.is_some(), "{found:?}");
        let (_, found) = search(COURSE, edge(1_000.0));
        assert!(found.unwrap().upheld);
    }

    #[test]
    fn a_confirmation_that_fails_lowers_the_level_by_one_resolution() {
        let mut confirmations = 0;
        let (_, found) = search(COURSE, |probe| {
            if probe.phase == Phase::Confirmation {
                confirmations += 1;
                return if confirmations < 3 { Answer::Failed } else { Answer::Passed };
            }
            if probe.level <= 1_000.0 { Answer::Passed } else { Answer::Failed }
        });
        let found = found.unwrap();
        assert_eq!(confirmations, 3);
        assert!(found.level < 1_000.0 / 1.009 && found.level > 1_000.0 / 1.04, "{found:?}");
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
}
