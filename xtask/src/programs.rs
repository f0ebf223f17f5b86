//! Other programs, run to their end or for as long as they are needed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Of the standard error of a command that failed.
const COMPLAINT_LINES: usize = 8;

/// A command as it is shown: without what its environment was made.
pub(crate) fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// However it ended. It has nothing to read.
pub(crate) fn output(command: &mut Command) -> Result<Output, String> {
    let output = command.stdin(Stdio::null()).output();
    output.map_err(|e| format!("{} could not be run: {e}", command.get_program().display()))
}

pub(crate) fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// The standard output of a command that must succeed, without white space around it.
pub(crate) fn text(command: &mut Command) -> Result<String, String> {
    let output = output(command)?;
    let (out, err) = (trimmed(&output.stdout), trimmed(&output.stderr));
    if output.status.success() {
        return Ok(out);
    }
    // The end of what it complains of: a build says much before that.
    let before = err.lines().count().saturating_sub(COMPLAINT_LINES);
    let complaint = err.lines().skip(before).collect::<Vec<_>>().join("\n");
    let said = if complaint.is_empty() { out } else { complaint };
    Err(format!("`{}` ended with {}: {said}", line(command), output.status))
}

/// The JSON that a command prints, whatever its exit code says of it.
pub(crate) fn json(command: &mut Command) -> Result<Value, String> {
    let output = output(command)?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("`{}` printed no JSON ({e}): {}", line(command), trimmed(&output.stderr)))
}

pub(crate) fn seen(command: &mut Command) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).status();
    match status.map_err(|e| format!("{} could not be run: {e}", command.get_program().display()))? {
        status if status.success() => Ok(()),
        status => Err(format!("`{}` ended with {status}", line(command))),
    }
}

/// The rows of a report's first plan that have a throughput, and how many requests failed in all of them.
pub(crate) fn measured(report: &Value) -> (usize, u64) {
    let rows = || report["plans"][0]["rows"].as_array().into_iter().flatten();
    let is_measured = |row: &&Value| row["requests_per_s"]["point"].as_f64().is_some_and(|rate| rate > 0.0);
    (rows().filter(is_measured).count(), rows().filter_map(|row| row["failed"].as_u64()).sum())
}

/// This program, to be run again under a hidden task's name.
pub(crate) fn own() -> Result<Command, String> {
    let own = std::env::current_exe().map_err(|e| format!("this program was not found: {e}"))?;
    Ok(Command::new(own))
}

/// Whether a program can be run, by what makes it do next to nothing.
pub(crate) fn is_there(program: &str, argument: &str) -> bool {
    output(Command::new(program).arg(argument)).is_ok_and(|output| output.status.success())
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    text(Command::new("git").args(arguments).current_dir(folder))
}

/// The same by somebody who may commit wherever this runs.
pub(crate) fn git_as(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let own = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    git(folder, &[&own, arguments].concat())
}

/// A folder's files as a commit, tagged `fast`, and what a change makes of them as a second one.
pub(crate) fn two_commits(folder: &Path, change: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let git = |line: &str| git_as(folder, &line.split(' ').collect::<Vec<_>>()).map(drop);
    ["init -q", "add .", "commit -qm A", "tag fast"].into_iter().try_for_each(git)?;
    change()?;
    git("commit -qam B")
}

/// The path of the program that a script of sh's finds or makes sure of, if it does.
pub(crate) fn found(script: &str) -> Option<String> {
    text(Command::new("sh").args(["-c", script])).ok().filter(|said| !said.is_empty())
}

/// The commit of a tree, with a word where the tree differs from it.
pub(crate) fn commit(root: &Path) -> String {
    git(root, &["describe", "--always", "--dirty"]).unwrap_or_else(|_| "unknown".to_owned())
}

#[derive(Debug)]
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Running, String> {
        let child = command.spawn();
        child.map(Running).map_err(|e| format!("{} could not be run: {e}", command.get_program().display()))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn first_line(&mut self) -> Result<String, String> {
        let (out, mut line) = (self.0.stdout.take().ok_or("it has no output")?, String::new());
        BufReader::new(out).read_line(&mut line).map_err(|e| e.to_string())?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already, or ours to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until nothing is lacking; that it still is, and what, is an error after so long.
pub(crate) fn wait_for(
    patience: Duration,
    mut lacks: impl FnMut() -> Result<Option<String>, String>,
) -> Result<(), String> {
    let begun = Instant::now();
    while let Some(why) = lacks()? {
        if begun.elapsed() > patience {
            return Err(format!("{why}, after {patience:?}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// `prony target` on a free port, and its URL.
pub(crate) fn target(prony: &Path, flags: &[&str]) -> Result<(Running, String), String> {
    let mut command = Command::new(prony);
    command.args(["target", "--port", "0", "--until-stdin-ends"]).args(flags);
    let mut target = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
    let line = target.first_line()?;
    let url = line.split_whitespace().find(|word| word.starts_with("http"));
    let url = url.ok_or_else(|| format!("the target said {line:?} and no URL"))?;
    Ok((target, url.trim_end_matches([',', ';', '.']).to_owned()))
}

#[derive(Default)]
pub(crate) struct Checks {
    failed: usize,
}

impl Checks {
    pub(crate) fn count(&mut self, name: &str, result: Result<(), String>) {
        self.count_said(name, result.map(|()| String::new()));
    }

    /// What a check says where it is passed is printed behind its name.
    pub(crate) fn count_said(&mut self, name: &str, result: Result<String, String>) {
        match result {
            Ok(said) => println!("ok      {name}{said}"),
            Err(why) => {
                self.failed += 1;
                println!("FAILED  {name}: {why}");
            }
        }
    }

    pub(crate) fn ended(&self, of: &str) -> Result<(), String> {
        if self.failed == 0 { Ok(()) } else { Err(format!("{} checks of {of} failed", self.failed)) }
    }
}
