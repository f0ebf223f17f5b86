//! The types of a whole run's analysis: what the views show.

use prony_model::Estimate;
use prony_model::host::Host;
use prony_model::run_log::Skipped;
use prony_model::trial::Effect;
use schemars::JsonSchema;
use serde::Serialize;

pub use crate::analyse::analyse;
use crate::comparison::Comparison;
use crate::figure::Figure;
use crate::figures::Figures;
use crate::published::{PublishedAnalysis, PublishedFigures};

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

/// One plan's ranking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanAnalysis {
    /// The plan's name.
    pub name: String,
    /// `100 connections, closed loop, GET /`.
    pub describe: String,
    /// Candidates, best throughput first; those without a figure last.
    pub rows: Vec<Row>,
    /// How much more the fastest would carry than the slowest if each request took 20 ms of the
    /// servers' CPUs besides, as a share: what the choice is worth to an application that works.
    /// `None` at a rate, and below two candidates whose CPU time is known.
    pub spread_at_20_ms: Option<f64>,
}

/// One candidate under one plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The candidate's label.
    pub candidate: String,
    /// The server's title.
    pub title: String,
    /// Language, where known.
    pub language: Option<String>,
    /// Kind of server, where known.
    pub kind: Option<String>,
    /// The server's own word for its version.
    pub version: Option<String>,
    /// Workers it was told to use.
    pub workers: Option<u32>,
    /// Whether its connections serve more than one request.
    pub keepalive: bool,
    /// Its figures, each a field named by the table of figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Throughput over the baseline's, paired within blocks.
    pub ratio: Option<Estimate>,
    /// Failed requests over all counted trials.
    pub failed: u64,
    /// Completed requests over all counted trials.
    pub completed: u64,
    /// Trials with a result.
    pub trials: u32,
    /// Trials that count.
    pub counted: u32,
    /// Trials whose outcome was `overloaded`.
    pub overloaded: u32,
    /// Trials whose outcome was `broken`.
    pub broken: u32,
    /// Each verdict's code seen, with the number of trials and one detail.
    pub reasons: Vec<RowReason>,
    /// Response time by percentile, trials merged for display (not for inference).
    pub latency_curve: Vec<CurvePoint>,
    /// Each trial over time.
    pub series: Vec<TrialSeries>,
    /// What the source printed for this candidate under this load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFigures>,
}

impl Row {
    /// The best and the worst place it may hold by throughput; `None` without a figure.
    pub fn rank(&self) -> Option<(u32, u32)> {
        self.figures[Figure::THROUGHPUT].rank
    }

    /// Completed requests per second.
    pub fn throughput(&self) -> Option<&Estimate> {
        self.figures[Figure::THROUGHPUT].estimate.as_ref()
    }

    /// Whether any counted trial's throughput is a lower bound: print `≥`.
    pub fn lower_bound(&self) -> bool {
        self.figures[Figure::THROUGHPUT].lower_bound
    }
}

/// A verdict's code in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RowReason {
    /// The code.
    pub code: String,
    /// How many trials had it.
    pub trials: u32,
    /// The worst that it does to a figure.
    pub effect: Effect,
    /// The first one's detail.
    pub detail: String,
    /// The advice.
    pub advice: String,
}

/// A point of a latency-by-percentile curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CurvePoint {
    /// 0 to 1.
    pub quantile: f64,
    /// Nanoseconds.
    pub value_ns: u64,
}

/// A trial over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrialSeries {
    /// Its block.
    pub block: u32,
    /// Its validity, as in JSON.
    pub validity: String,
    /// From the window's start, per point.
    pub at_ns: Vec<u64>,
    /// Completed requests per second, per point.
    pub requests_per_s: Vec<f64>,
    /// 99th percentile of response, per point, where it has one.
    pub p99_ns: Vec<Option<u64>>,
    /// Server CPU in cores in use, per server sample: (from window start in ns, cores).
    pub server_cores: Vec<(i64, f64)>,
    /// Server memory in bytes, per server sample.
    pub server_memory_bytes: Vec<(i64, u64)>,
}
