//! What the client itself cost over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of Prony's own process by column, and of the CPUs where the server's samples do not have them
/// already. At most 300 of them, whatever the load's length: a longer load has them further apart.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClientColumns {
    /// From the window's start; samples of the warm-up are negative.
    pub at_ns: Vec<i64>,
    /// CPU time of the whole process since the first sample.
    pub process_cpu_ns: Vec<u64>,
    /// A column for each worker thread, 16 at most: its CPU time since the first sample.
    pub worker_cpu_ns: Vec<Vec<u64>>,
    /// Resident memory of the process: the most since the sample before.
    pub rss_bytes: Vec<u64>,
    /// The CPUs of `core_busy_ns`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<u32>,
    /// A column for each of `cores`: its busy time since the first sample, whoever used it, in
    /// steps of 10 ms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_busy_ns: Vec<Vec<u64>>,
}
