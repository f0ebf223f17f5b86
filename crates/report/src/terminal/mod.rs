//! Views for the terminal: the answer in the first line, plain text unless
//! colour is asked for, 80 columns unless another width is given.

mod by_request;
mod capacity;
mod comparison;
mod experiment;
mod history;
mod latency;
mod next;
mod plot;
mod published;
mod repeat;
mod slo;
mod table;
#[cfg(test)]
mod tests;
mod trial;

pub use capacity::capacity;
pub use comparison::comparison;
pub use experiment::experiment;
pub use history::history;
pub use repeat::repeat;
pub use slo::thresholds;
pub use trial::trial;

/// How a terminal view is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns; under 40 counts as 40. Commands to copy are never broken, however long.
    pub width: usize,
    /// Whether to use ANSI colour. The layout is the same without it.
    pub color: bool,
    /// How the target is written in the commands of `Next`: `None` is the
    /// plan's URL, an empty text the embedded target, which needs none.
    pub target: Option<String>,
    /// Whether a trial's latency by percentile is drawn.
    pub plot: bool,
}

impl Default for TerminalOptions {
    fn default() -> TerminalOptions {
        TerminalOptions { width: 80, color: false, target: None, plot: false }
    }
}

impl TerminalOptions {
    fn width(&self) -> usize {
        self.width.max(40)
    }

    fn ink(&self) -> Ink {
        Ink { color: self.color }
    }
}

/// Puts ANSI colour around finished text, so that it never counts in the layout.
#[derive(Debug, Clone, Copy)]
struct Ink {
    color: bool,
}

impl Ink {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn good(self, text: &str) -> String {
        self.wrap("1;32", text)
    }

    fn warn(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }
}

/// Adds a table's lines, the first one dim.
fn push_table(out: &mut String, lines: &[String], ink: Ink) {
    for (i, line) in lines.iter().enumerate() {
        out.push_str(&if i == 0 { ink.dim(line) } else { line.clone() });
        out.push('\n');
    }
}

/// Adds a text in lines of the width, the first behind `lead`, the others indented as far
/// (but no further than [`HANG_MAX`]).
fn push_wrapped(out: &mut String, lead: &str, text: &str, width: usize, ink: impl Fn(&str) -> String) {
    const HANG_MAX: usize = 10;
    let lead_width = lead.chars().count();
    let indent = lead_width.min(HANG_MAX);
    // Characters that stand for the lead's overhang, so that the first line breaks earlier than the rest.
    let overhang = "\u{1}".repeat(lead_width - indent);
    let lines = crate::format::wrap(&format!("{overhang}{text}"), width.saturating_sub(indent));
    for (i, line) in lines.iter().enumerate() {
        let line = line.trim_start_matches('\u{1}');
        if i == 0 {
            out.push_str(lead);
        } else {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(&ink(line));
        out.push('\n');
    }
}
