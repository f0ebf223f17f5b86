//! Texts that are the same in every view.

use prony_analysis::bisection::Found;
use prony_analysis::experiment::{ExperimentAnalysis, Row};
use prony_analysis::figure::Figure;
use prony_model::Estimate;
use prony_model::capacity::CapacityRecord;
use prony_model::plan::ArrivalKind;
use prony_model::tls::VerifyKind;
use prony_model::trial::{Bound, Clock, Effect, Outcome, Summary, TargetFigures, Trial};
use prony_model::unit::Unit;

use crate::format;

pub(crate) mod comparison;
mod controls;
mod history;
mod planning;
mod profile;
mod protocols;
mod published;
mod remarks;

pub(crate) use controls::twin;
pub(crate) use history::{
    ChangeWord, change, change_size, change_word, day, history_headline, minute, point, seconds_of,
    series_verdict, short_commit,
};
pub use planning::planning;
pub(crate) use planning::rank_changes;
pub(crate) use profile::{ProfileTable, profile};
pub(crate) use protocols::{ProtocolTable, protocols};
pub(crate) use published::{
    PublishedColumn, agreement, below, by_its_statistic, facts, judged_interval, judged_measured,
    judged_published, judged_value, judged_why, not_measured, published_columns, workers,
};
pub(crate) use remarks::{CellVerdict, own_remarks, row_mark, row_remarks, row_verdict, shared_remarks};

pub(crate) const WITHHELD: &str = "–";

/// The server and the settings of a label; a URL has a colon and no settings.
pub(crate) fn parts(label: &str) -> (&str, &str) {
    label.split_once(':').filter(|_| !label.contains('/')).unwrap_or((label, ""))
}

pub(crate) fn loud(word: impl Into<&'static str>) -> String {
    word.into().to_uppercase()
}

pub(crate) fn found(of: Found) -> &'static str {
    match of {
        Found::Bad => "bad",
        Found::Good => "good",
        Found::Open => "open",
        Found::Skipped => "skipped",
    }
}

/// What a search found: "about 1,800 req/s (95 %: 1,750 to 1,860), of one start".
pub(crate) fn capacity(found: &CapacityRecord) -> String {
    if let Some(why) = &found.void {
        return format!("aborted: {}", format::printable(why));
    }
    let Some(estimate) = &found.capacity_per_s else {
        let lowest = found.probes.iter().min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
        let said = lowest.map(|p| {
            let (rate, why) = (format::rate(p.rate_per_s), format::printable(&p.why));
            format!("not even {rate} req/s is sustained: {why}")
        });
        return said.unwrap_or_else(|| "no probe was made".to_owned());
    };
    let rate = format::rate(estimate.point);
    if found.bound == Bound::Lower {
        return format!("≥ {rate} req/s sustained: the client was the limit, not the server");
    }
    let why = estimate.no_interval.as_deref().map_or(String::new(), |why| format!(": {why}"));
    match found.interval() {
        Some((_, low, high)) => {
            format!(
                "about {rate} req/s (95 %: {} to {}), of one start",
                format::rate(low),
                format::rate(high)
            )
        }
        None => format!("about {rate} req/s, without an interval, of one start{why}"),
    }
}

/// What became of a trial: its outcome where that is a finding, its verdict, and whether it was ended early.
pub(crate) fn state(trial: &Trial) -> Vec<String> {
    let outcome = (trial.outcome != Outcome::Carried).then(|| loud(trial.outcome));
    let interrupted = trial.interrupted.then(|| "INTERRUPTED".to_owned());
    [outcome, Some(loud(trial.verdict.validity)), interrupted].into_iter().flatten().collect()
}

/// `not_steady` for people.
pub(crate) fn code(code: &str) -> String {
    format::printable(code).replace('_', " ")
}

/// The sign of what a reason does to a figure; the same before the reason and beside the figure.
pub(crate) fn effect_mark(effect: Effect) -> &'static str {
    match effect {
        Effect::Note => "·",
        Effect::Withheld => WITHHELD,
        Effect::LowerBound => "≥",
        Effect::Suspect => "?",
        Effect::Invalid => "✗",
    }
}

pub(crate) fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Kernel => "kernel clock",
        Clock::KernelUpper => "kernel, upper",
        Clock::User => "user clock",
    }
}

/// `p50_ns` as `p50`, `p9999_ns` as `p99.99`.
pub(crate) fn percentile(field: &str) -> &str {
    Figure::all().find(|figure| figure.field == field).map_or(field, |figure| figure.title)
}

