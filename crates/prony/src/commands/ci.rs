//! `prony ci`: a change against its base, in one job, on one machine.
//!
//! One command, and no script, is what GitHub's action and GitLab's template call: it needs git and a shell for the
//! build alone, and is the same on a developer's machine.

mod comment;
mod files;
mod repository;
mod request;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prony_analysis::comparison::{Options, choose_in, compare_candidates, fail_if};
use prony_model::command::shell_word;

use super::{compare, logs};
use crate::cli::{CiArguments, CiCommand, CiCompareArguments};
use crate::failure::{Failure, INTERRUPTED, MISSED};
use crate::interrupt;
use crate::printer::Printer;
use files::Files;
use repository::Checkout;

/// The token of `prony ci comment`: no command of the change's finds it in its environment.
const TOKEN: &str = "PRONY_CI_TOKEN";
/// How precise a comparison is unless told otherwise: what matters of throughput.
const PRECISION: &str = "2%";
/// What both sides are called.
const SIDES: [&str; 2] = ["base", "head"];

pub(crate) fn run(arguments: &CiArguments, printer: &Printer) -> Result<(), Failure> {
    match &arguments.command {
        CiCommand::Compare(arguments) => run_compare(arguments, printer),
        CiCommand::Comment(arguments) => comment::run(arguments, printer),
    }
}

fn run_compare(arguments: &CiCompareArguments, printer: &Printer) -> Result<(), Failure> {
    if given(Some(&arguments.serve)).is_none() {
        return Err(Failure::usage("--serve is empty: write the command that starts the server on {port}."));
    }
    let margins = compare::margins(&listed(arguments.margin.as_ref()))?;
    let conditions = compare::conditions(&listed(arguments.fail_if.as_ref()))?;
    let load = words::split(given(arguments.load.as_ref()).unwrap_or_default())
        .map_err(|why| Failure::usage(format!("--load: {why}.")))?;
    // From here on a signal ends the children, and the base's folder is removed.
    let _ = interrupt::of_a_run()?;
    let head = PathBuf::from(given(arguments.directory.as_ref()).unwrap_or("."));
    let checkout = Checkout::of_base(&head, given(arguments.base.as_ref()), printer)?;
    let files = Files::fresh(&arguments.output)?;
    let folders = [checkout.base.clone(), checkout.head.clone()];
    for (side, folder) in SIDES.iter().zip(&folders) {
        build(side, folder, given(arguments.build.as_ref()), printer)?;
    }
    let missed = bench(arguments, &folders, load, &files)?;
    drop(checkout);

    let log = logs::read(&files.log)?;
    let run = files.log.display().to_string();
    let named = SIDES.map(str::to_owned);
    let (base, head) = choose_in(&log, &run, &named).map_err(compare::failure)?;
    let options = Options { margins, force: false };
    let comparison = compare_candidates(base, head, &options).map_err(compare::failure)?;
    let failed = fail_if::failures(&conditions, &comparison);
    files.write(&log, &comparison, &failed, printer)?;
    let message =
        if failed.is_empty() { String::new() } else { format!("--fail-if: {}.", failed.join("; ")) };
    if missed || !failed.is_empty() {
        return Err(Failure { message, code: MISSED });
    }
    Ok(())
}

/// A value; an empty one is none: it is what a workflow's unset input is.
fn given(value: Option<&String>) -> Option<&str> {
    value.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// The parts of a text with commas between.
fn listed(value: Option<&String>) -> Vec<String> {
    let parts = given(value).unwrap_or_default().split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// What a child of a job is: without the token, and with nothing to read.
fn child(program: impl Into<OsString>, folder: &Path) -> Command {
    let mut command = Command::new(program.into());
    command.current_dir(folder).env_remove(TOKEN).stdin(Stdio::null());
    command
}

/// An error where a signal has asked for the end.
fn unless_interrupted() -> Result<(), Failure> {
    if interrupt::asked() { Err(Failure::code(INTERRUPTED)) } else { Ok(()) }
}

fn build(side: &str, folder: &Path, command: Option<&str>, printer: &Printer) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::not_measured(format!(
            "{side} has no folder {}: the application was elsewhere then.",
            folder.display()
        )));
    }
    let Some(line) = command else { return Ok(()) };
    printer.note(&format!("Building {side} in {}: {line}", folder.display()));
    let failed = |why: String| {
        Failure::not_measured(format!("The build of {side} in {} failed: {why}.", folder.display()))
    };
    let status = child("sh", folder).args(["-c", line]).status().map_err(|e| failed(e.to_string()))?;
    unless_interrupted()?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// Measures both by `prony bench`; whether a threshold was missed.
fn bench(
    arguments: &CiCompareArguments,
    folders: &[PathBuf; 2],
    load: Vec<String>,
    files: &Files,
) -> Result<bool, Failure> {
    let failed = |e: std::io::Error| Failure::not_measured(format!("`prony bench` could not be run: {e}."));
    let mut command = child(std::env::current_exe().map_err(failed)?, &folders[1]);
    command.arg("bench");
    for (side, folder) in SIDES.iter().zip(folders) {
        let folder = shell_word(&folder.display().to_string());
        command.arg("--candidate").arg(format!("{side}=cd {folder} && {}", arguments.serve));
    }
    let is_fixed = arguments.duet || load.iter().any(|word| word.split('=').next() == Some("--blocks"));
    let precision = given(arguments.precision.as_ref()).or((!is_fixed).then_some(PRECISION));
    let valued = [
        ("--path", given(arguments.path.as_ref())),
        ("--precision", precision),
        ("--budget", given(arguments.budget.as_ref())),
    ];
    for (flag, value) in valued {
        command.args(value.map(|value| format!("{flag}={value}")));
    }
    command.args(listed(arguments.slo.as_ref()).iter().map(|slo| format!("--slo={slo}")));
    command.args(arguments.duet.then_some("--duet")).args(load).arg("-o").arg(&files.log);
    let status = command.status().map_err(failed)?;
    match status.code() {
        Some(0) => Ok(false),
        Some(code) if code == i32::from(MISSED) => Ok(true),
        // It has said why.
        Some(code) => Err(Failure::code(u8::try_from(code).unwrap_or(crate::failure::NOT_MEASURED))),
        None => Err(Failure::not_measured(format!("`prony bench` was ended: {status}."))),
    }
}
