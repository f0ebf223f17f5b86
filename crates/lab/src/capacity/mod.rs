//! The highest sustainable rate of one server: [`prony_stats::search`] over open loads.
//!
//! A probe is an open load at a constant rate. It is sustained when the backlog does not grow, failures
//! stay below a thousandth, what is due is carried, and every threshold asked for is kept. A probe that
//! clearly fails is ended early, and the server is given time to drain before the next. One that dies, is
//! started again or answers with something else ends the search: its rates would be of several servers.

use std::time::{Duration, Instant};

use prony_analysis::slo::Slo;
use prony_load::{Interrupt, LoadError, Loader, Snapshot};
use prony_model::Estimate;
use prony_model::Plan;
use prony_model::capacity::{CapacityRecord, Probe as ProbeRecord};
use prony_model::observed::Observed;
use prony_model::plan::{Arrivals, Stop};
use prony_model::rate::Rate;
use prony_model::trial::{Bound, Trial};
use prony_stats::search::{Answer, Phase, Probe, Search, SearchPlan};

mod probe;
mod sustained;

pub(crate) use probe::{Probed, Prober};

use crate::watch::Outside;
use sustained::{ENDED_MIN, Hopeless, JudgedProbe, sustained, void};

/// Failures that a sustained rate may have, where no threshold says more.
pub(crate) const ERRORS_MAX_SHARE: f64 = 0.001;

/// How a capacity is searched for.
#[derive(Debug, Clone)]
pub struct CapacityPlan {
    /// The load but for its rate and its length.
    pub load: Plan,
    /// What must be kept besides.
    pub slos: Vec<Slo>,
    /// How long a probe lasts, its warm-up not counted.
    pub probe: Duration,
    /// The search ends when the lowest rate that failed is within this share of the answer.
    pub resolution: f64,
    /// The first rate; `None`: an eighth of what a closed load carries.
    pub start: Option<f64>,
}

/// Probes are lengthened up to this many times, so that a threshold's percentile has its samples.
const LENGTHENED_MAX: u32 = 5;
/// The confirmation lasts so many probes.
const CONFIRMATION_PROBES: u32 = 3;
/// Confirmations that may fail before the edge is called unsteady.
const RETREATS: u32 = 4;
/// Traffic before a probe's window.
const PROBE_WARMUP: Duration = Duration::from_millis(300);
/// The closed load that says where to begin.
const BURST: Duration = Duration::from_millis(700);
/// Where the search begins, as a share of what a closed load carries.
const START_SHARE: f64 = 0.125;
/// The overload before the descending probe, over the rate that failed.
const PUSH: f64 = 1.2;
/// A server that has not drained after this long is probed all the same.
const DRAIN_MAX: Duration = Duration::from_secs(10);
/// Between two looks whether it has drained.
const DRAIN_PAUSE: Duration = Duration::from_millis(100);

/// What happens in a search, for progress lines.
#[derive(Debug)]
pub enum CapacityEvent<'a> {
    /// A probe begins.
    Begins {
        /// Requests per second.
        rate_per_s: f64,
        /// Its part in the search.
        phase: &'static str,
        /// What is left at most, this probe included.
        left: Duration,
    },
    /// The load runs; about ten times a second.
    Load {
        /// How it stands.
        snapshot: &'a Snapshot,
        /// Warm-up and window.
        load_time: Duration,
    },
    /// A probe ended.
    Ended(&'a ProbeRecord),
}

/// What became of a search.
#[derive(Debug, Clone)]
pub struct CapacityOutcome {
    /// What was found.
    pub record: CapacityRecord,
    /// The confirmation, where there was one, else the last probe; of a void search, the load that voided it.
    pub trial: Option<Trial>,
    /// What was observed of that trial.
    pub observed: Option<Observed>,
    /// Whether it was ended early.
    pub interrupted: bool,
}

/// Searches, on a server of which nothing is known but its answers.
///
/// # Errors
/// When a load could not be applied at all.
pub fn search(
    plan: &CapacityPlan,
    outside: &Outside,
    loader: &Loader<'_>,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&CapacityEvent<'_>),
) -> Result<CapacityOutcome, LoadError> {
    search_by(plan, &mut *probe::from_outside(outside, loader), interrupt, tell)
}

/// Searches with loads that somebody else applies and judges: the laboratory, which sees the server too.
///
/// # Errors
/// When a load could not be applied at all.
pub(crate) fn search_by(
    plan: &CapacityPlan,
    prober: &mut Prober<'_>,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&CapacityEvent<'_>),
) -> Result<CapacityOutcome, LoadError> {
    let run =
        Run { plan, prober, interrupt, tell, probes: Vec::new(), unloaded_ns: None, kept: None, void: None };
    run.search()
}

struct Run<'a, 'l> {
    plan: &'a CapacityPlan,
    prober: &'a mut Prober<'l>,
    interrupt: &'a Interrupt,
    tell: &'a mut dyn FnMut(&CapacityEvent<'_>),
    probes: Vec<ProbeRecord>,
    /// The median response of one connection with nothing else to do.
    unloaded_ns: Option<u64>,
    /// What becomes the outcome's trial, and whether it is a confirmation.
    kept: Option<(Probed, bool)>,
    /// Why the rates seen so far are not of one server that does what it must.
    void: Option<String>,
}

