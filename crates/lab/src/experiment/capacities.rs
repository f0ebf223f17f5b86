//! Plans that search for a capacity, and rates that are shares of one: reading and checking.

use prony_analysis::slo::Slo;
use prony_model::run_log::ShareOf;

use super::published::knee_of;
use super::{ExperimentPlan, TomlError, TomlFile, suggest};
use prony_model::options::LoadOptions;
use prony_model::units::Share;

/// What a search must keep; `None` where the plan is a load.
pub(super) fn searched_for(
    file: TomlFile<'_>,
    path: &[&str],
    load: &LoadOptions,
    raw: &LoadOptions,
) -> Result<Option<Vec<Slo>>, TomlError> {
    let Some(text) = &raw.capacity else { return Ok(None) };
    let key = [path, &["capacity"]].concat();
    let why = "a search for a capacity finds its own rates: remove \"rate\" or \"capacity\".";
    file.refuse_if(raw.rate.is_some(), &[path, &["rate"]].concat(), why)?;
    // Of what [load] has for all plans, a search leaves out what it has no use for; but in a pipeline it would be loaded.
    let LoadOptions { protocol, pipeline, .. } =
        raw.or(load).map_err(|why| file.error(path, why.to_string()))?;
    if let Some((option, why)) = (LoadOptions { protocol, pipeline, ..raw.clone() }).unfit_for_search() {
        return file.refuse(&[path, &[option]].concat(), format!("{option:?} {why}"));
    }
    if text.trim() == "default" {
        return Ok(Some(Vec::new()));
    }
    let slos: Result<Vec<Slo>, _> = text.split(',').map(Slo::parse_for_a_search).collect();
    slos.map(Some).or_else(|why| file.refuse(&key, why.to_string()))
}

pub(super) fn share_of(
    file: TomlFile<'_>,
    path: &[&str],
    raw: &LoadOptions,
    share: Share,
) -> Result<ShareOf, TomlError> {
    let Some(text) = &raw.of else {
        return file.refuse(
            &[path, &["rate"]].concat(),
            "a rate in percent is a share of a measured capacity: add of = \"CANDIDATE PLAN\", a plan that has \"capacity\".",
        );
    };
    match knee_of(text) {
        Some(of) => Ok(ShareOf { share: share.as_ratio(), of }),
        None => file.refuse(
            &[path, &["of"]].concat(),
            format!("{text:?} names no capacity: write a candidate and a plan that searches for it, \"amphp:opcache knee\"."),
        ),
    }
}

/// Every share's knee must be found by a plan of as many connections, for a candidate of the experiment.
pub(super) fn check_shares(
    file: TomlFile<'_>,
    candidates: &[String],
    plans: &[ExperimentPlan],
) -> Result<(), TomlError> {
    for plan in plans {
        let Some(share) = &plan.share else { continue };
        if !candidates.contains(&share.of.candidate) {
            let hint = suggest(&share.of.candidate, candidates.iter().map(String::as_str));
            let why =
                format!("{:?} of {} is not among the candidates: {hint}", share.of.candidate, plan.name);
            return file.refuse(&["plan"], why);
        }
        let finds = |p: &ExperimentPlan| {
            p.capacity.is_some()
                && p.group.as_deref() == Some(share.of.plan.as_str())
                && p.load.connections == plan.load.connections
        };
        let why = format!(
            "{} needs a plan named {:?} with \"capacity\" and {} connections: write one.",
            plan.name, share.of.plan, plan.load.connections
        );
        file.refuse_if(!plans.iter().any(finds), &["plan"], why)?;
    }
    Ok(())
}
