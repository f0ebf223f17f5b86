//! The machine of the servers, where it is another than the client's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::monitor::Monitor;

/// That machine, and the way to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerHost {
    /// The machine.
    pub host: Host,
    /// Its address, which servers listen on and the client connects to.
    pub address: String,
    /// Its network interface that has the address, where that could be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The shortest of the round trips by which the clocks were compared when the run began, over ssh.
    pub control_rtt_ns: u64,
}

/// What that machine did over a trial's window, by its own clock. What could not be read is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerHostWindow {
    /// Within so much of it the window's edges are known on its clock: half of the shortest round trip, and what
    /// the clocks may drift.
    pub clock_bound_ns: u64,
    /// CPU time of hardware interrupts, of all its CPUs (`irq` of /proc/stat, in steps of 10 ms).
    pub irq_ns: Option<u64>,
    /// CPU time of soft interrupts, of all its CPUs (`softirq` of /proc/stat, in steps of 10 ms): where the kernel
    /// receives packets.
    pub softirq_ns: Option<u64>,
    /// CPU time that its hypervisor gave to others, of all its CPUs.
    pub steal_ns: Option<u64>,
    /// Packets that its interface received.
    pub packets_received: Option<u64>,
    /// Packets that its interface sent.
    pub packets_sent: Option<u64>,
    /// Packets that its interface dropped or could not keep, either way.
    pub packets_dropped: Option<u64>,
    /// TCP segments that it sent again.
    pub tcp_retransmits: Option<u64>,
    /// Connects that found a listening socket's queue full.
    pub listen_overflows: Option<u64>,
    /// Connects that a listening socket dropped for any reason, overflows included.
    pub listen_drops: Option<u64>,
    /// What it did second by second, by its own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor: Option<Monitor>,
}
