//! Whether a probe was sustained: pure.

use prony_analysis::slo::{Decision, Slo};
use prony_load::Snapshot;
use prony_model::Plan;
use prony_model::code::Code;
use prony_model::measurement::{ErrorKind, RequestCounts};
use prony_model::plan::Arrivals;
use prony_model::rate::Rate;
use prony_model::trial::{Effect, Outcome, Reason, Trial};
use prony_stats::search::Answer;

use super::{ERRORS_MAX_SHARE, share};

/// A sustained rate is carried but for this share and what is on its way at the window's end.
const UNCARRIED_MAX_SHARE: f64 = 0.01;

/// Fewer requests than this show nothing.
pub(super) const ENDED_MIN: u64 = 10;

/// The client did not apply the load: the rate is out of its reach.
const OUT_OF_REACH: [Code; 3] = [Code::ClientSaturated, Code::RateNotReached, Code::PortsExhausted];

/// Where a trial is invalid for one of these, the search ends: what came before was of another server.
const ENDS: [Code; 3] = [Code::ServerDied, Code::ServerRestarted, Code::Arithmetic];

/// Why a trial says that the search cannot go on. An unexpected status is no reason: refusing is what an
/// overloaded server may do, and counts as a failure. An answer with another body never is.
pub(super) fn void(trial: &Trial) -> Option<String> {
    let wrong = trial.errors.get(ErrorKind::BodyMismatch.name()).is_some_and(|count| *count > 0);
    let ends = |reason: &Reason| ENDS.contains(&reason.code) || (wrong && reason.code == Code::WrongAnswer);
    let mut reasons = trial.verdict.reasons.iter().filter(|reason| reason.effect == Effect::Invalid);
    reasons.find(|reason| ends(reason)).map(|reason| reason.detail.clone())
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct JudgedProbe {
    pub(super) answer: Answer,
    pub(super) why: String,
    pub(super) undecided: Option<String>,
    pub(super) not_judged: Vec<String>,
}

impl JudgedProbe {
    pub(super) fn failed(why: impl Into<String>) -> JudgedProbe {
        JudgedProbe::new(Answer::Failed, why)
    }

    fn new(answer: Answer, why: impl Into<String>) -> JudgedProbe {
        JudgedProbe { answer, why: why.into(), undecided: None, not_judged: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limited {
    pub(super) beyond: u64,
    pub(super) of: u64,
    pub(super) allowed: f64,
}

/// What a trial has beyond each limit that is one on a share of its requests: those of thresholds on percentiles and
/// failures, then failures unless a threshold is about these.
pub(super) fn beyond_limits(trial: &Trial, slos: &[Slo]) -> Vec<Limited> {
    let requests = &trial.requests;
    let ended = requests.failed + requests.completed;
    let mut limits: Vec<Limited> = slos
        .iter()
        .filter_map(|slo| slo.share_beyond(trial))
        .map(|(beyond, of, allowed)| Limited { beyond, of, allowed })
        .collect();
    if !slos.iter().any(Slo::is_of_errors) {
        limits.push(Limited { beyond: requests.failed, of: ended, allowed: ERRORS_MAX_SHARE });
    }
    limits
}

/// What a server completed per second where it did not carry all that came due: as much as it can.
pub(super) fn most_carried(trial: &Trial) -> Option<f64> {
    let is_short = trial.outcome == Outcome::Overloaded || carried_share(trial) < 1.0 - UNCARRIED_MAX_SHARE;
    is_short.then_some(trial.throughput.requests_per_s.point)
}

/// Whether a trial's rate is sustained, and why (not); `hopeless` says why it was ended early.
pub(super) fn sustained(trial: &Trial, slos: &[Slo], hopeless: Option<String>) -> JudgedProbe {
    let reasons = &trial.verdict.reasons;
    if let Some(fault) = reasons.iter().find(|reason| OUT_OF_REACH.contains(&reason.code)) {
        return JudgedProbe::new(Answer::OutOfReach, fault.code.words());
    }
    if let Some(why) = trial.every_response().or(hopeless) {
        return JudgedProbe::failed(why);
    }
    match trial.outcome {
        Outcome::Broken => return JudgedProbe::failed("broken: most requests failed"),
        Outcome::Overloaded => return JudgedProbe::failed("the backlog grew until the end"),
        Outcome::Carried => {}
    }
    let ended = trial.requests.failed + trial.requests.completed;
    if ended < ENDED_MIN {
        return JudgedProbe::failed(format!("{ended} requests are too few to decide"));
    }
    let failed = share(trial.requests.failed, ended);
    if failed >= ERRORS_MAX_SHARE && !slos.iter().any(Slo::is_of_errors) {
        return JudgedProbe::failed(format!("{:.2} % failed", failed * 100.0));
    }
    let carried = carried_share(trial);
    if carried < 1.0 - UNCARRIED_MAX_SHARE {
        return JudgedProbe::failed(format!("completed only {:.1} % of the load", carried * 100.0));
    }
    let (mut undecided, mut not_judged) = (Vec::new(), Vec::new());
    for slo in slos {
        let held = slo.hold(trial, None);
        let missed = match slo.share_beyond(trial) {
            Some((beyond, of, allowed)) => share(beyond, of) > allowed,
            None => {
                held.decision == Decision::Missed
                    || (held.decision == Decision::Undecided && held.point_within == Some(false))
            }
        };
        if missed {
            return JudgedProbe::failed(format!("{slo}: {}", held.seen));
        }
        if held.not_judged {
            not_judged.push(format!("{slo}: {}; to decide it: longer probes (-d)", held.seen));
        }
        if held.decision == Decision::Undecided {
            undecided.push(format!("{slo} is undecided ({})", held.seen));
        }
    }
    let undecided = (!undecided.is_empty()).then(|| undecided.join(", "));
    JudgedProbe { undecided, not_judged, ..JudgedProbe::new(Answer::Passed, "sustained") }
}

/// The share of the requests that came due (Poisson arrivals are not as many in every window) that was carried.
fn carried_share(trial: &Trial) -> f64 {
    let carried = carried(&trial.requests, trial.latency.service.mean_ns, trial.window.duration_ns);
    share(carried, trial.requests.scheduled)
}

/// The requests that came due which completed, or were in flight at the window's end as Little's law has it: rate times
/// service time, at low rates one of few.
fn carried(requests: &RequestCounts, service_ns: Option<u64>, window_ns: u64) -> u64 {
    let span = u128::from(requests.completed) * u128::from(service_ns.unwrap_or(0));
    let usual = u64::try_from(span.div_ceil(u128::from(window_ns.max(1)))).unwrap_or(u64::MAX);
    requests.completed + requests.in_flight.min(usual)
}

/// Sees from snapshots that a probe can only fail: what its end would say is decided before.
#[derive(Debug)]
pub(super) struct Hopeless {
    rate: Option<Rate>,
    due: f64,
    /// Thresholds on response percentiles: the share of requests that may be beyond, and what they may not be.
    limits: Vec<(f64, u64, String)>,
    errors: f64,
}

/// Poisson arrivals are as many as asked give or take their root; four of these are exceeded once in 30,000 windows.
fn at_most(due: f64, arrivals: &Arrivals) -> f64 {
    if matches!(arrivals, Arrivals::Poisson(_)) { due + 4.0 * due.sqrt() } else { due }
}

/// A backlog of so much time's requests is not noise.
const HOPELESS_NS: u64 = 500_000_000;

impl Hopeless {
    pub(super) fn of(plan: &Plan, slos: &[Slo]) -> Hopeless {
        let rate = plan.arrivals.rate();
        let seconds = plan.stop.duration.unwrap_or_default().as_secs_f64();
        let limit = |slo: &Slo| {
            let (_, quantile, limit_ns) = slo.response_percentile()?;
            Some((1.0 - quantile, limit_ns, slo.to_string()))
        };
        Hopeless {
            rate,
            due: rate.map_or(f64::INFINITY, |rate| at_most(rate.as_per_s() * seconds, &plan.arrivals)),
            limits: slos.iter().filter_map(limit).collect(),
            errors: slos.iter().filter_map(Slo::errors_limit).fold(ERRORS_MAX_SHARE, f64::max),
        }
    }

    pub(super) fn by_backlog(self) -> Hopeless {
        Hopeless { limits: Vec::new(), errors: f64::INFINITY, ..self }
    }

    pub(super) fn why(&self, snapshot: &Snapshot) -> Option<String> {
        let rate = self.rate?;
        let tolerated = rate.due_before(snapshot.elapsed_ns.saturating_sub(HOPELESS_NS));
        if snapshot.elapsed_ns > 2 * HOPELESS_NS && snapshot.sent < tolerated {
            return Some("the backlog grew to half a second".to_owned());
        }
        // Of all that is due in the window, more than may has failed already, or took too long.
        let so_far = &snapshot.so_far;
        if so_far.failed as f64 > self.errors * self.due && so_far.failed >= ENDED_MIN {
            return Some(format!("{} requests failed before its end", so_far.failed));
        }
        let slow = |limit_ns: u64| so_far.shape.beyond(limit_ns) + so_far.failed;
        let missed =
            |(share, limit_ns, _): &&(f64, u64, String)| slow(*limit_ns) as f64 > share * self.due + 1.0;
        self.limits.iter().find(missed).map(|(_, _, slo)| format!("{slo}: missed before its end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_load::live_summary::{CoarseHistogram, LiveSummary};
    use prony_model::Target;
    use prony_model::histogram::Histogram;
    use prony_model::plan::Stop;
    use std::time::Duration;

    fn probe(rate: f64, seconds: u64, slos: &[&str]) -> Hopeless {
        let plan = Plan {
            arrivals: Arrivals::Constant(Rate::per_s(rate).unwrap()),
            stop: Stop { duration: Some(Duration::from_secs(seconds)), requests: None },
            ..Plan::closed(Target::parse("http://127.0.0.1/").unwrap())
        };
        let slos: Vec<Slo> = slos.iter().map(|slo| Slo::parse(slo).unwrap()).collect();
        Hopeless::of(&plan, &slos)
    }

    #[test]
    fn a_backlog_of_half_a_second_ends_the_probe() {
        let probe = probe(1_000.0, 5, &[]);
        let at = |ms: u64, sent: u64| Snapshot { elapsed_ns: ms * 1_000_000, sent, ..Snapshot::default() };
        assert_eq!(probe.why(&at(2_000, 1_600)), None);
        assert!(probe.why(&at(2_000, 1_400)).unwrap().contains("backlog"));
        assert_eq!(probe.why(&at(900, 0)), None, "too early to say");
        assert_eq!(Hopeless { rate: None, ..probe }.why(&at(5_000, 0)), None);
    }

    #[test]
    fn a_threshold_that_can_only_be_missed_ends_the_probe() {
        // 5,000 are due: 50 may take longer than 50 ms.
        let slow = |count: u64, failed: u64| {
            let mut durations = Histogram::default();
            durations.record_n(1_000_000, 900);
            durations.record_n(200_000_000, count);
            let so_far =
                LiveSummary { failed, shape: CoarseHistogram::of(&durations), ..LiveSummary::default() };
            Snapshot { elapsed_ns: 1_500_000_000, sent: 1_500, so_far, ..Snapshot::default() }
        };
        let p99 = probe(1_000.0, 5, &["p99<50ms"]);
        assert_eq!(p99.why(&slow(49, 0)), None);
        assert_eq!(p99.why(&slow(60, 0)).unwrap(), "p99<50ms: missed before its end");
        assert_eq!(probe(1_000.0, 5, &["p99<500ms"]).why(&slow(60, 0)), None);
        assert_eq!(at_most(2_500.0, &Arrivals::Constant(Rate::per_s(1.0).unwrap())), 2_500.0);
        assert_eq!(at_most(2_500.0, &Arrivals::Poisson(Rate::per_s(1.0).unwrap())), 2_700.0);
        // A thousandth may fail, or what a threshold says.
        assert_eq!(probe(1_000.0, 20, &[]).why(&slow(0, 19)), None);
        assert!(probe(1_000.0, 20, &[]).why(&slow(0, 21)).unwrap().starts_with("21 requests failed"));
        assert_eq!(probe(1_000.0, 20, &["errors<5%"]).why(&slow(0, 21)), None);
    }

    #[test]
    fn a_request_on_its_way_at_the_end_counts_as_carried() {
        let requests = |scheduled, completed, in_flight| RequestCounts {
            scheduled,
            completed,
            in_flight,
            ..RequestCounts::default()
        };
        let (second_ns, service_ns) = (1_000_000_000, Some(2_000_000));
        let of =
            |requests: &RequestCounts| share(carried(requests, service_ns, second_ns), requests.scheduled);
        assert!((of(&requests(62, 61, 1)) - 1.0).abs() < 1e-9);
        // More than the rate and the service time explain were not carried.
        assert!(of(&requests(100, 90, 10)) < 0.92);
        assert!(of(&requests(62, 61, 0)) < 0.99);
    }
}
