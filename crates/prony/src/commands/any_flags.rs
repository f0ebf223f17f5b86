//! Any command line: a plan that can be run, or a sentence that says why not.

#![allow(unreachable_pub, reason = "a body that the fuzzer's binaries share")]

use clap::Parser;
use prony_model::Target;

use crate::cli::{Cli, Command, traps};
use crate::mutate;

/// An argument a line.
fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let arguments: Vec<String> = ["prony"].into_iter().chain(text.lines()).map(str::to_owned).collect();
    if let Some(sentence) = traps::check(&arguments) {
        return is_sentence(&sentence);
    }
    match Cli::try_parse_from(&arguments) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(Cli { command: Command::Load(arguments) }) => {
            let url = arguments.url.as_deref().unwrap_or("http://127.0.0.1:1/");
            let target = match Target::parse(url) {
                Ok(target) => target,
                Err(e) => return is_sentence(&e.to_string()),
            };
            let no_files = |_: &str, _: u64| Err("it is not there".to_owned());
            if let Err(why) = arguments.plan.plan(Some(target), &no_files) {
                is_sentence(&why.to_string());
            }
        }
        Ok(_) => {}
    }
}

fn is_sentence(said: &str) {
    assert!(said.contains(' ') && !said.contains('\n'), "{said:?} is no sentence");
}

#[test]
fn any_flags_are_a_plan_or_a_sentence() {
    mutate::play("flags", 10_000, check);
}
