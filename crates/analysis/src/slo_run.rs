//! Thresholds held against a run: per plan and candidate, over the starts that count.

use prony_model::run_log::RunLog;
use prony_model::unit::Unit;
use prony_stats::Interval;
use prony_stats::order::Quantile;

use crate::cell::{CandidateTrials, Cell, candidates, plan_names};
use crate::figure::Figure;
use crate::figures;
use crate::look::Level;
use crate::slo::rules::{answered, beyond, by_ends, by_share, failed, waits_for_client};
use crate::slo::{Decision, Held, Objective, Slo, SloRecord};
use crate::starts::{may_differ, share_beyond};
use crate::summary::BEYOND_MIN;
use crate::text::with_unit;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSlo {
    pub plan: String,
    pub candidate: String,
    pub held: SloRecord,
}

/// Percentiles and failures are held by the share of requests beyond over starts, other figures by their interval over
/// trials. What has none, as the longest response, is met where each start meets it. Who died in a start has missed
/// everything.
pub fn hold_run(slos: &[Slo], log: &RunLog) -> Vec<RunSlo> {
    let (results, widened) = (log.last_results(), log.header.precision.is_some());
    let mut all = Vec::new();
    for plan in plan_names(log, &results) {
        for candidate in candidates(log, &results, &plan) {
            let starts = CandidateTrials::of(&results, &plan, &candidate.label);
            all.extend(slos.iter().map(|slo| RunSlo {
                plan: plan.clone(),
                candidate: candidate.label.clone(),
                held: hold(slo, &starts, widened, log.header.one_by_one),
            }));
        }
    }
    all
}

/// Holds a threshold against the starts of a candidate, as [`hold_run`] has it; `one_server`: all loaded the same.
fn hold(
    slo: &Slo,
    CandidateTrials { counted, died, .. }: &CandidateTrials<'_>,
    widened: bool,
    one_server: bool,
) -> SloRecord {
    let mut held = match counted.as_slice() {
        [] => found(Decision::Undecided, true, "no trial counts".to_owned()),
        [only] => worst(slo, &[*only]),
        several => over_starts(slo, several, widened).unwrap_or_else(|| worst(slo, several)),
    };
    if !counted.is_empty() {
        let starts = if one_server { "loads" } else { "starts" };
        held.seen = format!("{}; {}", held.seen, may_differ(counted.len(), starts));
    }
    if let Some(deaths) = died {
        held = found(Decision::Missed, false, format!("{}; {deaths}", held.seen));
    }
    SloRecord { slo: slo.to_string(), ..held }
}

/// What was found; `is_missing`: nothing was held to the limit.
fn found(decision: Decision, is_missing: bool, seen: String) -> SloRecord {
    let undecided = decision == Decision::Undecided;
    let to_decide = undecided.then(|| "more blocks".to_owned());
    SloRecord { slo: String::new(), decision, not_judged: undecided && is_missing, seen, to_decide }
}

