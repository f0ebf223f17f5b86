//! A search for the highest sustainable rate, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::plan_record::PlanRecord;
use crate::trial::{Bound, TargetRecord, Trial};
use crate::{Estimate, Tool};

/// The schema's name; another number is another format.
pub const SCHEMA: &str = "prony.capacity/1";

/// A search of `prony capacity`, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// What measured.
    pub tool: Tool,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command that searches again.
    pub reproduce: String,
    /// Whether it was ended early: what was found is then not the whole answer.
    pub interrupted: bool,
    /// What was loaded.
    pub target: TargetRecord,
    /// The load of the confirmation, else of the last probe, defaults filled in.
    pub plan: PlanRecord,
    /// The machine.
    pub host: Host,
    /// What was found.
    #[serde(flatten)]
    pub found: CapacityRecord,
    /// The confirmation as a trial of its own.
    pub confirmation: Option<Trial>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRecord {
    /// What had to be kept: `p99<50ms`, or the default in words.
    pub slo: String,
    /// The highest sustainable rate, in requests per second; `None` where not even the lowest probe passed.
    pub capacity_per_s: Option<Estimate>,
    /// `Lower` where the client, not the server, was the limit: print `≥`.
    pub bound: Bound,
    /// Whether a confirmation, three times as long as a probe, upheld it. `Some(false)`: none did, and the rate is one
    /// resolution below the last that failed; `None`: nothing was found, or an older log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// Whether the rate was sustained at once after an overload; `None` where nothing was overloaded.
    #[serde(default)]
    pub recovers: Option<bool>,
    /// Every probe in the order they were made.
    pub probes: Vec<Probe>,
    /// Why the search was given up: its server died, was started again or answered with something else. There
    /// is no capacity then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

impl CapacityRecord {
    /// The thresholds that the answer was not held to: by its confirmation, else by the last rate that was sustained.
    pub fn not_judged(&self) -> &[String] {
        let sustained = || self.probes.iter().rev().filter(|probe| probe.sustained);
        let confirmation = sustained().find(|probe| probe.phase == "confirmation");
        confirmation.or_else(|| sustained().next()).map_or(&[], |probe| &probe.not_judged)
    }

    /// Why there is no capacity, where there is none.
    pub fn failure(&self) -> Option<String> {
        match (&self.void, &self.capacity_per_s) {
            (Some(why), _) => Some(format!("Its capacity was not found: {why}")),
            (None, None) => Some(format!("No rate that was tried is sustained ({}).", self.slo)),
            (None, Some(_)) => None,
        }
    }
}

/// One load of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Requests per second offered.
    pub rate_per_s: f64,
    /// Completed requests per second.
    pub completed_per_s: f64,
    /// Whether the rate was sustained.
    pub sustained: bool,
    /// What decided it, in a few words.
    pub why: String,
    /// The thresholds of a sustained rate whose point holds and whose interval does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The thresholds of a sustained rate whose figure was withheld or missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<String>,
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
