//! Experiments: a matrix of candidates and plans, described by a TOML file.
//!
//! The file is read strictly: an unknown key, a value that cannot be meant, or
//! a feature that this version does not have is refused with its line.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use prony_analysis::slo::Slo;
use prony_load::pace::Rate;
use prony_load::plan::{Arrivals, CONNECTIONS_MAX, DURATION_MAX, Expect, Plan, Stop, THREADS_MAX};
use prony_load::target::Target;
use prony_load::tls::Tls;
use prony_record::published::Published;
use prony_record::run_log::ShareOf;

use crate::check::CustomCheck;
use crate::published;
use crate::recipe::Route;
use crate::toml_error::{TomlError, parse, suggest};
use crate::units::show_duration;

mod error;
mod knees;
mod labels;
mod raw;
mod read;

pub use error::ExperimentError;

/// The schema's name; another number is another format.
pub const SCHEMA: &str = "prony.experiment/1";
/// The most blocks of one run; beyond it, somebody has mistyped.
pub const BLOCKS_MAX: u32 = 1_000;
/// The most trials of one run: a month of short ones.
pub const TRIALS_MAX: u64 = 100_000;
/// The most cores or workers of a server.
pub const CORES_MAX: u32 = 1_024;

/// The experiments that travel inside the binary.
static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

/// An experiment, checked, sweeps unrolled.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The file's stem.
    pub name: String,
    /// The file's text, kept in the run log so that `--resume` needs nothing else.
    pub text: String,
    /// For people.
    pub title: String,
    /// Candidates as written; at least one, each once.
    pub candidates: Vec<String>,
    /// One of the candidates.
    pub baseline: Option<String>,
    /// What is asked for: `text` or `json`.
    pub route: Route,
    /// Cores that each server gets.
    pub server_cores: u32,
    /// How many workers each server is told to use.
    pub workers: WorkerPolicy,
    /// How often everything is repeated.
    pub blocks: Blocks,
    /// The time the run may take.
    pub budget: Option<Duration>,
    /// The seed of the order.
    pub seed: u64,
    /// At least one, names unique.
    pub plans: Vec<ExperimentPlan>,
    /// What somebody else printed of the same question.
    pub published: Option<Published>,
    /// Blocks are added, from `blocks.min` on, until every ratio to the baseline is within this share.
    pub precision: Option<f64>,
    /// What servers must do instead of the contract; empty: that, or their recipes' own.
    pub checks: Vec<CustomCheck>,
    /// Where the file says that is, beside itself.
    published_path: Option<String>,
    scales: BTreeMap<String, Scale>,
}

/// How many workers a server is told to use: the same rule for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerPolicy {
    /// This many.
    Fixed(u32),
    /// As many as it has cores.
    ServerCores,
    /// As many as the published source says that it had.
    Source,
}

/// How often everything is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// At least so often.
    pub min: u32,
    /// At most so often: what is planned, and run while the budget allows.
    pub max: u32,
}

impl Blocks {
    /// Of a run that stops by its precision, unless told otherwise.
    pub const ADAPTIVE: Blocks =
        Blocks { min: prony_analysis::precision::BLOCKS_MIN, max: prony_analysis::precision::BLOCKS_MAX };
}

/// A plan of an experiment, before it has a server to aim at.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentPlan {
    /// Unique: the name given or `c50`, `c50-r5000`.
    pub name: String,
    /// The name given in the file, shared by all plans of a sweep.
    pub group: Option<String>,
    /// Connections over all workers.
    pub connections: u32,
    /// When requests are due.
    pub arrivals: Arrivals,
    /// Where the plan searches for the highest sustainable rate: what must be kept, beside the default.
    /// `duration` is then a probe's.
    pub capacity: Option<Vec<Slo>>,
    /// The rate as a share of a capacity that another plan finds; `arrivals` is then a placeholder of 1/s.
    pub share: Option<ShareOf>,
    /// A number of requests that ends the load, instead of `duration`.
    pub requests: Option<u64>,
    /// The window.
    pub duration: Duration,
    /// Traffic before the window.
    pub warmup: Duration,
    /// Worker threads.
    pub threads: u32,
    /// A request's and a connect's timeout.
    pub timeout: Duration,
    /// Whether a connection serves more than one request.
    pub keepalive: bool,
    /// The request's method.
    pub method: String,
    /// Headers beside those Prony writes itself.
    pub headers: Vec<(String, String)>,
    /// The request's body.
    pub body: Vec<u8>,
    /// Requests that a connection may carry at once.
    pub pipeline: u32,
    /// Whether workers stay awake before a request is due.
    pub spin: bool,
    /// Whether arrivals are timed when they are read, not by the kernel's stamps.
    pub user_clock: bool,
}

