//! From the file as written to the experiment as meant: defaults, sweeps, checks.

use std::time::Duration;

use prony_load::Target;
use prony_load::pace::Rate;
use prony_load::plan::{Arrivals, Expect};

use super::knees::{check_knees, searched_for, share_of};
use super::raw::{OneOrMany, RawExperiment, RawPlan, RawScale};
use super::{
    BLOCKS_MAX, Blocks, CONNECTIONS_MAX, CORES_MAX, DURATION_MAX, Experiment, ExperimentPlan, SCHEMA, Scale,
    THREADS_MAX, TRIALS_MAX, TomlError, WorkerPolicy, default_warmup, plan_name, suggest,
};
use crate::check::written_secret;
use crate::recipe::{CheckedText, Route, validate_checks};
use crate::units::{DurationValue, RateValue, most_connections, parse_stages, show_duration};

/// The most values of one sweep.
const SWEEP_MAX: usize = 100;

/// A file's name and text, for errors with a line.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    pub(super) fn wrong<T>(self, path: &[&str], message: impl Into<String>) -> Result<T, TomlError> {
        Err(TomlError::at_key(self.file, self.text, path, message))
    }

    fn in_range(self, path: &[&str], value: u32, most: u32) -> Result<(), TomlError> {
        if (1..=most).contains(&value) {
            return Ok(());
        }
        let key = path.last().copied().unwrap_or_default();
        self.wrong(path, format!("{key:?} is {value}: write a number from 1 to {most}."))
    }
}

/// Checks everything and unrolls the sweeps.
pub(super) fn experiment(
    name: &str,
    file: &str,
    text: &str,
    raw: RawExperiment,
) -> Result<Experiment, TomlError> {
    let source = Source { file, text };
    if raw.schema != SCHEMA {
        return source.wrong(
            &["schema"],
            format!(
                "the schema is {:?} and this Prony reads {SCHEMA:?}: use the version it was written for.",
                raw.schema
            ),
        );
    }
    if let Some(path) = &raw.published {
        check_published(source, path)?;
    }
    validate_checks(&CheckedText { file, text }, &raw.check)?;
    if raw.route.is_some() && !raw.check.is_empty() {
        return source.wrong(
            &["route"],
            "\"route\" says which part of the contract is loaded, and [[check]] replaces the contract: remove one.",
        );
    }
    check_candidates(source, &raw)?;
    let server_cores = raw.server_cores.unwrap_or(1);
    source.in_range(&["server_cores"], server_cores, CORES_MAX)?;
    if let Some(WorkerPolicy::Fixed(workers)) = raw.workers {
        source.in_range(&["workers"], workers, CORES_MAX)?;
    }
    if raw.workers == Some(WorkerPolicy::Source) && raw.published.is_none() {
        return source.wrong(
            &["workers"],
            "workers = \"source\" needs a \"published\" whose rows say how many workers each server had: name one, or \
             write a number or \"server_cores\".",
        );
    }
    let route = raw.route.unwrap_or(Route::Text);
    if !matches!(route, Route::Text | Route::Json) {
        let why =
            format!("the route {:?} is checked but not loaded: write \"text\" or \"json\".", route.as_str());
        return source.wrong(&["route"], why);
    }
    let precision = precision(source, raw.precision.as_deref(), raw.blocks)?;
    let usual = if precision.is_some() { Blocks::ADAPTIVE } else { Blocks { min: 5, max: 5 } };
    let blocks = raw.blocks.unwrap_or(usual);
    check_blocks(source, &["blocks"], blocks)?;
    let budget = raw.budget.map(|b| b.0);
    if budget.is_some_and(|b| b.is_zero()) {
        return source
            .wrong(&["budget"], "a \"budget\" of 0 allows no trial: write how long the run may take, 30m.");
    }
    let plans = plans(source, &raw.load, &raw.plan)?;
    check_knees(source, &raw.candidates, &plans)?;
    let trials = raw.candidates.len() as u64 * plans.len() as u64 * u64::from(blocks.max);
    if trials > TRIALS_MAX {
        return source.wrong(
            &["blocks"],
            format!("the experiment has {trials} trials, more than {TRIALS_MAX}: take fewer plans, candidates or blocks."),
        );
    }
    let experiment = Experiment {
        name: name.to_owned(),
        text: text.to_owned(),
        title: raw.title.unwrap_or_else(|| name.to_owned()),
        candidates: raw.candidates,
        baseline: raw.baseline,
        route,
        server_cores,
        workers: raw.workers.unwrap_or(WorkerPolicy::ServerCores),
        blocks,
        budget,
        seed: raw.seed.unwrap_or(1),
        plans,
        published: None,
        precision,
        published_path: raw.published,
        checks: raw.check,
        scales: raw
            .scale
            .iter()
            .map(|(name, raw)| Ok((name.clone(), scale(source, name, raw)?)))
            .collect::<Result<_, _>>()?,
    };
    for name in experiment.scales.keys() {
        if let Err(why) = experiment.scaled(name) {
            return source.wrong(&["scale", name, "only"], why.to_string());
        }
    }
    Ok(experiment)
}

