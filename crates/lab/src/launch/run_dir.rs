//! A fresh private folder per server start: `{run}`.
//!
//! It lies in the system's temporary folder and not below `.prony/`: a Unix socket's path may have at most 107 bytes,
//! and a server's workers of another user must reach it. The guard removes it, or else whoever reads the journal.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const OWN: u32 = 0o700;
/// Others may pass through (to a socket whose name they were given) and not look.
const SHARED: u32 = 0o711;

/// Only folders that hold this file are ever removed.
pub(crate) const MARK: &str = ".prony-run";

/// Makes a fresh folder of a name that nobody can foresee, empty but for the mark by which it is known as ours. Shared,
/// processes of other users can reach what is in it by its name: root's servers and those in containers have some.
pub(crate) fn create(shared: bool) -> io::Result<PathBuf> {
    let mode = Permissions::from_mode(if shared { SHARED } else { OWN });
    let made = tempfile::Builder::new().prefix("prony-").permissions(mode.clone()).tempdir()?;
    // The umask may have taken bits away.
    fs::set_permissions(made.path(), mode)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(made.path().join(MARK))?;
    Ok(made.keep())
}

pub(crate) fn log_path(run_dir: &Path, process: usize) -> PathBuf {
    run_dir.join(format!("{process}.log"))
}

/// Removes a run folder, and nothing that Prony did not mark as one; no link stands for either.
pub(crate) fn remove(run_dir: &Path) {
    let is_folder = fs::symlink_metadata(run_dir).is_ok_and(|found| found.is_dir());
    if is_folder && fs::symlink_metadata(run_dir.join(MARK)).is_ok_and(|found| found.is_file()) {
        // What cannot be removed stays in the temporary folder and is tried again by the next clean-up.
        let _ = fs::remove_dir_all(run_dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_folder_is_new_private_and_short_for_a_socket() {
        let (first, second) = (create(false).unwrap(), create(true).unwrap());
        assert_ne!(first, second);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&first), mode(&second), mode(&first.join(MARK))), (OWN, SHARED, 0o600));
        assert!(first.join("php-fpm.sock").as_os_str().len() < 108);
        for path in [first, second] {
            remove(&path);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_run_folder_is_not_removed_by_a_link_to_it_or_to_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["marked", "other"] {
            fs::create_dir(at(folder)).unwrap();
        }
        fs::write(at("marked").join(MARK), "").unwrap();
        std::os::unix::fs::symlink(at("marked"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("marked").join(MARK), at("other").join(MARK)).unwrap();
        for name in ["link", "other"] {
            remove(&at(name));
            assert!(at(name).exists() && at("marked").join(MARK).exists(), "{name}");
        }
    }
}
