//! The course of a run: trial after trial, each written down before the next.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

use prony_analysis::precision::Looking;
use prony_analysis::run_log::{self, judge_result};
use prony_host::pins::PinnedProcess;
use prony_model::rfc3339;
use prony_model::run_log::{
    Event, Found, Line, PlannedTrial, RawResult, RunLogError, RunLogWriter, Sleep, TrialResult, TrialStart,
};
use prony_model::trial::Validity;

use super::budget::Budget;
use super::header::{header, may_resume, remaining};
use super::precision;
use super::request_spec::Aim;
use super::search::Capacities;
use super::trial::Ended;
use super::{
    BenchError, BenchEvent, BenchOutcome, BenchSetup, End, Figures, Interrupt, Loader, SharedLoader,
};
use crate::supervise;
use prony_model::units::show_duration;

/// A candidate that never started is given up after so many attempts: each
/// may wait for half a minute.
const START_ATTEMPTS: u32 = 2;

/// Where lines go: the run log, or a test's.
pub(super) type Append<'a> = dyn FnMut(Line) -> Result<(), RunLogError> + 'a;

/// A run under way.
pub(super) struct Runner<'a> {
    pub(super) setup: &'a BenchSetup,
    pub(super) loader: &'a mut Loader<'a>,
    pub(super) interrupt: &'a Interrupt,
    pub(super) tell: &'a mut dyn FnMut(&BenchEvent<'_>),
    append: &'a mut Append<'a>,
    /// Each candidate's aim, and whether it has passed its full check.
    pub(super) aims: BTreeMap<String, (Aim, bool)>,
    /// Processes that outlived SIGKILL, not reported yet.
    pub(super) leftovers: Vec<String>,
    /// Capacities found so far.
    pub(super) capacities: Capacities,
    pub(super) void: BTreeSet<String>,
    failed_starts: BTreeMap<String, u32>,
    pub(super) budget: Budget,
    pub(super) began: Instant,
    pub(super) trials: u32,
    counted: u32,
    /// How long servers were under load.
    pub(super) under_load: Duration,
    /// Candidates that were said to need SIGKILL.
    pub(super) deaf: BTreeSet<String>,
    looking: Looking,
    /// What applies two loads at once, in a duet.
    pub(super) together: Option<&'a SharedLoader<'a>>,
}

/// Runs an experiment, or the rest of one.
///
/// `load` is [`prony_load::run`]; `events` hears of everything as it happens,
/// in the calling thread. All threads of the process are kept off the servers' CPUs meanwhile.
///
/// # Errors
/// When the log cannot be begun, resumed or written, or no candidate can run.
/// Servers have been stopped then.
pub fn run<'a>(
    setup: &'a BenchSetup,
    load: &'a mut Loader<'a>,
    interrupt: &'a Interrupt,
    events: &'a mut dyn FnMut(&BenchEvent<'_>),
) -> Result<BenchOutcome, BenchError> {
    let (left, mut writer, known) = open(setup, events)?;
    let mut append = |line: Line| writer.append(line);
    let mut runner = Runner::new(setup, load, interrupt, events, &mut append);
    runner.knows(known);
    runner.run(&left, setup.resume)
}

/// What is left to run, the log, and what it tells already.
type Opened = (Vec<PlannedTrial>, RunLogWriter, (Capacities, Looking));

