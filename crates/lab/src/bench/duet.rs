//! A run in duets: two candidates at once, each in a place of its own, then with places changed.
//!
//! What the machine does beside them (a neighbour, its clock, its heat) it does to both in the same
//! second, so that their ratio does not have it. Source: Bulej et al. (2020), *Duet benchmarking:
//! improving measurement accuracy in the cloud*, ICPE. The places change because they are not equal
//! either. docs/decisions/0017 has what is decided where there are few CPUs, and why not for maxima.

use std::thread;
use std::time::Instant;

use prony_host::pins::{PinnedProcess, Pins};
use prony_load::{Control, LoadError, Snapshot};
use prony_model::duet::DuetShared;
use prony_model::run_log::{Line, PlannedTrial, RawResult};
use prony_model::{Measurement, Plan};

use super::loaded::{Known, Loaded, Watching};
use super::runner::{self, Runner};
use super::trial::{self, Ended, Up, asked_for};
use super::{BenchError, BenchEvent, BenchOutcome, BenchSetup, Interrupt};
use crate::supervise::Running;

/// What applies loads from several threads: [`prony_load::run`], or a test's stand-in.
pub type SharedLoader<'a> =
    dyn Fn(&Plan, &Control, &mut dyn FnMut(&Snapshot)) -> Result<Measurement, LoadError> + Sync + 'a;

/// As [`run`](super::run), with both candidates of a setup that has [`BenchSetup::duet`] at once.
///
/// # Errors
/// As [`run`](super::run).
pub fn run_duets(
    setup: &BenchSetup,
    load: &SharedLoader<'_>,
    interrupt: &Interrupt,
    events: &mut dyn FnMut(&BenchEvent<'_>),
) -> Result<BenchOutcome, BenchError> {
    let (left, mut writer, known) = runner::open(setup, events)?;
    let mut append = |line: Line| writer.append(line);
    let mut one =
        |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| load(plan, control, observe);
    let mut runner = Runner::new(setup, &mut one, interrupt, events, &mut append);
    runner.knows(known);
    runner.together = Some(load);
    runner.run_duets(&left, setup.resume)
}

/// One candidate in its place, up.
struct Voice<'a> {
    planned: &'a PlannedTrial,
    pins: &'a Pins,
    up: Up,
    load: Plan,
    recycles: bool,
}

