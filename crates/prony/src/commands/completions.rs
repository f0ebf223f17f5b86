//! `prony completions` and `prony man`: made of the flags as they are, so that neither can be stale.

use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::{Generator, aot};
use prony_lab::catalogue::Catalogue;
use prony_lab::experiment::Experiment;

use crate::cli::{Cli, CompletionsArguments, ManArguments, Shell, help};
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) fn run(arguments: &CompletionsArguments, printer: &Printer) -> Result<(), Failure> {
    let script = match arguments.shell {
        Shell::Bash => script(&aot::Bash),
        Shell::Zsh => script(&aot::Zsh),
        Shell::Fish => script(&aot::Fish),
    };
    printer.out(&String::from_utf8_lossy(&script));
    Ok(())
}

/// Writes a page for each command, `prony-servers-check.1` say, and one for Prony.
pub(crate) fn man(arguments: &ManArguments, printer: &Printer) -> Result<(), Failure> {
    let dir = &arguments.dir;
    let written = std::fs::create_dir_all(dir).and_then(|()| pages(dir));
    written
        .map_err(|e| Failure::usage(format!("{}: {e}. Name a folder that can be written.", dir.display())))?;
    printer.note(&format!("The manual is in {}: man -l {}", dir.display(), dir.join("prony.1").display()));
    Ok(())
}

fn pages(dir: &Path) -> std::io::Result<()> {
    clap_mangen::generate_to(help::command(&[]).disable_help_subcommand(true), dir)
}

fn script(shell: &impl Generator) -> Vec<u8> {
    let mut command = named();
    command.set_bin_name("prony");
    command.build();
    let mut text = Vec::new();
    shell.generate(&command, &mut text);
    text
}

/// The command line, with the names of servers and experiments as values: those of the binary and of `./prony/servers`.
fn named() -> Command {
    let catalogue = Catalogue::load(&[]);
    // Names are for ever where the process ends after this: clap's values have no other lifetime.
    let servers: Vec<&'static str> = catalogue.servers.into_keys().map(|name| &*name.leak()).collect();
    let of = |command: Command, argument: &str, names: &[&'static str]| {
        let names = PossibleValuesParser::new(names.to_vec());
        command.mut_arg(argument, |argument| argument.value_parser(names))
    };
    let experiments = Experiment::names();
    Cli::command().mut_subcommand("bench", |bench| of(bench, "experiment", &experiments)).mut_subcommand(
        "servers",
        |command| {
            command
                .mut_subcommand("install", |install| {
                    of(of(install, "names", &servers), "experiment", &experiments)
                })
                .mut_subcommand("check", |check| of(check, "names", &servers))
                .mut_subcommand("new", |new| of(new, "from", &servers))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_name_servers_and_experiments() {
        let scripts = [script(&aot::Bash), script(&aot::Zsh), script(&aot::Fish)];
        for script in scripts.map(|script| String::from_utf8(script).unwrap()) {
            for word in ["gunicorn", "quickstart", "capacity", "connections"] {
                assert!(script.contains(word), "{word}: {script}");
            }
        }
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let dir = tempfile::tempdir().unwrap();
        pages(dir.path()).unwrap();
        let mut command = Cli::command().disable_help_subcommand(true);
        command.build();
        let mut left: Vec<(String, &Command)> = vec![("prony".to_owned(), &command)];
        while let Some((name, command)) = left.pop() {
            let page = std::fs::read_to_string(dir.path().join(format!("{name}.1"))).unwrap();
            assert!(page.contains(".TH prony"), "{page}");
            let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
            left.extend(shown.map(|sub| (format!("{name}-{}", sub.get_name()), sub)));
        }
    }
}
