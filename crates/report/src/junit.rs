//! A run as JUnit XML, for CI: a test case for each candidate under each plan.
//!
//! There is no standard; what is written is what the readers have in common
//! (Jenkins' junit plugin, GitLab, Azure DevOps): `testsuites`, a `testsuite`
//! a plan, `testcase` with at most one `failure` or `skipped`, and the figures
//! as `system-out`. Names, messages and figures come from outside and are escaped.

use std::collections::BTreeMap;

use prony_model::run_log::{RunLog, TrialResult};
use prony_model::slo::Decision;
use prony_model::trial::{Outcome, Validity};

use crate::format;
use crate::words;

/// Trials whose figures are written out in a case; of the others there is the number.
const TRIALS_MAX: usize = 50;

/// A run log as JUnit XML.
///
/// A case fails where a trial of it is invalid, was not measured, ended broken, or missed a threshold; it is
/// skipped where the candidate was, or where no trial of it ran. An overload is a finding and does not fail.
pub fn run(log: &RunLog) -> String {
    let mut cells: BTreeMap<(&str, &str), Vec<&TrialResult>> = BTreeMap::new();
    for result in &log.results {
        // A trial that was interrupted and run again counts once.
        let of_cell = cells.entry((&result.planned.plan, &result.planned.candidate)).or_default();
        of_cell.retain(|earlier| earlier.planned.index != result.planned.index);
        of_cell.push(result);
    }
    let header = &log.header;
    let plans = in_order(
        header.plans.iter().map(|p| p.name.as_str()),
        log.results.iter().map(|r| r.planned.plan.as_str()),
    );
    let candidates = in_order(
        header.candidates.iter().map(|c| c.label.as_str()),
        log.results.iter().map(|r| r.planned.candidate.as_str()),
    );
    let mut suites = Vec::new();
    for plan in &plans {
        let case = |candidate: &&str| {
            let results = cells.get(&(*plan, *candidate)).map_or(&[][..], Vec::as_slice);
            // Of `prony load` not every URL was loaded under every plan: what was never meant is no case.
            let planned = header.order.iter().any(|p| p.plan == *plan && p.candidate == **candidate);
            (planned || !results.is_empty()).then(|| Case::of(candidate, results))
        };
        let mut cases: Vec<Case> = candidates.iter().filter_map(case).collect();
        cases.extend(header.skipped.iter().map(|s| Case::skipped(&s.candidate, s.reason_and_fix())));
        suites.push((*plan, cases));
    }
    document(log, &suites)
}

/// Names once each: those of the header first, then what else the results have.
fn in_order<'a>(first: impl Iterator<Item = &'a str>, more: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    first.chain(more).filter(|name| seen.insert(*name)).collect()
}

/// What became of a case, unless it passed.
#[derive(Debug)]
enum CaseResult {
    Passed,
    /// Why, a line for each; the first word is the kind of the first.
    Failed(&'static str, Vec<String>),
    Skipped(String),
}

#[derive(Debug)]
struct Case {
    name: String,
    time_ns: u64,
    result: CaseResult,
    out: Vec<String>,
}

impl Case {
    fn skipped(name: &str, why: String) -> Case {
        Case { name: name.to_owned(), time_ns: 0, result: CaseResult::Skipped(why), out: Vec::new() }
    }

