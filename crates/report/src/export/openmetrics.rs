//! Trials as OpenMetrics' text, for whoever keeps metrics. A sample says what stands in the trial, in base units
//! (seconds, bytes); what is withheld there has no sample here.

pub mod text;

use std::collections::BTreeMap;
use std::io::{self, Write};

use strum::VariantNames;

use prony_analysis::figure::Figure;
use prony_model::run_log::{RunLog, TrialResult};
use prony_model::server::ServerSamples;
use prony_model::trial::{Bound, Outcome, PERCENTILES, Summary, Trial, Validity};

use super::seconds;
use text::{Kind, Text, Value};

pub fn write(trial: &Trial, out: &mut dyn Write) -> io::Result<()> {
    let alone = Labelled { labels: Vec::new(), trial: Some(trial), server: None };
    out.write_all(text(&[alone]).as_bytes())
}

/// All trials of a run log, each by `experiment`, `candidate`, `plan`, `block` and `trial` (its number, from 0).
pub fn run(log: &RunLog) -> String {
    // A trial that was interrupted and run again has the same number: the later one is it.
    let latest: BTreeMap<u32, &TrialResult> =
        log.results.iter().map(|result| (result.planned.index, result)).collect();
    let labelled: Vec<Labelled<'_>> =
        latest.values().map(|result| Labelled::of(&log.header.name, result)).collect();
    text(&labelled)
}

struct Labelled<'a> {
    labels: Vec<(&'static str, String)>,
    trial: Option<&'a Trial>,
    server: Option<&'a ServerSamples>,
}

impl<'a> Labelled<'a> {
    fn of(experiment: &str, result: &'a TrialResult) -> Labelled<'a> {
        let planned = &result.planned;
        let labels = [
            ("experiment", experiment.to_owned()),
            ("candidate", planned.candidate.clone()),
            ("plan", planned.plan.clone()),
            ("block", planned.block.to_string()),
            ("trial", planned.index.to_string()),
        ];
        Labelled { labels: labels.into(), trial: result.trial.as_ref(), server: result.server.as_ref() }
    }

    fn with<'l>(&'l self, more: &[(&'l str, &'l str)]) -> Vec<(&'l str, &'l str)> {
        let own = self.labels.iter().map(|(name, value)| (*name, value.as_str()));
        own.chain(more.iter().copied()).collect()
    }
}

fn text(all: &[Labelled<'_>]) -> String {
    let mut text = Text::new();
    facts(&mut text, all);
    requests(&mut text, all);
    figures(&mut text, all);
    throughput(&mut text, all);
    latencies(&mut text, all);
    cpu(&mut text, all);
    text.end()
}

type Family<'a> = (&'a str, Kind, &'a str, &'a str);

