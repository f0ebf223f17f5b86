//! Ctrl-C: the first asks the load to end and keeps what was measured, the
//! second ends at once.

use std::thread;

use prony_load::Control;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, INTERRUPTED};

/// A control that Ctrl-C and SIGTERM stop.
pub(crate) fn control() -> Result<Control, Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|e| Failure::not_measured(format!("Ctrl-C cannot be watched for: {e}.")))?;
    let control = Control::new();
    let asked = control.clone();
    thread::spawn(move || {
        for (nth, _) in signals.forever().enumerate() {
            if nth > 0 {
                std::process::exit(i32::from(INTERRUPTED));
            }
            asked.stop();
        }
    });
    Ok(control)
}
