//! Progress without a view: lines for logs, or one line that is written over.

use std::time::Duration;

use prony_report::format;

use super::choice::Shows;

/// When lines of how a run stands are due: every second at first, seldom later.
#[derive(Debug, Clone, Copy, Default)]
struct Due {
    next: Duration,
}

impl Due {
    fn is(&mut self, now: Duration, every: Duration) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + every;
        }
        due
    }
}

/// Puts lines together.
#[derive(Debug)]
pub(super) struct Plain {
    shows: Shows,
    /// Whether what happened is worth a line in a log, where nobody asked for lines.
    logs: bool,
    due: Due,
    /// Whether the one line stands there now.
    stands: bool,
}

/// Erases the line that is written over.
const ERASE: &str = "\r\x1b[K";

impl Plain {
    pub(super) fn new(shows: Shows, logs: bool) -> Plain {
        // The first figures come after a moment.
        Plain { shows, logs, due: Due { next: Duration::from_secs(1) }, stands: false }
    }

    /// What is to be written for something that happened.
    pub(super) fn news(&mut self, text: &str) -> Option<String> {
        let text = format::printable(text);
        match self.shows {
            Shows::Log if self.logs => Some(format!("{text}\n")),
            Shows::Lines => Some(format!("{text}\n")),
            Shows::OneLine => {
                let erase = if std::mem::take(&mut self.stands) { ERASE } else { "" };
                Some(format!("{erase}{text}\n"))
            }
            Shows::Nothing | Shows::Log | Shows::Screen => None,
        }
    }

    /// What is to be written for how the run stands, on a terminal of so many columns.
    pub(super) fn stands(
        &mut self,
        line: impl FnOnce() -> String,
        now: Duration,
        width: impl FnOnce() -> u16,
    ) -> Option<String> {
        match self.shows {
            Shows::Lines => {
                let every = match now.as_secs() {
                    0..10 => Duration::from_secs(1),
                    10..60 => Duration::from_secs(5),
                    _ => Duration::from_secs(30),
                };
                self.due.is(now, every).then(|| format!("{}\n", format::printable(&line())))
            }
            Shows::OneLine => self.due.is(now, Duration::from_millis(250)).then(|| {
                self.stands = true;
                // A full last column would move some terminals on to the next line.
                let room = usize::from(width()).saturating_sub(1);
                format!("{ERASE}{}", format::truncate(&format::printable(&line()), room))
            }),
            Shows::Nothing | Shows::Log | Shows::Screen => None,
        }
    }

    /// What is to be written in the end.
    pub(super) fn end(&mut self) -> Option<String> {
        std::mem::take(&mut self.stands).then(|| ERASE.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_in(seconds: u64, shows: Shows) -> usize {
        let mut plain = Plain::new(shows, false);
        let steps = (0..seconds * 10).map(|tenth| Duration::from_millis(tenth * 100));
        steps.filter(|now| plain.stands(|| "stands".to_owned(), *now, || 80).is_some()).count()
    }

    #[test]
    fn lines_come_seldom_in_long_runs() {
        assert_eq!((lines_in(10, Shows::Lines), lines_in(60, Shows::Lines)), (9, 19));
        assert_eq!(lines_in(3600, Shows::Lines), 19 + 118);
        assert_eq!((lines_in(60, Shows::Log), lines_in(60, Shows::Nothing)), (0, 0));
    }

    #[test]
    fn the_one_line_is_erased_and_cut() {
        let mut plain = Plain::new(Shows::OneLine, false);
        let second = Duration::from_secs(1);
        assert_eq!(plain.stands(|| "0123456789".to_owned(), second, || 6).unwrap(), "\r\x1b[K0123…");
        assert_eq!(plain.stands(|| "again".to_owned(), second, || 6), None);
        assert_eq!(plain.news("happened").unwrap(), "\r\x1b[Khappened\n");
        assert_eq!((plain.news("more").unwrap().as_str(), plain.end()), ("more\n", None));
    }

    #[test]
    fn logs_get_what_happened_only_where_it_is_worth_it() {
        assert_eq!(Plain::new(Shows::Log, true).news("a\x1b[2J").unwrap(), "a\u{fffd}[2J\n");
        assert_eq!(Plain::new(Shows::Log, false).news("a"), None);
        assert_eq!(Plain::new(Shows::Lines, false).news("a").unwrap(), "a\n");
    }
}
