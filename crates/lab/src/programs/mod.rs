//! Programs of others on this machine: where they are, and how they are run within bounds.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) mod environment;
mod run;

pub(crate) use run::{Captured, Run, TIMEOUT, capture, end_runs, last_lines};

/// A program, by its name or path: on PATH, or where servers are (`/usr/sbin` is on few users' PATH).
pub(crate) fn find_command(name: &str) -> Option<PathBuf> {
    let runs =
        |path: &Path| fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && runs(path));
    }
    search_path().into_iter().map(|dir| dir.join(name)).find(|path| runs(path))
}

fn search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = Vec::new();
    for dir in env::split_paths(&path).chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from)) {
        if dir.is_absolute() && !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    dirs
}
