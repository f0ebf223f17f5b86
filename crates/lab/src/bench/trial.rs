//! One trial: server up, checked, loaded and sampled, server down.

use std::net::{Ipv4Addr, SocketAddr};

use prony_host::pins::Pins;
use prony_load::{LoadError, Snapshot};
use prony_model::observed::Observed;
use prony_model::plan::Arrivals;
use prony_model::run_log::{PlannedTrial, RawResult};
use prony_model::{Plan, Target};

use super::header::workers;
use super::loaded::Loading;
use super::request_spec::{self, Aim};
use super::runner::Runner;
use super::search::Sought;
use super::{BenchCandidate, BenchError, BenchEvent, BenchSetup};
use crate::experiment::ExperimentPlan;
use crate::launch::{LaunchContext, run_dir};
use crate::supervise::{Running, Server, StartErrorKind, port_of};
use prony_model::units::show_duration;

/// How a trial ended.
pub(super) enum Ended {
    /// With a result, whatever it says.
    Result(Box<RawResult>),
    /// Its server did not start.
    NotStarted(String),
    /// Its server failed the full check.
    CheckFailed(String),
    /// Somebody asked to end; what was measured until then.
    Interrupted(Option<Box<RawResult>>),
}

/// A server that is up, or that was never down.
pub(super) struct Up {
    pub(super) running: Option<Running>,
    target: Target,
}

impl Runner<'_> {
    /// Runs one trial. When it returns, its server is down.
    pub(super) fn trial(&mut self, planned: &PlannedTrial) -> Result<Ended, BenchError> {
        let setup = self.setup;
        let (c, plan) = match asked_for(setup, planned) {
            Ok(found) => found,
            Err(why) => return Ok(Ended::NotStarted(why)),
        };
        let shared;
        let plan = match &plan.share {
            None => plan,
            Some(share) => match self.capacities.rate(&setup.experiment, plan, share) {
                Ok(rate) => {
                    let mut known = plan.clone();
                    known.load.arrivals = Arrivals::Constant(rate);
                    shared = known;
                    &shared
                }
                Err(why) => return Ok(Ended::Result(Box::new(RawResult::failed(planned.clone(), why)))),
            },
        };
        let (up, load) = match self.come_up(c, plan, &setup.pins)? {
            Ok(ready) => ready,
            Err(ended) => return Ok(ended),
        };
        match &plan.capacity {
            Some(slos) => self.search(planned, &Sought { slos, load }, up, c.candidate.recycles()),
            None => self.load_once(planned, &load, up, c.candidate.recycles()),
        }
    }

    /// Brings a candidate up on these CPUs, checked; with it the load that is aimed at it. The inner error
    /// is the trial's end.
    pub(super) fn come_up(
        &mut self,
        c: &BenchCandidate,
        plan: &ExperimentPlan,
        pins: &Pins,
    ) -> Result<Result<(Up, Plan), Ended>, BenchError> {
        let setup = self.setup;
        let label = c.candidate.label();
        let mut aim = match self.aims.remove(label) {
            Some(aim) => aim,
            None => {
                let experiment = &setup.experiment;
                (Aim::of(&c.candidate, experiment.route, &setup.ask, &experiment.checks), false)
            }
        };
        let ready = self.come_up_to(c, &mut aim, pins).map(|up| {
            up.map(|up| {
                let target = up.target.clone();
                let load = aim.0.plan(plan, target, &pins.client, setup.experiment.seed);
                (up, load)
            })
        });
        self.aims.insert(label.to_owned(), aim);
        ready
    }

    fn come_up_to(
        &mut self,
        c: &BenchCandidate,
        (aim, checked): &mut (Aim, bool),
        pins: &Pins,
    ) -> Result<Result<Up, Ended>, BenchError> {
        let (up, address) = match c.candidate.as_url() {
            Some(url) => match request_spec::of_url(url)
                .and_then(|(target, address)| aim.ready(address).map(|()| (target, address)))
            {
                Ok((target, address)) => (Up { running: None, target }, address),
                Err(why) => return Ok(Err(Ended::NotStarted(why))),
            },
            None => match self.start(c, aim, pins)? {
                Ok((running, address)) => {
                    (Up { running: Some(running), target: aim.target(address) }, address)
                }
                Err(ended) => return Ok(Err(ended)),
            },
        };
        if !*checked {
            let report = aim.check(address, workers(c, self.setup));
            if !report.passed() {
                return Ok(Err(Ended::CheckFailed(request_spec::failures(c.candidate.label(), &report))));
            }
            *checked = true;
            // Of commands and URLs there is nothing to tell but that they answered.
            if report.sleep.is_some() {
                self.found(c.candidate.label(), report.sleep)?;
            }
        }
        Ok(Ok(up))
    }

    /// Starts a server of the lab's; the inner error is the trial's end.
    fn start(
        &mut self,
        c: &BenchCandidate,
        aim: &Aim,
        pins: &Pins,
    ) -> Result<Result<(Running, SocketAddr), Ended>, BenchError> {
        let setup = self.setup;
        let port = match port_of(&c.candidate) {
            Ok(port) => port,
            Err(why) => return Ok(Err(Ended::NotStarted(why))),
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let run_dir =
            run_dir::create().map_err(|source| BenchError::RunDir { path: std::env::temp_dir(), source })?;
        let context = LaunchContext { address, workers: workers(c, setup), run_dir: run_dir.clone() };
        let mut spec = match c.candidate.launch(&setup.layout, &context) {
            Ok(spec) => spec,
            Err(why) => {
                run_dir::remove(&run_dir);
                return Ok(Err(Ended::NotStarted(why.to_string())));
            }
        };
        spec.pin(&pins.server);
        let mut last_answer = String::new();
        let mut ready = || aim.ready(address).map_err(|why| last_answer = why).is_ok();
        let started = Server::start(&spec, &setup.supervision, &mut ready, &|| self.interrupt.asked());
        Ok(match started {
            Ok(mut running) => match running.stranger_on(port) {
                None => Ok((running, address)),
                Some(who) => {
                    self.leftovers.extend(running.stop().leftovers);
                    Err(Ended::NotStarted(format!(
                        "{} was not loaded: {who} answers on its port {port}, which it took first.",
                        c.candidate.label()
                    )))
                }
            },
            Err(why) if matches!(why.kind, StartErrorKind::Interrupted) => Err(Ended::Interrupted(None)),
            Err(why) if matches!(why.kind, StartErrorKind::NotReady(_)) && !last_answer.is_empty() => {
                Err(Ended::NotStarted(format!("{why}\nThe last attempt: {last_answer}")))
            }
            Err(why) => Err(Ended::NotStarted(why.to_string())),
        })
    }

    fn load_once(
        &mut self,
        planned: &PlannedTrial,
        plan: &Plan,
        mut up: Up,
        recycles: bool,
    ) -> Result<Ended, BenchError> {
        let control = self.interrupt.control();
        let load_time = plan.warmup + plan.stop.duration.unwrap_or_default();
        let tell = &mut *self.tell;
        let mut observe = |snapshot: &Snapshot| tell(&BenchEvent::Load { planned, snapshot, load_time });
        let mut loading =
            Loading::of(self.setup, self.loader, &planned.candidate, recycles, up.running.as_mut());
        let loaded = loading.load(plan, &control, &mut observe);
        let (under_load, death) = (loading.under_load, loading.death);
        self.under_load += under_load;
        self.down(planned, &mut up)?;
        Ok(ended(planned, loaded, death))
    }

    /// Stops a trial's server; says once of each candidate that it had to be killed.
    pub(super) fn down(&mut self, planned: &PlannedTrial, up: &mut Up) -> Result<(), BenchError> {
        let Some(running) = &mut up.running else { return Ok(()) };
        let stopped = running.stop();
        self.leftovers.extend(stopped.leftovers);
        if stopped.killed && self.deaf.insert(planned.candidate.clone()) {
            let text = format!(
                "{} did not end within {} of SIGTERM and was ended by SIGKILL.",
                planned.candidate,
                show_duration(self.setup.supervision.stop_timeout)
            );
            self.event("killed", text)?;
        }
        Ok(())
    }
}

