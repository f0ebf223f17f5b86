//! Plans that search for a capacity, and those whose rate is a share of one.

use std::collections::BTreeMap;

use prony_analysis::slo::Slo;
use prony_load::{Control, Snapshot};
use prony_model::Plan;
use prony_model::rate::Rate;
use prony_model::run_log::{PlannedTrial, RawResult, ShareOf, TrialResult};

use super::load_target::LoadTarget;
use super::planned_trial::{Trial, TrialEnd};
use super::runner::Runner;
use super::{BenchError, BenchEvent};
use crate::capacity::{self, CapacityEvent, CapacityOutcome, CapacityPlan, Probed};
use crate::experiment::{Experiment, ExperimentPlan};

/// A search's rates about the edge are this far apart: as `prony capacity`'s are.
const RESOLUTION: f64 = 0.04;

#[derive(Debug, Default)]
pub(super) struct Capacities(BTreeMap<(String, String), Vec<f64>>);

impl Capacities {
    pub(super) fn of(results: &[TrialResult]) -> Capacities {
        let mut capacities = Capacities::default();
        results.iter().for_each(|result| capacities.take(result));
        capacities
    }

    pub(super) fn take(&mut self, result: &TrialResult) {
        let found = result.capacity.as_ref().and_then(|c| c.capacity_per_s.as_ref());
        if let Some(found) = found {
            let key = (result.planned.candidate.clone(), result.planned.plan.clone());
            self.0.entry(key).or_default().push(found.point);
        }
    }

    /// A share's rate: of the geometric mean of its candidate's capacities with as many connections. Or why none.
    pub(super) fn rate(
        &self,
        experiment: &Experiment,
        plan: &ExperimentPlan,
        share: &ShareOf,
    ) -> Result<Rate, String> {
        let search = experiment.plans.iter().find(|p| {
            p.group.as_deref() == Some(&share.of.plan) && p.load.connections == plan.load.connections
        });
        let search = search.ok_or_else(|| {
            format!("No plan {:?} searches with {} connections.", share.of.plan, plan.load.connections)
        })?;
        let found = self.0.get(&(share.of.candidate.clone(), search.name.clone()));
        let logs: Vec<f64> = found.into_iter().flatten().map(|rate| rate.ln()).collect();
        if logs.is_empty() {
            return Err(format!(
                "The capacity of {} is not known: no search of {} found one.",
                share.of.candidate, search.name
            ));
        }
        let knee = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        Rate::per_s(knee * share.share)
            .ok_or_else(|| format!("{} of {knee:.0}/s is not a rate that a load can have.", share.share))
    }
}

impl Runner<'_> {
    /// Searches for the capacity of a server that is up; it is down afterwards.
    pub(super) fn search(
        &mut self,
        trial: Trial<'_>,
        slos: &[Slo],
        load: Plan,
        mut target: LoadTarget<'_>,
    ) -> Result<TrialEnd, BenchError> {
        let wanted = CapacityPlan {
            slos: slos.to_vec(),
            probe: load.stop.duration.unwrap_or(prony_model::plan::DURATION),
            resolution: RESOLUTION,
            start: None,
            load,
        };
        let (tell, planned) = (&mut *self.tell, trial.planned);
        let mut heard = |event: &CapacityEvent<'_>| {
            if let CapacityEvent::Load { snapshot, plan } = event {
                tell(&BenchEvent::Load { planned, snapshot, plan });
            }
        };
        let (apply, host) = (self.loads.probe, &self.setup.host);
        let mut prober = |plan: &Plan, control: &Control, observe: &mut dyn FnMut(&Snapshot)| {
            Ok(Probed::of(target.load(apply, plan, control, observe)?, host))
        };
        let outcome = capacity::search_by(&wanted, &mut prober, self.interrupt, &mut heard);
        self.under_load += target.under_load;
        self.down(trial, &mut target)?;
        if let Some(lost) = target.lost(trial) {
            return Ok(lost);
        }
        Ok(match outcome {
            Ok(outcome) => ended(planned, outcome),
            Err(why) => trial.not_loaded(&why, target.death),
        })
    }
}

fn ended(planned: &PlannedTrial, outcome: CapacityOutcome) -> TrialEnd {
    let CapacityOutcome { record, observed, interrupted, .. } = outcome;
    if interrupted {
        return TrialEnd::Interrupted(None);
    }
    let (planned, failure) = (planned.clone(), record.failure());
    TrialEnd::Result(Box::new(RawResult { planned, observed, failure, capacity: Some(record) }))
}
