//! The course of a run: trial after trial, each written down before the next.

use std::time::{Duration, Instant, SystemTime};

use prony_analysis::precision::SequentialStop;
use prony_analysis::repeats::disturbed;
use prony_analysis::run_log::{self, judge_result};
use prony_host::pins::PinnedProcess;
use prony_load::Interrupt;
use prony_model::plan::Protocol;
use prony_model::rfc3339;
use prony_model::run_log::{
    Event, EventKind, Found, Line, PlannedTrial, RawResult, RunLogError, RunLogWriter, Sleep, TrialResult,
    TrialStart, without_name,
};
use prony_model::secret::redacted;
use prony_model::units::show_duration;

use super::budget::Budget;
use super::header::{header, may_resume, remaining, with_more_blocks};
use super::planned_trial::{Trial, TrialEnd};
use super::precision;
use super::quiet::Quiet;
use super::repeats::Repeats;
use super::request_spec::RequestSpec;
use super::search::Capacities;
use super::services::Up;
use super::{BenchError, BenchEvent, BenchOutcome, BenchSetup, End, Loads};
use crate::supervise;

/// A candidate that never started is given up after so many attempts: each may wait for half a minute.
const START_ATTEMPTS: u32 = 2;

pub(super) type Append<'a> = dyn FnMut(Line) -> Result<(), RunLogError> + 'a;

pub(super) struct Runner<'a> {
    pub(super) setup: &'a BenchSetup,
    pub(super) loads: Loads<'a>,
    pub(super) interrupt: &'a Interrupt,
    pub(super) tell: &'a mut dyn FnMut(&BenchEvent<'_>),
    append: &'a mut Append<'a>,
    pub(super) states: Vec<CandidateState>,
    pub(super) capacities: Capacities,
    budget: Budget,
    began: Instant,
    trials: u32,
    pub(super) under_load: Duration,
    looking: SequentialStop,
    repeats: Repeats,
    pub(super) quiet: Quiet,
    pub(super) kept: Vec<Up>,
}

pub(super) struct CandidateState {
    pub(super) spec: RequestSpec,
    pub(super) checked: Vec<Protocol>,
    pub(super) needed_sigkill: bool,
    pub(super) leftovers: Vec<String>,
    excluded: bool,
    failed_starts: u32,
}

