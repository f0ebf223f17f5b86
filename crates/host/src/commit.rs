//! The git commit that a run belongs to, read from `.git`: no process is started, and a repository is input from
//! outside.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use prony_model::foreign_file;

/// Folders above the current one that are looked into: a path has at most 4,096 bytes.
const PARENTS_MAX: usize = 64;
/// `HEAD`, a reference or a pointer to a folder is a line.
const LINE_MAX_BYTES: u64 = 8 << 10;
/// Chromium's packed-refs has some 3 MB.
const PACKED_MAX_BYTES: u64 = 64 << 20;

/// The commit that is checked out here; without one, what a CI says (`GITHUB_SHA`, `CI_COMMIT_SHA`). Changed files are
/// not looked at.
pub fn current() -> Option<String> {
    let folder = std::env::current_dir().ok();
    folder.as_deref().and_then(of_folder).or_else(|| {
        let named = |name| std::env::var(name).ok().and_then(|value| hash(&value));
        named("GITHUB_SHA").or_else(|| named("CI_COMMIT_SHA"))
    })
}

fn of_folder(folder: &Path) -> Option<String> {
    let dot_git = folder.ancestors().take(PARENTS_MAX).map(|f| f.join(".git")).find(|path| path.exists())?;
    let git = if dot_git.is_dir() {
        dot_git
    } else {
        // A worktree or a submodule: gitrepository-layout(5).
        dot_git.parent()?.join(line(&dot_git)?.strip_prefix("gitdir: ")?)
    };
    let head = line(&git.join("HEAD"))?;
    let Some(reference) = head.strip_prefix("ref: ") else { return hash(&head) };
    // A name from outside must not lead out of the folder.
    let sound =
        reference.starts_with("refs/") && reference.split('/').all(|part| !part.is_empty() && part != "..");
    if !sound {
        return None;
    }
    let common = line(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path));
    let folders: [&PathBuf; 2] = [&git, &common];
    let loose = folders.into_iter().find_map(|folder| hash(&line(&folder.join(reference))?));
    loose.or_else(|| packed(&common.join("packed-refs"), reference))
}

fn line(path: &Path) -> Option<String> {
    let mut text = String::new();
    foreign_file::open(path).ok()?.take(LINE_MAX_BYTES).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn packed(path: &Path, reference: &str) -> Option<String> {
    let lines = BufReader::new(foreign_file::open(path).ok()?.take(PACKED_MAX_BYTES)).lines();
    lines.map_while(Result::ok).find_map(|line| {
        let (commit, name) = line.split_once(' ')?;
        (name == reference).then(|| hash(commit))?
    })
}

/// SHA-1 or SHA-256 in hexadecimal.
fn hash(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const A: &str = "0123456789abcdef0123456789abcdef01234567";
    const B: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_commit_is_read_through_a_loose_or_packed_branch() {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path();
        write(root, ".git/HEAD", "ref: refs/heads/main\n");
        write(root, ".git/packed-refs", &format!("# pack-refs with: peeled\n{B} refs/heads/main\n^{A}\n"));
        fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(of_folder(&root.join("a/b")).as_deref(), Some(B));
        write(root, ".git/refs/heads/main", &format!("{A}\n"));
        assert_eq!(of_folder(root).as_deref(), Some(A), "a loose reference is newer");
    }

    #[test]
    fn the_commit_of_a_detached_head_and_of_a_worktree_is_read() {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path();
        write(root, "main/.git/HEAD", &format!("{}\n", A.to_ascii_uppercase()));
        assert_eq!(of_folder(&root.join("main")).as_deref(), Some(A));
        write(root, "main/.git/refs/heads/side", B);
        write(root, "main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
        write(root, "main/.git/worktrees/side/commondir", "../..\n");
        write(root, "side/.git", "gitdir: ../main/.git/worktrees/side\n");
        assert_eq!(of_folder(&root.join("side")).as_deref(), Some(B));
    }

    #[test]
    fn a_damaged_or_forged_git_folder_gives_no_commit() {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path();
        write(root, "secret", A);
        for head in
            ["", "ref: refs/heads/none", "ref: refs/../../secret", "ref: /etc/passwd", "0123", "\u{fffd}"]
        {
            write(root, ".git/HEAD", head);
            assert_eq!(of_folder(root), None, "{head:?}");
        }
        write(root, "file/.git", "nothing");
        assert_eq!(of_folder(&root.join("file")), None);
        assert_eq!(hash(&"g".repeat(40)), None);
    }
}