fn check_candidates(source: Source<'_>, raw: &RawExperiment) -> Result<(), TomlError> {
    if raw.candidates.is_empty() {
        return source.wrong(
            &["candidates"],
            "\"candidates\" is empty: name at least one, as `prony servers list` does.",
        );
    }
    for (at, candidate) in raw.candidates.iter().enumerate() {
        if candidate.trim().is_empty() {
            return source.wrong(&["candidates"], "a candidate's name is empty: remove it.");
        }
        if raw.candidates[..at].contains(candidate) {
            return source.wrong(
                &["candidates"],
                format!("{candidate:?} is named twice: each candidate runs once a block."),
            );
        }
    }
    match &raw.baseline {
        Some(baseline) if !raw.candidates.contains(baseline) => {
            let hint = suggest(baseline, raw.candidates.iter().map(String::as_str));
            source.wrong(
                &["baseline"],
                format!("the baseline {baseline:?} is not among the candidates: {hint}"),
            )
        }
        _ => Ok(()),
    }
}

/// The file must lie beside the experiment or below it: an experiment is a text that travels.
fn check_published(source: Source<'_>, path: &str) -> Result<(), TomlError> {
    let plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if path.ends_with(".toml") && std::path::Path::new(path).components().all(plain) {
        return Ok(());
    }
    source.wrong(
        &["published"],
        format!("{path:?} is no path to a .toml file beside this one: write \"published/NAME.toml\"."),
    )
}

/// `2%`, and blocks that leave it something to decide.
fn precision(
    source: Source<'_>,
    text: Option<&str>,
    blocks: Option<Blocks>,
) -> Result<Option<f64>, TomlError> {
    let Some(text) = text else { return Ok(None) };
    let share = match crate::units::parse_precision(text) {
        Ok(share) => share,
        Err(why) => return source.wrong(&["precision"], why.to_string()),
    };
    if let Some(Blocks { min, max }) = blocks.filter(|b| b.min == b.max) {
        return source.wrong(
            &["blocks"],
            format!(
                "{min} blocks leave \"precision\" nothing to decide: write blocks = {{ min = {}, max = {} }}, or \
                 leave it out.",
                min.min(Blocks::ADAPTIVE.min),
                max.max(Blocks::ADAPTIVE.max)
            ),
        );
    }
    Ok(Some(share))
}

fn check_blocks(source: Source<'_>, path: &[&str], blocks: Blocks) -> Result<(), TomlError> {
    source.in_range(path, blocks.max, BLOCKS_MAX)?;
    source.in_range(path, blocks.min, BLOCKS_MAX)?;
    if blocks.min > blocks.max {
        return source
            .wrong(path, format!("min = {} is more than max = {}: swap them.", blocks.min, blocks.max));
    }
    Ok(())
}

fn plans(source: Source<'_>, load: &RawPlan, raw: &[RawPlan]) -> Result<Vec<ExperimentPlan>, TomlError> {
    if load.name.is_some() {
        return source.wrong(
            &["load", "name"],
            "[load] holds the defaults of all plans and has no name: name a [[plan]].",
        );
    }
    check_plan(source, &["load"], load)?;
    let mut plans: Vec<ExperimentPlan> = Vec::new();
    if raw.is_empty() {
        plans.extend(sweep(source, &["load"], load, load)?); // [load] alone is a plan
    }
    for (number, raw) in raw.iter().enumerate() {
        let number = number.to_string();
        let path = ["plan", number.as_str()];
        check_plan(source, &path, raw)?;
        for plan in sweep(source, &path, load, raw)? {
            if plans.iter().any(|p| p.name == plan.name) {
                return source.wrong(
                    &path,
                    format!("two plans are called {:?}: give one of them another \"name\".", plan.name),
                );
            }
            plans.push(plan);
        }
    }
    Ok(plans)
}

/// What can be said of a table's own values, with the line of each.
fn check_plan(source: Source<'_>, path: &[&str], raw: &RawPlan) -> Result<(), TomlError> {
    let key = |name| [path, &[name]].concat();
    if let Some(name) = &raw.name {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 40 || !name.chars().all(plain) {
            return source.wrong(
                &key("name"),
                format!("{name:?} is no plan's name: write 1 to 40 letters, digits, -, _ or dots."),
            );
        }
    }
    check_sweep(source, &key("connections"), raw.connections.as_ref())?;
    check_sweep(source, &key("rate"), raw.rate.as_ref())?;
    if let Some(connections) = &raw.connections {
        for value in connections.values().0 {
            source.in_range(&key("connections"), value, CONNECTIONS_MAX)?;
        }
    }
    if let Some(threads) = raw.threads {
        source.in_range(&key("threads"), threads, THREADS_MAX)?;
    }
    for (name, value) in [("duration", raw.duration), ("timeout", raw.timeout)] {
        positive(source, &key(name), value)?;
    }
    Ok(())
}

