//! Why a server did not start, with its own last words.

use std::fmt;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use crate::launch::run_dir::log_path;
use prony_model::units::show_duration;

/// Lines of a log that an error shows.
pub(crate) const TAIL_LINES: usize = 10;
/// Bytes of a line that an error shows.
const LINE_MAX_CHARS: usize = 300;
/// Bytes that are read from the end of a log for its tail.
const TAIL_BYTES: u64 = 16 << 10;

/// Why a server did not start. Displays as a sentence, then the last lines it wrote.
#[derive(Debug)]
pub struct StartError {
    /// The candidate's label.
    pub(crate) label: String,
    /// What happened.
    pub(crate) kind: StartErrorKind,
    /// The last lines of the output of the process concerned, printable.
    pub(crate) log_tail: Vec<String>,
}

/// What happened at a start.
#[derive(Debug)]
pub(crate) enum StartErrorKind {
    /// The guard could not be started, or the journal not written.
    Guard(std::io::Error),
    /// The guard ended before it should.
    GuardLost,
    /// A program could not be started: a sentence.
    NotStarted(String),
    /// A process ended before the server answered: `ended with exit code 1`.
    Died(String),
    /// It did not answer rightly in time.
    NotReady(Duration),
    /// It waited for this path, which did not appear in time.
    NoPath(std::path::PathBuf),
    /// Somebody asked to end.
    Interrupted,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = &self.label;
        match &self.kind {
            StartErrorKind::Guard(why) => {
                write!(f, "{label} was not started, its guard could not be set up: {why}.")?;
            }
            StartErrorKind::GuardLost => {
                write!(f, "{label} lost its guard while it started: was it killed?")?;
            }
            StartErrorKind::NotStarted(why) => write!(f, "{label} did not start: {why}")?,
            StartErrorKind::Died(how) => write!(f, "{label} {how} before it answered.")?,
            StartErrorKind::NotReady(after) => {
                write!(f, "{label} did not give a right answer within {}.", show_duration(*after))?;
            }
            StartErrorKind::NoPath(path) => {
                write!(f, "{label} did not start: {} did not appear in time.", path.display())?;
            }
            StartErrorKind::Interrupted => {
                write!(f, "{label} was still starting when the run was interrupted.")?;
            }
        }
        match self.log_tail.as_slice() {
            [] => Ok(()),
            lines => write!(f, " It wrote:\n  {}", lines.join("\n  ")),
        }
    }
}

impl std::error::Error for StartError {}

/// The last lines that a process wrote, at most [`TAIL_LINES`], with what a
/// terminal could take as a command made visible.
pub(super) fn log_tail(run_dir: &Path, process: usize) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(log_path(run_dir, process)).and_then(|mut file| {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        file.take(TAIL_BYTES).read_to_end(&mut bytes)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text.lines().filter(|l| !l.trim().is_empty()).map(printable).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec()
}

fn printable(line: &str) -> String {
    let visible = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    line.chars().take(LINE_MAX_CHARS).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_log_is_ten_printable_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut text: Vec<u8> = (0..30).flat_map(|i| format!("line {i}\n\n").into_bytes()).collect();
        text.extend_from_slice(b"\x1b[31mred\xff\n");
        std::fs::write(log_path(folder.path(), 0), text).unwrap();
        let tail = log_tail(folder.path(), 0);
        assert_eq!((tail.len(), tail[0].as_str()), (10, "line 21"));
        assert_eq!(tail[9], "\u{fffd}[31mred\u{fffd}");
        assert_eq!(log_tail(folder.path(), 7), Vec::<String>::new());
    }
}
