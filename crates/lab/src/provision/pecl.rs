//! PHP extensions, built for one server and loaded by nobody else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::download;
use super::local_sources::{self, SOURCES, stand_in};
use super::tool::{Origin, Site, not_written};
use crate::catalogue::Pecl;
use crate::programs::Run;

/// Swoole's 400 files of C++ take a quarter of an hour on one core.
const BUILD_TIMEOUT: Duration = Duration::from_secs(3600);
/// Where `phpize` must be run in sources that keep the extension beside other things.
const CONFIG: &str = "config.m4";

#[derive(Debug, Default)]
pub(super) struct Local {
    sources: Option<PathBuf>,
    /// Archives, by their names; what they should be, they must be.
    archives: Option<PathBuf>,
}

impl Local {
    pub(super) fn named() -> Local {
        Local { sources: stand_in(SOURCES), archives: stand_in(local_sources::FILES) }
    }
}

pub(super) fn build(extension: &Pecl, local: &Local, site: &Site<'_>) -> Result<Origin, String> {
    let build = site.layout.server_dir(site.server).join("build").join(&extension.name);
    if build.exists() {
        fs::remove_dir_all(&build).map_err(not_written(&build))?;
    }
    fs::create_dir_all(&build).map_err(not_written(&build))?;
    let run = |program: &str, arguments: &[&str], cwd: &Path| -> Result<(), String> {
        Run { timeout: BUILD_TIMEOUT, ..site.tool(program, arguments, cwd)? }.run()
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let origin = match local_sources(extension, local.sources.as_deref())? {
        Some(sources) => {
            run("cp", &["-R", "--", &format!("{}/.", text(&sources)), &text(&build)], &build)?;
            Origin::Local
        }
        None => {
            let fetched = match extension.archive() {
                Some(file) => download::obtain(&file, local.archives.as_deref(), site),
                None => run("pecl", &["download", &extension.pin()], &build).and_then(|()| {
                    let none = || format!("pecl left no archive in {}.", build.display());
                    only_archive(&build).ok_or_else(none)
                }),
            };
            let archive = fetched.map_err(|why| {
                format!("{why}\nWhere its archive cannot be reached, {SOURCES}=DIR names a folder with its sources.")
            })?;
            run("tar", &["-xzf", &text(&archive), "--no-same-owner"], &build)?;
            Origin::Registry
        }
    };
    let sources = phpize_folder(&build, 2)
        .ok_or_else(|| format!("The sources of {} have no {CONFIG}: {}.", extension.name, build.display()))?;
    run("phpize", &[], &sources)?;
    let configure = sources.join("configure");
    let options: Vec<&str> = extension.options.iter().map(String::as_str).collect();
    run(&text(&configure), &options, &sources)?;
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    run("make", &[&format!("-j{jobs}")], &sources)?;
    let name = format!("{}.so", extension.name);
    let (from, ext) = (sources.join("modules").join(&name), site.layout.ext(site.server));
    if !from.is_file() {
        return Err(format!(
            "The sources of {} built no {name}: see {}.",
            extension.name,
            site.log.display()
        ));
    }
    fs::create_dir_all(&ext).map_err(not_written(&ext))?;
    site.copy(&from, &ext.join(name))?;
    let _ = fs::remove_dir_all(&build);
    Ok(origin)
}

fn local_sources(extension: &Pecl, dir: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let Some(dir) = dir else { return Ok(None) };
    let names = [extension.pin(), extension.name.clone()];
    let found = names.iter().map(|name| dir.join(name)).find(|path| path.is_dir());
    found
        .map(Some)
        .ok_or_else(|| format!("{SOURCES} is {}, which has no folder {}.", dir.display(), names.join(" or ")))
}

fn only_archive(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?;
    entries.filter_map(|e| Some(e.ok()?.path())).find(|path| path.extension().is_some_and(|e| e == "tgz"))
}

fn phpize_folder(dir: &Path, depth: usize) -> Option<PathBuf> {
    if dir.join(CONFIG).is_file() {
        return Some(dir.to_owned());
    }
    let mut folders: Vec<PathBuf> =
        fs::read_dir(dir).ok()?.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_dir()).collect();
    folders.sort();
    let deeper = depth.checked_sub(1)?;
    folders.iter().find_map(|folder| phpize_folder(folder, deeper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Layout;

    #[test]
    fn an_archive_with_another_hash_is_not_unpacked_or_built() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let log = layout.install_log("s");
        let site = Site { server: "s", dir: dir.path(), layout: &layout, user: None, log };
        fs::write(dir.path().join("ev-1.2.1.tgz"), "hello\n").unwrap();
        let local = Local { sources: None, archives: Some(dir.path().to_owned()) };
        let entry = |sum: &str| Pecl::parse(&format!("ev-1.2.1 sha256={sum}")).unwrap();
        let right = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        let why = build(&entry(&"0".repeat(64)), &local, &site).unwrap_err();
        let said = format!(
            "https://pecl.php.net/get/ev-1.2.1.tgz is not the file that the recipe means: its SHA-256 is {right}"
        );
        assert!(why.starts_with(&said), "{why}");
        let built = layout.server_dir("s").join("build/ev");
        assert_eq!(fs::read_dir(&built).unwrap().count(), 0);
        assert!(!layout.ext("s").exists());
        // With the right hash it is taken, and fails only where it is unpacked: it is no archive.
        let why = build(&entry(right), &local, &site).unwrap_err();
        assert!(why.starts_with("`tar ") || why.contains("tar"), "{why}");
    }
}
