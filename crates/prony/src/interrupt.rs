//! Ctrl-C: the first asks for the end and keeps what was measured, the
//! second ends at once (the guards then end the lab's servers).

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use prony_load::{Control, Interrupt};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;

use crate::failure::{Failure, INTERRUPTED};
use crate::tui;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the end was asked for, by a signal or a key.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Asks for the end as Ctrl-C does.
pub(crate) fn ask() {
    // It fails for numbers that are no signals.
    let _ = raise(SIGINT);
}

/// A control of one load that Ctrl-C and SIGTERM stop.
pub(crate) fn control() -> Result<Control, Failure> {
    on_first(Control::new(), Control::stop)
}

/// What ends a run of many loads, asked by Ctrl-C and SIGTERM.
pub(crate) fn of_a_run() -> Result<Interrupt, Failure> {
    on_first(Interrupt::new(), Interrupt::ask)
}

/// Ctrl-C and SIGTERM, from now on.
pub(crate) fn signals() -> Result<Signals, Failure> {
    Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Failure::not_measured(format!("The handler of Ctrl-C could not be installed: {e}.")))
}

/// Calls `ask` of `control` at the first signal and exits at the second.
fn on_first<C: Clone + Send + 'static>(control: C, ask: fn(&C)) -> Result<C, Failure> {
    let mut signals = signals()?;
    let asked = control.clone();
    thread::spawn(move || {
        for (nth, _) in signals.forever().enumerate() {
            ASKED.store(true, Ordering::Relaxed);
            if nth > 0 {
                tui::restore();
                std::process::exit(i32::from(INTERRUPTED));
            }
            ask(&asked);
        }
    });
    Ok(control)
}
