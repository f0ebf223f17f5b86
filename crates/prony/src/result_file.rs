//! Files with results: whole or not there, in place of what had their name.
//!
//! A link is replaced and not followed: a folder that somebody else has filled leads nowhere. What an earlier result was stays
//! until the new one is on the disk. Pipes, and what /dev and /proc name, are written to as they are.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Writes one by `write`.
pub(crate) fn write(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
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
    let finished = create_new(&unfinished).and_then(|file| {
        mode.map_or(Ok(()), |mode| file.set_permissions(mode))?;
        write(&file)?;
        file.sync_all()?;
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
    create_new(&unfinished)?;
    fs::remove_file(unfinished)
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o666).open(path)
}

/// A name of this process's own in the same folder.
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
