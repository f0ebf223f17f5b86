//! A run as JUnit XML, for CI: a test case for each candidate under each plan. There is no standard; what is written is
//! what the readers have in common (Jenkins' junit plugin, GitLab, Azure DevOps): `testcase` with at most one `failure`
//! or `skipped`, the figures as `system-out`. Texts come from outside and are escaped.

use std::collections::{BTreeMap, BTreeSet};

use prony_analysis::comparison::Comparison;
use prony_model::Tool;
use prony_model::run_log::{PlannedTrial, RunLog, TrialResult};
use prony_model::slo::{Decision, SloRecord};
use prony_model::trial::{Outcome, Reason, Validity};

use crate::page::shell::escape;
use crate::{format, words};

/// Trials whose figures are written out in a case; of the others there is the number.
const TRIALS_MAX: usize = 50;

/// A run log as JUnit XML. A case fails where a trial is invalid, not measured, broken or over a threshold, or one was
/// not judged; it is skipped where the candidate or all trials were. An overload is a finding and does not fail.
pub fn run(log: &RunLog) -> String {
    document(log, &suites(log))
}

/// The same with a case for the comparison of two candidates, failed by a sentence of `failed` or what was not judged.
pub fn compared(log: &RunLog, comparison: &Comparison, failed: &[String]) -> String {
    let case = Case {
        name: format!("{} against {}", comparison.b.candidate, comparison.a.candidate),
        failures: (failed.iter().map(|why| ("fail_if", why.clone())))
            .chain(comparison.not_judged.iter().map(|why| ("not_judged", why.clone())))
            .collect(),
        out: vec![comparison.headline.clone()],
        ..Case::default()
    };
    let mut suites = suites(log);
    suites.push(("comparison", vec![case]));
    document(log, &suites)
}

fn suites(log: &RunLog) -> Vec<(&str, Vec<Case>)> {
    let header = &log.header;
    let planned: BTreeSet<(&str, &str)> = header.order.iter().map(place).collect();
    // A trial that was interrupted and run again counts once.
    let mut last: BTreeMap<(&str, &str), Vec<&TrialResult>> = BTreeMap::new();
    for result in log.last_results().into_values() {
        last.entry(place(&result.planned)).or_default().push(result);
    }
    let plans = in_order(
        header.plans.iter().map(|p| p.name.as_str()),
        log.results.iter().map(|r| r.planned.plan.as_str()),
    );
    let candidates = in_order(
        header.candidates.iter().map(|c| c.label.as_str()),
        log.results.iter().map(|r| r.planned.candidate.as_str()),
    );
    let mut suites = Vec::new();
    for plan in plans {
        let case = |candidate: &&str| {
            let results = last.get(&(plan, *candidate)).map_or(&[][..], Vec::as_slice);
            // Of `prony load` not every URL was loaded under every plan: what was never meant is no case.
            let is_case = planned.contains(&(plan, *candidate)) || !results.is_empty();
            is_case.then(|| Case::of(candidate, results))
        };
        let mut cases: Vec<Case> = candidates.iter().filter_map(case).collect();
        cases.extend(header.skipped.iter().map(|s| Case::skipped(&s.candidate, s.reason_and_fix())));
        suites.push((plan, cases));
    }
    suites
}

fn place(planned: &PlannedTrial) -> (&str, &str) {
    (planned.plan.as_str(), planned.candidate.as_str())
}

/// Names once each: those of the header first, then what else the results have.
fn in_order<'a>(first: impl Iterator<Item = &'a str>, more: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    first.chain(more).filter(|name| seen.insert(*name)).collect()
}

/// A candidate under a plan; it passes where there are no failures and it is not skipped.
#[derive(Debug, Default)]
struct Case {
    name: String,
    time_ns: u64,
    /// Why it fails, each with its kind: the first one's is the case's.
    failures: Vec<(&'static str, String)>,
    skipped: Option<String>,
    out: Vec<String>,
}

impl Case {
    fn skipped(name: &str, why: String) -> Case {
        Case { name: name.to_owned(), skipped: Some(why), ..Case::default() }
    }

    fn of(name: &str, results: &[&TrialResult]) -> Case {
        if results.is_empty() {
            return Case::skipped(name, "None of its trials ran: the run ended before.".to_owned());
        }
        let mut case = Case { name: name.to_owned(), ..Case::default() };
        results.iter().for_each(|result| case.take(result));
        // As its exit code: where no trial has the figure.
        let all = || results.iter().filter_map(|result| result.trial.as_ref());
        for held in all().next().into_iter().flat_map(|trial| &trial.slo) {
            let is_it = |other: &SloRecord| other.slo == held.slo && other.not_judged;
            if all().all(|trial| trial.slo.iter().any(is_it)) {
                case.failures.extend(held.not_judged().map(|why| ("not_judged", why)));
            }
        }
        case
    }

