//! A trial as it is planned, and how it can end.

use std::time::Duration;

use prony_load::LoadError;
use prony_model::observed::Observed;
use prony_model::run_log::{PlannedTrial, RawResult};

use super::{BenchCandidate, BenchError, BenchSetup};
use crate::experiment::{Experiment, ExperimentPlan};

#[derive(Clone, Copy)]
pub(super) struct Trial<'a> {
    pub(super) planned: &'a PlannedTrial,
    pub(super) number: usize,
    pub(super) candidate: &'a BenchCandidate,
    pub(super) plan: &'a ExperimentPlan,
}

pub(super) enum TrialEnd {
    Result(Box<RawResult>),
    NotStarted(String),
    CheckFailed(String),
    /// Somebody asked to end; what was measured until then.
    Interrupted(Option<Box<RawResult>>),
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

    pub(super) fn load_time(&self) -> Duration {
        self.plan.load_time()
    }

    /// Whether it is run: its candidate has what its plan asks for, and of a search there is no control.
    pub(super) fn is_run(&self, experiment: &Experiment) -> bool {
        let is_of_loads = self.planned.control.is_none() || self.plan.capacity.is_none();
        is_of_loads && experiment.asks(&self.candidate.candidate, self.plan)
    }

    pub(super) fn failed(&self, why: String) -> TrialEnd {
        TrialEnd::Result(Box::new(RawResult::failed(self.planned.clone(), why)))
    }

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
