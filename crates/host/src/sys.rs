//! The one system call that no dependency makes. All of the crate's unsafe code is here.
#![allow(unsafe_code)]

use std::io;

/// The calling thread runs only when no other wants to (`SCHED_IDLE`).
pub(crate) fn idle_policy() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is valid; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
