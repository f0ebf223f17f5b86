//! The base of a change, checked out beside it.

use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use super::{child, request};
use crate::failure::Failure;
use crate::printer::Printer;

/// Both sides' folders. The base's is in a work tree of git's that ends with this value.
#[derive(Debug)]
pub(super) struct Checkout {
    pub(super) base: PathBuf,
    pub(super) head: PathBuf,
    worktree: PathBuf,
    _folder: TempDir,
}

impl Checkout {
    /// Checks the base out: what `revision` names, or else what this job's environment says.
    pub(super) fn of_base(
        head: &Path,
        revision: Option<&str>,
        printer: &Printer,
    ) -> Result<Checkout, Failure> {
        let head = head
            .canonicalize()
            .map_err(|e| Failure::usage(format!("The application's folder {}: {e}.", head.display())))?;
        let prefix = git(&head, &["rev-parse", "--show-prefix"])?;
        let named = match revision {
            Some(revision) => revision.to_owned(),
            None => of_this_job(&head)?,
        };
        let commit = commit(&head, &named)?;
        let at_head = git(&head, &["rev-parse", "HEAD"])?;
        let short = |commit: &str| commit.chars().take(12).collect::<String>();
        printer.note(&format!("Comparing {} with {} ({named})", short(&at_head), short(&commit)));

        let place = std::env::var_os("RUNNER_TEMP").map_or_else(std::env::temp_dir, PathBuf::from);
        let folder = TempDir::with_prefix_in("prony-ci-", &place).map_err(|e| {
            Failure::not_measured(format!(
                "No folder for the base could be made in {}: {e}.",
                place.display()
            ))
        })?;
        let worktree = folder.path().join("base");
        let path = worktree.display().to_string();
        git(&head, &["worktree", "add", "--quiet", "--detach", &path, &commit])?;
        Ok(Checkout { base: worktree.join(prefix), head, worktree, _folder: folder })
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let path = self.worktree.display().to_string();
        // What is left is a folder of temporary files and a line that `git worktree prune` removes.
        let _ = git(&self.head, &["worktree", "remove", "--force", &path]);
    }
}

fn of_this_job(head: &Path) -> Result<String, Failure> {
    let base = request::base()?.ok_or_else(|| {
        Failure::usage(
            "There is nothing to compare with, since this is not a CI job of a pull request or merge \
             request: name a commit, tag or branch with --base.",
        )
    })?;
    // GitHub checks out the merge of the change into its base. Its first parent is the base exactly, while the base that
    // the event names may be older, and then others' changes were measured, too. A shallow clone has the parents' names.
    let merge = git(head, &["cat-file", "-p", "HEAD"])?;
    let parents: Vec<&str> = merge.lines().map_while(header_line).filter_map(parent).collect();
    match (parents.as_slice(), &base.head) {
        ([first, second], Some(head)) if second == head => Ok((*first).to_owned()),
        _ => Ok(base.commit),
    }
}

fn header_line(line: &str) -> Option<&str> {
    (!line.is_empty()).then_some(line)
}

fn parent(line: &str) -> Option<&str> {
    line.strip_prefix("parent ")
}

/// The commit that a revision names here, or else in `origin`.
fn commit(folder: &Path, revision: &str) -> Result<String, Failure> {
    // What begins so is an option to git.
    if revision.starts_with('-') || revision.chars().any(char::is_control) {
        return Err(Failure::usage(format!("--base {revision:?} is not a commit, tag or branch.")));
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
fn git(folder: &Path, arguments: &[&str]) -> Result<String, Failure> {
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
