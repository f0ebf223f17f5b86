//! This machine: what it is, whose its CPUs are, which processes run on it, and what they do while something is
//! measured. Nothing here knows servers or recipes. What cannot be read stays empty or unknown.

pub mod bench_lock;
mod beside;
pub mod cgroup;
mod client_watch;
pub mod commit;
mod cores;
pub mod cpu_ticks;
pub mod cpus;
mod facts;
mod host_watch;
mod listen_queue;
mod monitor_watch;
pub mod pins;
pub mod process;
pub mod state;
mod sys;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod whole_host;

pub use beside::{Beside, Taken};
pub use client_watch::ClientWatch;
pub use cores::Machine;
pub use facts::{boot_id, memory_field, port_range, read};
pub use host_watch::HostWatch;
pub use monitor_watch::MonitorWatch;
pub use whole_host::{WholeHost, interface_of};

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC` in nanoseconds: one clock for all processes of the machine.
pub fn monotonic_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

/// `CLOCK_BOOTTIME`: the same, and it goes on while the machine is suspended.
pub fn boottime_ns() -> u64 {
    clock_ns(ClockId::Boottime)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

pub fn page_bytes() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}
