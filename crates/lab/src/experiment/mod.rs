//! Experiments: a matrix of candidates and plans, described by a TOML file that is read strictly.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use include_dir::{Dir, include_dir};
use prony_analysis::slo::Slo;
use prony_model::foreign_file;
pub use prony_model::options::WorkerPolicy;
use prony_model::plan::{Arrivals, DURATION, Expect, Plan};
use prony_model::published::{Published, PublishedRow};
use prony_model::rate::Rate;
use prony_model::recorded_plan::RecordedPlan;
use prony_model::replay::Replay;
use prony_model::run_log::{NamedPlan, ShareOf};
use prony_model::target::Target;

use crate::candidate::Candidate;
use crate::check::{CustomCheck, Route};
use crate::service::{Reset, Service};
use crate::toml_file::{TomlError, TomlFile, suggest};
use prony_model::units::DurationValue;

mod capacities;
mod labels;
mod published;
mod raw;
mod read;
mod routes;

pub use published::parse as parse_published;
pub(crate) use read::check_name;

pub(crate) const SCHEMA: &str = "prony.experiment/1";
/// The most blocks of one run; beyond it, somebody has mistyped.
pub const BLOCKS_MAX: u32 = 1_000;
/// The most trials of one run: a month of short ones.
pub(crate) const TRIALS_MAX: u64 = 100_000;
pub const CORES_MAX: u32 = 1_024;

/// The longest file of an experiment, and of a published comparison: one of 10,000 rows takes 3 MB.
const FILE_MAX_BYTES: u64 = 16 << 20;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");

#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    /// The file's text, kept in the run log so that `--resume` needs nothing else.
    pub(crate) text: String,
    pub title: String,
    /// Candidates as written; at least one, each once.
    pub candidates: Vec<String>,
    pub baseline: Option<String>,
    pub route: Route,
    /// The machine on which servers are started, `ssh:HOST` or `ssh:HOST=ADDRESS`; `None`: this one.
    pub server_host: Option<String>,
    pub server_cores: u32,
    pub workers: WorkerPolicy,
    pub blocks: Blocks,
    pub budget: Option<Duration>,
    pub seed: u64,
    /// At least one, names unique.
    pub plans: Vec<ExperimentPlan>,
    pub published: Option<Published>,
    /// Blocks are added, from `blocks.min` on, until every ratio to the baseline is within this share.
    pub precision: Option<f64>,
    /// Whether each block has a control: a twin of one of the candidates.
    pub controls: bool,
    /// What servers must do instead of the contract; empty: that, or their recipes' own.
    pub(crate) checks: Vec<CustomCheck>,
    /// Names of headers, in any case, whose values are secret wherever they come from: a plan, a check, a recipe.
    pub redact: Vec<String>,
    pub services: Vec<Service>,
    pub reset: Option<Reset>,
    published_path: Option<String>,
    scales: BTreeMap<String, Scale>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    pub min: u32,
    /// At most so often: what is planned, and run while the budget allows.
    pub max: u32,
}

impl Blocks {
    /// Of a run that stops by its precision, unless told otherwise.
    pub const ADAPTIVE: Blocks =
        Blocks { min: prony_analysis::precision::BLOCKS_MIN, max: prony_analysis::precision::BLOCKS_MAX };
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentPlan {
    /// Unique: the name given or `c50`, `c50-r5000`.
    pub name: String,
    /// The name given in the file, shared by all plans of a sweep.
    pub group: Option<String>,
    /// The load, aimed at no server yet; in a search its window is a probe's, of a share its rate is a stand-in.
    pub load: Plan,
    /// Where the plan searches for the highest sustainable rate: what must be kept, beside the default.
    pub capacity: Option<Vec<Slo>>,
    /// The rate as a share of a capacity that another plan finds.
    pub share: Option<ShareOf>,
    /// How many workers servers are told to use under it, where that is not the experiment's rule.
    pub workers: Option<WorkerPolicy>,
    pub arrivals_given: bool,
    pub route: Option<Route>,
    /// The labels of those that take part in it; `None`: all of the run's candidates.
    pub candidates: Option<Vec<String>>,
}

impl ExperimentPlan {
    /// A load under the name that says how much it is: `c50`, `c100-r5000`.
    pub fn of(load: Plan) -> ExperimentPlan {
        let name = plan_name(None, load.connections, false, load.arrivals.rate(), false);
        let (group, capacity, share, workers, candidates) = (None, None, None, None, None);
        let (arrivals_given, route) = (false, None);
        ExperimentPlan { name, group, load, capacity, share, workers, arrivals_given, route, candidates }
    }

    pub fn space(&mut self, poisson: bool) {
        if let Some(rate) = self.load.arrivals.rate() {
            self.load.arrivals = if poisson { Arrivals::Poisson(rate) } else { Arrivals::Constant(rate) };
        }
    }

