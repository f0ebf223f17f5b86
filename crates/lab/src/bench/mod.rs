//! A run: every planned trial on a fresh server, in the planned order, recorded as it goes. A failed trial is recorded,
//! a candidate that fails its check is left out; the log of an ended run can be resumed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prony_host::cpus::union;
use prony_host::pins::Pins;
use prony_load::{Loader, Snapshot};
use prony_model::Plan;
use prony_model::host::Host;
use prony_model::run_log::{Event, PlannedTrial, RunLogError, Skipped, TrialResult};

use crate::candidate::{Candidate, Layout};
use crate::experiment::{Experiment, ExperimentPlan};
use crate::server_host::{SampledServer, ServerHost};
use crate::supervise::Supervision;
use crate::watch::WatchedServer;

mod budget;
#[cfg(test)]
mod controls_tests;
mod cpu_halves;
mod duet;
mod header;
mod inspect;
mod load_target;
mod order;
mod pilot;
#[cfg(test)]
mod pilot_tests;
mod planned_trial;
mod precision;
mod profile;
mod quiet;
pub mod repeats;
mod request_spec;
mod resolve;
mod runner;
mod running_server;
mod search;
mod serve;
pub(crate) mod services;
mod start;
mod trial;

pub use cpu_halves::CpuHalves;
pub use header::{header, named_plans};
pub use inspect::Inspection;
pub use inspect::{inspect, inspect_there};
pub use order::Forecast;
pub use pilot::pilot;
pub use profile::{fit_for_profile, profile};
pub(crate) use resolve::found_here;
pub use resolve::{Resolved, resolve};
pub use runner::run;
pub(crate) use running_server::RunningServer;
pub use serve::{Serving, script};
pub use services::ContractServices;
pub(crate) use start::ServerSide;

#[derive(Debug, Clone)]
pub struct BenchSetup {
    pub experiment: Experiment,
    pub candidates: Vec<BenchCandidate>,
    pub skipped: Vec<Skipped>,
    pub baseline: Option<String>,
    pub layout: Layout,
    pub log: PathBuf,
    pub resume: bool,
    pub reproduce: String,
    pub host: Host,
    pub pins: Pins,
    pub supervision: Supervision,
    /// The services' CPUs; empty: the server's.
    pub service_cpus: Vec<u32>,
    /// Where both candidates of a duet run; `pins` is then what both halves have together.
    pub duet: Option<CpuHalves>,
    /// Where servers run, if not on this machine; `layout` and `supervision` are then not used.
    pub server_host: Option<Arc<ServerHost>>,
    /// Whether a load waits for an idle second, and trials that other programs disturbed are run again.
    pub repeats_disturbed: bool,
    /// The flags of the fleet that applies the loads; empty: this process does.
    pub fleet: Vec<String>,
    pub slo: Vec<String>,
}

#[derive(Clone, Copy)]
pub struct Loads<'a> {
    pub trial: &'a Loader<'a>,
    /// Each of a search's, one after the other on one server: a fleet repeats it where it lost an agent.
    pub probe: &'a Loader<'a>,
}

impl<'a> Loads<'a> {
    pub fn new(loader: &'a Loader<'a>) -> Loads<'a> {
        Loads { trial: loader, probe: loader }
    }
}

