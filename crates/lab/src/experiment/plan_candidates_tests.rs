//! Plans that have candidates of their own.

use std::collections::BTreeSet;

use super::*;
use crate::catalogue::Catalogue;

const HEAD: &str =
    "schema = \"prony.experiment/1\"\ncandidates = [\"amphp\", \"node-http\"]\nroute = \"text\"\n";

fn read(rest: &str) -> Result<Experiment, TomlError> {
    Experiment::parse("e", "e.toml", &format!("{HEAD}{rest}"))
}

#[test]
fn a_plan_may_name_who_takes_part() {
    let e = read("[[plan]]\n[[plan]]\nname = \"own\"\ncandidates = [\"amphp\", \"amphp:native+close\"]\n")
        .unwrap();
    assert_eq!(e.candidates, ["amphp", "node-http", "amphp:native+close"]);
    let catalogue = Catalogue::load(&[]);
    let e = e.with_canonical_labels(&catalogue);
    let takes_part = |label: &str| {
        let candidate = Candidate::parse(label, &catalogue).unwrap();
        e.plans.iter().map(|plan| e.asks(&candidate, plan)).collect::<Vec<_>>()
    };
    assert_eq!(takes_part("amphp"), [true, true]);
    assert_eq!(takes_part("node-http"), [true, false]);
    assert_eq!(takes_part("amphp:close"), [false, true]);
    // Without such a plan, whoever is added takes part in all.
    assert!(read("[[plan]]\n").unwrap().plans[0].candidates.is_none());
}

#[test]
fn candidates_of_a_plan_are_checked_where_they_stand() {
    for (rest, line, words) in [
        ("[[plan]]\ncandidates = []\n", 5, "is empty"),
        ("[[plan]]\ncandidates = [\"a\", \"a\"]\n", 5, "named twice"),
        ("[load]\ncandidates = [\"a\"]\n", 5, "stand above them"),
    ] {
        let said = read(rest).unwrap_err().to_string();
        assert!(said.contains(words) && said.starts_with(&format!("e.toml:{line}: ")), "{rest:?}: {said}");
    }
}

#[test]
fn another_setting_of_a_server_has_its_sources_workers() {
    let mut e = read("[[plan]]\n").unwrap();
    e.workers = WorkerPolicy::Source;
    let row = PublishedRow { candidate: "amphp".to_owned(), workers: Some(4), ..PublishedRow::default() };
    e.published = Some(Published { rows: vec![row], ..Published::default() });
    assert_eq!((e.workers_of(None, "amphp:as-made"), e.workers_of(None, "node-http")), (Some(4), None));
}

#[test]
fn what_recipes_tune_is_undone_beside_them_and_judged() {
    let mut undone = BTreeSet::new();
    for name in
        ["aerys-2017", "app-servers-2018", "fast-and-furious-2023", "php8-jit-2020", "reactphp-ramp-2019"]
    {
        let e = Experiment::find(name).unwrap();
        let as_made = || e.plans.iter().filter(|plan| plan.name.starts_with("as-made"));
        assert!(as_made().count() > 0, "{name} has no plan of its source's own");
        let labels: BTreeSet<&str> =
            as_made().flat_map(|plan| plan.candidates.iter().flatten()).map(String::as_str).collect();
        let claims: Vec<&str> =
            e.published.iter().flat_map(|p| &p.conclusions).map(|c| c.claim.as_str()).collect();
        for label in labels.iter().filter(|label| label.contains("as-made")) {
            let server = label.split(':').next().unwrap();
            assert!(labels.contains(server), "{name}: {label} is to stand beside {server}");
            let of = |claim: &&&str| {
                claim.starts_with(&format!("throughput({server}:"))
                    && claim.ends_with(&format!("throughput({server})"))
            };
            assert!(
                claims.iter().find(of).is_some(),
                "{name} does not say what the tuning of {server} is worth"
            );
            undone.insert(server.to_owned());
        }
    }
    let servers = Catalogue::load(&[]).servers;
    let offer: BTreeSet<String> = servers
        .into_iter()
        .filter(|(_, server)| server.recipe.axes.iter().any(|axis| axis.name == "as-made"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(undone, offer);
}
