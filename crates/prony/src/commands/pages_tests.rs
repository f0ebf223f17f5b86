//! The command lines of README.md and docs/ name commands and flags that there are.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;

use crate::cli::Cli;

/// Fewer than this mean that the test looks past the pages.
const LINES_MIN: usize = 200;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    docs.chain([root.join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
}

/// What a line of a page says behind `prony `, each up to the end of its code or command, without what stands in quotes.
fn said(line: &str) -> Vec<String> {
    let unquoted = |text: &str| {
        let outside = |mark: char, text: &str| text.split(mark).step_by(2).collect::<Vec<_>>().join("quoted");
        outside('"', &outside('\'', text))
    };
    let ends = ['`', '|', ';', '&', '#', '>', ')'];
    line.split("prony ").skip(1).map(|rest| unquoted(rest.split(ends).next().unwrap_or(""))).collect()
}

/// The first word that is no flag of the command it stands behind; `None` also where no command is named.
fn unknown(words: &str) -> Option<String> {
    let mut all = Cli::command();
    all.build();
    let mut at = &all;
    for word in words.split_whitespace() {
        if let Some(command) = at.find_subcommand(word) {
            at = command;
            continue;
        }
        let has = |known: &dyn Fn(&clap::Arg) -> bool| at.get_arguments().any(known);
        let is_known = match word.strip_prefix("--") {
            _ if at.get_name() == "prony" => return None,
            Some(long) => {
                let name = long.split(['=', ',', '.', '…']).next().unwrap_or(long);
                name.is_empty()
                    || has(&|arg| {
                        let aliases = arg.get_all_aliases().unwrap_or_default();
                        arg.get_long() == Some(name) || aliases.contains(&name)
                    })
            }
            None => match word.strip_prefix('-').and_then(|rest| rest.chars().next()) {
                Some(short) if short.is_ascii_alphabetic() => has(&|arg| {
                    let aliases = arg.get_all_short_aliases().unwrap_or_default();
                    arg.get_short() == Some(short) || aliases.contains(&short)
                }),
                _ => true,
            },
        };
        if !is_known {
            return Some(word.to_owned());
        }
    }
    None
}

#[test]
fn every_command_line_of_the_pages_names_flags_that_there_are() {
    assert_eq!(unknown("load http://h/ -c 5 --no-such-flag"), Some("--no-such-flag".to_owned()));
    let mut lines = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (number, line) in text.lines().enumerate() {
            for words in said(line) {
                lines += 1;
                wrong.extend(
                    unknown(&words)
                        .map(|word| format!("{}:{}: {word} in prony {words}", page.display(), number + 1)),
                );
            }
        }
    }
    assert!(wrong.is_empty() && lines >= LINES_MIN, "{lines} lines: {wrong:#?}");
}