/// How a trial of one load ended, whose server is down.
pub(super) fn ended(
    planned: &PlannedTrial,
    observed: Result<Observed, LoadError>,
    death: Option<String>,
) -> Ended {
    let failed = |why: String| Ended::Result(Box::new(RawResult::failed(planned.clone(), why)));
    match (observed, death) {
        (Ok(observed), _) => {
            let interrupted = observed.interrupted();
            let planned = planned.clone();
            let raw = RawResult { planned, observed: Some(observed), failure: None, capacity: None };
            if interrupted { Ended::Interrupted(Some(Box::new(raw))) } else { Ended::Result(Box::new(raw)) }
        }
        (Err(_), Some(death)) => failed(death),
        (Err(LoadError::Interrupted), None) => Ended::Interrupted(None),
        (Err(why), None) => failed(why.to_string()),
    }
}

/// The candidate and the plan of a planned trial; a sentence where the setup has none such.
pub(super) fn asked_for<'a>(
    setup: &'a BenchSetup,
    planned: &PlannedTrial,
) -> Result<(&'a BenchCandidate, &'a ExperimentPlan), String> {
    let c = setup.candidates.iter().find(|c| c.candidate.label() == planned.candidate);
    let c = c.ok_or_else(|| format!("{} is not among the candidates.", planned.candidate))?;
    let plan = setup.experiment.plans.iter().find(|p| p.name == planned.plan);
    Ok((c, plan.ok_or_else(|| format!("{} is not among the plans.", planned.plan))?))
}
