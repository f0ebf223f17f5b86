//! Whether a probe was sustained: pure.

use prony_analysis::search::Answer;
use prony_analysis::slo::{Decision, Slo};
use prony_load::pace::Rate;
use prony_load::{Plan, Snapshot};
use prony_record::trial::{Effect, Outcome, Trial};

use super::{ERRORS_MAX_SHARE, share};

/// A sustained rate is carried but for this share: what is in flight at the window's edges.
const UNCARRIED_MAX_SHARE: f64 = 0.01;

/// Fewer requests than this show nothing.
pub(super) const ENDED_MIN: u64 = 10;

/// Verdicts that say that the client did not apply the load.
const CLIENTS_FAULTS: [&str; 3] = ["client_saturated", "rate_not_reached", "ports_exhausted"];

/// Verdicts of which one ends a search: what was seen before and after is not of one and the same server.
const VOIDING: [&str; 3] = ["server_died", "server_restarted", "arithmetic"];

/// Why a trial says that the search cannot go on. An unexpected status is no reason: refusing is what an
/// overloaded server may do, and counts as a failure. An answer with another body never is.
pub(super) fn void(trial: &Trial) -> Option<String> {
    let wrong = trial.errors.get("body_mismatch").is_some_and(|count| *count > 0);
    let voids = |code: &str| VOIDING.contains(&code) || (wrong && code == "wrong_answer");
    let mut reasons = trial.verdict.reasons.iter().filter(|reason| reason.effect == Effect::Invalid);
    reasons.find(|reason| voids(&reason.code)).map(|reason| reason.detail.clone())
}

/// Whether a trial's rate is sustained, and why (not).
pub(super) fn sustained(trial: &Trial, slos: &[Slo], hopeless: bool) -> (Answer, String) {
    let reasons = &trial.verdict.reasons;
    if let Some(fault) = reasons.iter().find(|reason| CLIENTS_FAULTS.contains(&reason.code.as_str())) {
        return (Answer::OutOfReach, fault.code.replace('_', " "));
    }
    if hopeless {
        return (Answer::Failed, "the backlog grew to half a second".to_owned());
    }
    match trial.outcome {
        Outcome::Broken => return (Answer::Failed, "broken: most requests failed".to_owned()),
        Outcome::Overloaded => {
            return (Answer::Failed, "the wait grew to the end".to_owned());
        }
        Outcome::Carried => {}
    }
    let ended = trial.requests.failed + trial.requests.completed;
    if ended < ENDED_MIN {
        return (Answer::Failed, format!("{ended} requests are too few to say"));
    }
    let failed = share(trial.requests.failed, ended);
    if failed >= ERRORS_MAX_SHARE {
        return (Answer::Failed, format!("{:.2} % failed", failed * 100.0));
    }
    let due = trial.throughput.offered_per_s.unwrap_or_default();
    let carried = trial.throughput.requests_per_s.point;
    if carried < due * (1.0 - UNCARRIED_MAX_SHARE) {
        return (Answer::Failed, format!("{:.1} % of what was due was carried", carried / due * 100.0));
    }
    let mut undecided = Vec::new();
    for slo in slos {
        let held = slo.hold(trial);
        let missed = held.decision == Decision::Missed
            || (held.decision == Decision::Undecided && held.point_within == Some(false));
        if missed {
            return (Answer::Failed, format!("{slo}: {}", held.seen));
        }
        if held.decision == Decision::Undecided {
            undecided.push(format!("{slo} is undecided ({})", held.seen));
        }
    }
    if undecided.is_empty() {
        return (Answer::Passed, "sustained".to_owned());
    }
    (Answer::Passed, format!("sustained; {}", undecided.join(", ")))
}

/// Sees from snapshots that a load cannot be carried.
#[derive(Debug)]
pub(super) struct Backlog {
    rate: Option<Rate>,
}

/// A backlog of so much time's requests is not noise.
const HOPELESS_NS: u64 = 500_000_000;

impl Backlog {
    pub(super) fn of(plan: &Plan) -> Backlog {
        Backlog { rate: plan.arrivals.rate() }
    }

    /// Whether half a second of requests is due and unsent.
    pub(super) fn is_hopeless(&mut self, snapshot: &Snapshot) -> bool {
        let Some(rate) = self.rate else { return false };
        let tolerated = rate.due_before(snapshot.elapsed_ns.saturating_sub(HOPELESS_NS));
        snapshot.elapsed_ns > 2 * HOPELESS_NS && snapshot.sent < tolerated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::Target;
    use prony_load::plan::Arrivals;

    #[test]
    fn half_a_second_of_requests_unsent_is_hopeless() {
        let plan = Plan {
            arrivals: Arrivals::Constant(Rate::per_s(1_000.0).unwrap()),
            ..Plan::closed(Target::parse("http://127.0.0.1/").unwrap())
        };
        let mut backlog = Backlog::of(&plan);
        let at = |ms: u64, sent: u64| Snapshot { elapsed_ns: ms * 1_000_000, sent, ..Snapshot::default() };
        assert!(!backlog.is_hopeless(&at(2_000, 1_600)));
        assert!(backlog.is_hopeless(&at(2_000, 1_400)));
        assert!(!backlog.is_hopeless(&at(900, 0)), "too early to say");
        assert!(!Backlog { rate: None }.is_hopeless(&at(5_000, 0)));
    }
}