/// The percentile fields of a trial's table, of those chosen: p99.999 only where there are samples enough for it.
pub(crate) fn shown_percentiles(trial: &Trial, chosen: fn(&Figure) -> bool) -> Vec<&'static str> {
    let head = headline(trial).1;
    let has = |field: &&str| *field != "p99999_ns" || head.percentile(field).is_some();
    let percentiles = Figure::all().filter(|figure| figure.quantile().is_some()).filter(chosen);
    percentiles.map(|figure| figure.field).filter(has).collect()
}

/// The summary of a trial's first line, with its name. In closed arrivals on kept connections no request waits before
/// it is sent: response time is service time, and called so.
pub(crate) fn headline(trial: &Trial) -> (&'static str, &Summary) {
    let waited = trial.latency.connect_wait.max_ns.unwrap_or(0) > 0;
    if trial.plan.arrivals == ArrivalKind::Closed && trial.plan.keepalive && !waited {
        ("service", &trial.latency.service)
    } else {
        ("response", &trial.latency.response)
    }
}

/// As [`headline`], of one request of a list.
pub(crate) fn headline_of<'a>(trial: &Trial, target: &'a TargetFigures) -> &'a Summary {
    if headline(trial).0 == "service" { &target.service } else { &target.response }
}

/// The requests of a list by mean, the slowest first; before them those without a response, last those never sent.
pub(crate) fn slowest_first(trial: &Trial) -> Vec<&TargetFigures> {
    let mut all: Vec<&TargetFigures> = trial.targets.iter().collect();
    let mean = |target: &TargetFigures| headline_of(trial, target).mean_ns.unwrap_or(u64::MAX);
    let sent = |target: &TargetFigures| target.completed + target.failed + target.waiting > 0;
    all.sort_by_key(|target| std::cmp::Reverse((sent(target), mean(target))));
    all
}

/// Percentiles in the table of a list's requests.
const REQUEST_PERCENTILES: [&str; 3] = ["p50_ns", "p90_ns", "p99_ns"];

/// The head of the table of a list's requests, after the column of their names.
pub(crate) fn request_head() -> impl Iterator<Item = String> {
    REQUEST_PERCENTILES.map(percentile).into_iter().chain(["mean", "completed", "failed"]).map(str::to_owned)
}

/// The cells below [`request_head`].
pub(crate) fn request_cells(trial: &Trial, target: &TargetFigures) -> impl Iterator<Item = String> {
    let summary = headline_of(trial, target);
    let percentiles = REQUEST_PERCENTILES.map(|field| percentile_cell(summary, field));
    let counts = [target.completed, target.failed].map(format::thousands);
    percentiles.into_iter().chain([milliseconds_cell(summary.mean_ns)]).chain(counts)
}

pub(crate) fn milliseconds_cell(ns: Option<u64>) -> String {
    ns.map_or_else(|| WITHHELD.to_owned(), |ns| format::milliseconds(ns as f64))
}

/// The worst mark that the verdict puts on a figure: on `throughput`, or on a summary by its JSON name.
pub(crate) fn figure_mark(trial: &Trial, figure: &str) -> &'static str {
    let worst = trial.verdict.reasons.iter().filter(|r| r.touches(figure)).map(|r| r.effect).max();
    match worst {
        Some(effect @ (Effect::Suspect | Effect::Invalid)) => effect_mark(effect),
        _ => "",
    }
}

/// [`figure_mark`] of [`headline`]: where service stands for response, what touches either marks it.
pub(crate) fn headline_mark(trial: &Trial) -> &'static str {
    match figure_mark(trial, headline(trial).0) {
        "" => figure_mark(trial, "response"),
        mark => mark,
    }
}

/// A percentile of a summary as text in a column of milliseconds: the figure, `–`, or `> 2 s`.
pub(crate) fn percentile_cell(summary: &Summary, field: &str) -> String {
    match (summary.percentile(field), summary.censored_at_ns.get(field)) {
        (Some(ns), _) => format::milliseconds(ns as f64),
        (None, Some(at)) => format!("> {}", format::short_duration(*at as f64)),
        (None, None) => WITHHELD.to_owned(),
    }
}

/// `≥ 13,870`, without a unit.
pub(crate) fn throughput(trial: &Trial) -> String {
    let bound = if trial.throughput.bound == Bound::Lower { "≥ " } else { "" };
    format!("{bound}{}", format::rate(trial.throughput.requests_per_s.point))
}

/// A trial's first figures: `13,870 req/s ±0.4 %`, `p50 6.98 ms`, `p99 9.61 ms`, with the marks that the verdict puts on them
/// where these are wanted.
pub(crate) fn lead(trial: &Trial, marks: bool) -> Vec<String> {
    let mark = |mark: &'static str| if marks { mark } else { "" };
    let throughput_mark = mark(figure_mark(trial, "throughput"));
    let pm = spaced_plus_minus(&trial.throughput.requests_per_s);
    let (_, summary) = headline(trial);
    let percentile = |field| match summary.percentile(field) {
        Some(ns) => {
            format!("{} {}{}", percentile(field), format::duration(ns as f64), mark(headline_mark(trial)))
        }
        None => format!("{} {}", percentile(field), percentile_cell(summary, field)),
    };
    let throughput = match throughput(trial) {
        rate if trial.is_carried_whole() => format!("all {rate}{throughput_mark} req/s completed"),
        rate => format!("{rate}{throughput_mark} req/s{pm}"),
    };
    [throughput].into_iter().chain(["p50_ns", "p99_ns"].map(percentile)).collect()
}

