//! Which Python will do, and where one is.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::find_command;
use super::run::capture;

const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Minor versions that are looked for by name, newest first.
const MINORS: std::ops::RangeInclusive<u32> = 8..=15;

/// `>=3.9,<3.13`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Constraint {
    bounds: Vec<(String, Vec<u32>)>,
}

impl Constraint {
    /// Reads a constraint; all its parts must hold.
    pub(crate) fn parse(text: &str) -> Result<Constraint, String> {
        let mut bounds = Vec::new();
        for part in text.split(',').map(str::trim) {
            let operator = [">=", "<=", "==", "<", ">"].into_iter().find(|o| part.starts_with(o));
            let version = operator.and_then(|o| version(part[o.len()..].trim()));
            let (Some(operator), Some(version)) = (operator, version) else {
                return Err(format!(
                    "python = {text:?} is not understood: write \">=3.9\" or \">=3.9,<3.13\"."
                ));
            };
            bounds.push((operator.to_owned(), version));
        }
        Ok(Constraint { bounds })
    }

    fn allows(&self, version: &[u32]) -> bool {
        self.bounds.iter().all(|(operator, bound)| {
            // As far as the bound says: 3.9.18 is 3.9, and not above it.
            let version = &version[..version.len().min(bound.len())];
            match operator.as_str() {
                ">=" => version >= bound,
                "<=" => version <= bound,
                "==" => version == bound,
                "<" => version < bound,
                _ => version > bound,
            }
        })
    }
}

fn version(text: &str) -> Option<Vec<u32>> {
    let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| !parts.is_empty() && parts.len() <= 3)
}

/// A Python that meets the constraint and can make virtual environments.
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
fn probe(python: &Path) -> Option<Vec<u32>> {
    let script = "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3])";
    let argv = [python.to_string_lossy().into_owned(), "-c".to_owned(), script.to_owned()];
    let captured = capture(&argv, Path::new("/"), &[], PROBE_TIMEOUT)?;
    if !captured.success {
        return None;
    }
    version(String::from_utf8_lossy(&captured.stdout).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_constraint_allows_exactly_its_versions() {
        let allows = |text: &str, v: &str| Constraint::parse(text).unwrap().allows(&version(v).unwrap());
        assert!(allows(">=3.9", "3.9.18") && allows(">=3.9", "3.13.0") && !allows(">=3.9", "3.8.18"));
        assert!(allows("<3.10", "3.9.18") && !allows("<3.10", "3.10.0"));
        assert!(allows(">=3.9,<3.13", "3.12.1") && !allows(">=3.9, <3.13", "3.13.0"));
        assert!(allows("==3.11", "3.11.7") && !allows(">3.11", "3.11.7") && allows("<=3.11", "3.11.7"));
        for wrong in ["3.9", ">=", ">=3.x", "~=3.9", "", ">=3.9,"] {
            assert!(Constraint::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
