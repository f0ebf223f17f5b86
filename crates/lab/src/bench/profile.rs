//! After a run's last trial: one more of each of two candidates, under `perf record`. They count for no figure.

use std::time::{Duration, SystemTime};

use prony_analysis::run_log::judge_result;
use prony_host::pins::PinnedProcess;
use prony_load::{Interrupt, Snapshot};
use prony_model::plan::ArrivalKind;
use prony_model::profile::Profile;
use prony_model::rfc3339;
use prony_model::run_log::{EventKind, Line, PlannedTrial, RunLogWriter};
use prony_model::trial::Validity;

use super::planned_trial::{Trial, TrialEnd};
use super::runner::Runner;
use super::{BenchCandidate, BenchError, BenchEvent, BenchSetup, Loads};
use crate::experiment::ExperimentPlan;
use crate::profile::{Perf, remove_maps};

/// The longest window, but of stages: a function of 1 % of the time has fifty samples of each CPU by then.
const WINDOW_MAX: Duration = Duration::from_secs(10);

/// Whether a run is one of two servers of ours on this machine, under loads.
pub fn fit_for_profile(setup: &BenchSetup) -> bool {
    let is_process = |c: &BenchCandidate| c.candidate.as_url().is_none() && c.candidate.engine().is_none();
    let is_load = |plan: &ExperimentPlan| plan.capacity.is_none() && plan.share.is_none();
    setup.server_host.is_none()
        && setup.candidates.len() == 2
        && setup.candidates.iter().all(is_process)
        && setup.experiment.plans.iter().all(is_load)
}

/// Samples both candidates of a run under a plan (`None`: its first) and appends what was found to its log; `Some`: why
/// nothing was, in a sentence that is in the log, too.
pub fn profile(
    setup: &BenchSetup,
    (perf, plan): (&Perf, Option<&str>),
    loads: Loads<'_>,
    interrupt: &Interrupt,
) -> Result<Option<String>, BenchError> {
    let mut writer = RunLogWriter::open(&setup.log).map_err(BenchError::Log)?;
    let mut append = |line: Line| writer.append(line);
    let mut tell = |_: &BenchEvent<'_>| ();
    let mut runner = Runner::new(setup, loads, interrupt, &mut tell, &mut append);
    let _pinned = PinnedProcess::to(&setup.pins.client);
    let named = |of: &&ExperimentPlan| plan.is_none_or(|name| of.name == name);
    let Some(plan) = setup.experiment.plans.iter().find(named) else { return Ok(None) };
    for (number, candidate) in setup.candidates.iter().enumerate() {
        let candidate = BenchCandidate { candidate: candidate.candidate.profiled(), ..candidate.clone() };
        let planned = PlannedTrial::one_by_one(0, candidate.candidate.label(), &plan.name);
        let trial = Trial { planned: &planned, number, candidate: &candidate, plan };
        let why = match runner.profiled(trial, perf) {
            Ok(profile) => {
                runner.write(Line::Profile(profile))?;
                continue;
            }
            Err(TrialEnd::Broken(why)) => return Err(why),
            Err(TrialEnd::Interrupted(_)) => return Ok(None),
            Err(TrialEnd::NotStarted(why) | TrialEnd::CheckFailed(why)) => why,
            Err(TrialEnd::Result(result)) => result.failure.unwrap_or_default(),
        };
        runner.event(EventKind::NotProfiled, &why)?;
        return Ok(Some(why));
    }
    Ok(None)
}

impl Runner<'_> {
    fn profiled(&mut self, trial: Trial<'_>, perf: &Perf) -> Result<Profile, TrialEnd> {
        let failed = |why: String| trial.failed(why);
        let (mut target, mut load) = self.come_up(trial, &self.setup.pins)?;
        if load.arrivals.kind() != ArrivalKind::Stages {
            load.stop.duration = load.stop.duration.map(|window| window.min(WINDOW_MAX));
        }
        let mut pids = target.pids();
        let sampled = perf.start(&pids).map(|mut recording| {
            let control = self.interrupt.control(1);
            let observed = target.load(self.loads.trial, &load, &control, &mut |_: &Snapshot| ());
            (recording.stop(), recording, observed)
        });
        pids.extend(target.pids());
        self.down(trial, &mut target)?;
        let profile = sampled.map_err(failed).and_then(|(stopped, recording, observed)| {
            let ended = target.lost(trial).unwrap_or_else(|| trial.ended(observed, target.death.take()));
            let TrialEnd::Result(raw) = ended else { return Err(ended) };
            let Some(observed) = &raw.observed else { return Err(TrialEnd::Result(raw)) };
            stopped.map_err(failed)?;
            let window = (observed.measurement.window_start_ns, observed.measurement.window_end_ns);
            let judged = judge_result(&self.setup.host, *raw).map_err(failed)?.trial;
            let valid =
                judged.filter(|of| of.verdict.validity != Validity::Invalid && of.requests.completed > 0);
            let valid = valid
                .ok_or_else(|| failed(format!("The trial of {} was invalid.", trial.planned.candidate)))?;
            Ok(Profile {
                candidate: trial.planned.candidate.clone(),
                plan: trial.planned.plan.clone(),
                at: rfc3339(SystemTime::now()),
                requests: valid.requests.completed,
                ..recording.profile(window).map_err(failed)?
            })
        });
        remove_maps(&pids);
        profile
    }
}
