//! The two sides as programs: this tree and the base's, which is checked out and built below target/gate/.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::suite;

/// What every later commit is held against.
pub(super) const BASE: &str = "697f7046";

pub(super) struct Tree {
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
pub(super) fn both(root: &Path) -> Result<[Tree; 2], String> {
    let base = root.join("target/gate").join(BASE);
    if !base.exists() {
        git(root, &["worktree", "add", "--force", "--detach", &base.to_string_lossy(), BASE])?;
    }
    Ok([build(&base)?, build(root)?])
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
