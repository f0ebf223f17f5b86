//! The one door to the terminal. Results go to stdout, everything else to stderr.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the door")]

use std::io::{self, IsTerminal, Write};

/// Writes what users see.
#[derive(Debug)]
pub(crate) struct Printer {
    color: bool,
    stderr_is_terminal: bool,
}

impl Printer {
    pub(crate) fn new() -> Printer {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Printer {
            color: io::stdout().is_terminal() && !no_color,
            stderr_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Whether results may be coloured.
    pub(crate) fn color(&self) -> bool {
        self.color
    }

    /// Whether somebody watches: progress is drawn for people, not for logs.
    pub(crate) fn watched(&self) -> bool {
        self.stderr_is_terminal
    }

    /// A result. Who closed the pipe has read enough.
    pub(crate) fn out(&self, text: &str) {
        let mut stdout = io::stdout().lock();
        let newline = if text.ends_with('\n') { "" } else { "\n" };
        if let Err(e) = write!(stdout, "{text}{newline}").and_then(|()| stdout.flush())
            && e.kind() != io::ErrorKind::BrokenPipe
        {
            self.error(&format!("Writing to standard output failed: {e}."));
        }
    }

    /// Something worth knowing that is no result.
    pub(crate) fn note(&self, text: &str) {
        // A closed stderr leaves nobody to tell.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Why the command failed.
    pub(crate) fn error(&self, sentence: &str) {
        let _ = writeln!(io::stderr(), "prony: {sentence}");
    }

    /// Asks a question to be answered with yes; without a terminal the answer is no.
    pub(crate) fn confirm(&self, question: &str) -> bool {
        if !(io::stdin().is_terminal() && self.stderr_is_terminal) {
            return false;
        }
        let _ = write!(io::stderr(), "{question} [y/N] ");
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
    }
}
