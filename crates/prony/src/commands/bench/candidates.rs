//! `--candidate NAME='CMD {port}'` and `NAME=URL`: a run without a file.

use prony_lab::bench::{Ask, BenchCandidate};
use prony_lab::candidate::Candidate;
use prony_lab::experiment::{Experiment, ExperimentPlan};
use prony_load::target::Target;

use crate::cli::BenchArguments;
use crate::commands::plan;
use crate::failure::Failure;

/// How often each candidate has its turn, unless told otherwise: enough for an interval.
const BLOCKS: u32 = 5;

/// The experiment of a command line, its candidates, and what is asked of them.
pub(super) fn of(arguments: &BenchArguments) -> Result<(Experiment, Vec<BenchCandidate>, Ask), Failure> {
    let mut candidates = Vec::new();
    for text in &arguments.candidates {
        let Some((name, what)) = text.split_once('=') else {
            return Err(Failure::usage(format!(
                "--candidate {text:?} has no name: write NAME='COMMAND {{port}}' or NAME=URL."
            )));
        };
        let candidate = if what.starts_with("http://") || what.starts_with("https://") {
            let target = Target::parse(what).map_err(Failure::usage)?;
            if target.tls {
                return Err(Failure::usage(format!(
                    "--candidate {name}: `prony bench` checks each server before it loads it, and does so in plain \
                     HTTP only: give the server's http:// port, or measure {} with `prony load`.",
                    target.display_url()
                )));
            }
            Candidate::url(name, what)
        } else {
            Candidate::command(name, what)
        };
        let candidate = candidate.map_err(Failure::usage)?;
        if candidates.iter().any(|c: &BenchCandidate| c.candidate.label() == candidate.label()) {
            return Err(Failure::usage(format!(
                "Two candidates are called {name:?}: give each its own name."
            )));
        }
        candidates.push(BenchCandidate { candidate, version: None });
    }
    // The flags mean what they mean for `load`; the target is each candidate's own.
    let somewhere = Target::parse("http://127.0.0.1/").map_err(Failure::usage)?;
    let plan = plan::plan(&arguments.plan, somewhere)?;
    plan.check().map_err(prony_load::LoadError::from)?;
    if plan.unix.is_some() || !plan.sources.is_empty() {
        return Err(Failure::usage("--unix and --source do not go with --candidate: leave them out."));
    }
    if plan.arrivals.stages().is_some() {
        return Err(Failure::usage(
            "--stage does not go with --candidate: trials are compared at one load each, give -c or -R.",
        ));
    }
    let rate = plan.arrivals.rate();
    let Some(duration) = plan.stop.duration.filter(|_| plan.stop.requests.is_none()) else {
        return Err(Failure::usage(
            "-n does not go with --candidate: trials are compared over windows, give -d.",
        ));
    };
    let suffix = rate.map_or(String::new(), |rate| format!("-r{}", rate.as_per_s()));
    let ask = Ask {
        method: plan.method.clone(),
        path: "/".to_owned(),
        headers: plan.headers.clone(),
        body: plan.body.clone(),
        expect: plan.expect,
    };
    let experiment_plan = ExperimentPlan {
        name: format!("c{}{suffix}", plan.connections),
        connections: plan.connections,
        duration,
        warmup: plan.warmup,
        threads: plan.threads,
        timeout: plan.timeout,
        keepalive: plan.keepalive,
        method: plan.method,
        headers: plan.headers,
        body: plan.body,
        arrivals: plan.arrivals,
        pipeline: plan.pipeline,
        spin: plan.spin,
        ..ExperimentPlan::new(rate)
    };
    let labels = candidates.iter().map(|c| c.candidate.label().to_owned()).collect();
    let blocks = arguments.blocks.unwrap_or(BLOCKS);
    let experiment = Experiment::of_candidates(labels, experiment_plan, blocks, plan.seed);
    Ok((experiment, candidates, ask))
}
