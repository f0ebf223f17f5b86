//! Files with results: whole or not there, in place of what had their name. A link is replaced, not followed. An
//! earlier result stays until the new one is on the disk where its folder allows, else it is overwritten. Pipes, and
//! what /dev and /proc name, are written to as they are.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

pub(crate) fn write(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    replace(path, true, write)
}

/// The same for one of many files that can be made again: it does not wait for the disk, which takes milliseconds each.
pub(crate) fn write_soon(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    replace(path, false, write)
}

fn replace(path: &Path, sync: bool, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let there = fs::symlink_metadata(path).ok();
    let is_pipe = there.as_ref().is_some_and(|m| m.file_type().is_fifo() || m.file_type().is_char_device());
    if is_pipe || path.starts_with("/dev") || path.starts_with("/proc") {
        // Devices and pipes cannot be synced.
        return write(&File::create(path)?);
    }
    if there.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let unfinished = beside(path)?;
    let mode = there.filter(fs::Metadata::is_file).map(|m| m.permissions());
    let created = create_new(&unfinished);
    if let Some(file) = created.as_ref().err().and_then(|refused| in_place(path, refused)) {
        file.set_len(0)?;
        write(&file)?;
        return file.sync_all();
    }
    let finished = created.and_then(|file| {
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
        write(&file)?;
        if sync {
            file.sync_all()?;
        }
        fs::rename(&unfinished, path)
    });
    finished.inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

/// Whether one could be written there: an error if not.
pub(crate) fn probe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // A device or a pipe, whose reader would notice.
        Ok(metadata) if !metadata.is_file() => return Ok(()),
        Ok(_) | Err(_) => {}
    }
    let unfinished = beside(path)?;
    match create_new(&unfinished) {
        Ok(_) => fs::remove_file(unfinished),
        Err(refused) => in_place(path, &refused).map(drop).ok_or(refused),
    }
}

/// The file that is there already, where its folder refuses another one beside it. A link is not followed here either.
fn in_place(path: &Path, refused: &io::Error) -> Option<File> {
    let is_folders =
        matches!(refused.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let open = || OpenOptions::new().write(true).custom_flags(flags).open(path).ok();
    is_folders.then(open)?.filter(|file| file.metadata().is_ok_and(|m| m.is_file()))
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o666).open(path)
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    // With both ends it stays within the 255 bytes of a name.
    let short: String = name.chars().take(48).collect();
    Ok(path.with_file_name(format!(".{short}.{}.new", std::process::id())))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_result_replaces_a_link_and_leaves_what_it_led_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("precious"), "old").unwrap();
        symlink(at("precious"), at("run.html")).unwrap();
        symlink(at("nowhere"), at("dangling.html")).unwrap();
        for name in ["run.html", "dangling.html", "fresh.html"] {
            probe(&at(name)).unwrap();
            write(&at(name), |mut file| file.write_all(b"new")).unwrap();
            assert!(fs::symlink_metadata(at(name)).unwrap().is_file());
            assert_eq!(fs::read_to_string(at(name)).unwrap(), "new");
        }
        assert_eq!(fs::read_to_string(at("precious")).unwrap(), "old");
        assert_eq!(names(folder.path()), ["dangling.html", "fresh.html", "precious", "run.html"]);
    }

    #[test]
    fn what_cannot_be_written_whole_leaves_the_earlier_result() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.html");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let full = write(&path, |mut file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("old", 1));
        write(&path, |mut file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(write(folder.path(), |_| Ok(())).is_err(), "a folder");
        assert!(write(&folder.path().join("no/such"), |_| Ok(())).is_err());
    }

    #[test]
    fn a_result_in_a_read_only_folder_is_overwritten_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["mine", "others"] {
            fs::write(at(name), "an old and longer one").unwrap();
        }
        fs::set_permissions(at("others"), fs::Permissions::from_mode(0o444)).unwrap();
        symlink(at("mine"), at("link")).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Root may do everything by its capabilities, which are a thread's own.
                let mut sets = rustix::thread::capabilities(None).unwrap();
                sets.effective = rustix::thread::CapabilitySet::empty();
                rustix::thread::set_capabilities(None, sets).unwrap();
                probe(&at("mine")).unwrap();
                write(&at("mine"), |mut file| file.write_all(b"new")).unwrap();
                for name in ["others", "link", "none"] {
                    let refused = write(&at(name), |mut file| file.write_all(b"newer")).unwrap_err();
                    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{name}");
                    assert!(probe(&at(name)).is_err(), "{name}");
                }
            });
        });
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(fs::read_to_string(at("mine")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("others")).unwrap(), "an old and longer one");
        assert_eq!(names(folder.path()), ["link", "mine", "others"]);
    }

    #[test]
    fn pipes_and_devices_are_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        };
        write(&pipe, |mut file| file.write_all(b"new")).unwrap();
        assert_eq!(reader.join().unwrap(), "new");
        write(Path::new("/dev/null"), |mut file| file.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
