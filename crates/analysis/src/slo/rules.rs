//! The rules by which a threshold is met, missed or undecided in one trial.

use prony_model::code::Code;
use prony_model::histogram::highest_ns;
use prony_model::server::ServerSamples;
use prony_model::slo::Decision;
use prony_model::trial::{Bound, Outcome, Summary, Trial};
use prony_model::unit::Unit;
use prony_stats::CONFIDENCE;
use prony_stats::batch::design_effect;
use prony_stats::order::{Quantile, interval_ranks};
use prony_stats::student::{normal_two_sided, t_two_sided};

use super::{Held, Part};
use crate::figure::{Figure, OverTrials};
use crate::interval;
use crate::numbers::{real, real_len, rounded};
use crate::text::with_unit;

/// A percentile below a limit. Where the trial has the percentile's interval, that decides; where it is
/// withheld for want of samples, the number of requests above the limit may do so all the same.
pub(super) fn percentile_held(
    trial: &Trial,
    part: Part,
    (field, quantile): (&str, f64),
    limit_ns: u64,
) -> Held {
    let summary = part.summary(trial);
    if let Some(than) = summary.censored_at_ns.get(field) {
        let decision = if *than >= limit_ns { Decision::Missed } else { Decision::Undecided };
        let seen =
            format!("its rank falls among requests without a response: it is longer than {}", ms(*than));
        return Held::new(decision, Some(false), seen, longer(trial));
    }
    let point = summary.percentile(field);
    let within = point.map(|p| p < limit_ns);
    let (decision, point_within) = match summary.ci95.get(field) {
        _ if trial.outcome == Outcome::Broken => (Decision::Missed, within),
        Some([low, high]) if within.is_some() => (by_interval(*low, *high, limit_ns), within),
        _ => by_count(summary, trial, (field, quantile), limit_ns).unwrap_or((Decision::Undecided, within)),
    };
    let beyond = || format!("{} of the requests took longer", with_unit(Unit::Share, 1.0 - quantile));
    let seen = match (point, decision) {
        (Some(point), _) => ms(point),
        (None, Decision::Missed) if trial.outcome != Outcome::Broken => format!("more than {}", beyond()),
        (None, Decision::Met) => format!("less than {}", beyond()),
        (None, _) => "withheld, too few samples".to_owned(),
    };
    if decision == Decision::Missed && part == Part::Response && waits_for_client(trial) {
        let seen = format!("{seen}, and the client itself was saturated");
        return Held::new(Decision::Undecided, point_within, seen, "more client workers (-t) or cores");
    }
    let longer = longer(trial);
    let to_decide = match summary.needs_duration_ns.get(field) {
        Some(needs) if trial.plan.stages.is_empty() => format!("-d {}s", needs.div_ceil(1_000_000_000)),
        Some(needs) => format!("{longer}, {} s in all", needs.div_ceil(1_000_000_000)),
        None if summary.ci95.contains_key(field) => format!("{longer}: the interval holds {}", ms(limit_ns)),
        None => format!("{longer}: this window is too short for an interval"),
    };
    let not_judged = decision == Decision::Undecided && point.is_none();
    let seen = seen + &between(summary.ci95.get(field));
    Held { not_judged, ..Held::new(decision, point_within, seen, to_decide) }
}

/// ` (95 %: 1.20 ms to 1.31 ms)`; nothing without an interval.
fn between(interval: Option<&[u64; 2]>) -> String {
    interval.map_or_else(String::new, |[low, high]| format!(" (95 %: {} to {})", ms(*low), ms(*high)))
}

/// What makes a window longer.
fn longer(trial: &Trial) -> &'static str {
    if trial.plan.stages.is_empty() { "a longer load (-d)" } else { "longer stages" }
}

/// What decides a figure that has no interval where the load changes by plan.
fn one_rate(trial: &Trial) -> &'static str {
    if trial.plan.stages.is_empty() {
        return longer(trial);
    }
    "a load at one rate (-R, -d): in stages it has no interval"
}

/// Whether a saturated client's own lateness is in response: at a rate.
fn waits_for_client(trial: &Trial) -> bool {
    let saturated = trial.verdict.reasons.iter().any(|reason| reason.code == Code::ClientSaturated);
    saturated && trial.plan.rate_per_s.is_some()
}