impl ExperimentPlan {
    /// DESIGN's defaults of a load: 50 connections closed or 100 at a rate,
    /// one worker, 10 s after a warm-up of a tenth of it.
    pub fn new(rate: Option<Rate>) -> ExperimentPlan {
        let duration = Duration::from_secs(10);
        let connections = if rate.is_some() { 100 } else { 50 };
        ExperimentPlan {
            name: plan_name(None, connections, false, rate, false),
            group: None,
            connections,
            arrivals: rate.map_or(Arrivals::Closed, Arrivals::Constant),
            capacity: None,
            share: None,
            requests: None,
            duration,
            warmup: default_warmup(duration),
            threads: 1,
            timeout: Duration::from_secs(10),
            keepalive: true,
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            pipeline: 1,
            spin: false,
            user_clock: false,
        }
    }

    /// The load plan, aimed at a target.
    pub fn aimed(&self, target: Target, expect: Expect, client_cpus: &[u32], seed: u64) -> Plan {
        Plan {
            target,
            connections: self.connections,
            threads: self.threads,
            arrivals: self.arrivals.clone(),
            stop: Stop {
                duration: self.requests.is_none().then_some(self.duration),
                requests: self.requests,
            },
            warmup: self.warmup,
            timeout: self.timeout,
            keepalive: self.keepalive,
            expect,
            cpus: client_cpus.iter().filter_map(|c| usize::try_from(*c).ok()).collect(),
            seed,
            method: self.method.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            pipeline: self.pipeline,
            spin: self.spin,
            user_clock: self.user_clock,
            samples_max: 0,
            sources: Vec::new(),
            unix: None,
            tls: Tls::default(),
            list: None,
        }
    }

    /// One line for people: `50 connections, closed loop, GET /, 3s after 1s warm-up`.
    pub fn describe(&self, path: &str) -> String {
        let mut arrivals = match (&self.capacity, &self.share, &self.arrivals) {
            (Some(slos), ..) => describe_search(slos),
            (None, Some(share), _) => {
                format!("constant {}% of the knee of {}", tidy_percent(share.share), share.of)
            }
            (None, None, arrivals) => describe_arrivals(arrivals),
        };
        if self.pipeline > 1 {
            arrivals.push_str(&format!(", pipelined by {}", self.pipeline));
        }
        let keepalive = if self.keepalive { "" } else { ", a connection per request" };
        let plural = if self.connections == 1 { "" } else { "s" };
        let course = match self.requests {
            Some(1) => "1 request".to_owned(),
            Some(requests) => format!("{requests} requests"),
            None => show_duration(self.duration),
        };
        let warmup = match self.warmup {
            Duration::ZERO => String::new(),
            warmup => format!(" after {} warm-up", show_duration(warmup)),
        };
        format!(
            "{} connection{plural}, {arrivals}, {} {path}{keepalive}, {course}{warmup}",
            self.connections, self.method
        )
    }

    /// Makes the load last so long: stages keep their shape.
    fn shorten(&mut self, duration: Duration) {
        let warmup = self.warmup;
        let whole: Duration = self.arrivals.stages().unwrap_or_default().iter().map(|s| s.duration).sum();
        if let Arrivals::RateStages(stages) | Arrivals::ConnectionStages(stages) = &mut self.arrivals
            && !whole.is_zero()
        {
            for stage in stages {
                stage.duration = stage.duration.mul_f64(duration.as_secs_f64() / whole.as_secs_f64());
            }
            self.duration = duration.saturating_sub(warmup);
        } else {
            self.duration = duration;
        }
    }

    /// Requests per second, where the load has one rate.
    pub fn rate(&self) -> Option<Rate> {
        self.arrivals.rate()
    }

