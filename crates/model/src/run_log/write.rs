//! Writing a run log: line by line, each on the disk before the next.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::file::{alone, end_of_last_whole_line};
use super::wrong::first_line_is_wrong;
use super::{Header, LINE_MAX_BYTES, Line, RawResult, RunLogError};
use crate::host::Host;

/// Appends to a run log; each line is on the disk before the call returns.
#[derive(Debug)]
pub struct RunLogWriter {
    file: File,
    path: PathBuf,
    /// The header's machine, which results of the same do not repeat.
    host: Host,
}

impl RunLogWriter {
    /// Starts a new run log. An existing file is refused, not overwritten.
    pub fn create(path: &Path, header: &Header) -> Result<RunLogWriter, RunLogError> {
        let io = |why: io::Error| RunLogError::new(path, why);
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let opened = OpenOptions::new().write(true).create_new(true).open(path);
        let file = opened.map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => RunLogError::new(
                path,
                "the file exists already: give -o another name, or go on with a bench by --resume",
            ),
            _ => io(why),
        })?;
        alone(&file, path)?;
        let mut writer = RunLogWriter { file, path: path.to_owned(), host: header.host.clone() };
        writer.append(Line::Header(header.clone()))?;
        Ok(writer)
    }

    /// Opens an existing run log to go on with it; a last line that was cut off is removed first.
    pub fn open(path: &Path) -> Result<RunLogWriter, RunLogError> {
        let io = |why: io::Error| RunLogError::new(path, why);
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
        alone(&file, path)?;
        let whole = end_of_last_whole_line(&mut file).map_err(io)?;
        file.set_len(whole).map_err(io)?;
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut first = Vec::new();
        BufReader::new(&file).take(LINE_MAX_BYTES).read_until(b'\n', &mut first).map_err(io)?;
        let header: Header = serde_json::from_slice(&first)
            .map_err(|why| RunLogError::new(path, first_line_is_wrong(&first, &why)))?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        Ok(RunLogWriter { file, path: path.to_owned(), host: header.host })
    }

    /// Writes one line to the disk. When that fails half way (no space left), the half line is taken back, so that what
    /// stood before stays readable.
    pub fn append(&mut self, mut line: Line) -> Result<(), RunLogError> {
        let io = |why: io::Error| RunLogError::new(&self.path, why);
        if let Line::Result(RawResult { observed: Some(observed), .. }) = &mut line
            && observed.host.as_ref() == Some(&self.host)
        {
            observed.host = None;
        }
        let mut text = serde_json::to_string(&line).map_err(|why| io(why.into()))?;
        text.push('\n');
        let before = self.file.stream_position().map_err(io)?;
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(why) = written {
            // Best effort: the reader drops a half line at the end anyway.
            let _ = self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before)));
            return Err(io(why));
        }
        Ok(())
    }
}

impl Drop for RunLogWriter {
    /// Unlocks, also where a child process that is just being started still has a copy of the file.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}
