//! What an agent measures, in a file of its own, a line of JSON for each piece: it stays where the controller dies, or
//! is cut off, and goes where all pieces are confirmed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file has at most so much; then it ends, which is said. A day of seconds has about half of it.
const BYTES_MAX: u64 = 1 << 30;
const ALL_MAX_BYTES: u64 = 4 << 30;
/// Files that nobody took within this time are removed.
const KEPT: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug)]
pub(crate) struct DeltaFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// Where agents' files are: `prony/agents` in the user's state folder.
pub(crate) fn folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| state.join("prony/agents"))
}

impl DeltaFile {
    /// A new file in this folder, of a name that tells run, agent and load, readable by this user alone.
    pub(crate) fn create(folder: &Path, run: &str, agent: &str, trial: u32) -> std::io::Result<DeltaFile> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        remove_old(folder);
        let sizes = fs::read_dir(folder)?.flatten().filter_map(|entry| Some(entry.metadata().ok()?.len()));
        if sizes.fold(0, u64::saturating_add) >= ALL_MAX_BYTES {
            return Err(std::io::Error::other(format!(
                "its files have {} GiB already that no controller took; remove those that you do not need",
                ALL_MAX_BYTES >> 30
            )));
        }
        let path = folder.join(format!("{run}-{agent}-{trial}.jsonl"));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(DeltaFile { path, file, bytes: 0 })
    }

    pub(crate) fn add(&mut self, json: &str) -> std::io::Result<()> {
        let line = format!("{json}\n");
        self.bytes += line.len() as u64;
        if self.bytes > BYTES_MAX {
            return Err(std::io::Error::other(format!("its file has {} MiB already", BYTES_MAX >> 20)));
        }
        self.file.write_all(line.as_bytes())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn remove(self) -> std::io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Removes what nobody took. What cannot be read or removed is another's to look after.
fn remove_old(folder: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age > KEPT))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_old) {
        let _ = fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_lines_and_a_file_that_was_taken_goes() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let mut file = DeltaFile::create(&state, "run", "0", 1).unwrap();
        file.add("[1,2]").unwrap();
        file.add("\"x\"").unwrap();
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "[1,2]\n\"x\"\n");
        assert!(DeltaFile::create(&state, "run", "0", 1).is_err(), "none is overwritten");
        let path = file.path().to_owned();
        file.remove().unwrap();
        assert!(!path.exists());
        // One of long ago.
        let old = state.join("old.jsonl");
        File::create(&old).unwrap().set_modified(SystemTime::now() - 2 * KEPT).unwrap();
        DeltaFile::create(&state, "run", "0", 2).unwrap();
        assert!(!old.exists());
    }

    #[test]
    fn files_that_nobody_takes_are_bounded_in_all() {
        let folder = tempfile::tempdir().unwrap();
        // Sparse: it has a length, and takes no room.
        File::create(folder.path().join("lost.jsonl")).unwrap().set_len(ALL_MAX_BYTES - 1).unwrap();
        let mut last = DeltaFile::create(folder.path(), "run", "0", 1).unwrap();
        last.add("1").unwrap();
        let refused = DeltaFile::create(folder.path(), "run", "0", 2).unwrap_err().to_string();
        assert!(refused.contains("4 GiB already"), "{refused}");
    }
}