    /// How long one load of this plan takes: warm-up and window. A load that ends by a count takes what it
    /// takes; `duration` is then the guess that forecasts are made with.
    pub fn load_time(&self) -> Duration {
        // A search lasts as long as about so many probes: a dozen or more, some ended early, the first of a
        // threshold on p99 lengthened, and up to five confirmations of three probes' length.
        const PROBES: u32 = 30;
        if self.capacity.is_some() { self.duration * PROBES } else { self.warmup + self.duration }
    }
}

fn describe_arrivals(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Closed => "closed loop".to_owned(),
        Arrivals::Constant(rate) => format!("constant {rate}"),
        Arrivals::Poisson(rate) => format!("Poisson {rate}"),
        staged => show_stages(staged),
    }
}

fn describe_search(slos: &[Slo]) -> String {
    let kept: Vec<String> = slos.iter().map(ToString::to_string).collect();
    if kept.is_empty() { "capacity".to_owned() } else { format!("capacity at {}", kept.join(", ")) }
}

/// 105 for 1.05, without what floats make of it.
fn tidy_percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

/// `60s:5000c, 1m:5000c`.
fn show_stages(arrivals: &Arrivals) -> String {
    let level = |to: u64| match arrivals {
        Arrivals::ConnectionStages(_) => format!("{to}c"),
        _ => Rate::per_s(to as f64 / 1e6).map_or_else(|| "0/s".to_owned(), |rate| rate.to_string()),
    };
    let stages = arrivals.stages().unwrap_or_default();
    let shown: Vec<String> =
        stages.iter().map(|stage| format!("{}:{}", show_duration(stage.duration), level(stage.to))).collect();
    format!("stages {}", shown.join(", "))
}

/// The warm-up where none is given: a tenth of the window, at most 3 s.
pub fn default_warmup(duration: Duration) -> Duration {
    (duration / 10).min(Duration::from_secs(3))
}

/// `c50-r5000`; a name given replaces what is no list.
fn plan_name(
    given: Option<&str>,
    connections: u32,
    swept_c: bool,
    rate: Option<Rate>,
    swept_r: bool,
) -> String {
    let mut parts: Vec<String> = given.map(str::to_owned).into_iter().collect();
    if given.is_none() || swept_c {
        parts.push(format!("c{connections}"));
    }
    if let Some(rate) = rate.filter(|_| given.is_none() || swept_r) {
        parts.push(format!("r{}", rate.as_per_s()));
    }
    parts.join("-")
}

/// A `[scale.NAME]`: the same experiment, shorter.
#[derive(Debug, Clone, PartialEq, Default)]
struct Scale {
    duration: Option<Duration>,
    warmup: Option<Duration>,
    blocks: Option<Blocks>,
    only: Option<Vec<String>>,
}

