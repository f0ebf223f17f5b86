//! Why a server did not start, with its own last words.

use std::path::Path;
use std::time::Duration;

use crate::launch::run_dir::log_path;
use crate::programs::last_lines;
use prony_model::units::show_duration;

const TAIL_LINES: usize = 10;
const LINE_MAX_CHARS: usize = 300;

/// Why a server did not start. Displays as a sentence, then the last lines it wrote.
#[derive(Debug, thiserror::Error)]
#[error("{label} {kind}{}", wrote(.log_tail))]
pub struct StartError {
    pub(crate) label: String,
    pub(crate) kind: StartErrorKind,
    /// The last lines of the output of the process concerned, printable.
    pub(crate) log_tail: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum StartErrorKind {
    #[error("was not started: the process that supervises it could not be set up: {0}.")]
    Guard(std::io::Error),
    #[error("was ended, since the process that supervises it ended during the start: was that killed?")]
    GuardLost,
    #[error("did not start: {0}")]
    NotStarted(String),
    /// A process ended before the server answered: `ended with exit code 1`.
    #[error("{0} before it responded.")]
    Died(String),
    #[error("gave no valid response within {}.", show_duration(*.0))]
    NotReady(Duration),
    #[error("is not trusted. {0} Correct the certificate, name its issuer by --cacert, or check none by -k.")]
    NotTrusted(String),
    #[error("does not speak the load's protocol. {0} Let it serve HTTP/2, or leave --http2 out.")]
    NotSpoken(String),
    #[error("did not start: {} did not appear in time.", .0.display())]
    NoPath(std::path::PathBuf),
    #[error("was still starting when the run was interrupted.")]
    Interrupted,
    #[error("{0}")]
    Said(String),
}

/// The last lines that a process wrote, behind a sentence about it.
pub(super) fn wrote(log_tail: &[String]) -> String {
    if log_tail.is_empty() { String::new() } else { format!(" It wrote:\n  {}", log_tail.join("\n  ")) }
}

/// The last lines that a process wrote, at most [`TAIL_LINES`], with a terminal's commands made visible.
pub(super) fn log_tail(run_dir: &Path, process: usize) -> Vec<String> {
    last_lines(&log_path(run_dir, process), 0, TAIL_LINES, printable)
}

fn printable(line: &str) -> String {
    let visible = |c: char| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c };
    line.chars().take(LINE_MAX_CHARS).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_log_is_ten_printable_lines_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let mut text: Vec<u8> = (0..30).flat_map(|i| format!("line {i}\n\n").into_bytes()).collect();
        text.extend_from_slice(b"\x1b[31mred\xff\n");
        std::fs::write(log_path(folder.path(), 0), text).unwrap();
        let tail = log_tail(folder.path(), 0);
        assert_eq!((tail.len(), tail[0].as_str()), (10, "line 21"));
        assert_eq!(tail[9], "\u{fffd}[31mred\u{fffd}");
        assert_eq!(log_tail(folder.path(), 7), Vec::<String>::new());
        std::fs::write(log_path(folder.path(), 1), "no postgres://me:s3cret@h/db?sslkey=s4\n").unwrap();
        assert_eq!(log_tail(folder.path(), 1), ["no postgres://[redacted]@h/db?sslkey=[redacted]"]);
    }
}
