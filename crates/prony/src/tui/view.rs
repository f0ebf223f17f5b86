//! What can be shown of something that runs, and how it is drawn; pure.

use std::time::Duration;

use prony_report::format;
use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::canvas::{Canvas, Theme};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) text: String,
    /// Whether it is worth reading after the run: the record and the report have all others.
    pub(crate) stays: bool,
}

pub(crate) trait View: Clone + Send + Sync + 'static {
    const LOGS: bool = false;

    fn draw(&self, now: Duration, canvas: &mut Canvas<'_>);

    fn line(&self) -> String;

    fn messages(&mut self) -> Vec<Message> {
        Vec::new()
    }
}

/// Draws a view into a buffer, and below it the notes that were printed before it hid them, and the keys; pure.
pub(super) fn draw<V: View>(
    view: &V,
    now: Duration,
    ending: bool,
    notes: &[String],
    buffer: &mut Buffer,
    theme: Theme,
) {
    let area = buffer.area;
    let foot = match (ending, area.width < 60) {
        (true, true) => "stopping … Ctrl-C: at once",
        (true, false) => "stopping, keeping the results … Ctrl-C again stops at once",
        (false, true) => "q stops and keeps the results",
        (false, false) => "q or Ctrl-C stops and keeps the results",
    };
    // Few rows are better spent on figures.
    let notes = &notes[notes.len().saturating_sub(usize::from(area.height / 8))..];
    let mut canvas = Canvas::new(buffer, area, theme);
    canvas.kept = notes.len() + 1;
    view.draw(now, &mut canvas);
    canvas.kept = 0;
    let notes = &notes[..notes.len().min(canvas.left().saturating_sub(1))];
    canvas.skip_to_last(notes.len() + 1);
    for note in notes {
        canvas.line(Span::raw(format::truncate(&format::printable(note), canvas.width())));
    }
    canvas.line(Span::styled(format::truncate(foot, canvas.width()), Theme::dim()));
}
