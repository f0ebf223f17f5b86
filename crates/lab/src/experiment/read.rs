//! From the file as written to the experiment as meant: defaults, sweeps, checks.

use std::io::Read;

use prony_model::foreign_file;
use prony_model::options::LoadOptions;
use prony_model::rate::Rate;
use prony_model::units::{OneOrMany, RateValue};
use prony_model::{Plan, PlanError, Target};

use super::capacities::{check_shares, searched_for, share_of};
use super::raw::RawExperiment;
use super::routes;
use super::{
    BLOCKS_MAX, Blocks, CORES_MAX, Experiment, ExperimentPlan, SCHEMA, Scale, TRIALS_MAX, TomlError,
    TomlFile, WorkerPolicy, plan_name, suggest,
};
use crate::check::{Route, validate_checks, written_field, written_secret};
use crate::service;

const SWEEP_MAX: usize = 100;

fn in_range(file: TomlFile<'_>, path: &[&str], value: u32, most: u32) -> Result<(), TomlError> {
    let key = path.last().copied().unwrap_or_default();
    let why = format!("{key:?} is {value}: write a number from 1 to {most}.");
    file.refuse_if(!(1..=most).contains(&value), path, why)
}

pub(super) fn experiment(
    name: &str,
    file: TomlFile<'_>,
    raw: RawExperiment,
) -> Result<Experiment, TomlError> {
    check_head(file, &raw)?;
    let server_cores = raw.server_cores.unwrap_or(1);
    in_range(file, &["server_cores"], server_cores, CORES_MAX)?;
    check_workers(file, &["workers"], raw.workers, &raw)?;
    let route = raw.route.unwrap_or(Route::Text);
    let why = match Route::LOADED.contains(&route) {
        true => format!("the route \"{route}\" is that of plans: write it in [load] or a [[plan]]."),
        false => format!("the route \"{route}\" is checked but not loaded: write \"text\" or \"json\"."),
    };
    file.refuse_if(!matches!(route, Route::Text | Route::Json), &["route"], why)?;
    let precision = precision(file, raw.precision.as_deref(), raw.blocks)?;
    let usual = if precision.is_some() { Blocks::ADAPTIVE } else { Blocks { min: 5, max: 5 } };
    let blocks = raw.blocks.unwrap_or(usual);
    check_blocks(file, &["blocks"], blocks)?;
    let budget = raw.budget.map(|b| b.0);
    file.refuse_if(
        budget.is_some_and(|b| b.is_zero()),
        &["budget"],
        "a \"budget\" of 0 allows no trial: write how long the run may take, 30m.",
    )?;
    let mut plans = plans(file, &raw)?;
    let candidates = all_candidates(&raw.candidates, &mut plans);
    let named = plans.iter().position(|plan| plan.route.is_some()).filter(|_| !raw.check.is_empty());
    let why = "a [[check]] replaces the contract, and says what is requested: remove the plans' \"route\".";
    file.refuse_if(named.is_some(), &["check"], why)?;
    check_shares(file, &candidates, &plans)?;
    let trials =
        (candidates.len() as u64 + u64::from(raw.controls)) * plans.len() as u64 * u64::from(blocks.max);
    let why = format!(
        "the experiment has {trials} trials, more than {TRIALS_MAX}: take fewer plans, candidates or blocks."
    );
    file.refuse_if(trials > TRIALS_MAX, &["blocks"], why)?;
    service::check(&raw.service, &[]).map_err(|why| file.error(&["service"], why))?;
    routes::check_services(file, plans.iter().filter_map(|plan| plan.route), &raw.service)?;
    let reset = service::reset_of(raw.reset.clone(), raw.reset_timeout, &raw.service)
        .map_err(|(key, why)| file.error(&[key], why))?;
    let experiment = Experiment {
        name: name.to_owned(),
        text: file.text.to_owned(),
        title: raw.title.unwrap_or_else(|| name.to_owned()),
        candidates,
        baseline: raw.baseline,
        route,
        server_host: raw.server_host,
        server_cores,
        workers: raw.workers.unwrap_or(WorkerPolicy::ServerCores),
        blocks,
        budget,
        seed: raw.seed.unwrap_or(1),
        plans,
        published: None,
        precision,
        controls: raw.controls,
        published_path: raw.published,
        checks: raw.check,
        redact: Vec::new(),
        services: raw.service,
        reset,
        scales: raw.scale,
    };
    experiment.scales.iter().try_for_each(|(name, scale)| check_scale(file, name, scale))?;
    for (name, scale) in &experiment.scales {
        let scaled = experiment.scaled(name).map_err(|why| file.error(&["scale", name, "only"], why))?;
        let cannot = scaled.plans.iter().find_map(|plan| plan.load.check().err());
        let key = if scale.duration.is_some() { "duration" } else { "warmup" };
        cannot.map_or(Ok(()), |why| file.refuse(&["scale", name, key], why.to_string()))?;
    }
    Ok(experiment)
}