/// A family of which `write` writes the samples of each trial that was measured.
fn family(
    text: &mut Text,
    all: &[Labelled<'_>],
    (name, kind, unit, help): Family<'_>,
    write: impl Fn(&mut Text, &Labelled<'_>, &Trial),
) {
    text.family(name, kind, unit, help);
    for one in all {
        if let Some(trial) = one.trial {
            write(text, one, trial);
        }
    }
}

/// A family with at most one sample a trial.
fn each<V: Into<Value>>(
    text: &mut Text,
    all: &[Labelled<'_>],
    head: Family<'_>,
    value: impl Fn(&Trial, &Labelled<'_>) -> Option<V>,
) {
    family(text, all, head, |text, one, trial| {
        if let Some(value) = value(trial, one) {
            text.sample(&one.with(&[]), value);
        }
    });
}

fn facts(text: &mut Text, all: &[Labelled<'_>]) {
    let help = "What was measured, and by what.";
    family(text, all, ("prony_trial", Kind::Info, "", help), |text, one, trial| {
        let more = [
            ("url", trial.target.url.as_str()),
            ("arrivals", trial.plan.arrivals.into()),
            ("tool_version", &trial.tool.version),
            ("judged_by", trial.judged_by()),
            ("started_at", &trial.started_at),
        ];
        text.sample(&one.with(&more), true);
    });
    text.family("prony_trial_measured", Kind::Gauge, "", "Whether the trial has a measurement.");
    for one in all {
        text.sample(&one.with(&[]), one.trial.is_some());
    }
    let help = "How far the figures can be trusted.";
    family(text, all, ("prony_trial_validity", Kind::StateSet, "", help), |text, one, trial| {
        text.states(&one.with(&[]), Validity::VARIANTS, trial.verdict.validity.into());
    });
    let help = "What became of the load.";
    family(text, all, ("prony_trial_outcome", Kind::StateSet, "", help), |text, one, trial| {
        text.states(&one.with(&[]), Outcome::VARIANTS, trial.outcome.into());
    });
    let help = "Reasons of the verdict, by their code.";
    family(text, all, ("prony_trial_verdict_reasons", Kind::Gauge, "", help), |text, one, trial| {
        // A code may have several reasons: it is written once, with their number, where it comes first.
        let reasons = &trial.verdict.reasons;
        for (at, reason) in reasons.iter().enumerate() {
            if reasons[..at].iter().all(|before| before.code != reason.code) {
                let n = reasons.iter().filter(|other| other.code == reason.code).count();
                text.sample(&one.with(&[("code", reason.code.name())]), n as u64);
            }
        }
    });
}

fn requests(text: &mut Text, all: &[Labelled<'_>]) {
    let help = "Requests that ended in the window, by result.";
    family(text, all, ("prony_trial_requests", Kind::Counter, "", help), |text, one, trial| {
        text.sample(&one.with(&[("result", "completed")]), trial.requests.completed);
        text.sample(&one.with(&[("result", "failed")]), trial.requests.failed);
    });
    let help = "Requests that had not ended when the window did.";
    family(text, all, ("prony_trial_unresolved_requests", Kind::Gauge, "", help), |text, one, trial| {
        text.sample(&one.with(&[("state", "in_flight")]), trial.requests.in_flight);
        text.sample(&one.with(&[("state", "never_sent")]), trial.requests.never_sent);
    });
    let counts = |text: &mut Text, one: &Labelled<'_>, label: &str, counts: &BTreeMap<String, u64>| {
        for (value, count) in counts {
            text.sample(&one.with(&[(label, value)]), *count);
        }
    };
    let help = "Responses in the window, by status.";
    family(text, all, ("prony_trial_answers", Kind::Counter, "", help), |text, one, trial| {
        counts(text, one, "status", &trial.status);
    });
    let help = "Failed requests in the window, by kind.";
    family(text, all, ("prony_trial_errors", Kind::Counter, "", help), |text, one, trial| {
        counts(text, one, "kind", &trial.errors);
    });
}

/// Every figure of the table that is no quantile: these are in the summaries of `latencies`.
fn figures(text: &mut Text, all: &[Labelled<'_>]) {
    for figure in Figure::all().filter(|figure| !figure.metric.is_empty()) {
        let (unit, one_of_it) = figure.unit.base();
        let name = format!("prony_trial_{}", figure.metric);
        each(text, all, (&name, Kind::Gauge, unit, figure.explain), |trial, one| {
            Some(figure.of_trial(trial, one.server)?.value / one_of_it)
        });
    }
}

fn throughput(text: &mut Text, all: &[Labelled<'_>]) {
    let (gauge, unit) = (Kind::Gauge, "requests_per_second");
    let help = "Lower end of its 95 % interval.";
    each(text, all, ("prony_trial_throughput_low_requests_per_second", gauge, unit, help), |t, _| {
        t.throughput.requests_per_s.ci_low
    });
    let help = "Upper end of its 95 % interval.";
    each(text, all, ("prony_trial_throughput_high_requests_per_second", gauge, unit, help), |t, _| {
        t.throughput.requests_per_s.ci_high
    });
    let help = "Whether the server carries at least the throughput: the client was the limit.";
    each(text, all, ("prony_trial_throughput_lower_bound", gauge, "", help), |t, _| {
        Some(t.throughput.bound == Bound::Lower)
    });
    let help = "Requests per second that were due, in open arrivals.";
    each(text, all, ("prony_trial_offered_requests_per_second", gauge, unit, help), |t, _| {
        t.throughput.offered_per_s
    });
    each(
        text,
        all,
        ("prony_trial_window_seconds", gauge, "seconds", "The length of the measurement window."),
        |t, _| Some(seconds(t.window.duration_ns)),
    );
}

type PickSummary = fn(&Trial) -> &Summary;

fn latencies(text: &mut Text, all: &[Labelled<'_>]) {
    let parts: [(&str, &str, PickSummary); 3] = [
        ("response", "From when a request was due to its last byte", |t| &t.latency.response),
        ("service", "From when a request was sent to its last byte", |t| &t.latency.service),
        ("first_byte", "From when a request was sent to its first byte", |t| &t.latency.first_byte),
    ];
    for (part, help, of) in parts {
        let name = format!("prony_trial_{part}_seconds");
        let help = format!(
            "{help}. Quantiles rank failed and waiting requests last; count and sum are of completed ones."
        );
        family(text, all, (&name, Kind::Summary, "seconds", &help), |text, one, trial| {
            let summary = of(trial);
            let quantile = |(field, quantile): &(&str, f64)| {
                Some((quantile.to_string(), seconds(summary.percentile(field)?)))
            };
            let quantiles: Vec<(String, f64)> = PERCENTILES.iter().filter_map(quantile).collect();
            let sum = seconds(summary.mean_ns.unwrap_or(0)) * summary.count as f64;
            text.summary(&one.with(&[]), &quantiles, summary.count, sum);
        });
        let name = format!("prony_trial_{part}_max_seconds");
        let help = format!("The longest {} of a completed request.", part.replace('_', " "));
        each(text, all, (&name, Kind::Gauge, "seconds", &help), |t, _| of(t).max_ns.map(seconds));
    }
}

fn cpu(text: &mut Text, all: &[Labelled<'_>]) {
    let help = "CPU time of the client's workers in the window.";
    each(text, all, ("prony_trial_client_cpu_seconds", Kind::Counter, "seconds", help), |t, _| {
        Some(seconds(t.client.cpu_ns))
    });
    let help = "CPU time of the server's processes in the window.";
    each(text, all, ("prony_trial_server_cpu_seconds", Kind::Counter, "seconds", help), |_, one| {
        Some(seconds(one.server?.window_cpu_ns))
    });
}

#[cfg(test)]
mod tests;
