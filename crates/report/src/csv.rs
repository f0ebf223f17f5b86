//! The rankings as CSV (RFC 4180), for spreadsheets and data frames.

use prony_analysis::experiment::{ExperimentAnalysis, PlanAnalysis, Row};
use prony_record::Estimate;

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
