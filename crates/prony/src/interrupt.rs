//! Ctrl-C: the first asks for the end and keeps what was measured, the second ends at once (the guards then end the
//! lab's servers). SIGTERM, and SIGHUP of a terminal that is gone, are the same; SIGQUIT ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use prony_load::{Control, Interrupt};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;

use crate::failure::{Failure, INTERRUPTED};
use crate::tui;

static ASKED: AtomicBool = AtomicBool::new(false);

pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

pub(crate) fn ask() {
    // It fails for numbers that are no signals.
    let _ = raise(SIGINT);
}

pub(crate) fn control() -> Result<Control, Failure> {
    on_first(Control::new(), Control::stop, end_at_once)
}

/// What ends a run of many loads, asked by Ctrl-C and SIGTERM.
pub(crate) fn of_a_run() -> Result<Interrupt, Failure> {
    on_first(Interrupt::new(), Interrupt::ask, end_at_once)
}

/// The same of a run that ends moments after it was asked, and has a folder to remove then: it is asked once.
pub(crate) fn of_a_short_run() -> Result<Interrupt, Failure> {
    on_first(Interrupt::new(), Interrupt::ask, || ())
}

/// A control of an installation. The second signal ends its step and not this program, which has to put back first what
/// packages found on the machine.
pub(crate) fn of_an_installation() -> Result<Control, Failure> {
    on_first(Control::new(), Control::stop, prony_lab::provision::end_steps)
}

/// Ctrl-C, SIGTERM, SIGQUIT and, unless `nohup` has seen to it that they are not heeded, hang-ups, from now on.
pub(crate) fn signals() -> Result<Signals, Failure> {
    let heeded = [SIGINT, SIGTERM, SIGQUIT].into_iter().chain((!hangups_are_ignored()).then_some(SIGHUP));
    Signals::new(heeded)
        .map_err(|e| Failure::not_measured(format!("The handler of Ctrl-C could not be installed: {e}.")))
}

fn hangups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

fn end_at_once() {
    tui::restore();
    std::process::exit(i32::from(INTERRUPTED));
}

/// Calls `ask` of `control` at the first signal and `again` at each one after it; SIGQUIT is as good as two.
fn on_first<C: Clone + Send + 'static>(control: C, ask: fn(&C), again: fn()) -> Result<C, Failure> {
    let mut signals = signals()?;
    let asked = control.clone();
    thread::spawn(move || {
        for (nth, signal) in signals.forever().enumerate() {
            ASKED.store(true, Ordering::Relaxed);
            if nth == 0 {
                ask(&asked);
            }
            if nth > 0 || signal == SIGQUIT {
                again();
            }
        }
    });
    Ok(control)
}
