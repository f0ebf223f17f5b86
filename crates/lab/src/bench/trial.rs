//! One trial: server up, checked, loaded and sampled, server down.

use std::time::Duration;

use prony_host::Beside;
use prony_host::pins::Pins;
use prony_load::Snapshot;
use prony_model::Plan;
use prony_model::run_log::EventKind;
use prony_model::units::show_duration;

use super::load_target::LoadTarget;
use super::planned_trial::{Trial, TrialEnd};
use super::request_spec::{self, Endpoint};
use super::runner::Runner;
use super::running_server::RunningServer;
use super::services::{Up, bring_up, ports, reset};
use super::start::start;
use super::{BenchError, BenchEvent};
use crate::supervise::NotUp;

impl Runner<'_> {
    /// Runs one trial. When it returns, its server is down.
    pub(super) fn trial(&mut self, trial: Trial<'_>) -> TrialEnd {
        self.measure(trial).unwrap_or_else(|ended| ended)
    }

    fn measure(&mut self, trial: Trial<'_>) -> Result<TrialEnd, TrialEnd> {
        let setup = self.setup;
        let rate = |share| self.capacities.rate(&setup.experiment, trial.plan, share);
        let rate = trial.plan.share.as_ref().map(rate).transpose().map_err(|why| trial.failed(why))?;
        let (target, mut load) = self.come_up(trial, &setup.pins)?;
        self.quiet.wait(&setup.used_here(&setup.pins), &|| self.interrupt.asked());
        if let Some(rate) = rate {
            load.arrivals = load.arrivals.at(rate);
        }
        Ok(match &trial.plan.capacity {
            Some(slos) => self.search(trial, slos, load, target)?,
            None => self.load_once(trial, &load, target)?,
        })
    }

    /// Brings a candidate up on these CPUs, checked, beside its services; with it the load that is aimed at it.
    pub(super) fn come_up<'t>(
        &mut self,
        trial: Trial<'t>,
        pins: &'t Pins,
    ) -> Result<(LoadTarget<'t>, Plan), TrialEnd>
    where
        Self: 't,
    {
        let (setup, candidate) = (self.setup, &trial.candidate.candidate);
        let place = setup.place_of_services(pins);
        let (asked, interrupt) = (&setup.experiment.services, self.interrupt);
        let services = bring_up(candidate, asked, place, &mut self.kept, &|| interrupt.asked());
        let services = services.map_err(|why| self.not_up(trial, why))?;
        let ports = ports(&services);
        let up = self.reset(trial, pins, &ports).and_then(|()| self.candidate_up(trial, pins, &ports));
        match up {
            Ok((target, load)) => Ok((LoadTarget { services, ..target }, load)),
            Err(ended) => {
                self.end_services(trial, services);
                Err(ended)
            }
        }
    }

    /// Runs the reset, where there is one; a trial before which it fails is not measured.
    fn reset(&mut self, trial: Trial<'_>, pins: &Pins, ports: &[(String, u16)]) -> Result<(), TrialEnd> {
        let Some(wanted) = &self.setup.experiment.reset else { return Ok(()) };
        let (place, interrupt) = (self.setup.place_of_services(pins), self.interrupt);
        reset(wanted, place, ports.to_vec(), &|| interrupt.asked()).map_err(|why| match why {
            NotUp::NotStarted(why) => trial.failed(why),
            why => self.not_up(trial, why),
        })
    }

    fn end_services(&mut self, trial: Trial<'_>, services: Vec<Up>) {
        for mut up in services {
            if up.is_kept() {
                self.kept.push(up);
            } else {
                self.states[trial.number].leftovers.extend(up.stop().leftovers);
            }
        }
    }

    fn candidate_up<'t>(
        &mut self,
        trial: Trial<'t>,
        pins: &'t Pins,
        ports: &[(String, u16)],
    ) -> Result<(LoadTarget<'t>, Plan), TrialEnd>
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
                let (running, endpoint) = self.start(trial, pins, ports)?;
                (Some(running), endpoint)
            }
        };
        let state = &mut self.states[trial.number];
        if !state.checked.contains(&protocol) {
            let workers = setup.workers(trial.candidate, Some(trial.plan));
            let services = setup.experiment.services.iter().filter(|service| service.is_contract());
            let services: Vec<&str> = services.map(|service| service.name.as_str()).collect();
            let report = state.spec.check(&endpoint, workers, &services);
            if !report.passed() {
                return Err(TrialEnd::CheckFailed(request_spec::failures(candidate.label(), &report)));
            }
            state.checked.push(protocol);
            // Of commands and URLs there is nothing to tell but that they answered.
            if let Some(sleep) = report.sleep {
                let text = format!("responds as every server of this run must; GET /sleep: {sleep}.");
                self.of_candidate(EventKind::Checked, candidate.label(), &text, Some(sleep))?;
            }
            // The check has asked for all sorts of things.
            self.reset(trial, pins, ports)?;
        }
        let spec = &self.states[trial.number].spec;
        let (aim, block) = (endpoint.target.clone(), trial.planned.block);
        let load = spec.plan(trial.plan, aim, &pins.client, &setup.experiment, block);
        let load = endpoint.reached_by(load);
        let target = LoadTarget {
            setup,
            candidate: candidate.label(),
            recycles: candidate.recycles(),
            pins,
            watched: running.as_ref().map(RunningServer::sampled).or_else(|| trial.candidate.watched()),
            running,
            services: Vec::new(),
            service_lost: None,
            under_load: Duration::ZERO,
            death: None,
            unsampled: Vec::new(),
            before,
        };
        Ok((target, load))
    }

    fn start(
        &mut self,
        trial: Trial<'_>,
        pins: &Pins,
        ports: &[(String, u16)],
    ) -> Result<(RunningServer, Endpoint), TrialEnd> {
        let (setup, candidate) = (self.setup, &trial.candidate.candidate);
        let (workers, cancelled) =
            (setup.workers(trial.candidate, Some(trial.plan)), || self.interrupt.asked());
        let state = &mut self.states[trial.number];
        let (place, by_protocol) = (setup.place(), trial.plan.load.protocol);
        let settings = (workers, &pins.server[..]);
        let started = start(candidate, &state.spec, place, settings, by_protocol, ports, &cancelled);
        started.map_err(|why| self.not_up(trial, why))
    }

    fn not_up(&mut self, trial: Trial<'_>, why: NotUp) -> TrialEnd {
        match why {
            NotUp::NoFolder(why) => BenchError::RunDir(why).into(),
            NotUp::NotStarted(why) | NotUp::Late(why) => TrialEnd::NotStarted(why),
            NotUp::Cancelled(..) => TrialEnd::Interrupted(None),
            NotUp::Stranger(why, leftovers) => {
                self.states[trial.number].leftovers.extend(leftovers);
                TrialEnd::NotStarted(format!("{} was not loaded: {why}", trial.candidate.candidate.label()))
            }
        }
    }

    fn load_once(
        &mut self,
        trial: Trial<'_>,
        plan: &Plan,
        mut target: LoadTarget<'_>,
    ) -> Result<TrialEnd, BenchError> {
        let control = self.interrupt.control(1);
        let (tell, planned) = (&mut *self.tell, trial.planned);
        let mut observe = |snapshot: &Snapshot| tell(&BenchEvent::Load { planned, snapshot, plan });
        let observed = target.load(self.loads.trial, plan, &control, &mut observe);
        self.under_load += target.under_load;
        self.quiet.begin(Beside::read());
        self.down(trial, &mut target)?;
        Ok(target.lost(trial).unwrap_or_else(|| trial.ended(observed, target.death)))
    }

    /// Stops a trial's server; says once of each candidate that it had to be killed.
    pub(super) fn down(&mut self, trial: Trial<'_>, target: &mut LoadTarget<'_>) -> Result<(), BenchError> {
        for why in std::mem::take(&mut target.unsampled) {
            self.event(EventKind::NotSampled, &why)?;
        }
        let stopped = target.running.as_mut().map(RunningServer::stop);
        self.end_services(trial, std::mem::take(&mut target.services));
        let Some(stopped) = stopped else { return Ok(()) };
        let state = &mut self.states[trial.number];
        state.leftovers.extend(stopped.leftovers);
        if stopped.killed && !std::mem::replace(&mut state.needed_sigkill, true) {
            let text = format!(
                "{} did not end within {} of SIGTERM and was ended by SIGKILL.",
                target.candidate,
                show_duration(self.setup.supervision.stop_timeout)
            );
            self.event(EventKind::Killed, &text)?;
        }
        Ok(())
    }
}
