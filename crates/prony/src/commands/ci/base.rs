//! The commit that a change is compared with.

use std::path::Path;

use super::request;
use crate::commands::sides::worktrees::{self, git, short};
use crate::failure::Failure;
use crate::printer::Printer;

/// What `revision` names, or else what this job's environment says.
pub(super) fn commit(head: &Path, revision: Option<&str>, printer: &Printer) -> Result<String, Failure> {
    let named = match revision {
        Some(revision) => revision.to_owned(),
        None => of_this_job(head)?,
    };
    let commit = worktrees::commit(head, "--base", &named)?;
    let at_head = git(head, &["rev-parse", "HEAD"])?;
    printer.note(&format!("Comparing {} with {} ({named})", short(&at_head), short(&commit)));
    Ok(commit)
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
