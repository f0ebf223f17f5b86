//! Progress without a view: lines for logs, or one line that is overwritten.

use std::time::Duration;

use prony_report::format;

use super::mode::ProgressMode;
use super::painter::{FRAME_EVERY, Pace};

#[derive(Debug)]
pub(super) struct Plain {
    mode: ProgressMode,
    /// Whether messages are written to a log, where nobody asked for lines.
    logs: bool,
    pace: Pace,
    shown: bool,
}

const ERASE: &str = "\r\x1b[K";

impl Plain {
    pub(super) fn new(mode: ProgressMode, logs: bool) -> Plain {
        // The first figures come after a moment.
        Plain { mode, logs, pace: Pace { next: Duration::from_secs(1) }, shown: false }
    }

    pub(super) fn message(&mut self, text: &str) -> Option<String> {
        let text = format::printable(text);
        match self.mode {
            ProgressMode::Log if self.logs => Some(format!("{text}\n")),
            ProgressMode::Lines => Some(format!("{text}\n")),
            ProgressMode::OneLine => {
                let erase = if std::mem::take(&mut self.shown) { ERASE } else { "" };
                Some(format!("{erase}{text}\n"))
            }
            ProgressMode::Nothing | ProgressMode::Log | ProgressMode::Screen => None,
        }
    }

    /// What is to be written for the run's state, on a terminal of so many columns: every second at first, seldom later.
    pub(super) fn status(
        &mut self,
        line: impl FnOnce() -> String,
        now: Duration,
        width: impl FnOnce() -> u16,
    ) -> Option<String> {
        match self.mode {
            ProgressMode::Lines => {
                let every = match now.as_secs() {
                    0..10 => Duration::from_secs(1),
                    10..60 => Duration::from_secs(5),
                    _ => Duration::from_secs(30),
                };
                self.pace.due(now, every).then(|| format!("{}\n", format::printable(&line())))
            }
            ProgressMode::OneLine => self.pace.due(now, FRAME_EVERY).then(|| {
                self.shown = true;
                // A full last column would move some terminals on to the next line.
                let room = usize::from(width()).saturating_sub(1);
                format!("{ERASE}{}", format::truncate(&format::printable(&line()), room))
            }),
            ProgressMode::Nothing | ProgressMode::Log | ProgressMode::Screen => None,
        }
    }

    pub(super) fn end(&mut self) -> Option<String> {
        std::mem::take(&mut self.shown).then(|| ERASE.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_in(seconds: u64, mode: ProgressMode) -> usize {
        let mut plain = Plain::new(mode, false);
        let steps = (0..seconds * 10).map(|tenth| Duration::from_millis(tenth * 100));
        steps.filter(|now| plain.status(|| "status".to_owned(), *now, || 80).is_some()).count()
    }

    #[test]
    fn status_lines_get_rarer_in_long_runs() {
        assert_eq!((lines_in(10, ProgressMode::Lines), lines_in(60, ProgressMode::Lines)), (9, 19));
        assert_eq!(lines_in(3600, ProgressMode::Lines), 19 + 118);
        assert_eq!((lines_in(60, ProgressMode::Log), lines_in(60, ProgressMode::Nothing)), (0, 0));
    }

    #[test]
    fn the_overwritten_line_is_erased_and_cut_to_the_width() {
        let mut plain = Plain::new(ProgressMode::OneLine, false);
        let second = Duration::from_secs(1);
        assert_eq!(plain.status(|| "0123456789".to_owned(), second, || 6).unwrap(), "\r\x1b[K0123…");
        assert_eq!(plain.status(|| "again".to_owned(), second, || 6), None);
        assert_eq!(plain.message("happened").unwrap(), "\r\x1b[Khappened\n");
        assert_eq!((plain.message("more").unwrap().as_str(), plain.end()), ("more\n", None));
    }

    #[test]
    fn logs_get_messages_only_where_the_view_logs_them() {
        assert_eq!(Plain::new(ProgressMode::Log, true).message("a\x1b[2J").unwrap(), "a\u{fffd}[2J\n");
        assert_eq!(Plain::new(ProgressMode::Log, false).message("a"), None);
        assert_eq!(Plain::new(ProgressMode::Lines, false).message("a").unwrap(), "a\n");
    }
}
