//! Something that runs, shown until it ends: as the view, or in plain lines.

use std::time::Instant;

use super::canvas::Theme;
use super::mode::ProgressMode;
use super::painter::Painter;
use super::plain::Plain;
use super::screen;
use super::view::View;
use crate::printer::Printer;

/// Something that runs, and how its progress is shown until this is dropped.
pub(crate) struct Live<'a, V: View> {
    view: V,
    printer: &'a Printer,
    painter: Option<Painter<V>>,
    /// The drawing thread's CPUs, until there is something to draw.
    awaited: Option<Vec<u32>>,
    plain: Plain,
    began: Instant,
    kept: Vec<String>,
}

impl<'a, V: View> Live<'a, V> {
    /// Shows it from its first update on: a load that cannot begin leaves the terminal alone. It draws on `cpus`.
    pub(crate) fn start(mode: ProgressMode, view: V, cpus: &[u32], printer: &'a Printer) -> Live<'a, V> {
        let awaited = (mode == ProgressMode::Screen).then(|| cpus.to_vec());
        let plain = Plain::new(mode, V::LOGS);
        Live { view, printer, painter: None, awaited, plain, began: Instant::now(), kept: Vec::new() }
    }

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
