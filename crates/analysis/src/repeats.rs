//! Which of a planned trial's results count, where other programs or the hypervisor disturbed the first. The first
//! undisturbed one does, and none where three repeats were disturbed too. A server that causes the disturbance would
//! hide its own slow starts so: where one candidate's are disturbed more often than chance has it, all first trials
//! stand.

use std::collections::BTreeMap;

use prony_model::code::Code;
use prony_model::run_log::{PlannedTrial, RunLog, TrialResult};
use prony_model::trial::Trial;
use prony_stats::interval::geometric_mean;

use crate::cell::Cell;

/// A trial is repeated at most so often.
pub const REPEATS_MAX: u32 = 3;

/// Rarer than this by chance, a candidate's disturbed first trials are its own doing.
const CHANCE_MIN: f64 = 0.05;

/// Whether other programs or the hypervisor took CPU time. Never by what the server's own load causes (throttling,
/// waits).
pub fn disturbed(trial: &Trial) -> bool {
    let noisy = trial.verdict.reasons.iter().filter(|reason| reason.code == Code::HostNoisy);
    noisy.flat_map(|reason| reason.values.keys()).any(|name| name == "others_share" || name == "steal_share")
}

fn is_clean(result: &TrialResult) -> bool {
    result.trial.as_ref().is_some_and(|trial| !trial.interrupted && !disturbed(trial))
}

/// Leaves the results that count, and keeps the others beside them.
pub fn resolve(log: &mut RunLog) {
    if log.results.iter().all(|result| result.planned.repeat == 0) {
        return;
    }
    let (firsts, repeats): (Vec<TrialResult>, Vec<TrialResult>) =
        std::mem::take(&mut log.results).into_iter().partition(|result| result.planned.repeat == 0);
    let stand = own_doing(&firsts).is_some();
    let mut of_index: BTreeMap<u32, Vec<TrialResult>> = BTreeMap::new();
    repeats.into_iter().for_each(|repeat| of_index.entry(repeat.planned.index).or_default().push(repeat));
    for first in firsts {
        let mut repeats = of_index.remove(&first.planned.index).unwrap_or_default();
        let clean = repeats.iter().position(is_clean).filter(|_| !stand);
        let all_disturbed = repeats.len() >= REPEATS_MAX as usize && !repeats.iter().any(is_clean);
        let counts = match clean {
            Some(at) => Some(repeats.remove(at)),
            None if all_disturbed && !stand => {
                let why = format!("other programs used the CPU, in its {} repeats too", repeats.len());
                let planned = first.planned.clone();
                Some(TrialResult { planned, trial: None, server: None, failure: Some(why), capacity: None })
            }
            None => None,
        };
        log.replaced.extend(repeats);
        match counts {
            Some(counts) => {
                log.results.push(counts);
                log.replaced.push(first);
            }
            None => log.results.push(first),
        }
    }
}

/// Disturbed more often than the others' could be by chance (one-sided hypergeometric), and how likely that was.
fn own_doing(firsts: &[TrialResult]) -> Option<(String, f64)> {
    let mut by_candidate: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for (result, trial) in firsts.iter().filter_map(|result| Some((result, result.trial.as_ref()?))) {
        let of = by_candidate.entry(&result.planned.candidate).or_default();
        *of = (of.0 + 1, of.1 + u32::from(disturbed(trial)));
    }
    let (all, hit) = by_candidate.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let chances = by_candidate.iter().map(|(name, (n, k))| (*name, at_least(*k, *n, hit, all)));
    let rarest = chances.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (rarest.1 < CHANCE_MIN).then(|| (rarest.0.to_owned(), rarest.1))
}

/// The chance that of `n` of `all` trials `k` or more are among the `hit`.
fn at_least(k: u32, n: u32, hit: u32, all: u32) -> f64 {
    let ln_choose =
        |n: u32, k: u32| -> f64 { (1..=k).map(|i| (f64::from(n - k + i) / f64::from(i)).ln()).sum() };
    let may = |i: &u32| *i <= hit && n - i <= all - hit;
    let chance = |i: u32| (ln_choose(hit, i) + ln_choose(all - hit, n - i) - ln_choose(all, n)).exp();
    (k..=n).filter(may).map(chance).sum()
}

