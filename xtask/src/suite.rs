//! The test suite of the workspace: built once by Cargo, then run binary by binary, with each test's time. The flag for
//! times is unstable: the binaries take it where `RUSTC_BOOTSTRAP` is set, for them alone, since Cargo would build
//! everything again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::programs;

const SLOWEST_SHOWN: usize = 15;

#[derive(Clone, Debug)]
pub(crate) struct Binary {
    /// The package and, of an integration test, its name: `prony-load engine`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The package's folder, in which its tests run.
    folder: PathBuf,
    /// Words before the executable, such as `taskset -c 0`.
    prefix: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) passed: bool,
    /// How long it took, where the binary said it.
    pub(crate) took: Duration,
}

pub(crate) type Outcomes = BTreeMap<String, Outcome>;

/// What became of the tests that a binary ran, what was printed, and how it ended.
pub(crate) struct Ran {
    pub(crate) outcomes: Outcomes,
    pub(crate) text: String,
    pub(crate) status: ExitStatus,
}

/// Builds and runs the whole suite: `cargo xtask test`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let begun = Instant::now();
    let binaries = build(root, &["--workspace"])?;
    println!("built in {:.0} s", begun.elapsed().as_secs_f64());
    let (mut all, mut failed) = (Outcomes::new(), Vec::new());
    for binary in &binaries {
        let begun = Instant::now();
        let Ran { outcomes, text, status } = binary.run_all()?;
        let wrong: Vec<&String> = outcomes.iter().filter(|(_, o)| !o.passed).map(|(name, _)| name).collect();
        println!("{:6.1} s  {}: {} tests", begun.elapsed().as_secs_f64(), binary.name, outcomes.len());
        if !status.success() {
            println!("{text}");
            failed.push(format!("{} ended with {status}; failed: {wrong:?}", binary.name));
        }
        all.extend(outcomes);
    }
    println!("\nWhat took longest:");
    let mut slowest: Vec<(&String, &Outcome)> = all.iter().collect();
    slowest.sort_by_key(|(_, outcome)| std::cmp::Reverse(outcome.took));
    for (name, outcome) in slowest.into_iter().take(SLOWEST_SHOWN) {
        println!("{:6.1} s  {name}", outcome.took.as_secs_f64());
    }
    let wrong = all.values().filter(|o| !o.passed).count();
    println!("\nIn {:.0} s:\n{} passed, {wrong} failed", begun.elapsed().as_secs_f64(), all.len() - wrong);
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Has Cargo build every test binary of what these arguments of its choose.
pub(crate) fn build(root: &Path, of: &[&str]) -> Result<Vec<Binary>, String> {
    let mut cargo = Command::new("cargo")
        .args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"])
        .args(of)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cargo could not be run: {e}"))?;
    let lines = BufReader::new(cargo.stdout.take().ok_or("cargo has no output")?).lines();
    let mut binaries: Vec<Binary> = lines.map_while(Result::ok).filter_map(|line| artifact(&line)).collect();
    let status = cargo.wait().map_err(|e| format!("cargo: {e}"))?;
    binaries.sort_by(|a, b| a.name.cmp(&b.name));
    if status.success() { Ok(binaries) } else { Err(format!("the tests do not compile ({status})")) }
}

fn artifact(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = PathBuf::from(message["executable"].as_str()?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    let crate_name = folder.file_name()?.to_str()?.to_owned();
    let target = &message["target"];
    let name = match target["kind"][0].as_str()? {
        "test" => format!("{crate_name} {}", target["name"].as_str()?),
        "bin" => format!("{crate_name} main"),
        _ => crate_name,
    };
    Some(Binary { name, path, folder, prefix: Vec::new() })
}

impl Binary {
    pub(crate) fn on_cpus(&self, cpus: &str) -> Self {
        Self { prefix: vec!["taskset".into(), "-c".into(), cpus.into()], ..self.clone() }
    }

    fn command(&self) -> Command {
        let mut words = self.prefix.iter().map(PathBuf::from).chain([self.path.clone()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        // Of what Cargo gives to tests, what ours look for, whatever its value: without Cargo's start of this program it is not there.
        command.args(words).current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_PKG_NAME", env!("CARGO_PKG_NAME"));
        command.env("CARGO_PKG_VERSION_MINOR", env!("CARGO_PKG_VERSION_MINOR"));
        command
    }

    pub(crate) fn tests(&self) -> Result<Vec<String>, String> {
        let text = programs::text(self.command().args(["--list", "--format", "terse"]))?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs all its tests, as many at once as there are CPUs.
    pub(crate) fn run_all(&self) -> Result<Ran, String> {
        let mut command = self.command();
        command.args(["-Z", "unstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
        let output = programs::output(&mut command)?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let named = |(test, outcome)| (format!("{} {test}", self.name), outcome);
        let outcomes = text.lines().filter_map(outcome).map(named).collect();
        Ok(Ran { outcomes, text, status: output.status })
    }

    pub(crate) fn run_one(&self, test: &str) -> Result<Ran, String> {
        let begun = Instant::now();
        let output = programs::output(self.command().args(["--exact", test]))?;
        let outcome = Outcome { passed: output.status.success(), took: begun.elapsed() };
        let outcomes = Outcomes::from([(format!("{} {test}", self.name), outcome)]);
        Ok(Ran { outcomes, text: programs::trimmed(&output.stdout), status: output.status })
    }
}

/// What a line such as `test pace::a_name ... ok <0.003s>` says.
fn outcome(line: &str) -> Option<(String, Outcome)> {
    let (test, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let passed = match rest.split_whitespace().next()? {
        "ok" => true,
        "FAILED" => false,
        _ => return None,
    };
    let seconds =
        rest.split(['<', '>']).nth(1).and_then(|s| s.strip_suffix('s')?.parse().ok()).unwrap_or(0.0);
    // A test that must panic is marked so in its name.
    let test = test.strip_suffix(" - should panic").unwrap_or(test);
    Some((test.to_owned(), Outcome { passed, took: Duration::from_secs_f64(seconds) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_test_binary_are_read() {
        let (name, passed) = outcome("test pace::even ... ok <0.250s>").unwrap();
        assert_eq!(
            (name.as_str(), passed.passed, passed.took),
            ("pace::even", true, Duration::from_millis(250))
        );
        let (name, failed) = outcome("test a - should panic ... FAILED <1.000s>").unwrap();
        assert_eq!((name.as_str(), failed.passed, failed.took), ("a", false, Duration::from_secs(1)));
        assert!(outcome("test b ... ignored").is_none() && outcome("running 3 tests").is_none());
    }

    #[test]
    fn cargos_messages_name_the_test_binaries() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/p/crates/load/Cargo.toml","executable":"/t/engine-1",
            "profile":{"test":true},"target":{"kind":["test"],"name":"engine"}}"#;
        let binary = artifact(line).unwrap();
        assert_eq!(
            (binary.name.as_str(), binary.folder.as_path()),
            ("load engine", Path::new("/p/crates/load"))
        );
        assert!(artifact(&line.replace("\"test\":true", "\"test\":false")).is_none());
    }
}
