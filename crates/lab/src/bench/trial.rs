//! One trial: server up, checked, loaded and sampled, server down.

use std::time::Duration;

use prony_host::Beside;
use prony_host::pins::Pins;
use prony_load::{LoadError, Snapshot};
use prony_model::Plan;
use prony_model::observed::Observed;
use prony_model::run_log::{EventKind, PlannedTrial, RawResult};
use prony_model::units::show_duration;

use super::header::workers;
use super::loaded::Side;
use super::request_spec::{self, Endpoint};
use super::runner::Runner;
use super::start::{NotUp, start};
use super::up::Up;
use super::{BenchCandidate, BenchError, BenchEvent, BenchSetup};
use crate::experiment::ExperimentPlan;

/// A planned trial, and what it is of.
#[derive(Clone, Copy)]
pub(super) struct Trial<'a> {
    pub(super) planned: &'a PlannedTrial,
    /// The candidate's place among the setup's.
    pub(super) number: usize,
    pub(super) candidate: &'a BenchCandidate,
    plan: &'a ExperimentPlan,
}

pub(super) enum TrialEnd {
    /// With a result, whatever it says.
    Result(Box<RawResult>),
    /// Its server did not start.
    NotStarted(String),
    /// Its server failed the full check.
    CheckFailed(String),
    /// Somebody asked to end; what was measured until then.
    Interrupted(Option<Box<RawResult>>),
    /// The run cannot go on.
    Broken(BenchError),
}

impl From<BenchError> for TrialEnd {
    fn from(why: BenchError) -> TrialEnd {
        TrialEnd::Broken(why)
    }
}

impl<'a> Trial<'a> {
    /// `None` where the setup has no such candidate or plan.
    pub(super) fn of(setup: &'a BenchSetup, planned: &'a PlannedTrial) -> Option<Trial<'a>> {
        let number = setup.candidates.iter().position(|c| c.candidate.label() == planned.candidate)?;
        let plan = setup.experiment.plans.iter().find(|plan| plan.name == planned.plan)?;
        Some(Trial { planned, number, candidate: &setup.candidates[number], plan })
    }

    /// How long its load takes.
    pub(super) fn load_time(&self) -> Duration {
        self.plan.load_time()
    }

    /// Whether it is run: its candidate speaks what its plan asks for, and of a search there is no control.
    pub(super) fn is_run(&self) -> bool {
        let is_of_loads = self.planned.control.is_none() || self.plan.capacity.is_none();
        is_of_loads && self.candidate.candidate.speaks(self.plan.load.protocol)
    }

    /// It was not measured, and why.
    pub(super) fn failed(&self, why: String) -> TrialEnd {
        TrialEnd::Result(Box::new(RawResult::failed(self.planned.clone(), why)))
    }

    /// How it ended, of one load, whose server is down.
    pub(super) fn ended(&self, observed: Result<Observed, LoadError>, death: Option<String>) -> TrialEnd {
        let observed = match observed {
            Ok(observed) => observed,
            Err(why) => return self.not_loaded(&why, death),
        };
        let (interrupted, planned) = (observed.interrupted(), self.planned.clone());
        let raw = RawResult { planned, observed: Some(observed), failure: None, capacity: None };
        if interrupted { TrialEnd::Interrupted(Some(Box::new(raw))) } else { TrialEnd::Result(Box::new(raw)) }
    }

    /// How it ended without a measurement, because of its server's death where that is known. Agents that cannot load a server
    /// that lives cannot load the next one either: the run ends, so that it can go on once they can.
    pub(super) fn not_loaded(&self, why: &LoadError, death: Option<String>) -> TrialEnd {
        match (why, death) {
            (_, Some(death)) => self.failed(death),
            (LoadError::Interrupted, None) => TrialEnd::Interrupted(None),
            (LoadError::Fleet(why) | LoadError::AgentLost(why), None) => {
                TrialEnd::Broken(BenchError::Fleet(why.clone()))
            }
            (why, None) => self.failed(why.to_string()),
        }
    }
}

