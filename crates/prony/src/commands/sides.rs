//! Two folders with builds of an application, measured side by side: what `prony ci compare` and `prony bisect` do, by
//! `prony bench`, each in a process of its own.

pub(super) mod worktrees;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use clap::Args as _;
use prony_fleet::DIE_WITH_PARENT_ARGUMENT;
use prony_model::command::shell_word;
use prony_model::secret::redacted_command;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::cli::{BenchArguments, ServedArguments};
use crate::failure::{Failure, INTERRUPTED, MISSED, NOT_JUDGED, NOT_MEASURED};
use crate::interrupt;
use crate::plan_file;
use crate::printer::Printer;
use crate::words::FROM_INPUT;

/// The token of `prony ci comment`: no command of the change's finds it in its environment.
pub(super) const TOKEN: &str = "PRONY_CI_TOKEN";
/// Files by which a step of GitHub's changes those that follow, and the names of what speaks to its service, with the tokens for
/// that: none of them is a build's or a server's.
const RUNNERS: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];
const RUNNERS_PREFIX: &str = "ACTIONS_";
const LOOK_EVERY: Duration = Duration::from_millis(20);
pub(super) const SIDES: [&str; 2] = ["base", "head"];

/// Flags of `prony bench`: those that are given as a text, `others`, and what a plan file and services ask for.
pub(super) fn load(
    served: &ServedArguments,
    others: Vec<String>,
    printer: &Printer,
) -> Result<Vec<String>, Failure> {
    if given(Some(&served.serve)).is_none() {
        return Err(Failure::usage("--serve is empty: write the command that starts the server on {port}."));
    }
    let mut load = flags(given(served.load.as_ref()).unwrap_or_default())?;
    load.extend(others);
    load.extend(given(served.path.as_ref()).map(|path| format!("--path={path}")));
    load.extend(given(served.reset.as_ref()).map(|command| format!("--reset={command}")));
    let services: Vec<&str> = served.services.iter().filter_map(|text| given(Some(text))).collect();
    match given(served.plan.as_ref()) {
        Some(file) => load.extend(plan_file::for_bench(file, &load, &services, printer)?),
        None => load.extend(services.iter().map(|service| format!("--service={service}"))),
    }
    if !says_when(&load) {
        load.extend(["-d", "auto"].map(str::to_owned));
    }
    Ok(load)
}

/// A text of flags as a shell splits it, and nothing else that a shell does.
fn flags(text: &str) -> Result<Vec<String>, Failure> {
    let unclosed = || Failure::usage(format!("--load: a quote is not closed in {text:?}."));
    shlex::split(text).ok_or_else(unclosed)
}

/// A value; an empty one is none: it is what a workflow's unset input is.
pub(super) fn given(value: Option<&String>) -> Option<&str> {
    value.map(|text| text.trim()).filter(|text| !text.is_empty())
}

pub(super) fn listed(value: Option<&String>) -> Vec<String> {
    let parts = given(value).unwrap_or_default().split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Whether flags of `prony bench` say when a load ends, or that a fleet applies it, by which no pilot is made.
fn says_when(load: &[String]) -> bool {
    let bench = BenchArguments::augment_args(clap::Command::new("bench")).no_binary_name(true);
    let given = bench.ignore_errors(true).try_get_matches_from(load);
    given
        .is_ok_and(|given| ["duration", "requests", "stages", "fleet"].iter().any(|id| given.contains_id(id)))
}

fn is_runners(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == TOKEN || RUNNERS.contains(&&*name) || name.starts_with(RUNNERS_PREFIX)
}

/// What a child of a job is: without the token and the runner's files, and with nothing to read.
pub(super) fn child(program: impl Into<OsString>, folder: &Path) -> Command {
    let mut command = Command::new(program.into());
    // In a group of its own: it hears of a signal from this process alone, once.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_runners(name)) {
        command.env_remove(name);
    }
    command.current_dir(folder).stdin(Stdio::null()).process_group(0);
    command
}

/// A child that also a kill -9 of this process ends: a later one may remove the folder in which it works.
fn tied(program: &Path, folder: &Path) -> io::Result<Command> {
    let mut command = child(std::env::current_exe()?, folder);
    command.arg(DIE_WITH_PARENT_ARGUMENT).arg(std::process::id().to_string()).arg(program);
    Ok(command)
}

