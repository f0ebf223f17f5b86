//! Installed programs that fetch and build what servers need, and where their sources come from.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::packages;
use crate::programs::{Run, find_command};

/// A whole Rust server with its dependencies takes minutes on one core.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// Where what is built came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// From where its publisher keeps it.
    Registry,
    /// From sources on this machine, which stand in for it.
    Local,
}

/// The folder or file that somebody names in the environment, to stand in for a registry.
pub(super) fn stand_in(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A command of an installed program, called by both in errors; the path of one may be its name.
pub(super) fn tool<'a>(
    program: &str,
    arguments: &[&str],
    cwd: &'a Path,
    log: &'a Path,
) -> Result<Run<'a>, String> {
    let path =
        find_command(program).ok_or_else(|| format!("{program} is missing: {}", packages::mend(program)))?;
    let name = [&[program], arguments].concat().join(" ");
    let arguments = arguments.iter().map(ToString::to_string);
    let argv = std::iter::once(path.to_string_lossy().into_owned()).chain(arguments).collect();
    Ok(Run { name, argv, cwd, env: vec![], log, timeout: STEP_TIMEOUT })
}

/// What is said of a file that cannot be written.
pub(super) fn not_written(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |why| format!("{} cannot be written: {why}.", path.display())
}