/// Whether a figure is below a limit, by its interval.
pub(crate) fn by_interval<T: PartialOrd + Copy>(low: T, high: T, limit: T) -> Decision {
    if high < limit {
        Decision::Met
    } else if low >= limit {
        Decision::Missed
    } else {
        Decision::Undecided
    }
}

/// Where it is not known how requests depend on each other (under three seconds), a threshold is met or missed only if it
/// would be with its limit divided or multiplied by this. The factor is a choice.
const UNKNOWN_LEVEL: u64 = 2;

/// By how many of all requests ended below the limit, against the ranks between which the percentile
/// lies with 95 % (order statistics; David & Nagaraja, *Order Statistics*, 7.1); and whether enough of these did.
/// Requests that share a second's queue are counted as the fewer independent ones that they weigh as.
fn by_count(
    summary: &Summary,
    trial: &Trial,
    (field, quantile): (&str, f64),
    limit_ns: u64,
) -> Option<(Decision, Option<bool>)> {
    let within = |limit_ns: u64| {
        let below = summary.hdr.buckets().take_while(|(bucket, _)| highest_ns(*bucket) < limit_ns);
        below.map(|(_, count)| count).sum::<u64>()
    };
    let requests = &trial.requests;
    let n = summary.count + requests.failed + requests.never_sent;
    let q = Quantile::new(quantile)?;
    let enough = q.rank(n).map(|rank| within(limit_ns) >= rank);
    // What is in flight at the end may come to be on either side: it is decided only what is so both ways.
    let open = requests.in_flight;
    let decide = |limit_ns: u64, design_effect: f64| {
        let within = within(limit_ns);
        let least = by_weight(within, n + open, design_effect, q)?;
        let most = by_weight(within + open, n + open, design_effect, q)?;
        Some(if least == most { least } else { Decision::Undecided })
    };
    let decision = match summary.design_effect.get(field) {
        Some(design_effect) => decide(limit_ns, *design_effect)?,
        None if decide(limit_ns / UNKNOWN_LEVEL, 1.0)? == Decision::Met => Decision::Met,
        None if decide(limit_ns.saturating_mul(UNKNOWN_LEVEL), 1.0)? == Decision::Missed => Decision::Missed,
        None => Decision::Undecided,
    };
    Some((decision, enough))
}

/// Whether a share of `q` at least of all `n` requests is within, by the interval of the q-quantile's rank among the
/// fewer independent ones that they weigh as. What rounding to these moves is left undecided.
fn by_weight(within: u64, n: u64, design_effect: f64, q: Quantile) -> Option<Decision> {
    let weigh = |count: u64| real(count) / design_effect.max(1.0);
    let (fewest, most) = (rounded(weigh(within).floor()), rounded(weigh(within).ceil()));
    let (low, high) = interval_ranks(rounded(weigh(n).ceil()), q, CONFIDENCE)?;
    Some(match () {
        () if fewest >= high => Decision::Met,
        () if most < low => Decision::Missed,
        () => Decision::Undecided,
    })
}

/// By what requests are divided to count those that fail or not independently of others: failures come in bursts. 1
/// where none or all failed, and under three whole seconds, which do not say; what they do say is itself known from few.
fn errors_design_effect(trial: &Trial) -> f64 {
    let clusters: Vec<(u64, u64)> =
        trial.series.iter().map(|entry| (entry.completed + entry.failed, entry.failed)).collect();
    let known = || {
        let few = t_two_sided(real_len(clusters.len()) - 1.0, CONFIDENCE)? / normal_two_sided(CONFIDENCE);
        Some(design_effect(&clusters)? * few * few)
    };
    known().unwrap_or(1.0).max(1.0)
}

pub(super) fn errors_held(trial: &Trial, limit: f64) -> Held {
    let (failed, completed) = (trial.requests.failed, trial.requests.completed);
    let n = failed + completed;
    let share = (n > 0).then(|| real(failed) / real(n));
    let decision = Quantile::new(1.0 - limit)
        .and_then(|q| by_weight(completed, n, errors_design_effect(trial), q))
        .unwrap_or(Decision::Undecided);
    // The rule of three: without a failure, 3/n bounds the share with 95 % (Hanley & Lippman-Hand, 1983).
    let needed = rounded((3.7 / limit).ceil()).max(n.saturating_mul(2));
    let seen = match share {
        Some(share) => format!("{failed} of {n} failed ({:.3} %)", share * 100.0),
        None => "no response arrived".to_owned(),
    };
    Held::new(decision, share.map(|share| share < limit), seen, format!("{needed} requests or more"))
}

