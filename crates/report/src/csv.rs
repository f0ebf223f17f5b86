//! The rankings as CSV (RFC 4180), for spreadsheets and data frames.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_record::{Estimate, Trial};

const COLUMNS: [&str; 36] = [
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
/// are the verdicts' codes, separated by spaces. Lines end in CR LF.
pub fn experiment(analysis: &ExperimentAnalysis) -> String {
    let mut text = COLUMNS.join(",");
    text.push_str("\r\n");
    for plan in &analysis.plans {
        for row in &plan.rows {
            let fields: Vec<String> = fields(plan, row).iter().map(|f| quoted(f)).collect();
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
