//! What the live page and the list of runs are given, and what the live page is told as it goes.

use prony_model::fleet::LiveAgent;
use schemars::JsonSchema;
use serde::Serialize;

use super::Page;
use super::shell::{App, NoPage};

/// What a run that goes on is about, known before it begins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct LiveHead {
    /// The command line.
    pub command: String,
    /// What is loaded, or the experiment's question.
    pub title: String,
    /// How, in a line.
    pub describe: String,
    /// Warm-up and window of one load; none where only a count ends it.
    pub total_ns: Option<u64>,
    /// Its warm-up.
    pub warmup_ns: u64,
    /// Requests per second asked for.
    pub rate_per_s: Option<f64>,
    /// The trials of an experiment in their order: candidate, plan, block; empty for a single load.
    pub order: Vec<LiveTrial>,
}

/// A planned trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LiveTrial {
    /// Its number in the run.
    pub index: u32,
    /// The candidate's label.
    pub candidate: String,
    /// The plan's name.
    pub plan: String,
    /// Its block, from 0.
    pub block: u32,
}

/// What the page is told.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LiveEvent {
    /// A point of the plots: see [`LivePoint`].
    Point(LivePoint),
    /// How the load stands, where the plots' points are further apart than this comes.
    Now(LivePoint),
    /// How each agent of a fleet stands.
    Agents {
        /// In their order.
        agents: Vec<LiveAgent>,
    },
    /// A trial begins; points are its own from now on.
    TrialBegins {
        /// Which.
        index: u32,
        /// Its warm-up and window.
        total_ns: u64,
    },
    /// A trial ended.
    TrialEnds(LiveEnd),
    /// The run is over.
    Done {
        /// Whether there is a report at `report`.
        report: bool,
        /// A sentence, where there is none.
        sentence: String,
    },
}

/// A quarter of a second of a load; of a long one as many of them together as [`LivePoint::of`] says.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct LivePoint {
    /// Since the load's start, warm-up included.
    pub elapsed_ns: u64,
    /// Whether it counts.
    pub in_window: bool,
    /// Requests completed so far.
    pub completed: u64,
    /// Completed per second since the point before.
    pub per_s: f64,
    /// Quarters of a second that it stands for. Of several the rate is their mean, and everything below
    /// the highest of theirs, so that no second's trouble is lost.
    pub of: u32,
    /// Requests on a connection now.
    pub in_flight: u64,
    /// Requests failed in the last whole second of the window.
    pub failed: Option<u64>,
    /// Connections open at its end.
    pub connections: Option<u64>,
    /// Median response in it.
    pub p50_ns: Option<u64>,
    /// 99th percentile, given 100 samples.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
}

impl LivePoint {
    /// This point and the next one as one, after the point `before` both.
    #[must_use]
    pub fn with(&self, next: &LivePoint, before: &LivePoint) -> LivePoint {
        LivePoint {
            elapsed_ns: next.elapsed_ns,
            in_window: next.in_window,
            completed: next.completed,
            per_s: LivePoint::per_s(before, next.completed, next.elapsed_ns),
            of: self.of + next.of,
            in_flight: self.in_flight.max(next.in_flight),
            // `None` is less than any.
            failed: self.failed.max(next.failed),
            connections: self.connections.max(next.connections),
            p50_ns: self.p50_ns.max(next.p50_ns),
            p99_ns: self.p99_ns.max(next.p99_ns),
            max_ns: self.max_ns.max(next.max_ns),
        }
    }

    /// Requests per second, to a tenth, from a point to a count at a later instant; 0 at the same one.
    pub fn per_s(before: &LivePoint, completed: u64, elapsed_ns: u64) -> f64 {
        let since_ns = elapsed_ns.saturating_sub(before.elapsed_ns);
        if since_ns == 0 {
            return 0.0;
        }
        (completed.saturating_sub(before.completed) as f64 * 1e10 / since_ns as f64).round() / 10.0
    }
}

/// A trial in one line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LiveEnd {
    /// Which.
    pub index: u32,
    /// Completed requests per second; none where nothing was measured.
    pub requests_per_s: Option<f64>,
    /// 99th percentile of response.
    pub p99_ns: Option<u64>,
    /// `valid`, `suspect`, `invalid`, or `failed` where nothing was measured.
    pub validity: String,
    /// Estimated time left.
    pub left_ns: Option<u64>,
}

/// A run log in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct RunEntry {
    /// Where its report is.
    pub href: String,
    /// The file.
    pub file: String,
    /// Its title.
    pub title: String,
    /// The answer.
    pub headline: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// `45 trials: 42 valid, …`.
    pub trials: String,
    /// Why it cannot be shown.
    pub failure: Option<String>,
}

/// The page of a run that goes on, at the root of its site; it listens to `events`.
pub fn live(head: &LiveHead) -> Result<String, NoPage> {
    Ok(App::embedded()?.file("Prony, live", &Page::Live { live: head }.json(), Some(""), &[]))
}

/// The page at a site's root that lists run logs, with a link to their history where there is one.
pub fn runs(entries: &[&RunEntry], history: Option<&str>) -> Result<String, NoPage> {
    let data = Page::Runs { runs: entries, history }.json();
    Ok(App::embedded()?.file("Runs · Prony", &data, Some(""), &[]))
}

pub fn entry(log: &prony_model::run_log::RunLog, file: &str) -> RunEntry {
    entry_of(&prony_analysis::analyse(log), !log.header.one_by_one, file)
}

pub(crate) fn entry_of(
    analysis: &prony_analysis::experiment::ExperimentAnalysis,
    experiment: bool,
    file: &str,
) -> RunEntry {
    RunEntry {
        href: String::new(),
        file: file.to_owned(),
        title: analysis.title.clone(),
        headline: if experiment { analysis.headline.clone() } else { String::new() },
        created_at: analysis.created_at.clone(),
        trials: crate::words::trial_counts(analysis),
        failure: None,
    }
}
