//! Commits, checked out beside the folder that a user works in. What is made is written down first, so that a later
//! Prony removes what a killed one left: a folder of temporary files, and git's own record of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use prony_host::process::{Identity, pid_namespace};
use prony_host::{boot_id, state};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::child;
use crate::failure::Failure;
use crate::printer::Printer;

/// How the names of folders begin that hold work trees.
const PREFIX: &str = "prony-ci-";

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    owner: Identity,
    boot_id: String,
    pid_namespace: u64,
    repository: PathBuf,
    folder: PathBuf,
}

#[derive(Debug)]
pub(in crate::commands) struct Worktrees {
    pub(in crate::commands) application: PathBuf,
    prefix: String,
    folder: TempDir,
    written: PathBuf,
}

impl Worktrees {
    /// Of the repository that the application's folder is in; ends what an earlier Prony left.
    pub(in crate::commands) fn of(directory: &str, printer: &Printer) -> Result<Worktrees, Failure> {
        let application = Path::new(directory)
            .canonicalize()
            .map_err(|e| Failure::usage(format!("The application's folder {directory}: {e}.")))?;
        let prefix = git(&application, &["rev-parse", "--show-prefix"])?;
        let entries = state::folder().map_err(Failure::usage)?.join("worktrees");
        clean_up(&entries).iter().for_each(|said| printer.note(said));
        let place = std::env::var_os("RUNNER_TEMP").map_or_else(std::env::temp_dir, PathBuf::from);
        let failed = |e: std::io::Error| {
            let place = place.display();
            Failure::not_measured(format!("No folder for work trees could be made in {place}: {e}."))
        };
        let folder = TempDir::with_prefix_in(PREFIX, &place).map_err(failed)?;
        let owner = Identity::of(std::process::id());
        let owner = owner.ok_or_else(|| Failure::not_measured("/proc does not show this process."))?;
        let entry = Entry {
            owner,
            boot_id: boot_id(),
            pid_namespace: pid_namespace(),
            repository: application.clone(),
            folder: folder.path().to_owned(),
        };
        let written = entries.join(format!("{}-{}.json", entry.pid_namespace, std::process::id()));
        fs::create_dir_all(&entries).map_err(failed)?;
        fs::write(&written, serde_json::to_vec(&entry).map_err(|e| failed(e.into()))?).map_err(failed)?;
        Ok(Worktrees { application, prefix, folder, written })
    }

    pub(in crate::commands) fn checked_out(&mut self, commit: &str) -> Result<PathBuf, Failure> {
        let worktree = self.folder.path().join(short(commit));
        if !worktree.exists() {
            let path = worktree.display().to_string();
            git(&self.application, &["worktree", "add", "--quiet", "--detach", &path, commit])?;
        }
        Ok(worktree.join(&self.prefix))
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        remove(&self.application, self.folder.path());
        let _ = fs::remove_file(&self.written);
    }
}

fn remove(repository: &Path, folder: &Path) {
    let known = git(repository, &["worktree", "list", "--porcelain"]).unwrap_or_default();
    let paths = known.lines().filter_map(|line| line.strip_prefix("worktree "));
    for path in paths.filter(|path| Path::new(path).starts_with(folder)) {
        // Twice: one whose making was cut off is locked.
        let _ = git(repository, &["worktree", "remove", "--force", "--force", path]);
    }
    // What cannot be removed is in the folder for temporary files.
    let _ = fs::remove_dir_all(folder);
}

fn clean_up(entries: &Path) -> Vec<String> {
    let Ok(files) = fs::read_dir(entries) else { return Vec::new() };
    let clean = |file: fs::DirEntry| {
        let text = fs::read(file.path()).ok()?;
        let entry = serde_json::from_slice::<Entry>(&text).ok();
        let is_at_work = entry.as_ref().is_some_and(|entry| {
            // Processes of another container's cannot be seen from here.
            entry.boot_id == boot_id() && (entry.pid_namespace != pid_namespace() || entry.owner.lives())
        });
        if is_at_work {
            return None;
        }
        let _ = fs::remove_file(file.path());
        let entry = entry?;
        let is_ours = entry.folder.file_name()?.to_string_lossy().starts_with(PREFIX);
        is_ours.then(|| remove(&entry.repository, &entry.folder))?;
        Some(format!(
            "An earlier run was cut off; its work trees in {} were removed.",
            entry.folder.display()
        ))
    };
    files.flatten().filter_map(clean).collect()
}

pub(in crate::commands) fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// The commit that a revision names here, or else in `origin`.
pub(in crate::commands) fn commit(folder: &Path, flag: &str, revision: &str) -> Result<String, Failure> {
    // What begins so is an option to git.
    if revision.starts_with('-') || revision.chars().any(char::is_control) {
        return Err(Failure::usage(format!("{flag} {revision:?} is not a commit, tag or branch.")));
    }
    let of = |name: &str| format!("{name}^{{commit}}");
    let here = git(folder, &["rev-parse", "--verify", "--quiet", &of(revision)]);
    if let Ok(commit) = here {
        return Ok(commit);
    }
    // A whole clone is not made shallow by this.
    let shallow = git(folder, &["rev-parse", "--is-shallow-repository"])? == "true";
    let depth = if shallow { &["--depth=1"][..] } else { &[] };
    let fetched = git(folder, &[&["fetch", "--quiet"], depth, &["origin", revision]].concat());
    fetched.map_err(|failure| {
        Failure::not_measured(format!(
            "{revision} is not in this repository, and could not be fetched from origin. {}",
            failure.message
        ))
    })?;
    git(folder, &["rev-parse", "--verify", "--quiet", &of("FETCH_HEAD")])
}

/// What git says, without the newline at its end; an error has what it complained of.
pub(in crate::commands) fn git(folder: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let words = arguments.join(" ");
    let failed =
        |why: &str| Failure::not_measured(format!("`git {words}` failed in {}: {why}", folder.display()));
    let run = child("git", folder).args(arguments).output();
    let Output { status, stdout, stderr } = run.map_err(|e| failed(&format!("{e}.")))?;
    if !status.success() {
        return Err(failed(String::from_utf8_lossy(&stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&stdout).trim_end_matches('\n').to_owned())
}
