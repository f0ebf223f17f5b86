//! Trials that other programs or the hypervisor disturbed, again at their block's end: pure. The rule stands before the
//! run and looks at no result (`prony_analysis::repeats`; docs/decisions/0041).

use std::time::Duration;

use prony_analysis::repeats::{REPEATS_MAX, disturbed};
use prony_model::run_log::{PlannedTrial, RunLog, TrialResult};

/// Repeats, and waits for an idle second, take at most this share of the time under load each.
pub(super) const SHARE_MAX: f64 = 0.15;

#[derive(Debug, Clone, Default)]
pub struct Repeats {
    due: Vec<PlannedTrial>,
    loaded: Duration,
    repeated: Duration,
}

impl Repeats {
    pub(super) fn of(log: &RunLog) -> Repeats {
        let mut results: Vec<&TrialResult> =
            log.results.iter().chain(&log.replaced).chain(&log.controls).collect();
        results.sort_by_key(|result| (result.planned.index, result.planned.repeat));
        let mut repeats = Repeats::default();
        results.iter().for_each(|result| repeats.take(result));
        let last = results.last().map(|result| result.planned.block);
        repeats.due.retain(|planned| Some(planned.block) == last);
        repeats
    }

    /// Takes in a trial. A duet's noise is in both, and a search is long: these are not repeated.
    pub fn take(&mut self, result: &TrialResult) {
        let planned = &result.planned;
        let Some(trial) = &result.trial else { return self.forget(planned.index) };
        let took = Duration::from_nanos(trial.window.duration_ns.saturating_add(trial.plan.warmup_ns));
        *(if planned.repeat == 0 { &mut self.loaded } else { &mut self.repeated }) += took;
        self.forget(planned.index);
        let may = planned.duet.is_none() && result.capacity.is_none() && planned.repeat < REPEATS_MAX;
        if may && !trial.interrupted && disturbed(trial) {
            self.due.push(PlannedTrial { repeat: planned.repeat + 1, ..planned.clone() });
        }
    }

    fn forget(&mut self, index: u32) {
        self.due.retain(|planned| planned.index != index);
    }

    /// The next one of a block that ended before this one begins; `None`: the run's end.
    pub fn next(&self, before: Option<u32>) -> Option<PlannedTrial> {
        self.due.iter().find(|planned| Some(planned.block) != before).cloned()
    }

    pub fn allows(&self, load: Duration) -> bool {
        (self.repeated + load).as_secs_f64() <= SHARE_MAX * self.loaded.as_secs_f64()
    }

    pub fn end_block(&mut self, before: Option<u32>) {
        self.due.retain(|planned| Some(planned.block) == before);
    }
}

#[cfg(test)]
mod tests {
    use prony_model::code::Code;
    use prony_model::run_log::Control;

    use super::*;

    fn result(index: u32) -> TrialResult {
        let planned = PlannedTrial::one_by_one(index, "a", "c50");
        let trial = Some(prony_model::testing::trial(&[&[1_000, 2_000]]));
        TrialResult { planned, trial, server: None, failure: None, capacity: None }
    }

    #[test]
    fn a_disturbed_trial_is_repeated_three_times_at_most() {
        let mut repeats = Repeats::default();
        (0..10).for_each(|index| repeats.take(&result(index)));
        assert_eq!(repeats.next(None), None, "none was disturbed");
        let (mut result, took) = (result(9), repeats.loaded / 10);
        let noise = Code::HostNoisy.reason(String::new()).with("others_share", 0.5);
        result.trial.as_mut().unwrap().verdict.reasons.push(noise);
        for repeat in 1..=3 {
            repeats.take(&result);
            let next = repeats.next(None).unwrap();
            assert_eq!((next.index, next.repeat), (result.planned.index, repeat));
            assert_eq!(repeats.next(Some(next.block)), None, "not before its block's end");
            result.planned = next;
        }
        repeats.take(&result);
        assert_eq!(repeats.next(None), None, "not a fourth time");
        result.planned = PlannedTrial { control: Some(Control::Twin), repeat: 0, ..result.planned };
        repeats.take(&result);
        assert_eq!(repeats.next(None).unwrap().control, Some(Control::Twin), "controls like candidates");
        let mut fresh = Repeats { loaded: took * 10, ..Repeats::default() };
        assert!(fresh.allows(took) && !fresh.allows(took * 2));
        fresh.repeated = took;
        assert!(!fresh.allows(took));
    }
}
