//! A run log: JSON Lines, appended and synced between trials. The first line is the header; then trial starts, results
//! and events in order. Results are raw: who reads judges them (`prony_analysis::run_log`), and a later version can
//! judge again. A last line that a crash cut off is dropped on reading; a broken line elsewhere is an error.

mod bounds;
mod file;
mod flat;
mod read;
mod redact;
mod write;
mod wrong;

use std::fmt::Display;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::write::RunLogWriter;
use crate::capacity::CapacityRecord;
use crate::duet::{DuetPlace, DuetRecord};
use crate::host::Host;
use crate::observed::Observed;
use crate::profile::Profile;
use crate::published::{CapacityOf, Published};
use crate::recorded_plan::RecordedPlan;
use crate::server::ServerSamples;
use crate::server_host::ServerHost;
pub use crate::sleep::Sleep;
use crate::{Tool, Trial, is_default};

/// The schema's name; another number is another format.
pub const SCHEMA: &str = "prony.run/2";

/// The longest line: a day's trial with histograms takes under 100 MB, with the samples of 16 CPUs 200.
const LINE_MAX_BYTES: u64 = 256 << 20;

/// One line of a run log.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a few lines a second at most, and most are results")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// A trial begins.
    TrialStart(TrialStart),
    /// A trial ended.
    Result(RawResult),
    /// Anything else worth keeping.
    Event(Event),
    /// A trial that counts for no figure: where CPU time goes.
    Profile(Profile),
}

impl Line {
    /// A line of a file, without its secrets. Its kind is looked for first: a tag would make serde hold the line twice.
    fn read(text: &[u8]) -> Result<Line, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Kind {
            Header,
            TrialStart,
            Result,
            Event,
            Profile,
        }
        #[derive(Deserialize)]
        struct Tagged {
            r#type: Kind,
        }
        let mut line = match serde_json::from_slice::<Tagged>(text)?.r#type {
            Kind::Header => Line::Header(serde_json::from_slice(text)?),
            Kind::TrialStart => Line::TrialStart(serde_json::from_slice(text)?),
            Kind::Result => Line::Result(serde_json::from_slice(text)?),
            Kind::Event => Line::Event(serde_json::from_slice(text)?),
            Kind::Profile => Line::Profile(serde_json::from_slice(text)?),
        };
        line.redact();
        Ok(line)
    }
}

/// Says what a result means in a run log of this machine; in a sentence where it cannot be what was observed.
pub type Judge<'a> = &'a (dyn Fn(&Host, RawResult) -> Result<TrialResult, String> + Sync);

/// What a run is going to do, and on what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// What measures.
    pub tool: Tool,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The experiment's name (its file's stem); `load` where there is none (see `one_by_one`).
    pub name: String,
    /// Whether its trials were made one by one, by `prony load` and `prony capacity`, and not by an experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_by_one: bool,
    /// Its title.
    pub title: String,
    /// The command that reproduces the run.
    pub reproduce: String,
    /// The machine.
    pub host: Host,
    /// The seed of the order.
    pub seed: u64,
    /// Blocks asked for.
    pub blocks: u32,
    /// The time the run may take; `None`: as long as its blocks take.
    pub budget_ns: Option<u64>,
    /// The baseline's label, if any.
    pub baseline: Option<String>,
    /// CPUs of the servers.
    pub server_cpus: Vec<u32>,
    /// CPUs of the client.
    pub client_cpus: Vec<u32>,
    /// The candidates that run.
    pub candidates: Vec<CandidateRecord>,
    /// Those that don't, and why.
    pub skipped: Vec<Skipped>,
    /// The plans, by name.
    pub plans: Vec<NamedPlan>,
    /// The order: every trial that is planned.
    pub order: Vec<PlannedTrial>,
    /// The experiment file's text, so that `--resume` needs nothing else.
    pub experiment_toml: Option<String>,
    /// What somebody else printed of the same question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// The git commit of the folder that the run was begun in (see `prony_host::commit`), whatever had changed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Until what precision blocks are added; `blocks` is then the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionRecord>,
    /// Where both candidates of a duet run; `None` where they run in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<DuetRecord>,
    /// The machine of the servers, where it is another than the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_host: Option<ServerHost>,
    /// What runs beside the candidates (their recipes' own services not among them).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceRecord>,
    /// CPUs of the services; empty: the servers'.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_cpus: Vec<u32>,
    /// The command that is run before each trial, without its secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<String>,
}