/// Waits for a child, and asks it and all of its group to end where a signal asks this process.
fn ended(mut child: Child) -> io::Result<ExitStatus> {
    let mut told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt::asked() && !told {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            told = group.is_some_and(|group| kill_process_group(group, Signal::TERM).is_ok());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

pub(super) fn unless_interrupted() -> Result<(), Failure> {
    if interrupt::asked() { Err(Failure::code(INTERRUPTED)) } else { Ok(()) }
}

pub(super) fn build(
    side: &str,
    folder: &Path,
    command: Option<&str>,
    printer: &Printer,
) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::not_measured(format!(
            "{side} has no folder {}: the application was moved since that commit; compare with a newer base.",
            folder.display()
        )));
    }
    let Some(line) = command else { return Ok(()) };
    printer.note(&format!("Building {side} in {}: {}", folder.display(), redacted_command(line)));
    let failed = |why: String| {
        Failure::not_measured(format!("The build of {side} in {} failed: {why}.", folder.display()))
    };
    // Results alone are on standard output.
    let started = tied(Path::new("sh"), folder)
        .and_then(|mut shell| shell.args(["-c", line]).stdout(io::stderr()).spawn());
    let status = started.and_then(ended).map_err(|e| failed(e.to_string()))?;
    unless_interrupted()?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// What `prony bench` is to do.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) serve: &'a str,
    /// Of [`SIDES`].
    pub(super) folders: [&'a Path; 2],
    pub(super) load: &'a [String],
    pub(super) log: &'a Path,
    pub(super) within: &'a Path,
    pub(super) is_quiet: bool,
}

impl Bench<'_> {
    /// Measures, with these flags beside those of the load. Whether a threshold was missed.
    pub(super) fn run(&self, flags: &[String]) -> Result<bool, Failure> {
        let failed = |e: io::Error| Failure::not_measured(format!("`prony bench` could not be run: {e}."));
        let mut words = vec!["bench".to_owned()];
        for (side, folder) in SIDES.iter().zip(self.folders) {
            let folder = shell_word(&folder.display().to_string());
            words.extend(["--candidate".to_owned(), format!("{side}=cd {folder} && {}", self.serve)]);
        }
        words.extend(flags.iter().chain(self.load).cloned());
        words.extend(["-o".to_owned(), self.log.display().to_string()]);
        let own = std::env::current_exe().map_err(failed)?;
        let mut command = tied(&own, self.within).map_err(failed)?;
        if self.is_quiet {
            command.stdout(Stdio::null());
        }
        let mut bench = command.arg(FROM_INPUT).stdin(Stdio::piped()).spawn().map_err(failed)?;
        // Its end is the end of what it reads.
        let text = serde_json::to_vec(&words).map_err(|e| failed(e.into()))?;
        let written = bench.stdin.take().map(|mut input| input.write_all(&text));
        written.transpose().map_err(failed)?;
        let status = ended(bench).map_err(failed)?;
        match status.code() {
            // What was not judged is found in the log.
            Some(code) if code == 0 || code == i32::from(NOT_JUDGED) => Ok(false),
            Some(code) if code == i32::from(MISSED) => Ok(true),
            // It has said why.
            Some(code) => Err(Failure::code(u8::try_from(code).unwrap_or(NOT_MEASURED))),
            None => Err(Failure::not_measured(format!("`prony bench` was ended: {status}."))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_runs_finds_no_tokens_and_no_runners_files() {
        let hidden = |name: &str| is_runners(OsStr::new(name));
        for name in [
            "PRONY_CI_TOKEN",
            "GITHUB_ENV",
            "GITHUB_PATH",
            "GITHUB_OUTPUT",
            "GITHUB_STATE",
            "ACTIONS_RUNTIME_TOKEN",
        ] {
            assert!(hidden(name), "{name}");
        }
        assert!(!hidden("PATH") && !hidden("GITHUB_SHA") && !hidden("CI"));
    }

    #[test]
    fn the_window_is_measured_where_no_flag_says_when_a_load_ends() {
        let says = |text: &str| says_when(&flags(text).unwrap());
        for text in [
            "-d 5s",
            "-d5s",
            "-kd 5s",
            "-c 50 --duration=5s --blocks 4",
            "-n 100",
            "--stage 10s:5c",
            "--fleet 2",
        ] {
            assert!(says(text), "{text}");
        }
        assert!(["", "-c 50 -R 2000 --blocks 4", "-H 'A: -d 5s'"].iter().all(|text| !says(text)));
    }

    #[test]
    fn flags_are_split_as_by_a_shell_and_nothing_is_expanded() {
        let split = |text: &str| flags(text).map_err(|failure| failure.message);
        assert_eq!(split("  -c 100\t-d\n5s ").unwrap(), ["-c", "100", "-d", "5s"]);
        assert_eq!(
            split(r#"-H 'A: b "c"' -b "{\"n\": 1}" '' a\ b"#).unwrap(),
            ["-H", "A: b \"c\"", "-b", "{\"n\": 1}", "", "a b"]
        );
        assert_eq!(split("$(id) `id` $HOME * ;").unwrap(), ["$(id)", "`id`", "$HOME", "*", ";"]);
        assert!(split("").unwrap().is_empty());
        assert!(split("-H 'A: b").unwrap_err().contains("not closed"));
    }
}