impl BenchSetup {
    fn place(&self) -> ServerSide<'_> {
        match &self.server_host {
            Some(host) => ServerSide::There(host),
            None => ServerSide::Here(&self.layout, &self.supervision),
        }
    }

    /// The CPUs of this machine that figures depend on: on it, or the client's alone where servers are elsewhere.
    fn used_here(&self, pins: &Pins) -> Vec<u32> {
        match &self.server_host {
            Some(_) => Pins { server: Vec::new(), client: pins.client.clone() }.used(),
            None => union(&pins.used(), &self.service_cpus),
        }
    }

    fn place_of_services<'a>(&'a self, pins: &'a Pins) -> services::Place<'a> {
        let shares = self.service_cpus.is_empty();
        let cpus = if shares { &pins.server } else { &self.service_cpus };
        services::Place { side: self.place(), cpus, shares }
    }

    fn workers(&self, c: &BenchCandidate, plan: Option<&ExperimentPlan>) -> u32 {
        // Where the source does not say, only servers that can have no more than one run (`resolve`).
        c.candidate.workers(self.experiment.workers_of(plan, c.candidate.label()).unwrap_or(1))
    }

    /// The candidate that is started once more in each block, where the run has controls: the baseline, else the first.
    pub fn twin(&self) -> Option<&BenchCandidate> {
        let is_baseline = |c: &&BenchCandidate| Some(c.candidate.label()) == self.baseline.as_deref();
        let of = self.candidates.iter().find(is_baseline).or(self.candidates.first());
        of.filter(|_| self.experiment.controls)
    }

    pub fn forecast(&self, blocks: u32) -> Forecast {
        let plans = || self.experiment.plans.iter().map(ExperimentPlan::load_time).collect::<Vec<_>>();
        let budget = self.experiment.budget;
        match self.duet {
            Some(_) => order::forecast_duets(&plans(), blocks, budget),
            None => order::forecast(&self.loads_of_a_block(), blocks, budget),
        }
    }

    fn loads_of_a_block(&self) -> Vec<Duration> {
        let of = |plan: &ExperimentPlan| {
            let twin = self.twin().filter(|_| plan.capacity.is_none());
            let all = self.candidates.iter().chain(twin);
            let asked = all.filter(|c| self.experiment.asks(&c.candidate, plan));
            asked.map(|c| self.experiment.load_time(plan, c.candidate.label())).collect::<Vec<_>>()
        };
        self.experiment.plans.iter().flat_map(of).collect()
    }
}

#[derive(Debug, Clone)]
pub struct BenchCandidate {
    pub candidate: Candidate,
    pub version: Option<String>,
    pub watched: Option<WatchedServer>,
}

impl BenchCandidate {
    pub fn new(candidate: Candidate, version: Option<String>) -> BenchCandidate {
        BenchCandidate { candidate, version, watched: None }
    }

    fn watched(&self) -> Option<SampledServer> {
        self.watched.as_ref().map(WatchedServer::sampled)
    }
}

#[derive(Debug)]
pub enum BenchEvent<'a> {
    Begun {
        log: &'a Path,
        total: u32,
        remaining: u32,
    },
    /// Something was written to the log that is no trial; see [`Event::what`].
    Note(&'a Event),
    TrialBegins {
        planned: &'a PlannedTrial,
        done: u32,
        remaining: u32,
        elapsed: Duration,
    },
    /// The server is up and the load runs; about ten times a second.
    Load {
        planned: &'a PlannedTrial,
        snapshot: &'a Snapshot,
        /// What is loaded: of a search its probe, of a share its rate.
        plan: &'a Plan,
    },
    TrialEnded {
        result: &'a TrialResult,
        done: u32,
        remaining: u32,
        elapsed: Duration,
        left: Option<Duration>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchOutcome {
    pub end: End,
    pub log: PathBuf,
    pub trials: u32,
    pub elapsed: Duration,
    /// How much of it servers were under load, warm-ups included: the rest are starts, stops and checks.
    pub(crate) under_load: Duration,
}

impl BenchOutcome {
    /// [`BenchOutcome::under_load`] as a share of all, 0 to 1; `None` where no trial was run.
    pub fn share_under_load(&self) -> Option<f64> {
        (self.trials > 0 && !self.elapsed.is_zero())
            .then(|| (self.under_load.as_secs_f64() / self.elapsed.as_secs_f64()).min(1.0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every planned trial that could be run has a result.
    Finished,
    BudgetSpent,
    Interrupted,
    PrecisionReached,
}

/// Why a run could not begin or go on: a sentence. No server runs any more.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("{0}. What was measured before is in the log: fix this and continue with --resume.")]
    Log(RunLogError),
    #[error(transparent)]
    Open(RunLogError),
    #[error("{path} cannot be resumed: {why}")]
    Resume { path: PathBuf, why: String },
    #[error("{given}: {why} What was measured before is in the log: continue with --resume.")]
    ServerHost { given: String, why: String },
    #[error("{0} What was measured before is in the log: continue with --resume.")]
    Fleet(String),
    #[error("None of the candidates can run here: {0}")]
    NoCandidates(String),
    #[error("{0}")]
    RunDir(String),
}

#[cfg(test)]
mod checks_tests;
#[cfg(test)]
mod duet_tests;
#[cfg(test)]
mod protocol_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
pub(crate) mod tests;
