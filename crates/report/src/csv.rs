//! The rankings as CSV (RFC 4180), for spreadsheets and data frames.

use std::collections::BTreeSet;

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_analysis::published::PublishedFigures;
use prony_model::{Estimate, Trial};

const COLUMNS: [&str; 42] = [
    "plan",
    "candidate",
    "title",
    "language",
    "kind",
    "version",
    "workers",
    "keepalive",
    "rank_best",
    "rank_worst",
    "requests_per_s",
    "requests_per_s_ci_low",
    "requests_per_s_ci_high",
    "lower_bound",
    "ratio",
    "ratio_ci_low",
    "ratio_ci_high",
    "p50_ns",
    "p50_ci_low_ns",
    "p50_ci_high_ns",
    "p99_ns",
    "p99_ci_low_ns",
    "p99_ci_high_ns",
    "p99_censored_at_ns",
    "cpu_per_request_ns",
    "cpu_per_request_ci_low_ns",
    "cpu_per_request_ci_high_ns",
    "peak_memory_bytes",
    "startup_ns",
    "completed",
    "failed",
    "trials",
    "counted",
    "overloaded",
    "broken",
    "reasons",
    // What came later stands at the end: readers may go by position.
    "requests_per_cpu_s",
    "requests_per_cpu_s_ci_low",
    "requests_per_cpu_s_ci_high",
    "memory_growth_bytes_per_s",
    "memory_growth_ci_low_bytes_per_s",
    "memory_growth_ci_high_bytes_per_s",
];

const TRIAL_COLUMNS: [&str; 14] = [
    "name",
    "started_at",
    "url",
    "connections",
    "rate_per_s",
    "requests_per_s",
    "response_p50_ns",
    "response_p99_ns",
    "service_p50_ns",
    "service_p99_ns",
    "completed",
    "failed",
    "validity",
    "reasons",
];