/// A service of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRecord {
    /// `db`.
    pub name: String,
    /// What is run, without its secrets.
    pub command: String,
    /// The command or URL by which it is ready; `None`: when its port accepts connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Whether it runs from its first trial to the end; else each trial has its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
}

/// A run that stops by its own precision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrecisionRecord {
    /// Half the width of every ratio's interval, as a share: 0.02 is ±2 %.
    pub share: f64,
    /// The fewest blocks.
    pub blocks_min: u32,
}

/// A candidate of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CandidateRecord {
    /// `amphp:jit+ev`; only what differs from the defaults.
    pub label: String,
    /// What is known of it.
    #[serde(flatten)]
    pub facts: CandidateFacts,
    /// Each axis of its recipe with the value it runs with, defaults too, in the recipe's order; empty where it has no
    /// axes, is no server of the catalogue, or in an older log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Whether requests that wait hold up others, as its first check showed; `None` where it has no
    /// such route, or was not checked yet. Not in the header's own line: an event of the log tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
}

/// What is known of a candidate, wherever it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CandidateFacts {
    /// The server's title.
    pub title: String,
    /// The language it is written for, where known.
    pub language: Option<String>,
    /// `web-server`, `event-loop`, …, where known.
    pub kind: Option<String>,
    /// The server's own word for its version.
    pub version: Option<String>,
    /// Worker processes or threads it was told to use; `None` where it cannot be told.
    pub workers: Option<u32>,
    /// Whether its connections serve more than one request.
    pub keepalive: bool,
}

/// An axis of a server's recipe, and the value that a candidate has on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// `opt`, `loop`, `close`, …
    pub axis: String,
    /// `jit`, `ev`, `yes`, …
    pub value: String,
}

/// A sentence about a candidate without its name in front: what is the same of several is then the same text.
pub fn without_name<'a>(candidate: &str, sentence: &'a str) -> &'a str {
    sentence.strip_prefix(candidate).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(sentence)
}

/// What a candidate's full check found out about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Its label.
    pub candidate: String,
    /// What becomes of requests that wait at the same time.
    pub sleep: Option<Sleep>,
}

/// A candidate that does not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Its label.
    pub candidate: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The command that mends it, if one does.
    pub mend: Option<String>,
}

impl Skipped {
    pub fn reason_and_fix(&self) -> String {
        let fix = self.mend.as_deref().map_or(String::new(), |command| format!(" Fix: {command}"));
        format!("{}{fix}", self.reason)
    }
}

/// A plan with its name within the experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct NamedPlan {
    /// `c100`, `r20000`, or the name given.
    pub name: String,
    /// One line for people: `100 connections, closed loop, GET /json`.
    pub describe: String,
    /// The plan; its URL is a template without a port.
    pub plan: RecordedPlan,
    /// The name given to the sweep that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its rate as a share of a measured knee: each trial's plan has the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ShareOf>,
    /// The threshold whose highest sustainable rate is searched for, where it is a search: `p99<50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// How many workers servers were told to use under it, where that is not the run's rule: a number, `server_cores`, or
    /// `source` (as many as the published source says, where it does).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<String>,
}

/// A rate as a share of a measured knee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShareOf {
    /// 1 is the knee itself.
    pub share: f64,
    /// Whose knee.
    pub of: CapacityOf,
}

impl ShareOf {
    /// To a ten-thousandth, without what floats make of 1.05.
    pub fn percent(&self) -> f64 {
        (self.share * 1e6).round() / 1e4
    }
}

/// A planned trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// Its number in the run, from 0.
    pub index: u32,
    /// Its block, from 0.
    pub block: u32,
    /// The candidate's label.
    pub candidate: String,
    /// The plan's name.
    pub plan: String,
    /// Its place, where two run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duet: Option<DuetPlace>,
    /// Which repeat of it, from 1, at its block's end since other programs disturbed the one before; 0 is the first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub repeat: u32,
    /// What it is a control of, where it is one: then it is none of the candidate's own trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

