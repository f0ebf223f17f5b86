//! Any text as what defines a load: a plan that can be run, or a sentence that says why not.

use std::time::Duration;

use prony_lab::experiment::{Experiment, ExperimentPlan};
use prony_model::plan::{DURATION_MAX, Expect};
use prony_model::units::{parse_duration, parse_rate, show_duration};
use prony_model::{Plan, Target};

/// The text as a duration, a rate, a URL, and an experiment.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    units(text);
    target(text);
    experiment(text);
}

/// An error for people: one line, of some words.
fn is_sentence(said: &str) {
    assert!(said.contains(' ') && !said.contains(['\n', '\r']), "{said:?} is no sentence");
}

fn units(text: &str) {
    match parse_duration(text) {
        Ok(duration) => {
            assert!(duration <= DURATION_MAX);
            assert_eq!(parse_duration(&show_duration(duration)), Ok(duration), "what is shown reads back");
        }
        Err(e) => is_sentence(&e.to_string()),
    }
    match parse_rate(text) {
        Ok(rate) => assert_eq!(parse_rate(&rate.to_string()), Ok(rate), "what is shown reads back"),
        Err(e) => is_sentence(&e.to_string()),
    }
}

fn target(text: &str) {
    match Target::parse(text) {
        Ok(target) => {
            assert!(target.path.starts_with('/') && !target.host.is_empty() && target.port > 0);
            let shown = target.display_url();
            let again = Target::parse(&shown).expect("what is shown reads back");
            assert_eq!((&again.host, again.port), (&target.host, target.port));
            assert!(again.path == target.path || shown.contains("[redacted]"), "{shown}");
            assert_eq!(again.userinfo, None, "{shown:?} shows credentials");
            // All of it can stand in a request's first lines.
            assert!(!format!("{}{}", target.path, target.host_header()).contains(char::is_control));
            Plan::closed(target).check().expect("the default plan can be run");
        }
        Err(e) => is_sentence(&e.to_string()),
    }
}

fn experiment(text: &str) {
    let read = match Experiment::parse("fuzz", "fuzz.toml", text) {
        Ok(read) => read,
        Err(e) => {
            assert!((1..=text.lines().count().max(1) + 1).contains(&e.line()), "{e}");
            return is_sentence(&e.to_string());
        }
    };
    let scales = ["short", "a", ""].map(|name| read.scaled(name).ok());
    for experiment in [Some(read)].into_iter().chain(scales).flatten() {
        assert!(!experiment.plans.is_empty() && !experiment.candidates.is_empty());
        assert!(experiment.blocks.min <= experiment.blocks.max);
        experiment.plans.iter().for_each(plan);
    }
}

fn plan(plan: &ExperimentPlan) {
    assert!(plan.load_time() > Duration::ZERO);
    let target = Target::parse("http://127.0.0.1/").expect("a URL");
    let aimed = plan.aimed(target, Expect::default(), &[0], 1);
    aimed
        .check()
        .unwrap_or_else(|e| panic!("an experiment was accepted with a plan that cannot be run: {e}"));
    is_sentence(&plan.named(&aimed).describe);
}
