//! A run log's header, and whether a log's header is this run's.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::SystemTime;

use prony_model::Target;
use prony_model::fleet::FleetRecord;
use prony_model::plan::Expect;
use prony_model::run_log::{
    CandidateFacts, CandidateRecord, Control, Header, NamedPlan, PlannedTrial, PrecisionRecord, RunLog,
    SCHEMA, ServiceRecord, Setting, TrialResult,
};
use prony_model::secret::{REDACTED, redacted_command};
use prony_model::units::nanoseconds;
use prony_model::{Tool, rfc3339};

use super::planned_trial::Trial;
use super::request_spec::RequestSpec;
use super::{BenchCandidate, BenchSetup, CpuHalves, order};
use crate::experiment::{Experiment, ExperimentPlan};
use crate::service::Service;

pub fn header(setup: &BenchSetup) -> Header {
    let experiment = &setup.experiment;
    Header {
        schema: SCHEMA.to_owned(),
        tool: Tool::this(),
        created_at: rfc3339(SystemTime::now()),
        name: experiment.name.clone(),
        one_by_one: false,
        title: experiment.title.clone(),
        reproduce: setup.reproduce.clone(),
        host: setup.host.clone(),
        seed: experiment.seed,
        blocks: experiment.blocks.max,
        budget_ns: experiment.budget.map(nanoseconds),
        baseline: setup.baseline.clone(),
        server_cpus: setup.pins.server.clone(),
        client_cpus: setup.pins.client.clone(),
        candidates: setup.candidates.iter().map(|c| candidate_record(c, setup)).collect(),
        skipped: setup.skipped.clone(),
        plans: named_plans(setup),
        order: order(setup),
        experiment_toml: Some(experiment.text.clone()).filter(|text| !text.is_empty()),
        published: experiment.published.clone(),
        commit: prony_host::commit::current(),
        precision: experiment
            .precision
            .map(|share| PrecisionRecord { share, blocks_min: experiment.blocks.min }),
        duet: setup.duet.as_ref().map(CpuHalves::record),
        server_host: setup.server_host.as_ref().map(|host| host.record()),
        services: experiment.services.iter().map(Service::record).collect(),
        service_cpus: setup.service_cpus.clone(),
        reset: reset_record(setup),
    }
}

fn order(setup: &BenchSetup) -> Vec<PlannedTrial> {
    let loaded = |candidates: &mut dyn Iterator<Item = &BenchCandidate>, control| -> Vec<_> {
        candidates.map(|c| (c.candidate.label().to_owned(), control)).collect()
    };
    let candidates = loaded(&mut setup.candidates.iter(), None);
    let Experiment { plans, blocks, seed, .. } = &setup.experiment;
    if setup.duet.is_some() {
        // Half a duet is none.
        let asked = |plan: &&ExperimentPlan| {
            setup.candidates.iter().all(|c| setup.experiment.asks(&c.candidate, plan))
        };
        let plans: Vec<String> = plans.iter().filter(asked).map(|plan| plan.name.clone()).collect();
        return order::order_of_duets(&candidates, &plans, blocks.max, *seed);
    }
    let twin = loaded(&mut setup.twin().into_iter(), Some(Control::Twin));
    let all = [candidates, twin].concat();
    let mut order = order::order_in_phases(&all, &setup.experiment.phases(), blocks.max, *seed);
    order.retain(|planned| Trial::of(setup, planned).is_some_and(|trial| trial.is_run(&setup.experiment)));
    for (index, trial) in (0..).zip(&mut order) {
        trial.index = index;
    }
    order
}

fn reset_record(setup: &BenchSetup) -> Option<String> {
    setup.experiment.reset.as_ref().map(|reset| redacted_command(&reset.command))
}

fn candidate_record(c: &BenchCandidate, setup: &BenchSetup) -> CandidateRecord {
    let candidate = &c.candidate;
    // A command without {workers} was told nothing, and a URL never is.
    let told = candidate.server().is_some()
        || (candidate.as_url().is_none() && candidate.title().contains("{workers}"));
    CandidateRecord {
        label: candidate.label().to_owned(),
        facts: CandidateFacts {
            title: candidate.title().to_owned(),
            language: candidate.language().map(str::to_owned),
            kind: candidate.kind().map(|kind| kind.to_string()),
            version: c.version.clone(),
            workers: told.then(|| setup.workers(c, None)),
            keepalive: candidate.keepalive().unwrap_or(true),
        },
        settings: candidate
            .settings()
            .into_iter()
            .map(|(axis, value)| Setting { axis: axis.to_owned(), value: value.into_owned() })
            .collect(),
        sleep: None,
    }
}

