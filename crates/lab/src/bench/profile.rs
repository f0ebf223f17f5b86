//! After a run's last trial: one more of each of two candidates, under `perf record`. They count for no figure.

use std::time::SystemTime;

use prony_analysis::run_log::judge_result;
use prony_host::pins::PinnedProcess;
use prony_load::{Interrupt, LoadError, Snapshot};
use prony_model::Plan;
use prony_model::observed::Observed;
use prony_model::profile::Profile;
use prony_model::rfc3339;
use prony_model::run_log::{EventKind, Line, PlannedTrial, RawResult, RunLog, RunLogWriter};
use prony_model::trial::Validity;

use super::load_target::LoadTarget;
use super::planned_trial::{Trial, TrialEnd};
use super::runner::Runner;
use super::search::Capacities;
use super::{BenchCandidate, BenchError, BenchEvent, BenchSetup, Loads};
use crate::experiment::ExperimentPlan;
use crate::profile::{Perf, Recording, remove_maps};

/// Why two candidates cannot be sampled, in a sentence.
pub fn unfit_for_profile(setup: &BenchSetup) -> Option<String> {
    if setup.candidates.len() != 2 {
        return Some(format!(
            "A profile compares two candidates, and this run has {}.",
            setup.candidates.len()
        ));
    }
    if setup.server_host.is_some() {
        return Some("Servers on another host are not profiled: run Prony there.".to_owned());
    }
    let foreign = |c: &&BenchCandidate| c.candidate.as_url().is_some() || c.candidate.engine().is_some();
    if let Some(foreign) = setup.candidates.iter().find(foreign) {
        return Some(format!(
            "{} is not profiled: Prony profiles servers that it starts itself, as processes of this machine.",
            foreign.candidate.label()
        ));
    }
    let is_load = |plan: &ExperimentPlan| plan.capacity.is_none();
    (!setup.experiment.plans.iter().any(is_load))
        .then(|| "A search for a capacity is not profiled: give a plan with a load.".to_owned())
}

/// Samples both candidates of a run under a plan (`None`: the first load) and appends what was found to its log; `Some`:
/// why nothing was, in a sentence that is in the log, too.
pub fn profile(
    setup: &BenchSetup,
    (perf, plan): (&Perf, Option<&str>),
    log: &RunLog,
    loads: Loads<'_>,
    interrupt: &Interrupt,
) -> Result<Option<String>, BenchError> {
    let mut writer = RunLogWriter::open(&setup.log).map_err(BenchError::Log)?;
    let mut append = |line: Line| writer.append(line);
    let mut tell = |_: &BenchEvent<'_>| ();
    let mut runner = Runner::new(setup, loads, interrupt, &mut tell, &mut append);
    runner.capacities = Capacities::of(&log.results);
    let _pinned = PinnedProcess::to(&setup.pins.client);
    let plan = setup
        .experiment
        .plans
        .iter()
        .find(|of| of.capacity.is_none() && plan.is_none_or(|name| of.name == name));
    let Some(plan) = plan else { return Ok(None) };
    for (number, candidate) in setup.candidates.iter().enumerate() {
        let candidate = BenchCandidate { candidate: candidate.candidate.profiled(), ..candidate.clone() };
        let planned = PlannedTrial {
            block: log.header.blocks,
            ..PlannedTrial::one_by_one(
                u32::try_from(log.header.order.len()).unwrap_or(u32::MAX),
                candidate.candidate.label(),
                &plan.name,
            )
        };
        let trial = Trial { planned: &planned, number, candidate: &candidate, plan };
        match runner.profiled(trial, perf) {
            Ok(profile) => runner.write(Line::Profile(profile))?,
            Err(NotProfiled::Broken(why)) => return Err(why),
            Err(NotProfiled::Interrupted) => return Ok(None),
            Err(NotProfiled::Because(why)) => {
                runner.event(EventKind::NotProfiled, &why)?;
                return Ok(Some(why));
            }
        }
    }
    Ok(None)
}