/// A trial in one line: `13,870 req/s ±0.4 %, p50 6.98 ms, p99 9.61 ms, 0 failed, VALID`.
pub(crate) fn trial_line(trial: &Trial) -> String {
    let mut parts = lead(trial, false);
    parts.push(format!("{} failed", format::thousands(trial.requests.failed)));
    parts.extend(state(trial));
    parts.join(", ")
}

/// [`plus_minus`] after a space; nothing without an interval.
pub(crate) fn spaced_plus_minus(estimate: &Estimate) -> String {
    plus_minus(estimate).map_or(String::new(), |pm| format!(" {pm}"))
}

/// `±0.4 %`, where there is an interval. One that says nothing is withheld where it is computed.
pub(crate) fn plus_minus(estimate: &Estimate) -> Option<String> {
    half_width(estimate).map(|half| format!("±{half}"))
}

/// The same without the sign, for a column under it: `0.4 %`.
pub(crate) fn half_width(estimate: &Estimate) -> Option<String> {
    estimate.relative_half_width().map(format::percent)
}

/// The load in a line: `GET / · 100 connections, closed loop · 30.0 s after 3.0 s warm-up`.
pub(crate) fn plan_line(trial: &Trial) -> String {
    let plan = &trial.plan;
    let length = format::seconds(trial.window.duration_ns);
    let length = match (plan.requests, plan.duration_ns) {
        (Some(n), None) => format!("{} in {length}", format::count(n, "request", "requests")),
        (_, Some(asked)) if trial.interrupted => format!("{length} of {}", format::seconds(asked)),
        _ => length,
    };
    let warmup = match trial.window.warmup_ns {
        0 => String::new(),
        ns => format!(" after {} warm-up", format::seconds(ns)),
    };
    let judged = trial.judged_by.as_ref().map_or(String::new(), |version| {
        format!(" · measured by Prony {}, judged by {version}", trial.tool.version)
    });
    format::printable(&format!("{} · {}{} · {length}{warmup}{judged}", plan.asked(), plan.load(), tls(trial)))
}

/// ` · TLS 1.3`, and whether the certificate was verified.
fn tls(trial: &Trial) -> String {
    let Some(plan) = &trial.plan.tls else { return String::new() };
    let version = trial.tls.as_ref().and_then(|tls| tls.version.as_deref()).unwrap_or_default();
    let unchecked = if plan.verify == VerifyKind::None { ", UNVERIFIED" } else { "" };
    format!(" · TLS{}{unchecked}", version.strip_prefix("TLSv").map_or(String::new(), |v| format!(" {v}")))
}

/// `9 candidates × 1 plan × 5 blocks = 45 trials`.
pub(crate) fn trial_shape(analysis: &ExperimentAnalysis) -> String {
    let planned = u64::from(analysis.trials.planned);
    let candidates = analysis.plans.iter().map(|p| p.rows.len() as u64).max().unwrap_or(0);
    let plans = analysis.plans.len() as u64;
    let trials = format::count(planned, "trial", "trials");
    let twins = u64::from(analysis.plans.iter().any(|plan| plan.twin.is_some()));
    if (candidates + twins) * plans * u64::from(analysis.blocks_planned) != planned {
        return trials;
    }
    format!(
        "{}{} × {} × {} = {trials}",
        format::count(candidates, "candidate", "candidates"),
        if twins > 0 { " and a twin" } else { "" },
        format::count(plans, "plan", "plans"),
        format::count(analysis.blocks_planned.into(), "block", "blocks"),
    )
}

/// `9 candidates × 1 plan × 5 blocks = 45 trials: 42 valid, 1 lower bound, 2 not counted`.
pub(crate) fn trial_counts(analysis: &ExperimentAnalysis) -> String {
    let t = &analysis.trials;
    let bounds = if t.lower_bound == 1 { "lower bound" } else { "lower bounds" };
    let kinds = [
        (t.valid, "valid"),
        (t.lower_bound, bounds),
        (t.suspect, "suspect"),
        (t.void, "not counted"),
        (t.missing, "missing"),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, kind)| format::count((*n).into(), kind, kind))
        .collect();
    let shape = trial_shape(analysis);
    if kinds.is_empty() { shape } else { format!("{shape}: {}", kinds.join(", ")) }
}

