//! A search for the highest sustainable rate, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::recorded_plan::RecordedPlan;
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
    /// The load of the last probe about the edge that was sustained, else of the last probe, defaults filled in.
    pub plan: RecordedPlan,
    /// The machine.
    pub host: Host,
    /// What was found.
    #[serde(flatten)]
    pub found: CapacityRecord,
    /// The last probe about the edge that was sustained, as a trial of its own.
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
    /// Whether the probes about the edge give it an interval. `Some(false)`: they do not, and the rate is their middle;
    /// `None`: nothing or only a lower bound was found, or an older log, where a longer probe confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// Whether a rate a tenth lower was sustained at once after an overload; `None` where nothing was overloaded.
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
    /// The thresholds that the answer was not held to: by the last rate that was sustained.
    pub fn not_judged(&self) -> &[String] {
        self.probes.iter().rev().find(|probe| probe.sustained).map_or(&[], |probe| &probe.not_judged)
    }

    /// The rate with its interval, where it is one: an older log has the highest rate that passed and the lowest that did
    /// not in its place.
    pub fn interval(&self) -> Option<(&Estimate, f64, f64)> {
        let found = self.capacity_per_s.as_ref()?;
        let is_one = self.probes.iter().any(|probe| probe.phase == "up_down");
        is_one.then_some((found, found.ci_low?, found.ci_high?))
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
    /// `doubling`, `halving`, `bisection`, `up_down` or `descending`; `confirmation` in an older log.
    pub phase: String,
    /// How long it was loaded, a clear failure being ended early.
    pub duration_ns: u64,
    /// Median response.
    pub p50_ns: Option<u64>,
    /// 99th percentile of response.
    pub p99_ns: Option<u64>,
    /// Failed requests over those that ended.
    pub failed_share: f64,
    /// Requests beyond the first limit that is one on a share of them (a threshold's percentile or failures, else a
    /// thousandth that fails), over all; `None` in an older log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_share: Option<f64>,
}