    /// The load plan, aimed at a target. Its own expectations come before `expect`, which is of one request only.
    pub fn aimed(&self, target: Target, expect: Expect, client_cpus: &[u32], seed: u64) -> Plan {
        let own = self.load.expect != Expect::default() || self.load.work.list().is_some();
        Plan {
            target,
            expect: if own { self.load.expect.clone() } else { expect },
            cpus: client_cpus.to_vec(),
            seed,
            ..self.load.clone()
        }
    }

    pub fn named(&self, aimed: &Plan) -> NamedPlan {
        // What a search finds, or is a share of that, is not known yet: the load's rate is a stand-in.
        let rate = aimed.arrivals.rate().filter(|_| self.capacity.is_none() && self.share.is_none());
        let kept = |slos: &Vec<Slo>| slos.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        NamedPlan {
            name: self.name.clone(),
            describe: String::new(),
            plan: RecordedPlan { rate_per_s: rate.map(Rate::as_per_s), ..RecordedPlan::of(aimed) },
            group: self.group.clone(),
            share: self.share.clone(),
            workers: self.workers.map(|policy| policy.to_string()),
            capacity: self.capacity.as_ref().map(kept),
        }
        .described()
    }

    /// Whether it lasts as long as its requests take, and no scale makes it shorter or longer.
    fn ends_by_count(&self) -> bool {
        self.load.stop.requests.is_some() && self.load.stop.duration.is_none()
    }

    /// Makes the load last so long: stages keep their shape, and a search's probes are not made longer.
    fn rescale(&mut self, duration: Duration) {
        let load = &mut self.load;
        let probe = load.stop.duration.filter(|_| self.capacity.is_some());
        let duration = duration.min(probe.unwrap_or(duration));
        let whole: Duration = load.arrivals.stages().unwrap_or_default().iter().map(|s| s.duration).sum();
        if let Arrivals::RateStages(stages) | Arrivals::ConnectionStages(stages) = &mut load.arrivals
            && !whole.is_zero()
        {
            for stage in stages {
                stage.duration = stage.duration.mul_f64(duration.as_secs_f64() / whole.as_secs_f64());
            }
            load.stop.duration = Some(duration.saturating_sub(load.warmup));
        } else {
            load.stop.duration = Some(duration);
        }
    }

    /// How long one load takes: warm-up and window; of one that ends by its requests, as if it were the usual window.
    pub fn load_time(&self) -> Duration {
        // A search lasts as long as about so many whole probes, the first of a threshold on p99 lengthened.
        const PROBES: u32 = 26;
        let window =
            self.load.stop.duration.or(self.load.arrivals.replay().map(Replay::length)).unwrap_or(DURATION);
        if self.capacity.is_some() { window * PROBES } else { self.load.warmup + window }
    }
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
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Scale {
    duration: Option<DurationValue>,
    warmup: Option<DurationValue>,
    blocks: Option<Blocks>,
    only: Option<Vec<String>>,
}

impl Experiment {
    /// Finds and reads an experiment: a path if the text holds a `/` or ends
    /// in `.toml`, else the name of an embedded one.
    pub fn find(name_or_path: &str) -> Result<Experiment, String> {
        let path = Path::new(name_or_path);
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let read = |file: &Path| {
                foreign_file::read_text(file, FILE_MAX_BYTES).map_err(|why| {
                    let (file, known) = (file.display(), Experiment::names().join(", "));
                    format!("{file} cannot be read: {why}. Check the path, or name an embedded experiment: {known}.")
                })
            };
            return Experiment::with_published(&stem, path, &read);
        }
        let read = |file: &Path| {
            let embedded = EMBEDDED.get_file(file).and_then(include_dir::File::contents_utf8);
            embedded.map(str::to_owned).ok_or_else(|| {
                let hint = suggest(name_or_path, Experiment::names());
                format!("There is no experiment {name_or_path:?}: {hint} A path holds a / or ends in .toml.")
            })
        };
        Experiment::with_published(name_or_path, Path::new(&format!("{name_or_path}.toml")), &read)
    }

    fn with_published(
        name: &str,
        path: &Path,
        read: &dyn Fn(&Path) -> Result<String, String>,
    ) -> Result<Experiment, String> {
        let said = |why: TomlError| why.to_string();
        let mut experiment =
            Experiment::parse(name, &path.display().to_string(), &read(path)?).map_err(said)?;
        if let Some(published) = &experiment.published_path {
            let file = path.with_file_name(published);
            experiment.published =
                Some(published::parse(&file.display().to_string(), &read(&file)?).map_err(said)?);
        }
        Ok(experiment)
    }

    pub fn names() -> Vec<&'static str> {
        let toml = EMBEDDED.files().filter(|f| f.path().extension().is_some_and(|e| e == "toml"));
        let mut names: Vec<&str> = toml.filter_map(|f| f.path().file_stem()?.to_str()).collect();
        names.sort_unstable();
        names
    }

