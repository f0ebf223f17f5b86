//! What the agents of a fleet each did of one load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;

pub const AGENTS_MAX: u32 = 256;

/// How an agent of a fleet stands while the load runs, up to the last second that all agents have given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct LiveAgent {
    /// What it is called.
    pub name: String,
    /// Requests that it wrote.
    pub sent: u64,
    /// Requests of those that succeeded.
    pub completed: u64,
    /// Requests of the window that failed.
    pub failed: u64,
}

/// A load that several agents applied. Sums are those of the measurement that it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetRecord {
    /// The flags that make the same fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// In their order: agent i has the workers from i · threads on.
    pub agents: Vec<AgentRecord>,
    /// Why the window ends before its plan does: an agent was lost, and what all had given until then counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostAgent>,
    /// The version of the nats-server that carried their messages, as it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nats_server: Option<String>,
}

/// An agent that was lost during the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostAgent {
    /// Its name.
    pub agent: String,
    /// Why, as the second half of a sentence.
    pub why: String,
    /// The window that was asked for; `None` where only a count ends the load.
    pub planned_ns: Option<u64>,
}

/// What one agent did of a load.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    /// What it is called: `local-1`, or its host.
    pub name: String,
    /// Its worker threads.
    pub threads: u32,
    /// Requests that it wrote over the whole run.
    pub run_sent: u64,
    /// Requests of the window that completed.
    pub completed: u64,
    /// Requests of the window that failed.
    pub failed: u64,
    /// CPU time of its workers in the window.
    pub cpu_ns: u64,
    /// CPU time of its whole process in the window.
    pub process_cpu_ns: u64,
    /// The most memory that its process had; 0 where it gave no end.
    #[serde(default)]
    pub max_rss_bytes: u64,
    /// The largest share of the window that one of its workers was outside `epoll_wait`, in millionths.
    pub busiest_worker_ppm: u64,
    /// 99th percentile of its send lag; `None` of fewer than 100 requests.
    pub send_lag_p99_ns: Option<u64>,
    /// Median of how late its requests were sent by its own doing; `None` without any.
    pub lateness_p50_ns: Option<u64>,
    /// 99th percentile of that; `None` of fewer than 100 requests.
    pub lateness_p99_ns: Option<u64>,
    /// How long its control group's CPU quota kept it from running, from before the load to after it; `None` without a
    /// quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// How far the controller's clock was ahead of its own, as far as can be known, within `clock_bound_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ns: Option<i64>,
    /// Its clock was compared with the controller's to within so much, at worst.
    pub clock_bound_ns: u64,
    /// How much its clock moved against the controller's from before the load to after it; `None` where it gave no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_moved_ns: Option<i64>,
    /// The machine that it ran on, as it says; `None` in records from before that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}