fn check_head(file: TomlFile<'_>, raw: &RawExperiment) -> Result<(), TomlError> {
    file.refuse_if(
        raw.schema != SCHEMA,
        &["schema"],
        format!(
            "the schema is {:?} and this Prony reads {SCHEMA:?}: use the version it was written for.",
            raw.schema
        ),
    )?;
    if let Some(path) = &raw.published {
        check_published(file, path)?;
    }
    validate_checks(file, &raw.check)?;
    let why = "\"route\" says which part of the contract is loaded, and [[check]] replaces the contract: remove \
               one.";
    file.refuse_if(raw.route.is_some() && !raw.check.is_empty(), &["route"], why)?;
    check_candidates(file, raw)?;
    let why = "\"server_host\" names no host: write \"ssh:HOST\", or \"ssh:HOST=ADDRESS\" with the address there that servers are to \
               listen on.";
    file.refuse_if(
        raw.server_host.as_ref().is_some_and(|host| !host.starts_with("ssh:")),
        &["server_host"],
        why,
    )
}

fn check_workers(
    file: TomlFile<'_>,
    path: &[&str],
    workers: Option<WorkerPolicy>,
    raw: &RawExperiment,
) -> Result<(), TomlError> {
    if let Some(WorkerPolicy::Fixed(workers)) = workers {
        in_range(file, path, workers, CORES_MAX)?;
    }
    let why = "workers = \"source\" needs a \"published\" whose rows say how many workers each server had: name one, or \
               write a number or \"server_cores\".";
    file.refuse_if(workers == Some(WorkerPolicy::Source) && raw.published.is_none(), path, why)
}

fn check_candidates(file: TomlFile<'_>, raw: &RawExperiment) -> Result<(), TomlError> {
    labels(file, &["candidates"], &raw.candidates)?;
    let why = "the candidates of all plans stand above them: remove it, or write it in a [[plan]].";
    file.refuse_if(raw.load.candidates.is_some(), &["load", "candidates"], why)?;
    for (number, plan) in raw.plan.iter().enumerate() {
        let number = number.to_string();
        plan.candidates.iter().try_for_each(|own| labels(file, &["plan", &number, "candidates"], own))?;
    }
    let Some(baseline) = &raw.baseline else { return Ok(()) };
    let hint = suggest(baseline, raw.candidates.iter().map(String::as_str));
    let why = format!("the baseline {baseline:?} is not among the candidates: {hint}");
    file.refuse_if(!raw.candidates.contains(baseline), &["baseline"], why)
}

/// At least one candidate, each with a name and named once.
fn labels(file: TomlFile<'_>, path: &[&str], labels: &[String]) -> Result<(), TomlError> {
    let why = "\"candidates\" is empty: name at least one, as `prony servers list` does.";
    file.refuse_if(labels.is_empty(), path, why)?;
    for (at, label) in labels.iter().enumerate() {
        file.refuse_if(label.trim().is_empty(), path, "a candidate's name is empty: remove it.")?;
        let why = format!("{label:?} is named twice: each candidate runs once a block.");
        file.refuse_if(labels[..at].contains(label), path, why)?;
    }
    Ok(())
}