    pub fn parse(name: &str, file: &str, text: &str) -> Result<Experiment, TomlError> {
        let file = TomlFile { name: file, text };
        read::experiment(name, file, file.parse()?)
    }

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
            server_host: None,
            server_cores: 1,
            workers: WorkerPolicy::ServerCores,
            blocks: Blocks { min: blocks, max: blocks },
            budget: None,
            seed,
            plans: vec![plan],
            published: None,
            precision: None,
            controls: false,
            checks: Vec::new(),
            redact: Vec::new(),
            services: Vec::new(),
            reset: None,
            published_path: None,
            scales: BTreeMap::new(),
        }
    }

    /// How many workers a candidate is to be told to use: by a plan's own rule, where it has one and that says a number, or
    /// else by the run's. `None` where that is the source's to say and it does not.
    pub(crate) fn workers_of(&self, plan: Option<&ExperimentPlan>, label: &str) -> Option<u32> {
        let number = |policy| match policy {
            WorkerPolicy::Fixed(workers) => Some(workers),
            WorkerPolicy::ServerCores => Some(self.server_cores),
            // The source had one setting of a server; another one of it has as many.
            WorkerPolicy::Source => {
                let source = self.published.as_ref()?;
                let server = label.split(':').next().unwrap_or_default();
                source.workers_of(label).or_else(|| source.workers_of(server))
            }
        };
        plan.and_then(|plan| number(plan.workers?)).or_else(|| number(self.workers))
    }

    /// Whether a candidate has the route that a plan requests; what is held to no contract has any.
    pub(crate) fn has_route(&self, candidate: &Candidate, plan: &ExperimentPlan) -> bool {
        let is_held = self.checks.is_empty() && candidate.expectation().custom.is_empty();
        !is_held || candidate.routes().contains(&plan.route.unwrap_or(self.route))
    }

    pub(crate) fn asks(&self, candidate: &Candidate, plan: &ExperimentPlan) -> bool {
        let takes_part =
            plan.candidates.as_ref().is_none_or(|all| all.iter().any(|l| l == candidate.label()));
        takes_part && candidate.speaks(plan.load.protocol) && self.has_route(candidate, plan)
    }

    /// How long the load of a candidate's trial takes, for a forecast: one that ends by its requests, as long as they take
    /// at the throughput that the source printed of it.
    pub(crate) fn load_time(&self, plan: &ExperimentPlan, label: &str) -> Duration {
        let is_it = |row: &&PublishedRow| {
            row.candidate == label
                && row.connections == Some(plan.load.connections)
                && row.rate_per_s.is_none()
        };
        let rows = self.published.as_ref().map_or(&[][..], |published| &published.rows);
        let rate = rows.iter().find(is_it).and_then(|row| row.figure("requests_per_s"));
        match (plan.load.stop.requests.filter(|_| plan.ends_by_count()), rate.filter(|rate| *rate > 0.0)) {
            (Some(requests), Some(rate)) => {
                plan.load.warmup + Duration::from_secs_f64(requests as f64 / rate)
            }
            _ => plan.load_time(),
        }
    }

    /// The plans by when they are run: searches that others take their rates from before these.
    pub(crate) fn phases(&self) -> Vec<Vec<String>> {
        let (shares, others): (Vec<_>, Vec<_>) = self.plans.iter().partition(|plan| plan.share.is_some());
        let (searches, loads): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|plan| plan.capacity.is_some() && !shares.is_empty());
        let names = |plans: Vec<&ExperimentPlan>| plans.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        let after = names([loads, shares].concat());
        [names(searches), after].into_iter().filter(|phase| !phase.is_empty()).collect()
    }

    pub fn scaled(&self, name: &str) -> Result<Experiment, String> {
        let Some(scale) = self.scales.get(name) else {
            let hint = suggest(name, self.scales.keys().map(String::as_str));
            return Err(format!("{:?} has no [scale.{name}]: {hint}", self.name));
        };
        let mut scaled = self.clone();
        if let Some(only) = &scale.only {
            scaled.keep_plans(only)?;
        }
        scaled.blocks = scale.blocks.unwrap_or(self.blocks);
        for plan in scaled.plans.iter_mut().filter(|plan| !plan.ends_by_count()) {
            if let Some(warmup) = scale.warmup.filter(|_| plan.capacity.is_none()) {
                plan.load.warmup = warmup.0;
            }
            if let Some(DurationValue(duration)) = scale.duration {
                plan.rescale(duration);
            }
        }
        Ok(scaled)
    }

    /// Keeps only the plans of these names; a sweep's given name keeps all of it.
    pub fn keep_plans(&mut self, names: &[String]) -> Result<(), String> {
        let is =
            |plan: &ExperimentPlan, name: &String| plan.name == *name || plan.group.as_ref() == Some(name);
        for name in names {
            if !self.plans.iter().any(|plan| is(plan, name)) {
                let hint = suggest(name, self.plans.iter().map(|p| p.name.as_str()));
                return Err(format!("{:?} has no plan {name:?}: {hint}", self.name));
            }
        }
        self.plans.retain(|plan| names.iter().any(|name| is(plan, name)));
        Ok(())
    }
}

#[cfg(test)]
mod plan_candidates_tests;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod tests;
