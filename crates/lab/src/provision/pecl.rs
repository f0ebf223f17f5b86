//! PHP extensions, built for one server and loaded by nobody else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::download;
use super::tool::{Origin, Site, not_written, stand_in};
use crate::catalogue::Pecl;
use crate::programs::Run;

/// Names a folder with a folder for each extension, NAME-VERSION or NAME, to be built instead of what
/// pecl.php.net has.
pub(super) const SOURCES: &str = "PRONY_PECL_SOURCES";
/// Swoole's 400 files of C++ take a quarter of an hour on one core.
const BUILD_TIMEOUT: Duration = Duration::from_secs(3600);
/// Where `phpize` must be run in sources that keep the extension beside other things.
const CONFIG: &str = "config.m4";

/// Builds one extension into the server's `{ext}`.
pub(super) fn build(extension: &Pecl, site: &Site<'_>) -> Result<Origin, String> {
    let build = site.layout.server_dir(site.server).join("build").join(&extension.name);
    if build.exists() {
        fs::remove_dir_all(&build).map_err(not_written(&build))?;
    }
    fs::create_dir_all(&build).map_err(not_written(&build))?;
    let run = |program: &str, arguments: &[&str], cwd: &Path| -> Result<(), String> {
        Run { timeout: BUILD_TIMEOUT, ..site.tool(program, arguments, cwd)? }.run()
    };
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let origin = match local_sources(extension)? {
        Some(sources) => {
            run("cp", &["-R", "--", &format!("{}/.", text(&sources)), &text(&build)], &build)?;
            Origin::Local
        }
        None => {
            let fetched = match extension.archive() {
                Some(file) => download::obtain(&file, stand_in(download::FILES).as_deref(), site),
                None => run("pecl", &["download", &extension.pin()], &build).and_then(|()| {
                    let none = || format!("pecl left no archive in {}.", build.display());
                    only_archive(&build).ok_or_else(none)
                }),
            };
            let archive = fetched.map_err(|why| {
                format!("{why}\nWhere pecl.php.net cannot be reached, {SOURCES}=DIR names a folder with its sources.")
            })?;
            run("tar", &["-xzf", &text(&archive)], &build)?;
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
    // Beside a running server's file, not over it.
    let new = ext.join(format!("{name}.new"));
    fs::create_dir_all(&ext)
        .and_then(|()| fs::copy(&from, &new))
        .and_then(|_| fs::rename(&new, ext.join(&name)))
        .map_err(not_written(&ext))?;
    let _ = fs::remove_dir_all(&build);
    Ok(origin)
}

/// The extension's sources on this machine, where somebody named a folder of such.
fn local_sources(extension: &Pecl) -> Result<Option<PathBuf>, String> {
    let Some(dir) = stand_in(SOURCES) else { return Ok(None) };
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

/// The folder itself or the first below it that can be built.
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