/// What is said of repeats: how many, whether they count, and every ratio to the baseline that the other choice moves.
pub(crate) fn note(log: &RunLog) -> Option<String> {
    let all = || log.results.iter().chain(&log.replaced).chain(&log.controls);
    let mut repeated: Vec<u32> =
        all().filter(|result| result.planned.repeat > 0).map(|result| result.planned.index).collect();
    repeated.sort_unstable();
    repeated.dedup();
    let mut said = match repeated.len() {
        0 => return None,
        1 => "1 trial repeated: other programs used the CPU".to_owned(),
        count => format!("{count} trials repeated: other programs used the CPU"),
    };
    let firsts: Vec<TrialResult> =
        all().filter(|result| result.planned.repeat == 0 && result.trial.is_some()).cloned().collect();
    // With repeats as they were made, whether they count or not.
    let with = |plan: &str, candidate: &str, repeats: bool| {
        let own = |of: &PlannedTrial| of.plan == plan && of.candidate == candidate && of.control.is_none();
        let rates = firsts.iter().filter(|of| own(&of.planned));
        let rates: Vec<f64> = rates
            .filter_map(|first| {
                let clean = all().find(|of| {
                    of.planned.index == first.planned.index && of.planned.repeat > 0 && is_clean(of)
                });
                let of = clean.filter(|_| repeats).unwrap_or(first);
                Cell::measured(of).filter(Cell::counts).map(|cell| cell.throughput().value)
            })
            .collect();
        geometric_mean(&rates)
    };
    let baseline = log.header.baseline.as_deref().or(Some(log.header.candidates.first()?.label.as_str()))?;
    let mut ratios = Vec::new();
    for plan in &log.header.plans {
        for candidate in log.header.candidates.iter().filter(|c| c.label != baseline) {
            let ratio = |repeats| {
                Some(with(&plan.name, &candidate.label, repeats)? / with(&plan.name, baseline, repeats)?)
            };
            if let (Some(first), Some(again)) = (ratio(false), ratio(true))
                && first != again
            {
                let (label, plan) = (&candidate.label, &plan.name);
                ratios.push(format!(
                    "{label} under {plan} {first:.3} × {baseline} by first trials, {again:.3} with repeats"
                ));
            }
        }
    }
    if let Some((candidate, chance)) = own_doing(&firsts) {
        said.push_str(&format!(
            "; {candidate} was disturbed more often than the others (p = {chance:.3}), which may be its own doing: the \
             first trials count"
        ));
    }
    if !ratios.is_empty() {
        said.push_str(&format!("; {}", ratios.join("; ")));
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run::Log;

    /// A log of which these trials (index, repeat) are there besides, and these disturbed.
    fn log(repeats: &[(u32, u32)], noisy: &[(u32, u32)]) -> RunLog {
        let mut log = Log::new(&["a", "b"], 6).with(&[&[900, 1_000][..]; 6]).0;
        for (index, repeat) in repeats {
            let mut result = log.results[*index as usize].clone();
            result.planned.repeat = *repeat;
            log.results.push(result);
        }
        for result in &mut log.results {
            if noisy.contains(&(result.planned.index, result.planned.repeat)) {
                let noise = Code::HostNoisy.reason(String::new()).with("steal_share", 0.2);
                result.trial.as_mut().unwrap().verdict.reasons.push(noise);
            }
        }
        resolve(&mut log);
        log
    }

    fn counting(log: &RunLog, index: u32) -> (u32, bool) {
        let result = log.last_results()[&index];
        (result.planned.repeat, result.trial.is_some())
    }

    #[test]
    fn the_first_undisturbed_trial_counts_and_others_are_kept() {
        let log = log(&[(0, 1), (0, 2), (1, 1)], &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]);
        assert_eq!(counting(&log, 0), (2, true));
        assert_eq!(counting(&log, 1), (0, true), "no time for a second repeat: the first stands");
        assert_eq!(counting(&log, 2), (0, true), "not repeated");
        assert_eq!((log.results.len(), log.replaced.len()), (12, 3));
        assert!(note(&log).unwrap().starts_with("2 trials repeated: other programs used the CPU"));
    }

    #[test]
    fn a_trial_does_not_count_if_all_three_repeats_were_disturbed() {
        let all = [(0, 1), (0, 2), (0, 3)];
        let log = log(&all, &[&all[..], &[(0, 0)]].concat());
        assert_eq!(counting(&log, 0), (0, false));
        assert_eq!(log.replaced.len(), 4);
    }

    /// 4 of 6 of one candidate, and none of the other's: 15 in 495.
    #[test]
    fn first_trials_stand_where_one_candidate_alone_is_disturbed() {
        assert!((at_least(4, 6, 4, 12) - 15.0 / 495.0).abs() < 1e-12);
        assert!((at_least(0, 6, 4, 12) - 1.0).abs() < 1e-12);
        let plain = Log::new(&["a", "b"], 6).with(&[&[900, 1_000][..]; 6]).0;
        let own: Vec<u32> = plain
            .results
            .iter()
            .filter(|r| r.planned.candidate == "b")
            .map(|r| r.planned.index)
            .take(4)
            .collect();
        let (first, again): (Vec<_>, Vec<_>) = own.iter().map(|index| ((*index, 0), (*index, 1))).unzip();
        let log = log(&again, &first);
        assert!(own.iter().all(|index| counting(&log, *index) == (0, true)));
        assert_eq!(log.replaced.len(), 4);
        assert!(note(&log).unwrap().contains("b was disturbed more often than the others (p = 0.030)"));
    }

    #[test]
    fn a_log_without_repeats_is_as_it_was() {
        let plain = Log::new(&["a", "b"], 2).with(&[&[900, 1_000][..]; 2]).0;
        let log = {
            let mut log = plain.clone();
            resolve(&mut log);
            log
        };
        assert_eq!((log, note(&plain)), (plain, None));
    }
}
