//! `prony`: flags → options → call → exit code.

mod cli;
mod commands;
mod failure;
mod interrupt;
mod lock;
#[cfg(test)]
#[path = "../../../fuzz/bodies/mutate.rs"]
#[allow(unreachable_pub, clippy::expect_used, reason = "a body that the fuzzer's binaries share")]
mod mutate;
mod otlp;
mod plan_file;
mod printer;
mod result_file;
mod thinned;
mod tui;
mod web;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};

use cli::{Cli, Command};
use failure::Failure;
use plan_file::Given;
use printer::Printer;

fn main() -> ExitCode {
    // The guard is started by Prony itself, before any flag is read.
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first == prony_lab::supervise::GUARD_ARGUMENT {
        return ExitCode::from(u8::try_from(prony_lab::supervise::run_guard()).unwrap_or(1));
    }
    // A nats-server that must not outlive a fleet.
    if first == prony_fleet::DIE_WITH_PARENT_ARGUMENT {
        let program: Vec<OsString> = std::env::args_os().skip(2).collect();
        let refused = prony_fleet::run_dying_with_parent(&program);
        let named = program.get(1).map_or("nothing".into(), |name| name.to_string_lossy());
        Printer::new().error(&format!("{named} could not be started: {refused}."));
        return ExitCode::from(failure::NOT_MEASURED);
    }
    let arguments = words::all();
    let printer = Printer::new();
    let result = match words::not_text().or_else(|| cli::foreign_flags::check(arguments)) {
        Some(message) => Err(Failure::usage(message)),
        None if arguments.len() < 2 => {
            printer.note(&cli::help::command(&[]).render_help().to_string());
            Err(Failure::code(failure::USAGE))
        }
        None => run_line(arguments, &printer),
    };
    match result {
        Ok(()) if printer.lost() => ExitCode::from(failure::USAGE),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                printer.error(&failure.message);
            }
            ExitCode::from(failure.code)
        }
    }
}

fn run_line(words: &[String], printer: &Printer) -> Result<(), Failure> {
    let given = Given::of(words, printer)?;
    let line = parsed(words, given.as_ref(), printer);
    let ran = Cli::from_arg_matches(&line).map_err(Failure::usage).and_then(|mut cli| {
        plan_file::complete(&mut cli, &line, given.as_ref())?;
        run(cli, printer)
    });
    ran.map_err(|failure| {
        let given = given.filter(|_| failure.code == failure::USAGE);
        given.and_then(|given| given.located(&failure.message)).map_or(failure, Failure::usage)
    })
}

/// The flags; help, the version and what is wrong with them end the process.
fn parsed(words: &[String], given: Option<&Given>, printer: &Printer) -> ArgMatches {
    let line = given.map_or(words, |given| &given.words);
    cli::help::command(line).try_get_matches_from(line).unwrap_or_else(|error| {
        let of_file = given
            .and_then(|given| given.located(error.to_string().lines().next()?.trim_start_matches("error: ")));
        if let Some(meant) = of_file.or_else(|| cli::foreign_flags::of_refused(&error, line)) {
            printer.error(&meant);
            std::process::exit(failure::USAGE.into())
        }
        let message = error.to_string();
        // It quotes what was typed; a help quotes nothing.
        let shown = prony_model::secret::redacted(&message);
        if shown == message || !error.use_stderr() {
            error.exit();
        }
        printer.note(shown.trim_end());
        std::process::exit(error.exit_code())
    })
}

fn run(cli: Cli, printer: &Printer) -> Result<(), Failure> {
    match cli.command {
        Command::Load(arguments) => commands::load::run(&arguments, printer),
        Command::Bench(arguments) => commands::bench::run(&arguments, printer),
        Command::Capacity(arguments) => commands::capacity::run(&arguments, printer),
        Command::Report(arguments) => commands::report::run(&arguments, printer),
        Command::Servers(arguments) => commands::servers::run(&arguments, printer),
        Command::Target(arguments) => commands::target::run(&arguments, printer),
        Command::Serve(arguments) => commands::serve::run(&arguments, printer),
        Command::Publish(arguments) => commands::publish::run(&arguments, printer),
        Command::History(arguments) => commands::history::run(&arguments, printer),
        Command::Compare(arguments) => commands::compare::run(&arguments, printer),
        Command::Ci(arguments) => commands::ci::run(&arguments, printer),
        Command::Bisect(arguments) => commands::bisect::run(&arguments, printer),
        Command::Doctor(arguments) => commands::doctor::run(&arguments, printer),
        Command::Fleet(arguments) => commands::fleet::run(&arguments, printer),
        Command::Agent(arguments) => commands::agent::run(&arguments, printer),
        Command::Schema(arguments) => commands::schema::run(&arguments, printer),
        Command::Completions(arguments) => commands::completions::run(&arguments, printer),
        Command::Man(arguments) => commands::completions::man(&arguments, printer),
    }
}
