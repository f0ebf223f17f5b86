//! How progress is shown, decided once: as the view, one line, plain lines, or not at all.

use std::io::{self, IsTerminal};

pub(super) const WIDTH_MIN: u16 = 40;
pub(super) const HEIGHT_MIN: u16 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgressMode {
    Nothing,
    Log,
    /// Messages and the status now and then: asked for, or a terminal that cannot move its cursor.
    Lines,
    OneLine,
    Screen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts {
    quiet: bool,
    plain: bool,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    /// TERM is unset or `dumb`: no cursor can be moved.
    dumb: bool,
    /// Another process group has the terminal: who changes its mode is stopped.
    background: bool,
    size: Option<(u16, u16)>,
}

impl ProgressMode {
    pub(crate) fn here(quiet: bool, plain: bool) -> ProgressMode {
        ProgressMode::of(Facts {
            quiet,
            plain,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            dumb: std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb"),
            background: super::screen::in_background(),
            size: super::screen::size(),
        })
    }

    fn of(facts: Facts) -> ProgressMode {
        let fits = facts.size.is_some_and(|(width, height)| width >= WIDTH_MIN && height >= HEIGHT_MIN);
        match facts {
            Facts { quiet: true, .. } => ProgressMode::Nothing,
            Facts { plain: true, .. } => ProgressMode::Lines,
            Facts { stderr_is_terminal: false, .. } => ProgressMode::Log,
            Facts { dumb: true, .. } => ProgressMode::Lines,
            // What reads stdout may draw on the same terminal, as a pager does.
            Facts { stdout_is_terminal: true, background: false, .. } if fits => ProgressMode::Screen,
            Facts { .. } => ProgressMode::OneLine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_needs_a_foreground_terminal_of_the_minimal_size() {
        let terminal = Facts {
            quiet: false,
            plain: false,
            stdout_is_terminal: true,
            stderr_is_terminal: true,
            dumb: false,
            background: false,
            size: Some((40, 10)),
        };
        let shows = |change: &dyn Fn(&mut Facts)| {
            let mut facts = terminal;
            change(&mut facts);
            ProgressMode::of(facts)
        };
        assert_eq!(shows(&|_| ()), ProgressMode::Screen);
        assert_eq!(shows(&|f| f.quiet = true), ProgressMode::Nothing);
        assert_eq!(shows(&|f| (f.quiet, f.plain) = (true, true)), ProgressMode::Nothing);
        assert_eq!(shows(&|f| f.plain = true), ProgressMode::Lines);
        assert_eq!(shows(&|f| f.dumb = true), ProgressMode::Lines);
        assert_eq!(shows(&|f| f.size = Some((39, 50))), ProgressMode::OneLine);
        assert_eq!(shows(&|f| f.size = Some((200, 9))), ProgressMode::OneLine);
        assert_eq!(shows(&|f| f.size = None), ProgressMode::OneLine);
        assert_eq!(shows(&|f| f.stdout_is_terminal = false), ProgressMode::OneLine);
        assert_eq!(shows(&|f| f.background = true), ProgressMode::OneLine);
        assert_eq!(shows(&|f| f.stderr_is_terminal = false), ProgressMode::Log);
        assert_eq!(shows(&|f| (f.stderr_is_terminal, f.plain) = (false, true)), ProgressMode::Lines);
    }
}
