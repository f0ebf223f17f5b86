//! `prony capacity`, its JSON and its run log.

use serde_json::Value;

use crate::schema::{holds, schema};
use crate::world::{TargetProcess, World};

#[test]
fn a_search_is_stored_in_a_run_log_and_reported() {
    let world = World::new();
    let target = TargetProcess::start(&["--capacity", "2000/s"]);
    let search = ["capacity", &target.url(), "-d", "200ms", "-c", "10", "-q", "--resolution", "50%"];
    let said = world.prony(&[&search[..], &["--json", "c.json", "-o", "s.jsonl"]].concat());
    // Whether a rate was found is the machine's to say as well; it is kept and shown either way.
    assert!(matches!(said.code, Some(0 | 3)), "{said:?}");
    let json: Value = serde_json::from_str(&world.read("c.json")).unwrap();
    holds(&schema(&world, "capacity"), &json);
    let log = world.read("s.jsonl");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["name"], lines.len()), (&"load".into(), 2));
    assert_eq!(lines[1]["capacity"]["capacity_per_s"], json["capacity_per_s"]);
    assert_eq!(lines[1]["plan"], "c10-capacity");
    // Shown as the search showed it, from either file.
    for file in ["s.jsonl", "c.json"] {
        let shown = world.prony(&["report", file]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(shown.out.starts_with(said.out.trim_end()) && shown.out.contains("probes"), "{shown:?}");
        if prony_report::page::available().is_ok() {
            let page = world.prony(&["report", file, "--format", "html", "-o", "-"]);
            assert!(page.out.contains("\"capacities\":[{") && page.out.contains("id=\"c0\""), "{file}");
        }
    }
    // A load goes on in the same log, and the search is still one.
    assert_eq!(world.prony(&["load", &target.url(), "-n", "50", "-q", "-o", "s.jsonl"]).code, Some(0));
    assert_eq!(world.read("s.jsonl").lines().count(), 3);
    assert!(world.prony(&["report", "s.jsonl"]).out.contains("probes"));
}

#[test]
fn a_search_into_an_experiments_log_is_refused_before_the_load() {
    let world = World::new();
    assert_eq!(world.prony(&["load", "-n", "50", "-q", "-o", "e.jsonl"]).code, Some(0));
    let of_an_experiment =
        world.read("e.jsonl").replacen("\"name\":\"load\",\"one_by_one\":true", "\"name\":\"three\"", 1);
    world.write("e.jsonl", &of_an_experiment);
    let said = world.prony(&["capacity", "http://127.0.0.1:1/", "-o", "e.jsonl"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("three") && said.err.contains("another file"), "{said:?}");
}
