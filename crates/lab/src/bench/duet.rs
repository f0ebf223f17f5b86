//! Two candidates at once, each on CPUs of its own, then with places changed.
//!
//! What the machine does beside them (a neighbour, its clock, its heat) it does to both in the same
//! second, so that their ratio does not have it. Source: Bulej et al. (2020), *Duet benchmarking:
//! improving measurement accuracy in the cloud*, ICPE. The places change because they are not equal
//! either. docs/decisions/0017 has what is decided where there are few CPUs, and why not for maxima.

use std::thread;

use prony_load::{LoadError, Snapshot};
use prony_model::Plan;
use prony_model::observed::Observed;

use super::load_target::LoadTarget;
use super::planned_trial::{Trial, TrialEnd};
use super::runner::Runner;
use super::{BenchError, BenchEvent, CpuHalves};

impl Runner<'_> {
    pub(super) fn duet(
        &mut self,
        [one, other]: [Trial<'_>; 2],
        halves: &CpuHalves,
    ) -> Result<[TrialEnd; 2], BenchError> {
        let mut left = match self.come_up(one, &halves.left) {
            Ok(up) => up,
            Err(ended) => {
                let beside = beside(&ended, one, other);
                return Ok([ended, beside]);
            }
        };
        let mut right = match self.come_up(other, &halves.right) {
            Ok(up) => up,
            Err(ended) => {
                self.down(one, &mut left.0)?;
                return Ok([beside(&ended, other, one), ended]);
            }
        };
        let [of_left, of_right] = self.load_both(one, &mut left, &mut right);
        self.under_load += left.0.under_load.max(right.0.under_load);
        // Known of both before either is taken down.
        left.0.look();
        right.0.look();
        let (left_died, right_died) = (left.0.death.is_some(), right.0.death.is_some());
        let left = self.side_ended(one, left.0, of_left, (other, right_died))?;
        let right = self.side_ended(other, right.0, of_right, (one, left_died))?;
        Ok([left, right])
    }

    /// Loads both from the same instant on. Where one's server dies, both loads end.
    fn load_both(
        &mut self,
        shown: Trial<'_>,
        (left, left_plan): &mut (LoadTarget<'_>, Plan),
        (right, right_plan): &mut (LoadTarget<'_>, Plan),
    ) -> [Result<Observed, LoadError>; 2] {
        let control = self.interrupt.control(2);
        let (load, tell, planned) = (self.loads.trial, &mut *self.tell, shown.planned);
        thread::scope(|scope| {
            let beside = control.clone();
            let named = thread::Builder::new().name("duet".to_owned());
            let body = move || right.load(load, right_plan, &beside, &mut |_| ());
            let beside = match named.spawn_scoped(scope, body) {
                Ok(thread) => thread,
                Err(why) => {
                    let why = LoadError::System("starting a thread for the other load", why);
                    return [Err(LoadError::Interrupted), Err(why)];
                }
            };
            let left = left.load(load, left_plan, &control, &mut |snapshot: &Snapshot| {
                tell(&BenchEvent::Load { planned, snapshot, plan: left_plan });
            });
            [left, beside.join().unwrap_or(Err(LoadError::Internal("a load's thread panicked")))]
        })
    }

    fn side_ended(
        &mut self,
        trial: Trial<'_>,
        mut target: LoadTarget<'_>,
        observed: Result<Observed, LoadError>,
        (other, other_died): (Trial<'_>, bool),
    ) -> Result<TrialEnd, BenchError> {
        // Its server may have died after its own load, while the other's went on.
        let observed = observed.map(|mut observed| {
            observed.life.died.clone_from(&target.death);
            observed
        });
        self.down(trial, &mut target)?;
        if let Some(lost) = target.lost(trial) {
            return Ok(lost);
        }
        let why = if other_died && target.death.is_none() { "died" } else { "could not be loaded" };
        let ended = trial.ended(observed, target.death);
        if !matches!(ended, TrialEnd::Interrupted(_)) || self.interrupt.asked() {
            return Ok(ended);
        }
        // Not by anybody's wish: the one beside it ended, and half a duet is none.
        Ok(trial.failed(format!(
            "Not measured: {}, the other candidate of the duet, {why}.",
            other.planned.candidate
        )))
    }
}

fn beside(ended: &TrialEnd, one: Trial<'_>, other: Trial<'_>) -> TrialEnd {
    match ended {
        TrialEnd::Interrupted(_) => TrialEnd::Interrupted(None),
        _ => other.failed(format!(
            "Not measured: {}, the other candidate of the duet, did not start.",
            one.planned.candidate
        )),
    }
}
