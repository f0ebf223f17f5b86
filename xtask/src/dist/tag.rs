//! The tag of a release: of a commit whose artifacts were built and whose notes are written.

use std::path::Path;
use std::process::Command;

use super::VERSION;
use crate::files;
use crate::programs::{git, text};
use crate::release::{NOBODY, Release};

pub(super) fn tag(root: &Path, artifacts: &Path) -> Result<(), String> {
    let changed = git(root, &["status", "--porcelain"])?;
    if !changed.is_empty() {
        return Err(format!("a release is of a commit, and this is not committed:\n{changed}"));
    }
    is_somebodys(&Release::read(root)?.repository)?;
    let notes = files::read(&root.join("CHANGELOG.md"))?;
    is_written(&notes, VERSION)?;
    text(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(artifacts))?;
    let name = format!("v{VERSION}");
    git(root, &["tag", "--annotate", "--message", &format!("Prony {VERSION}"), &name])?;
    println!("tagged {name}: git push origin {name} has it built and published");
    Ok(())
}

/// Whether the repository that pages, action and templates name is one that there can be.
fn is_somebodys(repository: &str) -> Result<(), String> {
    if repository.split('/').next() == Some(NOBODY) {
        return Err(format!(
            "Cargo.toml has the repository {repository}, which is nobody's: write the address of yours, then make docs"
        ));
    }
    Ok(())
}

fn is_written(notes: &str, version: &str) -> Result<(), String> {
    let newest = notes.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or("none");
    if newest.split_whitespace().next() == Some(version) {
        return Ok(());
    }
    Err(format!(
        "the newest section of CHANGELOG.md is {newest:?}, and the version is {version}: write \"## {version}\""
    ))
}

#[cfg(test)]
mod tests {
    use super::{is_somebodys, is_written};

    #[test]
    fn a_release_has_an_address() {
        assert!(is_somebodys("OWNER/prony").unwrap_err().contains("make docs"));
        assert_eq!(is_somebodys("somebody/prony"), Ok(()));
    }

    #[test]
    fn a_release_has_notes_of_its_version() {
        assert_eq!(is_written("# Changelog\n\n## 0.1.0 (2026-11-24)\n\n## 0.0.9\n", "0.1.0"), Ok(()));
        assert!(is_written("# Changelog\n\n## Unreleased\n", "0.1.0").is_err());
        assert!(is_written("# Changelog\n\n## 0.1.0\n", "0.1.1").is_err());
        assert!(is_written("", "0.1.0").is_err());
    }
}
