//! What the lab saw of a server during one trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::server_host::ServerHostWindow;

/// A server process tree's costs over one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServerSamples {
    /// How CPU was read: `cgroup-v2`, `cgroup-v1` or `schedstat`. Figures of
    /// different methods are not compared.
    pub cpu_method: String,
    /// How memory was read: `rss` (pages shared by processes count in each)
    /// or `pss` (each counts its share).
    pub memory_method: String,
    /// CPUs the server was pinned to; empty: not pinned.
    pub cpus: Vec<u32>,
    /// From the start of the process to its first valid response; 0 of a server that somebody else started.
    pub startup_ns: u64,
    /// CPU time of the whole tree within the window, interpolated between samples.
    pub window_cpu_ns: u64,
    /// The highest memory of the tree seen within the window.
    pub peak_memory_bytes: u64,
    /// Processes in the tree at the window's end.
    pub processes: u32,
    /// Threads in the tree at the window's end.
    pub threads: u32,
    /// The samples, columnar: all columns have one length.
    pub columns: SampleColumns,
    /// The highest memory of the tree within the window by proportional shares: pages that
    /// processes share count once. `None` where it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_pss_bytes: Option<u64>,
    /// What the server's host did over the window, where that is another machine than the client's; `None` on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<ServerHostWindow>,
    /// What the services beside it cost, which is no part of its own figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceSamples>,
}

/// What a service (a database, a cache, an upstream) cost over one trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServiceSamples {
    /// `db`.
    pub name: String,
    /// As that of a server.
    pub cpu_method: String,
    /// CPUs that it was pinned to; empty: not pinned.
    pub cpus: Vec<u32>,
    /// Whether these are the server's, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_cpus: bool,
    /// CPU time of its whole tree within the window.
    pub window_cpu_ns: u64,
    /// The highest resident memory of its tree within the window.
    pub peak_memory_bytes: u64,
    /// Processes in its tree at the window's end.
    pub processes: u32,
}

/// Samples of a server by column.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SampleColumns {
    /// From the window's start; samples of the warm-up are negative.
    pub at_ns: Vec<i64>,
    /// CPU time of the tree since its start.
    pub cpu_ns: Vec<u64>,
    /// Resident memory of the tree.
    pub rss_bytes: Vec<u64>,
    /// The used CPUs, the client's among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u32>,
    /// A column for each of `cores`: its busy time since the first sample, whoever used it, in
    /// steps of 10 ms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_busy_ns: Vec<Vec<u64>>,
    /// TCP sockets in TIME_WAIT in the network namespace: each holds a port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_wait: Vec<u64>,
    /// Instants of `pss_bytes`, which is read once a second; of a length of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pss_at_ns: Vec<i64>,
    /// Memory of the tree by proportional shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pss_bytes: Vec<u64>,
}