/// Begins the log or goes on with it, and says so.
pub(super) fn open(
    setup: &BenchSetup,
    events: &mut dyn FnMut(&BenchEvent<'_>),
) -> Result<Opened, BenchError> {
    if setup.candidates.is_empty() {
        return Err(BenchError::NoCandidates(skipped(setup)));
    }
    let (order, left, writer, known) = if setup.resume { resume(setup)? } else { begin(setup)? };
    events(&BenchEvent::Begun { log: &setup.log, total: count(order), remaining: count(left.len()) });
    Ok((left, writer, known))
}

fn skipped(setup: &BenchSetup) -> String {
    let reasons: Vec<String> =
        setup.skipped.iter().map(|s| format!("{}: {}", s.candidate, s.reason)).collect();
    if reasons.is_empty() { "there are none.".to_owned() } else { reasons.join(" ") }
}

/// The length of the whole order, what is left of it, the log, and what it tells already.
type Sitting = (usize, Vec<PlannedTrial>, RunLogWriter, (Capacities, Looking));

fn begin(setup: &BenchSetup) -> Result<Sitting, BenchError> {
    let header = header(setup);
    let writer = RunLogWriter::create(&setup.log, &header).map_err(BenchError::Open)?;
    Ok((header.order.len(), header.order, writer, (Capacities::default(), Looking::default())))
}

fn resume(setup: &BenchSetup) -> Result<Sitting, BenchError> {
    let log = run_log::read(&setup.log).map_err(BenchError::Open)?;
    may_resume(&log, setup).map_err(|why| BenchError::Resume { path: setup.log.clone(), why })?;
    let writer = RunLogWriter::open(&setup.log).map_err(BenchError::Open)?;
    Ok((log.header.order.len(), remaining(&log), writer, (Capacities::of(&log.results), Looking::of(&log))))
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
        loader: &'a mut Loader<'a>,
        interrupt: &'a Interrupt,
        tell: &'a mut dyn FnMut(&BenchEvent<'_>),
        append: &'a mut Append<'a>,
    ) -> Runner<'a> {
        Runner {
            setup,
            loader,
            interrupt,
            tell,
            append,
            aims: BTreeMap::new(),
            leftovers: Vec::new(),
            capacities: Capacities::default(),
            void: BTreeSet::new(),
            failed_starts: BTreeMap::new(),
            budget: Budget::new(setup.experiment.budget),
            began: Instant::now(),
            trials: 0,
            counted: 0,
            under_load: Duration::ZERO,
            deaf: BTreeSet::new(),
            looking: Looking::default(),
            together: None,
        }
    }

    /// What the log that is gone on with tells already.
    pub(super) fn knows(&mut self, known: (Capacities, Looking)) {
        (self.capacities, self.looking) = known;
    }

    /// What is said and done before the first trial.
    pub(super) fn opens(&mut self, left: &[PlannedTrial], resumed: bool) -> Result<(), BenchError> {
        if resumed {
            self.event("resumed", format!("{} trials are left.", left.len()))?;
        }
        for cleaned in supervise::clean_up(self.setup.layout.root()) {
            self.event("cleaned_up", cleaned.what)?;
        }
        Ok(())
    }

    /// Runs the trials that are left.
    pub(super) fn run(mut self, left: &[PlannedTrial], resumed: bool) -> Result<BenchOutcome, BenchError> {
        let _pinned = PinnedProcess::to(&self.setup.pins.client);
        self.opens(left, resumed)?;
        let mut block = None;
        for (at, planned) in left.iter().enumerate() {
            if self.interrupt.asked() {
                return self.interrupted();
            }
            if self.void.contains(&planned.candidate) {
                continue;
            }
            if block != Some(planned.block) {
                block = Some(planned.block);
                if let Some(end) = self.ends_before(planned.block, &left[at..])? {
                    return Ok(self.outcome(end));
                }
            }
            if !self.one(planned, &left[at..])? {
                return self.interrupted();
            }
        }
        self.finished(left)
    }

    /// Whether the run ends before this block, by its precision or its budget.
    pub(super) fn ends_before(
        &mut self,
        block: u32,
        left: &[PlannedTrial],
    ) -> Result<Option<End>, BenchError> {
        // Where rates are shares of a knee, blocks of the searches say nothing of those of the loads.
        let alone = self.setup.experiment.phases().len() == 1;
        let reached = precision::reached(self.setup, &self.looking, block);
        if let Some(reached) = reached.filter(|_| alone) {
            self.event("precision_reached", reached)?;
            return Ok(Some(End::PrecisionReached));
        }
        if !self.budget.allows_block(self.began.elapsed(), &self.runnable(left, Some(block))) {
            let budget = self.setup.experiment.budget.unwrap_or_default();
            let after = show_duration(Duration::from_secs(self.began.elapsed().as_secs()));
            let mut text = format!(
                "Block {} would not end within the budget of {}; ended after {after}.",
                block + 1,
                show_duration(budget)
            );
            text.push_str(&self.what_more_would_buy());
            self.event("budget_spent", text)?;
            return Ok(Some(End::BudgetSpent));
        }
        Ok(None)
    }

    /// Every trial that could be run has been.
    pub(super) fn finished(mut self, left: &[PlannedTrial]) -> Result<BenchOutcome, BenchError> {
        let more = self.what_more_would_buy();
        if !left.is_empty() && !more.is_empty() {
            let text = format!("All {} blocks are done.{more}", self.setup.experiment.blocks.max);
            self.event("precision_not_reached", text)?;
        }
        if !left.is_empty() {
            let share = self.outcome(End::Finished).share_under_load().unwrap_or(0.0) * 100.0;
            let (trials, text) =
                (self.trials, format!("servers were under load for {share:.0} % of the time"));
            self.event("finished", format!("All trials are done: {trials} in this sitting; {text}."))?;
        }
        Ok(self.outcome(End::Finished))
    }

    /// Where a precision was asked for: what there is, and what it would take.
    fn what_more_would_buy(&self) -> String {
        let plans = self.setup.experiment.plans.iter().map(|plan| plan.name.as_str());
        let each = self.budget.forecast(plans).unwrap_or_default();
        let block = each.saturating_mul(count(self.setup.candidates.len()));
        precision::what_more_would_buy(self.setup, &self.looking, block).unwrap_or_default()
    }

    /// The plan of each of these trials that will be run; of one block, or of all.
    pub(super) fn runnable<'t>(&self, left: &'t [PlannedTrial], block: Option<u32>) -> Vec<&'t str> {
        let runs =
            |t: &&PlannedTrial| !self.void.contains(&t.candidate) && block.is_none_or(|b| t.block == b);
        left.iter().filter(runs).map(|t| t.plan.as_str()).collect()
    }

    /// Runs and records one trial; false when somebody asked to end.
    fn one(&mut self, planned: &PlannedTrial, left: &[PlannedTrial]) -> Result<bool, BenchError> {
        let started = Instant::now();
        self.begins(planned, left)?;
        let ended = self.trial(planned)?;
        self.budget.took(&planned.plan, started.elapsed());
        self.ended(planned, ended, &left[1..])
    }

    /// Writes that a trial begins, and says so.
    pub(super) fn begins(&mut self, planned: &PlannedTrial, left: &[PlannedTrial]) -> Result<(), BenchError> {
        let start = TrialStart { planned: planned.clone(), at: rfc3339(SystemTime::now()) };
        self.write(Line::TrialStart(start))?;
        let remaining = self.trials + count(self.runnable(left, None).len());
        let (done, elapsed) = (self.trials, self.began.elapsed());
        (self.tell)(&BenchEvent::TrialBegins { planned, done, remaining, elapsed });
        Ok(())
    }

    /// Records how a trial ended, with `rest` to come; false when somebody asked to end.
    pub(super) fn ended(
        &mut self,
        planned: &PlannedTrial,
        ended: Ended,
        rest: &[PlannedTrial],
    ) -> Result<bool, BenchError> {
        let failed = |why: &str| RawResult::failed(planned.clone(), why.to_owned());
        let (raw, goes_on) = match ended {
            Ended::Result(result) => (*result, true),
            Ended::Interrupted(Some(result)) => (*result, false),
            Ended::Interrupted(None) => return Ok(false),
            Ended::CheckFailed(why) => {
                self.event("check_failed", why.clone())?;
                self.void.insert(planned.candidate.clone());
                (failed(&why), true)
            }
            Ended::NotStarted(why) => {
                self.did_not_start(planned, &why)?;
                (failed(&why), true)
            }
        };
        // What the lab observes is what it can judge; were it not, that is the trial's failure.
        let result =
            judge_result(&self.setup.host, raw.clone()).unwrap_or_else(|why| unjudged(planned.clone(), why));
        if result.failure.is_none() {
            self.failed_starts.remove(&planned.candidate);
        }
        self.trials += 1;
        self.capacities.take(&result);
        let counts =
            result.trial.as_ref().is_some_and(|t| t.verdict.validity != Validity::Invalid && !t.interrupted);
        self.counted += u32::from(counts);
        self.looking.take(&result);
        self.write(Line::Result(raw))?;
        let leftovers = std::mem::take(&mut self.leftovers);
        if !leftovers.is_empty() {
            let text = format!(
                "{} left processes that outlived SIGKILL: {}.",
                planned.candidate,
                leftovers.join(", ")
            );
            self.event("leftovers", text)?;
        }
        let after = self.runnable(rest, None);
        (self.tell)(&BenchEvent::TrialEnded {
            result: &result,
            figures: Figures::of(&result),
            done: self.trials,
            remaining: self.trials + count(after.len()),
            elapsed: self.began.elapsed(),
            left: self.budget.forecast(after),
        });
        Ok(goes_on)
    }

    /// A candidate whose first attempts all fail is left out of the rest.
    fn did_not_start(&mut self, planned: &PlannedTrial, why: &str) -> Result<(), BenchError> {
        let ever_ran = self.aims.get(&planned.candidate).is_some_and(|(_, checked)| *checked);
        let attempts = self.failed_starts.entry(planned.candidate.clone()).or_default();
        *attempts += 1;
        if *attempts >= START_ATTEMPTS && !ever_ran {
            let attempts = *attempts;
            self.void.insert(planned.candidate.clone());
            self.event("start_failed", format!("Given up after {attempts} attempts: {why}"))?;
        }
        Ok(())
    }

    pub(super) fn interrupted(&mut self) -> Result<BenchOutcome, BenchError> {
        self.event("interrupted", "Somebody ended the run; --resume goes on with it.".to_owned())?;
        Ok(self.outcome(End::Interrupted))
    }

    pub(super) fn outcome(&self, end: End) -> BenchOutcome {
        BenchOutcome {
            end,
            log: self.setup.log.clone(),
            trials: self.trials,
            counted: self.counted,
            elapsed: self.began.elapsed(),
            under_load: self.under_load,
        }
    }

    pub(super) fn event(&mut self, what: &str, detail: String) -> Result<(), BenchError> {
        let event = Event { at: rfc3339(SystemTime::now()), what: what.to_owned(), detail, found: None };
        self.write_event(&event)
    }

    /// What a candidate's full check found out, for its record.
    pub(super) fn found(&mut self, candidate: &str, sleep: Option<Sleep>) -> Result<(), BenchError> {
        let detail = match sleep {
            None => format!("{candidate} does what every server of this run must."),
            Some(sleep) => {
                format!(
                    "{candidate} does what every server of this run must; GET /sleep: {}.",
                    sleep.as_str()
                )
            }
        };
        let found = Some(Found { candidate: candidate.to_owned(), sleep });
        self.write_event(&Event { at: rfc3339(SystemTime::now()), what: "checked".to_owned(), detail, found })
    }

    fn write_event(&mut self, event: &Event) -> Result<(), BenchError> {
        self.write(Line::Event(event.clone()))?;
        (self.tell)(&BenchEvent::Note(event));
        Ok(())
    }

    fn write(&mut self, line: Line) -> Result<(), BenchError> {
        (self.append)(line).map_err(BenchError::Log)
    }
}
