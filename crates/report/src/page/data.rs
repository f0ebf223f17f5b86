//! `prony.page/1`: what the front end is given: the analysis itself, and beside it what is said of it in words and where
//! things are by index. Durations in nanoseconds, sizes in bytes, rates per second; figures to six digits.

use prony_analysis::experiment::{ExperimentAnalysis, RowReason};
use prony_analysis::tails::TailRatio;
use prony_model::Tool;
use prony_model::run_log::{CandidateFacts, NamedPlan, Setting};
use prony_model::unit::Unit;
use schemars::JsonSchema;
use serde::Serialize;

use super::capacity::Capacity;
use super::duet::Duet;
use super::flame::Profile;
use super::published::{Conclusion, Published, SourceTable};
use super::ranking::Ranking;
use super::sweep::Sweep;
use super::trial_head::TrialHead;
use crate::words::{CellVerdict, ProtocolTable};

pub(crate) const SCHEMA: &str = "prony.page/1";

/// A run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunData<'a> {
    /// Whether it is an experiment: else it is trials of `prony load`, and opens on the first.
    pub experiment: bool,
    /// What wrote the page.
    pub tool: Tool,
    /// What was asked, how, and what was found.
    pub head: Head,
    /// Who was measured, in the experiment's order.
    pub candidates: Vec<Candidate>,
    /// The candidate that ratios are to, unless another is chosen.
    pub baseline: Option<usize>,
    /// Under what, in the experiment's order.
    pub plans: Vec<PlanHead<'a>>,
    /// What there is to rank by.
    pub figures: Vec<FigureHead>,
    /// Percentiles of times, each by its field and its title.
    pub percentiles: Vec<(&'static str, &'static str)>,
    /// Each figure under each plan.
    pub rankings: Vec<Ranking<'a>>,
    /// Each candidate under each plan: what is not a figure.
    pub cells: Vec<Cell<'a>>,
    /// Figures that somebody published, beside ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published<'a>>,
    /// Conclusions that somebody published, judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion<'a>>,
    /// Every trial; its details are in the chunk `t` + index.
    pub trials: Vec<TrialHead>,
    /// Where the curves of details have points.
    pub quantiles: Vec<f64>,
    /// The source of `published` and `conclusions`, beside its figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceTable<'a>>,
    /// What the choice of a server is worth to an application that works itself: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// What HTTP/2 changes, where plans ask for the same over both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<ProtocolTable>,
    /// What the run varies: its plans, or its trials, along one thing each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// Plans that search for the highest sustainable rate; their probes are in the chunk `c` + plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<Capacity<'a>>,
    /// Response times of each candidate over the baseline's (without one, the first candidate's) along the tail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<Tail>,
    /// Both candidates beside each other, where they ran at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duet: Option<Duet<'a>>,
    /// Where CPU time per request grew, where that was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Where the list of runs is, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<&'a str>,
}

/// The analysis, and what it is in words. Its plans, protocols, conclusions and profile and its duet's plans are empty: they stand
/// elsewhere in the data.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Head {
    #[serde(flatten)]
    pub analysis: ExperimentAnalysis,
    /// `9 candidates × 1 plan × 5 blocks = 45 trials`.
    pub shape: String,
    /// `3 min 42 s · seed 1 · server on CPU 1, client on CPU 0`.
    pub conditions: String,
    /// The version that measured.
    pub version: String,
}

/// A candidate.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Candidate {
    /// `amphp:jit+ev`.
    pub label: String,
    /// The server: the label before its settings.
    pub server: String,
    /// The settings that are not the defaults.
    pub settings: Vec<String>,
    /// Each axis with its value, defaults too. Of an older log, which names no axes, all settings are one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<Setting>,
    /// What is known of it.
    #[serde(flatten)]
    pub facts: CandidateFacts,
}

/// A plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlanHead<'a> {
    /// Its name.
    pub name: &'a str,
    /// One line for people.
    pub describe: &'a str,
    /// What stands below its ranking: its control, what its blocks find, whether one of them decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// What was asked, where the plan is known.
    pub asked: Option<&'a NamedPlan>,
}

/// A figure that can be ranked by.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FigureHead {
    /// Its name in JSON.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Whether more is better.
    pub more_is_better: bool,
    /// What it is, in a sentence.
    pub explain: &'static str,
}

/// A candidate under a plan: what is not a figure.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Cell<'a> {
    /// Index of the plan.
    pub plan: usize,
    /// Index of the candidate.
    pub candidate: usize,
    /// The word beside the row.
    pub verdict: CellVerdict,
    /// Trials with a result.
    pub trials: u32,
    /// Trials that count.
    pub counted: u32,
    /// Failed requests over all counted trials.
    pub failed: u64,
    /// Completed requests over all counted trials.
    pub completed: u64,
    /// What became of its trials, one sentence each; what verdicts say is in `reasons`.
    pub remarks: Vec<String>,
    /// Each verdict's code seen, with words.
    pub reasons: &'a [RowReason],
}

/// Response times of B over A's under a plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tail {
    /// The plan's index.
    pub plan: usize,
    /// A's index.
    pub a: usize,
    /// B's index.
    pub b: usize,
    /// From the median to the last percentile that the samples allow.
    pub ratios: Vec<TailRatio>,
}

/// A part of the data that is decoded when it is looked at: zlib in base64.
pub(crate) struct Chunk {
    /// `t17`, `r0`, `c0`, `h0`.
    pub name: String,
    pub text: String,
}
