//! A recipe's folder, copied to where it is built and run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::files::{RecipeFile, not_copied};

/// Which files were copied, so that those a recipe no longer has can be told from those that were built.
const MANIFEST: &str = ".prony-files";

/// Makes `work_dir` hold these files, and what was built there.
pub(super) fn write(files: &[RecipeFile], work_dir: &Path) -> Result<(), String> {
    fs::create_dir_all(work_dir).map_err(not_copied(work_dir))?;
    let manifest = work_dir.join(MANIFEST);
    let before = fs::read_to_string(&manifest).unwrap_or_default();
    for gone in before.lines().filter(|line| !files.iter().any(|f| f.path.as_os_str() == *line)) {
        // The manifest is ours, but it lies in a folder where applications write.
        if Path::new(gone).components().all(|c| matches!(c, std::path::Component::Normal(_))) {
            let _ = fs::remove_file(work_dir.join(gone));
        }
    }
    for file in files {
        let path = work_dir.join(&file.path);
        // Times of modification stay as they are where nothing changed: compilers look at them.
        if fs::symlink_metadata(&path).is_ok_and(|m| m.is_file())
            && fs::read(&path).is_ok_and(|b| b == file.bytes)
        {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(not_copied(parent))?;
        }
        // A link that was put there would be written through.
        let _ = fs::remove_file(&path);
        fs::write(&path, &file.bytes).map_err(not_copied(&path))?;
        // The binary's copy of the catalogue knows no modes: a script is what begins like one.
        if file.bytes.starts_with(b"#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(not_copied(&path))?;
        }
    }
    let names: String = files.iter().map(|f| format!("{}\n", f.path.display())).collect();
    if names == before {
        return Ok(());
    }
    // As above: as root, a link of the folder's owner would be written through.
    let _ = fs::remove_file(&manifest);
    fs::write(&manifest, names).map_err(not_copied(&manifest))
}