fn over_starts(slo: &Slo, cells: &[Cell<'_>], widened: bool) -> Option<SloRecord> {
    let said = |share: &Interval, what: &str| {
        let [point, low, high] = [share.point, share.low, share.high].map(|s| with_unit(Unit::Share, s));
        format!("{point} {what} (95 %: {low} to {high})")
    };
    match slo.objective {
        Objective::Percentile { part, quantile, .. } => {
            let limit_ns = crate::numbers::rounded(slo.limit);
            let of = |trial: &_| beyond(trial, part, limit_ns);
            let share = share_beyond(cells, widened, of)?;
            let decision = by_share(&share, quantile);
            let allowed = with_unit(Unit::Share, 1.0 - quantile);
            let seen = said(&share, &format!("of {allowed} allowed took longer or failed"));
            if decision == Decision::Missed && cells.iter().any(|cell| waits_for_client(cell.trial)) {
                let to_decide = Some("more client workers (-t) or cores".to_owned());
                let seen = format!("{seen}, and the client itself was saturated");
                return Some(SloRecord { to_decide, ..found(Decision::Undecided, false, seen) });
            }
            let all: u64 = cells.iter().map(|cell| of(cell.trial).0).sum();
            let withheld = Quantile::new(quantile).is_none_or(|q| !q.has_beyond(all, BEYOND_MIN));
            Some(found(decision, withheld, seen))
        }
        Objective::Figure(Figure::FAILED_SHARE) => {
            let share = share_beyond(cells, widened, failed)?;
            Some(found(by_share(&share, 1.0 - slo.limit), false, said(&share, "failed")))
        }
        Objective::Figure(figure) => by_figure(figure, slo.limit, cells, widened),
        Objective::Max => None,
    }
}

/// By the interval over trials, which knows what differs between starts.
fn by_figure(figure: Figure, limit: f64, cells: &[Cell<'_>], widened: bool) -> Option<SloRecord> {
    let own = figures::over_trials(figure, cells, Level { widened, ..Level::look(1) });
    let estimate = own.estimate?;
    let (low, high) = (estimate.ci_low?, estimate.ci_high);
    let decision = match figure.more_is_better {
        true => by_ends(-high?, Some(-low), -limit),
        false => by_ends(low, high, limit),
    };
    // Of a lower bound nothing is missed; who failed has no time that a mean could hold.
    let open = match decision {
        Decision::Missed => own.lower_bound,
        Decision::Met => figure == Figure::MEAN && !cells.iter().all(|cell| answered(cell.trial)),
        Decision::Undecided => false,
    };
    let shown = |value| with_unit(figure.unit, value);
    let to = high.map_or("more".to_owned(), shown);
    let seen = format!("{} (95 %: {} to {to}, {} trials)", shown(estimate.point), shown(low), cells.len());
    Some(found(if open { Decision::Undecided } else { decision }, false, seen))
}

/// The worst of the trials' own decisions: what each is, all are.
fn worst(slo: &Slo, cells: &[Cell<'_>]) -> SloRecord {
    let all: Vec<Held> = cells.iter().map(|cell| slo.hold(cell.trial, cell.server)).collect();
    let is_missing = all.iter().all(|held| held.not_judged);
    match all.into_iter().max_by_key(|held| held.decision) {
        None => found(Decision::Undecided, true, String::new()),
        Some(held) => {
            let own = held.to_decide;
            let found = found(held.decision, is_missing, held.seen);
            SloRecord { to_decide: own.or(found.to_decide), ..found }
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_model::code::Code;

    use super::*;
    use crate::testing::run::Log;
    use prony_model::histogram::SparseHistogram;

    #[test]
    fn thresholds_are_decided_for_each_candidate_and_plan() {
        let row: &[u64] = &[1000, 1000];
        let mut log = Log::new(&["a", "b"], 3).with(&[row; 3]);
        let slos: Vec<Slo> = ["p50<2ms", "p50<500us", "errors<1%", "startup<1s", "memory<1MB"]
            .iter()
            .map(|s| Slo::parse(s).unwrap())
            .collect();
        // One of b's starts failed half of its requests: a quarter of all did, and it is not known of how many starts.
        let at = log.0.results.iter().position(|r| r.planned.candidate == "b").unwrap();
        log.trial(at).requests.failed = 3_000;
        let said: Vec<String> = hold_run(&slos, &log.0)
            .iter()
            .map(|h| format!("{} {} {}", h.candidate, h.held.slo, h.held.decision))
            .collect();
        assert_eq!(
            said,
            [
                "a p50<2ms MET",
                "a p50<500us MISSED",
                "a errors<1% MET",
                "a startup<1s MET",
                "a memory<1MB MISSED",
                "b p50<2ms UNDECIDED",
                "b p50<500us MISSED",
                "b errors<1% UNDECIDED",
                "b startup<1s MET",
                "b memory<1MB MISSED"
            ]
        );
    }

    /// Starts of 1,000 answers, so many of which take 2 ms and the others 1.
    fn starts(slow: &[u64]) -> Log {
        let row: &[u64] = &[1_000];
        let mut log = Log::new(&["a"], slow.len() as u32).with(&vec![row; slow.len()]);
        for (at, slow) in slow.iter().enumerate() {
            let times = (0..1_000).map(|i| if i < *slow { 2_000_000 } else { 1_000_000 });
            log.trial(at).latency.response.hdr = SparseHistogram::of_values(times);
        }
        log
    }

    fn held(log: &Log, slo: &str) -> SloRecord {
        hold_run(&[Slo::parse(slo).unwrap()], &log.0).remove(0).held
    }

    #[test]
    fn a_percentile_is_judged_by_the_share_beyond_over_starts() {
        let found = |slow: &[u64]| held(&starts(slow), "p90<1.5ms").decision;
        assert_eq!(found(&[50, 55, 45, 52, 48, 50]), Decision::Met);
        assert_eq!(found(&[150, 155, 145, 152, 148, 150]), Decision::Missed);
        assert_eq!(found(&[90, 110, 95, 105, 92, 108]), Decision::Undecided);
        // One start in twenty, and all of that one: 5 % of all requests are within the 10 %, and it is not known how many.
        let mut one_slow = vec![0; 20];
        one_slow[7] = 1_000;
        assert_eq!(found(&one_slow), Decision::Undecided);
        let said = held(&starts(&[50; 6]), "p90<1.5ms").seen;
        assert_eq!(
            said,
            "5.00 % of 10.0 % allowed took longer or failed (95 %: 4.33 % to 5.78 %); up to 39 % of starts may differ"
        );
    }

    #[test]
    fn a_run_that_stopped_by_its_precision_has_wider_shares() {
        let mut log = starts(&[70, 80, 75, 72, 78]);
        let wide = |log: &Log| held(log, "p90<1.5ms").seen;
        let before = wide(&log);
        log.0.header.precision = Some(prony_model::run_log::PrecisionRecord { share: 0.02, blocks_min: 3 });
        assert_ne!(wide(&log), before);
    }

    #[test]
    fn who_died_in_a_start_has_missed_every_threshold() {
        let mut log = starts(&[0, 0, 0]);
        assert_eq!(held(&log, "p90<1.5ms").decision, Decision::Met);
        let trial = log.trial(1);
        trial.verdict.reasons.push(Code::ServerDied.reason("signal 9".to_owned()));
        trial.verdict.validity = prony_model::trial::Validity::Invalid;
        let found = held(&log, "p90<1.5ms");
        assert_eq!((found.decision, found.to_decide), (Decision::Missed, None));
        assert!(
            found.seen.ends_with("up to 78 % of starts may differ; died in 1 of 3 starts"),
            "{}",
            found.seen
        );
    }

    #[test]
    fn a_threshold_is_undecided_for_a_candidate_without_a_trial() {
        let log = Log::new(&["a"], 1);
        let held = hold_run(&[Slo::parse("p99<1s").unwrap()], &log.0);
        assert_eq!(
            (held[0].held.decision, held[0].held.seen.as_str()),
            (Decision::Undecided, "no trial counts")
        );
    }
}