impl Experiment {
    /// Finds and reads an experiment: a path if the text holds a `/` or ends
    /// in `.toml`, else the name of an embedded one.
    ///
    /// # Errors
    /// When there is none, or it is wrong.
    pub fn find(name_or_path: &str) -> Result<Experiment, ExperimentError> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            let path = Path::new(name_or_path);
            let read = |path: &Path| {
                std::fs::read_to_string(path).map_err(|source| ExperimentError::Read {
                    path: path.display().to_string(),
                    source,
                    known: Experiment::names().join(", "),
                })
            };
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let mut experiment = Experiment::parse(&stem, name_or_path, &read(path)?)?;
            if let Some(published) = experiment.published_path.clone() {
                let file = path.parent().unwrap_or(Path::new("")).join(published);
                experiment.published = Some(published::parse(&file.display().to_string(), &read(&file)?)?);
            }
            return Ok(experiment);
        }
        let file = format!("{name_or_path}.toml");
        let embedded = |file: &str| EMBEDDED.get_file(file).and_then(include_dir::File::contents_utf8);
        let Some(text) = embedded(&file) else {
            return Err(ExperimentError::Unknown {
                name: name_or_path.to_owned(),
                hint: suggest(name_or_path, Experiment::names()),
            });
        };
        let mut experiment = Experiment::parse(name_or_path, &file, text)?;
        if let Some(file) = experiment.published_path.clone() {
            let text = embedded(&file).ok_or_else(|| ExperimentError::Unknown {
                name: file.clone(),
                hint: "the file that \"published\" names is not in this binary.".to_owned(),
            })?;
            experiment.published = Some(published::parse(&file, text)?);
        }
        Ok(experiment)
    }

    /// The embedded experiments' names, sorted.
    pub fn names() -> Vec<&'static str> {
        let toml = EMBEDDED.files().filter(|f| f.path().extension().is_some_and(|e| e == "toml"));
        let mut names: Vec<&str> = toml.filter_map(|f| f.path().file_stem()?.to_str()).collect();
        names.sort_unstable();
        names
    }

    /// Reads an experiment's text; `file` is what errors call it.
    ///
    /// # Errors
    /// A sentence with the line of what is wrong.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Experiment, TomlError> {
        read::experiment(name, file, text, parse(file, text)?)
    }

    /// An experiment without a file: the candidates and the plan of a command line.
    pub fn of_candidates(
        candidates: Vec<String>,
        plan: ExperimentPlan,
        blocks: u32,
        seed: u64,
    ) -> Experiment {
        Experiment {
            name: "candidates".to_owned(),
            text: String::new(),
            title: candidates.join(" against "),
            baseline: candidates.first().cloned(),
            candidates,
            route: Route::Text,
            server_cores: 1,
            workers: WorkerPolicy::ServerCores,
            blocks: Blocks { min: blocks, max: blocks },
            budget: None,
            seed,
            plans: vec![plan],
            published: None,
            precision: None,
            checks: Vec::new(),
            published_path: None,
            scales: BTreeMap::new(),
        }
    }

    /// How many workers a candidate is to be told to use; `None` where that is the source's to say and it does not.
    pub fn workers_of(&self, label: &str) -> Option<u32> {
        match self.workers {
            WorkerPolicy::Fixed(workers) => Some(workers),
            WorkerPolicy::ServerCores => Some(self.server_cores),
            WorkerPolicy::Source => self.published.as_ref()?.workers_of(label),
        }
    }

    /// The plans by when they are run: searches that others take their rates from before these.
    pub fn phases(&self) -> Vec<Vec<String>> {
        let (shares, others): (Vec<_>, Vec<_>) = self.plans.iter().partition(|plan| plan.share.is_some());
        let (searches, loads): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|plan| plan.capacity.is_some() && !shares.is_empty());
        let names = |plans: Vec<&ExperimentPlan>| plans.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        let after = names([loads, shares].concat());
        [names(searches), after].into_iter().filter(|phase| !phase.is_empty()).collect()
    }

    /// The experiment at one of its scales.
    ///
    /// # Errors
    /// When it has no scale of this name.
    pub fn scaled(&self, name: &str) -> Result<Experiment, ExperimentError> {
        let Some(scale) = self.scales.get(name) else {
            let hint = suggest(name, self.scales.keys().map(String::as_str));
            return Err(ExperimentError::Name(format!("{:?} has no [scale.{name}]: {hint}", self.name)));
        };
        let mut scaled = self.clone();
        if let Some(only) = &scale.only {
            scaled.keep_plans(only)?;
        }
        scaled.blocks = scale.blocks.unwrap_or(self.blocks);
        for plan in &mut scaled.plans {
            plan.warmup = scale.warmup.unwrap_or(plan.warmup);
            if let Some(duration) = scale.duration {
                plan.shorten(duration);
            }
        }
        Ok(scaled)
    }

    /// Keeps only the plans of these names; a sweep's given name keeps all of it.
    ///
    /// # Errors
    /// When there is no plan of a name.
    pub fn keep_plans(&mut self, names: &[String]) -> Result<(), ExperimentError> {
        let is =
            |plan: &ExperimentPlan, name: &String| plan.name == *name || plan.group.as_ref() == Some(name);
        for name in names {
            if !self.plans.iter().any(|plan| is(plan, name)) {
                let hint = suggest(name, self.plans.iter().map(|p| p.name.as_str()));
                return Err(ExperimentError::Name(format!("{:?} has no plan {name:?}: {hint}", self.name)));
            }
        }
        self.plans.retain(|plan| names.iter().any(|name| is(plan, name)));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
