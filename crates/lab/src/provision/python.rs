//! Which Python will do, and where one is.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::catalogue::Constraint;
use crate::programs::{capture, find_command};

const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
const MINORS: std::ops::RangeInclusive<u32> = 8..=15;

pub(crate) fn find(constraint: Option<&str>) -> Option<PathBuf> {
    let constraint = constraint.and_then(|text| Constraint::parse(text).ok()).unwrap_or_default();
    let named = std::iter::once("python3".to_owned()).chain(MINORS.rev().map(|m| format!("python3.{m}")));
    let found = named.filter_map(|name| find_command(&name)).chain(pyenv());
    found.into_iter().find(|python| probe(python).is_some_and(|version| constraint.allows(&version)))
}

/// Pythons that pyenv built, which are on nobody's PATH unless they are chosen.
fn pyenv() -> Vec<PathBuf> {
    let root = env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    let Some(root) = root else { return Vec::new() };
    let mut pythons: Vec<PathBuf> = fs::read_dir(root.join("versions"))
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin/python3")))
        .filter(|path| path.is_file())
        .collect();
    pythons.sort();
    pythons
}

/// The version of a Python that can make virtual environments: Debian's cannot without python3-venv, and
/// pyenv's shims exist for versions that are not chosen.
fn probe(python: &Path) -> Option<String> {
    let script = "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3])";
    let argv = [python.to_string_lossy().into_owned(), "-c".to_owned(), script.to_owned()];
    let captured = capture(&argv, Path::new("/"), &[], PROBE_TIMEOUT)?;
    captured.success.then(|| String::from_utf8_lossy(&captured.stdout).trim().to_owned())
}
