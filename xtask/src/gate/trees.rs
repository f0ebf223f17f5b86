//! The two sides as programs: this tree and the base's, which is checked out and built below target/gate/.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{programs, suite};

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

pub(super) fn both(root: &Path) -> Result<[Tree; 2], String> {
    let base = root.join("target/gate").join(BASE);
    if !base.exists() {
        let add = ["worktree", "add", "--force", "--detach", &base.to_string_lossy(), BASE];
        programs::git(root, &add)
            .map_err(|why| format!("{why} (a clone without its history has no {BASE})"))?;
    }
    Ok([build(&base)?, build(root)?])
}

fn build(tree: &Path) -> Result<Tree, String> {
    println!("building {} …", tree.display());
    let build = ["build", "--release", "--locked", "--package", "prony"];
    programs::seen(Command::new("cargo").args(build).current_dir(tree))?;
    let tests = suite::build(tree, &["--release", "--package", "prony-load", "--lib"])?;
    let tests =
        tests.into_iter().find(|binary| binary.name == "load").ok_or("cargo built no tests of prony-load")?;
    Ok(Tree { prony: tree.join("target/release/prony"), tests: tests.path })
}