    fn of(name: &str, results: &[&TrialResult]) -> Case {
        if results.is_empty() {
            return Case::skipped(name, "No trial of it ran: the run ended before it.".to_owned());
        }
        let mut failures: Vec<(&'static str, String)> = Vec::new();
        let mut out = Vec::new();
        let mut time_ns: u64 = 0;
        for result in results {
            let who = format!("block {}", result.planned.block + 1);
            let Some(trial) = &result.trial else {
                let why = result.failure.as_deref().unwrap_or("nothing was measured");
                failures.push(("not_measured", format!("{who}: {why}")));
                continue;
            };
            time_ns = time_ns.saturating_add(trial.window.warmup_ns).saturating_add(trial.window.duration_ns);
            out.push(format!("{who}: {}", words::trial_line(trial)));
            if trial.verdict.validity == Validity::Invalid {
                let why: Vec<String> = trial
                    .verdict
                    .reasons
                    .iter()
                    .map(|r| format!("{}: {}", words::code(&r.code), r.detail))
                    .collect();
                failures.push(("invalid", format!("{who}: INVALID: {}", why.join("; "))));
            }
            if trial.outcome == Outcome::Broken {
                let r = &trial.requests;
                let ended = format::thousands(r.failed + r.completed);
                failures.push((
                    "broken",
                    format!("{who}: BROKEN: {} of {ended} requests failed", format::thousands(r.failed)),
                ));
            }
            for held in trial.slo.iter().filter(|held| held.decision == Decision::Missed) {
                failures.push(("threshold", format!("{who}: MISSED {}: {}", held.slo, held.seen)));
            }
        }
        let result = match failures.first() {
            None => CaseResult::Passed,
            Some((kind, _)) => {
                CaseResult::Failed(kind, failures.iter().map(|(_, line)| line.clone()).collect())
            }
        };
        Case { name: name.to_owned(), time_ns, result, out }
    }
}

fn document(log: &RunLog, suites: &[(&str, Vec<Case>)]) -> String {
    let header = &log.header;
    let all: Vec<&Case> = suites.iter().flat_map(|(_, cases)| cases).collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<testsuites name=\"{}\"{}>\n", escaped(&header.title), counts(&all)));
    for (plan, cases) in suites {
        let name = format!("{} {plan}", header.name);
        let cases: Vec<&Case> = cases.iter().collect();
        let stamp = stamp(&header.created_at).map_or(String::new(), |at| format!(" timestamp=\"{at}\""));
        out.push_str(&format!("  <testsuite name=\"{}\"{}{stamp}>\n", escaped(&name), counts(&cases)));
        for case in cases {
            push(&mut out, case, &format!("{}.{plan}", header.name));
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts(cases: &[&Case]) -> String {
    let failed = cases.iter().filter(|c| matches!(c.result, CaseResult::Failed(..))).count();
    let skipped = cases.iter().filter(|c| matches!(c.result, CaseResult::Skipped(_))).count();
    let time_ns = cases.iter().fold(0_u64, |sum, c| sum.saturating_add(c.time_ns));
    format!(
        " tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\" time=\"{:.3}\"",
        cases.len(),
        time_ns as f64 / 1e9
    )
}

fn push(out: &mut String, case: &Case, class: &str) {
    out.push_str(&format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\">\n",
        escaped(class),
        escaped(&case.name),
        case.time_ns as f64 / 1e9
    ));
    let lines = |lines: &[String]| {
        let mut shown: Vec<String> = lines.iter().take(TRIALS_MAX).map(|line| escaped(line)).collect();
        if lines.len() > TRIALS_MAX {
            shown.push(format!("… and {} more", lines.len() - TRIALS_MAX));
        }
        shown.join("\n")
    };
    match &case.result {
        CaseResult::Passed => {}
        CaseResult::Failed(kind, why) => {
            let first = why.first().map(|line| escaped(line)).unwrap_or_default();
            out.push_str(&format!(
                "      <failure type=\"{kind}\" message=\"{first}\">{}</failure>\n",
                lines(why)
            ));
        }
        CaseResult::Skipped(why) => out.push_str(&format!("      <skipped message=\"{}\"/>\n", escaped(why))),
    }
    if !case.out.is_empty() {
        out.push_str(&format!("      <system-out>{}</system-out>\n", lines(&case.out)));
    }
    out.push_str("    </testcase>\n");
}

/// Seconds without a zone, as the schemas that readers share have it; `None` of what is no RFC 3339 time.
fn stamp(created_at: &str) -> Option<&str> {
    let at = created_at.get(..19)?;
    let shaped = at.bytes().enumerate().all(|(i, b)| match i {
        4 | 7 => b == b'-',
        10 => b == b'T',
        13 | 16 => b == b':',
        _ => b.is_ascii_digit(),
    });
    shaped.then_some(at)
}

/// A text as character data or an attribute's value. What XML 1.0 does not have (2.2: control characters,
/// U+FFFE, U+FFFF) becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in format::printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use prony_model::Trial;
    use prony_model::slo::SloRecord;

    use super::*;
    use crate::fixtures;

    fn attribute(document: &roxmltree::Document<'_>, element: &str, name: &str) -> Vec<String> {
        let all = document.descendants().filter(|n| n.has_tag_name(element));
        all.map(|n| n.attribute(name).unwrap_or("–").to_owned()).collect()
    }

    #[test]
    fn each_candidate_has_a_case_per_plan_and_skipped_candidates_are_skipped() {
        let text = run(&fixtures::run());
        let document = roxmltree::Document::parse(&text).unwrap();
        let root = document.root_element();
        assert_eq!(["tests", "failures", "skipped"].map(|a| root.attribute(a).unwrap()), ["8", "0", "2"]);
        assert_eq!(attribute(&document, "testsuite", "timestamp"), ["2026-03-01T10:00:00"; 2]);
        assert_eq!(
            attribute(&document, "testcase", "name"),
            ["nginx-fpm", "node-http", "hyper:b+c", "x", "nginx-fpm", "node-http", "hyper:b+c", "x"]
        );
        assert_eq!(attribute(&document, "skipped", "message"), ["not there"; 2]);
        let out = document.descendants().find(|n| n.has_tag_name("system-out")).unwrap().text().unwrap();
        assert_eq!(out.lines().count(), 3, "a line a block: {out}");
        assert!(out.contains("req/s") && out.contains("VALID"), "{out}");
    }

    #[test]
    fn invalid_broken_and_unmeasured_trials_and_missed_thresholds_fail() {
        let mut log = fixtures::run();
        let trial = |log: &mut RunLog, at: usize, change: fn(&mut Trial)| {
            change(log.results[at].trial.as_mut().unwrap());
        };
        trial(&mut log, 0, |t| t.verdict.validity = Validity::Invalid);
        trial(&mut log, 1, |t| t.outcome = Outcome::Broken);
        (log.results[2].trial, log.results[2].failure) = (None, Some("the port <was> taken".into()));
        trial(&mut log, 3, |t| t.outcome = Outcome::Overloaded);
        let slo =
            |decision| SloRecord { slo: "p99<5ms".into(), decision, seen: "9.61 ms".into(), to_decide: None };
        for (at, decision) in [(4, Decision::Missed), (5, Decision::Undecided), (6, Decision::Met)] {
            log.results[at].trial.as_mut().unwrap().slo = vec![slo(decision)];
        }
        let text = run(&log);
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(
            attribute(&document, "failure", "type"),
            ["invalid", "broken", "not_measured", "threshold"]
        );
        let messages = attribute(&document, "failure", "message");
        assert_eq!(messages[2], "block 1: the port <was> taken");
        assert_eq!(messages[3], "block 1: MISSED p99<5ms: 9.61 ms");
        assert_eq!(document.root_element().attribute("failures"), Some("4"));
    }

    #[test]
    fn the_xml_is_well_formed_for_unfinished_runs_and_hostile_names() {
        let mut log = fixtures::hostile_run();
        log.header.title.push_str("\u{0}\u{ffff}]]>");
        log.header.created_at = "\"><x".into();
        log.results.truncate(1);
        let text = run(&log);
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().attribute("skipped"), Some("7"));
        assert!(attribute(&document, "testsuites", "name")[0].starts_with("</title><script>"));
        assert!(document.descendants().all(|n| !n.has_tag_name("x")));
    }
}
