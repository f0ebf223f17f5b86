//! Any command line is a plan that can be run, or gets a message why not.

#![allow(unreachable_pub, reason = "a body that the fuzzer's binaries share")]

use clap::Parser;
use prony_model::Target;

use crate::cli::{Cli, Command, foreign_flags};
use crate::mutate;

fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let arguments: Vec<String> = ["prony"].into_iter().chain(text.lines()).map(str::to_owned).collect();
    if let Some(message) = foreign_flags::check(&arguments) {
        return is_sentence(&message);
    }
    match Cli::try_parse_from(&arguments) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(Cli { command: Command::Load(arguments) }) => {
            let url = arguments.common.url.as_deref().unwrap_or("http://127.0.0.1:1/");
            let target = match Target::parse(url) {
                Ok(target) => target,
                Err(e) => return is_sentence(&e.to_string()),
            };
            let no_files = |_: &str, _: u64| Err("it is not there".to_owned());
            if let Err(why) = arguments.common.plan.plan(Some(target), &no_files) {
                is_sentence(&why.to_string());
            }
        }
        Ok(_) => {}
    }
}

fn is_sentence(message: &str) {
    assert!(message.contains(' ') && !message.contains('\n'), "{message:?} is no sentence");
}

#[test]
fn any_command_line_is_a_plan_or_gets_a_message() {
    mutate::play("flags", 10_000, check);
}
