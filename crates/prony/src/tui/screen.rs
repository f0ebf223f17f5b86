//! The terminal itself: taken over for the view, and restored, however the program ends. The view has the alternate
//! screen of stderr (docs/decisions/0015); only echo and line buffering are off: Ctrl-C stays a signal.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::queue;
use ratatui::crossterm::style::ResetColor;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};

use crate::lock::locked;

/// The terminal's mode as it was, while the view has the terminal.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
/// Held while a frame is written, so that none comes after the terminal was restored.
static WRITING: Mutex<()> = Mutex::new(());
/// A terminal that accepts no bytes for so long is restored without leaving the alternate screen.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

/// Whether the terminal is another process group's. A terminal without a foreground group is not.
pub(super) fn in_background() -> bool {
    tcgetpgrp(io::stderr()).is_ok_and(|foreground| foreground != getpgrp())
}

pub(super) fn enter() -> io::Result<()> {
    restore_at_panics();
    let before = tcgetattr(io::stderr())?;
    let mut mode = before.clone();
    mode.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    // Ctrl-S would hold up the drawing, and with it the end of the run.
    mode.input_modes.remove(InputModes::IXON);
    // A load that is stopped measures nothing, and a view that is killed by Ctrl-\ leaves the terminal as it is.
    mode.special_codes[SpecialCodeIndex::VSUSP] = 0;
    mode.special_codes[SpecialCodeIndex::VQUIT] = 0;
    *locked(&BEFORE) = Some(before);
    tcsetattr(io::stderr(), OptionalActions::Now, &mode)?;
    let mut codes = Vec::new();
    queue!(codes, EnterAlternateScreen, Hide)?;
    write(&codes)
}

/// Restores the terminal, if the view has it. From any thread, any number of times.
pub(crate) fn restore() {
    // Whoever finds nothing left to do may exit at once, and so waits here until it is done.
    static RESTORING: Mutex<()> = Mutex::new(());
    let _restoring = locked(&RESTORING);
    let Some(before) = locked(&BEFORE).take() else { return };
    let until = Instant::now() + PATIENCE;
    let writing = loop {
        match WRITING.try_lock() {
            Ok(guard) => break Some(guard),
            Err(std::sync::TryLockError::Poisoned(poisoned)) => break Some(poisoned.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) if Instant::now() >= until => break None,
            Err(std::sync::TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
        }
    };
    // A failure could not be shown anywhere.
    if writing.is_some() {
        let mut codes = Vec::new();
        let _ = queue!(codes, ResetColor, Show, LeaveAlternateScreen);
        let _ = write(&codes);
    }
    let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
}

/// A panic's message is to be read on the screen that stays.
fn restore_at_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            restore();
            usual(panic);
        }));
    });
}

/// Writes a frame, unless the terminal was restored; whether it was written.
pub(super) fn show(frame: &[u8]) -> bool {
    let _writing = locked(&WRITING);
    locked(&BEFORE).is_some() && write(frame).is_ok()
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(bytes)?;
    stderr.flush()
}

#[derive(Debug)]
pub(super) struct Keys {
    readable: bool,
}

impl Keys {
    pub(super) fn new() -> Keys {
        Keys { readable: io::stdin().is_terminal() }
    }

    /// Waits for keys for at most so long; what was typed.
    pub(super) fn wait(&mut self, longest: Duration) -> Vec<u8> {
        if !self.readable {
            thread::sleep(longest);
            return Vec::new();
        }
        let stdin = io::stdin();
        let timeout = Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: longest.subsec_nanos().into(),
        };
        let mut waited_for = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waited_for, Some(&timeout)) {
            Ok(1..) => {}
            // Nothing was typed; or a signal: the caller looks at its clock.
            Ok(0) | Err(_) => return Vec::new(),
        }
        let mut typed = [0; 64];
        match rustix::io::read(&stdin, &mut typed) {
            Ok(n) if n > 0 => typed[..n].to_vec(),
            // The terminal is gone, or another's: asking again would only spin.
            _ => {
                self.readable = false;
                Vec::new()
            }
        }
    }
}