/// All candidates of an experiment: those of its list, which take part in the plans that name none of their own, and those
/// that only some plans name.
fn all_candidates(listed: &[String], plans: &mut [ExperimentPlan]) -> Vec<String> {
    let mut all = listed.to_vec();
    for label in plans.iter().flat_map(|plan| plan.candidates.iter().flatten()) {
        if !all.contains(label) {
            all.push(label.clone());
        }
    }
    if plans.iter().any(|plan| plan.candidates.is_some()) {
        for plan in plans.iter_mut().filter(|plan| plan.candidates.is_none()) {
            plan.candidates = Some(listed.to_vec());
        }
    }
    all
}

/// The file must lie beside the experiment or below it: an experiment is a text that travels.
fn check_published(file: TomlFile<'_>, path: &str) -> Result<(), TomlError> {
    let plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    let beside = path.ends_with(".toml") && std::path::Path::new(path).components().all(plain);
    let why =
        format!("{path:?} is not a path to a .toml file beside this one: write \"published/NAME.toml\".");
    file.refuse_if(!beside, &["published"], why)
}

/// `2%`, and blocks that leave it something to decide.
fn precision(
    file: TomlFile<'_>,
    text: Option<&str>,
    blocks: Option<Blocks>,
) -> Result<Option<f64>, TomlError> {
    let Some(text) = text else { return Ok(None) };
    let share = prony_model::units::parse_precision(text)
        .map_err(|why| file.error(&["precision"], why.to_string()))?;
    if let Some(Blocks { min, max }) = blocks.filter(|b| b.min == b.max) {
        return file.refuse(
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

fn check_blocks(file: TomlFile<'_>, path: &[&str], blocks: Blocks) -> Result<(), TomlError> {
    in_range(file, path, blocks.max, BLOCKS_MAX)?;
    in_range(file, path, blocks.min, BLOCKS_MAX)?;
    file.refuse_if(
        blocks.min > blocks.max,
        path,
        format!("min = {} is more than max = {}: swap them.", blocks.min, blocks.max),
    )?;
    Ok(())
}

fn plans(file: TomlFile<'_>, raw: &RawExperiment) -> Result<Vec<ExperimentPlan>, TomlError> {
    let (load, tls) = (&raw.load, raw.candidates.iter().any(|label| speaks_tls(label)));
    file.refuse_if(
        load.name.is_some(),
        &["load", "name"],
        "[load] holds the defaults of all plans and has no name: name a [[plan]].",
    )?;
    check_plan(file, &["load"], load)?;
    check_workers(file, &["load", "workers"], load.workers, raw)?;
    let mut plans: Vec<ExperimentPlan> = Vec::new();
    if raw.plan.is_empty() {
        plans.extend(sweep(file, &["load"], load, load, tls)?); // [load] alone is a plan
    }
    for (number, plan) in raw.plan.iter().enumerate() {
        let number = number.to_string();
        let path = ["plan", number.as_str()];
        check_plan(file, &path, plan)?;
        check_workers(file, &["plan", &number, "workers"], plan.workers, raw)?;
        for plan in sweep(file, &path, load, plan, tls)? {
            file.refuse_if(
                plans.iter().any(|p| p.name == plan.name),
                &path,
                format!("two plans are called {:?}: give one of them another \"name\".", plan.name),
            )?;
            plans.push(plan);
        }
    }
    Ok(plans)
}

/// What can be said of a table's own values, with the line of each.
fn check_plan(file: TomlFile<'_>, path: &[&str], raw: &LoadOptions) -> Result<(), TomlError> {
    let key = |name| [path, &[name]].concat();
    check_name(file, path, raw)?;
    file.refuse_if(
        raw.seed.is_some(),
        &key("seed"),
        "the seed is the experiment's: write it above the plans.",
    )?;
    let why = "an experiment's servers listen on a port: remove it, or use --candidate and --unix.";
    file.refuse_if(raw.unix.is_some(), &key("unix"), why)?;
    let why = "an experiment's servers are where Prony starts them: remove it, or use --candidate URL.";
    file.refuse_if(raw.connect_to.is_some(), &key("connect_to"), why)?;
    check_sweep(file, &key("connections"), raw.connections.as_ref())?;
    check_sweep(file, &key("rate"), raw.rate.as_ref())
}

pub(crate) fn check_name(file: TomlFile<'_>, path: &[&str], raw: &LoadOptions) -> Result<(), TomlError> {
    let Some(name) = &raw.name else { return Ok(()) };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = (1..=40).contains(&name.len()) && name.chars().all(plain);
    let why = format!("{name:?} cannot be a plan's name: write 1 to 40 letters, digits, -, _ or dots.");
    file.refuse_if(!is_name, &[path, &["name"]].concat(), why)
}

fn check_sweep<T: Copy>(
    file: TomlFile<'_>,
    path: &[&str],
    list: Option<&OneOrMany<T>>,
) -> Result<(), TomlError> {
    let count = list.map_or(1, |list| list.values().0.len());
    let key = path.last().copied().unwrap_or_default();
    let why = format!("{key:?} is an empty list: write a value, or several to sweep over.");
    file.refuse_if(count == 0, path, why)?;
    let why = format!("{key:?} has {count} values: a sweep takes at most {SWEEP_MAX}.");
    file.refuse_if(count > SWEEP_MAX, path, why)
}

fn sweep(
    file: TomlFile<'_>,
    path: &[&str],
    load: &LoadOptions,
    raw: &LoadOptions,
    tls: bool,
) -> Result<Vec<ExperimentPlan>, TomlError> {
    check_secrets(file, path, load, raw)?;
    let capacity = searched_for(file, path, load, raw)?;
    let why = "\"of\" says which capacity a rate in percent is a share of: add rate = \"50%\", or remove it.";
    let of_share = |rate: &RateValue| matches!(rate, RateValue::Share(_));
    let is_share = raw.rate.as_ref().is_some_and(|rates| rates.values().0.iter().any(of_share));
    file.refuse_if(raw.of.is_some() && !is_share, &[path, &["of"]].concat(), why)?;
    let meant = with_defaults(load, raw).map_err(|why| file.error(path, why.to_string()))?;
    let given_arrivals = raw.arrivals.is_some() || load.arrivals.is_some();
    let (rates, swept_r) = values(meant.rate.as_ref());
    let (counts, swept_c) = values(meant.connections.as_ref());
    let route =
        meant.route.as_deref().map(|name| routes::loaded(file, path, (raw, &meant), name)).transpose()?;
    let mut plans = Vec::new();
    for rate in rates {
        let share = match rate {
            Some(RateValue::Share(share)) => Some(share_of(file, path, raw, share)?),
            _ => None,
        };
        for count in &counts {
            let mut load = match one_load(&meant, *count, rate, tls) {
                Ok(load) => load,
                Err(why) => {
                    // The key without which it could be run is the one that is wrong.
                    let could = |key: &String| {
                        let meant = with_defaults(&load.without(key)?, &raw.without(key)?)?;
                        one_load(&meant, count.filter(|_| key != "connections"), rate, tls)
                    };
                    let own = raw.given();
                    let key = own.iter().chain(&load.given()).find(|key| could(key).is_ok()).cloned();
                    let table =
                        if key.as_ref().is_some_and(|key| !own.contains(key)) { &["load"][..] } else { path };
                    let key: Vec<&str> = key.iter().map(String::as_str).collect();
                    return file.refuse(&[table, &key].concat(), why.to_string());
                }
            };
            if let Some(route) = route {
                routes::aim(&mut load, route).map_err(|why| file.error(path, why.to_string()))?;
            }
            let (given, connections) = (raw.name.as_deref(), load.connections);
            let rate = load.arrivals.rate().filter(|_| capacity.is_none());
            let name = match &share {
                None => plan_name(given, connections, swept_c, rate, swept_r),
                Some(share) => {
                    let name = plan_name(given, connections, swept_c, None, false);
                    format!("{name}-{}pct", (share.share * 100.0 * 1e3).round() / 1e3)
                }
            };
            let (group, capacity, share) = (raw.name.clone(), capacity.clone(), share.clone());
            let (workers, arrivals_given) = (meant.workers, given_arrivals);
            let candidates = raw.candidates.clone();
            plans.push(ExperimentPlan {
                name,
                group,
                load,
                capacity,
                share,
                workers,
                arrivals_given,
                route,
                candidates,
            });
        }
    }
    Ok(plans)
}

/// A plan's own keys, and those of `[load]`; a search finds its own rates.
fn with_defaults(load: &LoadOptions, raw: &LoadOptions) -> Result<LoadOptions, PlanError> {
    let meant = LoadOptions { name: None, of: None, ..raw.or(load)? };
    Ok(match meant.capacity {
        Some(_) => LoadOptions { capacity: None, rate: None, stages: None, ..meant }.for_search(),
        None => meant,
    })
}

fn one_load(
    meant: &LoadOptions,
    connections: Option<u32>,
    rate: Option<RateValue>,
    tls: bool,
) -> Result<Plan, PlanError> {
    let rate = rate.and_then(|rate| match rate {
        RateValue::Share(_) => Rate::per_s(1.0).map(RateValue::PerS), // until its capacity is known
        RateValue::PerS(_) => Some(rate),
    });
    let (connections, rate) = (connections.map(OneOrMany::One), rate.map(OneOrMany::One));
    LoadOptions { connections, rate, ..meant.clone() }.plan(Some(nowhere(tls)), &read_file)
}

/// What a sweep goes through; one load with the default where nothing is given.
fn values<T: Copy>(given: Option<&OneOrMany<T>>) -> (Vec<Option<T>>, bool) {
    given.map_or((vec![None], false), |given| {
        let (values, is_list) = given.values();
        (values.into_iter().map(Some).collect(), is_list)
    })
}

fn nowhere(tls: bool) -> Target {
    Target { host: "127.0.0.1".to_owned(), port: 80, path: "/".to_owned(), userinfo: None, tls }
}

fn speaks_tls(label: &str) -> bool {
    label.split([':', '+']).skip(1).any(|setting| matches!(setting.trim(), "tls" | "tls=yes"))
}

/// A file that a plan names; its path is seen from the folder that Prony was started in, as a flag's is. The file that
/// names it may be somebody else's, so that it is no pipe or device.
fn read_file(path: &str, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = foreign_file::open(path.as_ref()).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|e| e.to_string())
}

/// Run logs keep the file: a secret is not written into it.
fn check_secrets(
    file: TomlFile<'_>,
    path: &[&str],
    load: &LoadOptions,
    raw: &LoadOptions,
) -> Result<(), TomlError> {
    for (own, options) in [(path, raw), (&["load"][..], load)] {
        let mut headers = options.headers.iter().flatten();
        let secret =
            headers.find_map(|h| written_secret(&h.name, h.value.as_deref().unwrap_or_default(), &[]));
        if let Some(why) = secret {
            return file.refuse(&[own, &["headers"]].concat(), why);
        }
        let texts = [
            ("body", options.body.as_slice()),
            ("expect_body", options.expect_body.as_slice()),
            ("expect_json", options.expect_json.as_deref().unwrap_or_default()),
            ("form", options.form.as_deref().unwrap_or_default()),
            ("form_urlencoded", options.form_urlencoded.as_deref().unwrap_or_default()),
            ("generate", options.generate.as_deref().unwrap_or_default()),
        ];
        for (key, text) in texts.into_iter().flat_map(|(key, all)| all.iter().map(move |text| (key, text))) {
            if let Some(why) = written_field(key, text) {
                return file.refuse(&[own, &[key]].concat(), why);
            }
        }
    }
    Ok(())
}

fn check_scale(file: TomlFile<'_>, name: &str, scale: &Scale) -> Result<(), TomlError> {
    if let Some(blocks) = scale.blocks {
        check_blocks(file, &["scale", name, "blocks"], blocks)?;
    }
    file.refuse_if(
        scale.only.as_ref().is_some_and(Vec::is_empty),
        &["scale", name, "only"],
        "\"only\" is empty: name the plans to keep, or remove it.",
    )?;
    Ok(())
}
