//! From an experiment's words to candidates that can run here, and reasons for those that can't.

use std::sync::Arc;

use prony_model::run_log::Skipped;

use super::BenchCandidate;
use crate::candidate::{Candidate, Layout, server_name};
use crate::catalogue::Catalogue;
use crate::container::Engine;
use crate::experiment::{Experiment, ExperimentPlan};
use crate::provision;
use crate::server_host::{Found, ServerHost};

#[derive(Debug, Clone)]
pub struct Resolved {
    pub candidates: Vec<BenchCandidate>,
    pub skipped: Vec<Skipped>,
    pub baseline: Option<String>,
    /// The experiment, what it says of labels being said of those of its candidates.
    pub experiment: Experiment,
}

/// Looks candidates up, for another host or an engine where there is one: whether they are installed, their versions.
pub fn resolve(
    experiment: &Experiment,
    catalogue: &Catalogue,
    layout: &Layout,
    engine: Option<&Arc<Engine>>,
    host: Option<&Arc<ServerHost>>,
) -> Result<Resolved, String> {
    let experiment = experiment.with_canonical_labels(catalogue);
    let (mut candidates, mut skipped, mut baseline) = (Vec::<BenchCandidate>::new(), Vec::new(), None);
    for written in &experiment.candidates {
        let mut skip = |label: &str, reason: String, mend: Option<String>| {
            skipped.push(Skipped { candidate: label.to_owned(), reason, mend });
        };
        let candidate = match Candidate::parse(written, catalogue) {
            Ok(candidate) => match engine {
                Some(engine) => candidate.in_container(engine),
                None => candidate,
            },
            Err(why) if catalogue.broken.iter().any(|broken| broken.name == server_name(written)) => {
                skip(written, why, None);
                continue;
            }
            Err(unknown) => return Err(unknown),
        };
        let label = candidate.label().to_owned();
        if experiment.baseline.as_ref() == Some(written) {
            baseline = Some(label.clone());
        }
        if candidates.iter().any(|c| c.candidate == candidate) {
            skip(written, format!("It is the same as {label}, which runs already."), None);
            continue;
        }
        let (plans, has) =
            (&experiment.plans, |plan: &&ExperimentPlan| experiment.has_route(&candidate, plan));
        if let Some(first) = plans.first().filter(|_| !plans.iter().any(|plan| has(&plan))) {
            let route = first.route.unwrap_or(experiment.route).to_string();
            skip(&label, format!("Its recipe has no route {route:?}."), None);
            continue;
        }
        if candidate.workers(2) > 1 && experiment.workers_of(None, &label).is_none() {
            let why = "Its source does not say how many workers it had: write workers = N in its [[row]]s there, or \
                       another \"workers\" in the experiment.";
            skip(&label, why.to_owned(), None);
            continue;
        }
        let found =
            match host.map_or_else(|| Ok(found_here(&candidate, layout)), |host| host.find(&candidate)) {
                Ok(found) => found,
                Err(why) => {
                    skip(&label, why, None);
                    continue;
                }
            };
        if let Some(first) = found.missing.first() {
            let what: Vec<&str> = found.missing.iter().map(|m| m.what.as_str()).collect();
            skip(&label, format!("Not installed: {}.", what.join(", ")), Some(first.mend.clone()));
            continue;
        }
        let (answered, without): (Vec<&ExperimentPlan>, Vec<_>) = plans.iter().partition(has);
        if let Some(first) = without.first() {
            let route = first.route.unwrap_or(experiment.route).to_string();
            skip(&label, format!("Not in {}: its recipe has no route {route:?}.", names_of(&without)), None);
        }
        let unspoken: Vec<&ExperimentPlan> =
            answered.into_iter().filter(|plan| !candidate.speaks(plan.load.protocol)).collect();
        if let Some(why) = not_spoken(&candidate, &unspoken) {
            skip(&label, why, None);
        }
        if !plans.iter().any(|plan| experiment.asks(&candidate, plan)) {
            continue;
        }
        let version = found.version;
        candidates.push(BenchCandidate::new(candidate, version));
    }
    Ok(Resolved { candidates, skipped, baseline, experiment })
}

pub(crate) fn found_here(candidate: &Candidate, layout: &Layout) -> Found {
    let missing = provision::missing(candidate, layout);
    if !missing.is_empty() {
        return Found { missing, version: None };
    }
    let version = candidate.version(layout);
    // The engine is a part of what is measured: a run is not gone on with by another, nor natively.
    let version = match candidate.engine() {
        Some(engine) => {
            Some(format!("{} in {}", version.as_deref().unwrap_or("version unknown"), engine.describe()))
        }
        None => version,
    };
    Found { missing, version }
}

fn names_of(plans: &[&ExperimentPlan]) -> String {
    plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// That it takes no part in these plans, whose protocol it does not speak; `None` where there are none.
fn not_spoken(candidate: &Candidate, plans: &[&ExperimentPlan]) -> Option<String> {
    let protocol = plans.first()?.load.protocol;
    let name = protocol.id(candidate.tls());
    let others = candidate.with_each_setting();
    let like_it = others.iter().find(|other| other.tls() == candidate.tls() && other.speaks(protocol));
    let over_tls = others.iter().find(|other| other.speaks(protocol));
    let other = match (like_it, over_tls) {
        (Some(other), _) => format!(" ({} does)", other.label()),
        (None, Some(other)) if other.tls() => format!(" ({} does over TLS)", other.label()),
        _ => String::new(),
    };
    Some(format!("Not in {}: by its recipe it does not speak {name}{other}.", names_of(plans)))
}