enum NotProfiled {
    Because(String),
    Interrupted,
    Broken(BenchError),
}

impl From<BenchError> for NotProfiled {
    fn from(why: BenchError) -> NotProfiled {
        NotProfiled::Broken(why)
    }
}

impl From<TrialEnd> for NotProfiled {
    fn from(ended: TrialEnd) -> NotProfiled {
        match ended {
            TrialEnd::Broken(why) => NotProfiled::Broken(why),
            TrialEnd::Interrupted(_) => NotProfiled::Interrupted,
            TrialEnd::NotStarted(why) | TrialEnd::CheckFailed(why) => NotProfiled::Because(why),
            TrialEnd::Result(result) => NotProfiled::Because(result.failure.unwrap_or_default()),
        }
    }
}

impl From<String> for NotProfiled {
    fn from(why: String) -> NotProfiled {
        NotProfiled::Because(why)
    }
}

/// A recording that was ended, or why it was not, and the load that went on meanwhile.
struct Sampled {
    recording: Recording,
    stopped: Result<(), String>,
    observed: Result<Observed, LoadError>,
}

impl Runner<'_> {
    fn profiled(&mut self, trial: Trial<'_>, perf: &Perf) -> Result<Profile, NotProfiled> {
        let setup = self.setup;
        let rate = |share| self.capacities.rate(&setup.experiment, trial.plan, share);
        let rate = trial.plan.share.as_ref().map(rate).transpose()?;
        let (mut target, mut load) = self.come_up(trial, &setup.pins)?;
        if let Some(rate) = rate {
            load.arrivals = load.arrivals.at(rate);
        }
        let mut pids = target.pids();
        let sampled = self.sampled(&mut target, &load, perf, &pids);
        pids.extend(target.pids());
        self.down(trial, &mut target)?;
        let profile = sampled.map_err(NotProfiled::Because).and_then(|sampled| {
            let Sampled { recording, stopped, observed } = sampled;
            let ended = target.lost(trial).unwrap_or_else(|| trial.ended(observed, target.death.take()));
            let TrialEnd::Result(raw) = ended else { return Err(ended.into()) };
            let Some(observed) = &raw.observed else { return Err(TrialEnd::Result(raw).into()) };
            stopped?;
            let window = (observed.measurement.window_start_ns, observed.measurement.window_end_ns);
            let requests = requests(setup, *raw)?;
            let (candidate, plan) = (trial.planned.candidate.clone(), trial.planned.plan.clone());
            let found = recording.profile(window)?;
            Ok(Profile { candidate, plan, at: rfc3339(SystemTime::now()), requests, ..found })
        });
        remove_maps(&pids);
        profile
    }

    fn sampled(
        &self,
        target: &mut LoadTarget<'_>,
        load: &Plan,
        perf: &Perf,
        pids: &[u32],
    ) -> Result<Sampled, String> {
        let lasts = load.stop.duration.map(|window| window + load.warmup);
        let mut recording = perf.start(pids, lasts, self.setup.pins.server.len())?;
        let control = self.interrupt.control(1);
        let observed = target.load(self.loads.trial, load, &control, &mut |_: &Snapshot| ());
        Ok(Sampled { stopped: recording.stop(), recording, observed })
    }
}

/// The requests that a trial completed; in a sentence why it is none to be sampled.
fn requests(setup: &BenchSetup, raw: RawResult) -> Result<u64, String> {
    let candidate = raw.planned.candidate.clone();
    let trial = judge_result(&setup.host, raw)?.trial;
    let valid = trial.filter(|trial| trial.verdict.validity != Validity::Invalid);
    let completed = valid.map_or(0, |trial| trial.requests.completed);
    (completed > 0)
        .then_some(completed)
        .ok_or_else(|| format!("The trial of {candidate} under perf is invalid."))
}
