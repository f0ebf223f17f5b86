//! The terminal while something runs: how far it is, what comes of it, and
//! whether the client bears it.
//!
//! A state (`load`, `bench`, `capacity`) is told what happens, in the run's own thread, and knows
//! no terminal. `choice` says what is shown of it: the view, or plain lines (`plain`). The view is a pure
//! function of a state (`load_view`, `bench_view`, `capacity`; `bars` and `paper` are what they
//! draw with) into a buffer of characters; `painter` is the thread that draws it, and `screen` the
//! terminal, which is given back however the program ends. Why so: docs/decisions/0015.

mod bars;
mod bench;
mod bench_view;
mod capacity;
mod choice;
mod load;
mod load_view;
mod painter;
mod paper;
mod plain;
mod screen;
#[cfg(test)]
mod tests;
mod timeline;

use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;

pub(crate) use bench::{BenchState, News};
pub(crate) use capacity::CapacityState;
pub(crate) use choice::Shows;
pub(crate) use load::LoadState;
use painter::Painter;
use paper::{Paper, Theme};
use plain::Plain;
pub(crate) use screen::restore;

use crate::printer::Printer;

/// Something that can be shown while it goes on.
pub(crate) trait View: Clone + Send + Sync + 'static {
    /// Whether what happened is worth lines in a log that nobody asked for.
    const LOGS: bool;

    /// Draws how it stands, so long after it began.
    fn draw(&self, now: Duration, paper: &mut Paper<'_>, notes: &[String], foot: &str);

    /// How it stands, in a line.
    fn line(&self) -> String;

    /// What happened since this was last called.
    fn news(&mut self) -> Vec<News>;
}

impl View for LoadState {
    const LOGS: bool = false;

    fn draw(&self, _: Duration, paper: &mut Paper<'_>, notes: &[String], foot: &str) {
        load_view::draw(self, paper, notes, foot);
    }

    fn line(&self) -> String {
        LoadState::line(self)
    }

    fn news(&mut self) -> Vec<News> {
        Vec::new()
    }
}

impl View for BenchState {
    const LOGS: bool = true;

    fn draw(&self, now: Duration, paper: &mut Paper<'_>, notes: &[String], foot: &str) {
        bench_view::draw(self, now, paper, notes, foot);
    }

    fn line(&self) -> String {
        BenchState::line(self)
    }

    fn news(&mut self) -> Vec<News> {
        BenchState::news(self)
    }
}

impl View for CapacityState {
    const LOGS: bool = false;

    fn draw(&self, _: Duration, paper: &mut Paper<'_>, notes: &[String], foot: &str) {
        capacity::draw(self, paper, notes, foot);
    }

    fn line(&self) -> String {
        CapacityState::line(self)
    }

    fn news(&mut self) -> Vec<News> {
        CapacityState::news(self)
    }
}

/// What a view stands in.
#[derive(Debug, Clone)]
struct Setting {
    color: bool,
    /// What was said before the view came, and would be out of sight.
    notes: Vec<String>,
}

/// Draws a view into a buffer; pure.
fn draw<V: View>(view: &V, now: Duration, ending: bool, notes: &[String], buffer: &mut Buffer, theme: Theme) {
    let area = buffer.area;
    let foot = match (ending, area.width < 60) {
        (true, true) => "ending … Ctrl-C: at once",
        (true, false) => "ending, and keeping what was measured … Ctrl-C again ends at once",
        (false, true) => "q ends and keeps the result",
        (false, false) => "q or Ctrl-C ends, and keeps what was measured",
    };
    // Few rows are better spent on figures.
    let notes = &notes[notes.len().saturating_sub(usize::from(area.height / 8))..];
    view.draw(now, &mut Paper::new(buffer, area, theme), notes, foot);
}

/// Something that runs, and what is shown of it.
pub(crate) struct Live<'a, V: View> {
    view: V,
    printer: &'a Printer,
    painter: Option<Painter<V>>,
    /// The drawing thread's CPUs, until there is something to draw.
    awaited: Option<Vec<u32>>,
    plain: Plain,
    began: Instant,
    /// Lines for after the view.
    kept: Vec<String>,
}

impl<'a, V: View> Live<'a, V> {
    /// Shows it from the first that is told of it: a load that cannot begin leaves the terminal alone.
    /// The drawing thread, if there is one, runs on `cpus` (empty: anywhere).
    pub(crate) fn start(shows: Shows, view: V, cpus: &[u32], printer: &'a Printer) -> Live<'a, V> {
        let awaited = (shows == Shows::Screen).then(|| cpus.to_vec());
        let plain = Plain::new(shows, V::LOGS);
        Live { view, printer, painter: None, awaited, plain, began: Instant::now(), kept: Vec::new() }
    }

    fn draw_on(&mut self, cpus: &[u32]) {
        let setting = Setting { color: self.printer.color(), notes: self.printer.said() };
        self.painter = Painter::start(self.view.clone(), setting, cpus).ok();
        if self.painter.is_none() {
            self.plain = Plain::new(Shows::OneLine, V::LOGS);
        }
    }

    /// Tells it what happened.
    pub(crate) fn tell(&mut self, change: impl FnOnce(&mut V)) {
        change(&mut self.view);
        if let Some(cpus) = self.awaited.take() {
            self.draw_on(&cpus);
        }
        let news = self.view.news();
        if let Some(painter) = &self.painter {
            self.kept.extend(news.into_iter().filter(|news| news.stays).map(|news| news.text));
            painter.leave(&self.view);
            return;
        }
        for news in news {
            if let Some(text) = self.plain.news(&news.text) {
                self.printer.progress(&text);
            }
        }
        let width = || screen::size().map_or(80, |(width, _)| width);
        if let Some(text) = self.plain.stands(|| self.view.line(), self.began.elapsed(), width) {
            self.printer.progress(&text);
        }
    }

    /// Ends the showing: what follows on the terminal stays.
    pub(crate) fn finish(self) {
        drop(self);
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