fn check_sweep<T: Copy>(
    source: Source<'_>,
    path: &[&str],
    list: Option<&OneOrMany<T>>,
) -> Result<(), TomlError> {
    let count = list.map_or(1, |list| list.values().0.len());
    let key = path.last().copied().unwrap_or_default();
    match count {
        0 => {
            source.wrong(path, format!("{key:?} is an empty list: write a value, or several to sweep over."))
        }
        n if n > SWEEP_MAX => {
            source.wrong(path, format!("{key:?} has {n} values: a sweep takes at most {SWEEP_MAX}."))
        }
        _ => Ok(()),
    }
}

fn positive(source: Source<'_>, path: &[&str], value: Option<DurationValue>) -> Result<(), TomlError> {
    let key = path.last().copied().unwrap_or_default();
    match value {
        Some(DurationValue(d)) if d.is_zero() => {
            source.wrong(path, format!("{key:?} is 0: write at least \"1ms\"."))
        }
        // The reader of durations keeps this already; the limit is the engine's.
        Some(DurationValue(d)) if d > DURATION_MAX => {
            source.wrong(path, format!("{key:?} is {}: a load may last a day at most.", show_duration(d)))
        }
        _ => Ok(()),
    }
}

/// The product of a plan's lists.
fn sweep(
    source: Source<'_>,
    path: &[&str],
    load: &RawPlan,
    raw: &RawPlan,
) -> Result<Vec<ExperimentPlan>, TomlError> {
    // Stages say themselves how much: a rate of [load] is not theirs.
    let staged = raw.stages.is_some() || (load.stages.is_some() && raw.rate.is_none());
    let searched = raw.capacity.is_some();
    let rates = raw.rate.as_ref().or(load.rate.as_ref()).filter(|_| !staged && !searched);
    let (rates, swept_r) = rates.map_or((vec![None], false), |r| {
        let (values, list) = r.values();
        (values.into_iter().map(Some).collect(), list)
    });
    let connections = raw.connections.as_ref().or(load.connections.as_ref()).map(OneOrMany::values);
    let mut plans = Vec::new();
    for given in rates {
        let rate = match given {
            None => None,
            Some(RateValue::PerS(rate)) => Some(rate),
            Some(RateValue::Share(_)) => Rate::per_s(1.0), // until its knee is known
        };
        let mut plan = common(source, path, load, raw, rate)?;
        plan.capacity = searched_for(source, path, raw)?;
        if let Some(RateValue::Share(share)) = given {
            plan.share = Some(share_of(source, path, raw, share)?);
        }
        let most = most_connections(&plan.arrivals);
        if most > 0 {
            plan.connections = most;
            plan.name = plan_name(raw.name.as_deref(), most, false, None, false);
            check_with_engine(source, path, &plan)?;
            plans.push(plan);
            continue;
        }
        let (counts, swept_c) = connections.clone().unwrap_or_else(|| (vec![plan.connections], false));
        for count in counts {
            let open = rate.is_some() || plan.capacity.is_some();
            check_shares(source, path, plan.threads, count, open)?;
            let name = match &plan.share {
                None => plan_name(raw.name.as_deref(), count, swept_c, rate, swept_r),
                Some(share) => {
                    let name = plan_name(raw.name.as_deref(), count, swept_c, None, false);
                    format!("{name}-{}pct", (share.share * 100.0 * 1e3).round() / 1e3)
                }
            };
            let plan = ExperimentPlan { name, connections: count, ..plan.clone() };
            check_with_engine(source, path, &plan)?;
            plans.push(plan);
        }
    }
    Ok(plans)
}

