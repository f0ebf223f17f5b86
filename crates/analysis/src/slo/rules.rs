//! The rules by which a threshold is met, missed or undecided in one trial.

use prony_model::code::Code;
use prony_model::server::ServerSamples;
use prony_model::slo::Decision;
use prony_model::trial::{Bound, Outcome, SeriesPoint, Trial};
use prony_model::unit::Unit;
use prony_stats::Interval;
use prony_stats::parts::PARTS;
use prony_stats::share::{factor, share, weight};

use super::{Held, Part, not_below};
use crate::figure::{Figure, OverTrials};
use crate::interval;
use crate::numbers::{real, rounded};
use crate::text::with_unit;

/// The trial's interval decides, or where it is withheld the number of requests above the limit may all the same.
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
        Some((low, high)) if within.is_some() => (by_ends(*low, *high, limit_ns), within),
        _ => {
            let (n, over) = beyond(trial, part, limit_ns);
            let enough = (n > 0).then(|| real(over) <= (1.0 - quantile) * real(n));
            (by_parts(trial, part, quantile, limit_ns), within.or(enough))
        }
    };
    let took_longer = || format!("{} of the requests took longer", with_unit(Unit::Share, 1.0 - quantile));
    let seen = match (point, decision) {
        (Some(point), _) => ms(point),
        (None, Decision::Missed) if trial.outcome != Outcome::Broken => {
            format!("more than {}", took_longer())
        }
        (None, Decision::Met) => format!("less than {}", took_longer()),
        (None, _) => "withheld, too few samples".to_owned(),
    };
    if decision == Decision::Missed && part == Part::Response && waits_for_client(trial) {
        let seen = format!("{seen}, and the client itself was saturated");
        return Held::new(Decision::Undecided, point_within, seen, "more client workers (-t) or cores");
    }
    let longer = longer(trial);
    let to_decide = match summary.needs_duration_ns.get(field) {
        Some(needs) if !trial.plan.varies() => format!("-d {}s", needs.div_ceil(1_000_000_000)),
        Some(needs) => format!("{longer}, {} s in all", needs.div_ceil(1_000_000_000)),
        None if summary.ci95.contains_key(field) => format!("{longer}: the interval holds {}", ms(limit_ns)),
        None => format!("{longer}: this window is too short for an interval"),
    };
    let not_judged = decision == Decision::Undecided && point.is_none();
    let seen = seen + &between(summary.ci95.get(field));
    Held { not_judged, ..Held::new(decision, point_within, seen, to_decide) }
}

/// ` (95 %: 1.20 ms to 1.31 ms)`; nothing without an interval.
fn between(interval: Option<&(u64, Option<u64>)>) -> String {
    interval.map_or_else(String::new, |(low, high)| match high {
        Some(high) => format!(" (95 %: {} to {})", ms(*low), ms(*high)),
        None => format!(" (95 %: {} or more)", ms(*low)),
    })
}

fn longer(trial: &Trial) -> &'static str {
    match &trial.plan {
        plan if plan.replay.is_some() => "a longer part of the log",
        plan if plan.stages.is_empty() => "a longer load (-d)",
        _ => "longer stages",
    }
}

/// What decides a figure that has no interval where the load changes by plan.
fn one_rate(trial: &Trial) -> &'static str {
    match &trial.plan {
        plan if plan.replay.is_some() => "a load at one rate (-R, -d): in a replay it has no interval",
        plan if plan.varies() => "a load at one rate (-R, -d): in stages it has no interval",
        _ => longer(trial),
    }
}

/// Whether a saturated client's own lateness is in response: in an open loop.
pub(crate) fn waits_for_client(trial: &Trial) -> bool {
    let saturated = trial.verdict.reasons.iter().any(|reason| reason.code == Code::ClientSaturated);
    saturated && trial.plan.is_open()
}

pub(crate) fn by_interval<T: PartialOrd + Copy>(low: T, high: T, limit: T) -> Decision {
    if high < limit {
        Decision::Met
    } else if low >= limit {
        Decision::Missed
    } else {
        Decision::Undecided
    }
}

/// The same where there may be no upper end.
pub(crate) fn by_ends<T: PartialOrd + Copy>(low: T, high: Option<T>, limit: T) -> Decision {
    match high {
        Some(high) => by_interval(low, high, limit),
        None if low >= limit => Decision::Missed,
        None => Decision::Undecided,
    }
}

/// Whether so few or so many are beyond a percentile's limit that it is met or missed.
pub(crate) fn by_share(share: &Interval, quantile: f64) -> Decision {
    match 1.0 - quantile {
        allowed if share.high <= allowed => Decision::Met,
        allowed if share.low > allowed => Decision::Missed,
        _ => Decision::Undecided,
    }
}

