//! The highest sustainable rate of one server: [`prony_stats::search`] over open loads.
//!
//! A probe is an open load at one rate. It is sustained when the backlog does not grow, failures stay below a
//! thousandth, what is due is carried, and every threshold asked for is kept. A probe that clearly fails is ended
//! early, and the server is given time to drain before the next. One that dies, is started again or answers with
//! something else ends the search: its rates would be of several servers. What probes about the edge counted beyond
//! each limit gives the rate its interval ([`prony_stats::crossing`]); docs/decisions/0041 says why.

use std::time::{Duration, Instant};

use prony_analysis::slo::Slo;
use prony_load::{Interrupt, LoadError, Loader, Snapshot};
use prony_model::Estimate;
use prony_model::Plan;
use prony_model::capacity::{CapacityRecord, Probe as ProbeRecord};
use prony_model::observed::Observed;
use prony_model::plan::{Arrivals, PROBE_WARMUP, Stop, seed_of};
use prony_model::rate::Rate;
use prony_model::trial::{Bound, Trial};
use prony_stats::CONFIDENCE;
use prony_stats::crossing::{Counted, crossing};
use prony_stats::interval::mean_interval;
use prony_stats::search::{Answer, Found, Phase, Probe, Search, SearchPlan};

mod probe;
mod sustained;

pub(crate) use probe::{Probed, Prober};

use crate::watch::LoadObserver;
use sustained::{ENDED_MIN, Hopeless, JudgedProbe, Limited, beyond_limits, most_carried, sustained, void};

/// Failures that a sustained rate may have, where no threshold says more.
pub(crate) const ERRORS_MAX_SHARE: f64 = 0.001;

#[derive(Debug, Clone)]
pub struct CapacityPlan {
    /// The load but for its rate and its length.
    pub load: Plan,
    pub slos: Vec<Slo>,
    /// How long a probe lasts, its warm-up not counted; those about the edge ¾ of it, and those before them half.
    pub probe: Duration,
    /// Rates about the edge are this share apart.
    pub resolution: f64,
    /// The first rate; `None`: an eighth of what a closed load carries.
    pub start: Option<f64>,
}

/// The requests of a probe, at least: random arrivals are then hardly fewer than [`ENDED_MIN`].
const REQUESTS_MIN: f64 = 2.0 * ENDED_MIN as f64;
/// So many probes that were not carried whole tell what a server carries.
const MOST_CARRIED_MIN: usize = 5;
/// Probes are lengthened up to this many times, so that a threshold's percentile has its samples.
const LENGTHENED_MAX: u32 = 5;
const BURST: Duration = Duration::from_millis(700);
/// Where the search begins, as a share of what a closed load carries.
const START_SHARE: f64 = 0.125;
/// The overload before the descending probe, over the rate that failed.
const PUSH: f64 = 1.2;
/// A server that has not drained after this long is probed all the same.
const DRAIN_MAX: Duration = Duration::from_secs(10);
const DRAIN_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub enum CapacityEvent<'a> {
    Begins {
        rate_per_s: f64,
        phase: &'static str,
        /// What is left at most, this probe included.
        left: Duration,
    },
    /// The load runs; about ten times a second.
    Load {
        snapshot: &'a Snapshot,
        plan: &'a Plan,
    },
    Ended(&'a ProbeRecord),
}

#[derive(Debug, Clone)]
pub struct CapacityOutcome {
    pub record: CapacityRecord,
    /// The last probe about the edge that was sustained, else the last probe; of a void search, the load that voided it.
    pub trial: Option<Trial>,
    pub observed: Option<Observed>,
    pub interrupted: bool,
}

/// Searches, on a server of which nothing is known but its answers.
pub fn search(
    plan: &CapacityPlan,
    outside: &LoadObserver,
    loader: &Loader<'_>,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&CapacityEvent<'_>),
) -> Result<CapacityOutcome, LoadError> {
    search_by(plan, &mut *probe::from_outside(outside, loader), interrupt, tell)
}