impl Runner<'_> {
    /// Runs one trial. When it returns, its server is down.
    pub(super) fn trial(&mut self, trial: Trial<'_>) -> TrialEnd {
        self.measure(trial).unwrap_or_else(|ended| ended)
    }

    fn measure(&mut self, trial: Trial<'_>) -> Result<TrialEnd, TrialEnd> {
        let setup = self.setup;
        let rate = |share| self.capacities.rate(&setup.experiment, trial.plan, share);
        let rate = trial.plan.share.as_ref().map(rate).transpose().map_err(|why| trial.failed(why))?;
        let (side, mut load) = self.come_up(trial, &setup.pins)?;
        self.quiet.wait(&setup.used_here(&setup.pins), &|| self.interrupt.asked());
        if let Some(rate) = rate {
            load.arrivals = load.arrivals.at(rate);
        }
        Ok(match &trial.plan.capacity {
            Some(slos) => self.search(trial, slos, load, side)?,
            None => self.load_once(trial, &load, side)?,
        })
    }

    /// Brings a candidate up on these CPUs, checked; with it the load that is aimed at it.
    pub(super) fn come_up<'t>(
        &mut self,
        trial: Trial<'t>,
        pins: &'t Pins,
    ) -> Result<(Side<'t>, Plan), TrialEnd>
    where
        Self: 't,
    {
        let (setup, candidate) = (self.setup, &trial.candidate.candidate);
        // Of a server that was there before, its own work would be another program's.
        let before = candidate.as_url().is_none().then(Beside::read);
        let (spec, protocol) = (&self.states[trial.number].spec, trial.plan.load.protocol);
        let (running, endpoint) = match candidate.as_url() {
            Some(url) => {
                let there = spec.endpoint(url.clone(), trial.plan.load.unix.clone(), None, protocol);
                let there = there
                    .and_then(|endpoint| spec.ready(&endpoint).map(|()| endpoint).map_err(|not| not.why));
                (None, there.map_err(TrialEnd::NotStarted)?)
            }
            None => {
                let (running, endpoint) = self.start(trial, pins)?;
                (Some(running), endpoint)
            }
        };
        let state = &mut self.states[trial.number];
        if !state.checked.contains(&protocol) {
            let report = state.spec.check(&endpoint, workers(trial.candidate, Some(trial.plan), setup));
            if !report.passed() {
                return Err(TrialEnd::CheckFailed(request_spec::failures(candidate.label(), &report)));
            }
            state.checked.push(protocol);
            // Of commands and URLs there is nothing to tell but that they answered.
            if let Some(sleep) = report.sleep {
                let text = format!("responds as every server of this run must; GET /sleep: {sleep}.");
                self.of_candidate(EventKind::Checked, candidate.label(), &text, Some(sleep))?;
            }
        }
        let spec = &self.states[trial.number].spec;
        let (target, block) = (endpoint.target.clone(), trial.planned.block);
        let load = spec.plan(trial.plan, target, &pins.client, &setup.experiment, block);
        let load = endpoint.reached_by(load);
        let side = Side {
            setup,
            candidate: candidate.label(),
            recycles: candidate.recycles(),
            pins,
            watched: running.as_ref().map(Up::sampled).or_else(|| trial.candidate.watched()),
            running,
            under_load: Duration::ZERO,
            death: None,
            unsampled: None,
            before,
        };
        Ok((side, load))
    }

    /// Starts a server of the lab's.
    fn start(&mut self, trial: Trial<'_>, pins: &Pins) -> Result<(Up, Endpoint), TrialEnd> {
        let (setup, candidate) = (self.setup, &trial.candidate.candidate);
        let (workers, cancelled) =
            (workers(trial.candidate, Some(trial.plan), setup), || self.interrupt.asked());
        let state = &mut self.states[trial.number];
        let (place, by_protocol) = (setup.place(), trial.plan.load.protocol);
        let started = start(candidate, &state.spec, place, (workers, &pins.server), by_protocol, &cancelled);
        started.map_err(|why| match why {
            NotUp::RunDir(source) => BenchError::RunDir { path: std::env::temp_dir(), source }.into(),
            NotUp::NotStarted(why) => TrialEnd::NotStarted(why),
            NotUp::Interrupted(_) => TrialEnd::Interrupted(None),
            NotUp::Stranger(why, leftovers) => {
                state.leftovers.extend(leftovers);
                TrialEnd::NotStarted(format!("{} was not loaded: {why}", candidate.label()))
            }
        })
    }

    fn load_once(
        &mut self,
        trial: Trial<'_>,
        plan: &Plan,
        mut side: Side<'_>,
    ) -> Result<TrialEnd, BenchError> {
        let control = self.interrupt.control(1);
        let (tell, planned) = (&mut *self.tell, trial.planned);
        let mut observe = |snapshot: &Snapshot| tell(&BenchEvent::Load { planned, snapshot, plan });
        let loaded = side.run(self.loads.trial, plan, &control, &mut observe);
        self.under_load += side.under_load;
        let observed = side.observed(plan, loaded);
        self.quiet.begin(Beside::read());
        self.down(trial, &mut side)?;
        Ok(trial.ended(observed, side.death))
    }

    /// Stops a trial's server; says once of each candidate that it had to be killed.
    pub(super) fn down(&mut self, trial: Trial<'_>, side: &mut Side<'_>) -> Result<(), BenchError> {
        if let Some(why) = side.unsampled.take() {
            self.event(EventKind::NotSampled, &format!("What {} costs is not known: {why}", side.candidate))?;
        }
        let Some(running) = &mut side.running else { return Ok(()) };
        let stopped = running.stop();
        let state = &mut self.states[trial.number];
        state.leftovers.extend(stopped.leftovers);
        if stopped.killed && !std::mem::replace(&mut state.needed_sigkill, true) {
            let text = format!(
                "{} did not end within {} of SIGTERM and was ended by SIGKILL.",
                side.candidate,
                show_duration(self.setup.supervision.stop_timeout)
            );
            self.event(EventKind::Killed, &text)?;
        }
        Ok(())
    }
}
