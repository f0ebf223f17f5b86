//! A server's output: a pipe, drained by the guard into a file of bounded size. The file itself as stdout would fill
//! the disk where a server logs each request, and RLIMIT_FSIZE would end the server instead.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::wait_readable;

/// A log holds at most this; then it begins again with its own end.
pub(super) const LOG_MAX_BYTES: u64 = 1 << 20;
/// What it begins again with: enough for the last lines of any server.
const KEPT_BYTES: u64 = 64 << 10;
const CUT: &[u8] = b"[earlier output was dropped]\n";
const CHUNK_BYTES: usize = 64 << 10;
/// No pipe holds more: the kernel's own limit of /proc/sys/fs/pipe-max-size unless root raised it.
const PIPE_MAX_BYTES: usize = 1 << 20;

pub(super) struct Log {
    pipe: PipeReader,
    written: Mutex<Written>,
}

struct Written {
    file: File,
    length: u64,
    chunk: Vec<u8>,
}

/// Drains the pipe into the file on a thread of its own, until all writers have closed it.
pub(super) fn drain(pipe: PipeReader, path: &Path) -> io::Result<Arc<Log>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path)?;
    let written = Mutex::new(Written { file, length: 0, chunk: vec![0; CHUNK_BYTES] });
    let log = Arc::new(Log { pipe, written });
    let drained = Arc::clone(&log);
    std::thread::Builder::new().name("log".to_owned()).spawn(move || {
        while drained.catch_up() {
            wait_readable([drained.pipe.as_fd()], None);
        }
    })?;
    Ok(log)
}

impl Log {
    /// Writes down what is in the pipe now, after a process's end all of it; false once all writers closed it.
    pub(super) fn catch_up(&self) -> bool {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { file, length, chunk } = &mut *written;
        let mut taken = 0;
        // Bounded, since somebody else may write as fast as this reads.
        while taken < PIPE_MAX_BYTES {
            let [there] = wait_readable([self.pipe.as_fd()], Some(std::time::Duration::ZERO));
            if !there {
                return true;
            }
            match (&self.pipe).read(chunk) {
                Ok(0) => return false,
                // A log that cannot be written (no space) is lost; the pipe must be drained all the same.
                Ok(read) => {
                    *length = append(file, *length, &chunk[..read]).unwrap_or(0);
                    taken += read;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
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
    fn a_server_s_log_is_bounded_and_keeps_the_newest_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let (reader, mut writer) = io::pipe().unwrap();
        let log = drain(reader, &path).unwrap();
        for line in 0..200_000 {
            writeln!(writer, "line {line} of many that a server may write").unwrap();
        }
        drop(writer);
        while log.catch_up() {}
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= LOG_MAX_BYTES, "{}", text.len());
        assert!(text.starts_with("[earlier output was dropped]\n"));
        assert!(text.ends_with("line 199999 of many that a server may write\n"));
        assert!(text.contains("line 199998 of"));
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "what a server says is nobody else's");
    }

    #[test]
    fn output_is_logged_even_while_another_process_holds_the_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.log");
        let (reader, mut writer) = io::pipe().unwrap();
        let log = drain(reader, &path).unwrap();
        for words in ["out of memory\n", "again\n"] {
            writer.write_all(words.as_bytes()).unwrap();
            assert!(log.catch_up(), "the pipe is open");
            assert!(std::fs::read_to_string(&path).unwrap().ends_with(words));
        }
        drop(writer);
        // A child that another test starts at this moment has the pipe open until it executes.
        prony_host::testing::wait_until("the end of the pipe", || !log.catch_up());
    }
}
