//! What people see, whole.

use super::*;
use crate::fixtures;

fn plain() -> TerminalOptions {
    TerminalOptions::default()
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn a_valid_trial_in_closed_arrivals() {
    insta::assert_snapshot!(trial(&fixtures::closed(), &plain()), @"CLOSED");
}

#[test]
fn an_overloaded_trial_in_open_arrivals() {
    insta::assert_snapshot!(trial(&fixtures::overloaded(), &plain()), @"OVERLOADED");
}

#[test]
fn a_broken_trial() {
    insta::assert_snapshot!(trial(&fixtures::broken(), &plain()), @"BROKEN");
}

#[test]
fn a_doubtful_trial_says_what_is_doubtful() {
    insta::assert_snapshot!(trial(&fixtures::doubtful(), &plain()), @"DOUBTFUL");
}

#[test]
fn failures_come_first_when_they_are_a_reason() {
    let mut t = fixtures::closed();
    t.requests.failed = 12_400;
    t.errors = [("request_timeout".to_owned(), 12_400)].into();
    t.verdict.reasons = vec![fixtures::reason("errors", &[], prony_record::trial::Effect::Note)];
    let out = trial(&t, &plain());
    assert!(out.starts_with("2.9 % FAILED  13,870 req/s"), "{out}");
}

#[test]
fn an_open_trial_that_is_carried_asks_for_more() {
    let mut t = fixtures::overloaded();
    t.outcome = prony_record::trial::Outcome::Carried;
    t.verdict.reasons.clear();
    let out = trial(&t, &TerminalOptions { target: Some(String::new()), ..plain() });
    assert!(out.ends_with(" Next  prony load -c 500 -d 30s -R 32k\n"), "{out}");
}

#[test]
fn what_flags_cannot_tell_is_not_put_into_a_command() {
    let mut t = fixtures::closed();
    t.plan.headers = vec![("Authorization".into(), "[redacted]".into())];
    assert!(trial(&t, &plain()).contains(" Next  prony load … -c 100 -d 30s -R 10k\n"));
}

#[test]
fn a_run() {
    insta::assert_snapshot!(experiment(&fixtures::experiment(), &plain()), @"EXPERIMENT");
}

#[test]
fn a_run_with_hostile_labels_and_a_candidate_without_figures() {
    insta::assert_snapshot!(experiment(&fixtures::hostile(), &plain()), @"HOSTILE");
}

#[test]
fn everything_fits_80_columns() {
    let trials = [fixtures::closed(), fixtures::overloaded(), fixtures::broken(), fixtures::doubtful()];
    for text in trials.iter().map(|t| trial(t, &plain())) {
        assert!(widest(&text) <= 80, "{text}");
    }
    for a in [fixtures::experiment(), fixtures::hostile()] {
        let text = experiment(&a, &plain());
        assert!(widest(&text) <= 80, "{text}");
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    let colored = TerminalOptions { color: true, ..plain() };
    let strip = |text: &str| {
        let mut parts = text.split('\x1b');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.split_once('m').map_or(part, |(_, rest)| rest))
    };
    for t in [fixtures::closed(), fixtures::overloaded(), fixtures::broken(), fixtures::doubtful()] {
        let text = trial(&t, &colored);
        assert!(text.contains("\x1b[1"), "{text}");
        assert_eq!(strip(&text), trial(&t, &plain()));
    }
    let a = fixtures::experiment();
    assert_eq!(strip(&experiment(&a, &colored)), experiment(&a, &plain()));
}
