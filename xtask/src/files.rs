//! Files and folders; an error names the one that it is about.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> String {
    let path = path.display().to_string();
    move |e| format!("{path}: {e}")
}

pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(at(path))
}

pub(crate) fn toml(path: &Path) -> Result<toml::Table, String> {
    toml::from_str(&read(path)?).map_err(|e| format!("{}: {e}", path.display()))
}

/// Writes a file, and makes the folders above it.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    path.parent().map_or(Ok(()), make)?;
    fs::write(path, text).map_err(at(path))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    to.parent().map_or(Ok(()), make)?;
    fs::copy(from, to).map(drop).map_err(at(from))
}

/// A folder, made with those above it.
pub(crate) fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(at(folder))
}

/// A folder without what an earlier run left in it.
pub(crate) fn anew(folder: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    make(folder)
}

pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(at(folder))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
