//! Programs that their makers release as files: fetched once, checked, and put into `{opt}`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::local_sources::{FILES, stand_in};
use super::tool::{Origin, STEP_TIMEOUT, Site, not_written};
use crate::catalogue::Download;
use crate::programs::{Run, capture};

/// The largest file that is fetched: 1 GiB.
const BYTES_MAX: &str = "1073741824";

pub(super) fn fetch(files: &[Download], site: &Site<'_>) -> Result<Origin, String> {
    let opt = site.layout.opt(site.server);
    if opt.exists() {
        fs::remove_dir_all(&opt).map_err(not_written(&opt))?;
    }
    fs::create_dir_all(&opt).map_err(not_written(&opt))?;
    let local = stand_in(FILES);
    let mut origin = Origin::Registry;
    if let Some(folder) = local.as_ref().map(|dir| dir.join(site.server)).filter(|folder| folder.is_dir()) {
        run(site, "cp", &["-R", "--", &format!("{}/.", folder.display()), &opt.to_string_lossy()])?;
        // A file whose checksum is right is its maker's, wherever it was; a folder is what somebody says it is.
        origin = Origin::Local;
    } else {
        for file in files {
            let archive = obtain(file, local.as_deref(), site)?;
            place(file, &archive, &opt, site)?;
        }
    }
    for exe in files.iter().filter_map(|file| file.exe.as_deref()) {
        let path = opt.join(exe);
        if !path.is_file() {
            return Err(format!(
                "{} is not among what was downloaded: see exe in server.toml.",
                path.display()
            ));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(not_written(&path))?;
    }
    Ok(origin)
}

/// The file, checked: from the store, from the folder somebody named, or from its maker.
pub(super) fn obtain(file: &Download, local: Option<&Path>, site: &Site<'_>) -> Result<PathBuf, String> {
    let store = site.layout.downloads();
    fs::create_dir_all(&store).map_err(|e| format!("{} cannot be made: {e}.", store.display()))?;
    let kept = store.join(format!("{}-{}", &file.sha256[..16], file.file_name()));
    if kept.is_file() && sha256(&kept)? == file.sha256 {
        return Ok(kept);
    }
    let part = kept.with_extension("part");
    match local.map(|dir| dir.join(file.file_name())).filter(|path| path.is_file()) {
        Some(path) => {
            fs::copy(&path, &part).map_err(|e| format!("{} cannot be copied: {e}.", path.display()))?;
        }
        None => run(
            site,
            "curl",
            &[
                "--fail",
                "--silent",
                "--show-error",
                "--location",
                "--proto",
                "=https",
                "--max-filesize",
                BYTES_MAX,
                "--connect-timeout",
                "20",
                "--output",
                &part.to_string_lossy(),
                "--",
                &file.url,
            ],
        )
        .map_err(|why| {
            format!(
                "{why}\nWhere it cannot be reached, {FILES}=DIR names a folder with {}.",
                file.file_name()
            )
        })?,
    }
    let found = sha256(&part)?;
    if found != file.sha256 {
        let _ = fs::remove_file(&part);
        return Err(format!(
            "{} is not the file that the recipe means: its SHA-256 is {found}, expected {}.",
            file.url, file.sha256
        ));
    }
    fs::rename(&part, &kept).map_err(not_written(&kept))?;
    Ok(kept)
}

fn place(file: &Download, from: &Path, opt: &Path, site: &Site<'_>) -> Result<(), String> {
    let (source, target) = (from.to_string_lossy(), opt.to_string_lossy());
    if !file.unpack {
        let to = opt.join(file.exe.as_deref().unwrap_or(file.file_name()));
        let copy = || {
            fs::create_dir_all(to.parent().unwrap_or(opt))?;
            fs::copy(from, &to)
        };
        return copy().map(drop).map_err(not_written(&to));
    }
    let name = file.file_name().to_ascii_lowercase();
    if name.ends_with(".zip") {
        run(site, "unzip", &["-q", "-o", &source, "-d", &target])?;
        return (0..file.strip).try_for_each(|_| unwrap_folder(opt));
    }
    if name.ends_with(".deb") {
        run(site, "dpkg-deb", &["-x", &source, &target])?;
        return (0..file.strip).try_for_each(|_| unwrap_folder(opt));
    }
    let strip = format!("--strip-components={}", file.strip);
    run(site, "tar", &["-xf", &source, "-C", &target, "--no-same-owner", &strip])
}

fn unwrap_folder(opt: &Path) -> Result<(), String> {
    let error = not_written(opt);
    let entries: Vec<PathBuf> =
        fs::read_dir(opt).map_err(&error)?.filter_map(|e| Some(e.ok()?.path())).collect();
    let [folder] = &entries[..] else {
        return Err(format!("{} is not one folder: see strip.", opt.display()));
    };
    // Under a name that none of its own entries has.
    let aside = opt.with_extension("unpacked");
    let _ = fs::remove_dir_all(&aside);
    fs::rename(folder, &aside)
        .and_then(|()| fs::remove_dir(opt))
        .and_then(|()| fs::rename(&aside, opt))
        .map_err(error)
}

fn sha256(path: &Path) -> Result<String, String> {
    let argv = ["sha256sum".to_owned(), "--".to_owned(), path.to_string_lossy().into_owned()];
    let said = capture(&argv, Path::new("/"), &[], STEP_TIMEOUT).filter(|said| said.success);
    let text = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    // A name with a backslash is printed escaped, behind one more.
    let digits = text.as_deref().and_then(|t| t.trim_start_matches('\\').split_whitespace().next());
    digits.map(str::to_owned).ok_or_else(|| format!("sha256sum cannot read {}.", path.display()))
}

fn run(site: &Site<'_>, program: &str, arguments: &[&str]) -> Result<(), String> {
    let name = format!("{program} … {}", arguments.last().unwrap_or(&""));
    Run { name, ..site.tool(program, arguments, site.layout.root())? }.run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Layout;

    #[test]
    fn a_file_is_kept_with_the_right_hash_and_refused_with_another() {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(&dir.path().join(".prony")).unwrap();
        let log = layout.install_log("s");
        let site = Site { server: "s", dir: dir.path(), layout: &layout, user: None, log };
        fs::write(dir.path().join("a.tgz"), "hello\n").unwrap();
        let file = |sha256: &str| Download {
            url: "https://example.org/a.tgz".to_owned(),
            sha256: sha256.to_owned(),
            unpack: true,
            strip: 0,
            exe: None,
            arch: None,
        };
        let (right, wrong) =
            ("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", "0".repeat(64));
        let why = obtain(&file(&wrong), Some(dir.path()), &site).unwrap_err();
        assert_eq!(
            why,
            format!(
                "https://example.org/a.tgz is not the file that the recipe means: its SHA-256 is {right}, expected {wrong}."
            )
        );
        assert_eq!(fs::read_dir(layout.downloads()).unwrap().count(), 0, "nothing of it stays");
        let kept = obtain(&file(right), Some(dir.path()), &site).unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), "hello\n");
    }
}
