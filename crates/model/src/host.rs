//! The machine a figure was measured on, as far as figures depend on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{few, numbers};
use crate::printable::harmless_within;

/// The longest text of a host that another machine tells of itself, and the most CPUs that it lists.
const TEXT_MAX_CHARS: usize = 200;
const CPUS_MAX: usize = 8192;

/// The host. Its name is not among the fields on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Whether Prony ran in a container with a network of the container's own: what it sent passed a bridge or a proxy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub container_network: bool,
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
    /// A salted hash of /etc/machine-id, 16 hexadecimal digits, by which two machines of one kind are told apart; the
    /// id itself, which is confidential, is not kept. `None` where there is none, and in records from before it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

impl Host {
    /// What another machine says that it is: texts safe to show, and none too long.
    pub fn of_another(mut self) -> Host {
        for text in self.texts() {
            *text = harmless_within(text, TEXT_MAX_CHARS);
        }
        self.cpus_allowed.truncate(CPUS_MAX);
        self
    }

    pub fn check(&self) -> Result<(), String> {
        let longest = self.clone().texts().into_iter().map(|text| text.chars().count()).max().unwrap_or(0);
        few("characters in a text of an agent's host", longest, TEXT_MAX_CHARS)?;
        few("CPUs of an agent's host", self.cpus_allowed.len(), CPUS_MAX)?;
        numbers([self.memory_bytes])
    }

    fn texts(&mut self) -> Vec<&mut String> {
        let always = [&mut self.kernel, &mut self.os, &mut self.cpu_model, &mut self.boot_id];
        let known = [&mut self.governor, &mut self.virtualisation, &mut self.machine];
        always.into_iter().chain(known.into_iter().flatten()).collect()
    }

    /// Whether these surely are two machines. One boot is of one, whatever its containers have for a machine id.
    pub fn is_another_machine(&self, other: &Host) -> bool {
        let one_boot = !self.boot_id.is_empty() && self.boot_id == other.boot_id;
        !one_boot && self.machine.as_ref().zip(other.machine.as_ref()).is_some_and(|(a, b)| a != b)
    }
}

/// A quota of CPU time that holds for Prony's own process: of its control group, or of one above it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuQuota {
    /// The group's folder.
    pub group: String,
    /// CPU time that all in the group may have …
    pub quota_us: u64,
    /// … in each period of so long.
    pub period_us: u64,
    /// Periods in which something of the group ran.
    pub periods: u64,
    /// Periods in which it used its quota up, and was stopped until the next.
    pub throttled_periods: u64,
    /// For how long its CPUs were stopped, all of them together.
    pub throttled_ns: u64,
}

/// What the machine did over a trial's window beside the load, as far as it
/// disturbs figures. What cannot be told is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostWindow {
    /// The largest share of a used CPU's time that the hypervisor gave to others (`steal` of /proc/stat), 0 to 1.
    pub steal: Option<f64>,
    /// That time.
    pub steal_ns: Option<u64>,
    /// CPU time on the used CPUs of other programs, older than the load's server, over the load's time: 1 is a whole CPU.
    /// Of trials of a bench alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// The largest share of the window that a worker thread was ready to run and had no CPU
    /// (/proc/self/task/*/schedstat), 0 to 1.
    pub run_queue_wait: Option<f64>,
    /// Connects that found a listening socket's queue full (`ListenOverflows`), in this network namespace.
    pub listen_overflows: Option<u64>,
    /// Connects that a listening socket dropped for any reason, overflows included (`ListenDrops`).
    pub listen_drops: Option<u64>,
    /// TCP segments sent again (`RetransSegs`), in this network namespace.
    pub tcp_retransmits: Option<u64>,
    /// Of the CPU quotas that hold for Prony, the one that stopped it longest; `None` without any.
    pub cpu_quota: Option<CpuQuota>,
    /// Whether the target's address is this machine's, so that its listening socket is among those counted.
    pub target_is_local: bool,
    /// Who listened at the target's address when the window was over; `None` where nobody did, or nobody could tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listening: Option<Listening>,
}

/// The sockets that listen at an address of this network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Listening {
    /// How many: several share a port by SO_REUSEPORT, and the kernel divides connections between them.
    pub sockets: u32,
    /// The most connections that may wait to be accepted, of the longest queue.
    pub queue_max: u32,
}
