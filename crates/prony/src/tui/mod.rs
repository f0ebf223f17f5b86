//! The terminal while something runs: its progress, its figures so far, and
//! whether the client keeps up.
//!
//! A state (`load`, `bench`, `capacity`) takes in events, in the run's own thread, and knows
//! no terminal. `mode` decides what is shown of it: the view, or plain lines (`plain`). The view is a pure
//! function of a state (`load_view`, `bench_view`, `capacity`; `bars` and `canvas` are what they
//! draw with) into a buffer of characters; `painter` is the thread that draws it, and `screen` the
//! terminal, which is restored however the program ends. Why so: docs/decisions/0015.

mod bars;
mod bench;
mod bench_view;
mod canvas;
mod capacity;
mod load;
mod load_view;
mod mode;
mod painter;
mod plain;
mod screen;
#[cfg(test)]
mod tests;
mod timeline;

use std::time::{Duration, Instant};

use prony_report::format;
use ratatui::buffer::Buffer;
use ratatui::text::Span;

pub(crate) use bench::{BenchState, Message};
use canvas::{Canvas, Theme};
pub(crate) use capacity::CapacityState;
pub(crate) use load::LoadState;
pub(crate) use mode::ProgressMode;
use painter::Painter;
use plain::Plain;
pub(crate) use screen::restore;

use crate::printer::Printer;

/// Something whose progress can be shown.
pub(crate) trait View: Clone + Send + Sync + 'static {
    /// Whether its messages are written to a log that nobody asked for.
    const LOGS: bool = false;

    /// Draws its state, so long after it began.
    fn draw(&self, now: Duration, canvas: &mut Canvas<'_>);

    /// Its state in a line.
    fn line(&self) -> String;

    /// The messages since this was last called.
    fn messages(&mut self) -> Vec<Message> {
        Vec::new()
    }
}

/// Draws a view into a buffer, and below it the notes that were printed before it hid them, and the keys; pure.
fn draw<V: View>(view: &V, now: Duration, ending: bool, notes: &[String], buffer: &mut Buffer, theme: Theme) {
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

/// Something that runs, and how its progress is shown until this is dropped.
pub(crate) struct Live<'a, V: View> {
    view: V,
    printer: &'a Printer,
    painter: Option<Painter<V>>,
    /// The drawing thread's CPUs, until there is something to draw.
    awaited: Option<Vec<u32>>,
    plain: Plain,
    began: Instant,
    /// Messages for after the view.
    kept: Vec<String>,
}

impl<'a, V: View> Live<'a, V> {
    /// Shows it from its first update on: a load that cannot begin leaves the terminal alone.
    /// The drawing thread, if there is one, runs on `cpus` (empty: anywhere).
    pub(crate) fn start(mode: ProgressMode, view: V, cpus: &[u32], printer: &'a Printer) -> Live<'a, V> {
        let awaited = (mode == ProgressMode::Screen).then(|| cpus.to_vec());
        let plain = Plain::new(mode, V::LOGS);
        Live { view, printer, painter: None, awaited, plain, began: Instant::now(), kept: Vec::new() }
    }

    /// Changes its state, and shows the new one.
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut V)) {
        change(&mut self.view);
        if let Some(cpus) = self.awaited.take() {
            let theme = Theme::new(self.printer.options().color);
            self.painter = Painter::start(self.view.clone(), theme, self.printer.notes(), &cpus).ok();
            if self.painter.is_none() {
                self.plain = Plain::new(ProgressMode::OneLine, V::LOGS);
            }
        }
        let messages = self.view.messages();
        if let Some(painter) = &self.painter {
            self.kept
                .extend(messages.into_iter().filter(|message| message.stays).map(|message| message.text));
            painter.shared.publish(&self.view);
            return;
        }
        for message in messages {
            if let Some(text) = self.plain.message(&message.text) {
                self.printer.progress(&text);
            }
        }
        let width = || screen::size().map_or(80, |(width, _)| width);
        if let Some(text) = self.plain.status(|| self.view.line(), self.began.elapsed(), width) {
            self.printer.progress(&text);
        }
    }
}

impl<V: View> Drop for Live<'_, V> {
    fn drop(&mut self) {
        if let Some(text) = self.plain.end() {
            self.printer.progress(&text);
        }
        self.painter = None;
        for line in &self.kept {
            self.printer.note(line);
        }
    }
}
