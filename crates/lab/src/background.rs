//! Threads that watch a measurement and must not disturb it: on the CPUs that
//! are Prony's, and below everything else that wants to run there.

use crate::sys;

/// Puts the calling thread, and those it starts, on these CPUs (empty: where
/// it may run already) under the idle policy: whoever else wakes there runs at
/// once, and it runs when nobody else does. A niceness of 19 would not do: such a
/// thread keeps the CPU for milliseconds when the engine wakes.
///
/// Both are best efforts: where the kernel refuses, the thread is an ordinary one.
pub fn enter(cpus: &[u32]) {
    let _ = sys::set_affinity(0, cpus);
    let _ = sys::idle_policy();
}