/// Searches with loads that somebody else applies and judges: the laboratory, which sees the server too.
pub(crate) fn search_by(
    plan: &CapacityPlan,
    prober: &mut Prober<'_>,
    interrupt: &Interrupt,
    tell: &mut dyn FnMut(&CapacityEvent<'_>),
) -> Result<CapacityOutcome, LoadError> {
    let (probes, counted, most_carried) = (Vec::new(), Vec::new(), Vec::new());
    let run = Run {
        plan,
        prober,
        interrupt,
        tell,
        probes,
        counted,
        most_carried,
        unloaded_ns: None,
        kept: None,
        void: None,
    };
    run.search()
}

struct Run<'a, 'l> {
    plan: &'a CapacityPlan,
    prober: &'a mut Prober<'l>,
    interrupt: &'a Interrupt,
    tell: &'a mut dyn FnMut(&CapacityEvent<'_>),
    probes: Vec<ProbeRecord>,
    counted: Vec<(f64, Vec<Limited>)>,
    most_carried: Vec<f64>,
    /// The median response of one connection with nothing else to do.
    unloaded_ns: Option<u64>,
    /// What becomes the outcome's trial, and whether it was sustained about the edge.
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
            step: self.plan.resolution,
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
        let capacity_per_s = found.map(|found| self.estimate(&found));
        let bound = if found.is_some_and(|f| f.failed.is_none()) { Bound::Lower } else { Bound::Exact };
        let recovers = found.and_then(|found| found.recovers);
        let record = CapacityRecord {
            slo,
            bound,
            confirmed: capacity_per_s
                .as_ref()
                .filter(|_| bound == Bound::Exact)
                .map(|rate| rate.ci_low.is_some()),
            capacity_per_s,
            recovers,
            probes: self.probes,
            void: self.void,
        };
        let (trial, observed) = self.kept.map(|(kept, _)| (kept.trial, kept.observed)).unzip();
        Ok(CapacityOutcome { record, trial, observed, interrupted })
    }

    /// The rate at which as many requests are beyond a limit as may be, or that is carried where more is due; of several
    /// limits the lowest.
    fn estimate(&self, found: &Found) -> Estimate {
        let n = self.probes.len() as u64;
        if found.failed.is_none() {
            return Estimate::bare(found.level, n, "no rate failed: the client was the limit");
        }
        if !found.complete {
            return Estimate::bare(
                found.level,
                n,
                "the search was ended before its probes about the edge were done",
            );
        }
        let of_limit = |at: usize| {
            let probe = |(rate, limited): &(f64, Vec<Limited>)| {
                let Limited { beyond, of, allowed } = *limited.get(at)?;
                Some((Counted { rate: *rate, beyond: real(beyond), of: real(of) }, allowed))
            };
            let (loads, allowed): (Vec<Counted>, Vec<f64>) = self.counted.iter().filter_map(probe).unzip();
            crossing(&loads, *allowed.first()?)
        };
        let limits = self.counted.first().map_or(0, |(_, limited)| limited.len());
        let of_limits = (0..limits).filter_map(of_limit).map(|found| (found.rate, found.ci95));
        let carried = Some(&self.most_carried).filter(|carried| carried.len() >= MOST_CARRIED_MIN);
        let carried = carried.and_then(|carried| mean_interval(carried, CONFIDENCE));
        let carried = carried.map(|most| (most.point, [most.low, most.high]));
        match of_limits.chain(carried).min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((rate, [low, high])) => Estimate::new(rate, low, high, self.counted.len() as u64),
            None => Estimate::bare(
                found.level,
                n,
                "about this rate no share of requests beyond a limit grows evenly with the rate",
            ),
        }
    }

    fn is_over(&self) -> bool {
        self.void.is_some() || self.interrupt.asked()
    }

    fn probe(&mut self, probe: Probe, probes_left: f64) -> Result<Option<Answer>, LoadError> {
        let Some(rate) = Rate::per_s(probe.level) else { return Ok(Some(Answer::OutOfReach)) };
        let about_the_edge = probe.phase == Phase::UpDown;
        let load = Plan {
            arrivals: self.plan.load.arrivals.at(rate),
            stop: Stop { duration: Some(self.length(probe.level, probe.phase)), requests: None },
            warmup: PROBE_WARMUP,
            // Each sees other arrivals: the same ones again would be no further evidence.
            seed: seed_of(self.plan.load.seed, u32::try_from(self.probes.len()).unwrap_or(u32::MAX)),
            ..self.plan.load.clone()
        };
        let left = self.plan.probe.mul_f64(probes_left);
        (self.tell)(&CapacityEvent::Begins { rate_per_s: probe.level, phase: probe.phase.name(), left });
        let watched = Hopeless::of(&load, &self.plan.slos);
        // One that was ended by what it counted would count too much.
        let watched = if about_the_edge { watched.by_backlog() } else { watched };
        let (probed, hopeless) = self.apply(&load, Some(&watched))?;
        if self.interrupt.asked() {
            return Ok(None);
        }
        let trial = &probed.trial;
        let limited = beyond_limits(trial, &self.plan.slos);
        let beyond_share = limited.first().map(|first| share(first.beyond, first.of));
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
            beyond_share,
        };
        (self.tell)(&CapacityEvent::Ended(&record));
        self.probes.push(record);
        if about_the_edge && answer != Answer::OutOfReach {
            self.counted.push((probe.level, limited));
            self.most_carried.extend(most_carried(trial));
        }
        let upheld = about_the_edge && answer == Answer::Passed;
        if self.void.is_none() && (upheld || !self.kept.as_ref().is_some_and(|(_, upheld)| *upheld)) {
            self.kept = Some((probed, upheld));
        }
        Ok(Some(answer))
    }

    /// The rate under which the longest probe has too few requests to show anything.
    fn lowest(&self) -> f64 {
        REQUESTS_MIN / (self.plan.probe * LENGTHENED_MAX).as_secs_f64()
    }

    /// A probe long enough to show anything, and for a threshold's percentile to have a hundred samples beyond it in a
    /// whole one, within reason.
    fn length(&self, rate: f64, phase: Phase) -> Duration {
        let needed = (requests_needed(self.plan) * phase.length()).max(REQUESTS_MIN) / rate;
        let most = self.plan.probe * LENGTHENED_MAX;
        if needed >= most.as_secs_f64() {
            return most;
        }
        Duration::from_secs_f64(needed).max(self.plan.probe.mul_f64(phase.length()))
    }

    fn apply(
        &mut self,
        load: &Plan,
        watched: Option<&Hopeless>,
    ) -> Result<(Probed, Option<String>), LoadError> {
        let control = self.interrupt.control(1);
        let mut hopeless = None;
        let tell = &mut *self.tell;
        let mut observe = |snapshot: &Snapshot| {
            tell(&CapacityEvent::Load { snapshot, plan: load });
            if let (None, Some(watched)) = (&hopeless, watched) {
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
        let (probed, _) = self.apply(&load, None)?;
        Ok(probed.trial.throughput.requests_per_s.point)
    }

    fn alone(&mut self) -> Result<Option<u64>, LoadError> {
        const REQUESTS: u64 = 220; // a median is printed from 200 on
        let length = Duration::from_secs(1);
        let load = self.closed(1, Stop { duration: Some(length), requests: Some(REQUESTS) });
        let (probed, _) = self.apply(&load, None)?;
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
            arrivals: self.plan.load.arrivals.at(rate),
            stop: Stop { duration: Some(self.plan.probe.min(Duration::from_secs(2))), requests: None },
            warmup: Duration::ZERO,
            ..self.plan.load.clone()
        };
        self.apply(&load, None).map(|_| ())
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

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { real(part) / real(whole) }
}

fn real(count: u64) -> f64 {
    count as f64
}

fn requests_needed(plan: &CapacityPlan) -> f64 {
    let beyond = |slo: &Slo| slo.response_percentile().map_or(0.0, |(_, q, _)| 100.0 / (1.0 - q));
    plan.slos.iter().map(beyond).fold(REQUESTS_MIN, f64::max)
}

/// The rate, in requests per second, under which probes are longer than asked, and how long they become at most.
pub fn lengthened(plan: &CapacityPlan) -> (f64, Duration) {
    (requests_needed(plan) / plan.probe.as_secs_f64(), plan.probe * LENGTHENED_MAX)
}

/// The time that a search takes at most by plan where its rates are over [`lengthened`]'s, for a forecast.
pub fn forecast(plan: &CapacityPlan) -> Duration {
    let search = Search::new(SearchPlan { start: 1.0, lowest: 1.0, highest: 2.0, step: plan.resolution });
    // Each of some 32 probes has its warm-up.
    plan.probe.mul_f64(search.probes_left()) + PROBE_WARMUP * 32 + BURST + Duration::from_secs(2)
}

#[cfg(test)]
mod queue_tests;
#[cfg(test)]
mod tests;