impl PlannedTrial {
    pub fn name(&self) -> String {
        format!("{} · {} · #{}", self.candidate, self.plan, u64::from(self.index) + 1)
    }

    /// Who is loaded: the candidate's label, or `twin of` it.
    pub fn who(&self) -> String {
        match self.control {
            None => self.candidate.clone(),
            Some(Control::Twin) => format!("twin of {}", self.candidate),
        }
    }
}

/// What a trial controls of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Another start of the candidate in each block, as if it were another candidate: what the run tells apart of two that
    /// are the same.
    Twin,
}

/// A trial begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrialStart {
    /// The planned trial.
    #[serde(flatten)]
    pub planned: PlannedTrial,
    /// RFC 3339, UTC.
    pub at: String,
}

/// A trial ended: what was observed, not what it means.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RawResult {
    /// The planned trial.
    #[serde(flatten)]
    pub planned: PlannedTrial,
    /// What was observed; `None` when nothing could be (see `failure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// Why nothing was measured, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What a search for the highest sustainable rate found; `observed` is then its confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRecord>,
}

impl RawResult {
    pub fn failed(planned: PlannedTrial, why: String) -> RawResult {
        RawResult { planned, observed: None, failure: Some(why), capacity: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialResult {
    #[serde(flatten)]
    pub planned: PlannedTrial,
    /// What was measured; `None` when nothing could be (see `failure`).
    pub trial: Option<Trial>,
    /// The server's costs; `None` when it was not the lab's.
    pub server: Option<ServerSamples>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What a search for the highest sustainable rate found; `trial` is then its confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRecord>,
}

/// What happens in a run beside its trials; a later version's logs may have others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    Interrupted,
    Resumed,
    Finished,
    BudgetSpent,
    PrecisionReached,
    PrecisionNotReached,
    Checked,
    CheckFailed,
    StartFailed,
    /// A server that somebody else started did not respond.
    NoResponse,
    CleanedUp,
    Leftovers,
    Killed,
    NotSampled,
    /// Nothing was sampled of where CPU time goes.
    NotProfiled,
}

/// Anything else worth keeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// RFC 3339, UTC.
    pub at: String,
    /// An [`EventKind`]'s name, `budget_spent`.
    pub what: String,
    /// A sentence; of the candidate that `found` names, where there is one.
    pub detail: String,
    /// The candidate, and what a check found out about it (`checked`): it becomes a part of its record on reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
}

impl Event {
    pub fn is_one_of(&self, kinds: &[EventKind]) -> bool {
        kinds.iter().any(|kind| self.what == <&str>::from(kind))
    }

    pub fn candidate(&self) -> Option<&str> {
        self.found.as_ref().map(|found| found.candidate.as_str())
    }

    /// In a line, of these candidates if of any: `start failed: a and b: given up after 2 attempts: …`.
    pub fn said(&self, candidates: &str) -> String {
        let parts = [&self.what.replace('_', " "), candidates, &self.detail];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunLog {
    pub header: Header,
    pub results: Vec<TrialResult>,
    /// Results in whose place others of the same planned trial count: see [`PlannedTrial::repeat`].
    pub replaced: Vec<TrialResult>,
    /// Results of controls, which are no candidate's; see [`RunLog::set_controls_aside`].
    pub controls: Vec<TrialResult>,
    pub events: Vec<Event>,
    pub profiles: Vec<Profile>,
    /// Trials that began and have no result, unless begun again.
    pub unfinished: Vec<PlannedTrial>,
    /// Whether the last line was cut off, and dropped.
    pub truncated: bool,
}

/// Why a run log could not be read or written: the file, with the line where one is wrong, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {why}")]
pub struct RunLogError {
    place: String,
    why: String,
}

impl RunLogError {
    /// Of a file as a whole: what the file system said, or what to do.
    pub fn new(path: &Path, why: impl Display) -> RunLogError {
        RunLogError { place: path.display().to_string(), why: why.to_string() }
    }
}
