//! The release binary's commands, each against a target of its own.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::programs;

pub(crate) struct Runs {
    pub(crate) prony: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) quick: bool,
    commands: RefCell<Vec<String>>,
    /// What Prony itself said of the machine during its loads.
    said_noisy: RefCell<Vec<String>>,
}

impl Runs {
    pub(crate) fn new(prony: &Path, folder: &Path, quick: bool) -> Runs {
        Runs {
            prony: prony.to_owned(),
            folder: folder.to_owned(),
            quick,
            commands: RefCell::default(),
            said_noisy: RefCell::default(),
        }
    }

    /// The commands since the last call, and what Prony said of noise.
    pub(crate) fn take(&self) -> (Vec<String>, Vec<String>) {
        (self.commands.take(), self.said_noisy.take())
    }

    /// Some 10 s, or 6 s in a quick run: whole periods of 2 s, and at 2,000/s enough samples beyond p99.
    pub(crate) fn window_s(&self) -> u64 {
        if self.quick { 6 } else { 10 }
    }

    /// Calls it with the URL of a target with these flags.
    pub(crate) fn with_target<T>(
        &self,
        flags: &[&str],
        measure: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        self.commands.borrow_mut().push(format!("prony target {}", flags.join(" ")));
        let (_target, url) = programs::target(&self.prony, flags)?;
        measure(&url)
    }

    pub(crate) fn load(&self, url: &str, flags: &[&str]) -> Result<Value, String> {
        let trial = self.json("load", url, flags)?;
        let reasons = trial["verdict"]["reasons"].as_array().map_or(&[][..], Vec::as_slice);
        let noisy = reasons.iter().filter(|reason| reason["code"] == "host_noisy");
        let said = noisy.map(|reason| reason["detail"].as_str().unwrap_or("host_noisy").to_owned());
        self.said_noisy.borrow_mut().extend(said);
        Ok(trial)
    }

    pub(crate) fn capacity(&self, url: &str, flags: &[&str]) -> Result<Value, String> {
        let shorter: &[&str] = if self.quick { &["-d", "1s", "--resolution", "3%"] } else { &[] };
        self.json("capacity", url, &[flags, shorter].concat())
    }

    /// A bench of two candidates of the reference server, compared; each has a name and the target's flags.
    pub(crate) fn compared(&self, targets: [(&str, &str); 2], flags: &[&str]) -> Result<Value, String> {
        let log = self.folder.join("bench.jsonl");
        // Of an earlier one; a bench does not write over it.
        let _ = fs::remove_file(&log);
        let (own, log) = (self.prony.to_string_lossy(), log.to_string_lossy());
        let candidates = targets.map(|(name, flags)| format!("{name}={own} target --port {{port}} {flags}"));
        let [a, b] = candidates.each_ref().map(String::as_str);
        let line = [&["bench", "--candidate", a, "--candidate", b, "-o", &log, "-q"], flags].concat();
        self.prony(&line)?;
        let text = self.prony(&["compare", &log, targets[0].0, targets[1].0, "--format", "json"])?;
        let all: Value = serde_json::from_str(&text).map_err(|e| format!("prony compare: {e}"))?;
        Ok(all[0].clone())
    }

    /// The result that a command leaves, whatever its exit code says of it: a search that finds nothing has one, too.
    fn json(&self, command: &str, url: &str, flags: &[&str]) -> Result<Value, String> {
        let file = self.folder.join("result.json");
        // A stale one must not pass for this one's.
        let _ = fs::remove_file(&file);
        let path = file.to_string_lossy();
        let ended = self.prony(&[&[command, url, "-q", "--json", &path], flags].concat());
        match fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|e| format!("prony {command}: {e}")),
            Err(e) => Err(ended.err().unwrap_or_else(|| format!("prony {command} left no result: {e}"))),
        }
    }

    /// Runs it; what it wrote to its output.
    fn prony(&self, line: &[&str]) -> Result<String, String> {
        let shown = line.join(" ").replace(&*self.prony.to_string_lossy(), "prony");
        let shown = shown.replace(&format!("{}/", self.folder.display()), "");
        self.commands.borrow_mut().push(format!("prony {shown}"));
        let output = programs::output(Command::new(&self.prony).args(line).current_dir(&self.folder))?;
        if output.status.success() {
            return Ok(programs::trimmed(&output.stdout));
        }
        // It may stand on the page, where nobody's folders do.
        Err(format!("prony {shown} ended with {}: {}", output.status, programs::trimmed(&output.stderr)))
    }
}