/// One line per trial of `prony load`, after a line of column names; otherwise
/// as [`experiment`].
pub fn trials(trials: &[(String, Trial)]) -> String {
    let mut text = TRIAL_COLUMNS.join(",");
    text.push_str("\r\n");
    for (name, trial) in trials {
        let fields: Vec<String> = trial_fields(name, trial).iter().map(|f| quoted(f)).collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

fn trial_fields(name: &str, t: &Trial) -> [String; TRIAL_COLUMNS.len()] {
    let whole = |value: Option<u64>| value.map_or(String::new(), |v| v.to_string());
    let codes: Vec<&str> = t.verdict.reasons.iter().map(|r| r.code.as_str()).collect();
    [
        name.to_owned(),
        t.started_at.clone(),
        t.target.url.clone(),
        t.plan.connections.to_string(),
        t.plan.rate_per_s.map_or(String::new(), |rate| rate.to_string()),
        t.throughput.requests_per_s.point.to_string(),
        whole(t.latency.response.p50_ns),
        whole(t.latency.response.p99_ns),
        whole(t.latency.service.p50_ns),
        whole(t.latency.service.p99_ns),
        t.requests.completed.to_string(),
        t.requests.failed.to_string(),
        format!("{:?}", t.verdict.validity).to_lowercase(),
        codes.join(" "),
    ]
}

/// One line per plan and candidate, after a line of column names. Durations
/// are nanoseconds; a figure that is withheld is an empty field; `reasons`
/// are the verdicts' codes, separated by spaces. Of a run beside a source, what
/// that printed follows: its word for the candidate, its ratio to the same
/// baseline, why its row is doubted, and every figure that any of its rows has,
/// in the unit that the name ends in. Lines end in CR LF.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let theirs = published(analysis);
    let mut columns: Vec<String> = COLUMNS.map(str::to_owned).into();
    if let Some(figures) = &theirs {
        columns
            .extend(["name", "ratio", "doubt"].iter().chain(figures).map(|name| format!("published_{name}")));
    }
    let mut text = columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(",");
    text.push_str("\r\n");
    for plan in &analysis.plans {
        for row in &plan.rows {
            let mut fields = fields(plan, row);
            if let Some(figures) = &theirs {
                fields.extend(published_fields(row.published.as_ref(), figures));
            }
            let fields: Vec<String> = fields.iter().map(|f| quoted(f)).collect();
            text.push_str(&fields.join(","));
            text.push_str("\r\n");
        }
    }
    text
}

fn fields(plan: &PlanAnalysis, row: &Row) -> Vec<String> {
    let mut fields = vec![plan.name.clone(), row.candidate.clone(), row.title.clone()];
    fields.extend([&row.language, &row.kind, &row.version].map(|text| text.clone().unwrap_or_default()));
    fields.extend([optional(row.workers), row.keepalive.to_string()]);
    fields.extend([optional(row.rank.map(|r| r.0)), optional(row.rank.map(|r| r.1))]);
    fields.extend(interval(row.requests_per_s.as_ref()));
    fields.push(row.lower_bound.to_string());
    fields.extend(interval(row.ratio.as_ref()));
    fields.extend(interval(row.p50_ns.as_ref()));
    fields.extend(interval(row.p99_ns.as_ref()));
    fields.push(optional(row.p99_censored_at_ns));
    fields.extend(interval(row.cpu_per_request_ns.as_ref()));
    fields.push(optional(row.peak_memory_bytes));
    fields.push(optional(row.startup_ns.as_ref().map(|e| e.point)));
    fields.extend([row.completed, row.failed].map(|n| n.to_string()));
    fields.extend([row.trials, row.counted, row.overloaded, row.broken].map(|n| n.to_string()));
    fields.push(row.reasons.iter().map(|r| r.code.as_str()).collect::<Vec<_>>().join(" "));
    fields.extend(interval(row.requests_per_cpu_s.as_ref()));
    fields.extend(interval(row.memory_growth_bytes_per_s.as_ref()));
    fields
}

/// The names of the figures that a source printed; `None` where there is no source.
fn published(analysis: &ExperimentAnalysis) -> Option<Vec<&str>> {
    analysis.published.as_ref()?;
    let rows = analysis.plans.iter().flat_map(|plan| &plan.rows).filter_map(|row| row.published.as_ref());
    let names: BTreeSet<&str> = rows.flat_map(|row| row.figures.keys()).map(String::as_str).collect();
    Some(names.into_iter().collect())
}

fn published_fields(row: Option<&PublishedFigures>, figures: &[&str]) -> Vec<String> {
    let mut fields = vec![
        row.map(|row| row.name.clone()).unwrap_or_default(),
        optional(row.and_then(|row| row.ratio)),
        row.and_then(|row| row.doubt.clone()).unwrap_or_default(),
    ];
    fields.extend(figures.iter().map(|name| optional(row.and_then(|row| row.figures.get(*name)))));
    fields
}

fn optional(value: Option<impl ToString>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

fn interval(estimate: Option<&Estimate>) -> [String; 3] {
    match estimate {
        Some(e) => [e.point.to_string(), optional(e.ci_low), optional(e.ci_high)],
        None => Default::default(),
    }
}

/// A field, quoted where RFC 4180 asks for it.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn every_line_has_every_column() {
        let text = experiment(&fixtures::experiment());
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!(lines.len(), 1 + 9);
        assert!(lines[0].starts_with("plan,candidate,title,"));
        // None of the fixture's fields has a comma in it.
        assert!(lines.iter().all(|line| line.split(',').count() == COLUMNS.len()), "{text}");
    }

    #[test]
    fn what_a_source_printed_has_columns_of_its_own() {
        let read = |text: String| -> Vec<Vec<String>> {
            let lines = text.split_terminator("\r\n");
            lines.map(|line| line.split(',').map(|f| f.replace('"', "")).collect()).collect()
        };
        let table = read(experiment(&fixtures::with_times()));
        let from = COLUMNS.len();
        let tail =
            ["published_name", "published_ratio", "published_doubt", "published_p50_ms", "published_p99_ms"];
        assert_eq!(table[0][from..], tail);
        assert_eq!(table[1][from..], ["their amphp:opcache", "", "", "1.63", "5.72"]);
        assert_eq!(table[3][from..], [""; 5]);
        let ramp = experiment(&fixtures::with_ramp());
        assert!(ramp.contains("published_failed_share_at_least,published_peak_requests_per_s\r\n"), "{ramp}");
        assert!(ramp.contains(",\"Windows refuses, Linux drops\",0.8,3475\r\n"), "{ramp}");
        let ratios = experiment(&fixtures::with_published());
        assert!(ratios.contains(",node,1.5,,1423\r\n"), "{ratios}");
    }

    #[test]
    fn a_rows_cpu_and_memory_are_there_in_both_forms() {
        let text = experiment(&fixtures::experiment());
        let mut lines = text.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
        let (head, first) = (lines.next().unwrap(), lines.next().unwrap());
        let of = |name: &str| first[head.iter().position(|h| *h == name).unwrap()].parse::<f64>().unwrap();
        assert!((of("requests_per_cpu_s") * of("cpu_per_request_ns") / 1e9 - 1.0).abs() < 1e-9);
        assert!(of("memory_growth_ci_low_bytes_per_s") < of("memory_growth_bytes_per_s"));
    }

    #[test]
    fn every_trial_has_a_line() {
        let text =
            trials(&[("a, b".to_owned(), fixtures::closed()), ("c".to_owned(), fixtures::overloaded())]);
        let lines: Vec<&str> = text.split_terminator("\r\n").collect();
        assert_eq!((lines.len(), lines[0].split(',').count()), (3, TRIAL_COLUMNS.len()));
        assert!(lines[1].starts_with("\"a, b\",") && lines[1].contains(",valid,"), "{}", lines[1]);
    }

    #[test]
    fn quotes_what_would_break_a_line() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
    }

    #[test]
    fn a_withheld_figure_is_an_empty_field() {
        let text = experiment(&fixtures::hostile());
        assert!(text.contains(",2000000000,"), "the censored p99 keeps its bound: {text}");
    }
}
