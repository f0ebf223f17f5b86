//! The machine a figure was measured on, as far as figures depend on it.

use serde::{Deserialize, Serialize};

/// The host. Its name is not among the fields on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// `Linux 6.1.0-18-amd64`.
    pub kernel: String,
    /// `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// The processor's model name.
    pub cpu_model: String,
    /// Logical CPUs online.
    pub cpus_online: u32,
    /// CPUs this process may use.
    pub cpus_allowed: Vec<u32>,
    /// The frequency governor of CPU 0, where there is one.
    pub governor: Option<String>,
    /// `kvm`, `docker`, … where it could be told.
    pub virtualisation: Option<String>,
    /// Installed memory.
    pub memory_bytes: u64,
    /// The soft and hard limits of open files.
    pub open_files_soft: u64,
    /// The hard limit of open files.
    pub open_files_hard: u64,
    /// The first ephemeral port.
    pub ephemeral_port_low: u16,
    /// The last ephemeral port.
    pub ephemeral_port_high: u16,
    /// `net.core.somaxconn`: the longest accept queue.
    pub somaxconn: u32,
    /// The kernel's boot id, by which two runs are known to be of one boot.
    pub boot_id: String,
}
