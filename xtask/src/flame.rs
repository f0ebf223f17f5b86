//! `cargo xtask flame`: makes of examples/slow-commit/compute in each language a commit that computes, and looks whether
//! `prony ci compare` names the function that does. Where perf or a compiler is missing it says so.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{files, programs};

/// A language, what finds what must be there, its file, the change (from, to), how it is built and started, and the function.
#[rustfmt::skip]
const LANGUAGES: [[&str; 8]; 4] = [
    ["C", "command -v cc", "server.c", "TURNS 0", "TURNS 200000", "cc -O2 -g -pthread server.c -o server", "./server {port}", "burn_cpu"],
    ["Go", "command -v go", "server.go", "turns = 0", "turns = 200000", "go build -o server server.go", "./server {port}", "main.burnCPU"],
    ["Rust", "command -v rustc", "server.rs", "TURNS: u32 = 0", "TURNS: u32 = 200000", "rustc -O -g server.rs -o server", "./server {port}", "burn_cpu"],
    ["Python from 3.12 on", PYTHON, "server.py", "TURNS = 0", "TURNS = 2000", "true", "PYTHON server.py {port}", "burn_cpu (server.py)"],
];
/// A Python that tells perf the names of functions.
const PYTHON: &str = "for p in $PRONY_PYTHON python3.14 python3.13 python3.12 python3 ~/.pyenv/versions/3.1[2-9]*/bin/python3; do \
                      $p -c 'import sys; sys.activate_stack_trampoline' 2>/dev/null && echo $p && break; done";

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let binary = crate::prony(root)?;
    if programs::found("command -v perf").is_none() {
        println!("skipped: perf is not installed (apt-get install linux-perf)");
        return Ok(());
    }
    let mut all = programs::Checks::default();
    for language in LANGUAGES {
        let [name, needs, ..] = language;
        match programs::found(needs) {
            Some(program) => all.count(
                &format!("the function that computes is named in {name}"),
                named(root, &binary, language, &program),
            ),
            None => println!("skipped: there is no {name} here"),
        }
    }
    all.ended("profiles")
}

fn named(
    root: &Path,
    binary: &Path,
    [name, _, file, from, to, build, serve, function]: [&str; 8],
    program: &str,
) -> Result<(), String> {
    let folder = root.join("target/flame").join(name);
    files::anew(&folder)?;
    let text = files::read(&root.join("examples/slow-commit/compute").join(file))?;
    let changed = text.replace(from, to);
    if changed == text {
        return Err(format!("{file} has no {from}"));
    }
    files::write(&folder.join(file), text)?;
    programs::two_commits(&folder, || files::write(&folder.join(file), changed))?;
    let serve = serve.replace("PYTHON", program);
    let line = ["ci", "compare", "--base", "fast", "--build", build, "--serve", &serve, "--profile"];
    let mut command = Command::new(binary);
    command.current_dir(&folder).args(line).args(["--load", "-c 4 -d 2s --blocks 2"]);
    let ended = programs::output(&mut command)?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    if !ended.status.success() {
        return Err(format!("prony ci compare: {}: {said}", ended.status));
    }
    let json: Value = serde_json::from_str(&files::read(&folder.join("prony-ci/comparison.json"))?)
        .map_err(|e| e.to_string())?;
    let functions = json[0]["profile"]["functions"].as_array().cloned().unwrap_or_default();
    let first = functions.first().ok_or_else(|| format!("there is no profile: {said}"))?;
    let growth = &first["growth"];
    let us = |value: &Value| value.as_f64().unwrap_or(f64::NAN) / 1e3;
    println!(
        "  {name}: {} +{:.1} µs a request (95 %: {:.1} to {:.1})",
        first["function"],
        us(&growth["point"]),
        us(&growth["ci_low"]),
        us(&growth["ci_high"])
    );
    let shown = first["function"].as_str().unwrap_or_default();
    let is_it = shown == function || shown.ends_with(&format!("::{function}"));
    if is_it { Ok(()) } else { Err(format!("the first function is {shown:?}")) }
}