/// Runs an experiment, or the rest of one; both candidates of a setup that has [`BenchSetup::duet`] at once.
///
/// `loads` are by [`prony_load::run`] or a fleet; `events` hears of everything as it happens,
/// in the calling thread. All threads of the process are kept off the servers' CPUs meanwhile.
pub fn run(
    setup: &BenchSetup,
    loads: Loads<'_>,
    interrupt: &Interrupt,
    events: &mut dyn FnMut(&BenchEvent<'_>),
) -> Result<BenchOutcome, BenchError> {
    if setup.candidates.is_empty() {
        return Err(BenchError::NoCandidates(skipped(setup)));
    }
    let (total, left, mut writer, known) = if setup.resume { resume(setup)? } else { begin(setup)? };
    events(&BenchEvent::Begun { log: &setup.log, total: count(total), remaining: count(left.len()) });
    let mut append = |line: Line| writer.append(line);
    let mut runner = Runner::new(setup, loads, interrupt, events, &mut append);
    (runner.capacities, runner.looking, runner.repeats) = known;
    runner.run(&left, setup.resume)
}

fn skipped(setup: &BenchSetup) -> String {
    let reasons: Vec<String> =
        setup.skipped.iter().map(|s| format!("{}: {}", s.candidate, s.reason)).collect();
    if reasons.is_empty() { "there are none.".to_owned() } else { reasons.join(" ") }
}

/// The length of the whole order, what is left of it, the log, and what it tells already.
type Session = (usize, Vec<PlannedTrial>, RunLogWriter, (Capacities, SequentialStop, Repeats));

fn begin(setup: &BenchSetup) -> Result<Session, BenchError> {
    let header = header(setup);
    let writer = RunLogWriter::create(&setup.log, &header).map_err(BenchError::Open)?;
    Ok((header.order.len(), header.order, writer, <(Capacities, SequentialStop, Repeats)>::default()))
}

fn resume(setup: &BenchSetup) -> Result<Session, BenchError> {
    let mut log = run_log::read(&setup.log).map_err(BenchError::Open)?;
    let refused = |why: String| BenchError::Resume { path: setup.log.clone(), why };
    may_resume(&log, setup).map_err(refused)?;
    let more = with_more_blocks(&log.header, setup).map_err(refused)?;
    let mut writer = RunLogWriter::open(&setup.log).map_err(BenchError::Open)?;
    if let Some(more) = more {
        log.header = more.clone();
        writer.append(Line::Header(more)).map_err(BenchError::Log)?;
    }
    Ok((
        log.header.order.len(),
        remaining(&log),
        writer,
        (Capacities::of(&log.results), SequentialStop::of(&log), Repeats::of(&log)),
    ))
}

fn unjudged(planned: PlannedTrial, why: String) -> TrialResult {
    TrialResult { planned, trial: None, server: None, failure: Some(why), capacity: None }
}

fn count(trials: usize) -> u32 {
    u32::try_from(trials).unwrap_or(u32::MAX)
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        setup: &'a BenchSetup,
        loads: Loads<'a>,
        interrupt: &'a Interrupt,
        tell: &'a mut dyn FnMut(&BenchEvent<'_>),
        append: &'a mut Append<'a>,
    ) -> Runner<'a> {
        let state = |spec| CandidateState {
            spec,
            checked: Vec::new(),
            needed_sigkill: false,
            leftovers: Vec::new(),
            excluded: false,
            failed_starts: 0,
        };
        let specs = setup.candidates.iter().map(|c| RequestSpec::of(&c.candidate, &setup.experiment));
        Runner {
            setup,
            loads,
            interrupt,
            tell,
            append,
            states: specs.map(state).collect(),
            capacities: Capacities::default(),
            budget: Budget::new(setup.experiment.budget),
            began: Instant::now(),
            trials: 0,
            under_load: Duration::ZERO,
            looking: SequentialStop::default(),
            repeats: Repeats::default(),
            quiet: Quiet::of(setup),
            kept: Vec::new(),
        }
    }

    pub(super) fn run(mut self, left: &[PlannedTrial], resumed: bool) -> Result<BenchOutcome, BenchError> {
        let _pinned = PinnedProcess::to(&self.setup.pins.client);
        let left: Option<Vec<Trial<'_>>> = left.iter().map(|trial| Trial::of(self.setup, trial)).collect();
        let left = left.ok_or_else(|| BenchError::Resume {
            path: self.setup.log.clone(),
            why: "its order has other candidates or plans than are to run: begin a new run.".to_owned(),
        })?;
        if resumed {
            self.event(EventKind::Resumed, &format!("{} trials are left.", left.len()))?;
        }
        let cleaned = match &self.setup.server_host {
            None => supervise::clean_up(&self.setup.supervision.root),
            Some(host) => host
                .begin(&self.setup.experiment.name, &self.setup.pins.server)
                .map_err(|why| BenchError::ServerHost { given: host.given().to_owned(), why })?,
        };
        for cleaned in cleaned {
            self.event(EventKind::CleanedUp, &cleaned)?;
        }
        let at_once = if self.setup.duet.is_some() { 2 } else { 1 };
        let mut block = None;
        for (at, trials) in left.chunks_exact(at_once).enumerate() {
            let left = &left[at * at_once..];
            if self.interrupt.asked() {
                return self.interrupted();
            }
            // Of a duet one side is none.
            if trials.iter().any(|trial| self.excludes(trial)) {
                continue;
            }
            let of = trials[0].planned.block;
            if block != Some(of) && !self.repeat_disturbed(Some(of), left)? {
                return self.interrupted();
            }
            if block.replace(of) != Some(of)
                && let Some(end) = self.ends_before(of, left)?
            {
                return Ok(self.outcome(end));
            }
            if !self.run_at_once(trials, left)? {
                return self.interrupted();
            }
        }
        if !self.repeat_disturbed(None, &[])? {
            return self.interrupted();
        }
        self.finished(&left)
    }

    /// Runs disturbed trials of blocks before this one again, while there is time; false when asked to end.
    fn repeat_disturbed(&mut self, before: Option<u32>, left: &[Trial<'_>]) -> Result<bool, BenchError> {
        while let Some(planned) = self.repeats.next(before).filter(|_| self.setup.repeats_disturbed) {
            if self.interrupt.asked() {
                return Ok(false);
            }
            let Some(trial) = Trial::of(self.setup, &planned).filter(|trial| !self.excludes(trial)) else {
                break;
            };
            let rest = self.runnable(left, None);
            let in_budget = self.budget.has_spare(self.began.elapsed(), &planned.plan, &rest);
            if !in_budget && !self.repeats.allows(trial.load_time()) {
                break;
            }
            let with_rest: Vec<Trial<'_>> = [&[trial], left].concat();
            if !self.run_at_once(&[trial], &with_rest)? {
                return Ok(false);
            }
        }
        self.repeats.end_block(before);
        Ok(true)
    }

    fn excludes(&self, trial: &Trial<'_>) -> bool {
        self.states[trial.number].excluded
    }

    fn ends_before(&mut self, block: u32, left: &[Trial<'_>]) -> Result<Option<End>, BenchError> {
        // Where rates are shares of a knee, blocks of the searches say nothing of those of the loads.
        let alone = self.setup.experiment.phases().len() == 1;
        let reached = precision::reached(self.setup, &self.looking, block);
        if let Some(reached) = reached.filter(|_| alone) {
            self.event(EventKind::PrecisionReached, &reached)?;
            return Ok(Some(End::PrecisionReached));
        }
        if !self.budget.allows_block(self.began.elapsed(), &self.runnable(left, Some(block))) {
            let budget = self.setup.experiment.budget.unwrap_or_default();
            let after = show_duration(Duration::from_secs(self.began.elapsed().as_secs()));
            let mut text = format!(
                "Block {} would end after the budget of {}: the run ended after {after}.",
                block + 1,
                show_duration(budget)
            );
            text.push_str(&self.what_more_would_buy());
            self.event(EventKind::BudgetSpent, &text)?;
            return Ok(Some(End::BudgetSpent));
        }
        Ok(None)
    }

    fn finished(mut self, left: &[Trial<'_>]) -> Result<BenchOutcome, BenchError> {
        let more = self.what_more_would_buy();
        if !left.is_empty() && !more.is_empty() {
            let text = format!("All {} blocks are done.{more}", self.setup.experiment.blocks.max);
            self.event(EventKind::PrecisionNotReached, &text)?;
        }
        if !left.is_empty() {
            let share = self.outcome(End::Finished).share_under_load().unwrap_or(0.0) * 100.0;
            let (trials, text) =
                (self.trials, format!("servers were under load for {share:.0} % of the time"));
            self.event(
                EventKind::Finished,
                &format!("All trials are done: {trials} in this session; {text}."),
            )?;
        }
        Ok(self.outcome(End::Finished))
    }

    fn what_more_would_buy(&self) -> String {
        let plans = self.setup.experiment.plans.iter().map(|plan| plan.name.as_str());
        let each = self.budget.forecast(plans).unwrap_or_default();
        let block = each.saturating_mul(count(self.setup.candidates.iter().chain(self.setup.twin()).count()));
        precision::what_more_would_buy(self.setup, &self.looking, block).unwrap_or_default()
    }

    fn runnable<'t>(&self, left: &[Trial<'t>], block: Option<u32>) -> Vec<&'t str> {
        let runs = |t: &&Trial<'t>| !self.excludes(t) && block.is_none_or(|b| t.planned.block == b);
        left.iter().filter(runs).map(|t| t.planned.plan.as_str()).collect()
    }

    /// Runs and records one trial, or the two of a duet's half, the first of those left; false when asked to end.
    fn run_at_once(&mut self, trials: &[Trial<'_>], left: &[Trial<'_>]) -> Result<bool, BenchError> {
        let started = Instant::now();
        for trial in trials {
            self.begins(trial, left)?;
        }
        let ended = match (trials, &self.setup.duet) {
            ([one, other], Some(halves)) => self.duet([*one, *other], halves)?.into(),
            _ => trials.iter().map(|trial| self.trial(*trial)).collect::<Vec<TrialEnd>>(),
        };
        // A trial whose server went out of reach is none: it is run again.
        if let Some(host) = &self.setup.server_host
            && let Some(why) = host.lost()
        {
            return Err(BenchError::ServerHost { given: host.given().to_owned(), why });
        }
        // Trials at once, in one's time.
        let each = started.elapsed() / count(trials.len());
        trials.iter().for_each(|trial| self.budget.took(&trial.planned.plan, each));
        let mut goes_on = true;
        for ((at, trial), ended) in trials.iter().enumerate().zip(ended) {
            goes_on &= self.ended(trial, ended, &left[at + 1..])?;
        }
        if trials.iter().any(|trial| self.excludes(trial)) {
            trials.iter().for_each(|trial| self.states[trial.number].excluded = true);
        }
        Ok(goes_on)
    }

    fn begins(&mut self, trial: &Trial<'_>, left: &[Trial<'_>]) -> Result<(), BenchError> {
        let planned = trial.planned;
        let start = TrialStart { planned: planned.clone(), at: rfc3339(SystemTime::now()) };
        self.write(Line::TrialStart(start))?;
        let remaining = self.trials + count(self.runnable(left, None).len());
        let (done, elapsed) = (self.trials, self.began.elapsed());
        (self.tell)(&BenchEvent::TrialBegins { planned, done, remaining, elapsed });
        Ok(())
    }

    /// Records how a trial ended, with `rest` to come; false when somebody asked to end.
    fn ended(&mut self, trial: &Trial<'_>, ended: TrialEnd, rest: &[Trial<'_>]) -> Result<bool, BenchError> {
        let planned = trial.planned;
        let failed = |why: &str| RawResult::failed(planned.clone(), why.to_owned());
        let (mut raw, goes_on) = match ended {
            TrialEnd::Result(result) => (*result, true),
            TrialEnd::Interrupted(Some(result)) => (*result, false),
            TrialEnd::Interrupted(None) => return Ok(false),
            TrialEnd::CheckFailed(why) => {
                self.of_candidate(EventKind::CheckFailed, &planned.candidate, &why, None)?;
                self.states[trial.number].excluded = true;
                (failed(&why), true)
            }
            TrialEnd::NotStarted(why) => {
                self.did_not_start(trial, &why)?;
                (failed(&why), true)
            }
            TrialEnd::Broken(why) => return Err(why),
        };
        raw.failure = raw.failure.take().map(|why| redacted(&why));
        // What the lab observes is what it can judge; were it not, that is the trial's failure.
        let result =
            judge_result(&self.setup.host, raw.clone()).unwrap_or_else(|why| unjudged(planned.clone(), why));
        let state = &mut self.states[trial.number];
        if result.failure.is_none() {
            state.failed_starts = 0;
        }
        let leftovers = std::mem::take(&mut state.leftovers);
        self.trials += 1;
        self.capacities.take(&result);
        let controls = result.planned.control.is_some();
        if !controls && (result.planned.repeat == 0 || !result.trial.as_ref().is_some_and(disturbed)) {
            self.looking.take(&result);
        }
        self.repeats.take(&result);
        self.write(Line::Result(raw))?;
        if !leftovers.is_empty() {
            let text = format!(
                "{} left processes that outlived SIGKILL: {}.",
                planned.candidate,
                leftovers.join(", ")
            );
            self.event(EventKind::Leftovers, &text)?;
        }
        let after = self.runnable(rest, None);
        (self.tell)(&BenchEvent::TrialEnded {
            result: &result,
            done: self.trials,
            remaining: self.trials + count(after.len()),
            elapsed: self.began.elapsed(),
            left: self.budget.forecast(after),
        });
        Ok(goes_on)
    }

    /// A candidate whose first attempts all fail is left out of the rest.
    fn did_not_start(&mut self, trial: &Trial<'_>, why: &str) -> Result<(), BenchError> {
        let state = &mut self.states[trial.number];
        state.failed_starts += 1;
        let attempts = state.failed_starts;
        if attempts >= START_ATTEMPTS && state.checked.is_empty() {
            state.excluded = true;
            let candidate = &trial.candidate.candidate;
            let is_url = candidate.as_url().is_some();
            let kind = if is_url { EventKind::NoResponse } else { EventKind::StartFailed };
            let text =
                format!("given up after {attempts} attempts: {}", without_name(candidate.label(), why));
            self.of_candidate(kind, candidate.label(), &text, None)?;
        }
        Ok(())
    }

    fn interrupted(&mut self) -> Result<BenchOutcome, BenchError> {
        self.event(EventKind::Interrupted, "The run was interrupted; --resume continues it.")?;
        Ok(self.outcome(End::Interrupted))
    }

    fn outcome(&self, end: End) -> BenchOutcome {
        BenchOutcome {
            end,
            log: self.setup.log.clone(),
            trials: self.trials,
            elapsed: self.began.elapsed(),
            under_load: self.under_load,
        }
    }

    pub(super) fn event(&mut self, kind: EventKind, detail: &str) -> Result<(), BenchError> {
        self.write_event(kind, detail, None)
    }

    pub(super) fn of_candidate(
        &mut self,
        kind: EventKind,
        candidate: &str,
        detail: &str,
        sleep: Option<Sleep>,
    ) -> Result<(), BenchError> {
        let found = Found { candidate: candidate.to_owned(), sleep };
        self.write_event(kind, without_name(candidate, detail), Some(found))
    }

    fn write_event(&mut self, kind: EventKind, detail: &str, found: Option<Found>) -> Result<(), BenchError> {
        let (at, detail) = (rfc3339(SystemTime::now()), redacted(detail));
        let event = Event { at, what: <&str>::from(kind).to_owned(), detail, found };
        self.write(Line::Event(event.clone()))?;
        (self.tell)(&BenchEvent::Note(&event));
        Ok(())
    }

    pub(super) fn write(&mut self, line: Line) -> Result<(), BenchError> {
        (self.append)(line).map_err(BenchError::Log)
    }
}