/// `3 min 42 s · seed 1 · server on CPU 1, client on CPU 0`.
pub(crate) fn conditions(analysis: &ExperimentAnalysis) -> String {
    let cpus = |cpus: &[u32]| match cpus {
        [] => "not pinned".to_owned(),
        [one] => format!("on CPU {one}"),
        many => format!("on CPUs {}", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut parts: Vec<String> = analysis.elapsed_ns.map(format::elapsed).into_iter().collect();
    parts.push(format!("seed {}", analysis.seed));
    parts.push(if analysis.server_cpus.is_empty() && analysis.client_cpus.is_empty() {
        "server and client not pinned".to_owned()
    } else {
        format!("server {}, client {}", cpus(&analysis.server_cpus), cpus(&analysis.client_cpus))
    });
    if let Some(server) = &analysis.server_host {
        let is_another = server.host.boot_id != analysis.host.boot_id;
        parts.push(match is_another {
            true => format!(
                "servers on another machine, {} ({}, {})",
                format::printable(&server.address),
                format::printable(&server.host.cpu_model),
                format::printable(&server.host.kernel)
            ),
            false => {
                format!("servers in another network of this machine, {}", format::printable(&server.address))
            }
        });
    }
    if analysis.interrupted {
        parts.push("INTERRUPTED".to_owned());
    }
    parts.join(" · ")
}

/// `1`, `1–2`, or `–` without a figure.
pub(crate) fn rank(row: &Row) -> String {
    match row.rank() {
        Some((best, worst)) if best == worst => best.to_string(),
        Some((best, worst)) => format!("{best}–{worst}"),
        None => WITHHELD.to_owned(),
    }
}

/// A row's requests per second: `≥ 13,870` or `–`.
pub(crate) fn row_rate(row: &Row) -> String {
    match row.throughput() {
        Some(e) if row.lower_bound() => format!("≥ {}", format::rate(e.point)),
        Some(e) => format::rate(e.point),
        None => WITHHELD.to_owned(),
    }
}

/// A ratio to the baseline: `3.10`, and `1` for the baseline itself.
pub(crate) fn ratio(estimate: &Estimate) -> String {
    if estimate.point == 1.0 && estimate.ci_low.is_none() {
        "1".to_owned()
    } else {
        format::significant(estimate.point, 3)
    }
}

/// A value in the unit that people read it in, without its name.
pub(crate) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::RequestsPerS | Unit::RequestsPerCpuS => format::rate(value),
        Unit::Milliseconds => format::milliseconds(value),
        Unit::Microseconds => format::significant(value / 1e3, 3),
        Unit::Megabytes | Unit::MegabytesPerS => format::significant(value / 1e6, 3),
        Unit::Share => format::percent(value),
        Unit::Ratio => format::significant(value, 4),
        Unit::Count => format::si(value),
    }
}

/// A value with the unit that suits its size: `13,870 req/s`, `1.20 ms`, `58.1 MB`.
pub(crate) fn with_unit(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Milliseconds | Unit::Microseconds => format::duration(value),
        Unit::Megabytes => format::bytes(value),
        Unit::MegabytesPerS => format!("{}/s", format::bytes(value)),
        Unit::RequestsPerS | Unit::RequestsPerCpuS | Unit::Share | Unit::Ratio | Unit::Count => {
            format!("{} {}", self::value(unit, value), unit.shown()).trim_end().to_owned()
        }
    }
}

pub(crate) fn row_figure(row: &Row, figure: Figure) -> String {
    let found = &row.figures[figure];
    match (&found.estimate, found.censored_at_ns) {
        (Some(e), _) => value(figure.unit, e.point),
        (None, Some(at)) => format!("> {}", format::short_duration(at as f64)),
        (None, None) => WITHHELD.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use prony_model::code::Code;

    #[test]
    fn percentiles_have_a_decimal_point_after_two_digits() {
        assert_eq!(
            ["p50_ns", "p99_ns", "p999_ns", "p9999_ns"].map(percentile),
            ["p50", "p99", "p99.9", "p99.99"]
        );
    }

    #[test]
    fn a_suspect_percentile_marks_its_own_summary_only() {
        let mut trial = fixtures::closed();
        trial.verdict.reasons =
            vec![fixtures::reason(Code::NotSteady, &["response.p99_ns"], Effect::Suspect)];
        assert_eq!(["response", "service", "throughput"].map(|f| figure_mark(&trial, f)), ["?", "", ""]);
    }

    #[test]
    fn a_note_marks_no_figure() {
        let mut trial = fixtures::closed();
        trial.verdict.reasons = vec![fixtures::reason(Code::ListenOverflow, &["throughput"], Effect::Note)];
        assert_eq!(figure_mark(&trial, "throughput"), "");
    }
}
