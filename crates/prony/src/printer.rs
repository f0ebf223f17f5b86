//! The only module that prints. Results go to stdout, everything else to stderr.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "every other module prints by this one")]

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use prony_model::printable::harmless_lines;
use prony_model::secret::redacted;
use prony_report::terminal::TerminalOptions;

use crate::lock::locked;

#[derive(Debug)]
pub(crate) struct Printer {
    color: bool,
    notes: Mutex<Vec<String>>,
    lost: AtomicBool,
}

const NOTES_MAX: usize = 4;

impl Printer {
    pub(crate) fn new() -> Printer {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Printer {
            color: io::stdout().is_terminal() && !no_color,
            notes: Mutex::default(),
            lost: AtomicBool::new(false),
        }
    }

    pub(crate) fn options(&self) -> TerminalOptions {
        TerminalOptions { color: self.color, ..TerminalOptions::default() }
    }

    /// A result. Who closed the pipe has read enough.
    pub(crate) fn out(&self, text: &str) {
        let mut stdout = io::stdout().lock();
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        if let Err(e) = write!(stdout, "{text}{newline}").and_then(|()| stdout.flush())
            && e.kind() != io::ErrorKind::BrokenPipe
        {
            self.error(&format!("Writing to standard output failed: {e}."));
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, text: &str) {
        let text = harmless_lines(text);
        // With a closed stderr there is no place for an error.
        let _ = writeln!(io::stderr(), "{text}");
        let mut notes = locked(&self.notes);
        notes.push(text);
        if notes.len() > NOTES_MAX {
            notes.remove(0);
        }
    }

    /// The last notes, for a view that hides what stands on the terminal.
    pub(crate) fn notes(&self) -> Vec<String> {
        locked(&self.notes).clone()
    }

    pub(crate) fn progress(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// Why the command failed: it may quote what was typed, and what a server said.
    pub(crate) fn error(&self, message: &str) {
        let _ = writeln!(io::stderr(), "prony: {}", harmless_lines(&redacted(message)));
    }

    /// Asks a question to be answered with yes; without a terminal the answer is no.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
            return false;
        }
        let _ = write!(io::stderr(), "{} [y/N] ", harmless_lines(question));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_steers_no_terminal() {
        let printer = Printer::new();
        printer.note("an agent said: \u{1b}]0;owned\u{7}\u{9b}2J\nand more");
        assert_eq!(printer.notes(), ["an agent said: \u{fffd}]0;owned\u{fffd}\u{fffd}2J\nand more"]);
    }
}