pub(super) fn throughput_held(trial: &Trial, limit: f64) -> Held {
    let estimate = &trial.throughput.requests_per_s;
    let exact = trial.throughput.bound == Bound::Exact;
    let decision = match (estimate.ci_low, estimate.ci_high) {
        (Some(low), _) if low > limit => Decision::Met,
        (_, Some(high)) if high <= limit && exact => Decision::Missed,
        _ => Decision::Undecided,
    };
    let at_least = if exact { "" } else { "at least " };
    let seen = format!("{at_least}{:.0} req/s", estimate.point);
    let to_decide = if exact { one_rate(trial) } else { "more client workers (-t) or cores" };
    Held::new(decision, Some(estimate.point > limit), seen, to_decide)
}

/// The mean of fewer answers is left undecided.
const MEAN_MIN: u64 = 30;
/// More requests without an answer than this share leave a figure over the answered ones undecided.
const UNANSWERED_MAX_SHARE: f64 = 0.05;

/// Whether so many requests had no answer that a figure over the answered ones says too little of all: it is too good
/// by what the others would add.
fn mostly_answered(trial: &Trial) -> bool {
    let requests = &trial.requests;
    let without = requests.failed + requests.in_flight + requests.never_sent;
    real(without) <= UNANSWERED_MAX_SHARE * real(without + requests.completed)
}

/// A figure that has no interval within a trial. The highest of all trials is what was needed, so it is met or missed
/// as it is; anything else needs several trials, whose interval decides (`slo_run`).
pub(super) fn value_held(figure: Figure, trial: &Trial, server: Option<&ServerSamples>, limit: f64) -> Held {
    let Some(value) = figure.of_trial(trial, server) else {
        let seen = "not measured".to_owned();
        return Held::new(
            Decision::Undecided,
            None,
            seen,
            "prony bench, which starts the server and samples it",
        );
    };
    let within = if figure.more_is_better { value.value > limit } else { value.value < limit };
    let decision = match figure.over_trials {
        OverTrials::Highest if within => Decision::Met,
        OverTrials::Highest => Decision::Missed,
        OverTrials::GeometricMean | OverTrials::Mean => Decision::Undecided,
    };
    Held::new(
        decision,
        Some(within),
        with_unit(figure.unit, value.value),
        "several trials (prony bench --blocks)",
    )
}

/// The mean below a limit, by its interval.
pub(super) fn mean_held(trial: &Trial, limit_ns: u64) -> Held {
    let response = &trial.latency.response;
    let interval = response.ci95.get(interval::MEAN).filter(|_| trial.requests.completed >= MEAN_MIN);
    // Who failed has no time that a mean could hold.
    let known_low = trial.requests.failed == 0 && mostly_answered(trial);
    let decision = match interval {
        _ if trial.outcome == Outcome::Broken => Decision::Missed,
        Some([low, high]) => match by_interval(*low, *high, limit_ns) {
            Decision::Met if !known_low => Decision::Undecided,
            decision => decision,
        },
        None => Decision::Undecided,
    };
    let to_decide =
        if known_low { one_rate(trial) } else { "a load in which every request gets its response" };
    one_figure(response.mean_ns, limit_ns, decision, &between(interval), to_decide)
}

/// The longest below a limit: of this window, which has no interval.
pub(super) fn max_held(trial: &Trial, limit_ns: u64) -> Held {
    let value = trial.latency.response.max_ns;
    let decision = match value {
        _ if trial.outcome == Outcome::Broken || trial.requests.failed > 0 => Decision::Missed,
        Some(value) if value >= limit_ns => Decision::Missed,
        Some(_) if mostly_answered(trial) => Decision::Met,
        _ => Decision::Undecided,
    };
    one_figure(value, limit_ns, decision, "", "a load in which every request gets its response")
}

fn one_figure(value: Option<u64>, limit_ns: u64, decision: Decision, between: &str, to_decide: &str) -> Held {
    let seen = value.map_or_else(|| "no response arrived".to_owned(), |value| ms(value) + between);
    Held::new(decision, value.map(|value| value < limit_ns), seen, to_decide)
}

fn ms(ns: u64) -> String {
    let ms = real(ns) / 1e6;
    let digits = if ms < 10.0 { 2 } else { usize::from(ms < 100.0) };
    format!("{ms:.digits$} ms")
}
