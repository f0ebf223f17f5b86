//! Loads one after the other: what applies them, and what ends them all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prony_model::{Measurement, Plan};

use crate::control::{Control, Snapshot};
use crate::error::LoadError;

/// What applies loads, of several threads at once where they begin together: [`run`](crate::run), or a test's stand-in.
pub type Loader<'a> =
    dyn Fn(&Plan, &Control, &mut dyn FnMut(&Snapshot)) -> Result<Measurement, LoadError> + Sync + 'a;

/// Ends a run of loads early, from any thread. Clones end the same run.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    asked: AtomicBool,
    load: Mutex<Option<Control>>,
}

impl Interrupt {
    pub fn new() -> Interrupt {
        Interrupt::default()
    }

    /// Asks the run to end: the load at once, the server after it. Takes a lock: not for a signal handler.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        if let Some(load) = &*self.0.load.lock().unwrap_or_else(PoisonError::into_inner) {
            load.stop();
        }
    }

    pub fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    pub fn control(&self, loads: u32) -> Control {
        let control = if loads > 1 { Control::together(loads) } else { Control::new() };
        *self.0.load.lock().unwrap_or_else(PoisonError::into_inner) = Some(control.clone());
        // Asked before the lock: nobody has stopped this one. After it: `ask` does.
        if self.asked() {
            control.stop();
        }
        control
    }
}
