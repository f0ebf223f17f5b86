//! Runs whose plans speak HTTP/2: who takes part in which, and what is loaded.

use std::path::Path;

use prony_load::Interrupt;
use prony_model::plan::Protocol;
use prony_model::{Plan, Target};
use prony_target::Config;

use super::tests::{quick, read, setup};
use super::*;
use crate::catalogue::Catalogue;
use crate::experiment::ExperimentPlan;

/// A catalogue of three servers: `one` speaks HTTP/1.1, and HTTP/2 instead where it is set to; `both` speaks both; `tls`
/// speaks HTTP/2 over TLS alone, with which it may be set.
fn catalogue(root: &Path) -> Catalogue {
    let protocol = "[axes.protocol]\nh1 = {}\nh2 = { protocols = [\"h2c\", \"h2\"] }\n";
    for (name, protocols, axes) in [
        ("one", "", protocol),
        ("both", "protocols = [\"http/1.1\", \"h2c\"]\n", ""),
        ("tls", "protocols = [\"http/1.1\", \"h2\"]\n", "[axes.tls]\nno = {}\nyes = { tls = true }\n"),
    ] {
        let recipe = format!(
            "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"Rust\"\nkind = \"runtime\"\nroutes = [\"text\"]\n\
             processes = \"single\"\nkeepalive = true\n{protocols}[start]\ncommand = [\"sh\", \"{{port}}\"]\n{axes}"
        );
        let folder = root.join("servers").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("server.toml"), recipe).unwrap();
    }
    Catalogue::load(&[root.join("servers")])
}

/// Plans `h1` and `h2`.
fn two_plans(setup: &mut BenchSetup) {
    let first = setup.experiment.plans[0].clone();
    let plan = |name: &str, protocol| ExperimentPlan {
        name: name.to_owned(),
        load: Plan { protocol, ..first.load.clone() },
        ..first.clone()
    };
    setup.experiment.plans = vec![plan("h1", Protocol::Http1), plan("h2", Protocol::Http2)];
}

#[test]
fn a_plan_leaves_out_by_name_who_does_not_speak_its_protocol() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[], 2);
    two_plans(&mut setup);
    setup.experiment.baseline = None;
    setup.experiment.candidates = ["one", "one:h2", "both", "tls", "tls:tls"].map(str::to_owned).to_vec();
    let resolved = resolve(&setup.experiment, &catalogue(root.path()), &setup.layout, None, None).unwrap();
    let skipped: Vec<String> =
        resolved.skipped.iter().map(|s| format!("{}: {}", s.candidate, s.reason)).collect();
    assert_eq!(
        skipped,
        [
            "one: Not in h2: by its recipe it does not speak h2c (one:h2 does).",
            "one:h2: Not in h1: by its recipe it does not speak http/1.1 (one does).",
            "tls: Not in h2: by its recipe it does not speak h2c (tls:tls does over TLS).",
        ]
    );
    setup.candidates = resolved.candidates;
    let order = header(&setup).order;
    let mut first: Vec<_> = order.iter().filter(|t| t.block == 0).collect();
    assert!(order.iter().enumerate().all(|(i, trial)| trial.index as usize == i));
    first.sort_by_key(|trial| (trial.plan.clone(), trial.candidate.clone()));
    let pairs: Vec<String> = first.iter().map(|t| format!("{} {}", t.plan, t.candidate)).collect();
    assert_eq!(pairs, ["h1 both", "h1 one", "h1 tls", "h1 tls:tls", "h2 both", "h2 one:h2", "h2 tls:tls"]);
    assert_eq!(setup.loads_of_a_block().len(), pairs.len());
}

#[test]
fn a_candidate_that_speaks_no_plan_s_protocol_does_not_run() {
    let root = tempfile::tempdir().unwrap();
    let mut setup = setup(root.path(), &[], 1);
    setup.experiment.plans[0].load.protocol = Protocol::Http2;
    setup.experiment.baseline = None;
    setup.experiment.candidates = ["one", "both"].map(str::to_owned).to_vec();
    let resolved = resolve(&setup.experiment, &catalogue(root.path()), &setup.layout, None, None).unwrap();
    let run: Vec<&str> = resolved.candidates.iter().map(|c| c.candidate.label()).collect();
    assert_eq!((run, resolved.skipped.len()), (vec!["both"], 1));
}

#[test]
fn a_url_is_checked_and_loaded_by_each_plan_s_protocol() {
    let root = tempfile::tempdir().unwrap();
    let target = prony_target::Target::start(&Config::default()).unwrap();
    let mut setup = setup(root.path(), &[], 1);
    two_plans(&mut setup);
    let url = Target::parse(&format!("http://{}/", target.address())).unwrap();
    let candidate = Candidate::url("there", url).unwrap();
    setup.candidates = vec![BenchCandidate::new(candidate, None)];
    run(&setup, Loads::new(&quick), &Interrupt::new(), &mut |_| ()).unwrap();
    let log = read(&setup);
    let loaded: Vec<(String, u64, bool)> = log
        .results
        .iter()
        .map(|result| {
            let trial = result.trial.as_ref().unwrap();
            (result.planned.plan.clone(), trial.requests.completed, trial.http2.is_some())
        })
        .collect();
    assert_eq!(loaded.len(), 2);
    for (plan, completed, over_http2) in loaded {
        assert_eq!((completed, over_http2), (20, plan == "h2"), "{plan}");
    }
    assert!(log.header.plans[1].describe.contains("HTTP/2 with 1 stream each"), "{:?}", log.header.plans[1]);
}