impl Run<'_, '_> {
    fn search(mut self) -> Result<CapacityOutcome, LoadError> {
        self.unloaded_ns = self.alone()?;
        let start = match self.plan.start {
            Some(start) => start,
            None if self.is_over() => 1.0,
            None => self.burst()? * START_SHARE,
        };
        let mut search = Search::new(SearchPlan {
            start: start.max(1.0).max(self.lowest()),
            lowest: self.lowest(),
            highest: Rate::MAX_PER_S,
            resolution: self.plan.resolution,
            retreats: RETREATS,
        });
        while !self.is_over() {
            let left = search.probes_left();
            let Some(probe) = search.propose() else { break };
            if probe.phase == Phase::Descending {
                let failed = search.found().and_then(|found| found.failed).unwrap_or(probe.level);
                self.push(failed * PUSH)?;
            }
            let Some(answer) = self.probe(probe, left)? else { break };
            search.take(answer);
            if answer == Answer::Failed {
                self.drain()?;
            }
        }
        let interrupted = self.interrupt.asked();
        let found = search.found().filter(|_| self.void.is_none());
        let slo = kept(&self.plan.slos);
        let n = self.probes.len() as u64;
        let capacity_per_s = found.map(|found| match found.failed {
            Some(failed) => Estimate::new(found.level, found.level, failed, n),
            None => Estimate::bare(found.level, n, "no rate failed: the client was the limit"),
        });
        let bound = if found.is_some_and(|f| f.failed.is_none()) { Bound::Lower } else { Bound::Exact };
        let recovers = found.and_then(|found| found.recovers);
        let record = CapacityRecord {
            slo,
            capacity_per_s,
            bound,
            confirmed: found.map(|found| found.upheld),
            recovers,
            probes: self.probes,
            void: self.void,
        };
        let (trial, observed) = self.kept.map(|(kept, _)| (kept.trial, kept.observed)).unzip();
        Ok(CapacityOutcome { record, trial, observed, interrupted })
    }

    /// Whether nothing more is to be loaded.
    fn is_over(&self) -> bool {
        self.void.is_some() || self.interrupt.asked()
    }

    /// One probe; `None` where somebody asked for the end.
    fn probe(&mut self, probe: Probe, probes_left: u32) -> Result<Option<Answer>, LoadError> {
        let Some(rate) = Rate::per_s(probe.level) else { return Ok(Some(Answer::OutOfReach)) };
        let confirming = probe.phase == Phase::Confirmation;
        let length = self.length(probe.level) * if confirming { CONFIRMATION_PROBES } else { 1 };
        let load = Plan {
            arrivals: match self.plan.load.arrivals {
                Arrivals::Poisson(_) => Arrivals::Poisson(rate),
                _ => Arrivals::Constant(rate),
            },
            stop: Stop { duration: Some(length), requests: None },
            warmup: PROBE_WARMUP,
            ..self.plan.load.clone()
        };
        let left = (self.plan.probe + PROBE_WARMUP) * probes_left;
        (self.tell)(&CapacityEvent::Begins { rate_per_s: probe.level, phase: probe.phase.name(), left });
        let (probed, hopeless) = self.apply(&load, true)?;
        if self.interrupt.asked() {
            return Ok(None);
        }
        let trial = &probed.trial;
        let JudgedProbe { answer, why, undecided, not_judged } = match &self.void {
            Some(why) => JudgedProbe::failed(why),
            None => sustained(trial, &self.plan.slos, hopeless),
        };
        let ended = trial.requests.failed + trial.requests.completed;
        let record = ProbeRecord {
            rate_per_s: probe.level,
            completed_per_s: trial.throughput.requests_per_s.point,
            sustained: answer == Answer::Passed,
            why,
            undecided,
            not_judged,
            phase: probe.phase.name().to_owned(),
            duration_ns: trial.window.duration_ns,
            p50_ns: trial.latency.response.p50_ns,
            p99_ns: trial.latency.response.p99_ns,
            failed_share: share(trial.requests.failed, ended),
        };
        (self.tell)(&CapacityEvent::Ended(&record));
        self.probes.push(record);
        let confirmed = self.kept.as_ref().is_some_and(|(_, confirmation)| *confirmation);
        if self.void.is_none() && (confirming || !confirmed) {
            self.kept = Some((probed, confirming));
        }
        Ok(Some(answer))
    }

    /// The rate under which the longest probe has too few requests to show anything.
    fn lowest(&self) -> f64 {
        ENDED_MIN as f64 / (self.plan.probe * LENGTHENED_MAX).as_secs_f64()
    }

    /// A probe long enough to show anything, and for a threshold's percentile to have a hundred samples
    /// beyond it, within reason.
    fn length(&self, rate: f64) -> Duration {
        let needed = requests_needed(self.plan) / rate;
        let most = self.plan.probe * LENGTHENED_MAX;
        if needed >= most.as_secs_f64() { most } else { Duration::from_secs_f64(needed).max(self.plan.probe) }
    }

