//! `prony.page/1`: what the front end is given. Durations in nanoseconds,
//! sizes in bytes, rates per second; figures to six digits.

use prony_analysis::experiment::TrialCounts;
use prony_model::Tool;
use prony_model::code::Code;
use prony_model::host::Host;
use prony_model::plan::ArrivalKind;
use prony_model::plan_record::StageRecord;
use prony_model::run_log::{CandidateFacts, Setting, Skipped};
use prony_model::server_host::ServerHost;
use prony_model::trial::{Bound, Outcome, Validity};
use prony_model::unit::Unit;
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::{CellVerdict, ProtocolTable};

mod published;

pub(crate) use published::{
    Conclusion, ConclusionUnder, Published, SourceColumn, SourceFigure, SourceRow, SourceTable,
};

/// The schema's name; another number is another format.
pub(crate) const SCHEMA: &str = "prony.page/1";

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunData {
    /// Whether it is an experiment: else it is trials of `prony load`, and opens on the first.
    pub experiment: bool,
    /// What wrote the page.
    pub tool: Tool,
    /// What was asked, and how.
    pub head: Head,
    /// Who was measured, in the experiment's order.
    pub candidates: Vec<Candidate>,
    /// Under what, in the experiment's order.
    pub plans: Vec<PlanHead>,
    /// What there is to rank by.
    pub figures: Vec<FigureHead>,
    /// Each figure under each plan.
    pub rankings: Vec<Ranking>,
    /// Each candidate under each plan: what is not a figure.
    pub cells: Vec<Cell>,
    /// Figures that somebody published, beside ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// Conclusions that somebody published, judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// Every trial; its details are in the chunk `t` + index.
    pub trials: Vec<TrialHead>,
    /// Where the curves of details have points.
    pub quantiles: Vec<f64>,
    /// What did not run.
    pub skipped: Vec<Skipped>,
    /// What a reader should know and no figure says.
    pub notes: Vec<String>,
    /// The source of `published` and `conclusions`, beside its figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceTable>,
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
    pub capacities: Vec<Capacity>,
    /// Response times of each candidate over the baseline's (without one, the first candidate's) along the tail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<Tail>,
    /// Both candidates beside each other, where they ran at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duet: Option<Duet>,
    /// Where the list of runs is, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}

/// What was asked, and how.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Head {
    /// The experiment's name.
    pub name: String,
    /// Its question.
    pub title: String,
    /// The answer in a sentence.
    pub headline: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// `9 candidates × 1 plan × 5 blocks = 45 trials`.
    pub shape: String,
    /// `3 min 42 s · seed 1 · server on CPU 1, client on CPU 0`.
    pub conditions: String,
    /// The seed of the order.
    pub seed: u64,
    /// The version that measured.
    pub version: String,
    /// Trials by what became of them.
    pub counts: TrialCounts,
    /// Whether the run was ended early.
    pub interrupted: bool,
    /// How intervals and ranks were obtained.
    pub method: String,
    /// The command that reproduces it.
    pub reproduce: String,
    /// The candidate that ratios are to, unless another is chosen.
    pub baseline: Option<usize>,
    /// CPUs of the servers; empty: not pinned.
    pub server_cpus: Vec<u32>,
    /// CPUs of the client; empty: not pinned.
    pub client_cpus: Vec<u32>,
    /// The machine.
    pub host: Host,
    /// The machine of the servers, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_host: Option<ServerHost>,
}

/// A candidate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct PlanHead {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub describe: String,
    /// What stands below its ranking: its control, what its blocks find, whether one of them decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// Connections, where the plan is known.
    pub connections: Option<u32>,
    /// Requests per second asked for; none in closed arrivals and stages.
    pub rate_per_s: Option<f64>,
    /// When requests are due, where the plan is known.
    pub arrivals: Option<ArrivalKind>,
    /// What is kept by the rate that it searches for: `p99<50ms`; none where it is no search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// Its rate as a share of a measured knee, and whose: `rate_per_s` is none then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<(f64, String)>,
}

/// A figure that can be ranked by.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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

/// A figure with its interval, short: all to six digits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Short {
    /// The figure.
    pub point: f64,
    /// Its interval's lower end.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// Independent pieces it rests on.
    pub n: u64,
    /// Why there is no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A figure under a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Ranking {
    /// Index of the plan.
    pub plan: usize,
    /// Index of the figure.
    pub figure: usize,
    /// Best first; those without a figure last.
    pub rows: Vec<RankingRow>,
}

/// A candidate's figure under a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RankingRow {
    /// Index of the candidate.
    pub candidate: usize,
    /// The figure; `None`: see `censored_at_ns`, or it is withheld.
    pub estimate: Option<Short>,
    /// It is longer than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored_at_ns: Option<u64>,
    /// Print `≥`: the client was the limit.
    pub lower_bound: bool,
    /// Best and worst place.
    pub rank: Option<(u32, u32)>,
    /// Group of ties, from 1.
    pub tie: Option<u32>,
    /// To the experiment's baseline; to the others in the chunk `r` + plan.
    pub ratio: Option<Short>,
    /// The worst that a verdict does to this figure: ``, `?` (suspect) or `✗` (invalid).
    pub mark: &'static str,
    /// Each counted trial's figure.
    pub trials: Vec<f64>,
}

