//! What Prony writes is what its schemas say, by a validator of somebody else's.

use serde_json::Value;

use crate::world::{BINARY, TargetProcess, World};

pub fn schema(world: &World, of: &str) -> jsonschema::Validator {
    let said = world.prony(&["schema", of]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let schema: Value = serde_json::from_str(&said.out).unwrap();
    assert!(jsonschema::meta::is_valid(&schema), "{of} is a schema");
    jsonschema::validator_for(&schema).unwrap()
}

pub fn holds(validator: &jsonschema::Validator, document: &Value) {
    let faults: Vec<String> =
        validator.iter_errors(document).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn a_trial_is_valid_by_its_schema_and_a_changed_one_is_not() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let said = world.prony(&["load", &target.url(), "-n", "20000", "--slo", "p99<5s", "--json", "-"]);
    let mut trial: Value = serde_json::from_str(&said.out).unwrap();
    let validator = schema(&world, "trial");
    holds(&validator, &trial);
    assert_eq!(world.prony(&["schema"]).out, world.prony(&["schema", "trial"]).out);
    trial["window"]["duration_ns"] = "long".into();
    assert!(!validator.is_valid(&trial));
    trial["window"].as_object_mut().unwrap().remove("duration_ns");
    assert!(!validator.is_valid(&trial));
}

#[test]
fn a_repeated_load_is_valid_by_its_schema() {
    let world = World::new();
    let target = TargetProcess::start(&[]);
    let url = target.url();
    let said = world.prony(&["load", &url, "-n", "20000", "--repeat", "2", "--json", "-"]);
    holds(&schema(&world, "repeat"), &serde_json::from_str(&said.out).unwrap());
}

#[test]
fn logs_reports_comparisons_and_histories_fit_their_schemas() {
    let world = World::new();
    let candidate = |name: &str| format!("{name}={BINARY} target --port {{port}} --capacity 300/s");
    let (a, b) = (candidate("a"), candidate("b"));
    let bench =
        ["bench", "--candidate", &a, "--candidate", &b, "-d", "200ms", "--blocks", "2", "-o", "runs/r.jsonl"];
    let said = world.prony(&bench);
    assert_eq!(said.code, Some(0), "{said:?}");
    let line = schema(&world, "run");
    let log = world.read("runs/r.jsonl");
    assert!(log.lines().count() > 8, "{log}");
    for text in log.lines() {
        holds(&line, &serde_json::from_str(text).unwrap());
    }
    for (of, command) in [
        ("analysis", &["report", "runs/r.jsonl", "--format", "json"][..]),
        ("comparison", &["compare", "runs/r.jsonl", "--format", "json"]),
        ("history", &["history", "runs", "--format", "json"]),
    ] {
        let said = world.prony(command);
        assert_eq!(said.code, Some(0), "{said:?}");
        holds(&schema(&world, of), &serde_json::from_str(&said.out).unwrap());
    }
}