impl Runner<'_> {
    /// Runs the trials that are left, in pairs that stand together.
    fn run_duets(mut self, left: &[PlannedTrial], resumed: bool) -> Result<BenchOutcome, BenchError> {
        let _pinned = PinnedProcess::to(&self.setup.pins.client);
        self.opens(left, resumed)?;
        let mut block = None;
        for (at, pair) in left.chunks_exact(2).enumerate() {
            if self.interrupt.asked() {
                return self.interrupted();
            }
            // Of a duet one voice is none.
            if pair.iter().any(|planned| self.void.contains(&planned.candidate)) {
                continue;
            }
            if block != Some(pair[0].block) {
                block = Some(pair[0].block);
                if let Some(end) = self.ends_before(pair[0].block, &left[2 * at..])? {
                    return Ok(self.outcome(end));
                }
            }
            if !self.half([&pair[0], &pair[1]], &left[2 * at..])? {
                return self.interrupted();
            }
        }
        self.finished(left)
    }

    /// Runs and records half a block; false when somebody asked to end.
    fn half(&mut self, pair: [&PlannedTrial; 2], left: &[PlannedTrial]) -> Result<bool, BenchError> {
        let started = Instant::now();
        for planned in pair {
            self.begins(planned, left)?;
        }
        let ended = self.both(pair)?;
        // Two trials in one's time.
        pair.iter().for_each(|planned| self.budget.took(&planned.plan, started.elapsed() / 2));
        let mut goes_on = true;
        for ((at, planned), (ended, leftovers)) in pair.into_iter().enumerate().zip(ended) {
            self.leftovers.extend(leftovers);
            goes_on &= self.ended(planned, ended, &left[at + 1..])?;
        }
        if pair.iter().any(|planned| self.void.contains(&planned.candidate)) {
            self.void.extend(pair.map(|planned| planned.candidate.clone()));
        }
        Ok(goes_on)
    }

    /// Both up, loaded at once, and down: how each ended, and what it left.
    fn both(&mut self, pair: [&PlannedTrial; 2]) -> Result<[(Ended, Vec<String>); 2], BenchError> {
        let setup = self.setup;
        let Some(places) = &setup.duet else {
            let why = || (Ended::NotStarted("This run has no places for two.".to_owned()), Vec::new());
            return Ok([why(), why()]);
        };
        let mut left = match self.voice(pair[0], &places.left)? {
            Ok(voice) => voice,
            Err(ended) => return Ok(alone(ended, pair[0], pair[1])),
        };
        let mut right = match self.voice(pair[1], &places.right)? {
            Ok(voice) => voice,
            Err(ended) => {
                self.down(pair[0], &mut left.up)?;
                let [right, left] = alone(ended, pair[1], pair[0]);
                return Ok([left, right]);
            }
        };
        let (mut of_left, mut of_right) = self.sing(&mut left, &mut right);
        // Known of both before either is taken down.
        for (voice, loaded) in [(&mut left, &mut of_left), (&mut right, &mut of_right)] {
            let died = || voice.up.running.as_mut().and_then(Running::died);
            loaded.death = loaded.death.take().or_else(died);
        }
        let dead = of_left.death.is_some() || of_right.death.is_some();
        let left = self.ended_voice(left, of_left, pair[1], dead, places.shared)?;
        let left = (left, std::mem::take(&mut self.leftovers));
        let right = self.ended_voice(right, of_right, pair[0], dead, places.shared)?;
        Ok([left, (right, std::mem::take(&mut self.leftovers))])
    }

    /// A candidate, up in its place.
    fn voice<'p>(
        &mut self,
        planned: &'p PlannedTrial,
        pins: &'p Pins,
    ) -> Result<Result<Voice<'p>, Ended>, BenchError> {
        let (c, plan) = match asked_for(self.setup, planned) {
            Ok(found) => found,
            Err(why) => return Ok(Err(Ended::NotStarted(why))),
        };
        let recycles = c.candidate.recycles();
        let ready = self.come_up(c, plan, pins)?;
        Ok(ready.map(|(up, load)| Voice { planned, pins, up, load, recycles }))
    }

    /// Loads both from the same instant on. Where one's server dies, both loads end.
    fn sing(&mut self, left: &mut Voice<'_>, right: &mut Voice<'_>) -> (Loaded, Loaded) {
        let control = self.interrupt.control_of_two();
        let load_time = left.load.warmup + left.load.stop.duration.unwrap_or_default();
        let Some(load) = self.together else {
            // Only `run_duets` comes here, which has one.
            let none = || Loaded::nothing(LoadError::Internal("nothing loads two at once".to_owned()));
            return (none(), none());
        };
        let tell = &mut *self.tell;
        let planned = left.planned;
        let begun = Instant::now();
        let sung = thread::scope(|scope| {
            let beside = control.clone();
            let named = thread::Builder::new().name("duet".to_owned());
            let beside = match named.spawn_scoped(scope, move || right.sing(load, &beside, &mut |_| ())) {
                Ok(thread) => thread,
                Err(why) => {
                    let why = LoadError::System("starting a thread for the other load", why);
                    return (Loaded::nothing(LoadError::Interrupted), Loaded::nothing(why));
                }
            };
            let left = left.sing(load, &control, &mut |snapshot| {
                tell(&BenchEvent::Load { planned, snapshot, load_time });
            });
            let fault = || LoadError::Internal("a load's thread panicked: please report this".to_owned());
            (left, beside.join().unwrap_or_else(|_| Loaded::nothing(fault())))
        });
        self.under_load += begun.elapsed();
        sung
    }

    /// Takes a server down, and says how its trial ended.
    fn ended_voice(
        &mut self,
        voice: Voice<'_>,
        loaded: Loaded,
        other: &PlannedTrial,
        one_died: bool,
        shared: DuetShared,
    ) -> Result<Ended, BenchError> {
        let Voice { planned, pins, mut up, load, recycles } = voice;
        let died_itself = loaded.death.is_some();
        let (setup, candidate) = (self.setup, planned.candidate.as_str());
        let startup = up.running.as_ref().map(Running::startup).unwrap_or_default();
        let known = Known { setup, candidate, recycles, pins, startup, shared };
        let (observed, death) = loaded.observed(&load, &known);
        self.down(planned, &mut up)?;
        let mut ended = trial::ended(planned, observed, death);
        if let Ended::Interrupted(_) = &ended
            && !self.interrupt.asked()
        {
            // Not by anybody's wish: the one beside it ended, and half a duet is none.
            let why = if one_died && !died_itself { "died" } else { "could not be loaded" };
            ended =
                no_duet(planned, format!("Not measured: {}, beside it in the duet, {why}.", other.candidate));
        }
        Ok(ended)
    }
}

impl Voice<'_> {
    /// Applies its load, watching its server and its CPUs.
    fn sing(
        &mut self,
        load: &SharedLoader<'_>,
        control: &Control,
        tell: &mut dyn FnMut(&Snapshot),
    ) -> Loaded {
        let running = self.up.running.as_mut();
        let watched = running.as_ref().map(|running| running.watched());
        Watching { running, watched, pins: self.pins, alone: false }
            .apply(control, tell, |look| load(&self.load, control, look))
    }
}

/// One did not come up, so that the other was not measured either.
fn alone(ended: Ended, one: &PlannedTrial, other: &PlannedTrial) -> [(Ended, Vec<String>); 2] {
    let beside = match &ended {
        Ended::Interrupted(_) => Ended::Interrupted(None),
        _ => no_duet(
            other,
            format!("Not measured: {}, beside it in the duet, did not come up.", one.candidate),
        ),
    };
    [(ended, Vec::new()), (beside, Vec::new())]
}

fn no_duet(planned: &PlannedTrial, why: String) -> Ended {
    Ended::Result(Box::new(RawResult::failed(planned.clone(), why)))
}
