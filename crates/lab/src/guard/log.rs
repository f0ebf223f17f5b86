//! A server's output: a pipe, drained by the guard into a file of bounded size.
//!
//! Why not the file itself as stdout: a server that logs each request fills
//! the disk within a long run, and RLIMIT_FSIZE would end the server instead.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread::JoinHandle;

/// A log holds at most this; then it begins again with its own end.
pub(super) const LOG_MAX_BYTES: u64 = 1 << 20;
/// What it begins again with: enough for the last lines of any server.
const KEPT_BYTES: u64 = 64 << 10;
const CUT: &[u8] = b"[earlier output was dropped]\n";

/// Drains the pipe into the file on a thread of its own, until all writers have closed it.
pub(super) fn drain(mut pipe: PipeReader, path: &Path) -> io::Result<JoinHandle<()>> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        let mut chunk = vec![0; 64 << 10];
        let mut length = 0;
        loop {
            match pipe.read(&mut chunk) {
                Ok(0) => return,
                // A log that cannot be written (no space) is lost; the pipe must be drained all the same.
                Ok(read) => length = append(&mut file, length, &chunk[..read]).unwrap_or(0),
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })
}

/// Appends to a log of `length` bytes, cutting it first if it would grow too long; its new length.
fn append(file: &mut File, length: u64, bytes: &[u8]) -> io::Result<u64> {
    let length = if length + bytes.len() as u64 > LOG_MAX_BYTES { cut(file, length)? } else { length };
    file.seek(SeekFrom::Start(length))?;
    file.write_all(bytes)?;
    Ok(length + bytes.len() as u64)
}

fn cut(file: &mut File, length: u64) -> io::Result<u64> {
    let mut kept = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT_BYTES)))?;
    file.take(KEPT_BYTES).read_to_end(&mut kept)?;
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(CUT)?;
    file.write_all(&kept)?;
    Ok((CUT.len() + kept.len()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_talkative_server_does_not_fill_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let (reader, mut writer) = io::pipe().unwrap();
        let drained = drain(reader, &path).unwrap();
        for line in 0..200_000 {
            writeln!(writer, "line {line} of many that a server may write").unwrap();
        }
        drop(writer);
        drained.join().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= LOG_MAX_BYTES, "{}", text.len());
        assert!(text.starts_with("[earlier output was dropped]\n"));
        assert!(text.ends_with("line 199999 of many that a server may write\n"));
        assert!(text.contains("line 199998 of"));
    }
}