    /// Applies a load; why it was ended early, where it can only fail.
    fn apply(&mut self, load: &Plan, may_give_up: bool) -> Result<(Probed, Option<String>), LoadError> {
        let control = self.interrupt.control(1);
        let watched = Hopeless::of(load, &self.plan.slos);
        let load_time = load.warmup + load.stop.duration.unwrap_or_default();
        let mut hopeless = None;
        let tell = &mut *self.tell;
        let mut observe = |snapshot: &Snapshot| {
            tell(&CapacityEvent::Load { snapshot, load_time });
            if may_give_up && hopeless.is_none() {
                hopeless = watched.why(snapshot);
                if hopeless.is_some() {
                    control.stop();
                }
            }
        };
        let probed = (self.prober)(load, &control, &mut observe)?;
        if let Some(why) = void(&probed.trial) {
            self.void = Some(why);
            self.kept = Some((probed.clone(), false));
        }
        Ok((probed, hopeless))
    }

    /// What a closed load of all connections carries, in requests per second.
    fn burst(&mut self) -> Result<f64, LoadError> {
        let load = self.closed(self.plan.load.connections, Stop { duration: Some(BURST), requests: None });
        let (probed, _) = self.apply(&load, false)?;
        Ok(probed.trial.throughput.requests_per_s.point)
    }

    /// The median response of one connection; `None` where it did not answer.
    fn alone(&mut self) -> Result<Option<u64>, LoadError> {
        const REQUESTS: u64 = 220; // a median is printed from 200 on
        let length = Duration::from_secs(1);
        let load = self.closed(1, Stop { duration: Some(length), requests: Some(REQUESTS) });
        let (probed, _) = self.apply(&load, false)?;
        let response = &probed.trial.latency.response;
        Ok(response.p50_ns.or(response.mean_ns))
    }

    fn closed(&self, connections: u32, stop: Stop) -> Plan {
        Plan {
            arrivals: Arrivals::Closed,
            connections,
            threads: self.plan.load.threads.min(connections),
            stop,
            warmup: Duration::ZERO,
            pipeline: 1,
            ..self.plan.load.clone()
        }
    }

    /// Overloads the server for a moment, without a word about it.
    fn push(&mut self, level: f64) -> Result<(), LoadError> {
        let Some(rate) = Rate::per_s(level) else { return Ok(()) };
        let load = Plan {
            arrivals: Arrivals::Constant(rate),
            stop: Stop { duration: Some(self.plan.probe.min(Duration::from_secs(2))), requests: None },
            warmup: Duration::ZERO,
            ..self.plan.load.clone()
        };
        self.apply(&load, false).map(|_| ())
    }

    /// Waits until one connection is answered about as fast as at the start: what an overload left in the
    /// server's queues is not the next probe's. By the clock: a look takes up to a second where the
    /// server hardly answers, and next to nothing where it refuses.
    fn drain(&mut self) -> Result<(), LoadError> {
        let unloaded = self.unloaded_ns.unwrap_or(1_000_000);
        let until = Instant::now() + DRAIN_MAX;
        while !self.is_over() {
            let seen = self.alone()?;
            if seen.is_some_and(|ns| ns <= unloaded * 2 + 1_000_000) || Instant::now() >= until {
                break;
            }
            std::thread::sleep(DRAIN_PAUSE);
        }
        Ok(())
    }
}

/// What a sustained rate keeps, in words: the thresholds, and errors unless one of them is about those.
fn kept(slos: &[Slo]) -> String {
    let errors = format!("errors<{}%", ERRORS_MAX_SHARE * 100.0);
    let mut said: Vec<String> = slos.iter().map(ToString::to_string).collect();
    if slos.is_empty() {
        said.push("the backlog does not grow".to_owned());
    }
    if !slos.iter().any(Slo::is_of_errors) {
        said.push(errors);
    }
    said.join(", ")
}

#[expect(clippy::cast_precision_loss, reason = "counts of a probe, far below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The requests of a probe that shows what the plan asks.
fn requests_needed(plan: &CapacityPlan) -> f64 {
    let beyond = |slo: &Slo| slo.response_percentile().map_or(0.0, |(_, q, _)| 100.0 / (1.0 - q));
    plan.slos.iter().map(beyond).fold(2.0 * ENDED_MIN as f64, f64::max)
}

/// The rate, in requests per second, under which probes are longer than asked, and how long they become at most.
pub fn lengthened(plan: &CapacityPlan) -> (f64, Duration) {
    (requests_needed(plan) / plan.probe.as_secs_f64(), plan.probe * LENGTHENED_MAX)
}

/// The time that a search takes at most by plan where its rates are over [`lengthened`]'s, for a forecast.
pub fn forecast(plan: &CapacityPlan) -> Duration {
    let search = Search::new(SearchPlan {
        start: 1.0,
        lowest: 1.0,
        highest: 2.0,
        resolution: plan.resolution,
        retreats: RETREATS,
    });
    let probes = search.probes_left() + CONFIRMATION_PROBES;
    (plan.probe + PROBE_WARMUP) * probes + BURST + Duration::from_secs(2)
}

#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod tests;