/// What all plans of a sweep share: the plan's own keys, else those of `[load]`.
fn common(
    source: Source<'_>,
    path: &[&str],
    load: &RawPlan,
    raw: &RawPlan,
    rate: Option<Rate>,
) -> Result<ExperimentPlan, TomlError> {
    let mut plan = ExperimentPlan::new(rate);
    plan.group.clone_from(&raw.name);
    plan.duration = raw.duration.or(load.duration).map_or(plan.duration, |d| d.0);
    plan.requests = raw.requests.or(load.requests);
    let warmup = raw.warmup.or(load.warmup);
    plan.warmup = warmup.map_or_else(|| default_warmup(plan.duration), |w| w.0);
    plan.threads = raw.threads.or(load.threads).unwrap_or(plan.threads);
    plan.timeout = raw.timeout.or(load.timeout).map_or(plan.timeout, |t| t.0);
    plan.keepalive = raw.keepalive.or(load.keepalive).unwrap_or(plan.keepalive);
    plan.pipeline = raw.pipeline.or(load.pipeline).unwrap_or(plan.pipeline);
    plan.spin = raw.spin.or(load.spin).unwrap_or(plan.spin);
    plan.user_clock = raw.user_clock.or(load.user_clock).unwrap_or(plan.user_clock);
    let body = raw.body.as_ref().or(load.body.as_ref());
    let method = raw.method.clone().or_else(|| load.method.clone());
    plan.method = method.unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.to_owned());
    plan.headers = raw.headers.as_ref().or(load.headers.as_ref()).map_or_else(Vec::new, |headers| {
        headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    });
    if let Some(why) = plan.headers.iter().find_map(|(name, value)| written_secret(name, value)) {
        let own = if raw.headers.is_some() { path } else { &["load"][..] };
        return source.wrong(&[own, &["headers"]].concat(), why);
    }
    plan.body = body.map_or_else(Vec::new, |text| text.clone().into_bytes());
    if let Some(stages) = raw.stages.as_ref().or(load.stages.as_ref()).filter(|_| raw.rate.is_none()) {
        let key = [path, &["stages"]].concat();
        match parse_stages(stages) {
            Err(why) => return source.wrong(&key, why.to_string()),
            Ok(_) if stages.is_empty() => {
                return source.wrong(&key, "\"stages\" is empty: write [\"60s:5000c\"], or remove it.");
            }
            Ok(arrivals) => plan.arrivals = arrivals,
        }
        let whole: Duration = plan.arrivals.stages().unwrap_or_default().iter().map(|s| s.duration).sum();
        plan.warmup = raw.warmup.map_or(Duration::ZERO, |w| w.0);
        plan.duration = whole.saturating_sub(plan.warmup);
    }
    let kind = raw.arrivals.as_deref().or(load.arrivals.as_deref().filter(|_| raw.stages.is_none()));
    match (kind, plan.rate()) {
        (None, _) | (Some("constant"), Some(_)) | (Some("closed"), None) => {}
        (Some("poisson"), Some(rate)) => plan.arrivals = Arrivals::Poisson(rate),
        (Some(kind @ ("constant" | "poisson")), None) => {
            return source.wrong(
                &[path, &["arrivals"]].concat(),
                format!("{kind} arrivals need a \"rate\": write one."),
            );
        }
        (Some(other), _) => {
            return source.wrong(
                &[path, &["arrivals"]].concat(),
                format!("{other:?} does not go here: write \"constant\" or \"poisson\" beside a \"rate\"."),
            );
        }
    }
    Ok(plan)
}

/// What only the engine knows is refused here, and not at the first trial.
fn check_with_engine(source: Source<'_>, path: &[&str], plan: &ExperimentPlan) -> Result<(), TomlError> {
    let target =
        Target { host: "127.0.0.1".to_owned(), port: 80, path: "/".to_owned(), userinfo: None, tls: false };
    match plan.aimed(target, Expect::default(), &[], 1).check() {
        Ok(()) => Ok(()),
        Err(why) => source.wrong(path, why.to_string()),
    }
}

fn check_shares(
    source: Source<'_>,
    path: &[&str],
    threads: u32,
    connections: u32,
    at_a_rate: bool,
) -> Result<(), TomlError> {
    if let Err(why) = prony_load::plan::check_threads(threads, connections, at_a_rate) {
        return source.wrong(path, why.0);
    }
    if at_a_rate && !connections.is_multiple_of(threads) {
        return source.wrong(
            path,
            format!(
                "{threads} threads cannot share {connections} connections evenly, as they must at a rate: \
                 write \"connections\" as a multiple of \"threads\"."
            ),
        );
    }
    Ok(())
}

fn scale(source: Source<'_>, name: &str, raw: &RawScale) -> Result<Scale, TomlError> {
    positive(source, &["scale", name, "duration"], raw.duration)?;
    if let Some(blocks) = raw.blocks {
        check_blocks(source, &["scale", name, "blocks"], blocks)?;
    }
    if raw.only.as_ref().is_some_and(Vec::is_empty) {
        return source
            .wrong(&["scale", name, "only"], "\"only\" is empty: name the plans to keep, or remove it.");
    }
    Ok(Scale {
        duration: raw.duration.map(|d| d.0),
        warmup: raw.warmup.map(|d| d.0),
        blocks: raw.blocks,
        only: raw.only.clone(),
    })
}
