//! The one system call that no dependency makes. All of the crate's unsafe code is here.
#![allow(unsafe_code)]

use std::io;

/// The calling thread runs only when no other wants to (`SCHED_IDLE`).
pub(crate) fn idle_policy() -> io::Result<()> {
    // What `struct sched_param` begins with. The kernel's call, since musl's function of this name only fails: for POSIX 0
    // is the process, for Linux the calling thread.
    let priority: libc::c_int = 0;
    // SAFETY: `priority` is valid, and all that the kernel reads.
    let set =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0_i32, libc::SCHED_IDLE, &raw const priority) };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
