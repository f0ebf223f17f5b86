//! Files that somebody else wrote, read within bounds.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file to be read. Folders are refused where they are read.
pub fn open(path: &Path) -> io::Result<File> {
    // What has this name may change at any time: what was opened is what is looked at. Without a writer a pipe is opened at once.
    let file =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(file);
    }
    Err(io::Error::other("it is a pipe or a device and not a regular file: write it to a file first"))
}

pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)? as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}

pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_regular_files_within_the_bound_are_read() {
        let folder = std::env::temp_dir().join(format!("prony-foreign-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a");
        fs::write(&file, "four").unwrap();
        assert_eq!(read_text(&file, 4).unwrap(), "four");
        assert!(read_text(&file, 3).unwrap_err().to_string().contains("longer than 3 bytes"));
        assert!(read_text(&folder, 4).is_err(), "a folder");
        let refused = |path: &Path| open(path).unwrap_err().to_string();
        assert!(refused(Path::new("/dev/zero")).contains("not a regular file"));
        assert!(refused(&folder.join("none")).contains("No such file"));
        // Were it opened, this would wait for a writer for ever.
        let pipe = folder.join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(refused(&pipe).contains("a pipe"));
        // One with a writer, too, which is not left to wait for a reader.
        let _both_ends = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert!(refused(&pipe).contains("a pipe"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
