//! What every view is made of: lines within a width, in colour where that is asked for.

use super::table::Table;
use crate::document::{Block, Item};
use crate::format;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns; under 40 counts as 40. Commands to copy are never broken, however long.
    pub width: usize,
    /// Whether to use ANSI colour. The layout is the same without it.
    pub color: bool,
    /// How commands of `Next` write the target: `None` is the plan's URL, an empty text the embedded one.
    pub target: Option<String>,
    /// Whether a trial's latency by percentile is drawn.
    pub plot: bool,
}

impl Default for TerminalOptions {
    fn default() -> TerminalOptions {
        TerminalOptions { width: 80, color: false, target: None, plot: false }
    }
}

/// An ANSI colour; never the only thing that tells two figures apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ink(&'static str);

impl Ink {
    pub(crate) const PLAIN: Ink = Ink("");
    pub(crate) const BOLD: Ink = Ink("1");
    pub(crate) const DIM: Ink = Ink("2");
    pub(crate) const GOOD: Ink = Ink("1;32");
    pub(crate) const WARN: Ink = Ink("1;33");
    pub(crate) const BAD: Ink = Ink("1;31");
}

/// The lines of a view: within a width, and coloured where that is asked for. Every one ends in a newline.
pub(super) struct Lines {
    pub(super) text: String,
    pub(super) width: usize,
    color: bool,
}

impl Lines {
    pub(super) fn new(options: &TerminalOptions) -> Lines {
        Lines { text: String::new(), width: options.width.max(40), color: options.color }
    }

    /// Puts colour around a finished text, so that it never counts in the layout.
    pub(super) fn paint(&self, ink: Ink, text: &str) -> String {
        let bare = !self.color || text.is_empty() || ink.0.is_empty();
        if bare { text.to_owned() } else { format!("\x1b[{}m{text}\x1b[0m", ink.0) }
    }

    /// Adds a line as it is; an empty one sets apart what follows.
    pub(super) fn line(&mut self, line: &str) {
        self.text.extend([line, "\n"]);
    }

    pub(super) fn table(&mut self, lines: &[String]) {
        for (i, line) in lines.iter().enumerate() {
            self.line(&self.paint(if i == 0 { Ink::DIM } else { Ink::PLAIN }, line));
        }
    }

    pub(super) fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Gap => self.line(""),
                // Of whole documents alone, which a terminal shows in its own way.
                Block::Title(_)
                | Block::Answer(..)
                | Block::Lines(_)
                | Block::Section(_)
                | Block::Plot(_) => {}
                Block::Part(text, ink) => {
                    self.line("");
                    self.wrapped(" ", text, *ink);
                }
                Block::Text(text, ink) => self.wrapped(" ", text, *ink),
                Block::Item(item) => self.item(item),
                Block::Table(table) => self.whole_table(table),
                Block::Command(word, command) => {
                    self.line(&format!(" {word}  {}", self.paint(Ink::BOLD, &format::printable(command))));
                }
            }
        }
    }

    fn item(&mut self, item: &Item) {
        let lead = match item.lead {
            "" => " ".to_owned(),
            word if item.is_word() => format!(" {word}  "),
            mark => format!(" {mark} "),
        };
        let of = item.of.as_ref().map_or(String::new(), |of| format!("{of}: "));
        self.wrapped(&lead, &format!("{of}{}", item.text), item.ink);
        if let Some(fix) = &item.fix {
            // On a line of its own, whole, so that it can be copied.
            self.line(&format!("          {}", self.paint(Ink::BOLD, &format::printable(fix))));
        }
    }

    fn whole_table(&mut self, table: &Table) {
        /// Characters of a column's head at most: two labels, with their figures, fit a line.
        const HEAD_MAX: usize = 17;
        let mut table = table.clone();
        for head in table.rows.iter_mut().take(1).flat_map(|(head, _)| head) {
            *head = format::truncate_middle(&format::printable(head), HEAD_MAX);
        }
        let mut lines = table.lines();
        for (line, (row, ink)) in lines.iter_mut().zip(&table.rows) {
            let last = row.last().map_or("", String::as_str);
            if let Some(rest) = line.strip_suffix(last) {
                *line = format!("{rest}{}", self.paint(*ink, last));
            }
        }
        self.table(&lines);
    }

    /// Adds a text, made safe, in lines of the width, the first behind `lead`, others indented (at most [`HANG_MAX`]).
    pub(super) fn wrapped(&mut self, lead: &str, text: &str, ink: Ink) {
        const HANG_MAX: usize = 10;
        let lead_width = lead.chars().count();
        let indent = lead_width.min(HANG_MAX);
        // Characters that stand for the lead's overhang, so that the first line breaks earlier than the rest.
        let overhang = "\u{1}".repeat(lead_width - indent);
        let text = format!("{overhang}{}", format::printable(text));
        for (i, line) in format::wrap(&text, self.width.saturating_sub(indent)).iter().enumerate() {
            let before = if i == 0 { lead.to_owned() } else { " ".repeat(indent) };
            self.line(&format!("{before}{}", self.paint(ink, line.trim_start_matches('\u{1}'))));
        }
    }
}
