//! What is shown while a run goes on, and where: the view, one line, plain
//! lines, or nothing. Decided once, from facts alone.

use std::io::{self, IsTerminal};

/// The smallest terminal that the view is drawn in.
pub(super) const WIDTH_MIN: u16 = 40;
/// Its rows.
pub(super) const HEIGHT_MIN: u16 = 10;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Nothing but the result.
    Nothing,
    /// Lines of what happened, on stderr that is no terminal.
    Log,
    /// The same, and how the run stands now and then: asked for, or a terminal that knows no more.
    Lines,
    /// One line that is written over.
    OneLine,
    /// The view.
    Screen,
}

/// What the choice depends on.
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

impl Shows {
    /// What suits this process's standard streams.
    pub(crate) fn here(quiet: bool, plain: bool) -> Shows {
        Shows::of(Facts {
            quiet,
            plain,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            dumb: std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb"),
            background: super::screen::in_background(),
            size: super::screen::size(),
        })
    }

    fn of(facts: Facts) -> Shows {
        let fits = facts.size.is_some_and(|(width, height)| width >= WIDTH_MIN && height >= HEIGHT_MIN);
        match facts {
            Facts { quiet: true, .. } => Shows::Nothing,
            Facts { plain: true, .. } => Shows::Lines,
            Facts { stderr_is_terminal: false, .. } => Shows::Log,
            Facts { dumb: true, .. } => Shows::Lines,
            // What reads stdout may draw on the same terminal, as a pager does.
            Facts { stdout_is_terminal: true, background: false, .. } if fits => Shows::Screen,
            Facts { .. } => Shows::OneLine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_is_for_a_terminal_with_room_that_is_ours() {
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
            Shows::of(facts)
        };
        assert_eq!(shows(&|_| ()), Shows::Screen);
        assert_eq!(shows(&|f| f.quiet = true), Shows::Nothing);
        assert_eq!(shows(&|f| (f.quiet, f.plain) = (true, true)), Shows::Nothing);
        assert_eq!(shows(&|f| f.plain = true), Shows::Lines);
        assert_eq!(shows(&|f| f.dumb = true), Shows::Lines);
        assert_eq!(shows(&|f| f.size = Some((39, 50))), Shows::OneLine);
        assert_eq!(shows(&|f| f.size = Some((200, 9))), Shows::OneLine);
        assert_eq!(shows(&|f| f.size = None), Shows::OneLine);
        assert_eq!(shows(&|f| f.stdout_is_terminal = false), Shows::OneLine);
        assert_eq!(shows(&|f| f.background = true), Shows::OneLine);
        assert_eq!(shows(&|f| f.stderr_is_terminal = false), Shows::Log);
        assert_eq!(shows(&|f| (f.stderr_is_terminal, f.plain) = (false, true)), Shows::Lines);
    }
}
