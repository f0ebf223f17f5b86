//! A search for the highest sustainable rate, as data.

use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::trial::Bound;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityRecord {
    /// What had to be kept: `p99<50ms`, or the default in words.
    pub slo: String,
    /// The highest sustainable rate, in requests per second; `None` where not even the lowest probe passed.
    pub capacity_per_s: Option<Estimate>,
    /// `Lower` where the client, not the server, was the limit: print `≥`.
    pub bound: Bound,
    /// Every probe in the order they were made.
    pub probes: Vec<Probe>,
}

/// One load of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Requests per second offered.
    pub rate_per_s: f64,
    /// Completed requests per second.
    pub completed_per_s: f64,
    /// Whether the rate was sustained.
    pub sustained: bool,
    /// What decided it, in a few words.
    pub why: String,
    /// `doubling`, `bisection`, `confirmation` or `descending`.
    pub phase: String,
    /// How long it was loaded, a clear failure being ended early.
    pub duration_ns: u64,
    /// Median response.
    pub p50_ns: Option<u64>,
    /// 99th percentile of response.
    pub p99_ns: Option<u64>,
    /// Failed requests over those that ended.
    pub failed_share: f64,
}
