//! The types of a whole run's analysis: what the views show.

use prony_model::host::Host;
use prony_model::run_log::Skipped;
use prony_model::server_host::ServerHost;
use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::Comparison;
pub use crate::curve::{CurvePoint, TrialSeries};
use crate::profile::ProfileComparison;
use crate::protocols::ProtocolComparison;
use crate::published::PublishedAnalysis;
pub use crate::row::{CARRIED_WHOLE, PlanAnalysis, Row, RowReason, ServiceFigures};

/// A run, analysed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ExperimentAnalysis {
    /// The schema's name: `prony.analysis/1`.
    pub schema: &'static str,
    /// The experiment's name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The answer in one sentence.
    pub headline: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// First trial's start to last trial's end, as far as the log tells.
    pub elapsed_ns: Option<u64>,
    /// The order's seed.
    pub seed: u64,
    /// The machine.
    pub host: Host,
    /// The machine of the servers, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_host: Option<ServerHost>,
    /// CPUs of the servers; empty: not pinned.
    pub server_cpus: Vec<u32>,
    /// CPUs of the client; empty: not pinned.
    pub client_cpus: Vec<u32>,
    /// The baseline's label, where it was measured.
    pub baseline: Option<String>,
    /// Blocks asked for.
    pub blocks_planned: u32,
    /// Trials by what became of them.
    pub trials: TrialCounts,
    /// Whether the run was ended early and not resumed.
    pub interrupted: bool,
    /// How intervals were obtained, for the reader: one sentence.
    pub interval_method: String,
    /// One per plan, in the experiment's order.
    pub plans: Vec<PlanAnalysis>,
    /// Plans over HTTP/2 beside the same over HTTP/1.1; empty where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolComparison>,
    /// Candidates that did not run.
    pub skipped: Vec<Skipped>,
    /// The command that reproduces the run.
    pub reproduce: String,
    /// What a reader should know and no figure says (events, dropped line…).
    pub notes: Vec<String>,
    /// A source's figures and conclusions beside ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedAnalysis>,
    /// Both candidates of a duet beside each other, second by second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duet: Option<Comparison>,
    /// Where CPU time per request grew, where that was sampled: by two trials that count for no other figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileComparison>,
}

/// Trials by what became of them. `planned` = the others' sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct TrialCounts {
    /// In the order.
    pub planned: u32,
    /// Valid, and exact.
    pub valid: u32,
    /// Valid, but throughput is a lower bound.
    pub lower_bound: u32,
    /// Suspect.
    pub suspect: u32,
    /// Invalid, failed, or interrupted within: they count for nothing.
    pub void: u32,
    /// Not run, or without a result.
    pub missing: u32,
}