/// A part's requests, and those not below the limit: also what failed or had already waited longer without a response.
pub(crate) fn beyond(trial: &Trial, part: Part, limit_ns: u64) -> (u64, u64) {
    let (times, failed, waiting) = (&part.summary(trial).hdr, trial.requests.failed, &trial.latency.waiting);
    let late = not_below(waiting, limit_ns);
    let n = times.len() + failed + if part == Part::Response { waiting.len() } else { late };
    (n, not_below(times, limit_ns) + failed + late)
}

pub(crate) fn failed(trial: &Trial) -> (u64, u64) {
    (trial.requests.completed + trial.requests.failed, trial.requests.failed)
}

/// The window in at most five parts of whole entries: requests that ended, and those that failed or took the limit.
fn parts(trial: &Trial, limit_ns: u64) -> Vec<(u64, u64)> {
    let (series, count) = (&trial.series, trial.series.len().min(PARTS));
    let part = |entries: &[SeriesPoint]| {
        entries.iter().fold((0, 0), |(n, over), entry| {
            (n + entry.completed + entry.failed, over + entry.failed + not_below(&entry.hdr, limit_ns))
        })
    };
    (0..count).map(|i| part(&series[i * series.len() / count..(i + 1) * series.len() / count])).collect()
}

/// Without an interval, by the share beyond the limit over the window's parts. A tail moves with the level, whether or
/// not this window shows it: its requests weigh as many independent ones as the median's. Only response has a series:
/// those of another part are taken to lie where as many of the longest responses do.
fn by_parts(trial: &Trial, part: Part, quantile: f64, limit_ns: u64) -> Decision {
    let (own, response) = (&part.summary(trial).hdr, &trial.latency.response.hdr);
    let within = 1.0 - real(not_below(own, limit_ns)) / real(own.len().max(1));
    let limit_ns =
        if part == Part::Response { limit_ns } else { response.value_at_quantile(within).saturating_add(1) };
    let mut clusters = parts(trial, limit_ns);
    let (t, late) = (factor(clusters.len()), not_below(&trial.latency.waiting, limit_ns));
    if let Some(last) = clusters.last_mut() {
        *last = (last.0 + late, last.1 + late);
    }
    let (n, over) = clusters.iter().fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1));
    // Under two seconds nothing shows how requests depend on each other: then all are beyond, or it is open.
    if clusters.len() < 2 && over < n {
        return Decision::Undecided;
    }
    let level = share(&parts(trial, response.value_at_quantile(0.5)), t, real(n));
    let known = level.filter(|level| level.low > 0.0 && level.point < 1.0).map(|level| weight(&level, t));
    let found = share(&clusters, t, known.unwrap_or(real(n)));
    found.map_or(Decision::Undecided, |found| by_share(&found, quantile))
}

pub(super) fn errors_held(trial: &Trial, limit: f64) -> Held {
    let (n, failed) = failed(trial);
    let seconds = trial.series.iter().map(|entry| (entry.completed + entry.failed, entry.failed));
    // Failures come in bursts. Under two seconds they are taken as independent.
    let mut clusters: Vec<(u64, u64)> = seconds.collect();
    if clusters.len() < 2 {
        clusters = vec![(n, failed)];
    }
    let found = share(&clusters, factor(clusters.len()), real(n));
    let decision = found.map_or(Decision::Undecided, |found| by_share(&found, 1.0 - limit));
    let share = (n > 0).then(|| real(failed) / real(n));
    // The rule of three with what Student's t adds for some ten seconds.
    let needed = rounded((4.0 / limit).ceil()).max(n.saturating_mul(2));
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

/// Whether a figure over the answered ones says too little of all: it is too good by what the others would add.
fn mostly_answered(trial: &Trial) -> bool {
    let requests = &trial.requests;
    let without = requests.failed + requests.in_flight + requests.never_sent;
    real(without) <= UNANSWERED_MAX_SHARE * real(without + requests.completed)
}

/// The same of a figure that no failed request has a part in.
pub(crate) fn answered(trial: &Trial) -> bool {
    trial.requests.failed == 0 && mostly_answered(trial)
}

/// Without an interval within a trial. The highest of all is what was needed, so it is met or missed as it is; anything
/// else needs several trials (`slo_run`).
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

pub(super) fn mean_held(trial: &Trial, limit_ns: u64) -> Held {
    let response = &trial.latency.response;
    let interval = response.ci95.get(interval::MEAN).filter(|_| trial.requests.completed >= MEAN_MIN);
    // Who failed has no time that a mean could hold.
    let known_low = answered(trial);
    let decision = match interval {
        _ if trial.outcome == Outcome::Broken => Decision::Missed,
        Some((low, high)) => match by_ends(*low, *high, limit_ns) {
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
