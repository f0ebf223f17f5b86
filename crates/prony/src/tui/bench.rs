//! The state of an experiment that runs: a grid of its trials, the one in progress, and the last messages. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prony_lab::bench::{BenchEvent, BenchSetup};
use prony_model::run_log::{Header, PlannedTrial, TrialResult};
use prony_model::trial::{Bound, Outcome, Trial, Validity};
use prony_model::units::nanoseconds;
use prony_report::format;

use super::bench_view;
use super::canvas::Canvas;
use super::load::LoadState;
use super::view::{Message, View};

/// Lines of trials that a tall screen may show.
const RECENT_MAX: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(super) enum Mark {
    #[default]
    Pending,
    Running,
    Valid,
    LowerBound,
    Suspect,
    /// Invalid, broken, or nothing was measured.
    Invalid,
}

impl Mark {
    pub(super) fn symbol_and_name(self) -> (&'static str, &'static str) {
        match self {
            Mark::Pending => ("·", "pending"),
            Mark::Running => ("▶", "running"),
            Mark::Valid => ("■", "valid"),
            Mark::LowerBound => ("≥", "lower bound"),
            Mark::Suspect => ("?", "suspect"),
            Mark::Invalid => ("✗", "invalid"),
        }
    }

    pub(super) fn symbol(self) -> &'static str {
        self.symbol_and_name().0
    }

    fn of(trial: Option<&Trial>) -> Mark {
        let Some(trial) = trial else { return Mark::Invalid };
        match (trial.verdict.validity, trial.outcome, trial.throughput.bound) {
            (Validity::Invalid, ..) | (_, Outcome::Broken, _) => Mark::Invalid,
            (.., Bound::Lower) => Mark::LowerBound,
            (Validity::Suspect, ..) => Mark::Suspect,
            (Validity::Valid, ..) => Mark::Valid,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct BenchState {
    pub(super) title: String,
    pub(super) candidates: Arc<Vec<String>>,
    pub(super) plans: Arc<Vec<String>>,
    pub(super) blocks: usize,
    /// One for each candidate, plan and block, in this order; what is never planned stays `None`.
    marks: Arc<Vec<Option<Mark>>>,
    lasts: Arc<Vec<Option<f64>>>,
    pub(super) running: Option<(PlannedTrial, Option<Box<LoadState>>)>,
    pub(super) done: u32,
    pub(super) remaining: u32,
    left: Option<(Duration, Duration)>,
    elapsed: Duration,
    pub(super) recent: Vec<String>,
    /// Messages that have not been taken by [`View::messages`].
    messages: Vec<Message>,
}

impl BenchState {
    pub(crate) fn new(setup: &BenchSetup, header: Header, shown: bool) -> BenchState {
        let log = if setup.resume && shown { prony_analysis::run_log::read(&setup.log).ok() } else { None };
        let (header, results) = log.map_or((header, Vec::new()), |log| (log.header, log.results));
        let candidates = header.candidates.iter().map(|candidate| candidate.label.clone()).collect();
        let plans = header.plans.iter().map(|plan| plan.name.clone()).collect();
        let mut state = BenchState::planned(&header.title, candidates, plans, &header.order);
        for result in results.iter().filter(|result| !result.trial.as_ref().is_some_and(|t| t.interrupted)) {
            state.take_result(result);
        }
        state
    }

    pub(super) fn planned(
        title: &str,
        candidates: Vec<String>,
        plans: Vec<String>,
        order: &[PlannedTrial],
    ) -> BenchState {
        let blocks = order.iter().map(|planned| planned.block as usize + 1).max().unwrap_or(0);
        let cells = candidates.len() * plans.len();
        let mut state = BenchState {
            title: format::printable(title),
            candidates: Arc::new(candidates),
            plans: Arc::new(plans),
            blocks,
            marks: Arc::new(vec![None; cells * blocks]),
            lasts: Arc::new(vec![None; cells]),
            remaining: u32::try_from(order.len()).unwrap_or(u32::MAX),
            ..BenchState::default()
        };
        order.iter().for_each(|planned| state.mark(planned, Mark::Pending));
        state
    }

    pub(crate) fn on_event(&mut self, event: &BenchEvent<'_>) {
        match event {
            BenchEvent::Begun { log, total, remaining } => {
                self.remaining = *remaining;
                let of = if remaining < total { format!(" of {total}") } else { String::new() };
                self.emit(format!("{remaining} trials{of}, recorded in {}", log.display()), false);
            }
            BenchEvent::Note(event) => {
                self.emit(event.said(event.candidate().unwrap_or_default()), true);
            }
            BenchEvent::TrialBegins { planned, done, remaining, elapsed } => {
                (self.done, self.remaining, self.elapsed) = (*done, *remaining, *elapsed);
                self.begin(planned);
            }
            BenchEvent::Load { planned, snapshot, plan } => {
                if self.running.as_ref().is_none_or(|(running, _)| running.index != planned.index) {
                    self.begin(planned);
                }
                if let Some((_, load)) = &mut self.running {
                    let load = load.get_or_insert_with(|| Box::new(LoadState::of(plan)));
                    if snapshot.elapsed_ns < load.now.elapsed_ns {
                        // A search has many loads: the next begins.
                        **load = LoadState::of(plan);
                    }
                    load.take(snapshot);
                }
            }
            BenchEvent::TrialEnded { result, done, remaining, elapsed, left } => {
                (self.done, self.remaining, self.elapsed) = (*done, *remaining, *elapsed);
                self.left = left.map(|left| (left, *elapsed));
                self.end(result);
            }
        }
    }

    fn begin(&mut self, planned: &PlannedTrial) {
        self.mark(planned, Mark::Running);
        self.running = Some((planned.clone(), None));
    }

    fn take_result(&mut self, result: &TrialResult) -> Mark {
        let mark = Mark::of(result.trial.as_ref());
        self.mark(&result.planned, mark);
        if let (Some(cell), Some(trial)) = (self.cell(&result.planned), &result.trial) {
            Arc::make_mut(&mut self.lasts)[cell] = Some(trial.throughput.requests_per_s.point);
        }
        mark
    }

    fn end(&mut self, result: &TrialResult) {
        let mark = self.take_result(result);
        self.running = None;
        let line = line(result);
        let remaining = self.remaining;
        self.emit(format!("{:>4}/{remaining}  {line}", self.done), mark == Mark::Invalid);
    }

    fn emit(&mut self, text: String, stays: bool) {
        self.recent.push(format::printable(&text));
        if self.recent.len() > RECENT_MAX {
            self.recent.remove(0);
        }
        self.messages.push(Message { text, stays });
    }

    /// Of a control there is none.
    fn cell(&self, planned: &PlannedTrial) -> Option<usize> {
        if planned.control.is_some() {
            return None;
        }
        let candidate = self.candidates.iter().position(|name| *name == planned.candidate)?;
        let plan = self.plans.iter().position(|name| *name == planned.plan)?;
        Some(candidate * self.plans.len() + plan)
    }

    fn mark(&mut self, planned: &PlannedTrial, mark: Mark) {
        let (Some(cell), block) = (self.cell(planned), planned.block as usize) else { return };
        if block < self.blocks {
            Arc::make_mut(&mut self.marks)[cell * self.blocks + block] = Some(mark);
        }
    }

    pub(super) fn marks(&self, candidate: usize, plan: usize) -> &[Option<Mark>] {
        let cell = candidate * self.plans.len() + plan;
        self.marks.get(cell * self.blocks..(cell + 1) * self.blocks).unwrap_or_default()
    }

    pub(super) fn last(&self, candidate: usize, plan: usize) -> Option<f64> {
        self.lasts.get(candidate * self.plans.len() + plan).copied().flatten()
    }

    pub(super) fn tally(&self) -> BTreeMap<Mark, usize> {
        let mut found = BTreeMap::new();
        self.marks.iter().flatten().for_each(|mark| *found.entry(*mark).or_default() += 1);
        found
    }

    /// How much is done, 0 to 1: trials, and the part of the one that runs.
    pub(super) fn share(&self) -> f64 {
        let part = self.running.as_ref().and_then(|(_, load)| load.as_ref()).map_or(0.0, |load| load.share());
        ((f64::from(self.done) + part.min(0.95)) / f64::from(self.remaining.max(1))).min(1.0)
    }

    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        self.left.map(|(left, at)| left.saturating_sub(now.saturating_sub(at)))
    }
}

impl View for BenchState {
    const LOGS: bool = true;

    fn draw(&self, now: Duration, canvas: &mut Canvas<'_>) {
        bench_view::draw(self, now, canvas);
    }

    fn line(&self) -> String {
        let left = self.left.map_or(String::new(), |(left, _)| {
            format!(", about {} left", format::elapsed(nanoseconds(left)))
        });
        let Some((planned, load)) = &self.running else {
            return format!("{}/{} trials{left}", self.done, self.remaining);
        };
        let load = load.as_ref().map_or("starting".to_owned(), |load| load.line());
        format!("{}/{}{left} · {} · {load}", self.done, self.remaining, who(planned))
    }

    fn messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }
}

/// `workerman · c100 · block 3`.
pub(super) fn who(planned: &PlannedTrial) -> String {
    format!("{} · {} · block {}", planned.who(), planned.plan, planned.block + 1)
}

fn line(result: &TrialResult) -> String {
    let who = who(&result.planned);
    let Some(trial) = &result.trial else {
        let why = result.failure.as_deref().unwrap_or("nothing was measured");
        return format!("{who}: {why}");
    };
    let bound = if trial.throughput.bound == Bound::Lower { "≥ " } else { "" };
    let p99 = trial.latency.response.p99_ns.map_or("–".to_owned(), |ns| format::duration(ns as f64));
    let failed = match trial.requests.failed {
        0 => String::new(),
        failed => format!(", {} failed", format::thousands(failed)),
    };
    let verdict = match trial.verdict.validity {
        Validity::Valid => "",
        Validity::Suspect => ", SUSPECT",
        Validity::Invalid => ", INVALID",
    };
    format!(
        "{who}: {bound}{} req/s, p99 {p99}{failed}{verdict}",
        format::thousands(trial.throughput.requests_per_s.point.round() as u64)
    )
}
