//! A fresh private folder per server start: `{run}`.
//!
//! It lies in the system's temporary folder and not below `.prony/`, for two
//! reasons found by running the catalogue: a Unix socket's path may have at
//! most 107 bytes, and workers that a server starts as another user must be
//! able to reach it, which they cannot below a home folder of mode 0700. The
//! guard removes it after the stop; the journal knows it for the case that
//! the guard could not.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Others may pass through (to a socket whose name they were given) and not look.
const MODE: u32 = 0o711;
/// Names that are tried: another's leftovers may be in the way.
const TRIES: u32 = 1_000;

/// Only folders that hold this file are ever removed.
pub(crate) const MARK: &str = ".prony-run";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Makes a fresh folder, empty but for the mark by which it is known as ours.
///
/// # Errors
/// When the temporary folder cannot be written to.
pub(crate) fn create() -> io::Result<PathBuf> {
    let parent = std::env::temp_dir();
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("prony-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(MODE).create(&path) {
            Ok(()) => {
                // The umask may have taken bits away.
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(MODE))?;
                std::fs::write(path.join(MARK), "")?;
                return Ok(path);
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

/// The log of the i-th process in a run folder.
pub(crate) fn log_path(run_dir: &Path, process: usize) -> PathBuf {
    run_dir.join(format!("{process}.log"))
}

/// Removes a run folder, and nothing that Prony did not mark as one.
pub(crate) fn remove(run_dir: &Path) {
    if run_dir.join(MARK).is_file() {
        // What cannot be removed stays in the temporary folder and is tried again by the next clean-up.
        let _ = std::fs::remove_dir_all(run_dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_folder_is_new_private_and_short_enough_for_a_socket() {
        let (first, second) = (create().unwrap(), create().unwrap());
        assert_ne!(first, second);
        assert_eq!(std::fs::metadata(&first).unwrap().permissions().mode() & 0o777, MODE);
        assert!(first.join("php-fpm.sock").as_os_str().len() < 108);
        for path in [first, second] {
            remove(&path);
            assert!(!path.exists());
        }
    }
}