    fn take(&mut self, result: &TrialResult) {
        let who = format!("block {}", result.planned.block + 1);
        let Some(trial) = &result.trial else {
            let why = result.failure.as_deref().unwrap_or("nothing was measured");
            return self.failures.push(("not_measured", format!("{who}: {why}")));
        };
        let time_ns = trial.window.warmup_ns.saturating_add(trial.window.duration_ns);
        self.time_ns = self.time_ns.saturating_add(time_ns);
        self.out.push(format!("{who}: {}", words::trial_line(trial)));
        if trial.verdict.validity == Validity::Invalid {
            let why = |reason: &Reason| format!("{}: {}", reason.code.words(), reason.detail);
            let why: Vec<String> = trial.verdict.reasons.iter().map(why).collect();
            self.failures.push(("invalid", format!("{who}: INVALID: {}", why.join("; "))));
        }
        if trial.outcome == Outcome::Broken {
            let ended = format::thousands(trial.requests.failed + trial.requests.completed);
            let failed = format::thousands(trial.requests.failed);
            self.failures.push(("broken", format!("{who}: BROKEN: {failed} of {ended} requests failed")));
        }
        for held in trial.slo.iter().filter(|held| held.decision == Decision::Missed) {
            self.failures.push(("threshold", format!("{who}: MISSED {}: {}", held.slo, held.seen)));
        }
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
        out.push_str("    <properties>\n");
        for (name, version) in [("measured_by", &header.tool.version), ("judged_by", &Tool::this().version)] {
            out.push_str(&format!("      <property name=\"{name}\" value=\"{}\"/>\n", escaped(version)));
        }
        out.push_str("    </properties>\n");
        for case in cases {
            push(&mut out, case, &format!("{}.{plan}", header.name));
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts(cases: &[&Case]) -> String {
    let failed = cases.iter().filter(|case| !case.failures.is_empty()).count();
    let skipped = cases.iter().filter(|case| case.skipped.is_some()).count();
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
    if let Some((kind, first)) = case.failures.first() {
        let (first, all) = (escaped(first), lines(case.failures.iter().map(|(_, why)| why)));
        out.push_str(&format!("      <failure type=\"{kind}\" message=\"{first}\">{all}</failure>\n"));
    }
    if let Some(why) = &case.skipped {
        out.push_str(&format!("      <skipped message=\"{}\"/>\n", escaped(why)));
    }
    if !case.out.is_empty() {
        out.push_str(&format!("      <system-out>{}</system-out>\n", lines(case.out.iter())));
    }
    out.push_str("    </testcase>\n");
}

fn lines<'a>(lines: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = lines.len().saturating_sub(TRIALS_MAX);
    let mut shown: Vec<String> = lines.take(TRIALS_MAX).map(|line| escaped(line)).collect();
    if more > 0 {
        shown.push(format!("… and {more} more"));
    }
    shown.join("\n")
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

/// A text as character data or an attribute's value; what XML 1.0 does not have (2.2) becomes U+FFFD.
fn escaped(text: &str) -> String {
    escape(text).replace('\'', "&apos;").replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
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
    fn each_candidate_has_a_case_per_plan_or_is_skipped() {
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
        assert_eq!(attribute(&document, "property", "name"), ["measured_by", "judged_by"].repeat(2));
        assert_eq!(attribute(&document, "property", "value")[1], Tool::this().version);
        let out = document.descendants().find(|n| n.has_tag_name("system-out")).unwrap().text().unwrap();
        assert_eq!(out.lines().count(), 3, "a line a block: {out}");
        assert!(out.contains("req/s") && out.contains("VALID"), "{out}");
    }

    #[test]
    fn invalid_or_unmeasured_trials_and_missed_thresholds_fail() {
        let mut log = fixtures::run();
        let trial = |log: &mut RunLog, at: usize, change: fn(&mut Trial)| {
            change(log.results[at].trial.as_mut().unwrap());
        };
        trial(&mut log, 0, |t| t.verdict.validity = Validity::Invalid);
        trial(&mut log, 1, |t| t.outcome = Outcome::Broken);
        (log.results[2].trial, log.results[2].failure) = (None, Some("the port <was> taken".into()));
        trial(&mut log, 3, |t| t.outcome = Outcome::Overloaded);
        let slo = |decision| SloRecord {
            slo: "p99<5ms".into(),
            decision,
            not_judged: false,
            seen: "9.61 ms".into(),
            to_decide: None,
        };
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
        // A figure that no trial of a case has.
        let mut log = fixtures::run();
        let withheld = SloRecord { not_judged: true, ..slo(Decision::Undecided) };
        for trial in log.results.iter_mut().filter_map(|result| result.trial.as_mut()) {
            trial.slo = vec![withheld.clone()];
        }
        let text = run(&log);
        let document = roxmltree::Document::parse(&text).unwrap();
        assert!(attribute(&document, "failure", "type").iter().all(|kind| kind == "not_judged"));
        assert_eq!(attribute(&document, "failure", "message")[0], "p99<5ms: 9.61 ms");
    }

    #[test]
    fn the_xml_is_well_formed_even_for_hostile_names() {
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
