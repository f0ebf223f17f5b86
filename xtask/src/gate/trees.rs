//! The two sides as programs: this tree and the base's, which is checked out and built below target/gate/.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite;

/// What every later commit is held against.
pub(super) const BASE: &str = "05709a9";
const SIM: &str = "crates/load/src/sim";

/// A side, built.
pub(super) struct Tree {
    /// The release binary.
    pub(super) prony: PathBuf,
    /// The tests of the engine, optimised as the release binary is: what is counted is among them.
    pub(super) tests: PathBuf,
}

impl Tree {
    /// A binary alone: what is counted is not there.
    pub(super) fn of_binary(prony: PathBuf) -> Tree {
        Tree { prony, tests: PathBuf::new() }
    }
}

/// This tree and the base's.
///
/// # Errors
/// When one cannot be checked out or built.
pub(super) fn both(root: &Path) -> Result<[Tree; 2], String> {
    let base = root.join("target/gate").join(BASE);
    if !base.exists() {
        git(root, &["worktree", "add", "--force", "--detach", &base.to_string_lossy(), BASE])?;
    }
    let sim = base.join(SIM);
    let of_base = |file: &str| git(root, &["show", &format!("{BASE}:{SIM}/{file}")]);
    let counted = read(&root.join(SIM).join("tests/counted.rs"))?;
    write(&sim.join("tests/counted.rs"), &for_base(&counted))?;
    write(
        &sim.join("tests/mod.rs"),
        &of_base("tests/mod.rs")?.replacen("mod ends;", "mod counted;\nmod ends;", 1),
    )?;
    write(&sim.join("net.rs"), &with_calls_kept(&of_base("net.rs")?)?)?;
    Ok([build(&base)?, build(root)?])
}

/// The counted loads with the names that the base's crates have.
fn for_base(counted: &str) -> String {
    counted
        .replace("use prony_model::{plan::Arrivals, rate::Rate};", "use crate::{pace::Rate, plan::Arrivals};")
        .replace("use crate::recorder::Edges;", "use crate::books::Edges;")
        .replace("use crate::recorder::series::Series;", "use crate::series::Series;")
        .replace("closed.share.run_total.completed", "closed.run.completed")
        .replace("{Case, START_AHEAD_NS, SimWorker}", "{Case, Hand, START_AHEAD_NS}")
        .replace("SimWorker::new", "Hand::new")
}

/// The simulated network with calls that stay calls, as this tree's has them.
fn with_calls_kept(net: &str) -> Result<String, String> {
    let begin = "impl Net for SimNet {";
    let parts = net.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once("\n}\n")?)));
    let (before, (calls, after)) = parts.ok_or_else(|| format!("{BASE}: {SIM}/net.rs has no {begin:?}"))?;
    let calls = calls.replace("\n    fn ", "\n    #[inline(never)]\n    fn ");
    Ok(format!("{before}{begin}{calls}\n}}\n{after}"))
}

fn build(tree: &Path) -> Result<Tree, String> {
    println!("building {} …", tree.display());
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--package", "prony"]).current_dir(tree);
    let status = cargo.status().map_err(|e| format!("cargo could not be run: {e}"))?;
    if !status.success() {
        return Err(format!("{}: prony does not build ({status})", tree.display()));
    }
    let tests = suite::build(tree, &["--release", "--package", "prony-load", "--lib"])?;
    let tests =
        tests.into_iter().find(|binary| binary.name == "load").ok_or("cargo built no tests of prony-load")?;
    Ok(Tree { prony: tree.join("target/release/prony"), tests: tests.path })
}

fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).current_dir(root).output();
    let output = output.map_err(|e| format!("git could not be run: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("git {}: {} (a clone without its history has no {BASE})", arguments.join(" "), said.trim()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// What is there already keeps its date, so that nothing is built again.
fn write(path: &Path, text: &str) -> Result<(), String> {
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_counts_what_this_tree_counts() {
        let counted = include_str!("../../../crates/load/src/sim/tests/counted.rs");
        assert!(!for_base(counted).contains("use prony_model"));
        let net = include_str!("../../../crates/load/src/sim/net.rs");
        let plain = net.replace("    #[inline(never)]\n", "");
        assert_eq!(with_calls_kept(&plain).unwrap(), net);
        assert!(with_calls_kept("").is_err());
    }
}
