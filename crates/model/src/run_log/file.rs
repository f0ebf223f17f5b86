//! A run log's file as a file: one writer, and where its last whole line ends.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::RunLogError;

/// Refuses a file that another process writes; until it is closed, others are refused.
pub(super) fn alone(file: &File, path: &Path) -> Result<(), RunLogError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let why = "another prony is writing it: wait for its end, or give -o another name";
            Err(RunLogError::new(path, why))
        }
        // A file system without locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

pub(super) fn end_of_last_whole_line(file: &mut File) -> io::Result<u64> {
    const BLOCK: u64 = 64 << 10;
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; usize::try_from(BLOCK).unwrap_or(1 << 16)];
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let length = usize::try_from(end - start).unwrap_or(block.len());
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block[..length])?;
        if let Some(at) = block[..length].iter().rposition(|b| *b == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