/// The experiment's plans as they are stored, aimed at a placeholder without a port.
pub fn named_plans(setup: &BenchSetup) -> Vec<NamedPlan> {
    let experiment = &setup.experiment;
    let first = setup.candidates.first();
    let spec = first.map(|c| RequestSpec::of(&c.candidate, experiment));
    let path = experiment.route.path().to_owned();
    let tls = setup.candidates.iter().any(|c| c.candidate.tls());
    let address = setup.server_host.as_ref().map_or(Ipv4Addr::LOCALHOST, |host| host.address());
    let target = Target { host: address.to_string(), port: 80, path, userinfo: None, tls };
    let (cpus, seed) = (&setup.pins.client, experiment.seed);
    let aimed = |plan: &ExperimentPlan| match &spec {
        Some(spec) => spec.plan(plan, target.clone(), cpus, experiment, 0),
        None => plan.aimed(target.clone(), Expect::default(), cpus, seed),
    };
    experiment.plans.iter().map(|plan| plan.named(&aimed(plan))).collect()
}

/// The header of the same run with as many blocks as this setup has; `None` where these are no more. Why not, in a sentence.
pub(super) fn with_more_blocks(old: &Header, setup: &BenchSetup) -> Result<Option<Header>, String> {
    let blocks = setup.experiment.blocks.max;
    if blocks <= old.blocks {
        return Ok(None);
    }
    let order = order(setup);
    if !order.starts_with(&old.order) {
        return Err("its order goes on with other trials: leave --blocks out, or begin a new run.".to_owned());
    }
    Ok(Some(Header { blocks, order, ..old.clone() }))
}

/// Whether this setup may go on with a log: same tool, plans, CPUs and versions. Why not, in a sentence.
pub(super) fn may_resume(log: &RunLog, setup: &BenchSetup) -> Result<(), String> {
    let old = &log.header;
    let this = Tool::this();
    if old.tool != this {
        return Err(format!(
            "it was begun by {} {} and this is {} {}: figures of both are not to be mixed. Use that version, \
             or begin a new run.",
            old.tool.name, old.tool.version, this.name, this.version
        ));
    }
    may_resume_on_hosts(old, setup)?;
    let of_fleet = |fleet: &FleetRecord| fleet.flags.clone();
    let trials = log.results.iter().filter_map(|result| result.trial.as_ref());
    let before = trials.map(|trial| trial.fleet.as_ref().map(of_fleet).unwrap_or_default()).next();
    match before.filter(|before| *before != setup.fleet) {
        None => {}
        Some(none) if none.is_empty() => {
            return Err(
                "its loads were applied by this process alone: leave --fleet out, or begin a new run."
                    .to_owned(),
            );
        }
        Some(before) => {
            return Err(format!(
                "its loads were applied by {}: give the same, or begin a new run.",
                before.join(" ")
            ));
        }
    }
    if old.plans != named_plans(setup) {
        return Err(
            "its plans or CPUs are not those asked for now: give the same options, or begin a new run."
                .to_owned(),
        );
    }
    if old.server_cpus != setup.pins.server || old.duet != setup.duet.as_ref().map(CpuHalves::record) {
        return Err(
            "its servers had other CPUs than --pin gives them now: leave --pin out, or begin a new run."
                .to_owned(),
        );
    }
    may_resume_services(old, setup)?;
    let wanted: BTreeSet<&str> = old.order.iter().map(|t| t.candidate.as_str()).collect();
    wanted.into_iter().try_for_each(|label| may_resume_candidate(label, old, setup))
}

fn may_resume_on_hosts(old: &Header, setup: &BenchSetup) -> Result<(), String> {
    match (&old.server_host, &setup.server_host) {
        (None, None) => {}
        (Some(_), None) => {
            return Err(
                "its servers ran on another host: give the --server-host that it was begun with.".to_owned()
            );
        }
        (None, Some(_)) => {
            return Err(
                "its servers ran on this machine: leave --server-host out, or begin a new run.".to_owned()
            );
        }
        (Some(before), Some(now)) => {
            let (then, now) = (&before.host, now.host());
            if then.is_another_machine(now) || then.cpu_model != now.cpu_model || then.kernel != now.kernel {
                return Err(format!(
                    "its servers ran on {} with {}, and --server-host is {} with {}, or another machine of that kind: \
                     begin a new run.",
                    then.cpu_model, then.kernel, now.cpu_model, now.kernel
                ));
            }
        }
    }
    if old.host.cpu_model != setup.host.cpu_model || old.host.kernel != setup.host.kernel {
        return Err(format!(
            "it was begun on {} with {}, and this is {} with {}: begin a new run.",
            old.host.cpu_model, old.host.kernel, setup.host.cpu_model, setup.host.kernel
        ));
    }
    Ok(())
}