/// A candidate under a plan: what is not a figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Cell {
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
    pub reasons: Vec<CellReason>,
}

/// A verdict's code in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CellReason {
    /// The code.
    #[schemars(with = "String")]
    pub code: Code,
    /// Trials that had it.
    pub trials: u32,
    /// The first one's detail.
    pub detail: String,
    /// What to do.
    pub advice: String,
}

/// Response times of B over A's under a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Tail {
    /// The plan's index.
    pub plan: usize,
    /// A's index.
    pub a: usize,
    /// B's index.
    pub b: usize,
    /// By quantile, from the median to the last that the samples allow.
    pub ratios: Vec<(f64, Short)>,
}

/// Two that ran at once, in places that they changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Duet {
    /// Index of the candidate that is compared with.
    pub a: usize,
    /// Index of the one that is compared.
    pub b: usize,
    /// Every figure under every plan.
    pub rows: Vec<DuetRow>,
    /// Index of a plan, and what was measured of it: `6 blocks of one run, both at once, …`.
    pub amounts: Vec<(usize, String)>,
    /// How the intervals were obtained.
    pub method: String,
    /// What the table's words mean.
    pub legend: &'static str,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// The command that would tell more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A figure of both under a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct DuetRow {
    /// Index of the plan.
    pub plan: usize,
    /// Index of the figure.
    pub figure: usize,
    /// A's.
    pub a: Option<DuetSide>,
    /// B's.
    pub b: Option<DuetSide>,
    /// B over A.
    pub ratio: Option<Short>,
    /// The same as a change: `−5.0 %`.
    pub change: String,
    /// What two equals would show: `±0.9 %`.
    pub noise: String,
    /// `better`, `worse`, `equivalent`, `inconclusive`, or `none` where there is nothing to say it from.
    pub finding: &'static str,
    /// The finding in words: `FASTER`, `inconclusive: about 12 more blocks`.
    pub verdict: String,
    /// Why there is no finding, or no better one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A side's figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct DuetSide {
    /// Over its trials.
    pub estimate: Short,
    /// Print `≥`: the client was the limit.
    pub at_least: bool,
}

/// Plans, or trials of `prony load`, that differ in one thing only.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Sweep {
    /// What differs.
    pub against: Against,
    /// What they have in common, where several sweeps differ in it: `500 connections`.
    pub title: String,
    /// Whether throughput is the rate that a search found.
    pub capacity: bool,
    /// In order of `x`.
    pub points: Vec<SweepPoint>,
}

/// Along what a sweep goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Against {
    /// Requests per second asked for.
    Rate,
    /// A rate as a share of a knee, in percent.
    Share,
    /// Connections.
    Connections,
}

/// A plan or a trial of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SweepPoint {
    /// Requests per second, percent, or connections.
    pub x: f64,
    /// Index of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<usize>,
    /// Number of the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
}

/// A plan that searches for the highest sustainable rate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Capacity {
    /// Index of the plan.
    pub plan: usize,
    /// What had to be kept.
    pub slo: String,
    /// What was found, by candidate.
    pub rows: Vec<CapacityRow>,
}

/// What the searches of a candidate found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CapacityRow {
    /// Index of the candidate.
    pub candidate: usize,
    /// The rate: over several searches the geometric mean with its interval; of one, the highest rate that
    /// was sustained, up to the lowest that was not. None where not even the lowest was.
    pub estimate: Option<Short>,
    /// Whether the interval is that of a single search.
    pub edge: bool,
    /// The client was the limit: print `≥`.
    pub lower_bound: bool,
    /// Searches made.
    pub searches: u32,
    /// Searches that found a rate.
    pub found: u32,
    /// Searches that found a rate without an interval.
    pub unconfirmed: u32,
    /// Searches after whose overload the rate was not sustained at once.
    pub slow_to_recover: u32,
    /// Searches in which it was tried again after an overload.
    pub tried_again: u32,
}

/// A trial in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TrialHead {
    /// Its number in the run, which its chunk is named by.
    pub index: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Index of the candidate.
    pub candidate: usize,
    /// Index of the plan.
    pub plan: usize,
    /// How far its figures can be trusted.
    pub validity: Validity,
    /// What became of the load.
    pub outcome: Outcome,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Whose limit the throughput is.
    pub bound: Bound,
    /// Completed requests per second.
    pub requests_per_s: Short,
    /// Requests per second that were due; none in closed arrivals.
    pub offered_per_s: Option<f64>,
    /// Connections asked for, or the most of a ramp's.
    pub connections: u32,
    /// Its figures, in the order of the run's.
    pub figures: Vec<Option<f64>>,
    /// Indices of those of which the truth may be more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<usize>,
    /// Completed requests.
    pub completed: u64,
    /// Failed requests.
    pub failed: u64,
    /// Codes of its verdict.
    #[schemars(with = "Vec<String>")]
    pub codes: Vec<Code>,
    /// The stages of its load, where it has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageRecord>,
    /// Why nothing was measured: all figures are 0 then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A part of the data that is decoded when it is looked at: zlib in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// `t17`, `r0`, `c0`, `h0`.
    pub name: String,
    pub text: String,
}