fn may_resume_services(old: &Header, setup: &BenchSetup) -> Result<(), String> {
    let services: Vec<ServiceRecord> = setup.experiment.services.iter().map(Service::record).collect();
    let same = (&services, &setup.service_cpus, &reset_record(setup));
    if same == (&old.services, &old.service_cpus, &old.reset) {
        return Ok(());
    }
    Err("its services, their CPUs or its reset are not those asked for now: give the --service, --service-ready, \
         --keep-service, --pin and --reset that it was begun with, or begin a new run."
        .to_owned())
}

fn may_resume_candidate(label: &str, old: &Header, setup: &BenchSetup) -> Result<(), String> {
    let Some(now) = setup.candidates.iter().find(|c| c.candidate.label() == label) else {
        return Err(format!(
            "its candidate {label} cannot run here now: install it again, or begin a new run."
        ));
    };
    let known = old.candidates.iter().find(|c| c.label == label);
    if known.is_some_and(|known| known.facts.workers != candidate_record(now, setup).facts.workers) {
        return Err(format!(
            "{label} had another number of workers: give the --workers or --server-cores that it was begun with, \
             or begin a new run."
        ));
    }
    let is_command = now.candidate.server().is_none();
    if let Some(known) = known.filter(|known| is_command && known.facts.title != now.candidate.title()) {
        return Err(format!(
            "{label} was {} and is {} now: give the --candidate that it was begun with (with its secret where \
             {REDACTED} stands), or begin a new run.",
            known.facts.title,
            now.candidate.title()
        ));
    }
    if is_command && known.is_some_and(|known| known.settings != candidate_record(now, setup).settings) {
        return Err(format!(
            "{label} had other settings: give the --https and --unix that it was begun with, or begin a new run."
        ));
    }
    let before = known.and_then(|c| c.facts.version.as_ref());
    if let (Some(before), Some(now)) = (before, &now.version)
        && before != now
    {
        return Err(format!("{label} was {before} and is {now} now: begin a new run."));
    }
    Ok(())
}

/// The planned trials without a result, in order; one that was interrupted is run again, of a duet both.
pub(super) fn remaining(log: &RunLog) -> Vec<PlannedTrial> {
    let mut done: BTreeSet<u32> = log
        .results
        .iter()
        .chain(&log.controls)
        .filter(|r| !is_interrupted(r))
        .map(|r| r.planned.index)
        .collect();
    if log.header.duet.is_some() {
        // Pairs are (0, 1), (2, 3), …: see `order::order_of_duets`.
        let alone: Vec<u32> = done.iter().copied().filter(|index| !done.contains(&(index ^ 1))).collect();
        alone.iter().for_each(|index| {
            done.remove(index);
        });
    }
    log.header.order.iter().filter(|t| !done.contains(&t.index)).cloned().collect()
}

fn is_interrupted(result: &TrialResult) -> bool {
    result.trial.as_ref().is_some_and(|trial| trial.interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::setup;
    use crate::candidate::Candidate;
    use crate::catalogue::Catalogue;

    #[test]
    fn a_candidate_s_axes_are_recorded_with_their_defaults() {
        let root = tempfile::tempdir().unwrap();
        let mut setup = setup(root.path(), &[("own", "run {port}")], 1);
        let catalogue = Catalogue::load(&[]);
        for label in ["amphp", "amphp:jit+ev"] {
            let candidate = Candidate::parse(label, &catalogue).unwrap();
            setup.candidates.push(BenchCandidate::new(candidate, None));
        }
        let records = header(&setup).candidates;
        assert!(records[0].settings.is_empty(), "a command has no axes");
        let of = |record: &CandidateRecord, axis: &str| {
            record.settings.iter().find(|s| s.axis == axis).map(|s| s.value.clone())
        };
        for (record, opt, event_loop) in [(&records[1], "none", "native"), (&records[2], "jit", "ev")] {
            assert_eq!(of(record, "opt").as_deref(), Some(opt));
            assert_eq!(of(record, "loop").as_deref(), Some(event_loop));
        }
    }

    #[test]
    fn a_run_goes_on_with_more_blocks_in_its_intended_order() {
        let root = tempfile::tempdir().unwrap();
        let of = |blocks| setup(root.path(), &[("a", "run {port}"), ("b", "run {port}")], blocks);
        let old = header(&of(2));
        let more = with_more_blocks(&old, &of(5)).unwrap().unwrap();
        assert_eq!((more.blocks, &more.order), (5, &header(&of(5)).order));
        assert_eq!((more.order.len(), &more.created_at), (10, &old.created_at));
        assert_eq!(with_more_blocks(&old, &of(2)), Ok(None));
        let mut other = of(5);
        other.experiment.seed += 1;
        assert!(with_more_blocks(&old, &other).is_err_and(|why| why.contains("leave --blocks out")));
    }
}
